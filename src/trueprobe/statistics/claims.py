"""Published findings as quantities, with the number of each checkpoint and of each family, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from trueprobe.statistics.coverage import covered, least, untied
from trueprobe.statistics.equivalence import Equivalence, Side, equivalence, over_seeds
from trueprobe.statistics.estimates import CheckpointData, Picked, values_of
from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Columns, Margin
from trueprobe.statistics.resampling import Groups, columns_of
from trueprobe.statistics.rows import ClaimResult
from trueprobe.statistics.spread import Samples
from trueprobe.statistics.verdict import Case, PartNumber, Share, judge, of_coverage
from trueprobe.types import Level, Unit, Verdict


def claim_results(
    label: str, members: Sequence[CheckpointData], published: Sequence[Claim], method: Method = "crossed"
) -> list[ClaimResult]:
    """The rows of each checkpoint, then those of the family, for the claims about their kind of model."""
    claims = [claim for claim in published if _is_about(claim, members[0]) and not claim.between]
    means_at = PartMeans(members, claim_columns(members, claims))
    by_checkpoint: list[list[ClaimResult]] = [[] for _ in members]
    family: list[ClaimResult] = []
    for claim in claims:
        counted = Samples(means_at.of(claim))
        samples = _quantity(claim).on_scale(counted)
        seeds = [_seed(means_at, i, claim, float(counted.values[i, 0]), samples) for i in range(len(members))]
        kinds = list(_kinds(means_at, claim))
        alike = None if claim.margin is None else _Alike(claim, claim.margin, counted, means_at.effect(claim), seeds)
        for i, (rows, member, seed) in enumerate(zip(by_checkpoint, members, seeds, strict=True)):
            one = _numbers_of(kinds, [i], seed.groups)
            rows.append(_checkpoint(label, claim, member, seed, one, alike.of([i]) if alike else None))
        if len(members) > 1:
            family.append(_family(label, members, claim, seeds, _Counted(samples, kinds, method), alike))
    return [row for rows in [*by_checkpoint, family] for row in rows]


def _is_about(claim: Claim, member: CheckpointData) -> bool:
    if member.kind not in claim.kinds or (claim.networks and member.network not in claim.networks):
        return False
    return not claim.architectures or member.architecture in claim.architectures


@dataclass(frozen=True)
class _Seed:
    """One checkpoint's number for a claim."""

    value: float
    groups: Groups
    interval: Interval
    passes: bool  # the gate
    untied: Share
    covered: Share  # of the part that has least
    n_items: int  # scored, of all its parts

    @property
    def usable(self) -> bool:
        return self.passes and of_coverage(self.covered, self.untied) is not Verdict.LOW_COVERAGE


def claim_columns(members: Sequence[CheckpointData], claims: Sequence[Claim]) -> list[Columns]:
    names = {name for claim in claims for name in (claim.column, claim.coverage, claim.reference_column) if name}
    return [columns_of(m.frame, names, m.resampling) for m in members]


@dataclass(frozen=True)
class PartMeans:
    """Means of a column at some conditions, of all checkpoints at once: most claims share them."""

    members: Sequence[CheckpointData]
    columns: Sequence[Columns]
    _known: dict[tuple[object, ...], np.ndarray] = field(default_factory=dict)

    def of(self, claim: Claim) -> np.ndarray:
        """[checkpoints, 1 + R]: the quantity."""
        return self._contrast(claim.column, claim.plus, claim.minus)

    def of_kind(self, claim: Claim, kind: Mapping[str, Any]) -> np.ndarray:
        """The quantity over one of the kinds that the claim pools."""
        of_one = {key: (value,) for key, value in kind.items()}
        minus = None if claim.minus is None else {**claim.minus, **of_one}
        return self._contrast(claim.column, {**claim.plus, **of_one}, minus)

    def effect(self, claim: Claim) -> np.ndarray:
        """[checkpoints, 1 + R]: what the margin of a claim of equivalence refers to."""
        assert claim.margin is not None
        return self._contrast(claim.reference_column, claim.margin.plus, claim.margin.minus)

    def _contrast(self, column: str, plus: Mapping[str, Any], minus: Mapping[str, Any] | None) -> np.ndarray:
        mean = self._over(column, plus)
        return mean if minus is None else mean - self._over(column, minus)

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


