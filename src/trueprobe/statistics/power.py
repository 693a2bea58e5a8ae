"""How wide an interval will be and what it can show, before a run: from where a number's variance comes from.

A seed's answer to an item is x = mean + seed + group + item + seed × group + seed × item; items lie within groups and
seeds answer all of them. `components` takes these variances from a pilot by mean squares (unweighted means where groups
have several sizes: Searle, Casella & McCulloch 1992). A `Design` has other numbers of seeds, groups and items; its
`Forecast` predicts the interval that `spread` will make, and its power by a noncentral t with Satterthwaite's degrees
of freedom. Nothing here knows the pilot's effect: a plan that used it would promise what chance showed.

What it does not show: skewness and the ends of a scale, which make intervals a little wider than predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.spread import ALPHA, POWER, Spread, VarianceSource

FEWEST_SEEDS_KNOWN = 2  # with one, seeds and items cannot be told apart
SEED_RANGE = 0.80  # of the range of the seeds' variance; Browne (1995) plans with the upper end of such an interval
_FARTHEST = 30.0  # standard errors
_QUANTILES = (np.arange(64) + 0.5) / 64


class Range(NamedTuple):
    low: float = math.nan
    high: float = math.nan


UNKNOWN = Range()


@dataclass(frozen=True)
class FacetVariances:
    """Variances of single answers, in the measure's unit squared; of one seed what is known of seeds is NaN."""

    groups: float
    items: float  # within a group
    seeds: float = math.nan
    seeds_by_groups: float = 0.0
    seeds_by_items: float = 0.0
    wordings: float = math.nan  # of the number itself, over the wordings at hand
    seeds_range: Range = UNKNOWN  # of the seeds' variance, by χ²
    n_seeds: int = 1  # of the pilot
    n_groups: int = 0
    n_items: int = 0
    n_wordings: int = 1

    @property
    def knows_seeds(self) -> bool:
        return not math.isnan(self.seeds)

    def with_seeds(self, variance: float) -> FacetVariances:
        """As if seeds varied so much."""
        return replace(self, seeds=variance)


def components(values: np.ndarray, groups: np.ndarray) -> FacetVariances:
    """Of the answers [seeds, items] and each item's group.

    Two seeds × two groups of two items, (1 3 | 5 7) and (2 4 | 8 10): seeds' means 4 and 6, groups' 2.5 and 7.5."""
    n_seeds, n_items = values.shape
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, row) / sizes for row in values])  # [seeds, groups]
    within, own_within = _within(values, means, codes)
    between = mean_squares(means)
    per_item = float(np.mean(1 / sizes))  # a group's mean holds this part of an item's variance
    items = max(0.0, (within - own_within) / n_seeds) if n_seeds > 1 else within
    if n_seeds < FEWEST_SEEDS_KNOWN:
        return FacetVariances(
            max(0.0, between.columns - per_item * within), items, n_groups=len(sizes), n_items=n_items
        )
    by_groups = max(0.0, between.both - per_item * own_within)
    seed = between.rows / len(sizes)  # of a seed's number, with what it owes to these items
    noise = between.both / len(sizes)
    tails = ((1 + SEED_RANGE) / 2, (1 - SEED_RANGE) / 2)
    ends = (seed * (n_seeds - 1) / float(scipy.special.chdtri(n_seeds - 1, 1 - tail)) for tail in tails)
    return FacetVariances(
        groups=max(0.0, (between.columns - between.both) / n_seeds - per_item * items),
        items=items,
        seeds=max(0.0, seed - noise),
        seeds_by_groups=by_groups,
        seeds_by_items=own_within,
        seeds_range=Range(*(max(0.0, end - noise) for end in ends)),
        n_seeds=n_seeds,
        n_groups=len(sizes),
        n_items=n_items,
    )


class MeanSquares(NamedTuple):
    """Of a table [rows, columns] with one answer a cell; NaN where nothing is left for one."""

    rows: float
    columns: float
    both: float


def mean_squares(table: np.ndarray) -> MeanSquares:
    n_rows, n_columns = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    off = table - rows[:, None] - columns + table.mean()
    return MeanSquares(
        n_columns * _ratio(float(((rows - rows.mean()) ** 2).sum()), n_rows - 1),
        n_rows * _ratio(float(((columns - columns.mean()) ** 2).sum()), n_columns - 1),
        _ratio(float((off**2).sum()), (n_rows - 1) * (n_columns - 1)),
    )


def _ratio(sum_of_squares: float, df: int) -> float:
    return sum_of_squares / df if df > 0 else 0.0


