"""CrowS-Pairs and files like it: a table of two sentences each, one of which stereotypes more.

Comma- or tab-separated, with the columns sent_more, sent_less, stereo_antistereo and bias_type; others are ignored.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import datasets
from trueprobe.probes.datasets import Dataset

ASSETS = ("crows-pairs",)
DIRECTIONS = ("stereo", "antistereo")
COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")


@dataclass(frozen=True, slots=True)
class SentencePair:
    more: str  # stereotypes more
    less: str
    direction: str  # stereo: `more` states a stereotype; antistereo: `less` contradicts one
    category: str


@dataclass(frozen=True)
class Pairs:
    pairs: tuple[SentencePair, ...]
    data: Dataset

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(pair.category for pair in self.pairs))


def read(name: str) -> Pairs:
    data = datasets.read(name, ASSETS, "crows_pairs/data/sample.csv")
    pairs = tuple(_pairs(data))
    if not pairs:
        raise BadInput(f"{data.path}: a header and no pairs")
    return Pairs(pairs, data)


def _pairs(data: Dataset) -> Iterator[SentencePair]:
    first = data.text.split("\n", 1)[0]
    rows = csv.reader(io.StringIO(data.text, newline=""), delimiter="\t" if "\t" in first else ",", strict=True)
    try:
        header = next(rows, [])
        indices = [_index(header, column, data) for column in COLUMNS]
        first_line = rows.line_num + 1  # of a row, which may have several
        for row in rows:
            if row:
                yield _pair(row, indices, f"{data.path}, line {first_line}")
            first_line = rows.line_num + 1
    except csv.Error as error:
        raise BadInput(f"{data.path}, line {rows.line_num}: not a table ({error})") from error


def _index(header: list[str], column: str, data: Dataset) -> int:
    if column not in header:
        raise BadInput(f"{data.path}, line 1: no column '{column}'{nearest(column, [c for c in header if c])}")
    return header.index(column)


def _pair(row: list[str], indices: list[int], where: str) -> SentencePair:
    last = max(indices)
    if len(row) <= last:
        raise BadInput(f"{where}: {len(row)} cells, but {COLUMNS[indices.index(last)]} is number {last + 1}")
    cells = {column: row[index].strip() for column, index in zip(COLUMNS, indices, strict=True)}
    for column, cell in cells.items():
        if not cell:
            raise BadInput(f"{where}: {column} is empty")
    more, less, direction, category = cells.values()
    if direction not in DIRECTIONS:
        raise BadInput(f"{where}: stereo_antistereo is '{direction}'{nearest(direction, DIRECTIONS)}")
    if more == less:
        raise BadInput(f"{where}: sent_more and sent_less are the same sentence")
    return SentencePair(more, less, direction, category)
