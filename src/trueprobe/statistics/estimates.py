"""Every measure of a probe with its interval: for each checkpoint, and for the family they make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.coverage import covered, least, untied
from trueprobe.statistics.exact import Trials
from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Columns, Function, Gate, Measure, NetworkSize, batches, counted
from trueprobe.statistics.resampling import MULTIBOOTSTRAP, Groups, Resampling, columns_of, rows_where
from trueprobe.statistics.rows import Estimate
from trueprobe.statistics.spread import Samples
from trueprobe.statistics.unjudged import Unjudged, judged
from trueprobe.statistics.verdict import FEWEST_GROUPS, UNKNOWN, Share
from trueprobe.types import GROUP, Unit

OVER_ITEMS = "bootstrap over {groups}, t with skewness, 95 %"
OVER_SEEDS = "seeds and {groups} crossed, t with skewness, 95 %"
BINOMIAL = "exact binomial, 95 %"


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
    network: NetworkSize | None = None  # where its size is known

    def drawn(self, rows: np.ndarray, by_items: bool = False) -> Resampling:
        """How these rows are drawn: by their groups, or item by item within each term.

        The draws within a term depend on its items alone, so that the checkpoints of a family share them."""
        if not by_items:
            return replace(self.resampling, cells=self.resampling.cells[rows])
        items, terms = (tuple(self.frame[name].to_numpy()[rows]) for name in ("item", GROUP + self.terms))
        return _within(items, terms, self.terms, len(self.resampling.weights) - 1, self.resampling.resample_seed)

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


@lru_cache(maxsize=4)  # every measure and checkpoint asks for the same ones
def _within(items: tuple[str, ...], terms: tuple[str, ...], factor: str, resamples: int, seed: int) -> Resampling:
    drawn = Resampling.of(pd.DataFrame({"item": items, factor: terms}), resamples, seed, within=(factor,))
    return replace(drawn, by_items=True)


def estimate(
    probe: str,
    members: Sequence[CheckpointData],
    measures: Iterable[Measure],
    corrected_over: Iterable[str] = (),
    method: Method = "crossed",
) -> list[Estimate]:
    """The rows of each checkpoint, then, where there are several, those of the family."""
    return judged(unjudged(probe, members, measures, method), corrected_over)


def unjudged(
    probe: str, members: Sequence[CheckpointData], measures: Iterable[Measure], method: Method = "crossed"
) -> list[Unjudged]:
    """The same before p-values are corrected and verdicts assigned."""
    by_checkpoint: list[list[Unjudged]] = [[] for _ in members]
    family: list[Unjudged] = []
    for measure, numbers, behind in resampled(members, list(measures)):
        quantity = quantity_of(measure)
        samples = quantity.on_scale(numbers)
        for i, (member, evidence) in enumerate(zip(members, behind, strict=True)):
            interval = of_checkpoint(samples, i, evidence.groups, quantity, _trials(measure, evidence))
            value = float(numbers.values[i, 0])
            by_checkpoint[i].append(_checkpoint(probe, member, measure, evidence, value, interval))
        if len(members) > 1:
            latest = [rows[-1] for rows in by_checkpoint]
            family.append(_family(probe, members, measure, behind, latest, samples, method))
    return [row for rows in [*by_checkpoint, family] for row in rows]


def quantity_of(measure: Measure) -> Quantity:
    return Quantity(measure.unit, measure.neutral, measure.differences > 0, max(1, measure.differences))


@dataclass(frozen=True)
class ScoredRows:
    """The observations behind a number."""

    rows: np.ndarray
    n_items: int
    groups: Groups
    untied: Share  # that are no tie

    def ties(self, measure: Measure) -> Share:
        """The share that the measure's verdict depends on."""
        return UNKNOWN if measure.of_coverage else self.untied


