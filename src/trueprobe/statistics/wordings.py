"""Where a number's variance comes from: other items, other seeds, other wordings. One row per family and measure.

All are variances of one checkpoint's number in one wording. `seeds_by_items` is what single seeds make of single
items; over wordings it is the plain variance of the values at hand, so it holds some of the items' noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueprobe.statistics.verdict import Found
from trueprobe.types import Estimate

SOURCES = ("items", "seeds", "seeds_by_items", "wordings")


def variance(found: Sequence[Found]) -> list[dict[str, Any]]:
    """For families, and for single checkpoints in several wordings. Each wording's row, or the one that pools them."""
    family = any(one.estimate.level == "family" for one in found)
    rows = [one for one in found if (one.estimate.level == "family") == family]
    over_wordings = _over_wordings([one.estimate for one in rows])
    table = []
    for one in rows:
        e = one.estimate
        parts = {**_parts(one), "wordings": over_wordings.get(_key(e), math.nan)}
        known = [value for value in parts.values() if not math.isnan(value)]
        if len(known) < 2 or math.isnan(e.value) or (not math.isnan(parts["wordings"]) and not _pools(e)):
            continue
        total = sum(known)
        told: dict[str, Any] = {"probe": e.probe, "model": e.model, "step": e.step, "measure": e.measure}
        told |= {key: str(value) for key, value in e.conditions.items()}
        told |= {"value": e.value, "unit": e.unit, "n_seeds": e.n_seeds, "n_groups": e.n_groups}
        told |= {f"variance_{name}": parts[name] for name in SOURCES}
        table.append({**told, **{f"share_{name}": parts[name] / total if total else math.nan for name in SOURCES}})
    return table


def _parts(one: Found) -> dict[str, float]:
    parts = one.parts
    if parts is None:
        return {"items": one.se**2, "seeds": math.nan, "seeds_by_items": math.nan}
    n = parts.n_seeds
    return {
        "items": max(0.0, parts.items - parts.both),
        "seeds": n * max(0.0, parts.seeds - parts.both),
        "seeds_by_items": n * parts.both,
    }


def _over_wordings(rows: Sequence[Estimate]) -> dict[tuple, float]:
    values: dict[tuple, list[float]] = {}
    for e in rows:
        if "wording" in e.conditions and not _pools(e) and not math.isnan(e.value):
            values.setdefault(_key(e), []).append(e.value)
    return {key: float(np.var(several, ddof=1)) for key, several in values.items() if len(several) > 1}


def _pools(e: Estimate) -> bool:
    return e.conditions.get("wording") == "all"


def _key(e: Estimate) -> tuple:
    return (e.model, e.step, e.measure, *sorted((k, str(v)) for k, v in e.conditions.items() if k != "wording"))
