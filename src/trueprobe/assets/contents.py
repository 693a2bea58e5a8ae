"""What an asset's files hold, whatever their bytes: the content hash all sources of an asset must share, and counts.

Line ends, JSON white space and key order, the order of tensors in a file: not content. Every word, number and weight
is. What cannot be read as the kind its card names is a BadInput that names the file and the position.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from trueprobe.assets.catalogue import AssetCard, ContentKind
from trueprobe.errors import BadInput, reading

# What of a config.json decides what a network computes; transformers' versions write the rest differently.
_CONFIG = (  # noqa: SIM905
    "model_type hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads hidden_act "
    "vocab_size max_position_embeddings type_vocab_size layer_norm_eps rms_norm_eps rope_theta tie_word_embeddings"
).split()
_SYNSET = re.compile(r"\d{8} \d\d [nvasr] [0-9a-f]{2} .* \| ")


@dataclass(frozen=True)
class Content:
    sha256: str
    counts: dict[str, int]


def read(card: AssetCard, folder: Path) -> Content:
    """The content of the files in `folder`, read as the card's kind: a format, or the dataset of the probe's package of
    that name, whose `material.content` reads it."""
    if card.kind in _READERS:
        return _READERS[card.kind](folder)
    content: Content = importlib.import_module(f"trueprobe.probes.{card.kind}.material").content(folder)
    return content


# ---------------------------------------------------------------- JSON files: their shapes


class _Pieces(BaseModel):
    vocab: dict[str, int]
    merges: list[str | list[str]] | None = None


class _Tokenizer(BaseModel):
    model: _Pieces
    added_tokens: list[dict[str, Any]] | None = None
    normalizer: dict[str, Any] | None = None


class _Config(BaseModel):
    rope_parameters: dict[str, Any] | None = None


def _tokenizer(folder: Path) -> Content:
    spelling = _spelling(folder)
    return Content(sha256_of(spelling), {"pieces": len(spelling["pieces"])})


def _spelling(folder: Path) -> dict[str, Any]:
    """What decides how a tokenizer.json spells a text; how versions of the library write it down does not count."""
    whole = json_of(folder / "tokenizer.json", _Tokenizer)
    model, added = whole["model"], whole.get("added_tokens") or []
    with reading("tokenizer.json: added_tokens cannot be read"):
        # RoBERTa's <mask> takes the space before it: lstrip
        extra = sorted((a["id"], a["content"], a.get("lstrip", False), a.get("rstrip", False)) for a in added)
    return {
        "pieces": sorted(model["vocab"].items(), key=lambda piece: piece[1]),
        "merges": [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges") or []],
        "added": extra,
        "lowercase": (whole.get("normalizer") or {}).get("lowercase"),
    }


# ---------------------------------------------------------------- tables


def _scored_lines(folder: Path) -> Content:
    path = only_file(folder)
    rows = [line.split("\t") for line in text_of(path).rstrip("\n").split("\n")]
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or not row[2]:
            raise BadInput(f"{path.name}, line {number}: not an id, a score and a text with tabs between")
        try:
            float(row[1])
        except ValueError as error:
            raise BadInput(f"{path.name}, line {number}: '{row[1]}' is not a score") from error
    return Content(sha256_of(rows), {"rows": len(rows)})


# ---------------------------------------------------------------- a dump, a network


def _wikipedia_dump(folder: Path) -> Content:
    path = only_file(folder)
    with path.open("rb") as stream:
        if not stream.read(64).startswith(b"<mediawiki"):
            raise BadInput(f"{path.name}, line 1: no <mediawiki>: not a Wikipedia dump")
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Content(digest, {"bytes": path.stat().st_size})


def _wordnet(folder: Path) -> Content:
    """The lines of its data files, one per synset; the licence before them does not count."""
    synsets = {}
    for path in sorted(folder.glob("data.*")):
        lines = text_of(path).rstrip("\n").split("\n")
        synsets[path.name] = [line.rstrip() for line in lines if not line.startswith("  ")]
        for line in synsets[path.name]:
            if not _SYNSET.match(line):
                raise BadInput(f"{path.name}, line {lines.index(line) + 1}: not a synset of WordNet")
    return Content(sha256_of(synsets), {"synsets": sum(map(len, synsets.values()))})


def _model(folder: Path) -> Content:
    """Every weight as float32, what shapes the computation, and the tokenizer."""
    import torch
    from safetensors import safe_open

    config = _config(folder)
    path = folder / "model.safetensors"
    digest, numbers = hashlib.sha256(sha256_of([config, _spelling(folder)]).encode()), 0
    with reading(f"{path.name}: no readable safetensors file"), safe_open(path, framework="pt") as weights:
        for name in sorted(weights.keys()):
            # 0, 1, 2 …, or the input embedding once more: some versions write them, others do not
            if name.endswith("position_ids") or (name == "lm_head.weight" and config.get("tie_word_embeddings")):
                continue
            tensor = weights.get_tensor(name)
            digest.update(json.dumps([name, list(tensor.shape)]).encode())
            digest.update(tensor.to(torch.float32).contiguous().numpy().data)
            numbers += tensor.numel()
    return Content(digest.hexdigest(), {"parameters": numbers})


def _config(folder: Path) -> dict[str, Any]:
    whole = json_of(folder / "config.json", _Config)
    values = {**(whole.get("rope_parameters") or {}), **whole}
    # 100000 is 1e5, and 9.99999975e-06 is 1e-5 that was a float32 once
    return {
        key: float(f"{value:.6g}") if type(value) in (int, float) else value
        for key in _CONFIG
        if (value := values.get(key)) is not None
    }


_READERS: dict[ContentKind, Callable[[Path], Content]] = {
    "scored_lines": _scored_lines,
    "wikipedia_dump": _wikipedia_dump,
    "wordnet": _wordnet,
    "tokenizer": _tokenizer,
    "model": _model,
}


# ---------------------------------------------------------------- reading


def only_file(folder: Path) -> Path:
    [path] = [path for path in folder.iterdir() if path.is_file()]
    return path


def text_of(path: Path) -> str:
    """As it is but for line ends and a byte order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.name}: byte {error.start:,} is not UTF-8 text") from error
    except FileNotFoundError as error:
        raise BadInput(f"no {path.name} among the files") from error


def json_of(path: Path, shape: type[BaseModel]) -> Any:
    """The whole file, which has at least what the shape declares."""
    try:
        text = text_of(path)
        with reading(f"{path.name}: no JSON"):
            whole = json.loads(text)
        shape.model_validate_json(text, strict=True)  # else "5" passes for 5, and comes back as it was
        return whole
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        problem = f"no {key}" if first["type"] == "missing" else f"{key}: {first['msg']}"
        raise BadInput(f"{path.name}: {problem}") from error


def sha256_of(values: Any) -> str:
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
