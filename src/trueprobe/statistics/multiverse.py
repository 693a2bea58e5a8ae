"""How a probe declares the defensible ways of counting one question (Simonsohn et al. 2020), before any answer is seen.

A specification is one choice on every axis; `own` is the run's. `joint.py` counts them and tests them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueprobe.statistics.measure import Claim, Measure
from trueprobe.statistics.rows import column
from trueprobe.types import Answer, Conditions, Item, Unit, Verdict

if TYPE_CHECKING:
    import pandas as pd

Chosen = Mapping[str, str]  # the name of a choice for each axis
Reading = tuple[tuple[str, str], ...]  # axes and choices that are not the run's
Options = tuple[tuple[str, Any], ...]
Number = Measure | Claim


EVERY = "all"  # axes, where a study names them


class Relabelling(StrEnum):
    """What the null hypothesis lets us exchange."""

    SIGN = "sign"  # the two sides of each group
    DEAL = "deal"  # which side each group is on; the sides keep their sizes


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One defensible way on an axis."""

    name: str
    why: str  # it is defensible, in one sentence
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the probe that reads the answers; or its attributes
    model: Options = ()  # of the SPEC of the model that answers

    @property
    def reads(self) -> bool:
        """Whether answers are read, or asked for, in another way."""
        return bool(self.settings or self.model)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A choice that every count of the question makes, declared before any answer is looked at."""

    name: str
    values: tuple[Choice, ...]
    needs_rows: bool = False  # choices other than the run's own ask for rows that the run did not compute


class Counting(NamedTuple):
    """What one specification counts."""

    values: np.ndarray  # of each observation; NaN is not counted
    number: Number  # a mean of them, or one less another; the name of its column is replaced


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is counted in many ways. `count` gives None where choices do not go together."""

    name: str
    statement: str  # that positive numbers support
    axes: tuple[Axis, ...]
    own: Chosen  # the choices of the run
    count: Callable[[pd.DataFrame, Chosen], Counting | None]
    relabelling: Relabelling
    factor: str  # whose groups are relabelled
    first_side: tuple[str, Any] | None = None  # DEAL: a column, and its value in groups of the first side
    items: Mapping[str, str | int] = field(default_factory=dict)  # conditions of the items that are counted
    more: Callable[[Any, Item, Sequence[Answer]], Sequence[Mapping[str, Any]]] | None = None  # columns, from answers

    def along(self, planned: Collection[str]) -> Question | None:
        """With the planned axes alone, the run's choice on all others; None where it has none of them."""
        axes = tuple(axis for axis in self.axes if axis.name in planned or EVERY in planned)
        return replace(self, axes=axes, count=self._with_own) if axes else None

    def _with_own(self, frame: pd.DataFrame, chosen: Chosen) -> Counting | None:
        return self.count(frame, {**{axis.name: self.own[axis.name] for axis in self.axes}, **chosen})

    def specifications(self) -> Iterator[dict[str, str]]:
        """Every combination of choices, the run's own among them."""
        names = [axis.name for axis in self.axes]
        for choices in product(*([choice.name for choice in axis.values] for axis in self.axes)):
            yield dict(zip(names, choices, strict=True))

    def read_with(self, chosen: Chosen) -> Reading:
        """The choices for which the probe reads answers with other settings; none for the run's own."""
        other = ((axis, choice) for axis in self.axes for choice in axis.values if choice.name == chosen[axis.name])
        return tuple((a.name, c.name) for a, c in other if c.reads and c.name != self.own[a.name])

    def settings(self, reading: Reading) -> dict[str, Any]:
        """Of the probe that reads answers so."""
        return {name: value for choice in self._choices(reading) for name, value in choice.settings.items()}

    def model(self, reading: Reading) -> Options:
        """Of the SPEC of the model that gives them."""
        return tuple(option for choice in self._choices(reading) for option in choice.model)

    def _choices(self, reading: Reading) -> Iterator[Choice]:
        return (c for a in self.axes for c in a.values if (a.name, c.name) in reading)

    def paid(self, chosen: Chosen) -> tuple[str, ...]:
        """The choices that ask for rows the run did not compute: `article=a`."""
        asking = (axis.name for axis in self.axes if axis.needs_rows and chosen[axis.name] != self.own[axis.name])
        return tuple(f"{name}={chosen[name]}" for name in asking)

    @property
    def reads_answers(self) -> bool:
        """Whether the run's observations do not hold all that is counted."""
        return self.needs_answers or any(choice.reads for axis in self.axes for choice in axis.values)

    @property
    def needs_answers(self) -> bool:
        """Whether they do not even hold what is counted without new rows."""
        free = (choice for axis in self.axes if not axis.needs_rows for choice in axis.values)
        return self.more is not None or any(choice.reads for choice in free)


