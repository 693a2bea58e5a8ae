"""Tables that users bring: a header and cells between tabs, commas or semicolons, or JSON lines. Rows know lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, nearest, reason
from trueprobe.probes.datasets import Dataset

LONGEST_CELL = csv.field_size_limit()  # characters; the same for JSON lines


@dataclass(frozen=True, slots=True)
class DataRow:
    place: str  # `mine.csv, line 3`, for messages
    cells: Mapping[str, Any]  # a short row of a CSV file lacks its last columns
    file: str = ""  # its name without ending

    def text(self, column: str) -> str:
        """What must not be empty."""
        if column not in self.cells:
            raise BadInput(f"{self.place}: {len(self.cells)} cells, none of them {column}")
        text = text_of(self.cells[column]).strip()
        if not text:
            raise BadInput(f"{self.place}: {column} is empty")
        return text


@dataclass(frozen=True)
class DataTable:
    """The rows of one file, or of all files of a folder."""

    columns: tuple[str, ...]
    rows: tuple[DataRow, ...]
    place: str  # where its columns are named, for messages
    empty_lines: int = 0

    def column(self, wanted: str) -> str:
        """A column that must be there."""
        if wanted not in self.columns:
            raise BadInput(f"{self.place}: no column '{wanted}'{nearest(wanted, [c for c in self.columns if c])}")
        return wanted


def text_of(value: Any) -> str:
    """A cell as text: true, not Python's True."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read(data: Dataset) -> DataTable:
    """Which of the two it is, its first character decides: a JSON object is no header."""
    if data.text.lstrip().startswith("["):
        raise BadInput(f"{data.path}, line 1: a JSON list; write JSON lines, one {{…}} in each line")
    return _json_lines(data) if data.text.lstrip().startswith("{") else _separated(data)


def joined(tables: Sequence[DataTable]) -> DataTable:
    """The rows of several files as one table; a column that one of them lacks is empty there."""
    if len(tables) == 1:
        return tables[0]
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    rows = tuple(row for table in tables for row in table.rows)
    return DataTable(tuple(columns), rows, tables[0].place, sum(table.empty_lines for table in tables))


# ---------------------------------------------------------------- separated text


def _separated(data: Dataset) -> DataTable:
    first = data.text.split("\n", 1)[0]
    delimiter = next((sign for sign in "\t,;" if sign in first), ",")
    rows = csv.reader(io.StringIO(data.text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        place = f"{data.path}, line 1"
        _refuse_repeated(header, place)
        numbered = list(_numbered(rows))
    except csv.Error as error:
        raise BadInput(f"{data.path}, line {rows.line_num}: not a table ({error})") from error
    read = tuple(_row(header, cells, f"{data.path}, line {line}", data.path) for line, cells in numbered if cells)
    return DataTable(tuple(header), read, place, sum(not cells for _, cells in numbered))


def _numbered(rows: Any) -> Iterator[tuple[int, list[str]]]:
    """Each row with its first line: a quoted cell may hold line breaks."""
    first = rows.line_num + 1
    for row in rows:
        yield first, row
        first = rows.line_num + 1


def _row(header: list[str], cells: list[str], place: str, path: Path) -> DataRow:
    if len(cells) > len(header):
        raise BadInput(
            f"{place}: {len(cells)} cells, the header has {len(header)}; a cell that holds the separator needs quotes"
        )
    return DataRow(place, dict(zip(header, cells, strict=False)), path.stem)


def _refuse_repeated(header: list[str], place: str) -> None:
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice:
        raise BadInput(f"{place}: two columns are called '{twice}'")


# ---------------------------------------------------------------- JSON lines


def _json_lines(data: Dataset) -> DataTable:
    lines = data.text.removesuffix("\n").split("\n")
    numbered = [(f"{data.path}, line {number}", line.strip()) for number, line in enumerate(lines, 1)]
    rows = tuple(DataRow(place, _object(line, place), data.path.stem) for place, line in numbered if line)
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    return DataTable(tuple(columns), rows, str(data.path), len(numbered) - len(rows))


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        cells = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: not JSON ({reason(error)})") from error
    if not isinstance(cells, dict):
        raise BadInput(f"{place}: a JSON object is needed, with a key for each column")
    for column, cell in cells.items():
        if isinstance(cell, str) and len(cell) > LONGEST_CELL:
            raise BadInput(f"{place}: {column} has {len(cell):,} characters, the most are {LONGEST_CELL:,}")
    return cells