@dataclass(frozen=True)
class Picked:
    """One checkpoint's observations at a measure's conditions. What only depends on which of them are scored is looked
    up once: most measures score the same ones."""

    columns: Columns
    resampling: Resampling
    _scored: dict[bytes, ScoredRows] = field(default_factory=dict)
    _covered: dict[str, Share] = field(default_factory=dict)

    def scored(self, measure: Measure) -> ScoredRows:
        """Of a contrast, with the groups of the part that has fewest."""
        scored = self.at(measure.scored(self.columns))
        if not measure.differences:
            return scored
        cells = (self.columns.cells[scored.rows & cell] for cell in measure.cells(self.columns))
        return replace(scored, groups=min(map(self.resampling.groups, cells)))

    def at(self, rows: np.ndarray) -> ScoredRows:
        key = rows.tobytes()
        if key not in self._scored:
            groups = self.resampling.groups(self.columns.cells[rows])
            self._scored[key] = ScoredRows(rows, int(rows.sum()), groups, untied(self.columns, rows, self.resampling))
        return self._scored[key]

    def covered(self, measure: Measure) -> Share:
        """The share of the observations with a countable answer, also of those without a number, which is the
        point."""
        name = measure.coverage
        if measure.differences:
            return least(covered(self.columns, name, cell, self.resampling) for cell in measure.cells(self.columns))
        if name not in self._covered:
            every = np.ones(len(self.columns.cells), dtype=bool)
            self._covered[name] = covered(self.columns, name, every, self.resampling)
        return self._covered[name]


@dataclass(frozen=True)
class Evidence:
    """The observations behind one measure of one checkpoint."""

    picked: Picked
    scored: ScoredRows
    untied: Share
    covered: Share

    @classmethod
    def of(cls, measure: Measure, picked: Picked) -> Evidence:
        scored = picked.scored(measure)
        return cls(picked, scored, scored.ties(measure), picked.covered(measure))

    @property
    def groups(self) -> Groups:
        return self.scored.groups


def resampled(
    members: Sequence[CheckpointData], measures: list[Measure]
) -> Iterator[tuple[Measure, Samples, list[Evidence]]]:
    """Each measure with its values under every draw and what they were counted of. Measures over the same rows share
    their matrix products, and so do checkpoints with the same draws."""
    names = [name for measure in measures for name in measure.all_columns]
    columns = [columns_of(member.frame, names, member.resampling) for member in members]
    for _, alike in groupby(measures, key=lambda m: tuple(m.where.items())):
        first, *others = alike
        here = [
            _Here(member, numbers, member.rows(first.where)) for member, numbers in zip(members, columns, strict=True)
        ]
        for few, same in groupby([first, *others], key=lambda m: [one.few_groups(m) for one in here]):
            picked = [one.by_items if by_items else one.by_groups for one, by_items in zip(here, few, strict=True)]
            yield from _counted(same, picked, len(members[0].resampling.weights))


def _counted(
    measures: Iterable[Measure], picked: Sequence[Picked], resamples: int
) -> Iterator[tuple[Measure, Samples, list[Evidence]]]:
    for batch in batches(measures, [one.columns for one in picked], resamples):
        values = values_of(batch.measures[0].function, batch.quantities, picked)
        samples = [Samples(values[:, i]) for i in range(len(batch.quantities))]
        for measure, which in zip(batch.measures, batch.which, strict=True):
            yield measure, samples[which], [Evidence.of(measure, one) for one in picked]


@dataclass(frozen=True)
class _Here:
    """One checkpoint at some conditions."""

    member: CheckpointData
    columns: Columns  # at all conditions
    rows: np.ndarray

    def few_groups(self, measure: Measure) -> bool:
        """Too few terms are not drawn: their items are."""
        terms = self.member.terms and not measure.over_groups
        return bool(terms) and self.by_groups.scored(measure).groups.n < FEWEST_GROUPS

    @cached_property
    def by_groups(self) -> Picked:
        return Picked(self.columns.pick(self.rows), self.member.drawn(self.rows))

    @cached_property
    def by_items(self) -> Picked:
        drawn = self.member.drawn(self.rows, by_items=True)
        return Picked(replace(self.by_groups.columns, cells=drawn.cells), drawn)


def values_of(function: Function, quantities: list[tuple[str, ...]], picked: Sequence[Picked]) -> np.ndarray:
    """[checkpoints, quantities, 1 + R]"""
    weights = picked[0].resampling.weights
    if any(one.resampling.weights is not weights for one in picked):
        return np.concatenate([values_of(function, quantities, [one]) for one in picked])
    return counted(function, quantities, [one.columns for one in picked], weights)


