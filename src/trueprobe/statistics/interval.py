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
from trueprobe.statistics.spread import Components, Scale, Spread, Trials, Unmoved, over_items, over_seeds, scale_of

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


def interval(spread: Spread, groups: int, quantity: Quantity, trials: Trials | None = None) -> Interval:
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
    )


def of_checkpoint(sample: np.ndarray, groups: int, quantity: Quantity, trials: Trials | None = None) -> Interval:
    """From the value and its resampled values, [1 + R]."""
    return interval(over_items(quantity.scale.there(sample), groups), groups, quantity, trials)


def of_family(
    samples: Sequence[np.ndarray],
    groups: int,
    quantity: Quantity,
    method: Method = "crossed",
    resample_seed: int = 0,
) -> Interval:
    """Of the mean over seeds, from the samples of each with shared draws; none with fewer than two seeds or groups."""
    if len(samples) < 2 or groups < 2:
        return Interval()
    scale, point = quantity.scale, quantity.point
    together = scale.there(np.stack(samples))
    parts = Components.of(together, groups)
    crossed = interval(over_seeds(together, groups, parts), groups, quantity)
    if method == "crossed":
        return replace(crossed, parts=parts)
    drawn = multi.multibootstrap(together, resample_seed)
    low, high = scale.cut(*multi.percentile(drawn))
    p = math.nan if point is None else multi.p_value(drawn, point)
    return replace(crossed, low=low, high=high, p=p, made_by="multibootstrap", parts=parts)


def trials_of(values: np.ndarray, groups: int, factors: Sequence[str]) -> Trials | None:
    """A plain share: every group is one yes-or-no answer. Several answers of one group stand or fall together."""
    if len(factors) > 1 or not 0 < len(values) == groups or not np.isin(values, (0.0, 1.0)).all():
        return None
    return Trials(float(values.mean()), len(values))
