"""How a number moves, and the interval, p-value and smallest visible effect that follow from it.

The bootstrap gives a standard error and a skewness; the interval is Student's, with Hall's correction for skewness
(a monotone cubic, so that interval and p-value always agree). Over seeds and items the two variances are added and
what both hold (a seed's own answers to single items) is taken off once. Correlations are treated as Fisher's z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.means import wilson

CONFIDENCE = 0.95
POWER = 0.80
_MOST_SKEW_CORRECTION = 0.8  # skewness times quantile; beyond, the cubic is steep and one side would reach anywhere
_NOTHING_MOVES = 1e-12  # a standard error below this part of the numbers is rounding


@dataclass(frozen=True)
class Spread:
    """A number, how far it moves, how lopsidedly, and how many independent units say so."""

    value: float
    se: float
    skew: float = 0.0
    df: float = math.inf

    def interval(self) -> tuple[float, float]:
        if not self.se > 0:
            return self.value + 0 * self.se, self.value + 0 * self.se
        reach = _quantile(self.df, (1 + CONFIDENCE) / 2)
        return self.value - self.se * self._inverse(reach), self.value - self.se * self._inverse(-reach)

    def p(self, neutral: float) -> float:
        """Two-sided; below 0.05 exactly where the interval excludes `neutral`."""
        if not self.se > 0:
            return math.nan if math.isnan(self.se) or self.value == neutral else 0.0
        t, k = min(max((self.value - neutral) / self.se, -1e100), 1e100), self._skew_correction  # its cube stays finite
        corrected = t + k * t * t / 3 + k * k * t**3 / 27 + k / 6
        return float(2 * scipy.special.stdtr(self.df, -abs(corrected)))

    def detectable(self) -> float:
        """The smallest distance from neutral that would have been detected with a chance of 80 %."""
        return self.se * (_quantile(self.df, (1 + CONFIDENCE) / 2) + _quantile(self.df, POWER))

    @property
    def _skew_correction(self) -> float:
        most = _MOST_SKEW_CORRECTION / _quantile(self.df, (1 + CONFIDENCE) / 2)
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
    def total(self) -> float:
        """Never less than either part: the difference of two noisy numbers must not shrink an interval."""
        return max(self.items + self.seeds - self.both, self.items, self.seeds)


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

    def over_items(self, i: int, groups: int) -> Spread:
        """Of one number, with the draws in which it has a value."""
        value = float(self.values[i, 0])
        if groups < 2 or math.isnan(value):
            return Spread(value, math.nan)
        variance, skew = self._each[i]
        return Spread(value, _error(variance * groups / (groups - 1), value), skew, groups - 1)

    def difference_over_items(self, n_first: int, groups: int) -> Spread:
        """Of the mean over the first numbers less that over the others."""
        numbers, n_second = self.values[:, 0], len(self) - n_first
        value = float(numbers[:n_first].mean() - numbers[n_first:].mean())
        if groups < 2 or math.isnan(value):
            return Spread(value, math.nan)
        variance, skew = self._of_sum(np.repeat([1 / n_first, -1 / n_second], [n_first, n_second]))
        error = _error(variance * groups / (groups - 1), float(np.abs(numbers).max()))
        return Spread(value, error, skew, groups - 1)

    def components(self, groups: int, rows: slice = slice(None)) -> Components:
        """Of the mean over at least two of the numbers, those of seeds."""
        seeds, together = self.values[rows, 0], [row[rows] for row in self._products[rows]]
        n, more = len(seeds), groups / (groups - 1) / max(1, self._off.shape[1])
        mean = max(0.0, sum(map(sum, together)) / n**2)  # rounding can leave a hair less than nothing
        both = max(0.0, (sum(together[i][i] for i in range(n)) - n * mean) / (n - 1) / n)
        return Components(mean * more, float(seeds.var(ddof=1)) / n, both * more, n)

    def over_seeds(self, groups: int) -> tuple[Spread, Components | None]:
        """Of the mean over at least two seeds: other seeds and other items at once."""
        value = float(self.values[:, 0].mean())
        if groups < 2:
            return Spread(value, math.nan), None
        parts = self.components(groups)
        total = parts.total
        if not total > 0:
            return Spread(value, 0.0), parts
        weighed = parts.seeds**2 / (parts.n_seeds - 1) + parts.items**2 / (groups - 1)
        df = min(max(total**2 / weighed, parts.n_seeds - 1), parts.n_seeds + groups - 2)  # Satterthwaite
        return Spread(value, _error(total, value), self._skew_of_mean * (parts.items / total) ** 1.5, df), parts

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
_SCALES = {"correlation": Scale(_fisher, math.tanh), "share": _linear(0.0, 1.0), "percent": _linear(0.0, 100.0)}
_POSITIVE = _linear(0.0, math.inf)
_DIFFERENCES = {"correlation": _linear(-2.0, 2.0), "share": _linear(-1.0, 1.0), "percent": _linear(-100.0, 100.0)}


def scale_of(unit: str, neutral: float | None = 0.0, difference: bool = False) -> Scale:
    """A probability without a neutral point is cut at 0 and 1; with one it is a difference, and may be negative.
    A ratio is cut at 0, unless that is its neutral point."""
    if difference:
        return _DIFFERENCES.get(unit, _PLAIN)
    if unit == "ratio" and neutral != 0:
        return _POSITIVE
    return _SCALES["share"] if unit == "probability" and neutral is None else _SCALES.get(unit, _PLAIN)


# ---------------------------------------------------------------- shares


@dataclass(frozen=True)
class Trials:
    """A share of independent yes-or-no answers: Wilson's interval and the score test it belongs to."""

    share: float
    count: int
    df: float = math.inf

    @property
    def se(self) -> float:
        return math.sqrt(self.share * (1 - self.share) / self.count)

    def interval(self) -> tuple[float, float]:
        return wilson(self.share, self.count)

    def p(self, neutral: float) -> float:
        if not 0 < neutral < 1:
            return math.nan
        return float(
            2 * scipy.special.ndtr(-abs(self.share - neutral) / math.sqrt(neutral * (1 - neutral) / self.count))
        )

    def detectable(self) -> float:
        return float(Spread(self.share, math.sqrt(0.25 / self.count)).detectable())


@dataclass(frozen=True)
class Unmoved:
    """A difference of shares that is the same in every group: another group may still differ.

    Of n groups none differs, so by Wilson at most z² / (n + z²) of all groups do, each by as much as is possible."""

    value: float
    groups: int
    se: float = 0.0
    df: float = math.inf

    def interval(self) -> tuple[float, float]:
        most = wilson(0.0, self.groups)[1]
        return self.value - most * (1 + self.value), self.value + most * (1 - self.value)

    def p(self, neutral: float) -> float:
        """Below 0.05 exactly where the interval excludes `neutral`."""
        off = neutral - self.value
        if not off:
            return 1.0
        differing = off / (1 - self.value) if off > 0 else -off / (1 + self.value)  # the share of groups it would take
        return (
            float(2 * scipy.special.ndtr(-math.sqrt(self.groups * differing / (1 - differing))))
            if differing < 1
            else 0.0
        )

    def detectable(self) -> float:
        return Trials(self.value, self.groups).detectable()
