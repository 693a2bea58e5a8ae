"""The one way from a number that moves to its interval and p-value: for estimates, claims and differences alike.

As a rule Student's with Hall's correction for skewness (`spread`). A share of independent yes-or-no answers has the
interval of the exact binomial test, and so has a share that no resample moves: 0 of 19 is [0, 18 %], never [0, 0]. Ends
are cut where the unit ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from trueprobe.statistics.exact import Trials, Unmoved
from trueprobe.statistics.permutation import Swapped
from trueprobe.statistics.resampling import Groups, drawn_p, multibootstrap, percentile
from trueprobe.statistics.spread import ALPHA, Components, Samples, Scale, Spread, VarianceSource, scale_of
from trueprobe.statistics.standardised import FEWEST_WORDS, Standardised, to_d, to_z
from trueprobe.types import Unit

Method = Literal["crossed", "multibootstrap"]  # of the mean over seeds
MadeBy = Literal["student", "exact", "multibootstrap"]
Moves = Spread | Trials | Unmoved | Swapped | Standardised


@dataclass(frozen=True)
class Quantity:
    """What a number is: its unit, the point it is held against, and whether it is one mean minus another."""

    unit: Unit
    neutral: float | None = None
    difference: bool = False
    times: int = 1  # how many differences are added up: 2 of an interaction

    @cached_property
    def scale(self) -> Scale:
        if self.standardised:
            return Scale(to_z, lambda z: float(to_d(z)))
        return scale_of(self.unit, self.neutral, self.difference, self.times)

    @property
    def bounded(self) -> bool:
        """A mean of values between 0 and 1, of which single ones can be as large as 1."""
        inside = self.neutral is None or 0 < self.neutral < 1  # a change that is held against 0 may be negative
        return not self.difference and inside and self.unit in (Unit.SHARE, Unit.SCORE)

    @property
    def standardised(self) -> bool:
        return self.unit is Unit.EFFECT_SIZE and not self.difference

    def on_scale(self, samples: Samples) -> Samples:
        return samples.moved(self.scale.there)

    @cached_property
    def point(self) -> float | None:
        """The neutral point on that scale."""
        return None if self.neutral is None else float(self.scale.there(np.array(self.neutral)))


@dataclass(frozen=True)
class Interval:
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan  # against the neutral point; NaN without one
    se: float = math.nan  # on the quantity's scale
    spread: Spread | None = None  # on that scale, as it is planned with
    quantity: Quantity | None = None
    made_by: MadeBy = "student"
    parts: Components | None = None  # of the variance of a mean over seeds

    def detectable(self, alpha: float = ALPHA) -> float:
        """The smallest distance from neutral that is detected at this α with a chance of 80 %."""
        if self.spread is None or self.quantity is None:
            return math.nan
        start, scale = self.quantity.point or 0.0, self.quantity.scale
        return scale.back(start + self.spread.detectable(alpha)) - scale.back(start)


def interval(
    spread: Spread,
    groups: int,
    quantity: Quantity,
    test: Trials | Swapped | Standardised | None = None,
    parts: Components | None = None,
    alpha: float = ALPHA,
) -> Interval:
    """Of a number on its scale; by `test` where an exact one applies."""
    scale = quantity.scale
    moves: Moves = test or spread
    if test is None and quantity.unit in (Unit.SHARE, Unit.SCORE) and spread.total == 0:
        value = min(max(spread.value, scale.lowest), scale.highest)  # probabilities sum to one but for rounding
        moves = Unmoved(value, groups, scale.lowest, scale.highest)
    if isinstance(moves, Spread) and quantity.bounded:
        moves = replace(moves, groups=groups)
    low, high = moves.interval(alpha)
    is_change = scale.back(spread.value) < scale.lowest - 1e-9  # of shares, say: only changes can be negative
    if not is_change:
        low, high = scale.cut(low, high)
    p = math.nan if quantity.point is None else moves.p(quantity.point)
    made_by: MadeBy = "student" if isinstance(moves, Spread | Standardised) else "exact"
    return Interval(low, high, p, moves.total, moves.planned, quantity, made_by, parts)


def of_checkpoint(
    samples: Samples, i: int, groups: Groups, quantity: Quantity, trials: Trials | None = None
) -> Interval:
    """Of one of the numbers, which are on the quantity's scale."""
    if quantity.standardised:
        return _standardised(samples.pick([i]), groups, quantity)
    return interval(samples.over_items(i, groups), groups.n, quantity, trials)


def _standardised(samples: Samples, groups: Groups, quantity: Quantity) -> Interval:
    """Of the mean over one or several seeds; none with fewer than four words a set."""
    draws = samples.values[:, 1:]
    draws = draws[:, ~np.isnan(draws).any(axis=0)]
    words, centres = groups.n / 2, 2 * samples.values[:, 0] - (draws.mean(axis=1) if draws.size else math.nan)
    if words < FEWEST_WORDS or np.isnan(centres).any():
        return Interval()
    if len(samples) == 1:
        around, parts = samples.over_items(0, groups), None
    else:
        around, parts = samples.over_seeds(groups)
        seeds = VarianceSource(float(centres.var(ddof=1)) / len(centres), len(centres) - 1)
        around = replace(around, others=(seeds,))
    around = replace(around, value=float(centres.mean()), skew=0.0)
    return interval(around, groups.n, quantity, Standardised(tuple(centres.tolist()), around, words), parts)


def of_family(
    samples: Samples, groups: Groups, quantity: Quantity, method: Method = "crossed", resample_seed: int = 0
) -> Interval:
    """Of the mean over seeds, which are on the quantity's scale; none with fewer than two seeds or groups."""
    if len(samples) < 2 or groups.df < 1:
        return Interval()
    if quantity.standardised and method == "crossed":
        return _standardised(samples, groups, quantity)
    spread, parts = samples.over_seeds(groups)
    crossed = interval(spread, groups.n, quantity, parts=parts)
    if method == "crossed":
        return crossed
    scale, point = quantity.scale, quantity.point
    drawn = multibootstrap(samples.values, resample_seed)
    low, high = scale.cut(*percentile(drawn))
    p = math.nan if point is None else drawn_p(drawn, point)
    return replace(crossed, low=low, high=high, p=p, made_by="multibootstrap")


def trials_of(values: np.ndarray, groups: int, factors: Sequence[str]) -> Trials | None:
    """A plain share: every group is one answer of yes, no or a tie. Several answers of one group are correlated."""
    if len(factors) > 1 or not 0 < len(values) == groups or not np.isin(values, (0.0, 0.5, 1.0)).all():
        return None
    return Trials.of(values)
