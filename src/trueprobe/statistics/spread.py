"""How a number moves, and the interval, p-value and smallest detectable effect that follow from it.

The bootstrap gives a standard error over items and a skewness. An end of the interval lies as far from the number as
Student's t or Hall's correction of it for skewness has it, whichever is farther. A mean of values between 0 and 1 that
is near one of them has seen too few of the rarer outcome to know its own variance: there an end lies at least where the
beta limit of a share has it (Korn & Graubard 1998). The mean over seeds moves with other items and with other seeds,
each with degrees of freedom of its own, and an end adds the squares of both reaches (MOVER, Zou & Donner 2008). All of
it was simulated before it was used (docs/reference/coverage.md); p and interval agree, because p is found from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.resampling import Groups
from trueprobe.types import Unit

ALPHA = 0.05
POWER = 0.80
_MOST_SKEW_CORRECTION = 0.8  # skewness times quantile; beyond, the cubic is steep and one side would reach anywhere
_NOTHING_MOVES = 1e-12  # a standard error below this part of the numbers is rounding
_SMALLEST_P = 1e-12  # where p is found by search; smaller ones decide nothing
_LARGEST_P = 1 - 1e-6  # the same at the other end, where a quantile is 0
_RARE = 3.0  # groups' worth of the rarer outcome, below which a share's own variance is not trusted
_LEAST_ITEMS = 1e-3  # of the items' variance is left beside seeds, however noisy the difference of the two is


class VarianceSource(NamedTuple):
    """What else moves a number, independently of its items: the seeds of a family, or the items of another probe."""

    variance: float
    df: int


@dataclass(frozen=True)
class Spread:
    """A number, how far it moves with other items and other seeds, how skewed, and how many independent units say so.

    Each end of the interval lies a `reach` from the value, reach² = (reach of items)² + Σ (t of seeds)² · variance: for
    3 seeds with variance 0.01 and 40 groups with se 0.05, it is √((2.02 · 0.05)² + 4.30² · 0.01) = 0.44.
    """

    value: float
    se: float  # over items
    skew: float = 0.0  # over items
    df: float = math.inf  # over items
    others: tuple[VarianceSource, ...] = ()  # the seeds of each family behind the number
    least: float = 0.0  # standard error over items that holds what seeds make of single items too: never less than this
    groups: int = 0  # of items, where the number is a mean of values between 0 and 1; else 0

    @property
    def total(self) -> float:
        """The standard error over items and seeds."""
        return math.sqrt(self.se**2 + sum(part.variance for part in self.others))

    @property
    def planned(self) -> Spread:
        """As the smallest detectable effect is made from it."""
        return self

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        if not self.total > 0:
            return self.value + 0 * self.se, self.value + 0 * self.se
        return self.value - self._reach(alpha, -1), self.value + self._reach(alpha, 1)

    def p(self, reference: float) -> float:
        """Two-sided; below α exactly where the interval at α excludes `reference`."""
        if not self.total > 0:
            return math.nan if math.isnan(self.se) or self.value == reference else 0.0
        side, away = (-1 if reference < self.value else 1), abs(self.value - reference)
        if not self.others and not self.groups:
            return self._p_of_items(away, side)

        def beyond(log_alpha: float) -> float:
            return self._reach(math.exp(log_alpha), side) - away

        least, most = math.log(_SMALLEST_P), math.log(_LARGEST_P)
        if beyond(most) >= 0:
            return 1.0
        return _SMALLEST_P if beyond(least) <= 0 else math.exp(scipy.optimize.brentq(beyond, least, most, xtol=1e-10))

    def detectable(self, alpha: float = ALPHA) -> float:
        """The smallest distance from the reference that is detected at this α with a chance of 80 %."""
        return sum(math.sqrt(self._squares(quantile)) for quantile in (1 - alpha / 2, POWER))

    def _squares(self, quantile: float) -> float:
        """(t · se)², over items and seeds, without skewness."""
        t = _quantile(self.df, quantile)
        return max((t * self.se) ** 2 + self._other_squares(quantile), (t * self.least) ** 2)

    def _other_squares(self, quantile: float) -> float:
        return sum(_quantile(part.df, quantile) ** 2 * part.variance for part in self.others)

    def _reach(self, alpha: float, side: int) -> float:
        """From the value to the lower end (side −1) or the upper one (side 1)."""
        over_items = self._reach_of_items(alpha, side)
        if not self.others:
            return over_items
        both = math.hypot(over_items, math.sqrt(self._other_squares(1 - alpha / 2)))
        return max(both, _quantile(self.df, 1 - alpha / 2) * self.least)

    def _reach_of_items(self, alpha: float, side: int) -> float:
        t = _quantile(self.df, 1 - alpha / 2)
        reach = self.se * max(t, side * -self._inverse(side * -t))
        if not self.groups or not self.se > 0:
            return reach
        return max(reach, side * (self._beta_limit(alpha, side) - self.value))

    def _beta_limit(self, alpha: float, side: int) -> float:
        """Of a share with as many answers as make its standard error; where fewer than some three groups' worth of the
        rarer outcome were seen, drawn down to the number of groups: values between 0 and 1 cannot vary more than
        answers of yes and no. Of 0.99 in 58 groups with se 0.005 the lower end is 0.93, not 0.98."""
        share = min(max(self.value, 0.0), 1.0)
        answers = share * (1 - share) / self.se**2
        rare = math.exp(-self.groups * (share if side > 0 else 1 - share) / _RARE)
        n = answers * max(1.0, answers / self.groups) ** -rare
        n *= (float(scipy.special.ndtri(1 - alpha / 2)) / _quantile(self.df, 1 - alpha / 2)) ** 2
        half = (1 - rare) / 2
        more, tail = (1 - half, 1 - alpha / 2) if side > 0 else (half, alpha / 2)
        return float(scipy.special.betaincinv(share * n + more, (1 - share) * n + 1 - more, tail))

    def _p_of_items(self, away: float, side: int) -> float:
        """Of Student's t and of Hall's correction the larger p."""
        t, k = min(-side * away / self.se, 1e100) if side < 0 else max(-away / self.se, -1e100), self._skew_correction
        corrected = t + k * t * t / 3 + k * k * t**3 / 27 + k / 6
        least = max(0.0, min(abs(t), -side * corrected))
        return float(2 * scipy.special.stdtr(self.df, -least))

    @property
    def _skew_correction(self) -> float:
        most = _MOST_SKEW_CORRECTION / _quantile(self.df, 1 - ALPHA / 2)
        return min(max(self.skew, -most), most)

    def _inverse(self, quantile: float) -> float:
        """The t whose form with the skewness correction is the quantile (Hall 1992)."""
        k = self._skew_correction
        if abs(k) < 1e-6:
            return quantile
        return 3 / k * (float(np.cbrt(1 + k * (quantile - k / 6))) - 1)


@lru_cache(maxsize=1024)  # thousands of intervals have the same few numbers of groups
def _quantile(df: float, p: float) -> float:
    """Student's."""
    return float(scipy.special.stdtrit(df, p))


