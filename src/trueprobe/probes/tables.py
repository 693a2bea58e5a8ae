"""Tables that users bring: a header and cells between tabs, commas or semicolons, or JSON lines. Rows know their lines.

Nothing else reads them: probes take conditions and texts from the rows, `score` makes a data frame of them.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, nearest, reason

JSON_ENDINGS = (".jsonl", ".ndjson")
LONGEST_CELL = 131_072  # characters that a probe takes
HALF_A_CHARACTER = "half of a character (a lone surrogate, as \\ud800): not text"


@dataclass(frozen=True, slots=True)
class DataRow:
    path: Path
    line: int  # where it begins: a quoted cell may hold line breaks
    cells: Mapping[str, Any]  # a short row of a CSV file lacks its last columns

    @property
    def place(self) -> str:
        """`pairs.csv, line 3`, for messages."""
        return f"{self.path}, line {self.line}"

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
    empty_lines: tuple[int, ...] = ()
    typed: bool = False  # cells are JSON's values, else text

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


def is_text(text: str) -> bool:
    """Half of a character, as the escape \\ud800 alone is, can be neither cut into tokens nor written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read(path: Path, text: str, longest: int | None = LONGEST_CELL) -> DataTable:
    """JSON lines by the ending or the first character (a JSON object is no header), else separated text. `longest`: of
    a cell, in characters."""
    first = text.lstrip()[:1]
    if first == "[":
        raise BadInput(f"{path}, line 1: a JSON list; write JSON lines, one {{…}} in each line")
    is_json = first == "{" or path.name.removesuffix(".gz").endswith(JSON_ENDINGS)
    table = _json_lines(path, text) if is_json else _separated(path, text)
    if longest is not None:
        _refuse_longer(table, longest)
    return table


def _refuse_longer(table: DataTable, longest: int) -> None:
    for row in table.rows:
        for column, cell in row.cells.items():
            if isinstance(cell, str) and len(cell) > longest:
                raise BadInput(f"{row.place}: {column} has {len(cell):,} characters, the most are {longest:,}")


def joined(tables: Sequence[DataTable]) -> DataTable:
    """The rows of several files as one table; a column that one of them lacks is empty there."""
    if len(tables) == 1:
        return tables[0]
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    rows = tuple(row for table in tables for row in table.rows)
    empty_lines = tuple(line for table in tables for line in table.empty_lines)
    return DataTable(tuple(columns), rows=rows, place=tables[0].place, empty_lines=empty_lines)


# ---------------------------------------------------------------- separated text


def _separated(path: Path, text: str) -> DataTable:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(path, text), strict=True)
    with _any_cell_size():
        try:
            header = [name.strip() for name in next(rows, [])]
            numbered = list(_numbered(rows))
        except csv.Error as error:
            raise BadInput(f"{path}, line {rows.line_num}: not a table ({error})") from error
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice:
        raise BadInput(f"{path}, line 1: two columns are called '{twice}'")
    read = tuple(_row(path, line, cells, header) for line, cells in numbered if cells)
    return DataTable(
        tuple(header),
        rows=read,
        place=f"{path}, line 1",
        empty_lines=tuple(line for line, cells in numbered if not cells),
    )


def _separator(path: Path, text: str) -> str:
    if path.name.removesuffix(".gz").endswith(".tsv"):
        return "\t"
    first = text.split("\n", 1)[0]
    return next((sign for sign in "\t,;" if sign in first), ",")


@contextmanager
def _any_cell_size() -> Iterator[None]:
    """Python's limit of 131,072 characters is for the whole process, and its message names no column."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _numbered(rows: Any) -> Iterator[tuple[int, list[str]]]:
    """Each row with its first line."""
    first = rows.line_num + 1
    for row in rows:
        yield first, row
        first = rows.line_num + 1


def _row(path: Path, line: int, cells: list[str], header: list[str]) -> DataRow:
    if len(cells) > len(header):
        raise BadInput(
            f"{path}, line {line}: {len(cells)} cells, the header has {len(header)}; a cell that holds the separator "
            "needs quotes"
        )
    return DataRow(path, line, dict(zip(header, cells, strict=False)))


# ---------------------------------------------------------------- JSON lines


def _json_lines(path: Path, text: str) -> DataTable:
    lines = list(enumerate(text.removesuffix("\n").split("\n"), 1))
    rows = tuple(
        DataRow(path, number, _object(line, f"{path}, line {number}")) for number, line in lines if line.strip()
    )
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    empty_lines = tuple(number for number, line in lines if not line.strip())
    return DataTable(tuple(columns), rows=rows, place=str(path), empty_lines=empty_lines, typed=True)


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        cells = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: not valid JSON ({reason(error)})") from error
    if not isinstance(cells, dict):
        raise BadInput(f"{place}: a JSON object is needed, with a key for each column")
    if not is_text(json.dumps(cells, ensure_ascii=False)):
        raise BadInput(f"{place}: {HALF_A_CHARACTER}")
    return cells
