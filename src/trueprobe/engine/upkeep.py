"""Answer stores as files: what one holds, leaving out what is no longer needed, and merging several into one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueprobe.engine.answers import DAY, AnswerStore, default_path
from trueprobe.errors import BadInput, FailedRun, nearest
from trueprobe.types import NoProgress, Progress

UNKNOWN = "(not known)"  # whose answers: those of stores that did not note it
SAME_NATS = 1e-4  # as far as two machines may differ in one answer
_BYTES = "sum(length(key) + length(what) + length(value))"
_ROWS_AT_ONCE = 20_000  # merged and committed together

_COPY = """
INSERT OR IGNORE INTO main.answers (key, what, value, made_with, model, made)
SELECT a.key, a.what, a.value, v.id, coalesce(m.id, 0), a.made
FROM other.answers a
JOIN other.versions ov ON ov.id = a.made_with JOIN main.versions v ON v.text = ov.text
LEFT JOIN other.models om ON om.id = a.model LEFT JOIN main.models m ON m.compute_id = om.compute_id
WHERE a.rowid BETWEEN ? AND ?
"""
_DIFFERING = """
SELECT a.what, a.value, b.value FROM other.answers a JOIN main.answers b ON b.key = a.key AND b.what = a.what
WHERE a.rowid BETWEEN ? AND ? AND a.value != b.value
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
    differing: int
    far_apart: int  # of those, by more than machines differ
    largest_difference: float


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


# ---------------------------------------------------------------- what is left out


def prune(path: Path | None, models: Sequence[str], older_than_days: int | None) -> None:
    """Removes answers of these models (all, where none is named) that are older (of any age, where none is given), and
    all that was derived: it is worked out again where it is needed. The file shrinks."""
    with _opened(path) as db:
        where, values = _condition(db, models, older_than_days)
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"DELETE FROM answers WHERE {where}", values)
        db.execute("DELETE FROM derived")
        db.execute("DELETE FROM models WHERE id NOT IN (SELECT DISTINCT model FROM answers)")
        db.execute("COMMIT")
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
    known = {name: i for i, name in db.execute("SELECT id, name FROM models")} | {UNKNOWN: 0}
    for name in models:
        if name not in known:
            raise BadInput(f"the store has no answers of '{name}'{nearest(name, list(known))}")
    conditions, values = [], [known[name] for name in models]
    if models:
        conditions.append(f"model IN ({','.join('?' * len(models))})")
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
        AnswerStore(path).close()  # of the present form, with what its write-ahead log holds
    AnswerStore(into).close()
    return [_merge_one(path, into, progress or NoProgress()) for path in paths]


def _merge_one(path: Path, into: Path, progress: Progress) -> Merged:
    with _opened(into) as db:
        db.execute("ATTACH ? AS other", (str(path),))
        db.execute("INSERT OR IGNORE INTO main.versions (text) SELECT text FROM other.versions")
        db.execute(_OVER_MODELS)
        db.execute("INSERT OR IGNORE INTO main.derived SELECT * FROM other.derived")
        count, last = db.execute("SELECT count(*), coalesce(max(rowid), 0) FROM other.answers").fetchone()
        added, apart = 0, list[float]()
        with progress.task(f"merging {path.name}", last, "answers") as task:
            for start in range(1, last + 1, _ROWS_AT_ONCE):
                between = (start, start + _ROWS_AT_ONCE - 1)
                apart += [_difference(*row) for row in db.execute(_DIFFERING, between)]
                added += db.execute(_COPY, between).rowcount
                task.reach(min(start + _ROWS_AT_ONCE - 1, last), last)
    far = sum(one > SAME_NATS for one in apart)
    return Merged(str(path), count, added, len(apart), far, max(apart, default=0.0))


def _difference(what: str, one: bytes, other: bytes) -> float:
    """The largest between two answers, beyond what float32 itself rounds; infinite where they are no equally many
    numbers."""
    if what == "answer" or len(one) != len(other):
        return float("inf")
    a, b = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    return float(np.max(np.abs(a - b) - 1e-5 * np.abs(b)))


@contextmanager
def _opened(path: Path | None) -> Iterator[sqlite3.Connection]:
    """A store that exists, in its present form; every statement is a transaction."""
    path = path or default_path()
    if not path.is_file():
        raise BadInput(f"no answer store '{path}'; name one with --store")
    AnswerStore(path).close()
    try:
        with closing(sqlite3.connect(path, timeout=120, isolation_level=None)) as db:
            yield db
    except sqlite3.Error as error:
        raise FailedRun(f"answer store {path}: {error}") from error