def _checkpoint(
    probe: str, member: CheckpointData, measure: Measure, evidence: Evidence, value: float, interval: Interval
) -> Unjudged:
    estimate = Estimate(
        probe=probe,
        model=member.model,
        measure=measure.name,
        conditions=measure.reported,
        value=value,
        low=interval.low,
        high=interval.high,
        n_items=evidence.scored.n_items,
        n_unscored=len(evidence.scored.rows) - evidence.scored.n_items,
        n_groups=evidence.groups.n,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(interval.made_by, OVER_ITEMS, evidence.picked.resampling.factors),
        family=member.family,
        model_seed=member.labels.get("model_seed"),
        step=member.labels.get("step"),
        p=_tested(measure, evidence, member.resampling.resample_seed, interval.p),
        detectable=interval.detectable(),
        tied=tied_share(evidence.untied),
        covered=evidence.covered.value,
        covered_low=evidence.covered.low,
        covered_high=evidence.covered.high,
    )
    passes = not member.gates.fails(measure.gate)
    row = Unjudged(estimate, interval, evidence.covered, evidence.untied, passes=passes)
    return row if measure.test is None else replace(row, tested=True, tail=measure.tail)


def tied_share(untied: Share) -> float:
    return 0.0 if math.isnan(untied.value) else 1 - untied.value


def _tested(measure: Measure, evidence: Evidence, resample_seed: int, otherwise: float) -> float:
    """The p of the measure's own test, where it has one."""
    if measure.test is None or not evidence.groups.n:
        return otherwise
    return measure.test(evidence.picked.columns, measure.columns, resample_seed)


@lru_cache(maxsize=64)
def _method(made_by: str, how: str, factors: tuple[str, ...]) -> str:
    text = {"student": how, "exact": BINOMIAL, "multibootstrap": MULTIBOOTSTRAP}[made_by]
    return text.format(groups=" × ".join(factors))


def _family(
    probe: str,
    members: Sequence[CheckpointData],
    measure: Measure,
    behind: list[Evidence],
    by_seed: list[Unjudged],
    samples: Samples,
    method: Method,
) -> Unjudged:
    """Over the seeds that pass the gate, have a number and coverage; over all of them where none does."""
    any_usable = any(row.usable for row in by_seed)
    able = [i for i, row in enumerate(by_seed) if row.usable == any_usable and not math.isnan(row.estimate.value)]
    first, values = members[0], np.array([by_seed[i].estimate.value for i in able])
    groups = min((behind[i].groups for i in able), default=Groups(0))
    quantity, seed = quantity_of(measure), first.resampling.resample_seed
    over = of_family(samples.pick(able), groups, quantity, method, seed)
    covered = least(by_seed[i].covered for i in able or range(len(by_seed)))
    untied = least(by_seed[i].untied for i in able)
    estimate = Estimate(
        probe=probe,
        model=first.family,
        measure=measure.name,
        conditions=measure.reported,
        value=float(values.mean()) if able else math.nan,
        low=over.low,
        high=over.high,
        n_items=min((by_seed[i].estimate.n_items for i in able), default=0),
        n_unscored=max(row.estimate.n_unscored for row in by_seed),
        n_groups=groups.n,
        unit=measure.unit,
        neutral=measure.neutral,
        method=_method(over.made_by, OVER_SEEDS, behind[able[0] if able else 0].picked.resampling.factors),
        level="family",
        family=first.family,
        step=first.labels.get("step"),
        n_seeds=len(able),
        sd_seeds=float(values.std(ddof=1)) if len(able) > 1 else math.nan,
        lowest=float(values.min()) if able else math.nan,
        highest=float(values.max()) if able else math.nan,
        p=over.p,
        detectable=over.detectable(),
        tied=tied_share(untied),
        covered=covered.value,
        covered_low=covered.low,
        covered_high=covered.high,
    )
    seeds = tuple(by_seed[i].interval.p for i in able)
    passes = any(row.passes for row in by_seed)
    return Unjudged(estimate, over, covered, untied, tuple(values.tolist()), seeds, passes=passes)


def _trials(measure: Measure, evidence: Evidence) -> Trials | None:
    """Items of a few terms are no independent trials: each term has its own share; nor are items with weights."""
    if (
        measure.unit is not Unit.SHARE
        or measure.function not in (means, group_means)
        or evidence.picked.resampling.by_items
        or evidence.picked.columns.item_weights
    ):
        return None
    return trials_of(
        evidence.picked.columns.values[measure.columns[0]][evidence.scored.rows],
        evidence.groups.n,
        evidence.picked.resampling.factors,
    )


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
