"""Run as a script, in a process of its own: streams one file of the package index to standard output.

    python -P pip_stream.py NAME FILE

pip finds the file, with its own configuration, mirrors, proxies and certificates; then only the file's bytes are
read. `pip download` would not do: for an sdist it runs the package's set-up code to learn its dependencies.
The first line is the number of bytes that follow (0: unknown). Exit codes: 3 no pip, 4 another pip inside, 5 no such
file, 6 not reachable.
"""

from __future__ import annotations

import logging
import sys
from typing import NoReturn

NO_PIP, OTHER_PIP, NO_FILE, NO_ANSWER = 3, 4, 5, 6


class Listener(logging.Handler):
    """pip goes on without an index that does not answer, and only mentions it."""

    no_connection = False

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self.no_connection |= "Could not fetch URL" in text and ("connection error" in text or "timed out" in text)


def stop(code: int, reason: object) -> NoReturn:
    print(" ".join(str(reason).split())[:300], file=sys.stderr)
    sys.exit(code)


def main(name: str, file: str) -> None:
    try:
        import pip
    except ImportError:
        stop(NO_PIP, "no pip")
    try:
        from pip._internal.commands.download import DownloadCommand

        listener, collector = Listener(), logging.getLogger("pip._internal.index.collector")
        collector.addHandler(listener)
        collector.setLevel(logging.DEBUG)
        collector.propagate = False
        command = DownloadCommand("download", "")
        # nothing is built here, so a policy on what may be built does not apply
        options, _ = command.parse_args(["--no-binary", ":none:", "--only-binary", ":none:", "--no-input", "--quiet"])
        with command.main_context():
            session = command.get_default_session(options)
            finder = command._build_package_finder(options=options, session=session, ignore_requires_python=True)
            links = [one.link for one in finder.find_all_candidates(name) if one.link.filename == file]
            if not links and listener.no_connection:
                stop(NO_ANSWER, "no connection")
            if not links:
                stop(NO_FILE, f"pip found no {file} where it is configured to look")
            send(session, links[0].url_without_fragment)
    except (ImportError, AttributeError, TypeError) as error:
        stop(OTHER_PIP, f"pip {pip.__version__}: {error}")


def send(session: object, url: str) -> None:
    try:
        # "identity": a server that gzips what is gzipped already would be undone on arrival
        answer = session.get(url, headers={"Accept-Encoding": "identity"}, stream=True)  # type: ignore[attr-defined]
        answer.raise_for_status()
        out = sys.stdout.buffer
        out.write(b"%d\n" % int(answer.headers.get("Content-Length") or 0))
        while chunk := answer.raw.read(1 << 20):
            out.write(chunk)
        out.flush()
    except BrokenPipeError:
        sys.exit(NO_ANSWER)  # the one who asked is gone
    except OSError as error:  # requests' errors are among these
        stop(NO_ANSWER, error)


if __name__ == "__main__":
    main(*sys.argv[1:])
