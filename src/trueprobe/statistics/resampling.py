"""Which items are drawn how often: the bootstrap's weights, by the probe's groups.

Where an item belongs to two crossed groups (a target and a background occupation), both are resampled and their
weights multiply. Where a probe names conditions to draw `within` (the two sides of each association test, female- and
male-dominated occupations), every part has draws of its own, which no other part changes: a contrast of the parts must
not move because one of them was drawn more often. `resample_seed` is our random seed, never a model's. All checkpoints
of a family share their draws.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trueprobe.statistics.measure import TIED, WEIGHT, Columns, Indicator
from trueprobe.types import CONDITION, GROUP

RESAMPLES = 10_000
_AT_ONCE = 200_000  # groups that are picked together


class Groups(NamedTuple):
    """Independent units behind a number, and the parts within which they were drawn."""

    n: int
    parts: int = 1

    @property
    def df(self) -> int:
        """What is left of them for a variance: each part has a mean of its own."""
        return self.n - self.parts


@dataclass(frozen=True)
class Resampling:
    """The cells of a probe's observations and how often each is drawn: weights[0] is the sample itself."""

    cells: np.ndarray  # of each observation
    weights: np.ndarray  # [1 + R, cells], float32
    factors: tuple[str, ...]
    names: np.ndarray  # [cells, factors]
    parts: np.ndarray  # [cells]: the part that each was drawn within; all 0 where there is one
    resample_seed: int = 0
    by_items: bool = False  # items were drawn within the groups of a factor that has too few

    def groups(self, cells: np.ndarray) -> Groups:
        """Behind these cells: of the crossed factors that apply, the one with fewest groups."""
        here = np.unique(cells)
        distinct = [set(units) - {-1} for units in self.units[here].T.tolist()]
        n = min((len(groups) for groups in distinct if groups), default=0)
        return Groups(n, max(1, len(set(self.parts[here].tolist()))))

    @cached_property
    def units(self) -> np.ndarray:
        """[cells, factors]: the number of each cell's group, by each factor; −1 where the factor does not apply."""
        named = [
            np.char.add(np.char.add(self.parts.astype(str), "/"), self.names[:, f]) for f in range(len(self.factors))
        ]
        codes = [np.unique(names, return_inverse=True)[1] for names in named]
        units: np.ndarray = np.where(self.names == "", -1, np.stack(codes, axis=1))
        return units

    @classmethod
    def of(
        cls, groups: pd.DataFrame, resamples: int = RESAMPLES, resample_seed: int = 0, within: Sequence[str] = ()
    ) -> Resampling:
        """`groups` has one column per crossed factor, in which "" means that the factor does not apply, and one for
        each condition of `within`. A part has as many groups of a factor in every draw as it has; its draws depend on
        its name, its groups and the random seed alone."""
        factors = [str(name) for name in groups.columns if name not in within]
        named = zip(*(groups[name].astype(str) for name in within), strict=True) if within else ((),) * len(groups)
        part = ["/".join(values) for values in named]
        codes, cells = pd.factorize(pd.MultiIndex.from_arrays([part, *(groups[name] for name in factors)]))
        table = pd.DataFrame(list(cells), columns=["part", *factors])
        weights = np.ones((1 + resamples, len(table)), dtype=np.float32, order="F")  # read by columns
        rng = np.random.default_rng(resample_seed)
        for name, members in table.groupby("part", sort=False):
            if within:
                rng = np.random.default_rng([resample_seed, zlib.crc32(str(name).encode())])
            for factor in factors:
                applying = sorted(set(members[factor]) - {""})
                drawn = dict(zip(applying, _drawn(rng, resamples, len(applying)), strict=True)) if applying else {}
                for cell, group in zip(members.index.tolist(), members[factor].tolist(), strict=True):
                    if group != "":
                        weights.T[cell, 1:] *= drawn[group]
        names = table[factors].to_numpy(dtype=str).reshape(len(table), len(factors))  # also where nothing is drawn
        called = tuple(f"{name} within {' and '.join(within)}" for name in factors) if within else tuple(factors)
        return cls(codes, weights, called, names, pd.factorize(table["part"])[0], resample_seed)

    @classmethod
    def shared(
        cls, groups: Sequence[pd.DataFrame], resample_seed: int = 0, parts: Sequence[str] = ()
    ) -> list[Resampling]:
        """One for each table of groups, all with the same draws, within `parts` where they are named."""
        whole = cls.of(pd.concat(groups, ignore_index=True), resample_seed=resample_seed, within=parts)
        ends = np.cumsum([len(table) for table in groups])
        return [replace(whole, cells=cells) for cells in np.split(whole.cells, ends[:-1])]


