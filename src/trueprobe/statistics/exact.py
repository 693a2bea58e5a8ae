"""Shares of independent yes-or-no answers: the exact binomial test, and the interval that inverts it.

Clopper & Pearson (1934): a point is in the 95 % interval exactly where the two-sided p against it, twice the smaller
tail, is at least 0.05. Wilson's interval is shorter, but errs in up to 7.7 % of cases at some small numbers of answers.
With five answers no p can be below 0.05: 5 of 5 has 0.0625, 6 of 6 has 0.031.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.spread import ALPHA, Spread


def binomial_p(successes: int, n: int, share: float) -> float:
    """Two-sided, against `share`; 8 of 10 against one half: 2 × 56 / 1024 = 0.109."""
    if not 0 < share < 1:
        return math.nan
    below = float(scipy.special.bdtr(successes, n, share))
    above = float(scipy.special.bdtrc(successes - 1, n, share)) if successes else 1.0
    return min(1.0, 2 * min(below, above))


def binomial_interval(successes: int, n: int, alpha: float = 0.05) -> tuple[float, float]:
    """0 of 19 is [0, 0.176]."""
    failures = n - successes
    low = float(scipy.special.betaincinv(successes, failures + 1, alpha / 2)) if successes else 0.0
    high = float(scipy.special.betaincinv(successes + 1, failures, 1 - alpha / 2)) if failures else 1.0
    return low, high


@dataclass(frozen=True)
class Trials:
    """Independent answers of yes, no or a tie: the exact binomial test of the untied ones, and its interval.

    A tie counts one half. Against one half the ties say nothing, and the test is that of the rest (the sign test);
    the interval is that of the rest, with the ties in the middle: of 8 yes, 1 no and 1 tie, (0.5 + 9 · [0.52, 1]) / 10.
    """

    yes: int
    no: int
    ties: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> Trials:
        return cls(*(int((values == answer).sum()) for answer in (1.0, 0.0, 0.5)))

    @property
    def count(self) -> int:
        return self.yes + self.no + self.ties

    @property
    def share(self) -> float:
        return (self.yes + self.ties / 2) / self.count

    @property
    def total(self) -> float:
        """The standard error."""
        untied = self.yes + self.no
        return math.sqrt(self.yes * self.no / untied) / self.count if untied else 0.0

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        untied = self.yes + self.no
        if not untied:
            return self.share, self.share
        low, high = ((self.ties / 2 + untied * end) / self.count for end in binomial_interval(self.yes, untied, alpha))
        return low, high

    def p(self, reference: float) -> float:
        untied = self.yes + self.no
        if not untied:
            return math.nan if reference == 0.5 else 0.0
        share = (reference * self.count - self.ties / 2) / untied
        if 0 < share < 1:
            return binomial_p(self.yes, untied, share)
        return 1.0 if (share == 0 and not self.yes) or (share == 1 and not self.no) else 0.0

    @property
    def planned(self) -> Spread:
        """At one half, where it moves most."""
        return Spread(self.share, math.sqrt(0.25 / self.count))


@dataclass(frozen=True)
class Unmoved:
    """A share, or a difference of shares, that is the same in every group: another group may still differ.

    Of n groups none differs, so at most u = 1 − 0.025^(1/n) of all groups do (the exact interval of 0 of n), each by as
    much as is possible: 0 in 20 groups is [0, 0.168], and no difference in 20 groups [−0.168, 0.168]."""

    value: float
    groups: int
    lowest: float = 0.0
    highest: float = 1.0
    total: float = 0.0  # standard error

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        most = binomial_interval(0, self.groups, alpha)[1]
        return self.value - most * (self.value - self.lowest), self.value + most * (self.highest - self.value)

    def p(self, reference: float) -> float:
        """Below 0.05 exactly where the interval excludes `reference`."""
        off = reference - self.value
        if not off:
            return 1.0
        room = self.highest - self.value if off > 0 else self.value - self.lowest
        differing = abs(off) / room if room else math.inf  # the share of groups it would take
        return min(1.0, 2 * (1 - differing) ** self.groups) if differing < 1 else 0.0

    @property
    def planned(self) -> Spread:
        return Spread(self.value, math.sqrt(0.25 / self.groups))
