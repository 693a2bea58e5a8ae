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
from trueprobe.statistics.resampling import column_of, numbers_of, rows_where
from trueprobe.types import CONDITION, GROUP

_AT_ONCE = 2_000_000  # weights that are held together
_FEWEST = 2  # items with an answer
_MOST_LEFT_OUT = 4_000  # items of a measure that is no mean; it takes their square of time


@dataclass(frozen=True)
class ItemValues:
    values: np.ndarray  # [seeds, items]
    groups: np.ndarray  # [items], by the probe's first factor

    @property
    def variances(self) -> FacetVariances:
        return components(self.values, self.groups)


def item_values(
    frames: Sequence[pd.DataFrame], measure: Measure, factor: str, within: Sequence[str] = (), shared: bool = False
) -> ItemValues | None:
    """Of the observations of each checkpoint of a family; None where fewer than two groups are scored. `within`: parts
    that are no chance, whose means are taken out. `shared`: only items that every seed scored."""
    frames = [_at_conditions(frame, measure) for frame in frames]
    tables = [_table(frame, measure) for frame in frames]
    keys = tables[0].index
    for table in tables[1:]:
        keys = keys if keys.equals(table.index) else keys.union(table.index, sort=False)
    columns = [_columns(table.reindex(keys)) for table in tables]
    if shared:
        every = np.all([measure.scored(one) for one in columns], axis=0)
        keys, columns = keys[every], [one.pick(every) for one in columns]
    in_reach = measure.function in (means, group_means) or len(keys) <= _MOST_LEFT_OUT
    if any(measure.scored(one).sum() < _FEWEST for one in columns) or not in_reach:
        return None
    about = pd.concat([frame.set_index(_keys(frame)) for frame in frames])
    about = about[~about.index.duplicated()].reindex(keys)
    groups, values = about[GROUP + factor].astype(str).to_numpy(), np.stack([_counted(measure, one) for one in columns])
    for part in within:
        values = _without_parts(values, column_of(about, part).astype(str).to_numpy())
    return ItemValues(values, groups) if len(set(groups)) > 1 else None


def _keys(frame: pd.DataFrame) -> pd.Index:
    """An item's row in every seed's table."""
    named = frame[["item", "part"]].astype(str)
    nth = named.groupby(["item", "part"], sort=False).cumcount().astype(str)
    return pd.Index(named["item"] + "\0" + named["part"] + "\0" + nth)


def _at_conditions(frame: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The rows of items that the measure is about."""
    conditions = {key: wanted for key, wanted in measure.where.items() if CONDITION + key in frame}
    return frame[rows_where(frame, conditions)]


def _table(frame: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The measure's columns, by item. Where its answers leave an item out (a gate on each target), the item has no
    answer: in another run there will be as many of them."""
    answers = {key: wanted for key, wanted in measure.where.items() if CONDITION + key not in frame}
    columns = {name: numbers_of(frame, name) for name in measure.columns}
    rows = pd.Series(rows_where(frame, answers), index=frame.index)
    return pd.DataFrame(columns).where(rows).set_axis(_keys(frame))


def _columns(table: pd.DataFrame) -> Columns:
    values = {str(name): table[name].to_numpy(dtype=float) for name in table}
    return Columns(values, np.arange(len(table)))


def _counted(measure: Measure, columns: Columns) -> np.ndarray:
    """What each item adds."""
    if measure.function not in (means, group_means):
        return _left_out(measure, columns)
    scored, answers = measure.scored(columns), columns.values[measure.columns[0]]
    number = float(answers[scored].mean())
    return np.where(scored, number + (answers - number) / scored.mean(), number)


def _left_out(measure: Measure, columns: Columns) -> np.ndarray:
    """n · number − (n − 1) · the number without each item; an item without which there is none is at the number."""
    n = len(columns.cells)
    columns = Columns(columns.values, np.arange(n))  # each item is drawn by itself
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
