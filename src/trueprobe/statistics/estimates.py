"""Every measure of a probe with its interval: for each checkpoint, and for the family they make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Columns, Gate, Measure, least
from trueprobe.statistics.multibootstrap import METHOD as MULTIBOOTSTRAP
from trueprobe.statistics.resampling import Resampling, columns_of, rows_where
from trueprobe.statistics.rows import Estimate
from trueprobe.statistics.spread import Trials
from trueprobe.statistics.verdict import FEWEST_GROUPS, Unjudged, judge
from trueprobe.types import GROUP, Verdict

OVER_ITEMS = "bootstrap over {groups}, t with skewness, 95 %"
OVER_SEEDS = "seeds and {groups} crossed, t with skewness, 95 %"
WILSON = "Wilson, 95 %"


@dataclass(frozen=True)
class CheckpointData:
    """One checkpoint's observations of a probe. The members of a family share the draws of their resampling."""

    model: str
    kind: str
    frame: pd.DataFrame
    resampling: Resampling
    family: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)
    terms: str = ""  # the factor whose groups may be too few to draw
    architecture: str = ""

    def drawn(self, rows: np.ndarray, scored: np.ndarray) -> Resampling:
        """How these rows are drawn: by their groups, or item by item within each where there are too few of them.

        The draws within a term depend on its items alone, so that the checkpoints of a family share them."""
        groups = self.resampling.groups(self.resampling.cells[rows][scored])
        if not self.terms or groups >= FEWEST_GROUPS:
            return replace(self.resampling, cells=self.resampling.cells[rows])
        items = pd.DataFrame({"item": self.frame["item"][rows], self.terms: self.frame[GROUP + self.terms][rows]})
        return Resampling.within(items, (self.terms,), len(self.resampling.weights) - 1, self.resampling.resample_seed)

    @cached_property
    def gates(self) -> Gates:
        return Gates(self.frame, self.resampling)

    def rows(self, where: Mapping[str, Any]) -> np.ndarray:
        """The observations at these conditions; each condition is looked up once."""
        rows = np.ones(len(self.frame), dtype=bool)
        for name, wanted in where.items():
            condition = (name, tuple(wanted) if isinstance(wanted, list) else wanted)
            if condition not in self._rows:
                self._rows[condition] = rows_where(self.frame, {name: wanted})
            rows &= self._rows[condition]
        return rows

    @cached_property
    def _rows(self) -> dict[tuple[str, Any], np.ndarray]:
        return {}


def estimate(
    probe: str,
    members: Sequence[CheckpointData],
    measures: Iterable[Measure],
    corrected_over: Iterable[str] = (),
    method: Method = "crossed",
) -> list[Estimate]:
    """The rows of each checkpoint, then, where there are several, those of the family."""
    return judge(unjudged(probe, members, measures, method), corrected_over)


def unjudged(
    probe: str, members: Sequence[CheckpointData], measures: Iterable[Measure], method: Method = "crossed"
) -> list[Unjudged]:
    """The same before p-values are corrected and verdicts assigned."""
    by_checkpoint: list[list[Unjudged]] = [[] for _ in members]
    family: list[Unjudged] = []
    for measure, samples in resampled(members, list(measures)):
        mine = [_checkpoint(probe, member, measure, one) for member, one in zip(members, samples, strict=True)]
        for rows, row in zip(by_checkpoint, mine, strict=True):
            rows.append(row)
        if len(members) > 1:
            family.append(_family(probe, members, measure, samples, mine, method))
    return [row for rows in [*by_checkpoint, family] for row in rows]


@dataclass(frozen=True)
class Resampled:
    """One measure of one checkpoint: its value under every draw, and the observations behind it."""

    values: np.ndarray  # [1 + R]
    columns: Columns
    scored: np.ndarray
    groups: int
    tied: float  # share of the scored observations; 0 for a measure of coverage
    resampling: Resampling
    covered: float  # share of the observations that hold anything to count; NaN where that is not known


def resampled(members: Sequence[CheckpointData], measures: list[Measure]) -> Iterator[tuple[Measure, list[Resampled]]]:
    """Measures over the same rows share their matrix products."""
    names = [name for measure in measures for name in measure.all_columns]
    columns = [columns_of(member.frame, names, member.resampling) for member in members]
    for (where, function), group in groupby(measures, key=lambda m: (tuple(m.where.items()), m.function)):
        together = list(group)
        wanted = [m.columns for m in together]
        picked, drawn, values = [], [], []
        for member, mine in zip(members, columns, strict=True):
            rows = member.rows(dict(where))
            here = mine.pick(rows)
            by_groups = replace(member.resampling, cells=here.cells)
            drawn.append(by_groups if together[0].over_groups else member.drawn(rows, together[0].scored(here)))
            picked.append(replace(here, cells=drawn[-1].cells))
            counted = function(picked[-1], wanted, drawn[-1].weights) if rows.any() else None
            values.append(None if counted is None else np.ascontiguousarray(counted.T, dtype=float))
        for i, measure in enumerate(together):
            yield (
                measure,
                [
                    _resampled(measure, p, v[i] if v is not None else None, by)
                    for by, p, v in zip(drawn, picked, values, strict=True)
                ],
            )


