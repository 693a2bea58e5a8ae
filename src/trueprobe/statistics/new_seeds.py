"""How many new seeds of a family would lie on its side of neutral: estimated from the seeds at hand.

If seeds are normal about their mean, the share is Φ(δ) with δ = (mean − neutral) / deviation; its interval inverts the
noncentral t of the observed √S · δ. Of five seeds at +1, +2, +3, +4, +5: Φ(3 / 1.58) = 97 % [63, 100]. The seeds were
all scored on the same items, so the share is about new seeds on these items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy  # type: ignore[import-untyped]

_ROUNDING = 1e-12  # of the values
_FARTHEST = 40.0  # of the noncentrality; Φ is 0 or 1 beyond


def share_of_new_seeds(values: Sequence[float], neutral: float) -> tuple[float, float, float]:
    """On the side of their mean: estimate and 95 % interval; NaN with fewer than two seeds."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan, math.nan
    distance, deviation = abs(float(np.mean(values)) - neutral), float(np.std(values, ddof=1))
    if deviation <= _ROUNDING * max(map(abs, values)):
        return (1.0, 0.0, 1.0) if distance > 0 else (math.nan, 0.0, 1.0)
    if distance > _FARTHEST * deviation:  # scipy would search for minutes
        return 1.0, 1.0, 1.0
    t = math.sqrt(n) * distance / deviation
    low, high = (_noncentrality(t, n - 1, tail) / math.sqrt(n) for tail in (0.975, 0.025))
    share, lowest, highest = (float(scipy.special.ndtr(d)) for d in (distance / deviation, low, high))
    return share, lowest, highest


def _noncentrality(t: float, df: int, tail: float) -> float:
    """The one with which a noncentral t lies below `t` with chance `tail`."""
    root = float(scipy.special.nctdtrinc(df, tail, t))
    return min(max(root, -_FARTHEST), _FARTHEST) if math.isfinite(root) else math.copysign(_FARTHEST, 0.5 - tail)
