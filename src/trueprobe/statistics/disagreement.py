"""Two diagnostics that ask about the same category: do they give the same answer? (Paper C: not on religion.)

Scores are put on one scale (neutral is 0.5). Their items differ, so items are independent; their seeds are the same,
so the difference is taken within each seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from trueprobe.statistics.claims import told
from trueprobe.statistics.correction import holm
from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.spread import Components, Spread
from trueprobe.statistics.verdict import FEWEST_GROUPS, FEWEST_SEEDS, LEVEL, NOT_APPLICABLE, UNDECIDED, Found
from trueprobe.types import Estimate

POOLED = ("all", "both")  # the rows over all values of a condition
PUBLISHED = "religion"  # where paper C found it
NOT_SHOWN = "no disagreement shown"
SHARED = {"race-color": "race", "socioeconomic": "occupation", "profession": "occupation"}  # as paper C pairs them


def between(found: Mapping[str, Sequence[Found]], diagnostics: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row per pair of probes, model or family, and category; p corrected over the categories."""
    table = []
    for one, other in combinations(diagnostics, 2):
        sides = [scores(found[label], diagnostics[label]) for label in (one, other)]
        for who in dict.fromkeys(key[:3] for key in sides[0]):
            table += _corrected(list(_differences(one, other, sides, who)))
    return table


def claims(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Paper C's: the two do not agree on religion."""
    found = []
    for row in (row for row in rows if row["category"] == PUBLISHED):
        says = f"{row['first']} and {row['second']} disagree on {PUBLISHED}"
        claim = Claim(f"disagree_on_{PUBLISHED}", says, "C", "difference of scores", {}, expected="not", unit="share")
        who = (row["model"], row["level"], row["step"], row["n_seeds"])
        numbers = (row["difference"], row["low"], row["high"])
        found.append({"probe": f"{row['first']}, {row['second']}", **told(claim, *who, numbers, _verdict(row))})
    return found


def _verdict(row: Mapping[str, Any]) -> str:
    if row["says"] == NOT_APPLICABLE:
        return NOT_APPLICABLE
    few = row["level"] == "family" and row["n_seeds"] < FEWEST_SEEDS
    return UNDECIDED if few or row["says"] == NOT_SHOWN else "as published"


def scores(found: Sequence[Found], measure: str) -> dict[tuple, Found]:
    """By model, level, step and shared category; other conditions pooled where there is a pooled row.

    A number that says nothing (a failed gate, mostly ties) is no score."""
    mine = [
        one for one in found if one.estimate.measure == measure and "category" in one.estimate.conditions and one.usable
    ]
    others = {key for one in mine for key in one.estimate.conditions} - {"category"}
    pooled = {key for key in others if any(one.estimate.conditions.get(key) in POOLED for one in mine)}
    scores: dict[tuple, Found] = {}
    for one in mine:
        e = one.estimate
        if all(e.conditions.get(key) in POOLED for key in pooled):
            category = str(e.conditions["category"])
            scores.setdefault((e.model, e.level, e.step, SHARED.get(category, category)), one)
    return scores


def _differences(one: str, other: str, sides: list[dict[tuple, Found]], who: tuple) -> Iterator[dict[str, Any]]:
    for key, a in sides[0].items():
        b = sides[1].get(key)
        if key[:3] != who or b is None:
            continue
        spread, groups = _difference(a, b), min(a.estimate.n_groups, b.estimate.n_groups)
        apart = interval(spread, groups, Quantity("share", 0.0, difference=True))
        yield {
            "model": who[0],
            "level": who[1],
            "step": who[2],
            "category": key[3],
            "first": one,
            "second": other,
            "first_value": _share(a.estimate, a.estimate.value),
            "second_value": _share(b.estimate, b.estimate.value),
            "difference": spread.value,
            "low": apart.low,
            "high": apart.high,
            "n_seeds": a.estimate.n_seeds,
            "p": math.nan if groups < FEWEST_GROUPS else apart.p,
        }


def _difference(a: Found, b: Found) -> Spread:
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


def _corrected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    corrected = holm(np.array([row["p"] for row in rows]))
    return [{**row, "p_corrected": float(p), "says": _says(row, p)} for row, p in zip(rows, corrected, strict=True)]


def _says(row: dict[str, Any], p: float) -> str:
    if math.isnan(p):
        return NOT_APPLICABLE
    if not p < LEVEL:
        return NOT_SHOWN
    above = row["difference"] > 0
    return f"disagree: {row['first']} is {'above' if above else 'below'} {row['second']}"
