"""Measures with a test of their own (SEAT) over the seeds of a family: how many runs are significant, and which way.

The tests are one-sided as a rule: p ≤ 0.01 is significant upward, p ≥ 0.99 downward if the interval agrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueprobe.statistics.rows import Estimate, SignAgreement, SignCounts
from trueprobe.statistics.verdict import Unjudged

SIGNIFICANT = 0.01
_CLEAR = 0.05


def sign_counts(rows: Sequence[Unjudged]) -> list[SignCounts]:
    """One row per tested measure of a family."""
    seeds: dict[tuple[object, ...], list[Unjudged]] = {}
    for one in rows:
        if one.estimate.level == "checkpoint" and one.tested and one.usable and not math.isnan(one.estimate.value):
            seeds.setdefault(_key(one.estimate), []).append(one)
    return [_row(members) for members in seeds.values() if len(members) > 1]


def _row(members: list[Unjudged]) -> SignCounts:
    sides = [_side(one) for one in members]
    e, values = members[0].estimate, [one.estimate.value for one in members]
    neutral = e.neutral or 0.0
    up, down = sides.count(1), sides.count(-1)
    return SignCounts(
        probe=e.probe,
        model=e.family,
        step=e.step,
        measure=e.measure,
        conditions=e.conditions,
        n_seeds=len(members),
        significant=up + down,
        significant_above=up,
        significant_below=down,
        above=sum(value > neutral for value in values),
        below=sum(value < neutral for value in values),
        lowest=min(values),
        highest=max(values),
        agreement=_agreement(up, down, len(members)),
    )


def _agreement(up: int, down: int, seeds: int) -> SignAgreement:
    if up and down:
        return SignAgreement.BOTH_DIRECTIONS
    return SignAgreement.ALL if up + down in (0, seeds) else SignAgreement.SOME_ONLY


def _side(one: Unjudged) -> int:
    e = one.estimate
    above = e.value > (e.neutral or 0.0)
    if e.p <= SIGNIFICANT:
        return 1 if above else -1
    return -1 if e.p >= 1 - SIGNIFICANT and not above and one.p < _CLEAR else 0


def _key(e: Estimate) -> tuple[object, ...]:
    return (e.family, e.step, e.measure, *sorted(e.conditions.items()))
