"""What each item adds to a number: the table of seeds × items from which variances are taken.

Of a mean it is the item's answer itself. Of any other measure it is the jackknife's pseudo-value, n · number less
(n − 1) · number without the item, whose mean is the number but for a bias of order 1/n (Efron 1982). An item without an
answer is at the seed's number, and the others count for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Columns, Measure
from trueprobe.statistics.power import FacetVariances, components
from trueprobe.statistics.resampling import column_of, rows_where
from trueprobe.types import GROUP

_AT_ONCE = 2_000_000  # weights that are held together
_MOST_LEFT_OUT = 4_000  # items of a measure that is no mean; it takes their square of time


@dataclass(frozen=True)
class ItemValues:
    values: np.ndarray  # [seeds, items]
    groups: np.ndarray  # [items], by the probe's first factor
    scored: float  # the share of answers that count

    @property
    def variances(self) -> FacetVariances:
        return components(self.values, self.groups)


def item_values(
    frames: Sequence[pd.DataFrame], measure: Measure, factor: str, within: Sequence[str] = ()
) -> ItemValues | None:
    """Of the observations of each checkpoint of a family; None where fewer than two groups are scored. `within`: parts
    that are no chance, whose means are taken out."""
    tables = [_table(frame, measure) for frame in frames]
    keys = tables[0].index
    for table in tables[1:]:
        keys = keys if keys.equals(table.index) else keys.union(table.index, sort=False)
    if not len(keys) or (measure.function not in (means, group_means) and len(keys) > _MOST_LEFT_OUT):
        return None
    counted = [_counted(measure, table.reindex(keys)) for table in tables]
    known = [one for one in counted if one is not None]
    if len(known) < len(counted):
        return None
    about = pd.concat([frame.set_index(_keys(frame)) for frame in frames])
    about = about[~about.index.duplicated()].reindex(keys)
    values, groups = np.stack([answers for answers, _ in known]), about[GROUP + factor].astype(str).to_numpy()
    for part in within:
        values = _without_parts(values, column_of(about, part).astype(str).to_numpy())
    scored = float(np.mean([share for _, share in known]))
    return ItemValues(values, groups, scored) if len(set(groups)) > 1 else None


def _keys(frame: pd.DataFrame) -> pd.Index:
    """An item's row in every seed's table."""
    named = frame[["item", "part"]].astype(str)
    nth = named.groupby(["item", "part"], sort=False).cumcount().astype(str)
    return pd.Index(named["item"] + "\0" + named["part"] + "\0" + nth)


def _table(frame: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The measure's columns of one checkpoint at its conditions, by item."""
    columns = {name: pd.to_numeric(column_of(frame, name), errors="coerce") for name in measure.columns}
    return pd.DataFrame(columns).set_axis(_keys(frame))[rows_where(frame, measure.where)]


def _counted(measure: Measure, table: pd.DataFrame) -> tuple[np.ndarray, float] | None:
    """What each item adds, and the share of items with an answer; None where there are fewer than two."""
    values = {name: table[name].to_numpy(dtype=float) for name in measure.columns}
    columns = Columns(values, np.arange(len(table)))
    scored = measure.scored(columns)
    if scored.sum() < 2:
        return None
    share = float(scored.mean())
    if measure.function in (means, group_means):
        answers = columns.values[measure.columns[0]]
        number = float(answers[scored].mean())
        return np.where(scored, number + (answers - number) / share, number), share
    return _left_out(measure, columns), share


def _left_out(measure: Measure, columns: Columns) -> np.ndarray:
    """n · number − (n − 1) · the number without each item; an item without which there is none is at the number."""
    n = len(columns.cells)
    number = float(measure.function(columns, [measure.columns], np.ones((1, n), dtype=np.float32))[0, 0])
    without = np.empty(n)
    for start in range(0, n, step := max(1, _AT_ONCE // n)):
        rows = np.arange(start, min(n, start + step))
        weights = np.ones((len(rows), n), dtype=np.float32)
        weights[np.arange(len(rows)), rows] = 0
        without[rows] = measure.function(columns, [measure.columns], weights)[:, 0]
    return np.where(np.isnan(without), number, n * number - (n - 1) * without)


def _without_parts(values: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Each part moved to the mean of all, in every seed."""
    moved = values.copy()
    for part in set(parts):
        here = parts == part
        moved[:, here] += (values.mean(axis=1) - values[:, here].mean(axis=1))[:, None]
    return moved


def with_wordings(variances: FacetVariances, numbers: Sequence[float]) -> FacetVariances:
    """With the variance of one number over several wordings."""
    if len(numbers) < 2:
        return variances
    return replace(variances, wordings=float(np.var(numbers, ddof=1)), n_wordings=len(numbers))
