"""Files and folders: where the cache is, and writing that is whole or not at all, by one process at a time."""

from __future__ import annotations

import csv
import fcntl
import gc
import gzip
import io
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from trueprobe.errors import BadInput, FailedRun, reading

LOCK, PARTIAL = ".lock", ".part"
ANOTHER_OUT = "name another --out"  # the advice of commands that have the option
PATIENCE = 2.0  # seconds that a process waits silently for another
# of what is unpacked: so many times its packed size, and a file below the smallest limit may be any
MOST_TIMES, SMALLEST_LIMIT, MOST_BYTES = 200, 64 << 20, 4 << 30
_CHUNK = 1 << 20
_PAUSE = 0.05  # seconds between two looks at a lock


@contextmanager
def gc_pause() -> Iterator[None]:
    """Python's search for objects that only refer to each other rests, also as a decorator. What nothing refers to is
    freed as always.

    Reading a dataset or a table makes a hundred thousand objects that all stay, and the collector walks over them
    again and again: validating StereoSet takes five times as long with it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def cache() -> Path:
    """`trueprobe` in the user's cache folder (XDG_CACHE_HOME, else ~/.cache)."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise BadInput("this user has no home folder: name a folder for the cache in XDG_CACHE_HOME") from error
    return Path(home) / "trueprobe"


@contextmanager
def locked(folder: Path, what: str, instead: str = "") -> Iterator[None]:
    """One process at a time writes a folder; a second one is refused. What a killed one left half-written is removed.
    `instead` is what the user of a second process can do other than wait."""
    with as_failed_run(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = take(folder / LOCK)
    if lock is None:
        advice = " or ".join(filter(None, ("wait for it", instead)))
        raise BadInput(f"another {what} is writing {folder}; {advice}")
    try:
        _remove_leftovers(folder)
        yield
        (folder / LOCK).unlink(missing_ok=True)
    finally:
        os.close(lock)


@contextmanager
def waiting(path: Path, what: str) -> Iterator[None]:
    """The lock file `path` for one process at a time; the others wait, and print so after two seconds. What `what`
    makes may be there when the wait is over."""
    with as_failed_run(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock, patience = take(path), time.monotonic() + PATIENCE
        while lock is None:
            if time.monotonic() > patience:
                print(f"waiting for another process, which is {what} …", file=sys.stderr, flush=True)
                patience = math.inf
            time.sleep(_PAUSE)
            lock = take(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: whoever opened it meanwhile takes a new one
        os.close(lock)


def take(path: Path) -> int | None:
    """A lock's descriptor, None while another process has it. A link at its path is never followed, and a lock
    removed meanwhile is taken again."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(lock)
            return None
        os.close(lock)


def wait_for(path: Path) -> int:
    """The lock's descriptor, once no other process has it."""
    while (lock := take(path)) is None:
        time.sleep(_PAUSE)
    return lock


def _remove_leftovers(folder: Path) -> None:
    """What killed writers left; a folder below that has a lock of its own is left to its own writers."""
    for left in list(folder.rglob(f".*{PARTIAL}")):
        between = left.relative_to(folder).parents
        if any((folder / parent / LOCK).exists() for parent in between if parent != Path()):
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """All of the file or folder, or nothing; the file or folder before it stays until the new one is whole.

    `write` gets a path of the same name in a new folder of random name, which no other process can have prepared."""
    with as_failed_run(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=PARTIAL, dir=path.parent))
        try:
            write(partial / path.name)
            _exchange(partial, path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _exchange(partial: Path, path: Path) -> None:
    """A file replaces a file or a link in one step; a folder before it is moved aside first, and back on failure."""
    new, old = partial / path.name, partial / f"{path.name[:40]}.old"
    aside = os.path.lexists(path) and (new.is_dir() or (path.is_dir() and not path.is_symlink()))
    if aside:
        os.rename(path, old)
    try:
        os.replace(new, path)
    except OSError:
        if aside:
            os.rename(old, path)
        raise


def unpacked_limit(packed: int, most: int = MOST_BYTES) -> int:
    """How many bytes may come out of so many packed ones: text shrinks to a fifth or a twentieth, zeros to a
    thousandth."""
    return min(most, max(SMALLEST_LIMIT, MOST_TIMES * packed))


def gunzipped(path: Path, most: int = MOST_BYTES) -> Iterator[bytes]:
    """The content of a gzipped file, chunk by chunk; BadInput where it is damaged or far larger than its file."""
    with reading(f"{path}: damaged gzip"), gzip.open(path) as stream:
        limit, done = unpacked_limit(path.stat().st_size, most), 0
        while chunk := stream.read(_CHUNK):
            done += len(chunk)
            if done > limit:
                raise BadInput(f"{path} is refused: it unpacks to more than {limit:,} bytes")
            yield chunk


def refuse_special(path: Path) -> None:
    """A pipe or a device in the place of a file would block its reader, or never end. What is not there at all is for
    the reader to report."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise BadInput(f"{path} is a pipe or a device, not a file; copy its content into a file")


def refuse_linked_folders(folder: Path) -> None:
    """Where files are also written into the folder: below a link they would lie elsewhere."""
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if path.is_symlink() and path.is_dir():
            raise BadInput(f"{path} is a link, and {folder} must hold its files itself; copy the folder into its place")


def content_within(folder: Path, path: Path) -> bytes:
    """Of a file of a folder that someone else may have made: links could lead anywhere."""
    for part in (path, *path.parents):
        if part == folder:
            break
        if part.is_symlink():
            raise BadInput(f"{part} is a link, and {folder} must hold its files itself; copy the file into its place")
    refuse_special(path)
    return path.read_bytes()


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A header and a line for each row; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    write_whole(path, lambda partial: partial.write_bytes(content))


@contextmanager
def as_failed_run(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # safetensors has an error of its own for a full disk
        if not isinstance(error, OSError) and not (type(error).__name__ == "SafetensorError" and "I/O" in str(error)):
            raise
        why = getattr(error, "strerror", None) or error
        raise FailedRun(f"cannot write {path}: {why}; what was written before is kept") from error
