"""Files and folders: where the cache is, and writing that is whole or not at all, by one process at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueprobe.errors import BadInput, FailedRun


def cache() -> Path:
    """`trueprobe` in the user's cache folder (XDG_CACHE_HOME, else ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "trueprobe"


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """One process at a time writes a folder."""
    import fcntl

    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BadInput(f"another {what} is writing {folder}; wait for it or name another --out") from error
    with lock:
        yield
        (folder / ".lock").unlink(missing_ok=True)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """All of the file or nothing; what stood there before stays until the new one is whole."""
    partial = path.with_name(path.name + ".part")
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(partial)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """All of the folder or nothing of it; `write` gets the path of a folder that does not exist yet."""
    partial = folder.with_name(folder.name + ".part")
    with _told(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            write(partial)
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FailedRun(f"cannot write {path}: {error.strerror or error}; what is kept stays kept") from error
