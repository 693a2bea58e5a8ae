"""What a command reports instead of a traceback, and the suggestions at the end of its message."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LONGEST_REASON = 200  # characters of another library's message
LONGEST_MESSAGE = 400


class BadInput(Exception):
    """Something the user wrote is invalid. The message states what, where, and what would be valid."""


class FailedRun(Exception):
    """Good input, but the run could not finish (a full disk, a damaged store, no memory)."""


@contextmanager
def reading(problem: str) -> Iterator[None]:
    """`x.toml: not valid TOML: reason` as BadInput, whatever the reader of a format throws at bytes it did not expect.

    Only around a parser or another library's reader, where any error is the file's: decompressors, pyarrow,
    safetensors and transformers have no common base for theirs, and a Rust extension that panics raises an exception
    that is no `Exception`. A full memory is the file's, too: a length in it can be any number."""
    try:
        yield
    except (BadInput, FailedRun):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise BadInput(f"{problem}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The first line of an error's message, in words where Python has only the name of a class or a key."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if isinstance(error, KeyError):
        return f"no {text}"
    return shortened(text.partition("; use sys.set_int_max_str_digits")[0], LONGEST_REASON)


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Without its middle where it is longer: what is wrong stands first, what to do last."""
    if len(text) <= most:
        return text
    last = most // 3
    return f"{text[: most - last - 3]} … {text[-last:]}"


def printable(text: str) -> str:
    """On one line, as a terminal shows it and does not obey it: control characters and marks that reorder text are
    written out. For what a file or a server gave: ESC + "[2J" -> `\\x1b[2J`."""
    signs = (
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )
    return "".join(signs)


def printable_lines(text: str) -> str:
    """The same for a text that has lines of its own."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def nearest(wrong: str, right: Sequence[str]) -> str:
    """`; did you mean 'x'?` or the whole choice, for the end of an error message."""
    close = difflib.get_close_matches(wrong, right, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; choose from: {', '.join(right)}" if right else ""
