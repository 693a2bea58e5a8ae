"""The answer store: one SQLite file that caches what models answered.

The key names the computation (weights, dtype, ids, segments), never the question: a changed verbalizer, list or k
needs nothing new. Of a model that answers whole requests, the key names the request. Next to answers lies what was
derived from them or found out about a model, under a key that names all it depends on. Several processes and threads
may use one file; the first answer stored stays. What is damaged counts as missing (`layout.py` has the checksums).
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trueprobe import paths
from trueprobe.engine.layout import (
    REPLACING,
    REPLACING_DAMAGED,
    checksum,
    is_finite,
    is_intact,
    opened,
    store_errors,
    transaction,
)
from trueprobe.errors import FailedRun
from trueprobe.types import Card, NoProgress, Progress, WhyNot

Address = tuple[bytes, str]  # the key of a row (or request), and what was read of it
_AT_ONCE = 400
DAY = 24 * 60 * 60
_GET = "SELECT key, what, CAST(value AS BLOB), made_with, CAST(checksum AS BLOB) FROM answers"
_PUT = "INSERT INTO answers (key, what, value, made_with, model, made, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"
_log = logging.getLogger(__name__)


def derived_key(*parts: str) -> bytes:
    """Names all that something was derived from; no two lists of parts have one key."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def default_path() -> Path:
    return paths.cache() / "answers.sqlite"