def _seed(means_at: PartMeans, i: int, claim: Claim, value: float, samples: Samples) -> _Seed:
    member, columns = means_at.members[i], means_at.columns[i]
    rows_at = [member.rows(part) for part in claim.parts]
    parts = [rows & ~np.isnan(columns.values[claim.column]) for rows in rows_at]
    groups = min(member.resampling.groups(columns.cells[part]) for part in parts)
    trials = None
    if claim.unit is Unit.SHARE and len(parts) == 1 and not columns.item_weights:
        trials = trials_of(columns.values[claim.column][parts[0]], groups.n, member.resampling.factors)
    interval = of_checkpoint(samples, i, groups, _quantity(claim), trials)
    passes = not member.gates.fails(claim.gate)
    tied = untied(columns, np.logical_or.reduce(parts), member.resampling)
    answered = least(covered(columns, claim.coverage, rows, member.resampling) for rows in rows_at)
    n_items = int(np.logical_or.reduce(parts).sum())
    return _Seed(value, groups, interval, passes, tied, answered, n_items)


class _Kind(NamedTuple):
    """One of the kinds of items that a claim pools: its quantity of all checkpoints."""

    name: str
    values: np.ndarray  # of each checkpoint
    samples: Samples
    quantity: Quantity


class _Counted(NamedTuple):
    """A claim's quantity of all checkpoints, over everything and over each kind."""

    samples: Samples
    kinds: Sequence[_Kind]
    method: Method


def _kinds(means_at: PartMeans, claim: Claim) -> Iterator[_Kind]:
    """Named values that the claim lists of one condition, on both sides alike: `knowledge` of `counter_lowers`."""
    pooled = [
        key
        for key, values in claim.plus.items()
        if len(values) > 1
        and all(isinstance(value, str) for value in values)
        and (claim.minus is None or claim.minus.get(key) == values)
    ]
    quantity = _quantity(claim)
    for values in product(*(claim.plus[key] for key in pooled)) if pooled and claim.margin is None else ():
        counted = means_at.of_kind(claim, dict(zip(pooled, values, strict=True)))
        yield _Kind(" ".join(map(str, values)), counted[:, 0], quantity.on_scale(Samples(counted)), quantity)


def _numbers_of(kinds: Sequence[_Kind], rows: Sequence[int], groups: Groups) -> tuple[PartNumber, ...]:
    """Of one checkpoint, or of the mean over several."""
    numbers = []
    for name, values, samples, quantity in kinds if len(rows) else ():
        picked = samples.pick(rows)
        one = len(rows) == 1
        made = of_checkpoint(picked, 0, groups, quantity) if one else of_family(picked, groups, quantity)
        numbers.append(PartNumber(name, float(values[rows].mean()), made.p))
    return tuple(number for number in numbers if not math.isnan(number.p))


@dataclass(frozen=True)
class _Alike:
    """A claim of equivalence: the quantity and the reference effect of all checkpoints under the same draws."""

    claim: Claim
    margin: Margin
    counted: Samples
    effect: np.ndarray  # [checkpoints, 1 + R]
    seeds: Sequence[_Seed]

    def of(self, rows: Sequence[int]) -> Equivalence | None:
        """Of one checkpoint, or of the family that some of them make up; None without a number or groups."""
        groups = min((self.seeds[i].groups for i in rows), default=Groups(0))
        if groups.df < 1 or np.isnan(self.counted.values[rows, 0]).any():
            return None
        quantity = Samples(self.counted.values[rows] - self.claim.threshold)
        side = Side(quantity, Samples(self.effect[rows]))
        return equivalence([side], self.margin, lambda s: over_seeds(s, groups), groups, self.claim.unit)


def _checkpoint(
    label: str,
    claim: Claim,
    member: CheckpointData,
    seed: _Seed,
    kinds: tuple[PartNumber, ...],
    alike: Equivalence | None,
) -> ClaimResult:
    about = ClaimSubject(member.model, "checkpoint", member.family, member.labels.get("step"), n_items=seed.n_items)
    judged_by = {"passes": seed.passes, "covered": seed.covered, "untied": seed.untied, "kinds": kinds}
    case = case_of(claim, seed.value, seed.interval, seed.groups.n, **judged_by)
    return result(label, claim, about, case, alike)


