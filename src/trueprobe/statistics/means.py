"""Means and shares: the sum of a column over the number of scored observations.

A share is the mean of a column of zeros and ones. Each observation counts once, whatever its cell's size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueprobe.statistics.measure import Columns, Weights, cell_sums

LARGEST_LOG_RATIO = 200.0  # nats; of a larger ratio the third moment leaves float64


def ratio(log: float) -> float:
    """e to the power of a difference of log-probabilities; not known where it is too large to count with."""
    return math.exp(log) if log <= LARGEST_LOG_RATIO else math.nan


def means(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]; NaN where a resample holds nothing scored."""
    values = np.stack([columns.values[name] for (name,) in quantities], axis=1)
    scored = ~np.isnan(values)
    present = np.unique(columns.cells)  # the others contribute nothing
    sums = cell_sums(columns, np.concatenate([np.where(scored, values, 0.0), scored], axis=1), weights.shape[1])
    totals = weights[:, present].astype(float) @ sums[present]
    total, count = np.split(totals, 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        quotients: np.ndarray = total / count
    return quotients


def group_means(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]; every cell counts the same, however many observations it has."""
    values = np.stack([columns.values[name] for (name,) in quantities], axis=1)
    scored = ~np.isnan(values)
    sums = cell_sums(columns, np.concatenate([np.where(scored, values, 0.0), scored], axis=1), weights.shape[1])
    total, count = np.split(sums, 2, axis=1)
    present = count > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        by_cell = np.where(present, total / count, 0.0)
        quotients: np.ndarray = (weights.astype(float) @ by_cell) / (weights.astype(float) @ present)
    return quotients


def wilson(share: float, count: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The 95 % interval of a plain share of independent trials (Wilson 1927)."""
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # of none and of all, the formula's end is the share but for rounding
    return float(centre - half) if share > 0 else 0.0, float(centre + half) if share < 1 else 1.0
