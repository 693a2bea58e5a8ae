"""One probe asked in two ways in one run, two lists of occupations for instance: what does the choice move?

Every number that both ways give, of the second less the first, for each checkpoint and family. Groups that the two
have in common are drawn together, and a family's difference is taken seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueprobe.statistics.estimates import CheckpointData, resampled
from trueprobe.statistics.interval import Interval, Quantity, of_checkpoint, of_family
from trueprobe.statistics.measure import Measure, least
from trueprobe.statistics.paired import corrected, judge_difference
from trueprobe.statistics.rows import VariantDifference, changed
from trueprobe.statistics.spread import Samples

Asked = tuple[Sequence[CheckpointData], Sequence[Measure]]  # checkpoints at one step, and what is counted


def variants(
    labels: tuple[str, str], first: Asked, second: Asked, corrected_over: Sequence[str] = ()
) -> list[VariantDifference]:
    """`first` and `second` have the same checkpoints in the same order, with shared draws."""
    by_key = {_key(measure): measure for measure in second[1]}
    ours = [measure for measure in first[1] if _key(measure) in by_key]
    theirs = [by_key[_key(measure)] for measure in ours]
    by_checkpoint: list[list[VariantDifference]] = [[] for _ in first[0]]
    family: list[VariantDifference] = []
    both = zip(resampled(first[0], ours), resampled(second[0], theirs), strict=True)
    for (measure, before, one), (_, after, other) in both:
        groups = [min(a.groups, b.groups) for a, b in zip(one, other, strict=True)]
        values = np.stack([before.values[:, 0], after.values[:, 0]], axis=1)
        tied = [max(a.tied, b.tied) for a, b in zip(one, other, strict=True)]
        covered = [least((a.covered, b.covered)) for a, b in zip(one, other, strict=True)]
        quantity = Quantity(measure.unit, 0.0, difference=True)
        apart = quantity.on_scale(Samples(after.values - before.values))
        for i, member in enumerate(first[0]):
            moved = _Moved(of_checkpoint(apart, i, groups[i], quantity), groups[i], tied[i], covered[i])
            by_checkpoint[i].append(_row(labels, [member], measure, values[[i]], moved))
        if len(first[0]) > 1:
            able = np.flatnonzero(~np.isnan(apart.values[:, 0])).tolist()
            fewest = min((groups[i] for i in able), default=0)
            moved = _Moved(of_family(apart.pick(able), fewest, quantity), fewest, max(tied), least(covered))
            family.append(_row(labels, first[0], measure, values[able], moved))
    together = [*by_checkpoint, family] if family else by_checkpoint  # one checkpoint alone is no family
    return [row for mine in together for row in _judged(mine, ours, tuple(corrected_over))]


def _key(measure: Measure) -> tuple[str | tuple[str, str], ...]:
    return (measure.name, *sorted(measure.reported.items()))


@dataclass(frozen=True)
class _Moved:
    interval: Interval
    groups: int
    tied: float  # share of the scored items, in the way of asking that has more of them
    covered: float  # share of the items that hold anything to count, in the way of asking that has fewer


def _row(
    labels: tuple[str, str], members: Sequence[CheckpointData], measure: Measure, values: np.ndarray, moved: _Moved
) -> VariantDifference:
    """`values` [checkpoints, 2] under the two ways."""
    several = len(members) > 1
    first, second = (float(side.mean()) if len(values) else math.nan for side in values.T)
    return VariantDifference(
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
        tied=moved.tied,
        covered=moved.covered,
    )


def _judged(
    rows: list[VariantDifference], measures: Sequence[Measure], over: tuple[str, ...]
) -> list[VariantDifference]:
    ps = corrected(measures, [row.p for row in rows], over)
    return [_judge(row, float(p)) for row, p in zip(rows, ps, strict=True)]


def _judge(row: VariantDifference, p: float) -> VariantDifference:
    seeds = None if row.level == "checkpoint" else row.n_seeds
    return changed(row, p_corrected=p, verdict=judge_difference(row, p, seeds))
