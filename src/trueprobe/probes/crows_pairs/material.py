"""CrowS-Pairs and files like it: a table of two sentences each, one of which stereotypes more.

Comma- or tab-separated, with the columns sent_more, sent_less, stereo_antistereo and bias_type; annotations are read
where there are any, other columns ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trueprobe.assets import contents
from trueprobe.assets.contents import Content
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import datasets, tables
from trueprobe.probes.crows_pairs.flags import flags_of
from trueprobe.probes.datasets import Dataset
from trueprobe.probes.tables import DataRow

ASSETS = ("crows-pairs",)
DIRECTIONS = ("stereo", "antistereo")
COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
ANNOTATIONS = "annotations"  # of validators; the authors' file has them


@dataclass(frozen=True, slots=True)
class SentencePair:
    more: str  # stereotypes more
    less: str
    direction: str  # stereo: `more` states a stereotype; antistereo: `less` contradicts one
    category: str
    flags: tuple[str, ...] = ()  # known criticism (`flags`)


@dataclass(frozen=True)
class CrowsPairsData:
    pairs: tuple[SentencePair, ...]
    data: Dataset

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(pair.category for pair in self.pairs))


def read(name: str) -> CrowsPairsData:
    data = datasets.read(name, ASSETS, "crows_pairs/data/sample.csv")
    table = tables.read(data.path, data.text)
    for column in COLUMNS:
        table.column(column)
    if not table.rows:
        raise BadInput(f"{data.path}: a header and no pairs")
    return CrowsPairsData(tuple(map(_pair, table.rows)), data)


def content(folder: Path) -> Content:
    """Of the asset's file, for the hash that all its sources share: every cell, whatever its line ends."""
    path = contents.only_file(folder)
    table = tables.read(Path(path.name), contents.text_of(path))
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise BadInput(f"{table.place}: no column {', '.join(missing)}")
    for row in table.rows:
        if len(row.cells) < len(table.columns):
            raise BadInput(f"{row.place}: {len(row.cells)} cells, not {len(table.columns)}")
    rows = [list(table.columns), *(list(row.cells.values()) for row in table.rows)]
    return Content(contents.sha256_of(rows), {"pairs": len(table.rows)})


def _pair(row: DataRow) -> SentencePair:
    more, less, direction, category = map(row.text, COLUMNS)
    if direction not in DIRECTIONS:
        raise BadInput(f"{row.place}: stereo_antistereo is '{direction}'{nearest(direction, DIRECTIONS)}")
    if more == less:
        raise BadInput(f"{row.place}: sent_more and sent_less are the same sentence")
    annotations = tables.text_of(row.cells.get(ANNOTATIONS))
    return SentencePair(
        more, less=less, direction=direction, category=category, flags=flags_of(more, less, category, annotations)
    )