def _family(
    label: str,
    members: Sequence[CheckpointData],
    claim: Claim,
    seeds: list[_Seed],
    counted: _Counted,
    alike: _Alike | None,
) -> ClaimResult:
    """Over the seeds that pass the gate, have a number and coverage; over all of them where none does."""
    any_usable = any(seed.usable for seed in seeds)
    picked = [i for i, seed in enumerate(seeds) if seed.usable == any_usable and not math.isnan(seed.value)]
    able = [seeds[i] for i in picked]
    groups = min((seed.groups for seed in able), default=Groups(0))
    first = members[0]
    resample_seed = first.resampling.resample_seed
    over = of_family(counted.samples.pick(picked), groups, _quantity(claim), counted.method, resample_seed)
    case = case_of(
        claim,
        float(np.mean([seed.value for seed in able])) if able else math.nan,
        over,
        groups.n,
        seeds=len(able),
        passes=any(seed.passes for seed in seeds),
        covered=least(seed.covered for seed in able or seeds),
        untied=least(seed.untied for seed in able),
        seed_values=tuple(PartNumber("", seed.value, seed.interval.p) for seed in able),
        kinds=_numbers_of(counted.kinds, picked, groups),
    )
    fewest = min((seed.n_items for seed in able), default=0)
    about = ClaimSubject(first.family, "family", first.family, first.labels.get("step"), len(able), fewest)
    return result(label, claim, about, case, alike.of(picked) if alike else None)


def case_of(claim: Claim, value: float, interval: Interval, groups: int, **more: Any) -> Case:
    """What the verdict on a claim depends on."""
    return Case(
        value=value,
        low=interval.low,
        high=interval.high,
        p=interval.p,
        reference=claim.threshold,
        groups=groups,
        direction=claim.direction,
        trivial=claim.trivial,
        **more,
    )


def as_equivalence(case: Case, alike: Equivalence, threshold: float) -> Case:
    """With the 90 % interval, and the p of two one-sided tests. Seeds on both sides of the threshold are no flip."""
    return replace(
        case,
        low=alike.low + threshold,
        high=alike.high + threshold,
        p=alike.p,
        p_apart=alike.p_apart,
        sensitive=alike.sensitive,
        seed_values=(),
        wordings=(),
        kinds=(),
    )


@dataclass(frozen=True)
class ClaimSubject:
    """What a row of claims is about: a checkpoint, a family, or a pair."""

    model: str
    level: Level
    family: str = ""
    step: int | None = None
    n_seeds: int = 1
    n_items: int | None = None  # scored; None where claims of several probes are taken together


def result(label: str, claim: Claim, about: ClaimSubject, case: Case, alike: Equivalence | None = None) -> ClaimResult:
    """The row, with its verdict alone. A value of too few groups has no interval."""
    if claim.margin is not None:  # the p against the threshold, which `case` has, says nothing about being alike
        case = as_equivalence(case, alike, claim.threshold) if alike else replace(case, p=math.nan, sensitive=False)
    (judgement,) = judge([case])
    few = judgement.verdict is Verdict.TOO_FEW_GROUPS
    return ClaimResult(
        probe=label,
        claim=claim.name,
        statement=claim.statement,
        paper=claim.paper,
        conditions={key: str(value) for key, value in claim.conditions.items()},
        quantity=claim.column,
        direction=claim.direction,
        threshold=claim.threshold,
        value=case.value,
        low=math.nan if few else case.low,
        high=math.nan if few else case.high,
        unit=claim.unit,
        verdict=judgement.verdict,
        covered=case.covered.value,
        p=case.p_apart if alike and judgement.verdict is Verdict.OPPOSITE else case.p,
        verdict_alone=judgement.verdict,
        above=judgement.above,
        below=judgement.below,
        margin=alike.margin if alike else math.nan,
        source=claim.source,
        **vars(about),
    )
