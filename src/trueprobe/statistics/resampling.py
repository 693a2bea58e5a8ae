"""Which items are drawn how often: the bootstrap's weights, by the probe's groups.

Where an item belongs to two crossed groups (a target and a background occupation), both are resampled and their
weights multiply. Where a probe names conditions to draw `within` (the two sides of each association test), every part
has draws of its own, which no other part changes. `resample_seed` is our random seed, never a model's. All checkpoints
of a family share their draws.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.measure import TIED, Columns
from trueprobe.types import CONDITION, GROUP

RESAMPLES = 10_000
_AT_ONCE = 200_000  # groups that are picked together


@dataclass(frozen=True)
class Resampling:
    """The cells of a probe's observations and how often each is drawn: weights[0] is the sample itself."""

    cells: np.ndarray  # of each observation
    weights: np.ndarray  # [1 + R, cells], float32
    factors: tuple[str, ...]
    names: np.ndarray  # [cells, factors]
    resample_seed: int = 0
    parted: bool = False  # drawn within parts

    def groups(self, cells: np.ndarray) -> int:
        """Independent units behind these cells: of the crossed factors that apply, the one with fewest groups."""
        distinct = [set(self.names[np.unique(cells), f]) - {""} for f in range(len(self.factors))]
        return min((len(groups) for groups in distinct if groups), default=0)

    @classmethod
    def of(cls, groups: pd.DataFrame, resamples: int = RESAMPLES, resample_seed: int = 0) -> Resampling:
        """`groups` has one column per crossed factor; "" means that the factor does not apply."""
        rng = np.random.default_rng(resample_seed)
        codes, distinct = pd.factorize(pd.MultiIndex.from_frame(groups) if groups.shape[1] > 1 else groups.iloc[:, 0])
        table = pd.DataFrame(list(distinct)) if groups.shape[1] > 1 else pd.DataFrame({0: list(distinct)})
        weights = np.ones((1 + resamples, len(table)), dtype=np.float32, order="F")  # read by columns
        for factor in table.columns:
            applying = sorted(set(table[factor]) - {""})
            if not applying:
                continue
            drawn = dict(zip(applying, _drawn(rng, resamples, len(applying)), strict=True))
            for cell, name in enumerate(table[factor]):
                if name != "":
                    weights.T[cell, 1:] *= drawn[name]
        names = table.to_numpy(dtype=str).reshape(len(table), groups.shape[1])  # also where there is nothing to draw
        return cls(codes, weights, tuple(map(str, groups.columns)), names, resample_seed)

    @classmethod
    def within(
        cls, groups: pd.DataFrame, parts: Sequence[str], resamples: int = RESAMPLES, resample_seed: int = 0
    ) -> Resampling:
        """Of one factor, within each combination of the columns `parts`: a part has as many groups in every draw as it
        has, and its draws depend on its name, its groups and the random seed alone."""
        (factor,) = (name for name in groups.columns if name not in parts)
        part = ["/".join(values) for values in zip(*(groups[name].astype(str) for name in parts), strict=True)]
        codes, distinct = pd.factorize(pd.MultiIndex.from_arrays([part, groups[factor]]))
        weights = np.ones((1 + resamples, len(distinct)), dtype=np.float32, order="F")
        cells: dict[str, list[tuple[str, int]]] = {}
        for cell, (name, group) in enumerate(distinct):
            cells.setdefault(name, []).append((group, cell))
        for name, members in cells.items():
            rng = np.random.default_rng([resample_seed, zlib.crc32(name.encode())])
            weights.T[[cell for _, cell in sorted(members)], 1:] = _drawn(rng, resamples, len(members))
        names = np.array([group for _, group in distinct], dtype=str).reshape(-1, 1)
        return cls(codes, weights, (f"{factor} within {' and '.join(parts)}",), names, resample_seed, parted=True)

    @classmethod
    def shared(
        cls, groups: Sequence[pd.DataFrame], resample_seed: int = 0, parts: Sequence[str] = ()
    ) -> list[Resampling]:
        """One for each table of groups, all with the same draws, within `parts` where they are named."""
        together = pd.concat(groups, ignore_index=True)
        if parts:
            whole = cls.within(together, parts, resample_seed=resample_seed)
        else:
            whole = cls.of(together, resample_seed=resample_seed)
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
    wanted = {*names, TIED} if TIED in frame else set(names)
    numbers = {name: pd.to_numeric(column_of(frame, name), errors="coerce").to_numpy(dtype=float) for name in wanted}
    return Columns(numbers, resampling.cells)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """A condition of the items, or a value that was observed."""
    condition = CONDITION + name
    return frame[condition if condition in frame else name]


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> np.ndarray:
    rows = np.ones(len(frame), dtype=bool)
    for name, wanted in where.items():
        rows &= column_of(frame, name).isin(list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]).to_numpy()
    return rows
