"""Stores as files: merging keeps what is there and reports what differs; pruning removes what it names and no more."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import answering
from trueprobe.cli import app
from trueprobe.engine import AnswerStore, Engine, layout
from trueprobe.engine.upkeep import UNKNOWN, info, merge, prunable, prune
from trueprobe.errors import BadInput, FailedRun

DAY = 24 * 60 * 60
CARD = answering.CARD


def key(i: int) -> bytes:
    return i.to_bytes(32, "big")


def fill(path, answers, model="m", version="torch 1", day=None):
    """A store with {number of the key: value}."""
    store = AnswerStore(path, version)
    number = store.use(replace(CARD, name=model, compute_id=f"id of {model}"))
    store.put((((key(i), "next"), np.float32([value])) for i, value in answers.items()), model=number)
    if day is not None:
        store._db.execute("UPDATE answers SET made = ? WHERE model = ?", (int(time.time() // DAY) - day, number))
    store.close()
    return path


def values(path, version="torch 1"):
    store = AnswerStore(path, version)
    found = store.get([(key(i), "next") for i in range(100)])
    return {int.from_bytes(k, "big"): float(v[0]) for (k, _), v in found.items()}


def test_overlapping_stores_are_merged_and_the_first_answer_stays(tmp_path):
    a = fill(tmp_path / "a", {1: 0.5, 2: 0.25}, "x")
    b = fill(tmp_path / "b", {2: 0.25, 3: 0.75}, "y", version="torch 2")
    first, second = merge([a, b], tmp_path / "c")
    assert (first.answers, first.added, second.answers, second.added) == (2, 2, 2, 1)
    assert values(tmp_path / "c") == {1: 0.5, 2: 0.25, 3: 0.75}
    assert [(one.model, one.answers) for one in info(tmp_path / "c")] == [("x", 2), ("y", 1)]
    assert [one.added for one in merge([a, b], tmp_path / "c")] == [0, 0]  # again: nothing is new


def test_versions_are_mapped_by_their_text_not_by_their_number(tmp_path):
    fill(tmp_path / "c", {9: 0.0}, version="torch 0")
    merge(
        [fill(tmp_path / "a", {1: 0.5}, version="torch 1"), fill(tmp_path / "b", {2: 0.5}, version="torch 2")],
        tmp_path / "c",
    )
    store = AnswerStore(tmp_path / "c", "torch 2")
    made = store.has([(key(i), "next") for i in (1, 2, 9)])
    texts = dict(store._db.execute("SELECT id, text FROM versions").fetchall())
    assert {int.from_bytes(k, "big"): texts[v] for (k, _), v in made.items()} == {
        1: "torch 1",
        2: "torch 2",
        9: "torch 0",
    }
    assert made[key(2), "next"] == store.made_with


def test_other_numbers_for_one_key_are_reported_and_never_written(tmp_path):
    fill(tmp_path / "c", {1: 0.5, 2: 0.5})
    (one,) = merge([fill(tmp_path / "a", {1: 0.75, 2: 0.50001, 3: 1.0})], tmp_path / "c")
    assert (one.added, one.differing, one.far_apart) == (1, 2, 1)
    assert one.largest_difference == pytest.approx(0.25, abs=1e-4)
    assert values(tmp_path / "c") == {1: 0.5, 2: 0.5, 3: 1.0}


def test_the_command_fails_where_answers_are_far_apart_and_not_for_the_last_bits(tmp_path):
    fill(tmp_path / "c", {1: 0.5})
    near, far = fill(tmp_path / "near", {1: 0.50001}), fill(tmp_path / "far", {1: 0.6})
    result = CliRunner().invoke(app, ["cache", "merge", str(near), "--into", str(tmp_path / "c")])
    assert result.exit_code == 0
    assert "1 were there; 1 with other numbers, by up to" in result.output
    result = CliRunner().invoke(app, ["cache", "merge", str(far), "--into", str(tmp_path / "c")])
    assert isinstance(result.exception, FailedRun)
    assert "differ by more than 0.0001" in str(result.exception)


def test_what_was_derived_is_merged_too(tmp_path):
    for name in "ac":
        fill(tmp_path / name, {})
    store = AnswerStore(tmp_path / "a")
    store.put_derived(key(5), b"a card")
    store.close()
    merge([tmp_path / "a"], tmp_path / "c")
    assert AnswerStore(tmp_path / "c").derived(key(5)) == b"a card"


def test_more_answers_than_are_copied_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("trueprobe.engine.layout._ROWS_AT_ONCE", 7)
    (one,) = merge([fill(tmp_path / "a", {i: i / 4 for i in range(50)})], tmp_path / "c")
    assert one.added == 50
    assert values(tmp_path / "c") == {i: i / 4 for i in range(50)}


@pytest.mark.parametrize(("stores", "message"), [(["nowhere"], "no answer store"), (["c"], "into itself")])
def test_what_cannot_be_merged_is_refused(stores, message, tmp_path):
    fill(tmp_path / "c", {})
    with pytest.raises(BadInput, match=message):
        merge([tmp_path / name for name in stores], tmp_path / "c")


def test_the_line_that_a_shard_prints_works_when_its_target_is_there(tmp_path):
    """`cache merge *.sqlite --into all.sqlite`: the pattern names the target too."""
    for number in (1, 2):
        fill(tmp_path / f"{number}.sqlite", {number: 0.5})
    for _ in range(2):
        named = sorted(map(str, tmp_path.glob("*.sqlite")))
        result = CliRunner().invoke(app, ["cache", "merge", *named, "--into", str(tmp_path / "all.sqlite")])
        assert result.exit_code == 0, result.output
    assert values(tmp_path / "all.sqlite") == {1: 0.5, 2: 0.5}


def test_a_store_of_an_earlier_version_is_read_merged_and_listed_as_not_known(tmp_path):
    with sqlite3.connect(tmp_path / "old") as db:
        db.execute(
            "CREATE TABLE answers (key BLOB NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL, "
            "made_with INTEGER NOT NULL, PRIMARY KEY (key, what))"
        )
        db.execute("CREATE TABLE versions (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
        db.execute("INSERT INTO versions VALUES (4, 'torch 1')")
        db.execute("INSERT INTO answers VALUES (?, 'next', ?, 4)", (key(1), np.float32([0.5]).tobytes()))
    merge([tmp_path / "old"], tmp_path / "c")
    assert values(tmp_path / "c") == {1: 0.5}
    assert [(one.model, one.answers, one.oldest_days) for one in info(tmp_path / "c")] == [(UNKNOWN, 1, None)]


def test_info_has_size_age_and_last_use_of_each_model(tmp_path):
    path = fill(tmp_path / "s", {1: 0.5, 2: 0.5}, "old", day=40)
    fill(path, {3: 0.5}, "new")
    AnswerStore(path)._db.execute("UPDATE models SET last_used = last_used - ? WHERE name = 'old'", (5.5 * DAY,))
    old, new = info(path)
    assert (old.model, old.answers, old.oldest_days, old.newest_days, old.unused_days) == ("old", 2, 40, 40, 5)
    assert (new.model, new.answers, new.oldest_days, new.unused_days) == ("new", 1, 0, 0)
    assert old.bytes == 2 * (32 + len("next") + 4)
    shown = CliRunner().invoke(app, ["cache", "info", "--store", str(path)]).output
    assert "40 days" in shown
    assert "5 days" in shown
    assert "today" in shown


def test_answers_are_pruned_by_model_by_age_or_by_both(tmp_path):
    path = fill(tmp_path / "s", {1: 0.5}, "a", day=40)
    fill(path, {2: 0.5}, "b", day=40)
    fill(path, {3: 0.5}, "c")
    assert prunable(path, ["a"], None)[0] == 1
    assert prunable(path, [], 30)[0] == 2
    assert prunable(path, ["c"], 30)[0] == 0
    prune(path, ["a"], 30)
    assert values(path) == {2: 0.5, 3: 0.5}
    assert {one.model for one in info(path)} == {"b", "c"}


def test_a_model_whose_answers_are_yet_to_come_keeps_its_number_when_others_are_pruned(tmp_path):
    """Its number would be given to the next model, under which its answers would be listed and removed."""
    path = fill(tmp_path / "s", {1: 0.5}, "old")
    running = AnswerStore(path, "torch 1")
    number = running.use(replace(CARD, name="running", compute_id="id of running"))
    prune(path, ["old"], None)
    fill(path, {2: 0.5}, "next")
    running.put([((key(3), "next"), np.float32([0.5]))], model=number)
    running.close()
    assert {one.model: one.answers for one in info(path)} == {"running": 1, "next": 1}
    prune(path, ["next"], None)
    assert values(path) == {3: 0.5}


def test_models_that_register_while_others_are_pruned_keep_their_numbers(tmp_path):
    """Each writer registers a model, waits until others were pruned, and puts an answer under its number."""
    path, many = fill(tmp_path / "s", {9000: 0.5}, "old"), 5
    together = threading.Barrier(3, timeout=30)

    def write(writer: int) -> None:
        with closing(AnswerStore(path, "torch 1")) as store:
            for one in range(writer * many, (writer + 1) * many):
                number = store.use(replace(CARD, name=f"m{one}", compute_id=f"id of m{one}"))
                together.wait()  # registered: others are pruned now
                together.wait()
                store.put([((key(one), "next"), np.float32([one]))], model=number)

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write, writer) for writer in range(2)]
        for i in range(many):
            together.wait()
            prune(path, ["old"], None)
            fill(path, {9101 + i: 0.5}, f"between {i}")  # would be given a number that is free
            fill(path, {9001 + i: 0.5}, "old")
            together.wait()
        for one in writing:
            one.result(timeout=30)
    assert {one.model: one.answers for one in info(path)} == {
        "old": 1,
        **{f"m{one}": 1 for one in range(2 * many)},
        **{f"between {i}": 1 for i in range(many)},
    }
    prune(path, [f"between {i}" for i in range(many)], None)
    assert {i: value for i, value in values(path).items() if i < 9000} == {i: float(i) for i in range(2 * many)}


def test_weights_of_one_name_are_pruned_together(tmp_path):
    path = tmp_path / "s"
    for number in (1, 2):
        with closing(AnswerStore(path)) as store:
            model = store.use(replace(CARD, name="m", compute_id=f"weights {number}"))
            store.put([((key(number), "next"), np.float32([0.5]))], model=model)
    prune(path, ["m"], None)
    assert values(path) == {}


def test_pruning_only_counts_until_it_is_confirmed(tmp_path):
    path = fill(tmp_path / "s", dict.fromkeys(range(50), 0.5))
    asked = ["cache", "prune", "--model", "m", "--store", str(path)]
    assert "50 answers" in CliRunner().invoke(app, asked).output
    assert len(values(path)) == 50
    assert "removed" in CliRunner().invoke(app, [*asked, "--yes"]).output
    assert values(path) == {}


def test_pruning_nothing_or_an_unknown_model_is_refused(tmp_path):
    path = fill(tmp_path / "s", {1: 0.5}, "bert")
    with pytest.raises(BadInput, match="name models"):
        prune(path, [], None)
    with pytest.raises(BadInput, match="did you mean 'bert'"):
        prune(path, ["brt"], None)
    with pytest.raises(BadInput, match="no answer store"):
        info(tmp_path / "nowhere")


def test_the_answers_of_a_model_that_answers_requests_are_its_own(tmp_path):
    from trueprobe.types import ScoreText

    Engine(answering.Answering(), AnswerStore(tmp_path / "s")).answer([ScoreText("The man is here.")])
    assert [(one.model, one.answers) for one in info(tmp_path / "s")] == [("served", 1)]


# ---------------------------------------------------------------- network file systems


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    """/proc/self/mountinfo with a network file system at tmp_path/shared."""
    lines = [
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw",
        f"36 22 0:42 / {tmp_path}/shared rw,noatime shared:7 - nfs4 server:/export rw,vers=4.2",
        f"37 36 8:2 / {tmp_path}/shared/scratch rw shared:8 - xfs /dev/vdb rw",
    ]
    (tmp_path / "mountinfo").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(layout, "MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "shared" / "scratch").mkdir(parents=True)
    return tmp_path


def test_a_network_file_system_is_recognised_by_the_nearest_mount(mounts):
    assert layout.network_file_system(mounts / "shared" / "s.sqlite") == "nfs4"
    assert layout.network_file_system(mounts / "shared" / "scratch" / "s.sqlite") == ""
    assert layout.network_file_system(mounts / "s.sqlite") == ""
    (mounts / "link").symlink_to(mounts / "shared")
    assert layout.network_file_system(mounts / "link" / "s.sqlite") == "nfs4"


def mode(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA journal_mode").fetchone()[0]


def test_a_store_on_a_network_file_system_has_a_rollback_journal(mounts):
    fill(mounts / "shared" / "s", {1: 0.5})
    fill(mounts / "s", {1: 0.5})
    assert (mode(mounts / "shared" / "s"), mode(mounts / "s")) == ("delete", "wal")
    assert values(mounts / "shared" / "s") == {1: 0.5}


def test_a_store_that_was_copied_there_is_changed_over(mounts):
    fill(mounts / "s", {1: 0.5})
    (mounts / "s").rename(mounts / "shared" / "s")
    assert mode(mounts / "shared" / "s") == "wal"
    assert values(mounts / "shared" / "s") == {1: 0.5}
    assert mode(mounts / "shared" / "s") == "delete"
