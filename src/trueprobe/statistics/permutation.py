"""Permutation tests of two sides: swapping the answers of two checkpoints group by group, and dealing seeds again.

Swapping the answers of a set I of groups leaves a difference of means as large as it was exactly if the true difference
is the one within I: r(I) = Σ of differences in I / Σ of items in I. So the swap test of any difference δ counts the
sets with r(I) ≤ δ, and the interval of all δ that it does not reject ends at order statistics of r(I)
(Hartigan 1969). Of three groups with differences 1, 2 and 6 the seven sets give 1, 1.5, 2, 3, 3.5, 4 and 6. Of numbers
that are no means (medians, effect sizes) the same holds in large samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product

import numpy as np

from trueprobe.statistics.measure import Columns, Function
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.spread import ALPHA, Spread

PERMUTATIONS = 10_000
_ROUNDING = 1e-12  # of sums in another order


@dataclass(frozen=True)
class Swapped:
    """A difference of two checkpoints, and the same difference within sets of groups."""

    spread: Spread  # for the smallest detectable difference
    within: np.ndarray  # [sets], NaN where a set holds nothing scored

    @property
    def total(self) -> float:
        """The standard error."""
        return self.spread.total

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Ascending; a set without a difference counts for either tail."""
        unknown = np.isnan(self.within)
        lower, upper = (np.sort(np.where(unknown, end, self.within)) for end in (-math.inf, math.inf))
        return lower, upper

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """All differences that the test does not reject; without end where there are too few groups to reject any."""
        lower, upper = self._ends
        k = math.ceil(alpha * (len(lower) + 1) / 2 - 1e-9) - 1
        return (float(lower[k - 1]), float(upper[-k])) if k > 0 else (-math.inf, math.inf)

    def p(self, reference: float) -> float:
        """Two-sided; what was observed counts as one of the sets."""
        lower, upper = self._ends
        close = _ROUNDING * max(1.0, abs(self.spread.value))
        below = 1 + int(np.searchsorted(lower, reference + close, side="right"))
        above = 1 + len(upper) - int(np.searchsorted(upper, reference - close, side="left"))
        return min(1.0, 2 * min(below, above) / (len(lower) + 1))

    @property
    def planned(self) -> Spread:
        return self.spread


def within_sets(
    function: Function, wanted: Sequence[tuple[str, ...]], sides: Sequence[Columns], drawn: Resampling, factor: int
) -> np.ndarray:
    """[sets, quantities]: the first minus the second, within sets of the factor's groups; of all sets where they are at
    most 10,000, else of drawn ones."""
    one, other = sides
    cells, here = np.unique(one.cells, return_inverse=True)
    _, group_of = np.unique(drawn.units[cells, factor], return_inverse=True)
    chosen = _sets(int(group_of.max()) + 1, drawn.resample_seed)[:, group_of]
    apart: np.ndarray = function(Columns(one.values, here), wanted, chosen)
    apart = apart - function(Columns(other.values, here), wanted, chosen)
    return apart


@lru_cache(maxsize=4)
def _sets(groups: int, resample_seed: int) -> np.ndarray:
    """[sets, groups], 1 where the group is in it."""
    if 2**groups <= PERMUTATIONS:
        return np.array(list(product((0, 1), repeat=groups))[1:], dtype=np.float32)
    rng = np.random.default_rng(resample_seed)
    return rng.integers(0, 2, (PERMUTATIONS - 1, groups)).astype(np.float32)


def seeds_dealt_ps(values: np.ndarray, n: int) -> list[float]:
    """How often seeds dealt again to two families lie as far apart; `values` [seeds, quantities], the first `n` of one
    family. Two-sided; all deals where they are at most 10,000."""
    chosen, total = _dealt(len(values), n), values.sum(axis=0)
    first = values[chosen].sum(axis=1)
    apart = first / n - (total - first) / (len(values) - n)
    observed = (values[:n].mean(axis=0) - values[n:].mean(axis=0)).tolist()
    exact = len(chosen) == math.comb(len(values), n)
    return [_as_far(apart[:, i], one, exact) for i, one in enumerate(observed)]


@lru_cache(maxsize=8)
def _dealt(seeds: int, n: int) -> np.ndarray:
    """[deals, n]: who is in the first family."""
    if math.comb(seeds, n) <= PERMUTATIONS:
        return np.array(list(combinations(range(seeds), n)))
    return np.random.default_rng(0).random((PERMUTATIONS, seeds)).argsort(axis=1)[:, :n]


def _as_far(permuted: np.ndarray, observed: float, exact: bool) -> float:
    permuted = permuted[~np.isnan(permuted)]
    if math.isnan(observed) or not len(permuted):
        return math.nan
    as_far = int((np.abs(permuted) >= abs(observed) - _ROUNDING).sum())
    return as_far / len(permuted) if exact else (as_far + 1) / (len(permuted) + 1)
