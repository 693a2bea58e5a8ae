"""What a command reports instead of a traceback, and the suggestions at the end of its message."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class BadInput(Exception):
    """Something the user wrote cannot be right. The message states what, where, and what would be right."""


class FailedRun(Exception):
    """Good input, but the run could not finish (a full disk, a damaged store, no memory)."""


def nearest(wrong: str, right: Sequence[str]) -> str:
    """`; did you mean 'x'?` or the whole choice, for the end of an error message."""
    close = difflib.get_close_matches(wrong, right, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; choose from: {', '.join(right)}" if right else ""