@dataclass(frozen=True)
class Components:
    """Of the mean over seeds: what other items, other seeds, and seeds' own answers to items contribute."""

    items: float  # of the mean over these seeds
    seeds: float  # of the mean over seeds; holds `both` too
    both: float
    n_seeds: int

    @property
    def over_items(self) -> float:
        """What other items contribute beyond what `seeds` holds already."""
        return max(self.items - self.both, _LEAST_ITEMS * self.items)

    @property
    def over_seeds(self) -> VarianceSource:
        return VarianceSource(self.seeds, self.n_seeds - 1)


class Samples:
    """Numbers under the same draws, those of the seeds of a family for instance, and how each of them moves. A draw
    in which one of them holds nothing scored is left out, of what is about several."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values  # [numbers, 1 + R]: of the sample itself, then of every draw

    def __len__(self) -> int:
        return len(self.values)

    def moved(self, to: Callable[[np.ndarray], np.ndarray]) -> Samples:
        """On another scale."""
        values = to(self.values)
        return self if values is self.values else Samples(values)

    def pick(self, rows: Sequence[int]) -> Samples:
        return self if len(rows) == len(self) else Samples(self.values[rows])

    def over_items(self, i: int, groups: Groups) -> Spread:
        """Of one number, with the draws in which it has a value."""
        value = float(self.values[i, 0])
        if groups.df < 1 or math.isnan(value):
            return Spread(value, math.nan)
        variance, skew = self._each[i]
        return Spread(value, _error(variance * groups.n / groups.df, value), skew, groups.df)

    def difference(self, n_first: int, groups: Groups) -> Spread:
        """Of the mean over the first numbers less that over the others. A side with one seed stands for this checkpoint
        only; of two families, other seeds of each count."""
        numbers, n_second = self.values[:, 0], len(self) - n_first
        value = float(numbers[:n_first].mean() - numbers[n_first:].mean())
        if groups.df < 1 or math.isnan(value):
            return Spread(value, math.nan)
        variance, skew = self._of_sum(np.repeat([1 / n_first, -1 / n_second], [n_first, n_second]))
        sides = [side for side in (slice(n_first), slice(n_first, None)) if len(self.values[side]) > 1]
        parts = [self.components(groups, side) for side in sides]
        items, size = variance * groups.n / groups.df, float(np.abs(numbers).max())
        error = _error(max(items - sum(part.both for part in parts), _LEAST_ITEMS * items), size)
        seeds = tuple(part.over_seeds for part in parts)
        return Spread(value, error, skew, groups.df, seeds, _error(items, size) if seeds else 0.0)

    def components(self, groups: Groups, rows: slice = slice(None)) -> Components:
        """Of the mean over at least two of the numbers, those of seeds: the crossed interval's parts.

        The idea: seeds and items are drawn independently, so a seed's number is
        x[s] = mean + seed[s] + common + own[s]: `common` is what these items do to all seeds, `own` what they do to
        this seed alone. We see the x under 10,000 draws of the items, the same draws for every seed; with `both` for
        the variance of own / S,

            values [S, 1 + R] =   sample  draw 1  draw 2 …      one seed's draws vary by     common + S · both
                        seed 0:    0.60    0.62    0.57         the mean's draws vary by     common + both = items
                        seed 1:    0.50    0.55    0.49         the samples' mean varies by  seeds (holds both)
        """
        # 1. sums of squares and products of the draws, about their means: [S, S], S = number of seeds
        seeds, together = self.values[rows, 0], [row[rows] for row in self._products[rows]]
        n, more = len(seeds), groups.n / groups.df / max(1, self._off.shape[1])
        # 2. the mean over seeds moves, over the draws, by the sum of all products / S²
        mean = max(0.0, sum(map(sum, together)) / n**2)  # rounding can leave a hair less than nothing
        # 3. single seeds move more than that: what is more is their own; of two seeds with variances 4 and 6 and
        #    covariance 3, the mean moves by (4 + 6 + 2 · 3) / 4 = 4, and own answers by (10 − 2 · 4) / 1 / 2 = 1
        both = max(0.0, (sum(together[i][i] for i in range(n)) - n * mean) / (n - 1) / n)
        # 4. G groups vary by the draws' variance · G / (G − 1); seeds by their variance / S
        return Components(mean * more, float(seeds.var(ddof=1)) / n, both * more, n)

    def over_seeds(self, groups: Groups) -> tuple[Spread, Components | None]:
        """Of the mean over at least two seeds: other seeds and other items at once."""
        value = float(self.values[:, 0].mean())
        if groups.df < 1:
            return Spread(value, math.nan), None
        parts = self.components(groups)
        error, least = _error(parts.over_items, value), _error(parts.items, value)
        seeds = VarianceSource(_error(parts.seeds, value) ** 2, parts.n_seeds - 1)
        return Spread(value, error, self._skew_of_mean, groups.df, (seeds,), least), parts

    @cached_property
    def _off(self) -> np.ndarray:
        """[numbers, draws]: about their means, of the draws in which all have a value."""
        drawn = self.values[:, 1:]
        sums = np.add.reduce(drawn, axis=1)
        if np.isnan(sums).any():
            drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
            sums = np.add.reduce(drawn, axis=1)
        off: np.ndarray = drawn - sums[:, None] / max(1, drawn.shape[1])
        return off

    @cached_property
    def _each(self) -> list[tuple[float, float]]:
        """Variance and skewness of every number."""
        if len(self) > 1 and self._off.shape[1] < self.values.shape[1] - 1:
            return [Samples(one[None])._each[0] for one in self.values]
        return _moments(self._off)

    @cached_property
    def _products(self) -> list[list[float]]:
        """[numbers, numbers] summed over the draws. With a copy: for a matrix with itself numpy asks BLAS for half of
        the products, which takes four times as long where rows are few and long."""
        products: list[list[float]] = (self._off @ self._off.copy().T).tolist()
        return products

    @cached_property
    def _skew_of_mean(self) -> float:
        return self._of_sum(np.full(len(self), 1 / len(self)))[1]

    def _of_sum(self, weights: np.ndarray) -> tuple[float, float]:
        return _moments((weights @ self._off)[None])[0]


def _moments(off: np.ndarray) -> list[tuple[float, float]]:
    """Variance and skewness of each row, which is about its mean."""
    n = off.shape[1]
    if n < 2:
        return [(math.nan, 0.0)] * len(off)
    squares = off * off
    variances = squares.sum(axis=1) / n
    squares[variances > 1e200] = 0.0  # their cubes leave float64
    cubes = np.vecdot(squares, off) / n
    return [
        (variance, cube / variance**1.5 if 1e-300 < variance < 1e200 else 0.0)
        for variance, cube in zip(variances.tolist(), cubes.tolist(), strict=True)
    ]


def _error(variance: float, size: float) -> float:
    """`size` of the numbers that were summed: a difference of equal ones moves by their rounding."""
    error = math.sqrt(variance) if variance >= 0 else math.nan
    return 0.0 if error <= _NOTHING_MOVES * abs(size) else error


# ---------------------------------------------------------------- the scale a number is treated on


@dataclass(frozen=True)
class Scale:
    """There and back; intervals are cut at the ends of what is possible."""

    there: Callable[[np.ndarray], np.ndarray]
    back: Callable[[float], float]
    lowest: float = -math.inf
    highest: float = math.inf

    def cut(self, low: float, high: float) -> tuple[float, float]:
        low, high = self.back(low), self.back(high)
        return low if low >= self.lowest or math.isnan(low) else self.lowest, min(high, self.highest)


def _fisher(values: np.ndarray) -> np.ndarray:
    z: np.ndarray = np.arctanh(np.clip(values, -0.999999, 0.999999))
    return z


def _linear(lowest: float = -math.inf, highest: float = math.inf) -> Scale:
    return Scale(lambda values: values, float, lowest, highest)


_PLAIN = _linear()
_SCALES = {
    Unit.CORRELATION: Scale(_fisher, math.tanh),
    Unit.SHARE: _linear(0.0, 1.0),
    Unit.SCORE: _linear(0.0, 1.0),
    Unit.PERCENT: _linear(0.0, 100.0),
}
_POSITIVE = _linear(0.0, math.inf)
_DIFFERENCES = {
    Unit.CORRELATION: _linear(-2.0, 2.0),
    Unit.SHARE: _linear(-1.0, 1.0),
    Unit.SCORE: _linear(-1.0, 1.0),
    Unit.PERCENT: _linear(-100.0, 100.0),
}


def scale_of(unit: Unit, neutral: float | None = None, difference: bool = False, times: int = 1) -> Scale:
    """A probability without a neutral point is cut at 0 and 1; with one it is a difference, and may be negative.
    A ratio is cut at 0, unless that is its neutral point. `times`: how many differences are added up."""
    if difference:
        scale = _DIFFERENCES.get(unit, _PLAIN)
        return _linear(times * scale.lowest, times * scale.highest)
    if unit is Unit.RATIO and neutral != 0:
        return _POSITIVE
    return _SCALES[Unit.SHARE] if unit is Unit.PROBABILITY and neutral is None else _SCALES.get(unit, _PLAIN)
