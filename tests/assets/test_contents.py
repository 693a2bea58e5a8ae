"""What files say, apart from how it is written down; and what is made once out of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers

import toys
import zoo
from trueprobe.assets import contents, unpack
from trueprobe.errors import BadInput
from trueprobe.types import NoProgress

CLUSTER = {
    "id": "1",
    "target": "nurse",
    "bias_type": "gender",
    "context": "The nurse was BLANK.",
    "sentences": [{"id": str(n), "sentence": f"It was {n}.", "gold_label": "unrelated"} for n in range(3)],
}
STEREOSET = {"version": "1", "data": {"intrasentence": [CLUSTER], "intersentence": [CLUSTER, CLUSTER]}}
SEAT = {key: {"category": key, "examples": ["a", "b"]} for key in ("targ1", "targ2", "attr1", "attr2")}


def read(kind: str, folder: Path) -> contents.Content:
    return contents.read(SimpleNamespace(kind=kind), folder)


def content_of(kind: str, folder: Path, name: str, text: str | bytes) -> contents.Content:
    """The content of a folder with this one file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(kind, folder)


def test_line_ends_and_a_byte_order_mark_are_no_content_but_every_word_is(tmp_path):
    folder = tmp_path / "x"
    same = [toys.table(), toys.table("\r\n"), b"\xef\xbb\xbf" + toys.table()]
    assert {content_of("crows_pairs", folder, "t.csv", text).sha256 for text in same} == {toys.CONTENT}
    assert content_of("crows_pairs", folder, "t.csv", toys.table().replace(b"left", b"Left")).sha256 != toys.CONTENT
    assert content_of("crows_pairs", folder, "t.csv", toys.table(rows=toys.ROWS[::-1])).sha256 != toys.CONTENT


def test_white_space_and_key_order_of_json_are_no_content(tmp_path):
    folder = tmp_path / "x"
    plain = content_of("stereoset", folder, "dev.json", json.dumps(STEREOSET))
    turned = content_of("stereoset", folder, "dev.json", json.dumps(dict(reversed(STEREOSET.items())), indent=3))
    assert plain == turned
    assert plain.counts == {"intrasentence": 1, "intersentence": 2}
    other = json.loads(json.dumps(STEREOSET))
    other["data"]["intersentence"].reverse()
    other["data"]["intersentence"][0]["id"] = "2"
    assert content_of("stereoset", folder, "dev.json", json.dumps(other)).sha256 != plain.sha256


def without(whole: dict, *keys: str | int) -> str:
    changed = json.loads(json.dumps(whole))
    inner = changed
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return json.dumps(changed)


