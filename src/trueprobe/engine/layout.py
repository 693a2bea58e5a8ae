"""The tables of an answer store: their columns, the version of their layout, and the checksum of every row.

A checksum covers key and value: a flipped bit, a value cut short and another row's value are noticed when a row is
read. It detects damage, not a forger. A store of an earlier version gets its checksums when it is first opened, in one
transaction; what had been damaged before then cannot be noticed, unless it is no number. SQLite writes a log ahead
where it can: that needs memory that processes share, which network file systems lack.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from trueprobe.errors import BadInput, FailedRun
from trueprobe.paths import refuse_special
from trueprobe.types import Progress

VERSION = 1  # in `user_version`; 0 is without checksums
WHOLE_ANSWER = "answer"  # what is read of a request that a model answers itself: JSON, not float32
_ROWS_AT_ONCE = 20_000
_WAIT_SECONDS = 120  # for another process that writes
# of each answer, next to its key: whose it is (0: not known), the day it was made, counted from 1970, and
# its checksum
_LATER_COLUMNS = (
    "model INTEGER NOT NULL DEFAULT 0",
    "made INTEGER NOT NULL DEFAULT 0",
    "checksum BLOB NOT NULL DEFAULT x''",
)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL, "
    f"made_with INTEGER NOT NULL, {', '.join(_LATER_COLUMNS)}, PRIMARY KEY (key, what))",
    "CREATE TABLE IF NOT EXISTS versions (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS models "
    "(id INTEGER PRIMARY KEY, compute_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, last_used REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS derived (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL, checksum BLOB NOT NULL)",
)
MOUNTS = Path("/proc/self/mountinfo")
# as the Linux kernel names them; of FUSE, those that reach over a network
_NETWORK = {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"}
_NETWORK |= {"orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs"}
_NETWORK |= {f"fuse.{name}" for name in ("ceph-fuse", "glusterfs", "juicefs", "s3fs", "sshfs", "gcsfuse", "rclone")}
Layout = dict[str, str]  # the columns of each table
_OTHERS = {"versions": "id text", "models": "id compute_id name last_used"}
_ANSWERS = "key what value made_with"
_LAYOUT = {"answers": f"{_ANSWERS} model made checksum", **_OTHERS, "derived": "key value checksum"}
_EARLIER = (  # tables were added over time
    {"answers": f"{_ANSWERS} model made", **_OTHERS, "derived": "key value sha256"},
    {"answers": _ANSWERS, **_OTHERS},
)
REPLACING = """
ON CONFLICT (key, what) DO UPDATE SET value = excluded.value, made_with = excluded.made_with, model = excluded.model,
made = excluded.made, checksum = excluded.checksum
"""


def checksum(key: bytes, what: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(b"".join((key, what, b"\0", value)), digest_size=8).digest()


def is_intact(key: bytes | None, what: bytes | None, value: bytes | None, stored: bytes | None) -> bool:
    return not (key is None or what is None or value is None) and checksum(key, what, value) == stored


def intact(table: str, what: str = "what") -> str:
    """The condition in SQL, for rows of this table. Damage can turn a blob into a text that is no UTF-8, which SQLite
    hands to no function: both are cast."""
    columns = (f"{table}.key", f"{table}.{what}" if what else "''", f"{table}.value", f"{table}.checksum")
    return f"is_intact({', '.join(f'CAST({column} AS BLOB)' for column in columns)})"


REPLACING_DAMAGED = f"{REPLACING} WHERE NOT {intact('answers')}"


def is_finite(value: np.ndarray) -> bool:
    return bool(np.isfinite(value).all())


# ---------------------------------------------------------------- opening


def opened(path: str, progress: Progress) -> sqlite3.Connection:
    """A store in its present form, made where there is none; every statement is a transaction. A database that is no
    answer store, or one of a later version, is refused and left alone."""
    if path != ":memory:":
        refuse_special(Path(path))
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.text_factory = _text
        db.create_function("is_intact", 4, is_intact, deterministic=True)
        db.create_function("first_checksum", 3, _first_checksum, deterministic=True)
        current = _is_current(db, path)
        db.execute(f"PRAGMA journal_mode={'DELETE' if network_file_system(path) else 'WAL'}")
        db.execute("PRAGMA synchronous=NORMAL")
        if not current:
            with transaction(db):  # waits for a process that does the same
                if not _is_current(db, path):
                    _bring_up_to_date(db, progress)
    except BaseException:
        db.close()
        raise
    return db


def _text(content: bytes) -> str:
    return content.decode(errors="replace")  # damaged text is another text, not an error


def _is_current(db: sqlite3.Connection, path: str) -> bool:
    """False where tables or columns are to be added."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise BadInput(
            f"{path} was written by a newer trueprobe (answer store version {version}, this one reads {VERSION}); "
            "update trueprobe or name another store with --store"
        )
    layout = _layout(db)
    if version == VERSION and layout == _LAYOUT:
        return True
    if version == 0 and any(layout.items() <= earlier.items() for earlier in _EARLIER):
        return False
    other = next((name for name in {**layout, **_LAYOUT} if layout.get(name) != _LAYOUT.get(name)), "answers")
    raise BadInput(
        f"{path} is not a usable answer store (its table '{other}' is not as trueprobe makes it); move it away or name "
        "another with --store"
    )


