"""Two diagnostics that ask about the same category: do they give the same answer? (Paper C: not on religion.)

Scores are put on one scale (neutral is 0.5). Their items differ, so items are independent; their seeds are the same,
so the difference is taken within each seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from trueprobe.statistics.claims import About, Numbers, result
from trueprobe.statistics.correction import holm
from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.rows import Agreement, ClaimResult, Disagreement, Estimate, changed
from trueprobe.statistics.spread import Components, Spread
from trueprobe.statistics.verdict import ALPHA, FEWEST_GROUPS, FEWEST_SEEDS, Unjudged
from trueprobe.types import Direction, Verdict

POOLED = ("all", "both")  # the rows over all values of a condition
PUBLISHED = "religion"  # where paper C reports it
SHARED = {"race-color": "race", "socioeconomic": "occupation", "profession": "occupation"}  # as paper C pairs them
Key = tuple[str, str, int | None, str]  # model, level, step, shared category


def between(estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str]) -> list[Disagreement]:
    """One row per pair of probes, model or family, and category; p corrected over the categories."""
    table: list[Disagreement] = []
    for one, other in combinations(diagnostics, 2):
        sides = [scores(estimates[label], diagnostics[label]) for label in (one, other)]
        for who in dict.fromkeys(key[:3] for key in sides[0]):
            table += _corrected([row for key, row in _differences(one, other, sides) if key[:3] == who])
    return table


def claims(rows: Sequence[Disagreement]) -> list[ClaimResult]:
    """Paper C's: the two do not agree on religion."""
    return [_claim(row) for row in rows if row.category == PUBLISHED]


def _claim(row: Disagreement) -> ClaimResult:
    claim = Claim(
        f"disagree_on_{PUBLISHED}",
        f"{row.first} and {row.second} disagree on {PUBLISHED} (the first less the second)",
        "C",
        "difference of scores",
        {},
        direction=Direction.NOT_EQUAL,
        unit="share",
    )
    about = About(row.model, row.level, row.family, row.step, row.n_seeds)
    numbers = Numbers(row.difference, row.low, row.high, row.p)
    return result(f"{row.first}, {row.second}", claim, about, numbers, _verdict(row))


def _verdict(row: Disagreement) -> Verdict:
    if row.agreement is Agreement.UNKNOWN:
        return Verdict.NOTHING_SCORED if math.isnan(row.difference) else Verdict.TOO_FEW_GROUPS
    few = row.level == "family" and row.n_seeds < FEWEST_SEEDS
    return Verdict.UNDECIDED if few or row.agreement is Agreement.UNDECIDED else Verdict.AS_PUBLISHED


def scores(rows: Sequence[Unjudged], measure: str) -> dict[Key, Unjudged]:
    """By model, level, step and shared category; other conditions pooled where there is a pooled row.

    A number that decides nothing (a failed gate, mostly ties) is no score."""
    mine = [
        one for one in rows if one.estimate.measure == measure and "category" in one.estimate.conditions and one.usable
    ]
    others = {key for one in mine for key in one.estimate.conditions} - {"category"}
    pooled = {key for key in others if any(one.estimate.conditions.get(key) in POOLED for one in mine)}
    scores: dict[Key, Unjudged] = {}
    for one in mine:
        e = one.estimate
        if all(e.conditions.get(key) in POOLED for key in pooled):
            category = e.conditions["category"]
            scores.setdefault((e.model, e.level, e.step, SHARED.get(category, category)), one)
    return scores


def _differences(one: str, other: str, sides: list[dict[Key, Unjudged]]) -> Iterator[tuple[Key, Disagreement]]:
    for key, a in sides[0].items():
        b = sides[1].get(key)
        if b is not None:
            yield key, _disagreement(one, other, key[3], a, b)


def _disagreement(one: str, other: str, category: str, a: Unjudged, b: Unjudged) -> Disagreement:
    spread, groups = _difference(a, b), min(a.estimate.n_groups, b.estimate.n_groups)
    apart = interval(spread, groups, Quantity("share", 0.0, difference=True))
    return Disagreement(
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
        p=math.nan if groups < FEWEST_GROUPS else apart.p,
    )


def _difference(a: Unjudged, b: Unjudged) -> Spread:
    value = _share(a.estimate, a.estimate.value) - _share(b.estimate, b.estimate.value)
    by_a, by_b = (1 / (2 * (one.estimate.neutral or 0.5)) for one in (a, b))
    if a.parts is None or b.parts is None or len(a.seed_values) != len(b.seed_values):
        errors = (a.se * by_a) ** 2, (b.se * by_b) ** 2
        weighed = errors[0] ** 2 / a.df + errors[1] ** 2 / b.df
        return Spread(value, math.sqrt(sum(errors)), df=sum(errors) ** 2 / weighed if weighed > 0 else math.inf)
    apart = np.array(a.seed_values) * by_a - np.array(b.seed_values) * by_b
    n = len(apart)
    parts = Components(
        a.parts.items * by_a**2 + b.parts.items * by_b**2,
        float(apart.var(ddof=1)) / n,
        a.parts.both * by_a**2 + b.parts.both * by_b**2,
        n,
    )
    items = (a.parts.items * by_a**2, a.estimate.n_groups), (b.parts.items * by_b**2, b.estimate.n_groups)
    weighed = parts.seeds**2 / (n - 1) + sum(part**2 / max(1, groups - 1) for part, groups in items)
    df = max(parts.total**2 / weighed, n - 1) if weighed > 0 else math.inf
    return Spread(value, math.sqrt(parts.total), df=df)


def _share(e: Estimate, value: float) -> float:
    return value / (2 * (e.neutral or 0.5))


def _corrected(rows: list[Disagreement]) -> list[Disagreement]:
    corrected = holm(np.array([row.p for row in rows]))
    return [
        changed(row, p_corrected=float(p), agreement=_agreement(row.difference, float(p)))
        for row, p in zip(rows, corrected, strict=True)
    ]


def _agreement(difference: float, p: float) -> Agreement:
    if math.isnan(p):
        return Agreement.UNKNOWN
    if not p < ALPHA:
        return Agreement.UNDECIDED
    return Agreement.FIRST_ABOVE if difference > 0 else Agreement.FIRST_BELOW