@pytest.mark.parametrize(
    ("kind", "name", "text", "message"),
    [
        ("stereoset", "d.json", "{", r"d\.json: no JSON: .* line 1 column 2"),
        ("stereoset", "d.json", without(STEREOSET, "data", "intersentence"), r"d\.json: no data\.intersentence"),
        (
            "stereoset",
            "d.json",
            without(STEREOSET, "data", "intrasentence", 0, "sentences", 1, "gold_label"),
            r"no data\.intrasentence\.0\.sentences\.1\.gold_label",
        ),
        (
            "stereoset",
            "d.json",
            without(STEREOSET, "data", "intrasentence", 0, "sentences", 1),
            r"0\.sentences: List should have at least 3 items after validation, not 2",
        ),
        ("seat", "t.jsonl", without(SEAT, "attr2", "examples"), r"t\.jsonl: no attr2\.examples"),
        (
            "seat",
            "t.jsonl",
            json.dumps({**SEAT, "targ1": {"category": "x", "examples": [1]}}),
            r"targ1\.examples\.0: Input should be a valid string",
        ),
        ("crows_pairs", "t.csv", "a,b\n", "line 1: no column sent_more, sent_less, stereo_antistereo, bias_type"),
        ("scored_lines", "m.txt", "1\t0.5\tFine.\n2\tFine.\n", r"m\.txt, line 2: not an id, a score and a text"),
        ("scored_lines", "m.txt", "1\tgood\tFine.\n", "line 1: 'good' is not a score"),
        ("wikipedia_dump", "enwik8", "<html>", "no <mediawiki>"),
        ("wordnet", "data.verb", "  1 licence\nopen the door\n", r"data\.verb, line 2: not a synset"),
        (
            "tokenizer",
            "tokenizer.json",
            '{"model": {"vocab": {"a": 0, "b": "1"}}}',
            r"model\.vocab\.b: .* valid integer",
        ),
        ("tokenizer", "tokenizer.json", '{"model": {}}', r"tokenizer\.json: no model\.vocab"),
    ],
)
def test_what_is_malformed_is_named_with_its_place(kind, name, text, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        content_of(kind, tmp_path / "x", name, text)


def test_rows_end_at_line_ends_only_and_the_last_one_needs_none(tmp_path):
    lines = "1\t0.5\tA line\x85 or\u2028two.\r\n2\t-4\tNone."
    content = content_of("scored_lines", tmp_path / "x", "m.txt", lines)
    assert content.counts == {"rows": 2}
    assert content_of("scored_lines", tmp_path / "x", "m.txt", lines.replace("\r\n", "\n") + "\n") == content


# ---------------------------------------------------------------- models


@pytest.mark.slow
def test_a_model_is_its_weights_and_not_how_they_lie_in_the_file(checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(checkpoint("bert"), tmp_path / "copy")
    content = read("model", folder)
    weights = load_file(folder / "model.safetensors")
    save_file(dict(reversed(weights.items())), folder / "model.safetensors", {"format": "pt", "note": "other bytes"})
    assert read("model", folder) == content
    name = next(iter(weights))
    weights[name].view(-1)[0] += 1e-3
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert read("model", folder).sha256 != content.sha256


def test_another_computation_or_another_spelling_with_the_same_weights_is_another_model(checkpoint, tmp_path):
    content = read("model", checkpoint("bert"))
    for file, change in (
        ("config.json", lambda whole: whole.update(layer_norm_eps=1e-3)),
        ("tokenizer.json", lambda whole: whole["normalizer"].update(lowercase=not whole["normalizer"]["lowercase"])),
        ("tokenizer.json", lambda whole: whole["model"]["vocab"].update({"nurse": 0})),
    ):
        folder = shutil.copytree(checkpoint("bert"), tmp_path / "copy")
        whole = json.loads((folder / file).read_text())
        change(whole)
        (folder / file).write_text(json.dumps(whole))
        assert read("model", folder).sha256 != content.sha256, file
        shutil.rmtree(folder)


def test_a_gguf_file_becomes_a_float32_folder_with_the_same_answers(tmp_path):
    raw, ready = tmp_path / "raw", tmp_path / "ready"
    raw.mkdir()
    zoo.save_llama(tmp_path / "folder", raw / "model.gguf")
    unpack.make_ready(SimpleNamespace(kind="model"), raw, ready, NoProgress())
    made = transformers.AutoModelForCausalLM.from_pretrained(ready)
    direct = transformers.AutoModelForCausalLM.from_pretrained(raw, gguf_file="model.gguf", dtype=torch.float32)
    ids = transformers.AutoTokenizer.from_pretrained(ready)("The nurse said that", return_tensors="pt")["input_ids"]
    assert made.dtype == torch.float32
    with torch.no_grad():
        assert torch.equal(made(ids).logits, direct(ids).logits)
    assert read("model", ready).counts["parameters"] > 0


@pytest.mark.slow
def test_the_same_raw_file_gives_the_same_ready_bytes(tmp_path):
    made = []
    for name in ("one", "two"):
        raw = tmp_path / name
        raw.mkdir()
        zoo.save_llama(tmp_path / f"{name}-folder", raw / "model.gguf")
        unpack.make_ready(SimpleNamespace(kind="model"), raw, tmp_path / f"{name}-ready", NoProgress())
        made.append({path.name: path.read_bytes() for path in (tmp_path / f"{name}-ready").iterdir()})
    assert made[0] == made[1]


@pytest.mark.parametrize("content", [b"no model", b"GGUF" + b"\x03" * 40])
def test_what_is_no_gguf_file_is_told(content, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "model.gguf").write_bytes(content)
    with pytest.raises(BadInput, match="GGUF"):
        unpack.make_ready(SimpleNamespace(kind="model"), tmp_path / "raw", tmp_path / "ready", NoProgress())


# ---------------------------------------------------------------- tokenizers


def test_a_vocabulary_becomes_a_tokenizer_that_keeps_case(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Nurse", "nurse", "##s"]
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "vocab.txt").write_text("\n".join(pieces) + "\n")
    unpack.make_ready(SimpleNamespace(kind="tokenizer"), tmp_path / "raw", tmp_path / "ready", NoProgress())
    made = transformers.AutoTokenizer.from_pretrained(tmp_path / "ready")
    assert made.convert_ids_to_tokens(made("Nurses nurses")["input_ids"]) == [
        *["[CLS]", "Nurse", "##s", "nurse", "##s", "[SEP]"]
    ]
    assert read("tokenizer", tmp_path / "ready").counts == {"pieces": 8}


def test_robertas_mask_takes_the_space_before_it(tmp_path):
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "a", "\u0120", "<mask>"]
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "vocab.json").write_text(json.dumps({piece: n for n, piece in enumerate(pieces)}))
    (tmp_path / "raw" / "merges.txt").write_text("#version: 0.2\n")
    unpack.make_ready(SimpleNamespace(kind="tokenizer"), tmp_path / "raw", tmp_path / "ready", NoProgress())
    made = transformers.AutoTokenizer.from_pretrained(tmp_path / "ready")
    assert made.convert_ids_to_tokens(made("a <mask> a")["input_ids"]) == ["<s>", "a", "<mask>", "\u0120", "a", "</s>"]


def test_how_a_version_writes_merges_is_no_content(tmp_path):
    whole = {"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "added_tokens": []}
    old = content_of("tokenizer", tmp_path / "x", "tokenizer.json", json.dumps(whole))
    whole["model"]["merges"] = [["a", "b"]]
    whole["truncation"] = {"max_length": 8}
    assert content_of("tokenizer", tmp_path / "x", "tokenizer.json", json.dumps(whole)) == old
