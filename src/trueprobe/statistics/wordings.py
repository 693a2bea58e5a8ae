"""Where a number's variance comes from: other items, other seeds, other wordings. One row per family and measure.

All are variances of one checkpoint's number in one wording. `seeds_by_items` is what single seeds make of single
items; over wordings it is the plain variance of the values at hand, so it holds some of the items' noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueprobe.statistics.rows import Estimate, VarianceShares
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.verdict import POOLED

SOURCES = ("items", "seeds", "seeds_by_items", "wordings")


def variance(rows: Sequence[Unjudged]) -> list[VarianceShares]:
    """For families, and for single checkpoints in several wordings. Each wording's row, or the one that pools them."""
    level = "family" if any(row.estimate.level == "family" for row in rows) else "checkpoint"
    rows = [row for row in rows if row.estimate.level == level]
    over_wordings = _over_wordings([row.estimate for row in rows])
    return [shares for row in rows if (shares := _shares(row, over_wordings.get(_key(row.estimate), math.nan)))]


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
            values.setdefault(_key(e), []).append(e.value)
    return {key: float(np.var(several, ddof=1)) for key, several in values.items() if len(several) > 1}


def _pools(e: Estimate) -> bool:
    return e.conditions.get("wording") == POOLED


def _key(e: Estimate) -> tuple[object, ...]:
    return (e.model, e.step, e.measure, *sorted(pair for pair in e.conditions.items() if pair[0] != "wording"))
