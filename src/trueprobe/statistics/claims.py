"""Published findings as quantities, with the number of each checkpoint and of each family, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from trueprobe.statistics.correction import holm
from trueprobe.statistics.estimates import CheckpointData, Picked, values_of
from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Columns, least
from trueprobe.statistics.resampling import columns_of
from trueprobe.statistics.rows import ClaimResult
from trueprobe.statistics.verdict import ALPHA, FEWEST_SEEDS, usable, without_interval
from trueprobe.types import Direction, Level, Verdict


def claim_results(
    label: str, members: Sequence[CheckpointData], published: Sequence[Claim], method: Method = "crossed"
) -> list[ClaimResult]:
    """The rows of each checkpoint, then those of the family, for the claims about their kind of model."""
    mine = [claim for claim in published if _is_about(claim, members[0]) and not claim.between]
    means_at = _PartMeans(members, _columns(members, mine))
    samples = [[_sample(means_at, i, claim) for claim in mine] for i in range(len(members))]
    rows = [
        _checkpoint(label, claim, member, sample)
        for member, by_claim in zip(members, samples, strict=True)
        for claim, sample in zip(mine, by_claim, strict=True)
    ]
    if len(members) > 1:
        over_members = zip(mine, zip(*samples, strict=True), strict=True)
        rows += [_family(label, members, claim, list(seeds), method) for claim, seeds in over_members]
    return rows


def _is_about(claim: Claim, member: CheckpointData) -> bool:
    return member.kind in claim.kinds and (not claim.architectures or member.architecture in claim.architectures)


@dataclass(frozen=True)
class _Sample:
    """One checkpoint's number for a claim."""

    values: np.ndarray  # [1 + R]
    groups: int
    interval: Interval
    passes: bool  # the gate
    tied: float  # share of the scored items
    covered: float  # share of the items that hold anything to count, of the part that has least

    @property
    def value(self) -> float:
        return float(self.values[0])

    @property
    def usable(self) -> bool:
        return usable(self.passes, self.tied, self.covered)


def _columns(members: Sequence[CheckpointData], mine: Sequence[Claim]) -> list[Columns]:
    names = {name for claim in mine for name in (claim.column, claim.coverage) if name}
    return [columns_of(m.frame, names, m.resampling) for m in members]


@dataclass(frozen=True)
class _PartMeans:
    """Means of a column at some conditions, of all checkpoints at once: most claims share them."""

    members: Sequence[CheckpointData]
    columns: Sequence[Columns]
    _known: dict[tuple[object, ...], list[np.ndarray]] = field(default_factory=dict)

    def over(self, i: int, column: str, where: Mapping[str, Any]) -> np.ndarray:
        """[1 + R] of one checkpoint: every listed value counts the same, however many items it has."""
        parts = (dict(zip(where, values, strict=True)) for values in product(*where.values()))
        mean: np.ndarray = np.mean([self._at(column, part)[i][0] for part in parts], axis=0)
        return mean

    def _at(self, column: str, part: Mapping[str, Any]) -> list[np.ndarray]:
        key = (column, *part.items())
        if key not in self._known:
            both = zip(self.members, self.columns, strict=True)
            picked = [Picked(columns.pick(member.rows(part)), member.resampling) for member, columns in both]
            self._known[key] = values_of(means, [(column,)], picked)
        return self._known[key]


def _quantity(claim: Claim) -> Quantity:
    return Quantity(claim.unit, claim.threshold, difference=claim.minus is not None)


def _sample(means_at: _PartMeans, i: int, claim: Claim) -> _Sample:
    member, columns = means_at.members[i], means_at.columns[i]
    values = means_at.over(i, claim.column, claim.plus)
    if claim.minus is not None:
        values = values - means_at.over(i, claim.column, claim.minus)
    asked = [member.rows(part) for part in claim.parts]
    parts = [rows & ~np.isnan(columns.values[claim.column]) for rows in asked]
    groups = min(member.resampling.groups(columns.cells[part]) for part in parts)
    trials = None
    if claim.unit == "share" and len(parts) == 1:
        trials = trials_of(columns.values[claim.column][parts[0]], groups, member.resampling.factors)
    interval = of_checkpoint(values, groups, _quantity(claim), trials)
    passes, tied = not member.gates.fails(claim.gate), columns.tied(np.logical_or.reduce(parts))
    covered = least(columns.covered(claim.coverage, rows) for rows in asked)
    return _Sample(values, groups, interval, passes, tied, covered)


