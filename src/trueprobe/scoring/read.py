"""A user's rows as a data frame, from a table, lines of text or Python, with the line of each row for messages.

Rows of several sentences may stand under one name, as of two subjects; `Items` sees it, and which columns tell them
apart. A column numbers the words, whatever it is called, if it counts up in every sentence, from a first number they
share: 1 2 3 4 5, or w1 w2 w3. One that does so only where the rows of an item are taken apart, by another column or by
where it begins again, shows that the item holds several sentences:

    item     1  1  1  1  1  1
    subject  a  a  a  b  b  b
    nr       1  2  3  1  2  3

Without such a column, sentences show that share their words and differ in another column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, pairwise
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
        raise BadInput(f"sentence {wrong + 1} is not text: {texts[wrong]!r:.80}")
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


# ---------------------------------------------------------------- rows of several sentences under one name


_NUMBER = re.compile(r"(\D*)(\d{1,9})(?:\.0+)?")
_FEWEST = 3  # words of the longest sentence: with fewer, a flag (0 0 1 0) would number them
_MOST_IN_PAIRS = 12  # columns that are tried two by two

Rows = list[int]


@dataclass(frozen=True)
class Repeat:
    """Two rows of one item that belong to different sentences."""

    rows: tuple[int, int]
    column: str | None  # has the same number of a word in both; None: both begin the same words
    apart: tuple[str, ...]  # the columns that tell the sentences apart; () where none does


@dataclass(frozen=True)
class Items:
    """The rows of each item, in the order of their positions or, where these are not known, of the file."""

    frame: pd.DataFrame
    groups: list[Rows]
    words: Sequence[Any]
    others: tuple[str, ...]  # columns that may number the words, or tell sentences apart
    region: str | None  # which may have words numbered within it

    @cached_property
    def counter(self) -> str | None:
        """A column that numbers the words of every item once, at best as the rows stand."""
        counting = [n for n, its in self._numbered.items() if _complete(its, self.groups) or _once(its, self.groups)]
        return min(counting, key=lambda name: not self.is_in_step(name), default=None)

    def is_in_step(self, counter: str) -> bool:
        """Does each row have the number after that of the row before it?"""
        numbers = self._numbered[counter]
        return all(numbers[other] == numbers[one] + 1 for rows in self.groups for one, other in pairwise(rows))

    @property
    def repeat(self) -> Repeat | None:
        """Of rows without a column that is known to number the words."""
        for name in sorted(self._numbered, key=self._words_per_number):
            numbers = self._numbered[name]
            twice = next(filter(None, (same_number(rows, numbers) for rows in self.groups)), None)
            if twice is not None:
                apart = self.apart(numbers)
                if apart or all(_begins_again(rows, numbers) for rows in self.groups):
                    return Repeat(twice, name, apart)
        return self._same_words()

    def apart(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """The fewest columns, one or two, by which every part of an item counts words."""
        for names in chain(combinations(self.others, 1), combinations(self.others[:_MOST_IN_PAIRS], 2)):
            if self._once_by(numbers, names):
                return names
        return ()

    @cached_property
    def _numbered(self) -> dict[str, list[int]]:
        """Columns that may number the words of every item, once or several times."""
        with_numbers = ((name, word_numbers(self.frame[name])) for name in self.others)
        return {name: numbers for name, numbers in with_numbers if numbers is not None and self._from_first(numbers)}

    def _from_first(self, numbers: Sequence[int]) -> bool:
        first, of_items = min(numbers), [{numbers[row] for row in rows} for rows in self.groups]
        if max(map(len, of_items)) < _FEWEST or not all(_covers(its, first) for its in of_items):
            return False
        return self.region is None or not self._once_by(numbers, (self.region,))

    @cached_property
    def _codes(self) -> dict[str, list[int]]:
        """Of each column, equal cells as equal numbers."""
        names = (*self.others, self.region) if self.region else self.others
        return {name: _factorized(self.frame[name]) for name in names}

    def _once_by(self, numbers: Sequence[int], names: Iterable[str]) -> bool:
        return _once(numbers, (part for rows in self.groups for part in self._parts(rows, names)))

    def _parts(self, rows: Rows, names: Iterable[str]) -> list[Rows]:
        codes = [self._codes[name] for name in names]
        parts: dict[tuple[int, ...], Rows] = {}
        for row in rows:
            parts.setdefault(tuple(code[row] for code in codes), []).append(row)
        return list(parts.values())

    def _words_per_number(self, name: str) -> int:
        """Fewest for what numbers the words. Of three subjects, each of 1 2 3 has all the words."""
        codes = self._codes[name]
        return len({(item, codes[row], self.words[row]) for item, rows in enumerate(self.groups) for row in rows})

    def _same_words(self) -> Repeat | None:
        for name in self.others:
            split = (parts for rows in self.groups if len(parts := self._parts(rows, (name,))) > 1)
            first = next(split, None)
            if first is not None and self._alike(first) and all(map(self._alike, split)):
                return Repeat((first[0][0], first[1][0]), None, (name,))
        return None

    def _alike(self, parts: list[Rows]) -> bool:
        """Have all at half of their places or more the word of the first? Two words are alike only as a whole."""
        first, *rest = ([self.words[row] for row in part] for part in parts)
        share = 0.5 if len(first) >= _FEWEST else 1.0
        same = [sum(a == b for a, b in zip(first, part, strict=False)) / max(len(first), len(part)) for part in rest]
        return len(first) > 1 and min(same) >= share


def word_numbers(cells: Iterable[Any]) -> list[int] | None:
    """`w1 w2 w3` or `01 02 03` -> 1 2 3; None where a cell has no number, or has it behind other letters."""
    numbers: list[int] = []
    before = None
    for cell in cells:
        match = _NUMBER.fullmatch(str(cell).strip())
        if match is None or before not in (None, match[1]):
            return None
        before = match[1]
        numbers.append(int(match[2]))
    return numbers or None


def same_number(rows: Rows, numbers: Sequence[int]) -> tuple[int, int] | None:
    """The first two rows, by their numbers, that have the same one."""
    ordered = sorted(rows, key=numbers.__getitem__)
    return next((pair for pair in pairwise(ordered) if numbers[pair[0]] == numbers[pair[1]]), None)


def _factorized(column: pd.Series[Any]) -> list[int]:
    cells = column.astype(str) if column.dtype == object else column  # a DataFrame may have lists in it
    return [int(code) for code in pd.factorize(cells)[0]]


def _complete(numbers: Sequence[int], parts: Iterable[Rows]) -> bool:
    first = min(numbers)
    return all(sorted(numbers[row] for row in rows) == [*range(first, first + len(rows))] for rows in parts)


def _once(numbers: Sequence[int], parts: Iterable[Rows]) -> bool:
    """Does every part count words, each once?"""
    first = min(numbers)
    return all(len(_runs(rows, numbers)) == 1 and _covers({numbers[row] for row in rows}, first) for rows in parts)


def _covers(its: set[int], first: int) -> bool:
    """Of three words or more, half of the numbers may be missing: rows of words that were read too fast are often left
    out."""
    span = max(its) - first + 1
    return len(its) == span or (len(its) >= _FEWEST and 2 * len(its) > span)


def _runs(rows: Rows, numbers: Sequence[int]) -> list[Rows]:
    """1 2 4 1 2 -> [1 2 4] [1 2], as rows."""
    runs = [rows[:1]]
    for one, other in pairwise(rows):
        if numbers[other] <= numbers[one]:
            runs.append([])
        runs[-1].append(other)
    return runs


def _begins_again(rows: Rows, numbers: Sequence[int]) -> bool:
    """Do all runs count words? One row alone, as of a flag, is no run."""
    runs = _runs(rows, numbers)
    return _once(numbers, runs) and (len(runs) == 1 or all(len(run) > 1 for run in runs))
