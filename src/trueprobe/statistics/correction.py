"""p-values of a whole family of tests, corrected for how many they are. NaN is no test, and stays NaN."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Holm 1979: below α, at most α is the chance of even one false finding among all of them."""
    return _stepwise(p, lambda n: np.arange(n, 0, -1), np.maximum.accumulate)


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Benjamini & Hochberg 1995: taking all below α, about α of those taken are false, for independent tests."""
    return _stepwise(p, lambda n: n / np.arange(1, n + 1), lambda q: np.minimum.accumulate(q[::-1])[::-1])


def _stepwise(
    p: np.ndarray, factors: Callable[[int], np.ndarray], accumulate: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    corrected = np.full(p.shape, np.nan)
    corrected[order] = np.minimum(accumulate(p[order] * factors(len(order))), 1.0) if len(order) else []
    return corrected