class AnswerStore:
    def __init__(self, path: Path | str | None = None, made_with: str = "", progress: Progress | None = None) -> None:
        self.path = str(path or default_path())
        self.damaged: set[Address] = set()  # answers that were read and are not what was stored
        self._lock = threading.Lock()  # threads of a run share the connection
        self._numbers: dict[str, int] = {}  # of models, by compute_id
        with self._errors():
            self._db = opened(self.path, progress or NoProgress())
            try:
                self.made_with = self._version(made_with)
            except BaseException:
                self.close()
                raise
        _log.info("answers are cached in %s", self.path)

    def _version(self, text: str) -> int:
        self._db.execute("INSERT OR IGNORE INTO versions (text) VALUES (?)", (text,))
        (number,) = self._db.execute("SELECT id FROM versions WHERE text = ?", (text,)).fetchone()
        return int(number)

    def close(self) -> None:
        self._db.close()

    def has(self, addresses: Sequence[Address]) -> dict[Address, int]:
        """The addresses that are cached, each with the version that made it."""
        return {address: version for address, _, version in self._intact(addresses)}

    def get(self, addresses: Sequence[Address]) -> dict[Address, np.ndarray]:
        return {address: np.frombuffer(value, np.float32) for address, value, _ in self._intact(addresses)}

    def get_bytes(self, addresses: Sequence[Address]) -> dict[Address, bytes]:
        return {address: value for address, value, _ in self._intact(addresses)}

    def lost(self) -> FailedRun:
        """Of answers that were there, or were put, and cannot be read: damaged or removed since."""
        return FailedRun(
            f"answer store {self.path} lost answers while it was used; repair it with: trueprobe cache check --repair "
            f"--store {self.path}; then run the same command again"
        )

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
        return self._numbers[card.compute_id]

    def put(self, answers: Iterable[tuple[Address, np.ndarray]], replace: bool = False, model: int = 0) -> None:
        """Float32 arrays; what is not finite is left out."""
        arrays = ((address, value) for address, value in answers if is_finite(value))
        self.put_bytes(((a, np.ascontiguousarray(v, dtype=np.float32).tobytes()) for a, v in arrays), replace, model)

    def put_bytes(self, answers: Iterable[tuple[Address, bytes]], replace: bool = False, model: int = 0) -> None:
        """All or nothing; what is already cached stays unless it is damaged or to be replaced."""
        today = int(time.time() // DAY)
        rows = [
            (key, what, value, self.made_with, model, today, checksum(key, what.encode(), value))
            for (key, what), value in answers
        ]
        with self._errors(), self._transaction():
            self._db.executemany(f"{_PUT} {REPLACING if replace else REPLACING_DAMAGED}", rows)

    def restamp(self, addresses: Iterable[Address]) -> None:
        """These were checked against the versions in use now."""
        rows = [(self.made_with, key, what) for key, what in addresses]
        with self._errors(), self._transaction():
            self._db.executemany("UPDATE answers SET made_with = ? WHERE key = ? AND what = ?", rows)

    # ------------------------------------------------------------ what was derived

    def derived(self, key: bytes) -> bytes | None:
        """None where there is nothing, or it is no longer what was stored."""
        query = "SELECT CAST(value AS BLOB), CAST(checksum AS BLOB) FROM derived WHERE key = ?"
        with self._errors(), self._lock:
            row = self._db.execute(query, (key,)).fetchone()
        return zlib.decompress(row[0]) if row is not None and is_intact(key, b"", *row) else None

    def put_derived(self, key: bytes, value: bytes) -> None:
        with self._errors(), self._transaction():
            packed = zlib.compress(value)
            row = (key, packed, checksum(key, b"", packed))
            self._db.execute("INSERT OR REPLACE INTO derived VALUES (?, ?, ?)", row)

    # ------------------------------------------------------------ reading and writing

    def _intact(self, addresses: Sequence[Address]) -> Iterator[tuple[Address, bytes, int]]:
        """The answers that are cached, each with the version that made it. Damaged ones are left out."""
        wanted = set(addresses)
        for key, what, value, version, stored in self._select({key for key, _ in addresses}):
            if (key, what) not in wanted:
                continue
            if is_intact(key, what.encode(), value, stored):
                yield (key, what), value, version
            else:
                self.damaged.add((key, what))

    def _select(self, keys: set[bytes]) -> Iterator[tuple[Any, ...]]:
        ordered = sorted(keys)
        for start in range(0, len(ordered), _AT_ONCE):
            chunk = ordered[start : start + _AT_ONCE]
            marks = ",".join("?" * len(chunk))
            with self._errors(), self._lock:
                rows = self._db.execute(f"{_GET} WHERE key IN ({marks})", chunk).fetchall()
            yield from rows

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, transaction(self._db):
            yield

    def _errors(self) -> AbstractContextManager[None]:
        return store_errors(self.path)


# ---------------------------------------------------------------- how much was done


Count = TypeVar("Count", int, float)
NOT_FINITE = WhyNot("not_finite", "the network's answer is NaN, infinite, or too large for float32 to normalise")


@dataclass(frozen=True)
class Counts:
    """`planned` is the same for every run of the same questions; `happened` depends on what was cached before."""

    planned: dict[str, int] = field(default_factory=dict)
    happened: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_cached(cls, planned: dict[str, int], seconds: float) -> Counts:
        """Where everything planned was there before, and nothing was computed."""
        if "rows" in planned:
            return cls(planned, {"rows_computed": 0, "rows_cached_before": planned["rows"], "seconds": seconds})
        cached = planned["distinct_requests"]
        return cls(planned, {"requests_asked": 0, "requests_cached_before": cached, "seconds": seconds})

    def __add__(self, other: Counts) -> Counts:
        """Of two calls: what both had to do with counts in each."""
        return Counts(_sums(self.planned, other.planned), _sums(self.happened, other.happened))

    @property
    def computed(self) -> float:
        """Rows, or whole requests, that the model computed now."""
        return self.happened.get("rows_computed", self.happened.get("requests_asked", 0))


def _sums(one: dict[str, Count], other: dict[str, Count]) -> dict[str, Count]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}


@dataclass
class Speed:
    """The note next to a bar: `1,204 saved, 88/s`."""

    saved: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0

    def after(self, more: int) -> str:
        self.done += more
        return f"{self.saved:,} saved, {self.done / max(time.monotonic() - self.began, 1e-6):,.0f}/s"
