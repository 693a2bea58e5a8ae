"""Two diagnostics that ask about the same category: do they give the same answer? (Paper C: not on religion.)

Scores are put on one scale (neutral is 0.5). Their items differ, so items are independent; their seeds are the same,
so the difference is taken within each seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from trueprobe.statistics.claims import ClaimSubject, result
from trueprobe.statistics.coverage import least
from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.rows import ClaimResult, Disagreement, Estimate, changed
from trueprobe.statistics.spread import Spread, VarianceSource
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.verdict import Case, judge, judge_agreement
from trueprobe.types import Direction, Unit

POOLED = ("all", "both", "sentence_and_continuation")  # the rows over all values of a condition
PUBLISHED = "religion"  # where paper C reports it
SHARED = {"race-color": "race", "socioeconomic": "occupation", "profession": "occupation"}  # as paper C pairs them
Key = tuple[str, str, int | None, str]  # model, level, step, shared category
Compared = tuple[Disagreement, Case]


def between(estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str]) -> list[Compared]:
    """One row per pair of probes, model or family, and category; p corrected over the categories."""
    table: list[Compared] = []
    for one, other in combinations(diagnostics, 2):
        sides = [scores(estimates[label], diagnostics[label]) for label in (one, other)]
        for who in dict.fromkeys(key[:3] for key in sides[0]):
            table += _judged([row for key, row in _differences(one, other, sides) if key[:3] == who])
    return table


def _judged(rows: Sequence[Compared]) -> list[Compared]:
    judgements = judge([replace(case, together="categories") for _, case in rows])
    return [
        (changed(row, p_corrected=j.p_corrected, agreement=judge_agreement(row.difference, j)), case)
        for (row, case), j in zip(rows, judgements, strict=True)
    ]


def claims(rows: Sequence[Compared]) -> list[ClaimResult]:
    """Paper C's: the two do not agree on religion."""
    return [_claim(row, case) for row, case in rows if row.category == PUBLISHED]


def _claim(row: Disagreement, case: Case) -> ClaimResult:
    claim = Claim(
        name=f"disagree_on_{PUBLISHED}",
        statement=f"{row.first} and {row.second} disagree on {PUBLISHED} (the first minus the second)",
        paper="C",
        column="difference of scores",
        plus={},
        direction=Direction.NOT_EQUAL,
        unit=Unit.SHARE,
    )
    about = ClaimSubject(row.model, row.level, row.family, row.step, row.n_seeds)
    return result(f"{row.first}, {row.second}", claim, about, replace(case, direction=claim.direction))


def scores(rows: Sequence[Unjudged], measure: str) -> dict[Key, Unjudged]:
    """By model, level, step and shared category; other conditions pooled where there is a pooled row.

    A number that decides nothing (a failed gate, mostly ties) is no score."""
    scored = [
        row for row in rows if row.estimate.measure == measure and "category" in row.estimate.conditions and row.usable
    ]
    others = {key for one in scored for key in one.estimate.conditions} - {"category"}
    pooled = {key for key in others if any(one.estimate.conditions.get(key) in POOLED for one in scored)}
    scores: dict[Key, Unjudged] = {}
    for one in scored:
        e = one.estimate
        if all(e.conditions.get(key) in POOLED for key in pooled):
            category = e.conditions["category"]
            scores.setdefault((e.model, e.level, e.step, SHARED.get(category, category)), one)
    return scores


def _differences(one: str, other: str, sides: list[dict[Key, Unjudged]]) -> Iterator[tuple[Key, Compared]]:
    for key, a in sides[0].items():
        b = sides[1].get(key)
        if b is not None:
            yield key, _compared(one, other, key[3], a, b)


def _compared(one: str, other: str, category: str, a: Unjudged, b: Unjudged) -> Compared:
    spread, groups = _difference(a, b), min(a.estimate.n_groups, b.estimate.n_groups)
    apart = interval(spread, groups, Quantity(Unit.SHARE, 0.0, difference=True))
    row = Disagreement(
        model=a.estimate.model,
        level=a.estimate.level,
        family=a.estimate.family,
        step=a.estimate.step,
        category=category,
        first=one,
        second=other,
        first_value=_share(a.estimate, a.estimate.value),
        second_value=_share(b.estimate, b.estimate.value),
        difference=spread.value,
        low=apart.low,
        high=apart.high,
        n_seeds=a.estimate.n_seeds,
        p=apart.p,
    )
    seeds = None if row.level == "checkpoint" else row.n_seeds
    case = Case(
        value=row.difference,
        low=row.low,
        high=row.high,
        p=row.p,
        reference=0.0,
        groups=groups,
        seeds=seeds,
        covered=least((a.covered, b.covered)),
        untied=least((a.untied, b.untied)),
    )
    return row, case


def _difference(a: Unjudged, b: Unjudged) -> Spread:
    value = _share(a.estimate, a.estimate.value) - _share(b.estimate, b.estimate.value)
    by_a, by_b = (1 / (2 * (one.estimate.neutral or 0.5)) for one in (a, b))
    (items_a, df_a), (items_b, df_b) = a.over_items, b.over_items
    others = [VarianceSource(items_b * by_b**2, df_b)]
    if a.parts is not None and b.parts is not None and len(a.seed_values) == len(b.seed_values):
        apart = np.array(a.seed_values) * by_a - np.array(b.seed_values) * by_b
        others.append(VarianceSource(float(apart.var(ddof=1)) / len(apart), len(apart) - 1))
    return Spread(value, math.sqrt(items_a) * by_a, df=df_a, others=tuple(others))


def _share(e: Estimate, value: float) -> float:
    return value / (2 * (e.neutral or 0.5))
