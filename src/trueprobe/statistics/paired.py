"""Two models or two families on the same items: difference, interval and permutation test; and findings about two.

Items that any of them did not score are left out for all. Two single checkpoints are judged by swapping their answers
group by group, and their interval holds the differences that this test does not reject; with few groups Student's
interval errs too often. Families are judged by the interval over their seeds and items; p of dealing their seeds to two
families again stands next to it.

A finding about two models (is the larger better, one architecture than another, one network than all?) is the quantity
of the first minus that of the second, paired by item on what both scored; a family with all its seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from trueprobe.statistics.claims import ClaimSubject, PartMeans, claim_columns, result
from trueprobe.statistics.coverage import least
from trueprobe.statistics.equivalence import Equivalence, Side, equivalence
from trueprobe.statistics.estimates import CheckpointData, Picked, tied_share
from trueprobe.statistics.interval import Interval, Quantity, interval
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import (
    LARGER,
    Claim,
    Columns,
    Function,
    Lead,
    Measure,
    MeasureBatch,
    NetworkSize,
    batches,
    counted,
)
from trueprobe.statistics.permutation import Swapped, seeds_dealt_ps, within_sets
from trueprobe.statistics.resampling import Resampling, columns_of, groups_of
from trueprobe.statistics.rows import AGAINST, ClaimResult, Difference, VariantDifference, changed
from trueprobe.statistics.spread import Samples, Spread
from trueprobe.statistics.verdict import Case, Judgement, Share, judge, together
from trueprobe.types import CONDITION, GROUP, Card, Unit, Verdict


@dataclass(frozen=True)
class Sides:
    """The checkpoints of the two sides, in step: row i of every frame is the same item."""

    first: tuple[CheckpointData, ...]
    second: tuple[CheckpointData, ...]

    @classmethod
    def of(
        cls,
        first: Sequence[CheckpointData],
        second: Sequence[CheckpointData],
        factors: Sequence[str],
        parts: Sequence[str] = (),
    ) -> Sides:
        """The groups of `factors` are drawn, where `parts` are named within each of them."""
        frames = _in_step([m.frame[m.frame["why_not"] == ""] for m in (*first, *second)])
        seed = first[0].resampling.resample_seed
        (drawn,) = Resampling.shared([groups_of(frames[0], factors, parts)], seed, parts)
        members = [
            CheckpointData(m.model, m.kind, frame, drawn, m.family, m.labels)
            for m, frame in zip((*first, *second), frames, strict=True)
        ]
        return cls(tuple(members[: len(first)]), tuple(members[len(first) :]))

    @property
    def members(self) -> tuple[CheckpointData, ...]:
        return (*self.first, *self.second)

    @property
    def resampling(self) -> Resampling:
        return self.first[0].resampling

    @property
    def fewest_seeds(self) -> int:
        return min(len(self.first), len(self.second))

    @property
    def single(self) -> bool:
        return len(self.first) == len(self.second) == 1


def _in_step(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Those rows of each whose item and part are in all of them, in the order of the first."""
    keys = ["item", "part"]
    if all(np.array_equal(frames[0][key], frame[key]) for frame in frames[1:] for key in keys):
        return [frame.reset_index(drop=True) for frame in frames]
    named = [frame.set_index(keys) for frame in frames]
    common = named[0].index
    for frame in named[1:]:
        common = common.intersection(frame.index, sort=False)
    return [frame.loc[common].reset_index() for frame in named]


def to_pair(card: Card, frame: pd.DataFrame, resample_seed: int) -> CheckpointData:
    """A checkpoint whose items are drawn once it is known which of them the other side scored too."""
    nothing = Resampling.of(pd.DataFrame({"": ["-"]}), 0, resample_seed)
    return CheckpointData(card.name, card.kind, frame, nothing, card.family, card.labels)


def compare(
    label: str, sides: Sides, measures: Sequence[Measure], corrected_over: Sequence[str] = ()
) -> list[Difference]:
    """One row per measure, with its verdict alone; p corrected over the conditions that ask one thing many times."""
    differences = list(unjudged_differences(label, sides, measures, corrected_over))
    judgements = judge([case for _, case in differences])
    return [with_verdict(row, judgement) for (row, _), judgement in zip(differences, judgements, strict=True)]


def unjudged_differences(
    label: str, sides: Sides, measures: Sequence[Measure], corrected_over: Sequence[str] = ()
) -> Iterator[tuple[Difference, Case]]:
    """Each row with what its verdict depends on; one sample at a time, since all of them take gigabytes."""
    seeds = None if sides.single else sides.fewest_seeds
    for sample in _samples(sides, measures):
        row = _row(label, sides, sample)
        yield row, difference_case(row, sample.covered, sample.untied, seeds, corrected_over)


