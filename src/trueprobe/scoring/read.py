"""Reads a user's rows: CSV, JSON lines or plain text into a table, with the line of each row for messages."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trueprobe.errors import BadInput, reason
from trueprobe.probes.files import path_of, text_of

SENTENCE = "sentence"
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
HALF_A_CHARACTER = "half of a character (a lone surrogate, as \\ud800): not text"
ENDINGS = (*_SEPARATORS, *_JSON_LINES, ".txt")


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame
    name: str  # of the file, or of what was handed over
    numbers: Sequence[int]  # of the line at which each row ends, or of the row
    from_file: bool = True  # else from Python, where columns are named by arguments

    def place(self, *rows: int) -> str:
        """`words.csv, lines 3 and 7`"""
        numbers = " and ".join(str(self.numbers[row]) for row in rows)
        return f"{self.name}, {'line' if self.from_file else 'row'}{'s' if len(rows) > 1 else ''} {numbers}"


def table_of(given: str | Iterable[str] | pd.DataFrame) -> Table:
    """A DataFrame as it is; anything else is sentences."""
    if isinstance(given, pd.DataFrame):
        return Table(given.reset_index(drop=True), "the DataFrame", range(1, len(given) + 1), from_file=False)
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise BadInput(f"sentences are a text, several, a Series or a DataFrame, not: {given!r:.80}")
    texts = [given] if isinstance(given, str) else list(given)
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise BadInput(f"sentence {wrong + 1} is no text: {texts[wrong]!r:.80}")
    return Table(
        pd.DataFrame({SENTENCE: texts}, dtype=object), "the sentences", range(1, len(texts) + 1), from_file=False
    )


def is_text(text: str) -> bool:
    """Half of a character, as the escape \\ud800 alone is, can be neither cut into tokens nor written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read(name: str | Path) -> Table:
    """By the file's ending. Every cell is as it was written: the word "null" stays a word."""
    path = path_of(str(name))
    ending = next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "").lower()
    if ending not in ENDINGS:
        raise BadInput(f"{path}: a file with sentences ends in {', '.join(ENDINGS)}")
    text = text_of(path)
    if ending == ".txt":
        lines = text.removesuffix("\n").split("\n") if text else []  # not splitlines, which splits at U+2028, too
        rows = [{SENTENCE: line.removesuffix("\r")} for line in lines]
        table = Table(pd.DataFrame(rows, columns=[SENTENCE]), str(path), range(1, len(rows) + 1))
    else:
        table = _json_lines(path, text) if ending in _JSON_LINES else _separated(path, text, _SEPARATORS[ending])
    if table.frame.empty:
        raise BadInput(f"{path}: no rows")
    return table


# ---------------------------------------------------------------- CSV


def _separated(path: Path, text: str, separator: str) -> Table:
    with _any_cell_size():
        try:
            reader = csv.reader(io.StringIO(text.rstrip("\r\n") + "\n", newline=""), delimiter=separator, strict=True)
            header = _header(path, next(reader, []))
            rows, numbers = [], []
            for cells in reader:
                rows.append(_cells(path, reader.line_num, cells, header))
                numbers.append(reader.line_num)
        except csv.Error as error:
            raise BadInput(f"{path}, line {reader.line_num}: not a CSV file: {error}") from error
    frame = pd.DataFrame(rows, columns=header, dtype=object)
    return Table(frame.apply(_whole_numbers), str(path), numbers)


@contextmanager
def _any_cell_size() -> Iterator[None]:
    """Python's limit of 131,072 characters is for the whole process."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _header(path: Path, header: list[str]) -> list[str]:
    if len(header) == 1 and ";" in header[0]:
        raise BadInput(f"{path}, line 1: columns are separated by ;, but a .csv file has commas and a .tsv file tabs")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{path}, line 1: two columns are called '{twice}'")
    return header


def _cells(path: Path, line: int, cells: list[str], header: list[str]) -> list[str]:
    cells = cells or [""]  # an empty line is one empty cell
    if len(cells) != len(header):
        cell = "cell" if len(cells) == 1 else "cells"
        raise BadInput(f"{path}, line {line}: {len(cells)} {cell}, the header has {len(header)}")
    return cells


def _whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """As numbers where each is written as Python would write it, so that items join in R and a 007 stays."""
    try:
        return column.astype("int64") if all(str(int(cell)) == cell for cell in column) else column
    except (ValueError, OverflowError):
        return column


# ---------------------------------------------------------------- JSON lines


def _json_lines(path: Path, text: str) -> Table:
    lines = text.rstrip("\r\n").split("\n")
    rows = [_object(path, number, line) for number, line in enumerate(lines, 1)] if text.strip() else []
    frame = pd.DataFrame(rows, dtype=object)
    return Table(frame.apply(_one_type), str(path), range(1, len(rows) + 1))


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}, line {number}: not valid JSON ({reason(error)})") from error
    if not isinstance(row, dict):
        raise BadInput(f"{path}, line {number}: not an object with fields such as sentence")
    if not is_text(json.dumps(row, ensure_ascii=False)):
        raise BadInput(f"{path}, line {number}: {HALF_A_CHARACTER}")
    return row


def _one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers, numbers, truth values or text; anything mixed or nested is written as JSON."""
    known = column.dropna()
    if known.map(type).nunique() > 1 or known.map(lambda cell: isinstance(cell, (list, dict))).any():
        return column.map(lambda cell: cell if isinstance(cell, str) else json.dumps(cell), na_action="ignore")
    return column if known.map(lambda cell: isinstance(cell, str)).all() else column.convert_dtypes()
