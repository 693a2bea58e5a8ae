"""A damaged answer store: no number changes. What is damaged is computed again and counted, or the store is refused."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import answering
import trueprobe
from old_stores import key, old_store
from trueprobe.cli import app
from trueprobe.engine import AnswerStore, Engine
from trueprobe.engine.upkeep import check, info, merge
from trueprobe.errors import BadInput, FailedRun
from trueprobe.types import EmbedText, FillBlank, FollowsText, NoProgress, ScoreText

BLANKS = [
    FillBlank(f"The {who} was ", " here.", words=("man", "she"), top=3) for who in ("nurse", "man", "bus", "cook")
]
ASKED = [*BLANKS, ScoreText("The nurse was late."), EmbedText("The nurse was late", "mean")]
FLIPS = 100


@pytest.fixture(scope="module")
def clean(opened, tmp_path_factory):
    """A store with the answers to ASKED, and what they are."""
    path = tmp_path_factory.mktemp("clean") / "answers.sqlite"
    with closing(AnswerStore(path, "v")) as store:
        return path, plain(Engine(opened("bert"), store).answer(ASKED))


@pytest.fixture
def path(clean, tmp_path):
    """A copy of it, to be damaged."""
    copied = tmp_path / "answers.sqlite"
    copied.write_bytes(clean[0].read_bytes())
    return copied


def plain(answers):
    """Exact, and comparable."""
    *filled, scored, vector = answers
    return [*((dict(one.words), one.top, one.list_size) for one in filled), scored, vector.values.tobytes()]


def sql(path, statement, *values):
    with closing(sqlite3.connect(path)) as db, db:
        return db.execute(statement, values).fetchall()


def ask(model, path):
    """The answers, and how many damaged ones were met."""
    with closing(AnswerStore(path, "v")) as store:
        return plain(Engine(model, store).answer(ASKED)), len(store.damaged)


def floats(*numbers):
    return np.float32(numbers).tobytes()


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


# ---------------------------------------------------------------- values

DAMAGES = {
    **{
        f"bit {share:.0%}": lambda v, share=share: flipped(v, int(share * (8 * len(v) - 1)))
        for share in (0, 0.3, 0.7, 1)
    },
    "NaN": lambda value: floats(np.nan) + value[4:],
    "+5": lambda value: floats(5) + value[4:],
    "truncated": lambda value: value[:-4],
    "torn": lambda value: value[:-1],
    "empty": lambda value: b"",
    "no bytes": lambda value: "text",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("what", ["blank", "token", "vector"])
def test_a_damaged_value_is_computed_again_overwritten_and_counted(damage, what, clean, path, opened):
    rows = sql(path, "SELECT rowid, value FROM answers WHERE what LIKE ? ORDER BY rowid", f"{what}%")
    number, value = rows[len(rows) // 2]
    sql(path, "UPDATE answers SET value = ? WHERE rowid = ?", DAMAGES[damage](value), number)
    assert ask(opened("bert"), path) == (clean[1], 1)
    assert sql(path, "SELECT value FROM answers WHERE rowid = ?", number) == [(value,)]
    assert ask(opened("bert"), path) == (clean[1], 0)


@pytest.mark.parametrize("columns", ["value", "value, checksum"])
def test_values_that_changed_places_are_noticed(columns, clean, path, opened):
    """With or without their checksums: these cover the key, too."""
    (a, *one), (b, *other) = sql(path, f"SELECT rowid, {columns} FROM answers WHERE what LIKE 'blank%' LIMIT 2")
    names = columns.split(", ")
    for number, values in ((a, other), (b, one)):
        sql(path, f"UPDATE answers SET {', '.join(f'{n} = ?' for n in names)} WHERE rowid = ?", *values, number)
    assert ask(opened("bert"), path) == (clean[1], 2)


def test_a_causal_text_is_computed_again_in_the_batch_it_was_in(opened, tmp_path):
    """Its bits depend on the batch; intact answers of that batch stay as they are."""
    texts = [ScoreText(f"The woman met the {who}.") for who in ("nurse", "man", "bus")]
    model, path = opened("gpt2"), tmp_path / "s"
    with closing(AnswerStore(path, "v")) as store:
        first = Engine(model, store).answer(texts)
    before = sql(path, "SELECT * FROM answers ORDER BY rowid")
    sql(path, "UPDATE answers SET value = ? WHERE rowid = 2", floats(-1))
    with closing(AnswerStore(path, "v")) as store:
        assert Engine(model, store).answer(texts) == first
    assert sql(path, "SELECT * FROM answers ORDER BY rowid") == before


def test_a_damaged_answer_to_a_whole_request_is_asked_again(tmp_path):
    requests, path = [FollowsText("a", str(i)) for i in range(5)], tmp_path / "s"
    with closing(AnswerStore(path)) as store:
        first = Engine(answering.Answering(), store).answer(requests)
    sql(path, "UPDATE answers SET value = replace(value, '0.', '0.1') WHERE rowid = 3")
    model = answering.Answering()
    with closing(AnswerStore(path)) as store:
        assert Engine(model, store).answer(requests) == first
    assert len(model.asked) == 1


def test_results_of_repeated_runs_that_changed_places_are_missing(tmp_path):
    with closing(AnswerStore(tmp_path / "s")) as store:
        for key in (b"one", b"two"):
            store.put_derived(key, b"a table of " + key)
    sql(tmp_path / "s", "UPDATE derived SET key = key || 'x'")
    sql(tmp_path / "s", "UPDATE derived SET key = CAST(iif(key = 'onex', 'two', 'one') AS BLOB)")
    with closing(AnswerStore(tmp_path / "s")) as store:
        assert sql(tmp_path / "s", "SELECT count(*) FROM derived WHERE key IN (?, ?)", b"one", b"two") == [(2,)]
        assert (store.derived(b"one"), store.derived(b"two")) == (None, None)


def test_flipped_bits_anywhere_in_the_file_never_change_a_number(clean, path, opened):
    """Each alone, in every part of the file: the answers are right, or the store is refused in one line."""
    content, rng = clean[0].read_bytes(), random.Random(0)
    right, refusals = 0, []
    for _ in range(FLIPS):
        path.write_bytes(flipped(content, rng.randrange(8 * len(content))))
        try:
            answers, _ = ask(opened("bert"), path)
        except (BadInput, FailedRun) as error:
            refusals.append(str(error))
        else:
            assert answers == clean[1]
            right += 1
        for file in path.parent.glob("answers.sqlite-*"):
            file.unlink()
    assert right > FLIPS / 2
    assert not any("\n" in line for line in refusals)


def test_answers_that_vanish_while_they_are_used_end_the_run_and_are_not_called_unknown(path, opened, monkeypatch):
    with closing(AnswerStore(path, "v")) as store:
        has = store.has

        def then_prune(addresses):
            cached = has(addresses)
            store._db.execute("DELETE FROM answers WHERE rowid = 2")
            return cached

        monkeypatch.setattr(store, "has", then_prune)
        with pytest.raises(FailedRun, match=r"lost answers.*cache check --repair"):
            Engine(opened("bert"), store).answer(ASKED)


def test_a_run_says_how_many_were_damaged_and_ends_well(checkpoint, tmp_path):
    store = tmp_path / "s.sqlite"

    def run(out, *options):
        arguments = ["run", "counteracts", "--model", str(checkpoint("bert")), "--limit", "12", "--store", str(store)]
        return CliRunner().invoke(app, [*arguments, *options, *(("--out", str(tmp_path / out)) if out else ())])

    assert "damaged" not in run("clean").output
    sql(store, "UPDATE answers SET value = zeroblob(length(value)) WHERE rowid <= 3")
    sql(store, "DELETE FROM derived")
    result = run("again")
    assert result.exit_code == 0
    assert "3 cached answers were damaged and computed again" in result.output
    clean, again = (trueprobe.load_run(tmp_path / name) for name in ("clean", "again"))
    assert again.manifest.checksums == clean.manifest.checksums
    assert (clean.timing.damaged_answers, again.timing.damaged_answers) == (0, 3)
    sql(store, "UPDATE answers SET value = zeroblob(length(value)) WHERE rowid <= 1")
    assert "1 cached answer was damaged and computed again" in run("", "--shard", "1/1").output


# ---------------------------------------------------------------- stores of earlier and later versions

OPEN = "import sys; from trueprobe.engine import AnswerStore; AnswerStore(sys.argv[1], 'v').close()"


def stored(path: Path, rows: int = 50) -> list[float]:
    with closing(AnswerStore(path, "v")) as store:
        answers = store.get([(key(i), "next") for i in range(rows)])
    return [float(answers[address][0]) for address in sorted(answers)]


def test_a_store_without_checksums_gets_them_once(tmp_path):
    path = old_store(tmp_path / "s")
    assert stored(path) == list(range(50))
    assert sql(path, "PRAGMA user_version") == [(1,)]
    assert sql(path, "SELECT count(DISTINCT checksum), max(length(checksum)), count(*) FROM answers") == [(50, 8, 50)]
    assert [(one.model, one.answers) for one in info(path)] == [("m", 50)]
    sql(path, "UPDATE answers SET value = ? WHERE key = ?", floats(7, 7, 7, 7), key(5))
    assert stored(path) == [i for i in range(50) if i != 5]  # not computed a second time


def test_what_cannot_be_an_answer_gets_no_checksum(tmp_path):
    path = old_store(tmp_path / "s")
    for i, value in enumerate((floats(1, np.nan), b"odd", "words", floats(np.inf))):
        sql(path, "UPDATE answers SET value = ? WHERE key = ?", value, key(i))
    assert stored(path) == list(range(4, 50))
    assert (check(path).answers, check(path).damaged) == (50, 4)


def test_answers_of_pruned_models_are_nobodys_and_not_the_next_models(tmp_path):
    """Their number is free in the earlier store, and would be given to another model."""
    path = old_store(tmp_path / "s")
    sql(path, "DELETE FROM models")
    sql(path, "UPDATE answers SET model = 1")
    with closing(AnswerStore(path, "v")) as store:
        assert store.use(answering.CARD) == 1
    assert [one.model for one in info(path)] == ["(not known)"]


def test_adding_checksums_is_displayed(tmp_path):
    titles = []

    class Noted(NoProgress):
        def task(self, title, total=None, unit=""):
            titles.append((title, total))
            return super().task(title, total, unit)

    for path in (old_store(tmp_path / "old"), tmp_path / "new", tmp_path / "old"):
        AnswerStore(path, "v", Noted()).close()
    assert titles == [("adding checksums to cached answers", 50)]


@pytest.mark.slow
def test_killed_while_it_adds_checksums_the_next_one_does_it(tmp_path):
    rows = 40_000
    path = old_store(tmp_path / "s", rows, size=256)
    log, kills = Path(f"{path}-wal"), 0
    for most in (200_000, 5_000_000, 20_000_000):  # bytes written before it is killed
        process = subprocess.Popen([sys.executable, "-c", OPEN, str(path)])
        while process.poll() is None and not (log.exists() and log.stat().st_size > most):
            time.sleep(0.001)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        assert sql(path, "PRAGMA user_version") == [(0,)]
        assert sql(path, "SELECT count(*) FROM pragma_table_info('answers') WHERE name = 'checksum'") == [(0,)]
    assert kills == 3
    assert stored(path, rows) == list(range(rows))
    assert check(path).intact


@pytest.mark.slow
def test_several_that_open_an_earlier_store_at_once_all_get_it(tmp_path):
    path = old_store(tmp_path / "s", 5000)
    running = [subprocess.Popen([sys.executable, "-c", OPEN, str(path)]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert stored(path, 5000) == list(range(5000))


FOREIGN = {
    "newer": ("PRAGMA user_version = 2", r"newer trueprobe \(answer store version 2, this one reads 1\)"),
    "negative": ("PRAGMA user_version = -1", "not a usable answer store"),
    "no checksums by its version": ("PRAGMA user_version = 0", "not a usable answer store"),
    "extra column": ("ALTER TABLE answers ADD COLUMN more BLOB", "its table 'answers' is not as trueprobe makes it"),
    "renamed column": ("ALTER TABLE answers RENAME COLUMN value TO worth", "its table 'answers'"),
    "extra table": ("CREATE TABLE thesis (text)", "its table 'thesis'"),
    "missing table": ("DROP TABLE versions", "its table 'versions'"),
    "trigger": ("CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END", "its table 't'"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_another_version_or_layout_is_refused_in_one_line_and_left_alone(what, path):
    statement, message = FOREIGN[what]
    sql(path, statement)
    before = path.read_bytes()
    with pytest.raises(BadInput, match=message) as error:
        AnswerStore(path, "v")
    assert "\n" not in str(error.value)
    assert "--store" in str(error.value)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    sql(tmp_path / "notes", "CREATE TABLE notes (text)")
    before = (tmp_path / "notes").read_bytes()
    with pytest.raises(BadInput, match="its table 'notes' is not as trueprobe makes it"):
        AnswerStore(tmp_path / "notes")
    assert (tmp_path / "notes").read_bytes() == before


# ---------------------------------------------------------------- stores as files


def new_store(path: Path, values: dict[int, float]) -> Path:
    with closing(AnswerStore(path, "v")) as store:
        store.put(((key(i), "next"), np.float32([value])) for i, value in values.items())
    return path


def test_merging_leaves_damaged_answers_out_and_replaces_those_that_are_there(tmp_path):
    a, b = new_store(tmp_path / "a", {1: 0.5, 2: 0.5, 3: 0.5}), new_store(tmp_path / "b", {3: 0.5, 4: 0.5})
    sql(a, "UPDATE answers SET value = ? WHERE key = ?", floats(5), key(1))
    sql(b, "UPDATE answers SET value = ? WHERE key = ?", floats(5), key(3))
    result = CliRunner().invoke(app, ["cache", "merge", str(a), "--into", str(b)])
    assert result.exit_code == 0
    assert "3 answers, 2 copied, 1 damaged and left out" in result.output
    assert stored(b) == [0.5, 0.5, 0.5]
    assert check(b).intact
    (again,) = merge([a], b)
    assert (again.added, again.damaged, again.differing) == (0, 1, 0)


def test_an_answer_without_a_known_version_is_copied_as_one_of_none(tmp_path):
    a = new_store(tmp_path / "a", {1: 0.5})
    sql(a, "UPDATE answers SET made_with = 77")
    assert merge([a], tmp_path / "b")[0].added == 1
    with closing(AnswerStore(tmp_path / "b", "v")) as store:
        assert store.has([(key(1), "next")])[key(1), "next"] != store.made_with


def checked(path, *options):
    return CliRunner().invoke(app, ["cache", "check", "--store", str(path), *options])


def test_check_counts_what_is_damaged_and_repair_removes_it(tmp_path):
    path = new_store(tmp_path / "s", dict.fromkeys(range(30), 0.5))
    with closing(AnswerStore(path)) as store:
        store.put_derived(b"one", b"a table")
    result = checked(path)
    assert result.exit_code == 0
    assert "30 answers checked, 0 damaged; 1 results of repeated runs checked, 0 damaged" in result.output
    sql(path, "UPDATE answers SET value = ? WHERE rowid IN (4, 9)", floats(5))
    sql(path, "UPDATE derived SET value = x'00'")
    for _ in range(2):  # it removes nothing unasked
        result = checked(path)
        assert isinstance(result.exception, FailedRun)
        assert "30 answers checked, 2 damaged; 1 results of repeated runs checked, 1 damaged" in result.output
    counts = json.loads(checked(path, "--json").stdout)
    assert (counts["answers"], counts["damaged"], counts["damaged_results"], counts["fault"]) == (30, 2, 1, "")
    result = checked(path, "--repair")
    assert result.exit_code == 0
    assert "2 damaged and removed" in result.output
    assert "28 answers checked, 0 damaged; 0 results" in checked(path).output
    assert len(stored(path)) == 28


def test_check_exits_with_1_as_a_command(tmp_path):
    path = new_store(tmp_path / "s", {1: 0.5})
    sql(path, "UPDATE answers SET value = ?", floats(5))
    command = [sys.executable, "-m", "trueprobe", "cache", "check", "--store", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("trueprobe: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_damaged_index_is_reported_and_built_anew(path, clean, opened):
    """Bytes of a key, where the index has it."""
    content, (address,) = path.read_bytes(), sql(path, "SELECT key FROM answers WHERE rowid = 2")
    places = [i for i in range(len(content)) if content.startswith(address[0], i)]
    for place in places:  # in the table, and in its index
        path.write_bytes(flipped(content, 8 * place))
        assert isinstance(checked(path).exception, FailedRun)
        assert checked(path, "--repair").exit_code == 0
        assert checked(path).exit_code == 0
        assert ask(opened("bert"), path) == (clean[1], 0)
    assert len(places) == 2
