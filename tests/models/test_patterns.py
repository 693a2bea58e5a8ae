"""A regular expression of a tokenizer that takes for ever is refused, and one that hides ends in one line."""

from __future__ import annotations

import json
import shutil

import pytest

import zoo
from trueprobe.errors import BadInput
from trueprobe.models import open_model, patterns
from trueprobe.types import ScoreText

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PLAIN = [
    GPT2,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n/]*",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    r"[一-龥]+| {2,}|(?<=[^\n\s:])[\s]{2,}|[!\"#\[\\\]^_`{|}~][A-Za-z]+",
]
# the last of each: what its shape does not show, a class within a class, a hidden group
NOT_PLAIN = [
    *(r"(a+)+$", r"(?:a|aa)+$", r"a{1,3}+$", r".*.*.*=", r"(a{1,3})*", "a?" * 9 + "b", r"(?:a?){20}"),
    *(r"(\w)\1", r"(?<n>a)\g<n>", r"(?x)a(b#(", r"([[(]a+)+", "(a", "a)", "a" + "(" * 3),
]


@pytest.mark.parametrize("pattern", PLAIN)
def test_published_patterns_are_plain(pattern):
    assert patterns.is_plain(pattern)


@pytest.mark.parametrize("pattern", NOT_PLAIN)
def test_what_can_take_long_is_not_plain(pattern):
    assert not patterns.is_plain(pattern)


def split(pattern: str) -> dict:
    steps = [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}]
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def test_a_pattern_that_is_not_plain_is_tried(monkeypatch):
    patterns.refuse_slow_patterns(split(r"([a-z]+ ?)"), "x")
    patterns.refuse_slow_patterns(split(r"(\w)\1"), "x")
    with pytest.raises(BadInput, match=r"x: a pattern of its tokenizer takes more than .*: '\(\?:zq\|zqzq\)\+\$'"):
        patterns.refuse_slow_patterns({**split(r"(?:zq|zqzq)+$"), "normalizer": split(r"(\w)\1")}, "x")
    monkeypatch.setattr(patterns, "SECONDS", 0.01)
    with pytest.raises(BadInput, match=r"more than 0\.01 seconds"):
        patterns.refuse_slow_patterns(split(r"(\w)\1"), "x")
    with pytest.raises(BadInput, match="51 patterns of its tokenizer may take long"):
        patterns.refuse_slow_patterns({"decoder": [split(f"(a+){{9}}{n}") for n in range(51)]}, "x")


def with_pattern(pattern, checkpoint, folder):
    shutil.copytree(checkpoint("gpt2"), folder)
    state = json.loads((folder / "tokenizer.json").read_text())
    inner = {"type": "Sequence", "pretokenizers": [split(pattern)["pre_tokenizer"], state["pre_tokenizer"]]}
    (folder / "tokenizer.json").write_text(json.dumps({**state, "pre_tokenizer": inner}))
    return str(folder)


def test_a_model_with_such_a_pattern_is_refused(checkpoint, tmp_path):
    with pytest.raises(BadInput, match="a pattern of its tokenizer"):
        open_model(with_pattern("(?:e|ee)+$", checkpoint, tmp_path / "model"))


def test_a_pattern_that_hid_ends_in_one_line(checkpoint, tmp_path):
    """The letters stand apart in it, so no text that it is tried with has them one after the other."""
    model = open_model(with_pattern("(?:[z][y]|[z][y][z][y])+$", checkpoint, tmp_path / "model"))
    with pytest.raises(BadInput, match=r"the tokenizer cannot cut 'zyzyzy.*: Onig.*retry-limit") as caught:
        model.reads(ScoreText("zy" * 60 + "!"))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(not zoo.SHARED.exists(), reason="needs the tokenizers next to the repository")
def test_no_published_tokenizer_needs_a_trial():
    files = sorted((zoo.SHARED / "tokenizers").glob("*/tokenizer.json"))
    assert files
    for file in files:
        assert all(map(patterns.is_plain, patterns._patterns(json.loads(file.read_text())))), file
