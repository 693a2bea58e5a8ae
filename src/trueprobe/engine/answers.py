"""The answer store: one SQLite file that caches what models answered.

The key names the computation (weights, dtype, ids, segments), never the question: a changed verbalizer, list or k
needs nothing new. Of a model that answers whole requests, the key names the request. Beside answers lies what was
derived from them or found out about a model, under a key that names all it depends on. Several processes and threads
may use one file; the first answer stored stays.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import paths
from trueprobe.engine.journal import network_file_system
from trueprobe.errors import BadInput, FailedRun
from trueprobe.types import Card

Address = tuple[bytes, str]  # the key of a row (or request), and what was read of it
_AT_ONCE = 400
# of each answer, beside what it is found by: whose it is (0: not known), and the day it was made, counted from 1970
_LATER_COLUMNS = ("model INTEGER NOT NULL DEFAULT 0", "made INTEGER NOT NULL DEFAULT 0")
DAY = 24 * 60 * 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  key BLOB NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL, made_with INTEGER NOT NULL, PRIMARY KEY (key, what)
);
CREATE TABLE IF NOT EXISTS versions (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS models (
  id INTEGER PRIMARY KEY, compute_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, last_used REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS derived (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL, sha256 BLOB NOT NULL);
"""


def derived_key(*parts: str) -> bytes:
    """Names all that something was derived from; no two lists of parts have one key."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def is_finite(value: np.ndarray) -> bool:
    return bool(np.isfinite(value).all())


def default_path() -> Path:
    return paths.cache() / "answers.sqlite"


class AnswerStore:
    def __init__(self, path: Path | str | None = None, made_with: str = "") -> None:
        self.path = str(path or default_path())
        self._lock = threading.Lock()  # threads of a run share the connection
        self._numbers: dict[str, int] = {}  # of models, by compute_id
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=120, isolation_level=None, check_same_thread=False)
            self._db.execute(f"PRAGMA journal_mode={'DELETE' if network_file_system(self.path) else 'WAL'}")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
            self._add_columns()
            self._db.execute("INSERT OR IGNORE INTO versions (text) VALUES (?)", (made_with,))
            row = self._db.execute("SELECT id FROM versions WHERE text = ?", (made_with,)).fetchone()
        self.made_with: int = row[0]

    def close(self) -> None:
        self._db.close()

    def has(self, addresses: Sequence[Address]) -> dict[Address, int]:
        """The addresses that are cached, each with the version that made it."""
        wanted = set(addresses)
        rows = self._select("key, what, made_with", {key for key, _ in addresses})
        return {(key, what): version for key, what, version in rows if (key, what) in wanted}

    def get(self, addresses: Sequence[Address]) -> dict[Address, np.ndarray]:
        with self._errors():
            return {address: np.frombuffer(value, np.float32) for address, value in self.get_bytes(addresses).items()}

    def get_bytes(self, addresses: Sequence[Address]) -> dict[Address, bytes]:
        wanted = set(addresses)
        rows = self._select("key, what, value", {key for key, _ in addresses})
        return {(key, what): value for key, what, value in rows if (key, what) in wanted}

    def use(self, card: Card) -> int:
        """The number of a model, under which its answers are put; the first time here notes that it is used now."""
        if card.compute_id in self._numbers:
            return self._numbers[card.compute_id]
        row = (card.compute_id, card.name, time.time())
        with self._errors(), self._transaction():
            self._db.execute(
                "INSERT INTO models (compute_id, name, last_used) VALUES (?, ?, ?) "
                "ON CONFLICT (compute_id) DO UPDATE SET name = excluded.name, last_used = excluded.last_used",
                row,
            )
            (number,) = self._db.execute("SELECT id FROM models WHERE compute_id = ?", row[:1]).fetchone()
        self._numbers[card.compute_id] = int(number)
        return int(number)

    def put(self, answers: Iterable[tuple[Address, np.ndarray]], replace: bool = False, model: int = 0) -> None:
        """Float32 arrays; what is not finite is left out."""
        arrays = ((address, value) for address, value in answers if is_finite(value))
        self.put_bytes(((a, np.ascontiguousarray(v, dtype=np.float32).tobytes()) for a, v in arrays), replace, model)

    def put_bytes(self, answers: Iterable[tuple[Address, bytes]], replace: bool = False, model: int = 0) -> None:
        """All or nothing; what is already cached stays unless it is to be replaced."""
        verb, today = "REPLACE" if replace else "IGNORE", int(time.time() // DAY)
        rows = [(key, what, value, self.made_with, model, today) for (key, what), value in answers]
        with self._errors(), self._transaction():
            self._db.executemany(f"INSERT OR {verb} INTO answers VALUES (?, ?, ?, ?, ?, ?)", rows)

    def restamp(self, addresses: Iterable[Address]) -> None:
        """These were checked against the versions in use now."""
        rows = [(self.made_with, key, what) for key, what in addresses]
        with self._errors(), self._transaction():
            self._db.executemany("UPDATE answers SET made_with = ? WHERE key = ? AND what = ?", rows)

    # ------------------------------------------------------------ what was derived

    def derived(self, key: bytes) -> bytes | None:
        """None where there is nothing, or it is no longer what was stored."""
        with self._errors(), self._lock:
            row = self._db.execute("SELECT value, sha256 FROM derived WHERE key = ?", (key,)).fetchone()
        if row is None or hashlib.sha256(row[0]).digest() != row[1]:
            return None
        try:
            return zlib.decompress(row[0])
        except zlib.error:
            return None

    def put_derived(self, key: bytes, value: bytes) -> None:
        with self._errors(), self._transaction():
            packed = zlib.compress(value)
            row = (key, packed, hashlib.sha256(packed).digest())
            self._db.execute("INSERT OR REPLACE INTO derived VALUES (?, ?, ?)", row)

    def _add_columns(self) -> None:
        """To a store of an earlier version; where another process does the same, it waits for it."""
        with self._transaction():
            there = {row[1] for row in self._db.execute("PRAGMA table_info(answers)")}
            for column in _LATER_COLUMNS:
                if column.split()[0] not in there:
                    self._db.execute(f"ALTER TABLE answers ADD COLUMN {column}")

    def _select(self, columns: str, keys: set[bytes]) -> Iterator[tuple[Any, ...]]:
        ordered = sorted(keys)
        for start in range(0, len(ordered), _AT_ONCE):
            chunk = ordered[start : start + _AT_ONCE]
            marks = ",".join("?" * len(chunk))
            with self._errors(), self._lock:
                rows = self._db.execute(f"SELECT {columns} FROM answers WHERE key IN ({marks})", chunk).fetchall()
            yield from rows

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise FailedRun(f"answer store {self.path}: {error}; what was cached before stays") from error
        except (sqlite3.Error, ValueError, TypeError) as error:  # also of a value that is no array
            raise BadInput(
                f"{self.path} is not a usable answer store ({error}); move it away or name another with --store"
            ) from error
        except OSError as error:
            raise FailedRun(f"answer store {self.path}: {error}") from error
