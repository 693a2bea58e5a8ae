"""Tables as CSV that a spreadsheet can open: it runs a cell that begins like a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # the wide ones are the same to some


def csv_text(frame: pd.DataFrame) -> str:
    texts = frame.select_dtypes(exclude="number").columns
    return str(frame.assign(**{name: frame[name].map(no_formula) for name in texts}).to_csv(index=False))


def no_formula(value: object) -> object:
    """With an apostrophe before what would be run. Spreadsheets pass over white space and control characters; a
    carriage return would end the row, since pandas does not quote it."""
    if not isinstance(value, str):
        return value
    first = next((sign for sign in value if sign.isprintable() and not sign.isspace()), "")
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if first in _FORMULAS or value.startswith(("\t", "\r")) else text
