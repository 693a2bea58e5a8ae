"""Is a number as good as another one? Two one-sided tests, within a margin that was stated beforehand.

"Interchangeable", "alike" and "stable" are claims of their own: a difference that is not significant is none of them.
A quantity q is alike where both q > −m and q < m are shown, each at α = 0.05 one-sided: where its 90 % interval lies
inside the margin m (Schuirmann 1987). As a rule m is a share of a reference effect of the same model: a fifth of
what ten properties gain over one, say. The effect is estimated too, so q ± share · effect is tested, under the same
draws, and not q against a fixed number. A model without the effect would be alike in everything: it is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Margin
from trueprobe.statistics.resampling import Groups
from trueprobe.statistics.spread import ALPHA, Samples, Spread
from trueprobe.types import Unit

LEVEL = 2 * ALPHA  # of the interval that two one-sided tests at α invert


class Side(NamedTuple):
    """A model, or one of two that are compared: its seeds' numbers and reference effects under the same draws."""

    quantity: Samples  # minus the threshold
    effect: Samples
    sign: int = 1  # of this side in the difference of two

    def shifted(self, by: float, margin: Margin) -> np.ndarray:
        """[seeds, 1 + R]: the numbers plus this part of the margin."""
        shifted: np.ndarray = self.quantity.values + self.sign * by * _sized(self.effect, margin)
        return shifted


class Equivalence(NamedTuple):
    """What a verdict on a claim of equivalence depends on."""

    value: float
    margin: float
    low: float  # of the 90 % interval
    high: float
    p: float  # the larger of the two one-sided p: that it is no closer than the margin
    p_apart: float  # that it is no farther than the margin; two-sided, so that each end has α / 2
    sensitive: bool  # the reference effect is larger than the margin, beyond noise, on every side


def equivalence(
    sides: Sequence[Side], margin: Margin, spread_of: Callable[[Samples], Spread], groups: Groups, unit: Unit
) -> Equivalence:
    """By hand: q = 0.01, se 0.02 with many groups, effect 0.30 without noise: m = 0.06; q + m = 0.07 has z = 3.5,
    q − m = −0.05 has z = −2.5, so p = Φ(−2.5) = 0.006, and the 90 % interval is [−0.023, 0.043]."""
    quantity = Quantity(unit, 0.0, difference=True)

    def shifted(by: float) -> Spread:
        return spread_of(Samples(np.concatenate([side.shifted(by / len(sides), margin) for side in sides])))

    number, upper, lower = shifted(0), shifted(1), shifted(-1)
    ends = interval(number, groups.n, quantity, alpha=LEVEL)
    p_upper, p_lower = (interval(one, groups.n, quantity).p for one in (upper, lower))
    p, apart = alike((upper.value, p_upper), (lower.value, p_lower))
    reach = (upper.value - lower.value) / 2
    sensitive = all(_exceeds(side.effect, margin, groups, quantity) for side in sides)
    return Equivalence(number.value, reach, ends.low, ends.high, p, apart, sensitive)


def alike(upper: tuple[float, float], lower: tuple[float, float]) -> tuple[float, float]:
    """Two one-sided tests from a number plus its margin and minus it, each with its two-sided p against 0: the p that
    it is no closer than the margin, and that it is no farther."""
    one_sided = (_one_sided(upper[1], upper[0]), _one_sided(lower[1], -lower[0]))
    apart = lower[1] if lower[0] > 0 else upper[1] if upper[0] < 0 else 1.0
    return float(np.max(one_sided)), apart


def over_seeds(samples: Samples, groups: Groups) -> Spread:
    """Of one checkpoint over items, of several seeds over both."""
    return samples.over_items(0, groups) if len(samples) == 1 else samples.over_seeds(groups)[0]


def _sized(effect: Samples, margin: Margin) -> np.ndarray:
    """[seeds, 1 + R]: a share of the effect under each draw, towards the effect's own side; or the stated amount."""
    if margin.amount:
        return np.full_like(effect.values, margin.amount)
    sized: np.ndarray = margin.share * _direction(effect) * effect.values
    return sized


def _direction(effect: Samples) -> float:
    return math.copysign(1.0, float(effect.values[:, 0].mean()))


def _exceeds(effect: Samples, margin: Margin, groups: Groups, quantity: Quantity) -> bool:
    excess = over_seeds(Samples(_direction(effect) * effect.values - _sized(effect, margin)), groups)
    return excess.value > 0 and interval(excess, groups.n, quantity).p < ALPHA


def _one_sided(p: float, distance: float) -> float:
    """That a number is above 0, by its two-sided p."""
    return p / 2 if distance > 0 else 1 - p / 2
