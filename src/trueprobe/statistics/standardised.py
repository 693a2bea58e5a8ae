"""The interval of a standardised difference (SEAT's effect size d), which lies between −2 and 2.

Near its ends d moves little and is overstated, so Student's interval on d itself covers 64 to 92 % at d = 1.55. Here
(docs/measures/association.md has the measured coverage):

1. d is put on the scale z = asinh(δ / √8), with δ = d / √(1 − d²/4) the difference in deviations within a set, on which
   its variance hardly depends on it: d = 0, 0.8, 1.6 is z = 0, 0.304, 0.840.
2. The centre is 2z − mean of the draws' z: the draws show how far d is overstated.
3. A candidate d₀ is in the interval where |centre − z(d₀)| is at most t · √(V · (1 + 2.5 · (d₀/2)² / √n)), with V the
   draws' variance and n the words of a set: few words understate how uncertain their own deviation is.
4. Of several seeds, all centres are shifted together by u, and the candidate is the mean of their d; other seeds
   contribute as to any mean over seeds (`spread`).

It is about other target words, for these attribute words and these templates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.spread import ALPHA, Spread

_FEW_WORDS = 2.5  # chosen by simulation over 4 to 25 words a set, and confirmed with other random numbers
_NEAREST = 1e-4  # of (d/2)² to 1
_FARTHEST = 300.0  # of z; d is 2 long before
FEWEST_WORDS = 4  # of a set


def to_z(d: np.ndarray) -> np.ndarray:
    r2 = np.minimum(np.square(d) / 4, 1 - _NEAREST)
    z: np.ndarray = np.sign(d) * np.arcsinh(np.sqrt(r2 / (2 * (1 - r2))))
    return z


def to_d(z: float | np.ndarray) -> np.ndarray:
    h = math.sqrt(2) * np.sinh(np.clip(z, -_FARTHEST, _FARTHEST))
    d: np.ndarray = 2 * h / np.hypot(1.0, h)
    return d


@dataclass(frozen=True)
class Standardised:
    """How the mean over seeds of an effect size moves; of one checkpoint, that of one."""

    centres: tuple[float, ...]  # of each seed, on the scale of z
    around: Spread  # of their mean, at d = 0
    words: float  # of a set

    @property
    def total(self) -> float:
        return self.around.total

    @property
    def planned(self) -> Spread:
        return self.around

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """On the scale of z."""
        if not self.total > 0:
            return math.nan, math.nan
        low, high = (float(to_z(np.array(self._shifted(self._reach(alpha, side))))) for side in (-1, 1))
        return low, high

    def p(self, reference: float) -> float:
        """Against a point on the scale of z; below α exactly where the interval at α excludes it."""
        if not self.total > 0:
            return math.nan
        d, far = float(to_d(reference)), max(map(abs, self.centres)) + abs(reference) + 1
        shift = float(scipy.optimize.brentq(lambda u: self._shifted(u) - d, -far, far, xtol=1e-12))
        return self._at(d, -shift).p(0.0)

    def _shifted(self, u: float) -> float:
        """The mean of d, when the centres are moved by `u`."""
        return float(to_d(np.array(self.centres) + u).mean())

    def _at(self, d: float, distance: float) -> Spread:
        """How the centres' mean moves if the truth is `d`, at some distance from it."""
        more = math.sqrt(1 + _FEW_WORDS * (d / 2) ** 2 / math.sqrt(self.words))
        return replace(self.around, value=distance, se=self.around.se * more)

    def _reach(self, alpha: float, side: int) -> float:
        """The shift at which the candidate is just not excluded."""
        most = self._at(2.0, 0.0).interval(alpha)[1]

        def beyond(u: float) -> float:
            return u - self._at(self._shifted(side * u), 0.0).interval(alpha)[1]

        return side * float(scipy.optimize.brentq(beyond, 0.0, most, xtol=1e-10))