def _within(values: np.ndarray, means: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Mean squares within groups: of items, and of seeds' own answers to items; 0 where each group has one item."""
    off = values - means[:, codes]
    common = off.mean(axis=0)
    df = values.shape[1] - means.shape[1]
    both = _ratio(float(((off - common) ** 2).sum()), (len(values) - 1) * df)
    return len(values) * _ratio(float((common**2).sum()), df), both


# ---------------------------------------------------------------- a design, and what it gives


@dataclass(frozen=True)
class Design:
    """`shares`: how much each group counts in the number; `items`: as how many items of equal weight it counts."""

    seeds: int
    shares: np.ndarray  # [groups], their sum is 1
    items: np.ndarray  # [groups]
    wordings: int = 1

    @classmethod
    def balanced(cls, seeds: int, groups: int, items: float, wordings: int = 1) -> Design:
        return cls(seeds, np.full(groups, 1 / groups), np.full(groups, float(items)), wordings)

    @classmethod
    def of_groups(cls, seeds: int, groups: np.ndarray) -> Design:
        """Of items by their groups, each item with the same weight."""
        sizes = np.unique(groups, return_counts=True)[1].astype(float)
        return cls(seeds, sizes / sizes.sum(), sizes)

    @property
    def groups(self) -> int:
        return len(self.shares)

    def of_mean(self, groups: float, items: float) -> float:
        """The variance of the number that groups and items with these variances make."""
        return groups * float((self.shares**2).sum()) + items * float((self.shares**2 / self.items).sum())


@dataclass(frozen=True)
class Forecast:
    """Of a mean over the seeds of a design; of one seed, of this checkpoint's number alone."""

    variances: FacetVariances
    design: Design

    @cached_property
    def spread(self) -> Spread:
        """As counting will make it if it finds these variances."""
        v, design = self.variances, self.design
        items, both = design.of_mean(v.groups, v.items), design.of_mean(v.seeds_by_groups, v.seeds_by_items)
        df = max(1, design.groups - 1)
        if design.seeds < 2 or not v.knows_seeds:
            return Spread(0.0, math.sqrt(items + both), df=df)
        over_seeds = VarianceSource((v.seeds + both) / design.seeds, design.seeds - 1)
        return Spread(0.0, math.sqrt(items), df=df, others=(over_seeds,), least=math.sqrt(items + both / design.seeds))

    @property
    def satterthwaite(self) -> float:
        """Degrees of freedom of the whole variance."""
        spread = self.spread
        parts = [(spread.se**2, spread.df), *spread.others]
        return spread.total**4 / sum(variance**2 / df for variance, df in parts if variance > 0)

    def width(self, alpha: float = ALPHA) -> float:
        """Of the interval, on average over pilots that find other variances: with three seeds it varies twofold."""
        return self._width(self.spread, alpha)

    @staticmethod
    def _width(spread: Spread, alpha: float) -> float:
        items, t_items = spread.se**2 * _chi_square(spread.df), _t(spread.df, alpha) ** 2
        least = spread.least**2 * _chi_square(spread.df)
        squares = t_items * items
        for variance, df in spread.others:  # [64, 64 …]: each source is found larger or smaller by chance
            squares = squares[..., None] + _t(df, alpha) ** 2 * variance * _chi_square(df)
            least = least[..., None]
        return 2 * float(np.sqrt(np.maximum(squares, t_items * least)).mean())

    def width_over_wordings(self, alpha: float = ALPHA) -> float:
        """Where the wordings at hand stand for others: intervals as they are made hold only these."""
        v = self.variances
        if math.isnan(v.wordings) or v.n_wordings < 2:
            return math.nan
        wordings = VarianceSource(v.wordings / self.design.wordings, v.n_wordings - 1)
        return self._width(replace(self.spread, others=(*self.spread.others, wordings)), alpha)

    def power(self, effect: float, alpha: float = ALPHA) -> float:
        """The chance that the interval at this α excludes a reference that lies `effect` away."""
        if not self.spread.total > 0:
            return 1.0 if effect else alpha
        threshold = self.spread.interval(alpha)[1] / self.spread.total
        return noncentral_power(effect / self.spread.total, threshold, self.satterthwaite)

    def detectable(self, alpha: float = ALPHA, power: float = POWER) -> float:
        """The smallest effect that is detected with this chance."""
        scale = self.spread.total
        if not scale > 0:
            return 0.0
        most = 1.0
        while self.power(most * scale, alpha) < power:
            most *= 2
        return scale * float(scipy.optimize.brentq(lambda d: self.power(d * scale, alpha) - power, 0.0, most))


def noncentral_power(shift: float, threshold: float, df: float) -> float:
    """The chance that a noncentral t lies beyond either threshold."""
    if shift > _FARTHEST + threshold:  # where its distribution function is no longer computed
        return 1.0
    of = scipy.stats.nct(df, shift)
    return float(of.sf(threshold)) + float(np.nan_to_num(of.cdf(-threshold)))


def _chi_square(df: float) -> np.ndarray:
    """[64]: quantiles of χ² / df in equal steps, of which the mean is 1."""
    quantiles = scipy.special.gammaincinv(df / 2, _QUANTILES)
    scaled: np.ndarray = quantiles / quantiles.mean()
    return scaled


def _t(df: float, alpha: float) -> float:
    return float(scipy.special.stdtrit(df, 1 - alpha / 2))


# ---------------------------------------------------------------- the cheapest design


def fewest(wanted: float, most: int, width_at: Callable[[int], float]) -> int | None:
    """The smallest number, up to `most`, with which the width is at most the wanted one; None where none is.

    More items never make an interval wider, so halves are searched."""
    if width_at(most) > wanted:
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if width_at(middle) <= wanted else (middle + 1, high)
    return low
