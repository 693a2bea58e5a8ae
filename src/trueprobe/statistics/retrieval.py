"""How well a ranking finds what people named: reciprocal rank, average precision, Spearman's correlation.

Each is a number of one prompt; over prompts they are averaged by `means` (MRR, mAP, mean ρ). Ranks count from 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueprobe.statistics.measure import Columns, Weights


def reciprocal_rank(rank: float) -> float:
    return 1 / rank


def average_precision(ranks: ArrayLike) -> float:
    """Σ precision@j · Δrecall(j) over the whole ranking, from the ranks of the right answers; NaN without any.

    Right answers that share a rank take places of their own from it on: [1, 1, 5] is counted as [1, 2, 5], since at
    place 1 there is room for one."""
    ordered = np.sort(np.asarray(ranks, dtype=float))
    nth = np.arange(1, len(ordered) + 1)
    filled = nth + np.maximum.accumulate(ordered - nth)
    return float(np.mean(nth / filled)) if len(ordered) else math.nan


def ranks_within(logps: np.ndarray) -> np.ndarray:
    """1 is the likeliest; equals share the best of their ranks; NaN has none."""
    ascending = np.sort(logps[~np.isnan(logps)])
    ranks = len(ascending) - np.searchsorted(ascending, logps, side="right") + 1.0
    return np.where(np.isnan(logps), np.nan, ranks)


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's correlation of mid-ranks; NaN where fewer than two pairs are known or one side does not vary."""
    pairs = np.array([first, second], dtype=float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if pairs.shape[1] < 2:
        return math.nan
    x, y = (_mid_ranks(row) for row in pairs)
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / spread if spread else math.nan


def _mid_ranks(values: np.ndarray) -> np.ndarray:
    ascending = np.sort(values)
    return (np.searchsorted(ascending, values, side="left") + np.searchsorted(ascending, values, side="right") + 1) / 2


def commonest_share(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]: the share of observations that have the commonest value of a column of codes."""
    results = []
    for (name,) in quantities:
        values = columns.values[name]
        scored = ~np.isnan(values)
        codes = np.unique(values[scored], return_inverse=True)[1]
        if not len(codes):
            results.append(np.full(len(weights), np.nan))
            continue
        counts = np.zeros((weights.shape[1], codes.max() + 1))
        np.add.at(counts, (columns.cells[scored], codes), 1.0)
        totals = weights.astype(float) @ counts  # [R, codes]
        with np.errstate(invalid="ignore", divide="ignore"):
            results.append(totals.max(axis=1) / totals.sum(axis=1))
    return np.stack(results, axis=1)
