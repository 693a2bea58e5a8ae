"""Estimates before their verdict, and with it: what the one rule (`verdict`) needs to know of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.interval import Interval
from trueprobe.statistics.rows import Estimate, Tail, changed
from trueprobe.statistics.spread import Components, VarianceSource
from trueprobe.statistics.verdict import (
    FEWEST_GROUPS,
    POOLED,
    UNKNOWN,
    Case,
    Judgement,
    PartNumber,
    Share,
    judge,
    of_coverage,
    together,
)
from trueprobe.types import Verdict


@dataclass(frozen=True)
class Unjudged:
    """An estimate before its verdict, with what else the verdict and tables about seeds need."""

    estimate: Estimate  # its p is the one reported
    interval: Interval
    covered: Share = UNKNOWN
    untied: Share = UNKNOWN
    seed_values: tuple[float, ...] = ()  # of a family
    seed_ps: tuple[float, ...] = ()
    tested: bool = False  # the p that is reported is of the measure's own test
    tail: Tail = Tail.UPPER  # of that test
    passes: bool = True  # the gate

    @property
    def usable(self) -> bool:
        """The gate is passed, and there is coverage."""
        return self.passes and of_coverage(self.covered, self.untied) is not Verdict.LOW_COVERAGE

    @property
    def parts(self) -> Components | None:
        """Of a family's variance."""
        return self.interval.parts

    @property
    def over_items(self) -> VarianceSource:
        """How the number moves with other items alone."""
        df = max(1, self.estimate.n_groups - 1)
        return VarianceSource(self.interval.se**2 if self.parts is None else self.parts.over_items, df)

    def case(
        self, corrected_over: Iterable[str], wordings: tuple[PartNumber, ...], kinds: tuple[PartNumber, ...]
    ) -> Case:
        e = self.estimate
        seeds = tuple(PartNumber("", *seed) for seed in zip(self.seed_values, self.seed_ps, strict=True))
        return Case(
            value=e.value,
            low=e.low,
            high=e.high,
            p=self.interval.p,
            reference=e.neutral,
            groups=e.n_groups,
            seeds=None if e.level == "checkpoint" else e.n_seeds,
            passes=self.passes,
            covered=self.covered,
            untied=self.untied,
            seed_values=seeds,
            wordings=wordings,
            kinds=kinds,
            together=together((e.model, e.level, e.step, e.measure), e.conditions, corrected_over),
        )


def judged(rows: Sequence[Unjudged], corrected_over: Iterable[str] = ()) -> list[Estimate]:
    """All of one probe and one set of models, each with its verdict alone."""
    over, wordings = tuple(corrected_over), _parts(rows, "wording")
    kinds = _kinds(rows, over)
    judgements = judge([row.case(over, wordings.get(i, ()), kinds.get(i, ())) for i, row in enumerate(rows)])
    return [_with_verdict(row, judgement) for row, judgement in zip(rows, judgements, strict=True)]


def _with_verdict(row: Unjudged, judgement: Judgement) -> Estimate:
    e = row.estimate
    fields: dict[str, Any] = {"p_corrected": judgement.p_corrected, "p_interval": row.interval.p}
    if judgement.verdict is Verdict.TOO_FEW_GROUPS:
        fields |= {"low": math.nan, "high": math.nan}
    if e.neutral is not None and row.seed_values and not math.isnan(e.value):
        against = sum((value - e.neutral) * (e.value - e.neutral) <= 0 for value in row.seed_values)
        new_seeds = share_of_new_seeds(row.seed_values, e.neutral)
        ends = zip(("new_seeds", "new_seeds_low", "new_seeds_high"), new_seeds, strict=True)
        fields |= {"n_against": against, **dict(ends)}
    return changed(
        e,
        verdict_alone=judgement.verdict,
        verdict=judgement.verdict,
        reason=judgement.reason,
        above=judgement.above,
        below=judgement.below,
        **fields,
    )


def _parts(rows: Sequence[Unjudged], condition: str) -> dict[int, tuple[PartNumber, ...]]:
    """Of the rows that pool a condition: the own number of each of its values."""
    parts: dict[tuple[object, ...], list[int]] = {}
    for i, row in enumerate(rows):
        e = row.estimate
        if condition in e.conditions:
            rest = sorted((key, value) for key, value in e.conditions.items() if key != condition)
            parts.setdefault((e.model, e.level, e.step, e.measure, *rest), []).append(i)
    named: dict[int, tuple[PartNumber, ...]] = {}
    for members in parts.values():
        pooled = [i for i in members if rows[i].estimate.conditions[condition] == POOLED]
        single = [rows[i] for i in members if i not in pooled]
        each = tuple(PartNumber(r.estimate.conditions[condition], r.estimate.value, r.interval.p) for r in single)
        named |= dict.fromkeys(pooled, each)
    return named


def _kinds(rows: Sequence[Unjudged], over: Iterable[str]) -> dict[int, tuple[PartNumber, ...]]:
    """The same over the conditions that ask one thing many times; parts that decide nothing by themselves are none."""
    kinds: dict[int, tuple[PartNumber, ...]] = {}
    able = {id(row) for row in rows if row.usable and row.estimate.n_groups >= FEWEST_GROUPS}
    indices = [i for i, row in enumerate(rows) if id(row) in able or POOLED in row.estimate.conditions.values()]
    for condition in over:
        for i, parts in _parts([rows[index] for index in indices], condition).items():
            kinds[indices[i]] = (*kinds.get(indices[i], ()), *parts)
    return kinds


# ---------------------------------------------------------------- new seeds

_ROUNDING = 1e-12  # of the values
_FARTHEST = 40.0  # of the noncentrality; Φ is 0 or 1 beyond


def share_of_new_seeds(values: Sequence[float], neutral: float) -> tuple[float, float, float]:
    """How many new seeds of a family would lie on the side of neutral of its mean: estimate and 95 % interval.

    If seeds are normal about their mean, the share is Φ(δ) with δ = (mean − neutral) / deviation; its interval inverts
    the noncentral t of the observed √S · δ. Of five seeds at +1, +2, +3, +4, +5: Φ(3 / 1.58) = 97 % [63, 100]. The
    seeds were all scored on the same items, so the share is about new seeds on these items. NaN with fewer than two."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan, math.nan
    distance, deviation = abs(float(np.mean(values)) - neutral), float(np.std(values, ddof=1))
    if deviation <= _ROUNDING * max(map(abs, values)):
        return (1.0, 0.0, 1.0) if distance > 0 else (math.nan, 0.0, 1.0)
    if distance > _FARTHEST * deviation:  # scipy would search for minutes
        return 1.0, 1.0, 1.0
    t = math.sqrt(n) * distance / deviation
    low, high = (_noncentrality(t, n - 1, tail) / math.sqrt(n) for tail in (0.975, 0.025))
    share, lowest, highest = (float(scipy.special.ndtr(d)) for d in (distance / deviation, low, high))
    return share, lowest, highest


def _noncentrality(t: float, df: int, tail: float) -> float:
    """The one with which a noncentral t lies below `t` with chance `tail`."""
    root = float(scipy.special.nctdtrinc(df, tail, t))
    return min(max(root, -_FARTHEST), _FARTHEST) if math.isfinite(root) else math.copysign(_FARTHEST, 0.5 - tail)
