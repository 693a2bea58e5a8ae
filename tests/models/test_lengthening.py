"""A tokenizer that makes a text very much longer is refused before it is loaded."""

from __future__ import annotations

import base64
import json
import resource
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.normalizers import Replace, Sequence

import zoo
from trueprobe.errors import BadInput
from trueprobe.models.lengthening import MOST_TIMES, most_times, refuse_lengthening

SECONDS, MEMORY = 10, 1 << 30
# what a process used counts what it was before it became the command: so a small one starts it
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def rule(pattern: str, content: str, kind: str = "String") -> dict:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def charsmap(*texts: str) -> dict:
    content = (8).to_bytes(4, "little") + bytes(8) + b"".join(text.encode() + b"\0" for text in texts)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(content).decode()}


@pytest.mark.parametrize(
    ("steps", "times"),
    [
        ([], 1),
        ([rule("``", '"'), rule("''", '"')], 1),
        ([rule(" {2,}", " ", "Regex"), rule(r"\s+", " ", "Regex")], 1),
        ([rule("a", "bb"), rule("b", "ccc"), rule("x", "yyyy")], 6),
        ([rule("b", "ccc"), rule("a", "bb")], 3),  # what is written later is not replaced any more
        ([rule("\n", "<newline>"), rule("\t", "<tab>")], 9),
        ([rule("ab", "abcabc"), rule("a", "aa")], 6),
        ([rule("(?=a)", "a", "Regex")] * 5, 32),  # an empty match: one is written, and the letter stays
        ([rule("", "ab")], 3),
        ([{"type": "NFKC"}, {"type": "NFKC"}], 18),
        ([{"type": "ByteLevel"}] * 3, 16),
        ([charsmap("a", "bcd")], 1),
        ([charsmap("x" * 5000)], 5000),
    ],
)
def test_factors_multiply_along_rules_that_rewrite_each_other(steps, times):
    assert most_times(steps) == times


LETTERS = st.text("abc", min_size=1, max_size=2)


@given(st.lists(st.tuples(LETTERS, st.text("abc", max_size=3), st.booleans()), max_size=4), st.text("abc", max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_text_becomes_longer_than_declared(rules, text):
    steps = [rule(pattern, content, "Regex" if regex else "String") for pattern, content, regex in rules]
    made = Sequence([Replace(Regex(p) if regex else p, content) for p, content, regex in rules])
    assert len(made.normalize_str(text)) <= most_times(steps) * max(1, len(text))


def test_sequences_within_sequences_and_both_parts_count():
    inner = {"type": "Sequence", "normalizers": [rule("a", "a" * 11)]}
    state = {"normalizer": {"type": "Sequence", "normalizers": [inner, {"type": "Lowercase"}, inner]}}
    with pytest.raises(BadInput, match="may make a text 121 times as long, more than 100 times"):
        refuse_lengthening(state, "x")
    byte_level = {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}] * 3}
    refuse_lengthening({"normalizer": inner}, "x")
    with pytest.raises(BadInput, match="176 times"):
        refuse_lengthening({"normalizer": inner, "pre_tokenizer": byte_level}, "x")
    with pytest.raises(BadInput, match="the decoder"):
        refuse_lengthening({"decoder": {"type": "Sequence", "decoders": [rule("a", "a" * 101)]}}, "x")
    with pytest.raises(BadInput, match="more than 2,000"):
        refuse_lengthening({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Strip"}] * 2001}}, "x")


@pytest.mark.skipif(not zoo.SHARED.exists(), reason="needs the tokenizers next to the repository")
def test_published_tokenizers_are_far_from_the_bound():
    files = sorted((zoo.SHARED / "tokenizers").glob("*/tokenizer.json"))
    assert files
    for file in files:
        state = json.loads(file.read_text())
        refuse_lengthening(state, file.parent.name)
        steps = (state["normalizer"] or {}).get("normalizers", [state["normalizer"] or {}])
        assert most_times(steps) < MOST_TIMES / 5, file


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.4.0.0.json"])
def test_a_tokenizer_that_blows_up_a_word_ends_at_once(tmp_path, checkpoint, name):
    folder = tmp_path / "model"
    shutil.copytree(checkpoint("bert"), folder)
    state = json.loads((folder / "tokenizer.json").read_text())
    state["normalizer"] = {"type": "Sequence", "normalizers": [rule("e", "e" * 100)] * 6}
    (folder / name).write_text(json.dumps(state))
    (tmp_path / "x.csv").write_text("sentence\nShe went home.\n")
    command = [sys.executable, "-m", "trueprobe", "score", str(tmp_path / "x.csv"), "--model", str(folder)]
    command += ["--out", str(tmp_path / "out.csv"), "--store", str(tmp_path / "store")]
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))}
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, **limit)
    text, memory = done.stderr, int(done.stdout)
    assert (done.returncode, len(text.splitlines())) == (2, 1), text
    assert "the normalizer of its tokenizer may make a text 1,000,000,000,000 or more times as long" in text
    assert memory * 1024 < MEMORY  # with torch, which takes most of it
