"""Answer stores as files: what one holds, whether it is damaged, leaving out answers, and merging several into one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueprobe.engine.answers import DAY, AnswerStore, default_path
from trueprobe.engine.layout import (
    REPLACING_DAMAGED,
    WHOLE_ANSWER,
    intact,
    opened,
    row_ranges,
    store_errors,
    transaction,
)
from trueprobe.errors import BadInput, nearest
from trueprobe.types import NoProgress, Progress

UNKNOWN = "(not known)"  # whose answers: those of stores that did not note it
SAME_NATS = 1e-4  # as far as two machines may differ in one answer
_BYTES = "sum(length(key) + length(what) + length(value))"
_INTACT = {"answers": intact("answers"), "derived": intact("derived", what="")}  # by table

# an answer of which the version is not known gets the empty one: it is checked before it is used
_COPY = f"""
INSERT INTO main.answers (key, what, value, made_with, model, made, checksum)
SELECT a.key, a.what, a.value, v.id, coalesce(m.id, 0), a.made, a.checksum
FROM other.answers a
LEFT JOIN other.versions ov ON ov.id = a.made_with JOIN main.versions v ON v.text = coalesce(ov.text, '')
LEFT JOIN other.models om ON om.id = a.model LEFT JOIN main.models m ON m.compute_id = om.compute_id
WHERE a.rowid BETWEEN ? AND ? AND a.rowid NOT IN damaged
{REPLACING_DAMAGED}
"""
_NOTE_DAMAGED = f"""
INSERT INTO damaged SELECT a.rowid FROM other.answers a WHERE a.rowid BETWEEN ? AND ? AND NOT {intact("a")}
"""
_DIFFERING = f"""
SELECT a.what, a.value, b.value FROM other.answers a JOIN main.answers b ON b.key = a.key AND b.what = a.what
WHERE a.rowid BETWEEN ? AND ? AND a.value != b.value AND a.rowid NOT IN damaged AND {intact("b")}
"""
_OVER_MODELS = """
INSERT INTO main.models (compute_id, name, last_used) SELECT compute_id, name, last_used FROM other.models WHERE true
ON CONFLICT (compute_id) DO UPDATE SET last_used = max(last_used, excluded.last_used)
"""


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of one model in a store. Days are counted back from today; None where they are not known."""

    model: str
    compute_id: str
    answers: int
    bytes: int
    oldest_days: int | None
    newest_days: int | None
    unused_days: int | None


@dataclass(frozen=True)
class Merged:
    """What became of one store's answers. `largest_difference` is of those that were there with other numbers."""

    path: str
    answers: int
    added: int
    damaged: int  # left out
    differing: int
    far_apart: int  # of those, by more than machines differ
    largest_difference: float


@dataclass(frozen=True)
class Checked:
    """How many answers a store has, and results of repeated runs, and how many of them are not what was stored."""

    path: str
    answers: int
    damaged: int
    results: int
    damaged_results: int
    fault: str  # of the file itself, as SQLite reports it; empty where there is none

    @property
    def intact(self) -> bool:
        return not (self.damaged or self.damaged_results or self.fault)


# ---------------------------------------------------------------- what a store holds


def info(path: Path | None = None) -> list[ModelAnswers]:
    """By size, the largest first."""
    with _opened(path) as db:
        rows = db.execute(
            f"SELECT model, count(*), {_BYTES}, min(nullif(made, 0)), max(made) FROM answers GROUP BY model"
        )
        models = {i: rest for i, *rest in db.execute("SELECT id, compute_id, name, last_used FROM models")}
        of_models = [_answers(models.get(model), *counted) for model, *counted in rows.fetchall()]
    return sorted(of_models, key=lambda one: -one.bytes)