def _layout(db: sqlite3.Connection) -> Layout:
    """A trigger, view or index that trueprobe does not make stands as a table without columns."""
    rows = db.execute(
        "SELECT m.name, c.name FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' "
        "WHERE m.name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY m.name, c.cid"
    )
    return {table: " ".join(column or "" for _, column in some) for table, some in groupby(rows, itemgetter(0))}


def _bring_up_to_date(db: sqlite3.Connection, progress: Progress) -> None:
    columns = _layout(db).get("answers", "")
    db.execute("DROP TABLE IF EXISTS derived")  # its keys name the code that wrote it: nothing would read it again
    for column in _LATER_COLUMNS:
        if columns and column.split()[0] not in columns.split():
            db.execute(f"ALTER TABLE answers ADD COLUMN {column}")
    for statement in _SCHEMA:
        db.execute(statement)
    if columns:
        # of models that were pruned: SQLite gives such a number to another model
        db.execute("UPDATE answers SET model = 0 WHERE model NOT IN (SELECT id FROM models)")
        for between in row_ranges(db, "answers", "adding checksums to cached answers", progress):
            db.execute(
                "UPDATE answers SET checksum = first_checksum(CAST(key AS BLOB), CAST(what AS BLOB), "
                "CAST(value AS BLOB)) WHERE rowid BETWEEN ? AND ?",
                between,
            )
    db.execute(f"PRAGMA user_version = {VERSION}")


def _first_checksum(key: bytes | None, what: bytes | None, value: bytes | None) -> bytes:
    """One that is wrong where the value cannot be an answer: it counts as damaged from then on."""
    if key is None or what is None or value is None:
        return b""
    if what != WHOLE_ANSWER.encode() and (len(value) % 4 or not is_finite(np.frombuffer(value, np.float32))):
        return b""
    return checksum(key, what, value)


def network_file_system(path: Path | str) -> str:
    """`nfs4` where the path lies on one; "" on a local file system, or where nobody can tell (other than Linux)."""
    if str(path) == ":memory:":
        return ""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = Path(path).resolve()
    kinds = {mount: kind for mount, kind in map(_mount, mounts) if place == mount or mount in place.parents}
    nearest = max(kinds, key=lambda mount: len(mount.parts), default=None)
    return kinds[nearest] if nearest and kinds[nearest] in _NETWORK else ""


def _mount(line: str) -> tuple[Path, str]:
    """`36 35 98:0 / /home rw,noatime shared:1 - nfs4 server:/home rw` -> /home, nfs4"""
    before, _, after = line.partition(" - ")
    return Path(before.split()[4].replace("\\040", " ")), after.split()[0]


# ---------------------------------------------------------------- what all that touch a store share


def row_ranges(db: sqlite3.Connection, table: str, title: str, progress: Progress) -> Iterator[tuple[int, int]]:
    """First and last rowid of some thousand rows at a time, with progress; in damaged stores rowids can be anything."""
    (total,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    rows = f"SELECT rowid FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT {_ROWS_AT_ONCE}"
    last = -(2**63)
    with progress.task(title, total, "rows") as task:
        while True:
            number, end = db.execute(f"SELECT count(*), max(rowid) FROM ({rows})", (last,)).fetchone()
            if not number:
                return
            yield last + 1, end
            task.advance(number)
            last = end


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """What goes wrong in SQLite, as one line."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise FailedRun(f"answer store {path}: {error}; what was cached before stays") from error
    except (sqlite3.Error, ValueError, TypeError) as error:  # also of a path that cannot be one
        raise BadInput(
            f"{path} is not a usable answer store ({error}); move it away or name another with --store"
        ) from error
    except OSError as error:
        raise FailedRun(f"answer store {path}: {error}") from error
