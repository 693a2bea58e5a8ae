"""Files and folders: where the cache is, and writing that is whole or not at all, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueprobe.errors import BadInput, FailedRun

LOCK, PARTIAL = ".lock", ".part"
ANOTHER_OUT = "name another --out"  # the advice of commands that have the option


def cache() -> Path:
    """`trueprobe` in the user's cache folder (XDG_CACHE_HOME, else ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "trueprobe"


@contextmanager
def locked(folder: Path, what: str, instead: str = "") -> Iterator[None]:
    """One process at a time writes a folder. What a killed one left half-written is removed. `instead` is what the
    user of a second process can do other than wait."""
    with _as_failed_run(folder):
        folder.mkdir(parents=True, exist_ok=True)
        advice = " or ".join(filter(None, ("wait for it", instead)))
        lock = _take(folder / LOCK, f"another {what} is writing {folder}; {advice}")
    try:
        _remove_leftovers(folder)
        yield
        (folder / LOCK).unlink(missing_ok=True)
    finally:
        os.close(lock)


def _take(path: Path, refusal: str) -> int:
    """The lock's descriptor. A link at its path is never followed, and a lock removed meanwhile is taken anew."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError as error:
            os.close(lock)
            raise BadInput(refusal) from error
        os.close(lock)


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
    with _as_failed_run(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=PARTIAL, dir=path.parent))
        try:
            write(beside / path.name)
            _exchange(beside, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _exchange(beside: Path, path: Path) -> None:
    """A file replaces a file or a link in one step; a folder before it is moved aside first, and back on failure."""
    new, old = beside / path.name, beside / f"{path.name[:40]}.old"
    aside = os.path.lexists(path) and (new.is_dir() or (path.is_dir() and not path.is_symlink()))
    if aside:
        os.rename(path, old)
    try:
        os.replace(new, path)
    except OSError:
        if aside:
            os.rename(old, path)
        raise


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


@contextmanager
def _as_failed_run(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FailedRun(f"cannot write {path}: {error.strerror or error}; what was written before stays") from error
