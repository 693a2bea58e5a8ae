"""Do sentences of two categories form two clusters (paper C, figure 2)?

k-means with two centres, started several times; the cluster of each sentence is matched with the categories in the
way that makes most of them right. 0.5 is the least this can be, so a small set is above it by chance: the test shows
how often. Not shown: clusters of another shape, or what the clusters are about where they are not the categories.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import comb

import numpy as np

from trueprobe.statistics.measure import Columns

STARTS = 10
_STEPS = 30


def matched(vectors: np.ndarray, first: np.ndarray, resample_seed: int) -> np.ndarray:
    """1.0 for each row whose cluster is matched with its category (`first` or not), else 0.0."""
    cluster = two_means(vectors, resample_seed)
    right: np.ndarray = (cluster == first).astype(float)
    return right if right.mean() >= 0.5 else np.subtract(1.0, right)


def two_means(vectors: np.ndarray, resample_seed: int) -> np.ndarray:
    """Which of two clusters each row is in: the tightest of several k-means++ starts."""
    from scipy.cluster.vq import kmeans2  # type: ignore[import-untyped]

    points = vectors.astype(np.float64)
    rng = np.random.default_rng(resample_seed)
    best, spread = np.zeros(len(points), dtype=bool), np.inf
    for _ in range(STARTS):
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # all points may be the same
            warnings.simplefilter("ignore", UserWarning)  # a start may leave one cluster empty
            centres, labels = kmeans2(points, 2, iter=_STEPS, minit="++", rng=rng)
        squares = float(((points - centres[labels]) ** 2).sum())
        if squares < spread:
            best, spread = labels == 1, squares
    return best


@dataclass(frozen=True)
class MatchingTest:
    """How often clusters of these sizes would match the categories as well, were the categories dealt anew: exact."""

    def __call__(self, columns: Columns, quantity: tuple[str, ...], resample_seed: int) -> float:
        right, first = (columns.values[name] for name in quantity)
        scored = ~np.isnan(right) & ~np.isnan(first)
        right, first = right[scored] == 1, first[scored] == 1
        total, of_first, in_first = len(right), int(first.sum()), int((first == right).sum())
        observed = int(right.sum())
        deals = [
            comb(of_first, both) * comb(total - of_first, in_first - both)
            for both in range(max(0, of_first + in_first - total), min(of_first, in_first) + 1)
            if max(correct := 2 * both + total - of_first - in_first, total - correct) >= observed
        ]
        return sum(deals) / comb(total, in_first)
