"""The one way from a number that moves to its interval and p-value: for estimates, claims and differences alike.

As a rule Student's with Hall's correction for skewness (`spread`). A share of independent yes-or-no answers has
Wilson's interval, and so has a share that no resample moves: 0 of 19 is [0, 17 %], never [0, 0]. Ends are cut where the
unit ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from trueprobe.statistics import multibootstrap as multi
from trueprobe.statistics.spread import Components, Samples, Scale, Spread, Trials, Unmoved, scale_of

Method = Literal["crossed", "multibootstrap"]  # of the mean over seeds


@dataclass(frozen=True)
class Quantity:
    """What a number is: its unit, the point it is held against, and whether it is one mean less another."""

    unit: str
    neutral: float | None = None
    difference: bool = False

    @cached_property
    def scale(self) -> Scale:
        return scale_of(self.unit, self.neutral, self.difference)

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
    detectable: float = math.nan
    se: float = math.nan
    df: float = math.inf
    made_by: Literal["student", "wilson", "multibootstrap"] = "student"
    parts: Components | None = None  # of the variance of a mean over seeds


def interval(
    spread: Spread, groups: int, quantity: Quantity, trials: Trials | None = None, parts: Components | None = None
) -> Interval:
    """Of a number on its scale; `trials` where every group is one independent yes or no."""
    scale = quantity.scale
    moves: Spread | Trials | Unmoved = trials or spread
    if trials is None and quantity.unit == "share" and spread.se == 0:
        value = min(max(spread.value, scale.lowest), scale.highest)  # probabilities sum to one but for rounding
        moves = (Unmoved if quantity.difference else Trials)(value, groups)
    point = quantity.point
    return Interval(
        *scale.cut(*moves.interval()),
        p=math.nan if point is None else moves.p(point),
        detectable=scale.back(moves.detectable()),
        se=moves.se,
        df=moves.df,
        made_by="student" if isinstance(moves, Spread) else "wilson",
        parts=parts,
    )


def of_checkpoint(samples: Samples, i: int, groups: int, quantity: Quantity, trials: Trials | None = None) -> Interval:
    """Of one of the numbers, which are on the quantity's scale."""
    return interval(samples.over_items(i, groups), groups, quantity, trials)


def of_family(
    samples: Samples, groups: int, quantity: Quantity, method: Method = "crossed", resample_seed: int = 0
) -> Interval:
    """Of the mean over seeds, which are on the quantity's scale; none with fewer than two seeds or groups."""
    if len(samples) < 2 or groups < 2:
        return Interval()
    spread, parts = samples.over_seeds(groups)
    crossed = interval(spread, groups, quantity, parts=parts)
    if method == "crossed":
        return crossed
    scale, point = quantity.scale, quantity.point
    drawn = multi.multibootstrap(samples.values, resample_seed)
    low, high = scale.cut(*multi.percentile(drawn))
    p = math.nan if point is None else multi.p_value(drawn, point)
    return replace(crossed, low=low, high=high, p=p, made_by="multibootstrap")


def trials_of(values: np.ndarray, groups: int, factors: Sequence[str]) -> Trials | None:
    """A plain share: every group is one yes-or-no answer. Several answers of one group stand or fall together."""
    if len(factors) > 1 or not 0 < len(values) == groups or not np.isin(values, (0.0, 1.0)).all():
        return None
    return Trials(float(values.mean()), len(values))