def _checkpoint(label: str, claim: Claim, member: CheckpointData, sample: _Sample) -> ClaimResult:
    numbers = Numbers(sample.value, sample.interval.low, sample.interval.high, sample.interval.p, sample.covered)
    verdict = _unusable([sample]) or judge_claim(claim, numbers, sample.groups)
    about = About(member.model, "checkpoint", member.family, member.labels.get("step"))
    return result(label, claim, about, numbers, verdict)


def _family(
    label: str, members: Sequence[CheckpointData], claim: Claim, seeds: list[_Sample], method: Method
) -> ClaimResult:
    """Over the seeds that pass the gate, have a number and coverage."""
    able = [seed for seed in seeds if seed.usable and not math.isnan(seed.value)]
    groups = min((seed.groups for seed in able), default=0)
    first = members[0]
    over = of_family([s.values for s in able], groups, _quantity(claim), method, first.resampling.resample_seed)
    value = float(np.mean([seed.value for seed in able])) if able else math.nan
    numbers = Numbers(value, over.low, over.high, over.p, least(seed.covered for seed in able or seeds))
    verdict = _unusable(seeds) or _over_seeds(claim, able, numbers, groups)
    about = About(first.family, "family", first.family, first.labels.get("step"), len(able))
    return result(label, claim, about, numbers, verdict)


def _unusable(samples: Sequence[_Sample]) -> Verdict | None:
    """What stands in the way of any verdict on these checkpoints, if something does."""
    if any(sample.usable for sample in samples):
        return None
    return Verdict.LOW_COVERAGE if any(sample.passes for sample in samples) else Verdict.FAILS_GATE


def _over_seeds(claim: Claim, able: list[_Sample], numbers: Numbers, groups: int) -> Verdict:
    """Seeds that lie clearly on both sides of the threshold make it flip; fewer than three decide nothing."""
    ps = holm(np.array([seed.interval.p for seed in able]))
    sides = {seed.value > claim.threshold for seed, p in zip(able, ps, strict=True) if p < ALPHA}
    if len(sides) > 1:
        return Verdict.FLIPS
    verdict = judge_claim(claim, numbers, groups)
    return Verdict.UNDECIDED if len(able) < FEWEST_SEEDS and not verdict.silent else verdict


@dataclass(frozen=True)
class Numbers:
    value: float
    low: float
    high: float
    p: float = math.nan  # against the threshold
    covered: float = math.nan


@dataclass(frozen=True)
class About:
    """What a row of claims is about: a checkpoint, a family, or a pair."""

    model: str
    level: Level
    family: str = ""
    step: int | None = None
    n_seeds: int = 1


def result(label: str, claim: Claim, about: About, numbers: Numbers, verdict: Verdict) -> ClaimResult:
    """A value of too few groups has no interval."""
    if verdict is Verdict.TOO_FEW_GROUPS:
        numbers = replace(numbers, low=math.nan, high=math.nan)
    return ClaimResult(
        probe=label,
        claim=claim.name,
        statement=claim.statement,
        paper=claim.paper,
        conditions={key: str(value) for key, value in claim.conditions.items()},
        quantity=claim.column,
        direction=claim.direction,
        threshold=claim.threshold,
        unit=claim.unit,
        verdict=verdict,
        **vars(about),
        **vars(numbers),
    )


def judge_claim(claim: Claim, numbers: Numbers, groups: int) -> Verdict:
    if math.isnan(numbers.value):
        return Verdict.NOTHING_SCORED
    unknown = without_interval(groups, numbers.low, numbers.high, claim.threshold)
    if unknown is not None:
        return unknown
    above, below = numbers.low > claim.threshold, numbers.high < claim.threshold
    if claim.direction is Direction.NOT_BELOW:
        return Verdict.OPPOSITE if below else Verdict.NOT_CONTRADICTED
    if claim.direction is Direction.NOT_EQUAL:
        above, below = above or below, False
    if claim.direction is Direction.BELOW:
        above, below = below, above
    if above and claim.trivial:
        return Verdict.NOT_CONTRADICTED
    return Verdict.AS_PUBLISHED if above else Verdict.OPPOSITE if below else Verdict.UNDECIDED
