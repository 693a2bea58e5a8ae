"""Tests of vectors: association with attributes, and clusters.

Word embedding association (Caliskan et al. 2017): is X nearer to A, and Y to B, than the other way round?

s(w, A, B) is the mean cosine of w with A minus that with B. The effect size is the difference between the means of s
over X and over Y, in standard deviations of s over both: positive is X towards A. Its test deals all targets again into
two sets of the same sizes. Not shown: what a model writes or does; and the test knows nothing of other words,
templates or seeds. Departure from the printed formula: equality counts, as in the authors' code (`strict` else).

Do sentences of two categories form two clusters (paper C, figure 2)? k-means with two centres, started several times;
the cluster of each sentence is matched with the categories in the way that makes most of them right. 0.5 is the least
this can be, so a small set is above it by chance: the test shows how often. Not shown: clusters of another shape, or
what the clusters are about where they are not the categories.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from trueprobe.statistics.measure import Columns, Weights, totals

_CLOSE = 1e-12  # sums over the same values in another order differ by less, relative to the sum of magnitudes
_FLOAT_ERROR = 1e-5  # of a vector's length, after the layers of a network
_AT_ONCE = 5_000  # partitions that are dealt together
_BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)  # [256, 8]


def associations(targets: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """s(w, A, B) of each target vector; vectors are rows. NaN for a vector without a direction."""
    to = _directions(targets)
    s: np.ndarray = to @ _directions(first).mean(axis=0) - to @ _directions(second).mean(axis=0)
    return s


def _directions(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        directions: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return directions


def coincide(vectors: np.ndarray) -> np.ndarray:
    """Which rows are the mean of all rows, within the error of float32: a network that distinguishes none of them."""
    vectors = vectors.astype(np.float64)
    centre = vectors.mean(axis=0)
    at_centre: np.ndarray = np.linalg.norm(vectors - centre, axis=1) <= _FLOAT_ERROR * np.linalg.norm(centre)
    return at_centre


def effect_size(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities], each (association, in_x): (mean of X − mean of Y) / standard deviation with n − 1."""
    return _effect_sizes(columns, quantities, weights, ddof=1)


def effect_size_ddof0(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """The same with the standard deviation of a whole population, n."""
    return _effect_sizes(columns, quantities, weights, ddof=0)


def _effect_sizes(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights, ddof: int) -> np.ndarray:
    stacked = np.concatenate([_moments(columns.values[s], columns.values[x]) for s, x in quantities])
    drawn = totals(columns.cells, stacked, weights).reshape(len(quantities), 5, -1)
    n_x, n_y, sum_x, sum_y, squares = drawn.swapaxes(0, 1)
    n = n_x + n_y
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (squares - (sum_x + sum_y) ** 2 / n) / (n - ddof)
        difference = sum_x / n_x - sum_y / n_y
        return np.where(variance > 0, difference / np.sqrt(variance), np.nan).T


def _moments(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    """[5, targets]: in X, in Y, their associations, the squares; centred, so that a difference of large squares loses
    nothing."""
    scored = ~np.isnan(s) & ~np.isnan(x)
    s = np.where(scored, s - (s[scored].mean() if scored.any() else 0.0), 0.0)
    x = np.where(scored, x, 0.0)
    y = scored - x
    return np.stack([x, y, x * s, y * s, s * s])


@dataclass(frozen=True)
class PermutationTest:
    """How many ways of dealing the targets into two sets of these sizes put X at least as far towards A.

    All of them where they are at most `partitions`; else `partitions` − 1 are drawn, and the dealt one counts as one
    more (Phipson & Smyth 2010), so that p is never zero. `strict` counts only those further than the dealt one.
    """

    partitions: int = 100_000
    two_sided: bool = False
    strict: bool = False

    def __call__(self, columns: Columns, quantity: tuple[str, ...], resample_seed: int) -> float:
        s, x = (columns.values[name] for name in quantity)
        scored = ~np.isnan(s) & ~np.isnan(x)
        return self.p(s[scored & (x == 1)], s[scored & (x == 0)], resample_seed)

    def p(self, x: np.ndarray, y: np.ndarray, resample_seed: int) -> float:
        if not len(x) or not len(y):
            return float("nan")
        s = np.concatenate([x, y])
        dealt, scale = s - s.mean(), _CLOSE * float(np.abs(s).sum())  # a sum over X then has mean 0 under all deals
        observed = float(dealt[: len(x)].sum())
        least = abs(observed) if self.two_sided else observed
        every = comb(len(s), len(x))
        exact = every <= self.partitions
        rng = -1 if exact else resample_seed  # one list for all seeds, where nothing is drawn
        sums = _subset_sums(_partitions(len(x), len(y), every if exact else self.partitions - 1, rng), dealt)
        sums = np.abs(sums) if self.two_sided else sums
        beyond = int((sums > least + scale).sum() if self.strict else (sums >= least - scale).sum())
        return beyond / every if exact else (beyond + 1) / self.partitions


def _subset_sums(members: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[bytes, subsets] of packed bits -> [subsets] sums over their members; those of each byte are looked up."""
    sums = np.zeros(members.shape[1])
    for byte, start in zip(members, range(0, len(values), 8), strict=True):
        eight = values[start : start + 8]
        sums += np.take(_BYTES[:, : len(eight)] @ eight, byte)
    return sums


@lru_cache(maxsize=64)  # the sizes of a run's tests; all of SEAT's take 60 MB
def _partitions(n_x: int, n_y: int, count: int, rng: int) -> np.ndarray:
    """Who is in X, as packed bits [bytes, partitions]: every way (rng −1), or `count` of them, drawn."""
    dealt = _every(n_x, n_y) if rng < 0 else _drawn(n_x, n_y, count, rng)
    return np.concatenate([np.packbits(members, axis=1).T for members in dealt], axis=1)


def _every(n_x: int, n_y: int) -> Iterator[np.ndarray]:
    members = np.array(list(combinations(range(n_x + n_y), n_x)))
    for start in range(0, len(members), _AT_ONCE):
        yield _marked(members[start : start + _AT_ONCE], n_x + n_y)


def _drawn(n_x: int, n_y: int, count: int, resample_seed: int) -> Iterator[np.ndarray]:
    """The targets with the smallest of equally likely keys: a draw without replacement."""
    rng = np.random.default_rng([resample_seed, n_x, n_y])
    for start in range(0, count, _AT_ONCE):
        yield _smallest(rng.random((min(_AT_ONCE, count - start), n_x + n_y), dtype=np.float32), n_x)


def _smallest(keys: np.ndarray, n: int) -> np.ndarray:
    """Of each row, which are its `n` smallest."""
    chosen = keys <= np.partition(keys, n - 1, axis=1)[:, n - 1 : n]
    tied = np.flatnonzero(np.count_nonzero(chosen, axis=1) > n)  # equal keys where the line is drawn
    chosen[tied] = _marked(np.argpartition(keys[tied], n - 1, axis=1)[:, :n], keys.shape[1])
    return chosen


def _marked(members: np.ndarray, n: int) -> np.ndarray:
    """[partitions, members] numbers -> [partitions, n] whether it is one"""
    marked = np.zeros((len(members), n), dtype=bool)
    np.put_along_axis(marked, members, True, axis=1)
    return marked


# ---------------------------------------------------------------- clusters


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
    """How often clusters of these sizes would match the categories as well, were the categories dealt again: exact."""

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
