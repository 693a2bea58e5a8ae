"""From a table's rows to sentences with words and regions.

A row is a sentence, with regions marked by `|`; or a row is a word, as in files of reading times, and the rows of one
item make a sentence. Words are what white space separates, punctuation with the word it is written with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import pandas as pd

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.tables import HALF_A_CHARACTER, is_text
from trueprobe.scoring.read import SENTENCE, Items, Repeat, SentenceTable, same_number
from trueprobe.types import Span

LONGEST_TEXT = 100_000  # characters; no longer text is cut into tokens, whatever the model reads
ID, WORD, POSITION, REGION = "id", "word", "position", "region"
_OPTIONS = {"sentence": "--column", "word": "--word-column"}  # of the command; others are called as in Columns
_WORD = re.compile(r"\S+")
_OTHER_SPACE = re.compile(r"[^\S ]|  ")

Units = tuple[tuple[int, Span], ...]  # characters of the text, each range with the number of its word or region


@dataclass(frozen=True)
class Columns:
    """Which columns of a table mean what. A name that is None is looked for under its usual name."""

    sentence: str | None = None  # usually "sentence"
    word: str | None = None  # usually "word": of a file with one row per word
    item: tuple[str, ...] = ()  # of such a file: the columns that together name a sentence; usually "item", or "id"
    position: str | None = None  # usually "position": the number of the word
    region: str | None = None  # usually "region"


@dataclass(frozen=True)
class Sentence:
    text: str
    rows: tuple[int, ...]  # of the table: one, or that of each word
    words: Units
    regions: Units
    region_names: tuple[Any, ...]

    @property
    def too_long(self) -> bool:
        return len(self.text) > LONGEST_TEXT


@dataclass(frozen=True)
class Material:
    """A table with its sentences. `by_word` is a file with one row per word: rows come back in its order."""

    table: SentenceTable
    sentences: tuple[Sentence, ...]
    by_word: bool
    region: str | None  # the table's column of regions
    notice: str  # about white space; empty where there is nothing to report


def material(table: SentenceTable, columns: Columns) -> Material:
    by_word = columns.word is not None or (
        columns.sentence is None and SENTENCE not in table.frame and WORD in table.frame
    )
    return _by_word(table, columns) if by_word else _by_sentence(table, columns.sentence or SENTENCE)


def _naming(table: SentenceTable, role: str, *names: str) -> str:
    """How the user names the columns of a role: `--item item --item condition`, in Python `Columns(item=…)`."""
    if table.from_file:
        return " ".join(f"{_OPTIONS.get(role, f'--{role}')} {name}".strip() for name in names or ("",))
    return f"Columns({role}={(names if role == 'item' else repr(names[0])) if names else '…'})"


def naming_words(table: SentenceTable) -> str:
    """Of a table with a column of sentences that might be one row per word; else empty."""
    return f"; {_naming(table, WORD, WORD)} reads one row per word" if WORD in table.frame else ""


def _column(table: SentenceTable, name: str, role: str, what: str) -> list[Any]:
    if name not in table.frame:
        naming = f" ({_naming(table, role)} names the {what})" if role else ""
        raise BadInput(f"{table.name}: no column '{name}'{naming}{nearest(name, list(map(str, table.frame)))}")
    return table.frame[name].tolist()


def texts_of(table: SentenceTable, name: str | None = None) -> list[str]:
    """White space around a sentence is no part of it; a missing cell is an empty text. Without a name the column is
    `sentence`, and the user cannot choose another."""
    cells = _column(table, name or SENTENCE, "sentence" if name else "", "column with the sentences")
    texts = ["" if _missing(cell) else str(cell).strip() for cell in cells]
    _refuse_halves(table, texts)
    return texts


def white_space_notice(
    table: SentenceTable,
    column: str,
    texts: Sequence[tuple[str, int]],
    cells: Literal["sentences", "words"] = "sentences",
) -> str:
    """About texts with their rows: a tokenizer has other tokens for two spaces than for one, and users see no
    difference."""
    typed = [(match, row) for text, row in texts if (match := _OTHER_SPACE.search(text))]
    around = sum(str(cell) != str(cell).strip() for cell in table.frame[column] if not _missing(cell))
    parts = []
    if typed:
        match, row = typed[0]
        context = match.string[max(0, match.start() - 20) : match.end() + 20]
        parts.append(
            f"{len(typed):,} of {len(texts):,} sentences have double spaces, tabs, no-break spaces or the like, which "
            f"count as typed; the first is {table.place(row)}: {context!r}"
        )
    if around:
        parts.append(f"white space around {around:,} {cells if around > 1 else cells[:-1]} is left out")
    return "; ".join(parts)


def _refuse_halves(table: SentenceTable, texts: Sequence[str]) -> None:
    for row, text in enumerate(texts):
        if not is_text(text):
            raise BadInput(f"{table.place(row)}: {HALF_A_CHARACTER}")


def _missing(cell: Any) -> bool:
    return bool(pd.isna(cell)) or str(cell).strip() == ""


# ---------------------------------------------------------------- one row per sentence


def _by_sentence(table: SentenceTable, name: str) -> Material:
    texts = texts_of(table, name)
    if any("|" in text for text in texts):
        _refuse_unmarked(table, texts)
    if ID in table.frame:
        _refuse_duplicates(table, ID)
    else:
        numbers = pd.DataFrame({ID: range(1, len(texts) + 1)})
        table = replace(table, frame=pd.concat([numbers, table.frame], axis=1))
    sentences = tuple(marked(text, row) for row, text in enumerate(texts))
    notice = white_space_notice(table, name, [(sentence.text, sentence.rows[0]) for sentence in sentences])
    return Material(table, sentences, by_word=False, region=None, notice=notice)


def _refuse_duplicates(table: SentenceTable, name: str) -> None:
    first: dict[Any, int] = {}
    for row, value in enumerate(table.frame[name]):
        if first.setdefault(value, row) != row:
            same = f"{table.place(first[value], row)}: the same {name}, '{value}'"
            raise BadInput(same + naming_words(table))


def _refuse_unmarked(table: SentenceTable, texts: Sequence[str]) -> None:
    for row, text in enumerate(texts):
        parts = [part.strip() for part in text.split("|")]
        if text and len(parts) == 1:
            raise BadInput(f"{table.place(row)}: no region is marked by |, as in other sentences")
        if text and "" in parts:
            raise BadInput(f"{table.place(row)}: region {parts.index('') + 1} of the sentence is empty")


def marked(text: str, row: int) -> Sentence:
    """`It was | late|.` -> "It was late." with the regions 1 to 3: white space next to a mark stays as one space."""
    parts = text.split("|")
    plain, regions = "", []
    for number, part in enumerate(parts):
        if number and (parts[number - 1][-1:].isspace() or part[:1].isspace()):
            plain += " "
        regions.append((number, (len(plain), len(plain := plain + part.strip()))))
    words = () if len(plain) > LONGEST_TEXT else tuple(enumerate(match.span() for match in _WORD.finditer(plain)))
    return Sentence(
        plain, rows=(row,), words=words, regions=tuple(regions), region_names=tuple(range(1, len(parts) + 1))
    )


# ---------------------------------------------------------------- one row per word


def _by_word(table: SentenceTable, columns: Columns) -> Material:
    words = _column(table, columns.word or WORD, "word", "column with the words")
    empty = next((row for row, word in enumerate(words) if _missing(word)), None)
    if empty is not None:
        raise BadInput(f"{table.place(empty)}: the word is empty; fill it in")
    _refuse_halves(table, list(map(str, words)))
    name = columns.region or (REGION if REGION in table.frame else None)
    regions = [1] * len(words) if name is None else _regions(table, name)
    sentences = tuple(_joined(rows, words, regions) for rows in _ordered(table, columns, words, name))
    starts = [(sentence.text, sentence.rows[0]) for sentence in sentences]
    notice = white_space_notice(table, columns.word or WORD, starts, "words")
    return Material(table, sentences, by_word=True, region=name, notice=notice)


def _regions(table: SentenceTable, name: str) -> list[Any]:
    regions = _column(table, name, "region", "column with the regions")
    missing = next((row for row, region in enumerate(regions) if _missing(region)), None)
    if missing is not None:
        raise BadInput(f"{table.place(missing)}: no {name}")
    return regions


def _ordered(table: SentenceTable, columns: Columns, words: Sequence[Any], region: str | None) -> list[list[int]]:
    """The rows of each sentence, in the order of its words."""
    position = columns.position or (POSITION if POSITION in table.frame else None)
    if position is None and not columns.item:
        raise BadInput(
            f"{table.name}: no column '{POSITION}' ({_naming(table, POSITION)} names it), so name all columns that "
            f"identify a sentence: {_naming(table, 'item', 'item', 'condition')}"
        )
    names = columns.item or _usual_item(table)
    groups = _groups(table, names)
    named = {*names, columns.word or WORD, region, position}
    unique = table.frame.columns[~table.frame.columns.duplicated(keep=False)]  # a DataFrame may have two of a name
    others = tuple(name for name in unique if isinstance(name, str) and name not in named)
    items = Items(table.frame, groups=groups, words=words, others=others, region=region)
    if position is None:
        _refuse_hidden_positions(table, names, items)
        return [_contiguous(table, rows) for rows in groups]
    numbers = _numbers(table, position)
    for rows in groups:
        rows.sort(key=numbers.__getitem__)
    for rows in groups:
        twice = same_number(rows, numbers)
        if twice is not None:
            raise _several(table, names, Repeat(twice, position, items.apart(numbers)))
        _refuse_gaps(table, rows, numbers)
    _refuse_beheaded(table, [rows[0] for rows in groups], numbers)
    return groups


def _refuse_hidden_positions(table: SentenceTable, names: Sequence[str], items: Items) -> None:
    """Without a column that is known to number the words, the order of the rows is theirs, if no column contradicts."""
    repeat, counter = items.repeat, items.counter
    if repeat is not None:
        one = _naming(table, POSITION, counter) if counter else f"add a column {POSITION} that numbers its words"
        raise BadInput(f"{_several(table, names, repeat)}; if it is one sentence: {one}")
    if counter is not None and not items.is_in_step(counter):
        raise BadInput(
            f"{table.name}: the column '{counter}' numbers the words in another order than that of the rows, or with "
            f"gaps; name it: {_naming(table, POSITION, counter)}"
        )


def _several(table: SentenceTable, names: Sequence[str], repeat: Repeat) -> BadInput:
    """`words.csv, lines 2 and 7: item 1 has position 1 twice (subject s1, s2), so …: --item item --item subject`"""

    def cells(name: str, *rows: int) -> str:
        return f"{name} {', '.join(f'{table.frame[name].iloc[row]!s:.40}' for row in rows)}"

    item = ", ".join(cells(name, repeat.rows[0]) for name in names)
    what = "the same words twice" if repeat.column is None else f"{cells(repeat.column, repeat.rows[0])} twice"
    one, other = repeat.rows
    apart = (name for name in repeat.apart if table.frame[name].iloc[one] != table.frame[name].iloc[other])
    differing = "; ".join(cells(name, one, other) for name in apart)
    naming = _naming(table, "item", *names, *(repeat.apart or ("…",)))
    every = "" if repeat.apart else f" (columns: {', '.join(map(str, table.frame))})"
    return BadInput(
        f"{table.place(*repeat.rows)}: {item} has {what}{f' ({differing})' if differing else ''}, so several sentences "
        f"would become one; name all columns that tell them apart: {naming}{every}"
    )


def _usual_item(table: SentenceTable) -> tuple[str, ...]:
    return ("item",) if "item" in table.frame or ID not in table.frame else (ID,)


def _groups(table: SentenceTable, names: Iterable[str]) -> list[list[int]]:
    cells = [_column(table, name, "item", "columns that together name a sentence") for name in names]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*cells, strict=True)):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _numbers(table: SentenceTable, position: str) -> list[int]:
    cells = _column(table, position, "position", "column with the number of the word")
    numbers = []
    for row, cell in enumerate(cells):
        try:
            if int(cell) != float(cell):
                raise ValueError(cell)
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(f"{table.place(row)}: {position} is '{cell}', not a whole number") from error
        numbers.append(int(cell))
    return numbers


def _contiguous(table: SentenceTable, rows: list[int]) -> list[int]:
    for one, other in pairwise(rows):
        if other != one + 1:
            raise BadInput(
                f"{table.place(one, other)}: one sentence, but other rows lie between; add a column {POSITION}"
            )
    return rows


def _refuse_gaps(table: SentenceTable, rows: list[int], numbers: Sequence[int]) -> None:
    for one, other in pairwise(rows):
        if numbers[other] != numbers[one] + 1:
            raise BadInput(f"{table.place(one, other)}: position {numbers[one] + 1} is missing between them")


def _refuse_beheaded(table: SentenceTable, firsts: Sequence[int], numbers: Sequence[int]) -> None:
    """Every sentence begins at the same position; at 2 or later its first word is missing."""
    begin = min(numbers[row] for row in firsts)
    for row in firsts:
        if numbers[row] != begin:
            other = next(one for one in firsts if numbers[one] == begin)
            raise BadInput(
                f"{table.place(row)}: the sentence begins at position {numbers[row]}, another at {begin} "
                f"({table.place(other)}); number the words of every sentence from 1"
            )
    if begin > 1:
        raise BadInput(f"{table.place(firsts[0])}: the sentence begins at position {begin}; its first word is missing")


def _joined(rows: Sequence[int], words: Sequence[Any], regions: Sequence[Any]) -> Sentence:
    """With one space between words, as they were read."""
    names = list(dict.fromkeys(regions[row] for row in rows))
    text, spans = "", []
    for row in rows:
        text += " " if text else ""
        spans.append((len(text), len(text := text + str(words[row]).strip())))
    of_region = tuple((names.index(regions[row]), span) for row, span in zip(rows, spans, strict=True))
    return Sentence(text, rows=tuple(rows), words=tuple(enumerate(spans)), regions=of_region, region_names=tuple(names))