D = TypeVar("D", Difference, VariantDifference)


def difference_case(
    row: Difference | VariantDifference, covered: Share, untied: Share, seeds: int | None, over: Sequence[str]
) -> Case:
    return Case(
        value=row.difference,
        low=row.low,
        high=row.high,
        p=row.p,
        reference=0.0,
        groups=row.n_groups,
        seeds=seeds,
        covered=covered,
        untied=untied,
        together=together((row.measure,), row.conditions, over),
    )


def with_verdict(row: D, judgement: Judgement) -> D:
    few = {"low": math.nan, "high": math.nan} if judgement.verdict is Verdict.TOO_FEW_GROUPS else {}
    verdict = judgement.verdict
    return changed(row, p_corrected=judgement.p_corrected, verdict=verdict, verdict_alone=verdict, **few)


@dataclass(frozen=True)
class _Apart:
    """One quantity of two sides."""

    values: np.ndarray  # of the members
    interval: Interval  # of the difference
    p_permutation: float


@dataclass(frozen=True)
class _Sample:
    measure: Measure
    apart: _Apart
    n_items: int
    groups: int
    untied: Share  # of the member that has least
    covered: Share  # of the member that has least


def _samples(sides: Sides, measures: Sequence[Measure]) -> Iterator[_Sample]:
    names = {name for measure in measures for name in measure.all_columns}
    every = [columns_of(m.frame, names, sides.resampling) for m in sides.members]
    missing = {name: np.isnan([columns.values[name] for columns in every]).any(axis=0) for name in every[0].values}
    every = [
        Columns({name: np.where(missing[name], np.nan, v) for name, v in columns.values.items()}, columns.cells)
        for columns in every
    ]
    for _, alike in groupby(measures, key=lambda m: tuple(m.where.items())):
        first, *others = alike
        rows = np.all([m.rows(first.where) for m in sides.members], axis=0)
        picked = [Picked(columns.pick(rows), sides.resampling) for columns in every]
        columns = [one.columns for one in picked]
        for batch in batches([first, *others], columns, len(sides.resampling.weights)):
            yield from _counted(sides, batch, picked, columns)


def _counted(sides: Sides, batch: MeasureBatch, picked: list[Picked], columns: list[Columns]) -> Iterator[_Sample]:
    function, wanted, n = batch.measures[0].function, batch.quantities, len(sides.first)
    values = counted(function, wanted, columns, sides.resampling.weights)
    swapped = _swapped(sides, function, wanted, columns)
    dealt = None if sides.single else seeds_dealt_ps(values[:, :, 0], n)
    samples = [Samples(values[:, i]) for i in range(len(wanted))]
    spreads: dict[int, Spread] = {}
    for measure, which in zip(batch.measures, batch.which, strict=True):
        scored = picked[0].scored(measure)  # by all of them
        if which not in spreads:
            spreads[which] = samples[which].difference(n, scored.groups)
        limits = _interval(spreads[which], [sets[:, which] for sets in swapped], scored.groups.n, measure)
        apart = _Apart(values[:, which, 0], limits, limits.p if dealt is None else dealt[which])
        untied = least(one.at(scored.rows).ties(measure) for one in picked)
        covered = least(one.covered(measure) for one in picked)
        yield _Sample(measure, apart, scored.n_items, scored.groups.n, untied, covered)


def _swapped(
    sides: Sides, function: Function, wanted: Sequence[tuple[str, ...]], columns: list[Columns]
) -> list[np.ndarray]:
    """The difference within sets of groups, by each crossed factor that applies; of two single checkpoints whose groups
    are not drawn within parts: there a set of groups would favour one part by chance."""
    cells = columns[0].cells
    if not sides.single or not len(cells) or sides.resampling.groups(cells).parts > 1:
        return []
    applying = [
        f for f in range(len(sides.resampling.factors)) if (sides.resampling.units[np.unique(cells), f] >= 0).all()
    ]
    return [within_sets(function, wanted, columns, sides.resampling, factor) for factor in applying]


def _interval(spread: Spread, swapped: Sequence[np.ndarray], groups: int, measure: Measure) -> Interval:
    """Of several factors the one that says least: its p is the largest and its interval the widest."""
    quantity = Quantity(measure.unit, 0.0, difference=True, times=max(1, 2 * measure.differences))
    unmoved = measure.unit in (Unit.SHARE, Unit.SCORE) and not spread.total > 0
    if not swapped or unmoved or math.isnan(spread.se):
        return interval(spread, groups, quantity)
    by_factor = [interval(spread, groups, quantity, Swapped(spread, sets)) for sets in swapped]
    low, high = min(one.low for one in by_factor), max(one.high for one in by_factor)
    return replace(max(by_factor, key=lambda one: one.p), low=low, high=high)


