"""How wide printed text may be: COLUMNS decides, as in every other program."""

from __future__ import annotations

import os

NARROWEST = 20
UNLIMITED = 1000  # columns: a terminal wraps a line that is too long, a file has all of it


def width(otherwise: int) -> int:
    """COLUMNS where it is set to a number, else as the caller likes it."""
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), NARROWEST) if columns.isdecimal() and len(columns) < 6 and int(columns) else otherwise
