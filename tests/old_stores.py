"""Answer stores as the version without checksums wrote them, made by SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

LAYOUT = (
    "CREATE TABLE answers (key BLOB NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL, made_with INTEGER NOT NULL, "
    "PRIMARY KEY (key, what))",
    "CREATE TABLE versions (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE models (id INTEGER PRIMARY KEY, compute_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "
    "last_used REAL NOT NULL)",
    "CREATE TABLE derived (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL, sha256 BLOB NOT NULL)",
    "ALTER TABLE answers ADD COLUMN model INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE answers ADD COLUMN made INTEGER NOT NULL DEFAULT 0",
)


def key(i: int) -> bytes:
    return i.to_bytes(32, "big")


def old_store(path: Path, rows: int = 50, size: int = 4) -> Path:
    """Answer i is made of i, by the version v of the model m."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in LAYOUT:
            db.execute(statement)
        db.execute("INSERT INTO versions VALUES (1, 'v')")
        db.execute("INSERT INTO models VALUES (3, 'id of m', 'm', 0.0)")
        db.execute("INSERT INTO derived VALUES (x'00', x'00', x'00')")
        values = ((key(i), "next", np.full(size, i, np.float32).tobytes(), 1, 3, 9) for i in range(rows))
        db.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", values)
        db.commit()
        db.execute("PRAGMA journal_mode=WAL")
    return path
