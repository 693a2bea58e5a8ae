"""The types every renderer shows: numbers with what is displayed of them, findings, and tables of cells.

What is displayed of a number and which mark it has is decided here, once, from its verdict. Nothing here is a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import pandas as pd

from trueprobe.results.numbers import NumberFormat
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference
from trueprobe.statistics.verdict import NOT_JUDGED
from trueprobe.types import ClaimSource, Direction, Level, Outcome, Unit, Verdict

Row = Estimate | ClaimResult | Difference | VariantDifference
E = TypeVar("E", Estimate, Estimate | ClaimResult)
DASH = "–"


class Display(StrEnum):
    """What is shown of a number."""

    INTERVAL = "interval"  # the value with its interval
    VALUE = "value"  # the value alone
    NOTHING = "nothing"  # a dash


class Mark(StrEnum):
    """What stands behind a number; the member's value is the symbol."""

    NONE = ""
    HOLDS = "*"
    ALIKE = "≈"
    NOT_CONTRADICTED = "="
    OPPOSITE = "!"
    FLIPS = "~"
    MIXED = "±"
    SUGGESTIVE = "°"  # weaker than the others: no finding, and in 5 % of exploratory numbers by chance

    @property
    def symbol(self) -> str:
        return self.value


_MARKS = dict.fromkeys((Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT, Verdict.AS_PUBLISHED), Mark.HOLDS)
_MARKS |= {Verdict.NOT_CONTRADICTED: Mark.NOT_CONTRADICTED, Verdict.OPPOSITE: Mark.OPPOSITE, Verdict.FLIPS: Mark.FLIPS}
_MARKS |= {Verdict.SUGGESTIVE: Mark.SUGGESTIVE, Verdict.ALIKE: Mark.ALIKE, Verdict.MIXED: Mark.MIXED}


def worded(conditions: Iterable[tuple[str, str]]) -> list[str]:
    """`attractor = plural`, each; without digests, which the signature has."""
    return [f"{name} = {value}" for name, value in conditions if not name.endswith("_sha256")]


def display_of(value: float, low: float, verdict: Verdict) -> Display:
    empty = verdict.inconclusive and verdict is not Verdict.TOO_FEW_GROUPS
    if math.isnan(value) or empty or verdict is Verdict.MIXED:  # of opposite effects, the parts stand in its place
        return Display.NOTHING
    return Display.VALUE if math.isnan(low) or verdict is Verdict.TOO_FEW_GROUPS else Display.INTERVAL


def mark_of(verdict: Verdict) -> Mark:
    return _MARKS.get(verdict, Mark.NONE)


@dataclass(frozen=True)
class Seed:
    """One checkpoint's number."""

    value: float
    p: float
    holds: bool  # its verdict alone says so


