"""The answer store: one SQLite file that caches what models answered.

The key names the computation (weights, dtype, ids, segments), never the question: a changed verbalizer, list or k
needs nothing new. Of a model that answers whole requests, the key names the request. Beside answers lies what was
derived from them or found out about a model, under a key that names all it depends on. Several processes may use one
file; the first answer stored stays.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import paths
from trueprobe.errors import BadInput, FailedRun

Address = tuple[bytes, str]  # the key of a row (or request), and what was read of it
_AT_ONCE = 400
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  key BLOB NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL, made_with INTEGER NOT NULL, PRIMARY KEY (key, what)
);
CREATE TABLE IF NOT EXISTS versions (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
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
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=120, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
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
        return {address: np.frombuffer(value, np.float32) for address, value in self.get_bytes(addresses).items()}

    def get_bytes(self, addresses: Sequence[Address]) -> dict[Address, bytes]:
        wanted = set(addresses)
        rows = self._select("key, what, value", {key for key, _ in addresses})
        return {(key, what): value for key, what, value in rows if (key, what) in wanted}

    def put(self, answers: Iterable[tuple[Address, np.ndarray]], replace: bool = False) -> None:
        """Float32 arrays; what is not finite is left out."""
        arrays = ((address, value) for address, value in answers if is_finite(value))
        self.put_bytes(((a, np.ascontiguousarray(v, dtype=np.float32).tobytes()) for a, v in arrays), replace)

    def put_bytes(self, answers: Iterable[tuple[Address, bytes]], replace: bool = False) -> None:
        """All or nothing; what is already cached stays unless it is to be replaced."""
        verb = "REPLACE" if replace else "IGNORE"
        rows = [(key, what, value, self.made_with) for (key, what), value in answers]
        with self._errors(), self._transaction():
            self._db.executemany(f"INSERT OR {verb} INTO answers VALUES (?, ?, ?, ?)", rows)

    def restamp(self, addresses: Iterable[Address]) -> None:
        """These were checked against the versions in use now."""
        rows = [(self.made_with, key, what) for key, what in addresses]
        with self._errors(), self._transaction():
            self._db.executemany("UPDATE answers SET made_with = ? WHERE key = ? AND what = ?", rows)

    # ------------------------------------------------------------ what was derived

    def derived(self, key: bytes) -> bytes | None:
        """None where there is nothing, or it is no longer what was stored."""
        with self._errors():
            row = self._db.execute("SELECT value, sha256 FROM derived WHERE key = ?", (key,)).fetchone()
        whole = row is not None and hashlib.sha256(row[0]).digest() == row[1]
        return zlib.decompress(row[0]) if whole else None

    def put_derived(self, key: bytes, value: bytes) -> None:
        with self._errors(), self._transaction():
            packed = zlib.compress(value)
            row = (key, packed, hashlib.sha256(packed).digest())
            self._db.execute("INSERT OR REPLACE INTO derived VALUES (?, ?, ?)", row)

    def _select(self, columns: str, keys: set[bytes]) -> Iterator[tuple[Any, ...]]:
        ordered = sorted(keys)
        with self._errors():
            for start in range(0, len(ordered), _AT_ONCE):
                chunk = ordered[start : start + _AT_ONCE]
                marks = ",".join("?" * len(chunk))
                yield from self._db.execute(f"SELECT {columns} FROM answers WHERE key IN ({marks})", chunk)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
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
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"{self.path} is not a usable answer store ({error}); move it away or name another with --store"
            ) from error
        except OSError as error:
            raise FailedRun(f"answer store {self.path}: {error}") from error
