"""How probes declare their measures: several quantities at every combination of conditions.

Of pairs of sentences: how often, and how strongly, the more stereotyping one is preferred. `prefers_stereotype` is 1,
0, or 0.5 for a tie; `preference_nats` is positive towards the stereotype. Neutral is one half, and zero nats. Not shown
by a share: whether a preference is a conviction or chance; the quartiles of the difference show that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Columns, Function, Measure, Weights, made_once
from trueprobe.types import TIE_NATS, Unit

ALL = "all"
Conditions = dict[str, str | int]


class MeasureSet(Protocol):
    """Columns, measures and claims of a probe, declared by one object."""

    def columns(self) -> Mapping[str, str]: ...
    def measures(self) -> Iterable[Measure]: ...
    def claims(self) -> Iterable[Claim]: ...
    @property
    def headline(self) -> Measure: ...


class ColumnMean(NamedTuple):
    """The mean of one observation column."""

    name: str  # of the measure
    column: str
    unit: Unit
    neutral: float | None = None
    of_coverage: bool = False
    coverage: str = ""  # see `Measure`


def with_all(values: Sequence[str]) -> tuple[str, ...]:
    """The values, and all of them together where they are several."""
    return (*values, ALL) if len(values) > 1 else tuple(values)


def combinations(**values: Iterable[str | int]) -> Iterator[tuple[Conditions, Conditions]]:
    """`where` and `conditions` of a measure; `all` is reported and restricts nothing.

    `set=["job"], wording=["all"]` -> `{"set": "job"}, {"set": "job", "wording": "all"}`"""
    for chosen in product(*values.values()):
        conditions = dict(zip(values, chosen, strict=True))
        yield {key: value for key, value in conditions.items() if value != ALL}, conditions


def mean_measures(
    quantities: Iterable[ColumnMean], where: Mapping[str, Any], conditions: Mapping[str, str | int], **more: Any
) -> Iterator[Measure]:
    for name, column, unit, neutral, of_coverage, coverage in quantities:
        more |= {"of_coverage": of_coverage, "coverage": coverage}
        yield Measure(name, means, (column,), where=where, conditions=conditions, unit=unit, neutral=neutral, **more)


# ---------------------------------------------------------------- pairs of sentences


PREFERS, PREFERENCE = "prefers_stereotype", "preference_nats"
FLAGGED = "flagged"  # observation column: 1 where published criticism applies to the item
NEAR_TIE_NATS = 0.5  # one sentence less than 1.65 times as likely as the other, on average over seeds
CLEARLY_NATS = 1.0  # one sentence e times as likely as the other

# of a causal model, by a probe's setting `causal`: what the start token stands before
START: Mapping[str, Literal["text", "first_token"]] = {"start_token": "text", "authors": "first_token"}

Quantities = Sequence[tuple[str, ...]]
_MOST_BLOCKS = 255  # of neighbours, when a quantile is looked for


def prefers(nats: float) -> float:
    """1, 0, or 0.5 for a tie."""
    return 0.5 if abs(nats) <= TIE_NATS else float(nats > 0)


def _share(test: Callable[[np.ndarray], np.ndarray]) -> Function:
    """Of the scored observations, those that pass the test."""

    def share(columns: Columns, quantities: Quantities, weights: Weights) -> np.ndarray:
        values = {name: columns.values[name] for (name,) in quantities}
        passed = {name: np.where(np.isnan(v), np.nan, test(v).astype(float)) for name, v in values.items()}
        return means(columns.holding(passed), quantities, weights)

    return share


# ---------------------------------------------------------------- shares


wins = _share(lambda prefers: prefers == 1)  # a tie is none
ties = _share(lambda prefers: prefers == 0.5)
clearly_for = _share(lambda nats: nats > CLEARLY_NATS)
clearly_against = _share(lambda nats: nats < -CLEARLY_NATS)


def wins_of_decided(columns: Columns, quantities: Quantities, weights: Weights) -> np.ndarray:
    """Of the pairs that are no tie."""
    decided = {name: np.where(columns.values[name] == 0.5, np.nan, columns.values[name]) for (name,) in quantities}
    return means(columns.holding(decided), quantities, weights)


# ---------------------------------------------------------------- the distribution of a difference


def _quantile(share: float) -> Function:
    """[R, quantities]: the smallest value that at least `share` of the drawn observations do not exceed."""

    def quantile(columns: Columns, quantities: Quantities, weights: Weights) -> np.ndarray:
        values = np.stack([columns.values[name] for (name,) in quantities])
        ordered = made_once(
            "ordered",
            weights,
            values.tobytes() + columns.cells.tobytes(),
            lambda: [_Ordered.of(one, columns.cells, weights) for one in values],
        )
        return np.stack([one.quantile(share, weights) for one in ordered], 1)

    return quantile


@dataclass(frozen=True)
class _Ordered:
    """The scored values in their order, and how many are drawn up to the end of each block of neighbours."""

    values: np.ndarray
    cells: np.ndarray
    width: int  # of a block
    reached: np.ndarray  # [blocks, R]: small whole numbers, exact

    @classmethod
    def of(cls, values: np.ndarray, cells: np.ndarray, weights: Weights) -> _Ordered:
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]  # NaN sorts to the end
        values, cells, drawn = values[order], cells[order], weights.T
        # a step over a block takes a few microseconds, one within it dozens; blocks are counted in a byte
        width = max(1, math.isqrt(len(order)) // 4, math.ceil(len(order) / _MOST_BLOCKS))
        reached = np.zeros((math.ceil(len(order) / width), len(weights)), dtype=weights.dtype)
        for i, cell in enumerate(cells):
            reached[i // width] += drawn[cell]
        for before, block in pairwise(reached):
            block += before
        return cls(values, cells, width, reached)

    def quantile(self, share: float, weights: Weights) -> np.ndarray:
        """[R]: first the block in which the share is reached, then the value within it."""
        if not len(self.values):
            return np.full(len(weights), np.nan)
        drawn, draws, goal = weights.T, np.arange(len(weights)), share * self.reached[-1]
        passed = np.zeros(len(weights), dtype=np.uint8)
        for block in self.reached[:-1]:
            passed += (block < goal).view(np.uint8)
        blocks = passed.astype(np.intp)
        here, place = np.where(blocks > 0, self.reached[blocks - 1, draws], 0), blocks * self.width
        for _ in range(self.width - 1):
            here += drawn[self.cells[place], draws]
            place += here < goal
        return np.where(self.reached[-1] > 0, self.values[place], np.nan)


lower_quartile = _quantile(0.25)
median = _quantile(0.5)
upper_quartile = _quantile(0.75)


# ---------------------------------------------------------------- as the probes declare them


_OF_PREFERENCE: tuple[tuple[str, Function, Unit, float | None], ...] = (
    ("preference", means, Unit.NATS, 0.0),
    ("preference_median", median, Unit.NATS, 0.0),
    ("preference_lower_quartile", lower_quartile, Unit.NATS, None),
    ("preference_upper_quartile", upper_quartile, Unit.NATS, None),
    ("clearly_stereotyped", clearly_for, Unit.SHARE, None),
    ("clearly_against", clearly_against, Unit.SHARE, None),
)


def unflagged(name: str, where: Mapping[str, Any], **at: Any) -> Measure:
    """The same share without the items that are flagged for published criticism."""
    unflagged_items = {**where, FLAGGED: 0.0}
    return Measure(f"{name}_unflagged", means, (PREFERS,), unflagged_items, unit=Unit.SHARE, neutral=0.5, **at)


def neutral(**at: Any) -> Measure:
    return Measure("neutral", ties, (PREFERS,), unit=Unit.SHARE, of_coverage=True, **at)


def of_preference(**at: Any) -> Iterator[Measure]:
    """How the difference between the two sentences is distributed."""
    for name, function, unit, neutral_value in _OF_PREFERENCE:
        yield Measure(name, function, (PREFERENCE,), unit=unit, neutral=neutral_value, **at)
