"""Measures with a test of their own (SEAT) over the seeds of a family: how many runs are significant, and which way.

One rule for both directions, in the table, its words and the figure: a one-sided p is significant upward where p ≤ 0.01
and downward where p ≥ 0.99; a two-sided p where p ≤ 0.01, on the side of the value. The test of SEAT deals sentences,
and those about one word are not independent: see docs/measures/association.md for how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueprobe.statistics.rows import Estimate, SignAgreement, SignCounts
from trueprobe.statistics.unjudged import Unjudged


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
    above, below = sum(value > neutral for value in values), sum(value < neutral for value in values)
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
        above=above,
        below=below,
        lowest=min(values),
        highest=max(values),
        agreement=_agreement((up, down), (above, below), len(members)),
    )


def _agreement(up_down: tuple[int, int], above_below: tuple[int, int], seeds: int) -> SignAgreement:
    """Of the numbers of seeds that are significant, and that lie, to either side."""
    if all(up_down):
        return SignAgreement.BOTH_DIRECTIONS
    if sum(up_down) not in (0, seeds):
        return SignAgreement.SOME_ONLY
    return SignAgreement.NOT_SIGNIFICANT if all(above_below) else SignAgreement.ALL


def _side(one: Unjudged) -> int:
    """1 significant above neutral, −1 below, 0 neither."""
    e = one.estimate
    if not one.tail.significant(e.p):
        return 0
    return 1 if e.value > (e.neutral or 0.0) else -1


def _key(e: Estimate) -> tuple[object, ...]:
    return (e.family, e.step, e.measure, *sorted(e.conditions.items()))
