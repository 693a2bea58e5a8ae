"""A user's rows as a data frame, from a table, lines of text or Python, with the line of each row for messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trueprobe.errors import BadInput
from trueprobe.probes import tables
from trueprobe.probes.files import path_of, text_of
from trueprobe.probes.tables import JSON_ENDINGS, DataTable

SENTENCE = "sentence"
ENDINGS = (".csv", ".tsv", *JSON_ENDINGS, ".txt")


@dataclass(frozen=True)
class SentenceTable:
    frame: pd.DataFrame
    name: str  # of the file, or of what was handed over
    numbers: Sequence[int]  # of the line at which each row begins, or of the row
    from_file: bool = True  # else from Python, where columns are named by arguments

    def place(self, *rows: int) -> str:
        """`words.csv, lines 3 and 7`"""
        numbers = " and ".join(str(self.numbers[row]) for row in rows)
        return f"{self.name}, {'line' if self.from_file else 'row'}{'s' if len(rows) > 1 else ''} {numbers}"


def table_of(given: str | Iterable[str] | pd.DataFrame) -> SentenceTable:
    """A DataFrame as it is; anything else is sentences."""
    if isinstance(given, pd.DataFrame):
        return SentenceTable(given.reset_index(drop=True), "the DataFrame", range(1, len(given) + 1), from_file=False)
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise BadInput(f"sentences are a text, several, a Series or a DataFrame, not: {given!r:.80}")
    texts = [given] if isinstance(given, str) else list(given)
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise BadInput(f"sentence {wrong + 1} is no text: {texts[wrong]!r:.80}")
    return SentenceTable(
        pd.DataFrame({SENTENCE: texts}, dtype=object), "the sentences", range(1, len(texts) + 1), from_file=False
    )


def read(name: str | Path) -> SentenceTable:
    """Plain text by its ending, else a table. Every cell is as it was written: the word "null" stays a word."""
    path = path_of(str(name))
    ending = next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "").lower()
    if ending not in ENDINGS:
        raise BadInput(f"{path}: a file with sentences ends in {', '.join(ENDINGS)}")
    text = text_of(path)
    table = _lines(path, text) if ending == ".txt" else _framed(path, tables.read(path, text, longest=None))
    if table.frame.empty:
        raise BadInput(f"{path}: no rows")
    return table


def _lines(path: Path, text: str) -> SentenceTable:
    lines = text.removesuffix("\n").split("\n") if text else []  # not splitlines, which splits at U+2028, too
    rows = [{SENTENCE: line.removesuffix("\r")} for line in lines]
    return SentenceTable(pd.DataFrame(rows, columns=[SENTENCE]), str(path), range(1, len(rows) + 1))


def _framed(path: Path, table: DataTable) -> SentenceTable:
    """Every line is a row: in a table of one column an empty line is an empty sentence, elsewhere it is refused."""
    if len(set(table.columns)) < len(table.columns):
        raise BadInput(f"{table.place}: two columns have no name")
    rows = {row.line: row.cells for row in table.rows}
    for line in table.empty_lines:
        if line < max(rows, default=0):
            rows[line] = _empty_row(table, f"{path}, line {line}")
    for row in table.rows:
        if not table.typed and len(row.cells) < len(table.columns):
            cells = f"{len(row.cells)} cell{'s' if len(row.cells) > 1 else ''}"
            raise BadInput(f"{row.place}: {cells}, the header has {len(table.columns)}")
    lines = sorted(rows)
    frame = pd.DataFrame([rows[line] for line in lines], columns=table.columns, dtype=object)
    return SentenceTable(frame.apply(_one_type if table.typed else _whole_numbers), str(path), lines)


def _empty_row(table: DataTable, place: str) -> Mapping[str, str]:
    if table.typed or len(table.columns) > 1:
        raise BadInput(f"{place}: an empty line")
    return {table.columns[0]: ""}


def _whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """As numbers where each is written as Python would write it, so that items join in R and a 007 stays."""
    try:
        return column.astype("int64") if all(str(int(cell)) == cell for cell in column) else column
    except (ValueError, OverflowError):
        return column


def _one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers, numbers, truth values or text; anything mixed or nested is written as JSON."""
    present = column.dropna()
    if present.map(type).nunique() > 1 or present.map(lambda cell: isinstance(cell, (list, dict))).any():
        return column.map(lambda cell: cell if isinstance(cell, str) else json.dumps(cell), na_action="ignore")
    return column if present.map(lambda cell: isinstance(cell, str)).all() else column.convert_dtypes()