def groups_of(frame: pd.DataFrame, factors: Sequence[str], parts: Sequence[str] = ()) -> pd.DataFrame:
    """The groups of a table of observations, and the parts within which they are drawn."""
    columns = {name: frame[GROUP + name] for name in factors} | {name: column_of(frame, name) for name in parts}
    return pd.DataFrame(columns, index=frame.index)


def _drawn(rng: np.random.Generator, resamples: int, groups: int) -> np.ndarray:
    """[groups, resamples]: how often each was drawn, in portions that a cache holds; they do not change the draws."""
    counts = np.empty((groups, resamples), dtype=np.float32)
    portion = max(1, _AT_ONCE // groups)
    for start in range(0, resamples, portion):
        rows = min(portion, resamples - start)
        picks = rng.integers(0, groups, size=(rows, groups), dtype=np.int32)
        picks += np.arange(rows, dtype=np.int32)[:, None] * groups
        counts[:, start : start + rows] = np.bincount(picks.ravel(), minlength=rows * groups).reshape(rows, groups).T
    return counts


def columns_of(frame: pd.DataFrame, names: Iterable[str], resampling: Resampling) -> Columns:
    """Numbers, NaN where nothing was scored, even where a whole column holds nothing; with the ties where known."""
    wanted = {*names, *(name for name in (TIED, WEIGHT) if name in frame)}
    return Columns({name: numbers_of(frame, name).to_numpy(dtype=float) for name in wanted}, resampling.cells)


def numbers_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column as numbers; whether conditions hold, as 0 and 1."""
    if isinstance(name, Indicator):
        return pd.Series(rows_where(frame, name.where), index=frame.index, dtype=float)
    return pd.to_numeric(column_of(frame, name), errors="coerce")


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """A condition of the items, or a value that was observed."""
    condition = CONDITION + name
    return frame[condition if condition in frame else name]


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> np.ndarray:
    rows = np.ones(len(frame), dtype=bool)
    for name, wanted in where.items():
        rows &= column_of(frame, name).isin(list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]).to_numpy()
    return rows


# ---------------------------------------------------------------- seeds drawn too

# The multi-bootstrap of Sellam et al. (2022): seeds and items are both drawn with replacement. A named option, not the
# default: its percentile interval is too narrow with few seeds (docs/reliability.md has the measured coverage).
MULTIBOOTSTRAP = "multi-bootstrap over seeds and {groups}, percentile, 95 %"


def multibootstrap(samples: np.ndarray, resample_seed: int = 0) -> np.ndarray:
    """[R] values of the mean over drawn seeds and drawn items.

    `samples` [seeds, 1 + R] are the values of each seed under shared draws of items; the first is the sample itself."""
    seeds, drawn_items = len(samples), samples[:, 1:].T
    rng = np.random.default_rng([resample_seed, seeds])
    drawn_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=len(drawn_items))
    means: np.ndarray = (drawn_items * drawn_seeds).sum(axis=1) / seeds
    return means


def percentile(resampled: np.ndarray) -> tuple[float, float]:
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def drawn_p(resampled: np.ndarray, neutral: float) -> float:
    """Two-sided: how often the resampled values lie on the other side of neutral, plus one."""
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return float("nan")
    fewer = min((defined <= neutral).sum(), (defined >= neutral).sum())
    return float(min(1.0, 2 * (fewer + 1) / (len(defined) + 1)))
