"""Fitting lines and columns to the room of a terminal: what decides most stays, intervals go before columns do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from trueprobe.errors import printable
from trueprobe.results.render.printed import text_line
from trueprobe.results.text import terminal as words
from trueprobe.results.text import verdicts
from trueprobe.results.text.models import abbreviated
from trueprobe.results.view.findings import in_order
from trueprobe.results.view.number import Display, Number, OfNumbers

FEWEST_LINES, MOST_LINES, WIDEST = 23, 30, 140  # a screen of 24 keeps a line for the prompt
_LEAST_WORDS = 46  # columns of a finding's words, before intervals are left out
_SHORTEST_NAME = 5  # of a model's, above its column
_INCOMPLETE = re.compile(r"\d|[\[(]|^(of|at|than|by|no|not|for|and|or|the|a|with)$")  # what a cut may not end in
Fitted = tuple[str, str]  # a cell with and without its interval


def lines_of(console: Console) -> int:
    """How many lines a summary may have: those of the screen, within bounds."""
    return min(MOST_LINES, max(FEWEST_LINES, console.height - 1)) if console.is_terminal else MOST_LINES


def fitted(n: Number | None) -> Fitted:
    """An empty text where a model has no such number."""
    if n is None:
        return "", ""
    mark = n.mark.symbol or ("" if n.neutral is None or n.display is Display.NOTHING else " ")
    return n.text() + mark, n.parts()[0] + mark


def beside(n: Number | None) -> Fitted:
    """Where models stand beside each other: with the coverage of each number."""
    covered = verdicts.covered(n, " %") if n else ""
    whole, value = fitted(n)
    return (f"{whole} {covered}", f"{value} {covered}") if covered else (whole, value)


@dataclass(frozen=True)
class Line(OfNumbers):
    """What is stated, and a cell for each column; a line about a pair of models has its number alone."""

    statement: str
    cells: Mapping[str, Fitted]
    numbers: tuple[Number, ...]  # that the cells are of
    pair: str = ""


@dataclass(frozen=True)
class Lines:
    heading: str
    lines: Sequence[Line]
    note: str = ""  # a line of its own below
    of_probe: bool = True  # has a line while there is room


@dataclass(frozen=True)
class Fit:
    """The lines that find room, section by section, and how many sections do not."""

    sections: Sequence[Lines]
    chosen: Sequence[Sequence[Line]]
    left_out: int

    @classmethod
    def of(cls, sections: Sequence[Lines], room: int) -> Fit:
        left_out = len(sections) - (room - 1) if len(sections) > room else 0
        first = sections[: len(sections) - left_out]
        notes = sum(bool(section.note) for section in first)
        return cls(first, _choose(first, max(0, room - len(first) - notes - bool(left_out))), left_out)

    @property
    def lines(self) -> list[Line]:
        return [line for lines in self.chosen for line in lines]

    @property
    def words_width(self) -> int:
        return min(_LEAST_WORDS, max((2 + len(line.statement) for line in self.lines), default=_LEAST_WORDS))

    def columns(self, names: Sequence[str]) -> dict[str, list[Fitted]]:
        in_columns = [line for line in self.lines if not line.pair]
        return {name: [line.cells.get(name, ("", "")) for line in in_columns] for name in names}

    def render(self, head: str, columns: Mapping[str, Sequence[str]], width: int) -> Iterator[RenderableType]:
        """The head, then each section's heading with its lines."""
        sizes = [max(map(len, [*name.split("\n"), *cells])) for name, cells in columns.items()]
        sizes = [max(8, width - sum(sizes) - len(sizes)), *sizes]
        yield _aligned(sizes, [(head, *columns)], "bold")
        rows = iter(zip(*columns.values(), strict=True))
        for section, lines in zip(self.sections, self.chosen, strict=True):
            judged = sum(line.has_verdict for line in section.lines)
            more = words.more_lines(judged - len(lines), len(section.lines) - judged)
            yield one_line("; ".join(filter(None, (section.heading, more))), width, "bold")
            for line in lines:
                if line.pair:
                    yield one_line(f"  {line.statement}", width - len(line.pair) - 1).append(f" {line.pair}")
                else:
                    yield _aligned(sizes, [(f"  {line.statement}", *next(rows))])
            if section.note:
                yield one_line(f"  {section.note}", width)
        if self.left_out:
            yield one_line(words.more_probes(self.left_out), width)


def _choose(sections: Sequence[Lines], room: int) -> list[list[Line]]:
    """So many lines in all, in the order of the matrix of findings, but for those without a verdict."""
    order = in_order([([line for line in s.lines if line.has_verdict], s.of_probe) for s in sections])
    chosen = {id(line) for line in order[:room]}
    return [[line for line in section.lines if id(line) in chosen] for section in sections]


def _aligned(sizes: Sequence[int], rows: Sequence[Sequence[str]], style: str = "") -> Table:
    """Words on the left, columns of these sizes on the right."""
    table = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    for i, size in enumerate(sizes):
        table.add_column(width=size, justify="right" if i else "left", no_wrap=True, overflow="ellipsis")
    for first, *others in rows:
        table.add_row(text_line(cut_words(first, sizes[0])), *map(text_line, others), style=style)
    return table


def one_line(text: str, width: int, style: str = "") -> Text:
    line = text_line(cut_words(text, width), style, no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line


def cut_words(text: str, width: int) -> str:
    """As many whole words as find room. A number goes with what belongs to it, or not at all: `9 of 12` never ends as
    `9 of`."""
    if cell_len(text) <= width:
        return text
    words = text.split(" ")
    while words and cell_len(" ".join(words)) > width - 1:
        words.pop()
    while words and _INCOMPLETE.search(words[-1]):
        words.pop()
    remaining = " ".join(words).rstrip(" ,;:–")
    return f"{remaining}…" if remaining.strip() else text  # one long word: cut by the column


def fit_columns(asked: Mapping[str, Sequence[Fitted]], room: int) -> tuple[dict[str, list[str]], bool]:
    """A column for each name as far as there is room; intervals are left out before a column is."""
    columns: dict[str, list[str]] = {}
    for many in range(len(asked), 0, -1):
        full = list(asked)[:many]
        for whole, names in product((True, False), (full, abbreviated(full, max(_SHORTEST_NAME, room // many - 1)))):
            cells = [[cell[0 if whole else 1] for cell in column] for column in asked.values()]
            columns = dict(zip(names, cells, strict=False))
            if sum(max(map(len, [*name.split("\n"), *texts])) + 1 for name, texts in columns.items()) <= room:
                return columns, whole
    return columns, False


def aligned_table(columns: Mapping[str, Sequence[str]], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(
            Text(folded(name, columns[name])), justify="right" if i else "left", no_wrap=True, min_width=0 if i else 6
        )
    for row in rows:
        table.add_row(*map(text_line, row))
    return table


def width_of(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(max(map(len, [*folded(title, cells).split("\n"), *cells])) + 1 for title, cells in columns.items())


def folded(title: str, cells: Sequence[str]) -> str:
    """A title of several words that is wider than its cells, on two lines."""
    title = printable(title)
    before, _, after = title.partition(" ")
    return f"{before}\n{after}" if after and len(title) > max(map(len, cells), default=0) else title