@dataclass(frozen=True)
class Number:
    """One number of a family, a checkpoint, or a pair of models, as every renderer has it: the same in tables,
    findings, figures and files. `number` makes it of a row; `plain_number` where there is no row with a verdict."""

    model: str
    value: float
    low: float  # of the row; what is displayed is `interval`
    high: float
    unit: Unit
    neutral: float | None
    verdict: Verdict
    display: Display
    mark: Mark
    format: NumberFormat
    level: Level = "checkpoint"
    n_items: int | None = None
    n_unscored: int = 0
    n_seeds: int = 1
    sd_seeds: float = math.nan
    covered: float = math.nan  # share of the items that hold anything to count, where the probe says
    seeds: tuple[Seed, ...] = ()
    row: Row | None = None  # that it is of; None for a number without a verdict of its own
    signature: str = ""  # what it was made with; empty where that is not known

    @property
    def judged(self) -> Estimate | ClaimResult | None:
        """With what its verdict rests on: a reason, or parts."""
        return self.row if isinstance(self.row, (Estimate, ClaimResult)) else None

    @property
    def p(self) -> float:
        """Of the interval, not corrected; 1 where there is none."""
        p = self.row.p_interval if isinstance(self.row, Estimate) else self.row.p if self.row else math.nan
        return 1.0 if math.isnan(p) else p

    @property
    def reversed(self) -> bool:
        """Of a claim: clearly the other way round, on the list, or off it by its interval alone."""
        alone = isinstance(self.row, ClaimResult) and self.row.verdict_alone is Verdict.OPPOSITE
        return alone and self.verdict in (Verdict.OPPOSITE, Verdict.SUGGESTIVE)

    @property
    def source(self) -> ClaimSource:
        """Whether it is of what a paper's authors found, or of what they only expected."""
        return self.row.source if isinstance(self.row, ClaimResult) else ClaimSource.FINDING

    @property
    def interval(self) -> tuple[float, float]:
        """What is displayed of it; NaN where none is."""
        return (self.low, self.high) if self.display is Display.INTERVAL else (math.nan, math.nan)

    @property
    def _suffix(self) -> str:
        """Shares have their unit behind them; other units stand in the heading."""
        return self.format.suffix if self.unit == "share" and not self.format.signed else ""

    @property
    def has_coverage(self) -> bool:
        return not math.isnan(self.covered)

    def parts(self) -> tuple[str, str]:
        """The value and its interval; the second is empty where there is none."""
        if self.display is Display.NOTHING:
            return DASH, ""
        value, interval = self.format.parts(self.value, *self.interval)
        return value + self._suffix, interval

    def text(self) -> str:
        """`+3.1 [+1.0, +5.2]`, `70 % [60, 80]`, or a dash: the same in every renderer."""
        return " ".join(filter(None, self.parts()))

    def sentence(self) -> str:
        """With its unit: `+3.1 points [+1.0, +5.2]`."""
        return DASH if self.display is Display.NOTHING else self.format.sentence(self.value, *self.interval)

    def unit_text(self) -> str:
        """The unit, where `text` does not have it: `points`."""
        return "" if self._suffix or self.display is Display.NOTHING else self.format.suffix.strip()


def quantity(row: Row) -> tuple[float, float | None]:
    """The value, and what it is held against."""
    if isinstance(row, Estimate):
        return row.value, row.neutral
    if isinstance(row, ClaimResult):
        return row.value, row.threshold
    return row.difference, 0.0


def format_of(rows: Sequence[Row], ends: bool = False) -> NumberFormat:
    """One format for numbers that stand beside or below each other; with `ends`, fit for their intervals too."""
    first = rows[0]
    values = [quantity(row)[0] for row in rows]
    values += [end for row in rows for end in (row.low, row.high)] if ends else []
    return NumberFormat.of(first.unit, quantity(first)[1], values)


def number(row: Row, model: str, form: NumberFormat, seeds: tuple[Seed, ...] = ()) -> Number:
    """The only way from a row with a verdict to what is displayed of it."""
    value, neutral = quantity(row)
    display = display_of(value, row.low, row.verdict)
    common = (model, value, row.low, row.high, row.unit, neutral, row.verdict, display, mark_of(row.verdict), form)
    if isinstance(row, Estimate):
        counts = (row.level, row.n_items, row.n_unscored, row.n_seeds, row.sd_seeds)
        return Number(*common, *counts, row.covered, seeds, row, row.signature)
    if isinstance(row, Difference):
        return Number(*common, "pair", row.n_items, covered=row.covered, row=row, signature=row.signature)
    made_with, n_items = (row.signature, row.n_items) if isinstance(row, ClaimResult) else ("", None)
    return Number(
        *common, row.level, n_items, n_seeds=row.n_seeds, covered=row.covered, seeds=seeds, row=row, signature=made_with
    )


def plain_number(model: str, value: float, unit: Unit = Unit.SHARE, neutral: float | None = None) -> Number:
    """A value without an interval and without a verdict: published, a part of a bar, or a mean that the run lacks."""
    display, form = display_of(value, math.nan, NOT_JUDGED), NumberFormat.of(unit, neutral, [value])
    nothing = (math.nan, math.nan)
    return Number(model, value, *nothing, unit, neutral, NOT_JUDGED, display, Mark.NONE, form, n_seeds=0)


