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
from trueprobe.statistics.spread import Samples
from trueprobe.statistics.verdict import ALPHA, FEWEST_SEEDS, usable, without_interval
from trueprobe.types import Direction, Level, Verdict


def claim_results(
    label: str, members: Sequence[CheckpointData], published: Sequence[Claim], method: Method = "crossed"
) -> list[ClaimResult]:
    """The rows of each checkpoint, then those of the family, for the claims about their kind of model."""
    mine = [claim for claim in published if _is_about(claim, members[0]) and not claim.between]
    means_at = _PartMeans(members, _columns(members, mine))
    by_checkpoint: list[list[ClaimResult]] = [[] for _ in members]
    family: list[ClaimResult] = []
    for claim in mine:
        counted = Samples(means_at.of(claim))
        samples = _quantity(claim).on_scale(counted)
        seeds = [_seed(means_at, i, claim, float(counted.values[i, 0]), samples) for i in range(len(members))]
        for rows, member, seed in zip(by_checkpoint, members, seeds, strict=True):
            rows.append(_checkpoint(label, claim, member, seed))
        if len(members) > 1:
            family.append(_family(label, members, claim, seeds, samples, method))
    return [row for rows in [*by_checkpoint, family] for row in rows]


def _is_about(claim: Claim, member: CheckpointData) -> bool:
    return member.kind in claim.kinds and (not claim.architectures or member.architecture in claim.architectures)


@dataclass(frozen=True)
class _Seed:
    """One checkpoint's number for a claim."""

    value: float
    groups: int
    interval: Interval
    passes: bool  # the gate
    tied: float  # share of the scored items
    covered: float  # share of the items that hold anything to count, of the part that has least

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
    _known: dict[tuple[object, ...], np.ndarray] = field(default_factory=dict)

    def of(self, claim: Claim) -> np.ndarray:
        """[checkpoints, 1 + R]: the quantity."""
        plus = self._over(claim.column, claim.plus)
        return plus if claim.minus is None else plus - self._over(claim.column, claim.minus)

    def _over(self, column: str, where: Mapping[str, Any]) -> np.ndarray:
        """Every listed value counts the same, however many items it has."""
        parts = (dict(zip(where, values, strict=True)) for values in product(*where.values()))
        mean: np.ndarray = np.mean([self._at(column, part) for part in parts], axis=0)
        return mean

    def _at(self, column: str, part: Mapping[str, Any]) -> np.ndarray:
        key = (column, *part.items())
        if key not in self._known:
            both = zip(self.members, self.columns, strict=True)
            picked = [Picked(columns.pick(member.rows(part)), member.resampling) for member, columns in both]
            self._known[key] = values_of(means, [(column,)], picked)[:, 0]
        return self._known[key]


def _quantity(claim: Claim) -> Quantity:
    return Quantity(claim.unit, claim.threshold, difference=claim.minus is not None)


def _seed(means_at: _PartMeans, i: int, claim: Claim, value: float, samples: Samples) -> _Seed:
    member, columns = means_at.members[i], means_at.columns[i]
    asked = [member.rows(part) for part in claim.parts]
    parts = [rows & ~np.isnan(columns.values[claim.column]) for rows in asked]
    groups = min(member.resampling.groups(columns.cells[part]) for part in parts)
    trials = None
    if claim.unit == "share" and len(parts) == 1:
        trials = trials_of(columns.values[claim.column][parts[0]], groups, member.resampling.factors)
    interval = of_checkpoint(samples, i, groups, _quantity(claim), trials)
    passes, tied = not member.gates.fails(claim.gate), columns.tied(np.logical_or.reduce(parts))
    covered = least(columns.covered(claim.coverage, rows) for rows in asked)
    return _Seed(value, groups, interval, passes, tied, covered)


def _checkpoint(label: str, claim: Claim, member: CheckpointData, seed: _Seed) -> ClaimResult:
    numbers = Numbers(seed.value, seed.interval.low, seed.interval.high, seed.interval.p, seed.covered)
    verdict = _unusable([seed]) or judge_claim(claim, numbers, seed.groups)
    about = About(member.model, "checkpoint", member.family, member.labels.get("step"))
    return result(label, claim, about, numbers, verdict)


def _family(
    label: str,
    members: Sequence[CheckpointData],
    claim: Claim,
    seeds: list[_Seed],
    samples: Samples,
    method: Method,
) -> ClaimResult:
    """Over the seeds that pass the gate, have a number and coverage."""
    picked = [i for i, seed in enumerate(seeds) if seed.usable and not math.isnan(seed.value)]
    able = [seeds[i] for i in picked]
    groups = min((seed.groups for seed in able), default=0)
    first = members[0]
    over = of_family(samples.pick(picked), groups, _quantity(claim), method, first.resampling.resample_seed)
    value = float(np.mean([seed.value for seed in able])) if able else math.nan
    numbers = Numbers(value, over.low, over.high, over.p, least(seed.covered for seed in able or seeds))
    verdict = _unusable(seeds) or _over_seeds(claim, able, numbers, groups)
    about = About(first.family, "family", first.family, first.labels.get("step"), len(able))
    return result(label, claim, about, numbers, verdict)


def _unusable(seeds: Sequence[_Seed]) -> Verdict | None:
    """What stands in the way of any verdict on these checkpoints, if something does."""
    if any(seed.usable for seed in seeds):
        return None
    return Verdict.LOW_COVERAGE if any(seed.passes for seed in seeds) else Verdict.FAILS_GATE


def _over_seeds(claim: Claim, able: list[_Seed], numbers: Numbers, groups: int) -> Verdict:
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
