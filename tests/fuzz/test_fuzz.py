"""No file ends in a traceback, a hang or a full memory: mutants of every format, and every past finding again."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path

import pytest

from fuzz import harness, mutations
from fuzz.targets import TARGETS

FINDINGS = sorted((Path(__file__).parent / "findings").iterdir())
SECONDS = 60.0


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return harness.Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(autouse=True)
def in_its_folder(bench, monkeypatch):
    monkeypatch.chdir(bench.folder)


@pytest.mark.slow
def test_no_mutant_ends_in_a_traceback_a_hang_or_a_full_memory(bench):
    """FUZZ_SERIES names another million of mutants."""
    first = 1_000_000 * int(os.environ.get("FUZZ_SERIES", "0"))
    tally = harness.run(bench.folder, itertools.count(first), SECONDS)
    assert [f"{found.place} ({found.target} mutant {found.seed})" for found in tally.findings] == []
    assert tally.mutants > 50
    assert tally.parsed_share > 0.3


@pytest.mark.parametrize("path", FINDINGS, ids=[path.name for path in FINDINGS])
def test_a_past_finding_is_refused_or_read(path, bench):
    """TARGET--NUMBER--FILE, with + for / in the file's path."""
    name, seed, file = path.name.split("--", 2)
    target = TARGETS[name]
    changed = {bench.make(target) / file.replace("+", "/"): path.read_bytes()}
    assert not harness.enter(target, bench, bench.originals(target), changed, random.Random(seed))["problem"]


@pytest.mark.parametrize("name", ["counteracts-mine.toml", "study", "score-s.csv", "released-stereoset", "store"])
def test_what_is_not_mutated_is_read(name, bench):
    """Else every mutant would be refused for a mistake in the corpus."""
    target = TARGETS[name]
    outcome = harness.enter(target, bench, bench.originals(target), {}, random.Random(0))
    assert outcome["accepted"], outcome


def test_a_reader_that_throws_is_a_finding(bench):
    def throws(folder, rng):
        return {}["nothing"]

    target = harness.Target("study", TARGETS["study"].make, throws)
    assert "KeyError" in harness.enter(target, bench, bench.originals(target), {}, random.Random(0))["problem"]


def test_a_mutant_is_named_by_its_number():
    content = b'{"a": [1, 2, {"b": "text"}]}'
    once, again = (mutations.of(Path("x.json"))(content, random.Random(7)) for _ in range(2))
    assert once == again != content
