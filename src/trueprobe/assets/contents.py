"""What an asset's files say, whatever their bytes: the content hash all sources of an asset must share, and counts.

Line ends, JSON white space and key order, the order of tensors in a file: not content. Every word, number and weight
is. What cannot be read as what the card says it is, is a BadInput that names the file and the place.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.assets.catalogue import Card, Kind
from trueprobe.errors import BadInput

# What of a config.json decides what a network computes; transformers' versions write the rest differently.
_CONFIG = [
    "model_type",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "hidden_act",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "rms_norm_eps",
    "rope_theta",
    "tie_word_embeddings",
]
_CROWS_COLUMNS = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
_SEAT_LISTS = ("targ1", "targ2", "attr1", "attr2")


@dataclass(frozen=True)
class Content:
    sha256: str
    counts: dict[str, int]


def read(card: Card, folder: Path) -> Content:
    """What the files in `folder` say, read as the card's kind."""
    return _READERS[card.kind](folder)


def _stereoset(folder: Path) -> Content:
    path = _only_file(folder)
    told = _json(path)
    counts = {}
    for task in ("intrasentence", "intersentence"):
        clusters = _at(told, f"data.{task}", list, path)
        for number, cluster in enumerate(clusters):
            here = f"data.{task}.{number}"
            for key in ("id", "target", "bias_type", "context"):
                _at(told, f"{here}.{key}", str, path)
            for index in range(len(_at(told, f"{here}.sentences", list, path))):
                for key in ("id", "sentence", "gold_label"):
                    _at(told, f"{here}.sentences.{index}.{key}", str, path)
            if len(cluster["sentences"]) != 3:
                raise BadInput(f"{path.name}: {here}.sentences has {len(cluster['sentences'])} sentences, not 3")
        counts[task] = len(clusters)
    return Content(_sha256_of(told), counts)


def _crows_pairs(folder: Path) -> Content:
    path = _only_file(folder)
    rows = list(csv.reader(io.StringIO(_text(path), newline="")))
    missing = [name for name in _CROWS_COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise BadInput(f"{path.name}, line 1: no column {', '.join(missing)}")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise BadInput(f"{path.name}, row {number}: {len(row)} cells, not {len(rows[0])}")
    return Content(_sha256_of(rows), {"pairs": len(rows) - 1})


def _seat(folder: Path) -> Content:
    tests = {}
    for path in sorted(folder.glob("*.jsonl")):
        told = tests[path.name] = _json(path)
        for key in _SEAT_LISTS:
            _at(told, f"{key}.category", str, path)
            for index in range(len(_at(told, f"{key}.examples", list, path))):
                _at(told, f"{key}.examples.{index}", str, path)
    return Content(_sha256_of(tests), {"tests": len(tests)})


def _scored_lines(folder: Path) -> Content:
    path = _only_file(folder)
    rows = [line.split("\t") for line in _text(path).rstrip("\n").split("\n")]
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or not row[2]:
            raise BadInput(f"{path.name}, line {number}: not an id, a score and a text with tabs between")
        try:
            float(row[1])
        except ValueError as error:
            raise BadInput(f"{path.name}, line {number}: '{row[1]}' is no score") from error
    return Content(_sha256_of(rows), {"rows": len(rows)})


def _wikipedia_dump(folder: Path) -> Content:
    path = _only_file(folder)
    with path.open("rb") as stream:
        if not stream.read(64).startswith(b"<mediawiki"):
            raise BadInput(f"{path.name}, line 1: no <mediawiki>, so no Wikipedia dump")
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Content(digest, {"bytes": path.stat().st_size})


def _tokenizer(folder: Path) -> Content:
    told = _spelling(folder / "tokenizer.json")
    return Content(_sha256_of(told), {"pieces": len(told["pieces"])})


def _model(folder: Path) -> Content:
    """Every weight as float32, what shapes the computation, and the tokenizer."""
    import torch
    from safetensors import SafetensorError, safe_open

    config = _json(folder / "config.json")
    shape = _shape(config)
    path = folder / "model.safetensors"
    digest, numbers = hashlib.sha256(_sha256_of([shape, _spelling(folder / "tokenizer.json")]).encode()), 0
    try:
        with safe_open(path, framework="pt") as weights:
            for name in sorted(weights.keys()):
                # 0, 1, 2 …, or the input embedding once more: some versions write them, others do not
                if name.endswith("position_ids") or (name == "lm_head.weight" and shape.get("tie_word_embeddings")):
                    continue
                tensor = weights.get_tensor(name)
                digest.update(json.dumps([name, list(tensor.shape)]).encode())
                digest.update(tensor.to(torch.float32).contiguous().numpy().data)
                numbers += tensor.numel()
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path.name}: no readable safetensors file ({error})") from error
    return Content(digest.hexdigest(), {"parameters": numbers})


def _shape(config: dict[str, Any]) -> dict[str, Any]:
    found = {**(config.get("rope_parameters") or {}), **config}
    told = {key: found[key] for key in _CONFIG if found.get(key) is not None}
    # 100000 is 1e5, and 9.99999975e-06 is 1e-5 that was a float32 once
    return {key: float(f"{value:.6g}") if type(value) in (int, float) else value for key, value in told.items()}


_READERS: dict[Kind, Callable[[Path], Content]] = {
    "stereoset": _stereoset,
    "crows_pairs": _crows_pairs,
    "seat": _seat,
    "scored_lines": _scored_lines,
    "wikipedia_dump": _wikipedia_dump,
    "tokenizer": _tokenizer,
    "model": _model,
}


# ---------------------------------------------------------------- reading


def _spelling(path: Path) -> dict[str, Any]:
    """What decides how a tokenizer.json spells a text; how versions of the library write it down does not count."""
    told = _json(path)
    model = _at(told, "model", dict, path)
    vocabulary = _at(told, "model.vocab", dict, path)
    return {
        "pieces": sorted(vocabulary.items(), key=lambda piece: piece[1]),
        "merges": [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges") or []],
        "added": sorted(  # RoBERTa's <mask> takes the space before it: lstrip
            (added["id"], added["content"], added.get("lstrip", False), added.get("rstrip", False))
            for added in told.get("added_tokens") or []
        ),
        "lowercase": (told.get("normalizer") or {}).get("lowercase"),
    }


def _only_file(folder: Path) -> Path:
    [path] = [path for path in folder.iterdir() if path.is_file()]
    return path


def _text(path: Path) -> str:
    """As it is but for line ends and a byte order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.name}: byte {error.start:,} is no UTF-8 text") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path.name}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from error
    except FileNotFoundError as error:
        raise BadInput(f"no {path.name} among the files") from error


def _at(told: Any, key: str, kind: type, path: Path) -> Any:
    """told["a"][0]["b"] for "a.0.b"; BadInput names the key that is missing or of another kind."""
    for part in key.split("."):
        try:
            told = told[int(part) if isinstance(told, list) else part]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadInput(f"{path.name}: no {key}") from error
    if not isinstance(told, kind):
        raise BadInput(f"{path.name}: {key} is no {kind.__name__}")
    return told


def _sha256_of(told: Any) -> str:
    text = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
