"""Measures with a test of their own (SEAT) over the seeds of a family: how many runs are significant, and which way.

The tests are one-sided as a rule: p ≤ 0.01 is significant upward, p ≥ 0.99 downward if the interval agrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trueprobe.statistics.verdict import Found
from trueprobe.types import Estimate

SIGNIFICANT = 0.01
_CLEAR = 0.05


def significant(found: Sequence[Found]) -> list[dict[str, Any]]:
    """One row per tested measure of a family."""
    runs: dict[tuple, list[Found]] = {}
    for one in found:
        if one.estimate.level == "checkpoint" and one.tested and one.usable and not math.isnan(one.estimate.value):
            runs.setdefault(_key(one.estimate), []).append(one)
    return [_row(members) for members in runs.values() if len(members) > 1]


def _row(members: list[Found]) -> dict[str, Any]:
    sides = [_side(one) for one in members]
    e, values = members[0].estimate, [one.estimate.value for one in members]
    neutral = e.neutral or 0.0
    up, down = sides.count(1), sides.count(-1)
    if up and down:
        says = "significant in both directions"
    elif up + down in (0, len(members)):
        says = "all runs agree"
    else:
        says = "significant in some runs only"
    return {
        "probe": e.probe,
        "model": e.family,
        "step": e.step,
        "measure": e.measure,
        **{key: str(value) for key, value in e.conditions.items()},
        "n_seeds": len(members),
        "significant": up + down,
        "significant_above": up,
        "significant_below": down,
        "above": sum(value > neutral for value in values),
        "below": sum(value < neutral for value in values),
        "lowest": min(values),
        "highest": max(values),
        "says": says,
    }


def _side(one: Found) -> int:
    e = one.estimate
    above = e.value > (e.neutral or 0.0)
    if e.p <= SIGNIFICANT:
        return 1 if above else -1
    return -1 if e.p >= 1 - SIGNIFICANT and not above and one.p < _CLEAR else 0


def _key(e: Estimate) -> tuple:
    return (e.family, e.step, e.measure, *sorted((k, str(v)) for k, v in e.conditions.items()))