def _answers(
    model: Sequence[object] | None, count: int, size: int, oldest: int | None, newest: int | None
) -> ModelAnswers:
    compute_id, name, used = model or ("", UNKNOWN, None)
    today = int(time.time() // DAY)
    unused = int((time.time() - used) // DAY) if isinstance(used, float) else None
    ages = [today - day if day else None for day in (oldest, newest)]
    return ModelAnswers(str(name), str(compute_id), count, size, ages[0], ages[1], unused)


def derived_bytes(path: Path | None = None) -> int:
    """What was worked out from answers: cards, observations and tables of repeated runs."""
    with _opened(path) as db:
        return int(db.execute("SELECT coalesce(sum(length(value)), 0) FROM derived").fetchone()[0])


# ---------------------------------------------------------------- what is damaged


def check(path: Path | None = None, repair: bool = False, progress: Progress | None = None) -> Checked:
    """Holds every answer and every result against its checksum; `repair` removes those that are damaged, and builds the
    indexes again."""
    progress = progress or NoProgress()
    counts: dict[str, tuple[int, int]] = {}
    with _opened(path, progress) as db:
        if repair:
            db.execute("REINDEX")
        for table in _INTACT:
            (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            ranges = row_ranges(db, table, f"checking {table}", progress)
            counts[table] = count, sum(_damaged_within(db, table, between, repair) for between in ranges)
        with progress.task("checking the file"):
            (fault,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    fault = "" if fault == "ok" else " ".join(fault.split())
    return Checked(str(path or default_path()), *counts["answers"], *counts["derived"], fault)


def _damaged_within(db: sqlite3.Connection, table: str, between: tuple[int, int], remove: bool) -> int:
    where = f"FROM {table} WHERE rowid BETWEEN ? AND ? AND NOT {_INTACT[table]}"
    if remove:
        return db.execute(f"DELETE {where}", between).rowcount
    return int(db.execute(f"SELECT count(*) {where}", between).fetchone()[0])


# ---------------------------------------------------------------- what is left out


def prune(path: Path | None, models: Sequence[str], older_than_days: int | None) -> None:
    """Removes answers of these models (all, where none is named) that are older (of any age, where none is given), and
    all that was derived: it is worked out again where it is needed. The file shrinks."""
    with _opened(path) as db:
        where, values = _condition(db, models, older_than_days)
        with transaction(db):
            db.execute(f"DELETE FROM answers WHERE {where}", values)
            db.execute("DELETE FROM derived")
        # models stay: a run that goes on puts answers under its model's number, which must not become another model's
        db.execute("VACUUM")


def prunable(path: Path | None, models: Sequence[str], older_than_days: int | None) -> tuple[int, int]:
    """How many answers `prune` would remove, and their bytes."""
    with _opened(path) as db:
        where, values = _condition(db, models, older_than_days)
        count, size = db.execute(
            f"SELECT count(*), coalesce({_BYTES}, 0) FROM answers WHERE {where}", values
        ).fetchone()
    return int(count), int(size)


def _condition(db: sqlite3.Connection, models: Sequence[str], older_than_days: int | None) -> tuple[str, list[int]]:
    if not models and older_than_days is None:
        raise BadInput("nothing to prune: name models (--model NAME) or an age (--older-than DAYS)")
    with_answers = "SELECT id, name FROM models WHERE id IN (SELECT model FROM answers)"
    models_here = [*db.execute(with_answers), (0, UNKNOWN)]
    names = list(dict.fromkeys(name for _, name in models_here))
    for name in models:
        if name not in names:
            raise BadInput(f"the store has no answers of '{name}'{nearest(name, names)}")
    conditions, values = [], [number for number, name in models_here if name in models]
    if models:
        conditions.append(f"model IN ({','.join('?' * len(values))})")
    if older_than_days is not None:
        conditions.append("made < ?")
        values.append(int(time.time() // DAY) - older_than_days)
    return " AND ".join(conditions), values


# ---------------------------------------------------------------- several into one


def merge(paths: Sequence[Path], into: Path, progress: Progress | None = None) -> list[Merged]:
    """Copies all answers of stores into one, which may be new. What is there already stays; other numbers for the same
    question are counted. Each store in turn; the same call goes on where it was interrupted."""
    for path in paths:
        if not path.is_file():
            raise BadInput(f"no answer store '{path}'")
        if into.exists() and path.samefile(into):
            raise BadInput(f"{path} cannot be merged into itself")
    progress = progress or NoProgress()
    for path in (*paths, into):
        AnswerStore(path, progress=progress).close()  # in its present form, with what its write-ahead log holds
    return [_merge_one(path, into, progress) for path in paths]


def _merge_one(path: Path, into: Path, progress: Progress) -> Merged:
    with _opened(into) as db:
        db.execute("ATTACH ? AS other", (str(path),))
        db.execute("INSERT OR IGNORE INTO main.versions (text) SELECT text FROM other.versions")
        db.execute(_OVER_MODELS)
        db.execute(f"INSERT OR IGNORE INTO main.derived SELECT * FROM other.derived WHERE {_INTACT['derived']}")
        (count,) = db.execute("SELECT count(*) FROM other.answers").fetchone()
        db.execute("CREATE TEMP TABLE damaged (id INTEGER PRIMARY KEY)")
        added, damaged, apart = 0, 0, list[float]()
        for between in row_ranges(db, "other.answers", f"merging {path.name}", progress):
            damaged += db.execute(_NOTE_DAMAGED, between).rowcount
            apart += [_difference(*row) for row in db.execute(_DIFFERING, between)]
            added += db.execute(_COPY, between).rowcount
    far = sum(one > SAME_NATS for one in apart)
    return Merged(str(path), count, added, damaged, len(apart), far, max(apart, default=0.0))


def _difference(what: str, one: bytes, other: bytes) -> float:
    """The largest between two answers, beyond what float32 itself rounds; infinite where they are no equally many
    numbers."""
    if what == WHOLE_ANSWER or len(one) != len(other):
        return float("inf")
    a, b = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    return float(np.max(np.abs(a - b) - 1e-5 * np.abs(b)))


@contextmanager
def _opened(path: Path | None, progress: Progress | None = None) -> Iterator[sqlite3.Connection]:
    """A store that exists, in its present form; every statement is a transaction."""
    path = path or default_path()
    if not path.is_file():
        raise BadInput(f"no answer store '{path}'; name one with --store")
    with store_errors(str(path)), closing(opened(str(path), progress or NoProgress())) as db:
        yield db