def _row(label: str, sides: Sides, sample: _Sample) -> Difference:
    measure, apart = sample.measure, sample.apart
    first, second = np.split(apart.values, [len(sides.first)])
    return Difference(
        probe=label,
        measure=measure.name,
        conditions=measure.reported,
        a=float(first.mean()),
        b=float(second.mean()),
        difference=float(first.mean() - second.mean()),
        low=apart.interval.low,
        high=apart.interval.high,
        unit=measure.unit,
        n_items=sample.n_items,
        n_groups=sample.groups,
        n_seeds_a=len(first),
        n_seeds_b=len(second),
        p=apart.interval.p,
        p_permutation=apart.p_permutation,
        detectable=apart.interval.detectable(),
        tied=tied_share(sample.untied),
        covered=sample.covered.value,
    )


# ---------------------------------------------------------------- findings about two models


def is_about(claim: Claim, first: Card, second: Card) -> bool:
    """Are these the two it speaks of, in this order? Sizes are compared within one architecture and tokenizer."""
    if {first.kind, second.kind} - set(claim.kinds) or not first.layers * second.layers:
        return False
    if isinstance(claim.between, Lead):
        leader, led = (second, first) if claim.between.behind else (first, second)
        return NetworkSize.of(leader) == claim.between.leader and NetworkSize.of(led) in claim.between.others
    if first.kind != second.kind:
        return False
    one, other = (first.layers, first.width), (second.layers, second.width)
    if claim.between == LARGER:
        alike = (first.architecture, first.tokenizer_id) == (second.architecture, second.tokenizer_id)
        return alike and one != other and one[0] >= other[0] and one[1] >= other[1]
    return (first.architecture, second.architecture) == claim.between and one == other


def sides_of(
    claim: Claim,
    first: Sequence[CheckpointData],
    second: Sequence[CheckpointData],
    factors: Sequence[str],
    parts: Sequence[str] = (),
) -> Sides:
    """Paired by item; where the two are looked at in different conditions, by group and the remaining conditions."""
    if claim.minus is not None:
        first = [_at(member, claim.plus) for member in first]
        second = [_at(member, claim.minus) for member in second]
    if claim.times != 1:
        times = {claim.column: lambda frame: claim.times * frame[claim.column]}
        second = [replace(member, frame=member.frame.assign(**times)) for member in second]
    return Sides.of(first, second, factors, parts)


def _at(member: CheckpointData, where: Mapping[str, Any]) -> CheckpointData:
    frame = member.frame[member.rows(where)]
    columns = [name for name in map(str, frame) if name.startswith((GROUP, CONDITION))]
    rest = [name for name in columns if name.removeprefix(CONDITION) not in where]
    return replace(member, frame=frame.assign(item=["/".join(map(str, row)) for row in frame[rest].to_numpy()]))


def between(label: str, sides: Sides, claim: Claim) -> ClaimResult:
    """The row of `claims` for these two."""
    where = claim.plus if claim.minus is None else {}  # else `sides_of` has looked there
    column, covered = (claim.column,), claim.coverage
    measure = Measure(claim.name, means, column, where, claim.conditions, claim.unit, coverage=covered)
    ((row, case),) = unjudged_differences(label, sides, [measure])
    passes = not any(member.gates.fails(claim.gate) for member in sides.members)
    first, second = (side[0].family if len(side) > 1 else side[0].model for side in (sides.first, sides.second))
    about = ClaimSubject(f"{first}{AGAINST}{second}", "pair", n_seeds=sides.fewest_seeds, n_items=row.n_items)
    case = replace(case, direction=claim.direction, trivial=claim.trivial, passes=passes)
    return result(label, claim, about, case, _alike(sides, claim) if claim.margin else None)


def _alike(sides: Sides, claim: Claim) -> Equivalence | None:
    """Of two models: the margin refers to the mean of their effects."""
    assert claim.margin is not None
    means_at = PartMeans(sides.members, claim_columns(sides.members, [claim]))
    numbers, effects, n = means_at.of(claim), means_at.effect(claim), len(sides.first)
    groups = sides.resampling.groups(sides.resampling.cells)
    if groups.df < 1 or np.isnan(numbers[:, 0]).any():
        return None
    first, second = (
        Side(Samples(numbers[rows]), Samples(effects[rows]), sign)
        for rows, sign in ((slice(n), 1), (slice(n, None), -1))
    )
    return equivalence([first, second], claim.margin, lambda s: s.difference(n, groups), groups, claim.unit)
