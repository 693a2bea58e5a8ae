"""Getting an asset's raw files from one of its sources; each file is held against its sha256 while it is written.

Nothing that is fetched is ever run: an archive's files are located by their exact name and only their bytes are read.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from trueprobe.assets import pip_stream
from trueprobe.assets.catalogue import Archive, File, Source

Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much (0: unknown)
SECONDS_OF_SILENCE = 30
_CHUNK = 1 << 20
_MOST_BYTES = 4 << 30  # of a file whose size is not known


class NotHad(Exception):
    """This source gave nothing usable; the message says why. Another source may do."""


class NoSuchPage(NotHad):
    """There is a connection, and an answer that says no."""


class OtherBytes(NotHad):
    """It gave something, but not what the card says."""


def bring(source: Source, raw: Path, progress: Progress) -> None:
    """All files of the source into the folder `raw`, or NotHad."""
    if source.via == "hub":
        for file in source.files:
            with _from_hub(source, file, progress) as stream:
                save(stream, raw / file.name, file, f"{file.name} from the hub", progress)
    elif source.archive is not None:
        packed = raw.with_name("archive")  # beside `raw`, so that it goes when the work folder goes
        with _opened(source, source.archive, source.archive.name) as (stream, total):
            save(stream, packed, source.archive, source.archive.name, progress, total)
        take_out(packed, source.files, raw, progress)
        packed.unlink()
    else:
        for file in source.files:
            with _opened(source, file, file.at) as (stream, total):
                save(stream, raw / file.name, file, file.name, progress, total)


def take_out(packed: Path, files: tuple[File, ...], raw: Path, progress: Progress) -> None:
    """These files and no others out of a zip, wheel, or tar file."""
    try:
        with _members(packed) as open_member:
            for file in files:
                outer, _, inner = file.at.partition("!")
                if inner:  # an archive in the archive
                    nested = packed.with_name(packed.name + ".nested")
                    save(open_member(outer), nested, None, f"taking out {file.name}", progress)
                    take_out(nested, (file.model_copy(update={"at": inner}),), raw, progress)
                    nested.unlink()
                else:
                    what = f"taking out {file.name}"
                    save(open_member(outer), raw / file.name, file, what, progress, file.bytes or 0)
    except KeyError as error:
        raise NotHad(f"the archive holds no {error.args[0]}") from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise NotHad(f"the archive is damaged ({error})") from error


# ---------------------------------------------------------------- the streams


@contextmanager
def _opened(source: Source, what: File | Archive, name: str) -> Iterator[tuple[IO[bytes], int]]:
    package = source.at.partition("==")[0]
    with _from_index(package, name) if source.via == "index" else _from_address(source.at + name) as (stream, total):
        yield stream, total or what.bytes or 0


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
    except (OSError, HTTPException) as error:
        raise NotHad(f"no connection: {getattr(error, 'reason', error)}") from error
    with answer:
        yield answer, int(answer.headers.get("Content-Length") or 0)


@contextmanager
def _from_hub(source: Source, file: File, progress: Progress) -> Iterator[IO[bytes]]:
    """From the hub's cache on this machine, or through the hub's own library into that cache."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    progress(f"{file.name} from the hub", 0, 0)
    with _hub_quiet():
        try:
            path = hf_hub_download(source.at, file.at, revision=source.revision, local_files_only=True)
        except LocalEntryNotFoundError:
            _ask_the_hub()
            try:
                path = hf_hub_download(source.at, file.at, revision=source.revision)
            except (HfHubHTTPError, OSError, ValueError) as error:
                raise NotHad(_first_line(str(error)) or type(error).__name__) from error
    with open(path, "rb") as stream:
        yield stream


def _ask_the_hub() -> None:
    """NotHad at once where the hub is out of reach; its library would go on trying for half a minute."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise NotHad("HF_HUB_OFFLINE is set, and it is not in the hub's cache here")
    with suppress(NoSuchPage), _from_address(constants.ENDPOINT):
        pass


@contextmanager
def _hub_quiet() -> Iterator[None]:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, logging

    shown, level = not are_progress_bars_disabled(), logging.get_verbosity()
    disable_progress_bars()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            enable_progress_bars()


@contextmanager
def _from_index(package: str, file: str) -> Iterator[tuple[IO[bytes], int]]:
    """The file's bytes as pip finds them. The child ends by itself when nobody reads on."""
    command = [sys.executable, "-P", pip_stream.__file__, package, file]
    with TemporaryFile() as told, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told) as child:
        assert child.stdout is not None
        try:
            if first := child.stdout.readline():
                yield child.stdout, int(first)
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        if code:
            told.seek(0)
            raise NotHad(_what_pip_said(code, told.read().decode(errors="replace")))


def _what_pip_said(code: int, told: str) -> str:
    if code == pip_stream.NO_PIP:
        return "this Python has no pip; `python -m ensurepip` brings it"
    last = told.strip().splitlines()[-1:] or ["no reason given"]
    return last[0] if code != pip_stream.OTHER_PIP else f"this pip is not one trueprobe can ask ({last[0]})"


@contextmanager
def _members(packed: Path) -> Iterator[Callable[[str], IO[bytes]]]:
    """Opens a member by its exact name; KeyError if there is none that is a plain file."""
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as pack:
            yield lambda name: _from_zip(pack, name)
    else:
        with tarfile.open(packed) as pack:
            yield lambda name: _from_tar(pack, name)


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


def save(
    stream: IO[bytes], path: Path, expected: File | Archive | None, what: str, progress: Progress, total: int = 0
) -> None:
    """Writes the stream to `path`; NotHad if it breaks off, is too long, or is not what is expected."""
    most = (expected.bytes if expected is not None else None) or _MOST_BYTES
    name = expected.name if expected is not None else path.name
    digest, done = hashlib.sha256(), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while chunk := _read(stream):
            done += len(chunk)
            if done > most:
                raise OtherBytes(f"{name} is longer than the {most:,} bytes it should have")
            out.write(chunk)
            digest.update(chunk)
            progress(what, done, total)
    if expected is not None and expected.bytes is not None and done < expected.bytes:
        raise NotHad(f"{name} broke off after {done:,} of {expected.bytes:,} bytes")
    if expected is not None and expected.sha256 is not None and digest.hexdigest() != expected.sha256:
        raise OtherBytes(f"{name} is refused: its sha256 is {digest.hexdigest()}, it should be {expected.sha256}")


def _read(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(_CHUNK)
    except (OSError, HTTPException) as error:
        raise NotHad(f"the connection broke ({error})") from error


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
