"""Tables about the seeds and wordings behind an estimate: on which side the seeds lie, and where variance comes from.

`sign_counts`: of a measure with its own test (SEAT), in how many seeds of a family it is significant, and which way.
One rule for both directions, in the table, its words and the figure: a one-sided p is significant upward where p ≤ 0.01
and downward where p ≥ 0.99; a two-sided p where p ≤ 0.01, on the side of the value. The test of SEAT deals sentences,
and those about one word are not independent: see docs/measures/association.md for how often it errs.

`variance`: of one checkpoint's number in one wording, one row per family and measure. `seeds_by_items` is what single
seeds make of single items; over wordings it is the plain variance of the values, so it holds some of the items' noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueprobe.statistics.rows import Estimate, SignAgreement, SignCounts, VarianceShares, grouped
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.verdict import POOLED


def sign_counts(rows: Sequence[Unjudged]) -> list[SignCounts]:
    """One row per tested measure of a family."""
    tested = [row for row in rows if row.estimate.level == "checkpoint" and row.tested and row.usable]
    known = (row for row in tested if not math.isnan(row.estimate.value))
    seeds = grouped(known, lambda row: _key(row.estimate))
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


# ---------------------------------------------------------------- items, seeds, wordings


SOURCES = ("items", "seeds", "seeds_by_items", "wordings")


def variance(rows: Sequence[Unjudged]) -> list[VarianceShares]:
    """For families, and for single checkpoints in several wordings. Each wording's row, or the one that pools them."""
    level = "family" if any(row.estimate.level == "family" for row in rows) else "checkpoint"
    rows = [row for row in rows if row.estimate.level == level]
    over_wordings = _over_wordings([row.estimate for row in rows])
    return [
        shares
        for row in rows
        if (shares := _shares(row, over_wordings.get(_apart_from_wording(row.estimate), math.nan)))
    ]


def _shares(row: Unjudged, wordings: float) -> VarianceShares | None:
    e, parts = row.estimate, {**_parts(row), "wordings": wordings}
    defined = [value for value in parts.values() if not math.isnan(value)]
    if len(defined) < 2 or math.isnan(e.value) or (not math.isnan(wordings) and not _pools(e)):
        return None
    total = sum(defined)
    return VarianceShares(
        probe=e.probe,
        model=e.model,
        step=e.step,
        measure=e.measure,
        conditions=e.conditions,
        value=e.value,
        unit=e.unit,
        n_seeds=e.n_seeds,
        n_groups=e.n_groups,
        **{f"variance_{name}": parts[name] for name in SOURCES},
        **{f"share_{name}": parts[name] / total if total else math.nan for name in SOURCES},
    )


def _parts(one: Unjudged) -> dict[str, float]:
    parts = one.parts
    if parts is None:
        return {"items": one.interval.se**2, "seeds": math.nan, "seeds_by_items": math.nan}
    n = parts.n_seeds
    return {
        "items": max(0.0, parts.items - parts.both),
        "seeds": n * max(0.0, parts.seeds - parts.both),
        "seeds_by_items": n * parts.both,
    }


def _over_wordings(rows: Sequence[Estimate]) -> dict[tuple[object, ...], float]:
    values: dict[tuple[object, ...], list[float]] = {}
    for e in rows:
        if "wording" in e.conditions and not _pools(e) and not math.isnan(e.value):
            values.setdefault(_apart_from_wording(e), []).append(e.value)
    return {key: float(np.var(several, ddof=1)) for key, several in values.items() if len(several) > 1}


def _pools(e: Estimate) -> bool:
    return e.conditions.get("wording") == POOLED


def _apart_from_wording(e: Estimate) -> tuple[object, ...]:
    return (e.model, e.step, e.measure, *sorted(pair for pair in e.conditions.items() if pair[0] != "wording"))
