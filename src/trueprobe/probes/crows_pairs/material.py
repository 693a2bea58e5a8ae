"""CrowS-Pairs and files like it: a table of two sentences each, one of which stereotypes more.

Comma- or tab-separated, with the columns sent_more, sent_less, stereo_antistereo and bias_type; annotations are read
where there are any, other columns ignored.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from trueprobe.assets import contents
from trueprobe.assets.contents import Content
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files, tables
from trueprobe.probes.files import Dataset
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
    flags: tuple[str, ...] = ()  # published criticism, see below


@dataclass(frozen=True)
class CrowsPairsData:
    pairs: tuple[SentencePair, ...]
    data: Dataset

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(pair.category for pair in self.pairs))


def read(name: str) -> CrowsPairsData:
    data = files.read_dataset(name, ASSETS, "crows_pairs/data/sample.csv")
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


# ---------------------------------------------------------------- published criticism

# By facts of the released file; all pairs are still asked. `disputed`: fewer than three of the five validators name the
# pair's category (column `annotations`). `several_changes`: the sentences differ in more than one place, pronouns
# aside. `punctuation`: they differ in punctuation. The last two are among the faults that Blodgett et al. (2021)
# describe; their judgements of single pairs are not published, and what needs a judgement (is it a stereotype, are the
# groups counterparts) is not flagged.
DISPUTED, SEVERAL_CHANGES, PUNCTUATION = "disputed", "several_changes", "punctuation"
LEAST_VALIDATORS = 3
_WORD = re.compile(r"[\w'’]+")
_PRONOUNS = frozenset(("he", "she", "him", "her", "his", "hers", "himself", "herself", "it", "its", "itself"))
_PRONOUNS |= {"they", "them", "their", "theirs", "themselves"}


def flags_of(more: str, less: str, category: str, annotations: str) -> tuple[str, ...]:
    """`annotations`: as the file has them, a list for each validator; empty in a user's file."""
    flags = {
        DISPUTED: _disputed(category, annotations),
        SEVERAL_CHANGES: _changes(more, less) > 1,
        PUNCTUATION: _marks(more) != _marks(less),
    }
    return tuple(flag for flag, applies in flags.items() if applies)


def _disputed(category: str, annotations: str) -> bool:
    """False where there are no annotations, or in another form."""
    try:
        named = ast.literal_eval(annotations)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    if not isinstance(named, list) or not named or not all(isinstance(one, list) for one in named):
        return False
    return sum(category in one for one in named) < LEAST_VALIDATORS


def _changes(more: str, less: str) -> int:
    """In how many places the words differ; a pronoun changes with the person it stands for."""
    return sum(not changed <= _PRONOUNS for changed in _changed(_words(more), _words(less)))


def _changed(one: list[str], other: list[str]) -> Iterator[set[str]]:
    for what, *ends in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if what != "equal":
            yield {*one[ends[0] : ends[1]], *other[ends[2] : ends[3]]}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _marks(text: str) -> list[str]:
    return _WORD.sub(" ", text).split()
