"""Means, shares and correlations: sums over the scored observations.

A share is the mean of a column of zeros and ones. Each observation counts once, whatever its cell's size; in a balanced
sample it counts for the items that it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueprobe.statistics.measure import WEIGHT, Columns, Weights, cell_sums, totals

LARGEST_LOG_RATIO = 200.0  # nats; of a larger ratio the third moment leaves float64


def ratio(log: float) -> float:
    """e to the power of a difference of log-probabilities; not known where it is too large to count with."""
    return math.exp(log) if log <= LARGEST_LOG_RATIO else math.nan


def means(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]; NaN where a resample holds nothing scored."""
    values, scored, which = _scored(columns, quantities)
    drawn = totals(columns.cells, np.concatenate([np.where(scored[which] > 0, values, 0.0), scored]), weights)
    return _quotients(drawn, which)


def group_means(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]; every cell counts the same, however many observations it has."""
    values, scored, which = _scored(columns, quantities)
    present, here = np.unique(columns.cells, return_inverse=True)
    total = cell_sums(here, np.where(scored[which] > 0, values, 0.0), len(present))
    count = cell_sums(here, scored.astype(float), len(present))
    by_cell = np.divide(total, count[which], out=np.zeros_like(total), where=count[which] > 0)
    return _quotients(totals(present, np.concatenate([by_cell, count > 0]), weights), which)


def _scored(columns: Columns, quantities: Sequence[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[quantities, observations] values, [patterns, observations] which are scored (with weights, for how many items),
    [quantities] the pattern of each: most columns lack the same observations, which are counted once."""
    values = np.stack([columns.values[name] for (name,) in quantities])
    patterns: dict[bytes, int] = {}
    which = np.array([patterns.setdefault(row.tobytes(), len(patterns)) for row in ~np.isnan(values)])
    scored = np.array([np.frombuffer(pattern, dtype=bool) for pattern in patterns])
    if WEIGHT in columns.values:
        return values * columns.values[WEIGHT], scored * columns.values[WEIGHT], which
    return values, scored, which


def _quotients(drawn: np.ndarray, which: np.ndarray) -> np.ndarray:
    """[quantities + patterns, R] sums and counts -> [R, quantities]"""
    quotients, counts = np.split(drawn, [len(which)])
    with np.errstate(invalid="ignore", divide="ignore"):
        for quotient, pattern in zip(quotients, which, strict=True):
            quotient /= counts[pattern]
    return quotients.T


def wilson(share: float, count: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The 95 % interval of a plain share of independent trials (Wilson 1927)."""
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # of none and of all, the formula's end is the share but for rounding
    return float(centre - half) if share > 0 else 0.0, float(centre + half) if share < 1 else 1.0


def pearson(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """Pearson's correlation of two columns, from sums per cell: [R, quantities]; NaN where a column does not vary."""
    results = []
    for first, second in quantities:
        x, y = columns.values[first], columns.values[second]
        scored = ~(np.isnan(x) | np.isnan(y))
        # centred first: moments of raw values lose digits
        x, y = (np.where(scored, c - c[scored].mean() if scored.any() else c, 0.0) for c in (x, y))
        moments = np.stack([scored, x, y, x * y, x * x, y * y]) * columns.values.get(WEIGHT, 1.0)
        n, sx, sy, sxy, sxx, syy = totals(columns.cells, moments, weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            varying = sxx - sx * sx / n, syy - sy * sy / n
            varies = (varying[0] > 1e-12 * sxx) & (varying[1] > 1e-12 * syy)  # else nothing but rounding is left
            results.append(np.where(varies, (sxy - sx * sy / n) / np.sqrt(varying[0] * varying[1]), np.nan))
    return np.stack(results, axis=1)
