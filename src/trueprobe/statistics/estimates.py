"""Every measure of a probe with its interval: for each checkpoint, and for the family they make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Columns, Gate, Measure
from trueprobe.statistics.multibootstrap import METHOD as MULTIBOOTSTRAP
from trueprobe.statistics.resampling import Resampling, columns_of, rows_where
from trueprobe.statistics.spread import Trials
from trueprobe.statistics.verdict import Found, judged
from trueprobe.types import Estimate

OVER_ITEMS = "bootstrap over {groups}, t with skewness, 95 %"
OVER_SEEDS = "seeds and {groups} crossed, t with skewness, 95 %"
WILSON = "Wilson, 95 %"


@dataclass(frozen=True)
class Member:
    """One checkpoint's observations of a probe. The members of a family share the draws of their resampling."""

    model: str
    kind: str
    frame: pd.DataFrame
    resampling: Resampling
    family: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gates", Gates(self.frame, self.resampling))

    gates: Gates = field(init=False)

    def rows(self, where: Mapping[str, Any]) -> np.ndarray:
        """The observations at these conditions; each condition is looked up once."""
        rows = np.ones(len(self.frame), dtype=bool)
        for name, wanted in where.items():
            condition = (name, tuple(wanted) if isinstance(wanted, list) else wanted)
            if condition not in self._known:
                self._known[condition] = rows_where(self.frame, {name: wanted})
            rows &= self._known[condition]
        return rows

    @cached_property
    def _known(self) -> dict[tuple[str, Any], np.ndarray]:
        return {}


def estimates(
    probe: str,
    model: str,
    frame: pd.DataFrame,
    measures: Iterable[Measure],
    resampling: Resampling,
    corrected_over: Iterable[str] = (),
) -> list[Estimate]:
    """One checkpoint's rows, one per measure."""
    return count(probe, [Member(model, "", frame, resampling)], measures, corrected_over)


def count(
    probe: str,
    members: Sequence[Member],
    measures: Iterable[Measure],
    corrected_over: Iterable[str] = (),
    method: Method = "crossed",
) -> list[Estimate]:
    """The rows of each checkpoint, then, where there are several, those of the family."""
    return judged(find(probe, members, measures, method), corrected_over)


def find(probe: str, members: Sequence[Member], measures: Iterable[Measure], method: Method = "crossed") -> list[Found]:
    """The same before p-values are corrected and verdicts given."""
    found: list[list[Found]] = [[] for _ in members]
    family: list[Found] = []
    for measure, seen in sampled(members, list(measures)):
        mine = [_checkpoint(probe, member, measure, one) for member, one in zip(members, seen, strict=True)]
        for rows, row in zip(found, mine, strict=True):
            rows.append(row)
        if len(members) > 1:
            family.append(_family(probe, members, measure, seen, mine, method))
    return [row for rows in [*found, family] for row in rows]


@dataclass(frozen=True)
class Seen:
    """One measure of one checkpoint: its value under every draw, and the observations behind it."""

    sample: np.ndarray  # [1 + R]
    columns: Columns
    scored: np.ndarray
    groups: int
    tied: float  # share of the scored observations; 0 for a measure of coverage


def sampled(members: Sequence[Member], measures: list[Measure]) -> Iterator[tuple[Measure, list[Seen]]]:
    """Measures over the same rows share their matrix products."""
    names = [name for measure in measures for name in measure.columns]
    columns = [columns_of(member.frame, names, member.resampling) for member in members]
    for (where, function), group in groupby(measures, key=lambda m: (tuple(m.where.items()), m.function)):
        together = list(group)
        wanted = [m.columns for m in together]
        picked, values = [], []
        for member, mine in zip(members, columns, strict=True):
            rows = member.rows(dict(where))
            picked.append(mine.pick(rows))
            found = function(picked[-1], wanted, member.resampling.weights) if rows.any() else None
            values.append(None if found is None else np.ascontiguousarray(found.T, dtype=float))
        for i, measure in enumerate(together):
            yield (
                measure,
                [
                    _seen(measure, p, v[i] if v is not None else None, member.resampling)
                    for member, p, v in zip(members, picked, values, strict=True)
                ],
            )


def _seen(measure: Measure, columns: Columns, sample: np.ndarray | None, resampling: Resampling) -> Seen:
    scored = ~np.isnan(np.stack([columns.values[name] for name in measure.columns])).any(axis=0)
    nothing = np.full(len(resampling.weights), np.nan)
    groups = resampling.groups(columns.cells[scored])
    return Seen(nothing if sample is None else sample, columns, scored, groups, measure.tied(columns, scored))


