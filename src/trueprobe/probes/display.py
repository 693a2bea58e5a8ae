"""What a probe declares for people to read: the table after a run, figures, tables and items, as data.

The declarations are written into the run folder; what shows them reads them from there and needs no probe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from trueprobe.statistics.rows import Tail

Where = Mapping[str, str | tuple[str, ...]]  # condition = value, or one of several


def matches(wanted: Where, value_of: Callable[[str], str | None]) -> bool:
    """Whether every condition has its value, or one of its values."""
    return all(value_of(key) in ((one,) if isinstance(one, str) else one) for key, one in wanted.items())


def row_names(conditions: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...] | None:
    """The values of the conditions that name a row; None where it lacks one of them."""
    if any(key not in conditions for key in keys):
        return None
    return tuple(str(conditions[key]) for key in keys)


@dataclass(frozen=True, slots=True)
class Primary:
    """One of the few numbers a probe is for: a measure at conditions that leave one row of a model, or the claims about
    it, which then take its place on the list. Verdicts are given for primary numbers alone.

    `above` and `below` say what the number means on either side of its neutral value. `{models}` stands for who,
    `{value}` for the number, `{by}` for its distance from neutral, both with the unit; `{prefers|prefer}` follows the
    number of models: `{models} {prefers|prefer} the stereotype in {value} of pairs`."""

    measure: str
    where: Where = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    above: str = ""
    below: str = ""


MOST_PRIMARY = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of estimates, as data: the report draws it from the run folder and needs no probe for it.

    Where a condition is named, `model` (a family of checkpoints), `measure`, `step` and `seed` may be named too, and
    `a+b` for two conditions together. A series `side` is the side of the neutral value that a number lies on, `below`
    or `above`: each has its colour, also where the other does not occur.
    `lines` have numbers along x; `dots` list x downwards, with intervals and one faint dot per seed; `bars` list x
    downwards and stack the series."""

    name: str  # of the files
    title: str
    caption: str  # what is drawn and how to read it
    measures: tuple[str, ...]
    x: str
    kind: Literal["lines", "dots", "bars"] = "lines"
    series: str = "model"  # distinguished by colour and shape
    panels: tuple[str, ...] = ()  # one small picture per combination
    choose: tuple[str, ...] = ()  # the reader chooses; the first value is shown first
    where: Where = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a condition's values
    names: Mapping[str, str] = field(default_factory=dict)  # what people read for a value or a condition
    band: tuple[str, ...] = ()  # of the series, those drawn as a band
    x_title: str = ""
    x_unit: str = ""  # what a number along x counts, in tooltips: `attractors`
    y_title: str = ""  # with its direction; `{measure}` stands for the name of the measure
    source: str = ""  # the figures of the paper it stands for
    tail: Tail = Tail.BOTH  # that p is of: which dots of seeds are filled


@dataclass(frozen=True, slots=True)
class Table:
    """A table as data. `estimates`: conditions down, measures and models across. `observations`: distinct values of
    columns down, `measures` (observation columns) per model across. `items`: one example for each combination."""

    name: str
    title: str
    caption: str
    of: Literal["estimates", "observations", "items"]
    rows: tuple[str, ...]
    measures: tuple[str, ...] = ()
    where: Where = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    correct: str = ""  # observations: the column that is 1 where the answer is correct
    seeds: bool = False  # estimates: mean ± deviation over seeds instead of an interval over items
    printed: bool = False  # estimates: its first measure in a line for each row after a run, as far as there is room
    source: str = ""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a probe's makers think of it."""

    valid_for: str
    reliability: str  # as it was found here
    fails: str

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What each part answers, and the answer."""
        titles = ("Valid for", "Measured reliability", "Where it fails")
        return tuple(zip(titles, (self.valid_for, self.reliability, self.fails), strict=True))


@dataclass(frozen=True, slots=True)
class ItemTable:
    """What is listed of each item, sorted by the size of one column."""

    values: tuple[str, ...]  # observation columns
    rank_by: str
    answer: str = ""  # the column with the model's answer, or its list of likeliest tokens
    probabilities: str = ""  # of those tokens
    side: str = ""  # the column whose side of its neutral point is compared over seeds
    neutral: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The one table a person reads first: conditions down, measures across, at fixed other conditions.

    Where most of a model's numbers at `where` cannot be counted, its rows at `fallback` are shown instead."""

    rows: str | tuple[str, ...]
    row_title: str
    measures: tuple[str, ...]
    where: Where
    titles: tuple[str, ...]  # of the measures
    meanings: Mapping[str, str] = field(default_factory=dict)  # of the rows
    finding: str = ""  # what the first measure with a neutral value stands for, in words
    below: str = ""  # what it means that this measure lies below its neutral value: `against the stereotype`
    intervals: tuple[str, ...] = ()  # the shares and ratios that are shown with theirs
    gate: Mapping[str, str] = field(default_factory=dict)  # the estimate behind it, shown where a model fails it
    answers: Mapping[str, str] = field(default_factory=dict)  # columns behind it: by, of, answer, correct
    examples: Mapping[str, Any] = field(default_factory=dict)  # the observations whose prompt and top_words are shown
    notes: tuple[str, ...] = ()  # lines below the tables
    where_title: str = ""  # `top 10`
    fallback: Mapping[str, str] = field(default_factory=dict)  # conditions that replace those of `where`
    fallback_title: str = ""  # `all listed words: the top 10 holds too few`
    item: str = "prompt"  # what one item of the probe is

    def __post_init__(self) -> None:
        if len(self.titles) != len(self.measures):
            raise ValueError(f"{len(self.measures)} measures have {len(self.titles)} titles")

    @property
    def row_conditions(self) -> tuple[str, ...]:
        return (self.rows,) if isinstance(self.rows, str) else tuple(self.rows)


@dataclass(frozen=True)
class ReportSpec:
    """A probe's part of the report."""

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    items: ItemTable | None = None
