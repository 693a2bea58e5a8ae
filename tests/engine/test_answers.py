"""The answer store: what is stored is read again, by several processes at once, and damage is reported."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from trueprobe.engine import AnswerStore
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models.rows import Read, Row

WRITER = """
import sys, numpy as np
from trueprobe.engine import AnswerStore
store = AnswerStore(sys.argv[1], "v")
for i in range(200):
    key = i.to_bytes(32, "big")
    store.put([((key, "blank 1"), np.full(5, i, np.float32)), ((key, sys.argv[2]), np.ones(1, np.float32))])
"""


def key(i: int) -> bytes:
    return i.to_bytes(32, "big")


def test_what_is_put_is_found_to_the_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=(50, 9)).astype(np.float32)
    AnswerStore(tmp_path / "s", "v").put(((key(i), "blank 3"), value) for i, value in enumerate(values))
    cached = AnswerStore(tmp_path / "s", "v").get([(key(i), "blank 3") for i in range(60)])
    assert len(cached) == 50
    assert all(np.array_equal(cached[key(i), "blank 3"], values[i]) for i in range(50))


def test_what_is_not_finite_is_not_cached():
    store = AnswerStore(":memory:")
    wrong = [np.float32([1.0, value]) for value in (np.nan, np.inf, -np.inf)]
    store.put([((key(i), "blank 1"), value) for i, value in enumerate([*wrong, np.float32([1.0, 2.0])])])
    assert list(store.has([(key(i), "blank 1") for i in range(4)])) == [(key(3), "blank 1")]


def test_the_first_answer_stored_stays():
    store = AnswerStore(":memory:")
    store.put([((key(1), "next"), np.float32([1.0]))])
    store.put([((key(1), "next"), np.float32([2.0]))])
    assert store.get([(key(1), "next")])[key(1), "next"] == 1.0


def test_a_failed_put_stores_nothing_of_its_batch():
    store = AnswerStore(":memory:")

    def half():
        yield (key(1), "next"), np.float32([1.0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put(half())
    assert store.has([(key(1), "next")]) == {}


def test_two_processes_write_one_store_at_once(tmp_path):
    path = tmp_path / "s.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"token {i} 0"]) for i in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    store = AnswerStore(path, "v")
    addresses = [(key(i), what) for i in range(200) for what in ("blank 1", "token 0 0", "token 1 0")]
    assert len(store.has(addresses)) == 600


def test_a_full_disk_is_reported_and_what_was_cached_stays(tmp_path):
    store = AnswerStore(tmp_path / "s.sqlite", "v")
    store.put([((key(0), "next"), np.float32([0.5]))])
    store._db.execute("PRAGMA max_page_count = 8")
    with pytest.raises(FailedRun, match=r"full.*stays"):
        store.put(((key(i), "blank 0"), np.ones(5000, np.float32)) for i in range(1, 50))
    assert store.get([(key(0), "next")])[key(0), "next"] == 0.5


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "thesis.doc"
    path.write_bytes(b"a very important text, no database at all" * 40)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="not a usable answer store"):
        AnswerStore(path, "v")
    assert path.read_bytes() == before


def test_a_path_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedRun, match="answer store"):
        AnswerStore(tmp_path / "file" / "s.sqlite", "v")


def test_a_key_names_weights_ids_and_segments_and_nothing_else():
    one = Row((1, 2, 3), (0, 0, 1))
    assert one.key("w") == Row((1, 2, 3), (0, 0, 1)).key("w")
    others = [
        Row((1, 2, 4), (0, 0, 1)),
        Row((1, 2, 3), (0, 1, 1)),
        Row((1, 2, 3, 0), (0, 1, 0, 0)),
        Row((1, 2), (0, 0)),
    ]
    assert len({one.key("w"), one.key("v"), *(row.key("w") for row in others)}) == 6


def test_different_readings_of_a_row_have_different_addresses():
    row = Row((1, 2, 3), (0, 0, 0))
    reads = [
        Read(row, "blank", (1,)),
        Read(row, "blank", (2,)),
        Read(row, "token", (1,), (5,)),
        Read(row, "token", (1,), (6,)),
        Read(row, "token", (1, 2), (5, 6)),
        Read(row, "next"),
        Read(row, "vector", (0,)),
        Read(row, "vector", (0,), layer=1),
        Read(row, "vector", (0, 1)),
    ]
    assert len({read.what for read in reads}) == len(reads)
