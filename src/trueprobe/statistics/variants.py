"""One probe asked in two ways in one run, two lists of occupations for instance: what does the choice move?

Every number that both ways give, of the second minus the first, for each checkpoint and family. Groups that the two
have in common are drawn together, and a family's difference is taken seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueprobe.statistics.coverage import least
from trueprobe.statistics.estimates import CheckpointData, resampled, tied_share
from trueprobe.statistics.interval import Interval, Quantity, of_checkpoint, of_family
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.paired import difference_case, with_verdict
from trueprobe.statistics.resampling import Groups
from trueprobe.statistics.rows import VariantDifference
from trueprobe.statistics.spread import Samples
from trueprobe.statistics.verdict import Case, Share, judge

Asked = tuple[Sequence[CheckpointData], Sequence[Measure]]  # checkpoints at one step, and what is counted


def variants(
    labels: tuple[str, str], first: Asked, second: Asked, corrected_over: Sequence[str] = ()
) -> list[VariantDifference]:
    """`first` and `second` have the same checkpoints in the same order, with shared draws."""
    by_key = {_key(measure): measure for measure in second[1]}
    ours = [measure for measure in first[1] if _key(measure) in by_key]
    theirs = [by_key[_key(measure)] for measure in ours]
    by_checkpoint: list[list[Unjudged]] = [[] for _ in first[0]]
    family: list[Unjudged] = []
    both = zip(resampled(first[0], ours), resampled(second[0], theirs), strict=True)
    for (measure, before, one), (_, after, other) in both:
        groups = [min(a.groups, b.groups) for a, b in zip(one, other, strict=True)]
        values = np.stack([before.values[:, 0], after.values[:, 0]], axis=1)
        untied = [least((a.untied, b.untied)) for a, b in zip(one, other, strict=True)]
        covered = [least((a.covered, b.covered)) for a, b in zip(one, other, strict=True)]
        quantity = Quantity(measure.unit, 0.0, difference=True)
        apart = quantity.on_scale(Samples(after.values - before.values))
        for i, member in enumerate(first[0]):
            moved = _Moved(of_checkpoint(apart, i, groups[i], quantity), groups[i].n, untied[i], covered[i])
            by_checkpoint[i].append(_row(labels, [member], measure, values[[i]], moved, corrected_over))
        if len(first[0]) > 1:
            able = np.flatnonzero(~np.isnan(apart.values[:, 0])).tolist()
            fewest = min((groups[i] for i in able), default=Groups(0))
            moved = _Moved(of_family(apart.pick(able), fewest, quantity), fewest.n, least(untied), least(covered))
            family.append(_row(labels, first[0], measure, values[able], moved, corrected_over))
    together = [*by_checkpoint, family] if family else by_checkpoint  # one checkpoint alone is no family
    return [row for rows in together for row in _judged(rows)]


def _key(measure: Measure) -> tuple[str | tuple[str, str], ...]:
    return (measure.name, *sorted(measure.reported.items()))


@dataclass(frozen=True)
class _Moved:
    interval: Interval
    groups: int
    untied: Share  # of the label that has fewer
    covered: Share  # of the label that has fewer


Unjudged = tuple[VariantDifference, Case]


def _row(
    labels: tuple[str, str],
    members: Sequence[CheckpointData],
    measure: Measure,
    values: np.ndarray,
    moved: _Moved,
    corrected_over: Sequence[str],
) -> Unjudged:
    """`values` [checkpoints, 2] under the two ways."""
    several = len(members) > 1
    first, second = (float(side.mean()) if len(values) else math.nan for side in values.T)
    row = VariantDifference(
        first_label=labels[0],
        second_label=labels[1],
        model=members[0].family if several else members[0].model,
        level="family" if several else "checkpoint",
        family=members[0].family,
        step=members[0].labels.get("step"),
        measure=measure.name,
        conditions=measure.reported,
        first=first,
        second=second,
        difference=float((values[:, 1] - values[:, 0]).mean()) if len(values) else math.nan,
        low=moved.interval.low,
        high=moved.interval.high,
        unit=measure.unit,
        n_groups=moved.groups,
        n_seeds=len(values),
        p=moved.interval.p,
        tied=tied_share(moved.untied),
        covered=moved.covered.value,
    )
    seeds = len(values) if several else None
    return row, difference_case(row, moved.covered, moved.untied, seeds, corrected_over)


def _judged(rows: Sequence[Unjudged]) -> list[VariantDifference]:
    judgements = judge([case for _, case in rows])
    return [with_verdict(row, judgement) for (row, _), judgement in zip(rows, judgements, strict=True)]