def _resampled(measure: Measure, columns: Columns, sample: np.ndarray | None, resampling: Resampling) -> Resampled:
    scored = measure.scored(columns)
    values = np.full(len(resampling.weights), np.nan) if sample is None else sample
    groups = resampling.groups(columns.cells[scored])
    return Resampled(
        values, columns, scored, groups, measure.tied(columns, scored), resampling, measure.covered(columns)
    )


def _checkpoint(probe: str, member: CheckpointData, measure: Measure, sample: Resampled) -> Unjudged:
    quantity = Quantity(measure.unit, measure.neutral)
    interval = of_checkpoint(sample.values, sample.groups, quantity, _trials(measure, sample))
    estimate = Estimate(
        probe=probe,
        model=member.model,
        measure=measure.name,
        conditions=measure.reported,
        value=float(sample.values[0]),
        low=interval.low,
        high=interval.high,
        n_items=int(sample.scored.sum()),
        n_unscored=int((~sample.scored).sum()),
        n_groups=sample.groups,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(interval, OVER_ITEMS, sample.resampling),
        verdict=Verdict.UNDECIDED,
        family=member.family,
        model_seed=member.labels.get("model_seed"),
        step=member.labels.get("step"),
        p=_tested(measure, sample, member.resampling.resample_seed, interval.p),
        detectable=interval.detectable,
        tied=sample.tied,
        covered=sample.covered,
    )
    passes = not member.gates.fails(measure.gate)
    row = Unjudged(estimate, interval.p, interval.se, interval.df, passes=passes)
    return row if measure.test is None else replace(row, tested=True, tail=measure.tail)


def _tested(measure: Measure, sample: Resampled, resample_seed: int, otherwise: float) -> float:
    """The p of the measure's own test, where it has one."""
    if measure.test is None or not sample.groups:
        return otherwise
    return measure.test(sample.columns, measure.columns, resample_seed)


def _method(interval: Interval, how: str, resampling: Resampling) -> str:
    text = {"student": how, "wilson": WILSON, "multibootstrap": MULTIBOOTSTRAP}[interval.made_by]
    return text.format(groups=" × ".join(resampling.factors))


def _family(
    probe: str,
    members: Sequence[CheckpointData],
    measure: Measure,
    samples: list[Resampled],
    mine: list[Unjudged],
    method: Method,
) -> Unjudged:
    """Over the seeds that pass the gate, have a number and coverage; over all of them where none does."""
    any_usable = any(row.usable for row in mine)
    able = [i for i, row in enumerate(mine) if row.usable == any_usable and not math.isnan(row.estimate.value)]
    first, values = members[0], np.array([mine[i].estimate.value for i in able])
    groups = min((samples[i].groups for i in able), default=0)
    quantity, seed = Quantity(measure.unit, measure.neutral), first.resampling.resample_seed
    over = of_family([samples[i].values for i in able], groups, quantity, method, seed)
    estimate = Estimate(
        probe=probe,
        model=first.family,
        measure=measure.name,
        conditions=measure.reported,
        value=float(values.mean()) if able else math.nan,
        low=over.low,
        high=over.high,
        n_items=min((mine[i].estimate.n_items for i in able), default=0),
        n_unscored=max(row.estimate.n_unscored for row in mine),
        n_groups=groups,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(over, OVER_SEEDS, samples[able[0] if able else 0].resampling),
        verdict=Verdict.UNDECIDED,
        level="family",
        family=first.family,
        step=first.labels.get("step"),
        n_seeds=len(able),
        sd_seeds=float(values.std(ddof=1)) if len(able) > 1 else math.nan,
        lowest=float(values.min()) if able else math.nan,
        highest=float(values.max()) if able else math.nan,
        p=over.p,
        detectable=over.detectable,
        tied=max((mine[i].estimate.tied for i in able), default=0.0),
        covered=least(mine[i].estimate.covered for i in able or range(len(mine))),
    )
    seeds = tuple(mine[i].p for i in able)
    passes = any(row.passes for row in mine)
    return Unjudged(estimate, over.p, over.se, over.df, tuple(values), seeds, over.parts, passes=passes)


def _trials(measure: Measure, sample: Resampled) -> Trials | None:
    """Items of a few terms are no independent trials: each term has its own share."""
    if measure.unit != "share" or measure.function not in (means, group_means) or sample.resampling.parted:
        return None
    return trials_of(sample.columns.values[measure.columns[0]][sample.scored], sample.groups, sample.resampling.factors)


class Gates:
    """Which gates a model does not pass; each is looked at once."""

    def __init__(self, frame: pd.DataFrame, resampling: Resampling) -> None:
        self.frame, self.resampling = frame, resampling
        self._failed: dict[tuple[object, ...], bool] = {}

    def fails(self, gate: Gate | None) -> bool:
        if gate is None:
            return False
        key = (gate.column, gate.least, *gate.where.items())
        if key not in self._failed:
            columns = columns_of(self.frame, [gate.column], self.resampling)
            rows = rows_where(self.frame, gate.where)
            value = group_means(columns.pick(rows), [(gate.column,)], self.resampling.weights[:1])[0, 0]
            self._failed[key] = not value >= gate.least  # nothing known is not passed either
        return self._failed[key]