NOT_COUNTED = (Verdict.FAILS_GATE, Verdict.LOW_COVERAGE)  # checkpoints that a family is counted without


def counted(rows: Iterable[E]) -> list[E]:
    """Of the rows of a family's checkpoints those it is counted from; all of them where it has no other."""
    every = list(rows)
    return [row for row in every if row.verdict not in NOT_COUNTED] or every


def seeds_of(rows: Iterable[Estimate | ClaimResult]) -> tuple[Seed, ...]:
    """Of the checkpoints of a family; the rows are of one number."""
    return tuple(
        Seed(row.value, row.p if isinstance(row, Estimate) else math.nan, mark_of(row.verdict_alone) is Mark.HOLDS)
        for row in counted(rows)
        if not math.isnan(row.value)
    )


TIERS = {Outcome.GOOD: 0, Outcome.BAD: 0, Outcome.OPEN: 1, Outcome.EXPLORATORY: 2, Outcome.NONE: 3}


class Kind(StrEnum):
    CLAIM = "claim"  # what a paper found
    MEASURE = "measure"  # what a probe measures: primary numbers, and its first measure where nothing is claimed
    CHOICE = "choice"  # what the choice between two labels of one probe moves


class OfNumbers:
    """A finding, or a line about one: what its numbers come to together."""

    numbers: tuple[Number, ...]

    @property
    def marks(self) -> set[Mark]:
        """Of what was found, or not contradicted; an exploratory number is neither."""
        return {number.mark for number in self.numbers} - {Mark.NONE, Mark.SUGGESTIVE}

    @property
    def has_verdict(self) -> bool:
        """Whether any of its numbers decides something."""
        return any(not number.verdict.inconclusive for number in self.numbers)

    @property
    def tier(self) -> int:
        """0 with a verdict on any family, 1 undecided, 2 exploratory, 3 where nothing can be concluded."""
        return min((TIERS[number.verdict.outcome] for number in self.numbers), default=3)


@dataclass(frozen=True)
class Finding(OfNumbers):
    """A statement with one number for each family, or for each pair of models."""

    kind: Kind
    probe: str  # its label, or several
    name: str
    statement: str
    direction: Direction | None
    threshold: float | None
    paper: str
    numbers: tuple[Number, ...]
    less: str = ""  # of a choice: the label that is subtracted
    below: str = ""  # of a measure: what a number below the neutral value means
    source: ClaimSource = ClaimSource.FINDING  # of a claim
    templates: tuple[str, str] = ("", "")  # of a primary number: above the neutral value and below, as `Primary` has it

    def is_below(self, n: Number) -> bool:
        """Below the neutral value, where the probe names that side."""
        return bool(self.below) and self.on_lower_side(n)

    def on_lower_side(self, n: Number) -> bool:
        return self.threshold is not None and n.value < self.threshold

    @property
    def of_pairs(self) -> bool:
        return any(number.level == "pair" for number in self.numbers)


@dataclass(frozen=True)
class Cell:
    text: str
    numeric: bool = False
    bold: bool = False
    outcome: Outcome | None = None  # what a page colours
    shaded: bool = False
    hint: str = ""  # on hovering
    number: Number | None = None  # that the text is of


EMPTY = Cell(DASH, True, outcome=Outcome.NONE)


@dataclass(frozen=True)
class Grid:
    """A table: cells as people read them, and the rows behind them, unrounded. A row of one cell is a heading."""

    name: str  # of the files
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    data: pd.DataFrame
    source: str = ""  # the table of the paper it stands for
    n_factors: int = 0  # leading columns that hold values of what their headings name

    @property
    def body(self) -> list[tuple[Cell, ...]]:
        return [row for row in self.rows if len(row) > 1]

    @property
    def numeric(self) -> list[bool]:
        """Of each column."""
        return [bool(self.body) and all(row[i].numeric for row in self.body) for i in range(len(self.header))]
