"""The command line: one file per group of commands, short bodies.

Files with many options have no `from __future__ import annotations`: typer evaluates the text of each several times.
"""

from __future__ import annotations

import atexit
import codecs
import gc
import io
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

# each registers its commands when it is imported, and --help lists them in this order
from trueprobe.cli import asking  # isort: split

from trueprobe.cli import planning, run, showing  # isort: split

from trueprobe.cli import counting, sensitivity  # isort: split

from trueprobe.cli import authoring, caching, data, scoring, training, using  # isort: split

from trueprobe.cli.common import app
from trueprobe.errors import BadInput, FailedRun, printable_lines, reason, shortened
from trueprobe.signals import Stopped, stop_on_signals, stopped

__all__ = ["app", "main"]
COMMANDS = (
    asking,
    run,
    showing,
    counting,
    planning,
    authoring,
    data,
    scoring,
    training,
    sensitivity,
    using,
    caching,
)
# Importing torch and transformers makes 400,000 objects that live to the end. Python looks for garbage among the newest
# every 700 objects; every 10,000, and still among all every 200,000, a small run takes a quarter less CPU time.
COLLECTOR = (10_000, 10, 1)
DEBUG, VERBOSE = "--debug", "--verbose"
UNEXPECTED = 70  # sysexits' EX_SOFTWARE; 1 and 2 have meanings of their own
_ROOT = Path(__file__).parent.parent


def main() -> None:
    gc.set_threshold(*COLLECTOR)
    atexit.register(gc.freeze)  # the process ends: nobody needs its memory back piece by piece
    stop_on_signals()
    _escape_what_cannot_be_printed()
    debug = _taken_out(DEBUG)
    if _taken_out(VERBOSE):
        _log_to_stderr()
    try:
        _flushed(app)
    except Stopped as error:
        error.end()
    except (BadInput, FailedRun) as error:
        if debug:
            traceback.print_exc()
        _end(shortened(str(error)), 2 if isinstance(error, BadInput) else 1)
    except Exception as error:
        _unexpected(error, debug)


def _taken_out(option: str) -> bool:
    """Whether an option is among the arguments, wherever it stands; it is taken out."""
    before = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    given = option in before
    if given:
        sys.argv.remove(option)
    return given


class _Stderr(logging.Handler):
    """Where stderr is when a line is written: a progress bar puts its own in place while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"trueprobe: {printable_lines(self.format(record))}", file=sys.stderr)


def _log_to_stderr() -> None:
    log = logging.getLogger("trueprobe")
    log.setLevel(logging.INFO)
    log.addHandler(_Stderr())


def _flushed(command: Callable[[], object]) -> None:
    """What a buffer still holds is written here, where a full disk can be reported."""
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            _discard_output()
            raise FailedRun(f"cannot write the output: {error.strerror or error}") from error
        raise


def _discard_output() -> None:
    """Python would try to write the rest at its end, and print a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _escape_what_cannot_be_printed() -> None:
    """As JSON does, so that --json stays JSON: in an ASCII terminal ± is \\u00b1, and so is half of a character."""
    codecs.register_error("trueprobe", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="trueprobe")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _unexpected(error: Exception, debug: bool) -> NoReturn:
    """The last net, for what no reader and no command foresaw."""
    if (signalled := stopped()) is not None:
        signalled.end()
    if debug:
        traceback.print_exc()
    if isinstance(error, MemoryError):
        _end("not enough memory; use a smaller --batch-tokens or --limit", 1)
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_ROOT)
    ]
    where = f" ({Path(frames[-1].filename).relative_to(_ROOT)}, line {frames[-1].lineno})" if frames else ""
    how = "" if debug else f"; run the same command with {DEBUG} to see where"
    _end(
        f"unexpected error, {type(error).__name__}: {reason(error)}{where}\n"
        f"This is a fault in trueprobe. What was written before is kept{how}. Please report it with the command, the "
        "traceback and, if you can, the file that it read.",
        UNEXPECTED,
    )


def _end(message: str, code: int) -> NoReturn:
    """A message can quote names from a file or server; what breaks its lines is its own."""
    print(f"trueprobe: {printable_lines(message)}", file=sys.stderr)
    sys.exit(code)
