"""Where fetched assets lie, and whether they still are what they were.

An asset is one folder of `home()`, complete or absent: it is made in `NAME.part` next to it and renamed at the end.
Only the holder of `NAME.lock` makes or removes `NAME.part`, so a `NAME.part` with the lock free is a dead process's.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, field_validator

from trueprobe import __version__, paths
from trueprobe.assets.catalogue import AssetCard, names
from trueprobe.errors import BadInput, FailedRun
from trueprobe.types import Progress

RECORD = "asset.json"


class NotHere(BadInput):
    """The asset was not fetched yet."""

    def __init__(self, *missing: str) -> None:
        which = f"asset '{missing[0]}' is" if len(missing) == 1 else f"assets {', '.join(missing)} are"
        super().__init__(f"{which} not on this machine: trueprobe fetch {' '.join(missing)}")
        self.missing = missing


class ReadyFile(BaseModel):
    sha256: str
    bytes: int


class Record(BaseModel):
    """`asset.json` in an asset's folder: what it was made from and the sha256 of every ready file."""

    name: str
    source: str
    licence: str
    content: str  # this and the next must equal the card's
    recipe: int
    counts: dict[str, int]
    files: dict[str, ReadyFile]
    derived: dict[str, ReadyFile] = {}  # made out of the ready files later; made again where they are damaged
    made_with: str

    @field_validator("files", "derived")
    @classmethod
    def _inside(cls, files: dict[str, ReadyFile]) -> dict[str, ReadyFile]:
        if outside := [name for name in files if Path(name).is_absolute() or ".." in Path(name).parts]:
            raise ValueError(f"'{outside[0]}' lies outside the asset's folder")
        return files


def home() -> Path:
    return paths.cache() / "assets"


def ready_path(card: AssetCard) -> Path:
    return home() / card.name / card.ready


def read_record(name: str) -> Record | None:
    """None where there is no such asset; a record that cannot be read is one whose check will fail."""
    try:
        return Record.model_validate_json((home() / name / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, OSError) as error:  # pydantic's and Unicode's are ValueErrors
        raise BadInput(f"{home() / name / RECORD} is damaged{_repair(name)}") from error


def is_here(card: AssetCard) -> bool:
    """Cheap: the record fits the card and every file has its size. The bytes are not read."""
    try:
        record = read_record(card.name)
        return record is not None and _of_this_card(record, card) and not _wrong_sizes(card.name, record)
    except BadInput:
        return False


def check(card: AssetCard) -> Record:
    """Every byte of every ready file is what it was when it was made, or BadInput."""
    record = read_record(card.name)
    if record is None:
        raise NotHere(card.name)
    if not _of_this_card(record, card):
        raise BadInput(
            f"asset '{card.name}' here was made by trueprobe {record.made_with} and is another one for "
            f"{__version__}{_repair(card.name)}"
        )
    for wrong in _wrong_sizes(card.name, record):
        raise BadInput(f"{home() / card.name / wrong} is missing or has another size{_repair(card.name)}")
    for name, file in record.files.items():
        path = home() / card.name / name
        if (now := sha256(path)) != file.sha256:
            raise BadInput(
                f"{path} was changed since it was fetched (sha256 {now}, not {file.sha256}){_repair(card.name)}"
            )
    return record


def _of_this_card(record: Record, card: AssetCard) -> bool:
    return (record.content, record.recipe) == (card.content, card.recipe)


def _wrong_sizes(name: str, record: Record) -> list[str]:
    at = {file: home() / name / file for file in record.files}
    return [f for f, p in at.items() if not p.is_file() or p.stat().st_size != record.files[f].bytes]


def _repair(name: str) -> str:
    return f"; `trueprobe fetch {name}` fetches it again"


def sha256(path: Path) -> str:
    """Of the whole file, once per process unless it is written again."""
    stat = path.stat()
    return _sha256(path, (stat.st_ino, stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=1024)
def _sha256(path: Path, stamp: tuple[int, ...]) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# ---------------------------------------------------------------- making


@contextmanager
def locked(name: str, progress: Progress | None = None) -> Iterator[bool]:
    """One process at a time makes an asset. Where another one is at it: waits and shows so, or without `progress`
    yields False."""
    path = home() / f"{name}.lock"
    with paths.as_failed_run(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = paths.take(path)
        if lock is None and progress is not None:
            with progress.task(f"waiting for another fetch of {name}"):
                lock = paths.wait_for(path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            path.unlink(missing_ok=True)  # while it is held: whoever opened it meanwhile takes a new one
            os.close(lock)


@contextmanager
def work_folder(name: str) -> Iterator[Path]:
    """An empty folder that is gone afterwards, whatever happens. Hold the lock."""
    part = home() / f"{name}.part"
    _remove(part)
    try:
        part.mkdir()
        yield part
    except OSError as error:
        raise FailedRun(f"cannot write {part}: {error.strerror or error}; the partial file was removed") from error
    finally:
        _remove(part)


def put_in_place(card: AssetCard, ready: Path, source: str, counts: dict[str, int]) -> Record:
    """Writes the record and renames the folder to its place; what lay there before goes last. Hold the lock."""
    record = Record(
        name=card.name,
        source=source,
        licence=card.licence,
        content=card.content,
        recipe=card.recipe,
        counts=counts,
        files={str(path.relative_to(ready)): _ready_file(path) for path in sorted(ready.rglob("*")) if path.is_file()},
        made_with=__version__,
    )
    _write_record(ready, record)
    place, before = home() / card.name, home() / f"{card.name}.part" / "before"
    if place.exists():
        os.replace(place, before)
    os.replace(ready, place)
    return record


def _ready_file(path: Path) -> ReadyFile:
    return ReadyFile(sha256=sha256(path), bytes=path.stat().st_size)


def _write_record(folder: Path, record: Record) -> None:
    paths.write_text(folder / RECORD, json.dumps(record.model_dump(), indent=1) + "\n")


def derived(card: AssetCard, name: str, make: Callable[[Path, Path], object], progress: Progress) -> Path:
    """The file `name` next to the asset, made out of it once by `make(ready path, new file)`; every byte is checked.

    A folder of an earlier version may hold the file without what it was made of; it is used as it is."""
    path = home() / card.name / name
    if _is_derived(card, name):
        return path
    with locked(card.name, progress):
        if not _is_derived(card, name):  # another process may have made it while this one waited
            record = check(card)
            paths.write_whole(path, lambda partial: make(ready_path(card), partial))
            made = {**record.derived, name: _ready_file(path)}
            _write_record(path.parent, record.model_copy(update={"derived": made}))
    return path


def _is_derived(card: AssetCard, name: str) -> bool:
    record = read_record(card.name)
    if record is None or record.content != card.content:
        return False
    recorded = {**record.files, **record.derived}.get(name)
    path = home() / card.name / name
    return recorded is not None and path.is_file() and sha256(path) == recorded.sha256


def sweep() -> None:
    """Removes what killed processes left half-made."""
    for name in names():
        if (home() / f"{name}.part").exists() or (home() / f"{name}.lock").exists():
            with locked(name) as alone:
                if alone:
                    _remove(home() / f"{name}.part")


def _remove(folder: Path) -> None:
    """A link in its place is removed itself, never what it points to."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