def of_several(*axes: Axis) -> tuple[Axis, ...]:
    """The axes on which there is a choice."""
    return tuple(axis for axis in axes if len(axis.values) > 1)


# ---------------------------------------------------------------- as tables of a run folder

_PROBE, _MODEL = "the probe's label in the study", "the checkpoint's name, or the family's"
_STEP = "training step, where checkpoints have one"
_QUESTION = "what is counted in many ways"
_SOURCE = "checksum of the observations it was counted from; other observations make it outdated"


@dataclass(frozen=True, slots=True)
class Specification:
    """One way of counting a question; its conditions are the choices."""

    probe: str = column(_PROBE)
    model: str = column(_MODEL)
    step: int | None = column(_STEP)
    question: str = column(_QUESTION)
    conditions: Conditions = column("the choice on each axis")
    value: float = column("the number")
    low: float = column("lower end of the 95 % interval")
    high: float = column("upper end of the 95 % interval")
    unit: Unit = column("one of the units of estimates")
    neutral: float = column("the value at which the number shows nothing")
    z: float = column("distance from neutral in standard errors over groups")
    null_low: float = column("2.5 % of relabellings have a smaller z at this place in the order of all z")
    null_high: float = column("2.5 % have a larger one")
    of_run: int = column("1 for the run's own way of counting")
    source: str = column(_SOURCE)


@dataclass(frozen=True, slots=True)
class Multiverse:
    """All ways of counting a question together. A test of the items, given these seeds."""

    probe: str = column(_PROBE)
    model: str = column(_MODEL)
    step: int | None = column(_STEP)
    question: str = column(_QUESTION)
    statement: str = column("that positive numbers support")
    n_specifications: int = column("ways of counting with a z")
    same_sign: float = column("share of them on the side where most lie")
    mean_z: float = column("mean of their z, the statistic of the joint test")
    p: float = column("of the joint test, two-sided")
    max_abs_z: float = column("largest |z|: a description")
    any_significant: float = column("share of relabellings in which some |z| exceeds 1.96: a description")
    effective: float = column("how many uncorrelated ways would vary as much")
    overlap: float = column(
        "share of the variance of z that several axes explain alike; negative: they hide each other"
    )
    interactions: float = column("share that depends on several choices at once")
    relabelling: str = column("what is exchanged: the sign of each group, or the sides the groups are assigned to")
    relabellings: int = column("how many were counted, the observed one included")
    n_groups: int = column("groups that are relabelled")
    n_seeds: int = column("seeds behind the number")
    source: str = column(_SOURCE)
    verdict: Verdict = column(
        "of the joint test, where a study put it on the report's list", Verdict.DESCRIPTIVE, later=True
    )
    p_list: float = column(
        "its p, corrected (Bonferroni) for that list; empty where it is not on it", math.nan, later=True
    )
    n_list: int = column("numbers and joint tests on that list; 0 where this one is not on it", 0, later=True)


@dataclass(frozen=True, slots=True)
class AxisShare:
    """Of the variance of z over the ways of counting, what the choice on one axis explains."""

    probe: str = column(_PROBE)
    model: str = column(_MODEL)
    step: int | None = column(_STEP)
    question: str = column(_QUESTION)
    axis: str = column("the axis")
    alone: float = column("share by itself, with what it has in common with other axes")
    unique: float = column("share beyond all other axes; the same as `alone` in a balanced grid")
    source: str = column(_SOURCE)