def _checkpoint(probe: str, member: Member, measure: Measure, seen: Seen) -> Found:
    quantity = Quantity(measure.unit, measure.neutral)
    found = of_checkpoint(seen.sample, seen.groups, quantity, _trials(measure, seen, member.resampling))
    own = (
        measure.test(seen.columns, measure.columns, member.resampling.resample_seed)
        if measure.test and seen.groups
        else found.p
    )
    estimate = Estimate(
        probe=probe,
        model=member.model,
        measure=measure.name,
        conditions=measure.conditions,
        value=float(seen.sample[0]),
        low=found.low,
        high=found.high,
        n_items=int(seen.scored.sum()),
        n_unscored=int((~seen.scored).sum()),
        n_groups=seen.groups,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(found, OVER_ITEMS, member.resampling),
        verdict="",
        family=member.family,
        model_seed=member.labels.get("model_seed"),
        step=member.labels.get("step"),
        p=own,
        detectable=found.detectable,
    )
    passes, tested = not member.gates.fails(measure.gate), measure.test is not None
    return Found(estimate, found.p, found.se, found.df, tested=tested, passes=passes, tied=seen.tied)


def _method(found: Interval, how: str, resampling: Resampling) -> str:
    text = {"student": how, "wilson": WILSON, "multibootstrap": MULTIBOOTSTRAP}[found.made_by]
    return text.format(groups=" × ".join(resampling.factors))


def _family(
    probe: str, members: Sequence[Member], measure: Measure, seen: list[Seen], mine: list[Found], method: Method
) -> Found:
    """Over the seeds that pass the gate, have a number and are not mostly ties; over all of them where none does."""
    usable = any(one.usable for one in mine)
    able = [i for i, one in enumerate(mine) if one.usable == usable and not math.isnan(one.estimate.value)]
    first, values = members[0], np.array([mine[i].estimate.value for i in able])
    groups = min((seen[i].groups for i in able), default=0)
    quantity, seed = Quantity(measure.unit, measure.neutral), first.resampling.resample_seed
    over = of_family([seen[i].sample for i in able], groups, quantity, method, seed)
    estimate = Estimate(
        probe=probe,
        model=first.family,
        measure=measure.name,
        conditions=measure.conditions,
        value=float(values.mean()) if able else math.nan,
        low=over.low,
        high=over.high,
        n_items=min((mine[i].estimate.n_items for i in able), default=0),
        n_unscored=max(one.estimate.n_unscored for one in mine),
        n_groups=groups,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(over, OVER_SEEDS, first.resampling),
        verdict="",
        level="family",
        family=first.family,
        step=first.labels.get("step"),
        n_seeds=len(able),
        sd_seeds=float(values.std(ddof=1)) if len(able) > 1 else math.nan,
        lowest=float(values.min()) if able else math.nan,
        highest=float(values.max()) if able else math.nan,
        p=over.p,
        detectable=over.detectable,
    )
    seeds = tuple(mine[i].p for i in able)
    passes, tied = any(one.passes for one in mine), max((mine[i].tied for i in able), default=0.0)
    return Found(estimate, over.p, over.se, over.df, tuple(values), seeds, over.parts, passes=passes, tied=tied)


def _trials(measure: Measure, seen: Seen, resampling: Resampling) -> Trials | None:
    if measure.unit != "share" or measure.function not in (means, group_means):
        return None
    return trials_of(seen.columns.values[measure.columns[0]][seen.scored], seen.groups, resampling.factors)


class Gates:
    """Which gates a model does not pass; each is looked at once."""

    def __init__(self, frame: pd.DataFrame, resampling: Resampling) -> None:
        self.frame, self.resampling = frame, resampling
        self.known: dict[tuple, bool] = {}

    def fails(self, gate: Gate | None) -> bool:
        if gate is None:
            return False
        key = (gate.column, gate.least, *gate.where.items())
        if key not in self.known:
            columns = columns_of(self.frame, [gate.column], self.resampling)
            rows = rows_where(self.frame, gate.where)
            value = group_means(columns.pick(rows), [(gate.column,)], self.resampling.weights[:1])[0, 0]
            self.known[key] = not value >= gate.least  # nothing known is not passed either
        return self.known[key]
