"""One probe asked in two ways in one run, two lists of occupations for instance: what does the choice move?

Every number that both ways give, of the second less the first, for each checkpoint and family. Groups that the two
have in common are drawn together, and a family's difference is taken seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueprobe.statistics.estimates import Member, sampled
from trueprobe.statistics.interval import Interval, Quantity, of_checkpoint, of_family
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.paired import corrected, verdict

Asked = tuple[Sequence[Member], Sequence[Measure]]  # the checkpoints of one setup, and what is counted


def variants(first: Asked, second: Asked, corrected_over: Sequence[str] = ()) -> list[dict[str, Any]]:
    """`first` and `second` have the same checkpoints in the same order, with shared draws."""
    known = {_key(measure): measure for measure in second[1]}
    ours = [measure for measure in first[1] if _key(measure) in known]
    theirs = [known[_key(measure)] for measure in ours]
    found: list[list[dict[str, Any]]] = [[] for _ in first[0]]
    family: list[dict[str, Any]] = []
    for (measure, one), (_, other) in zip(sampled(first[0], ours), sampled(second[0], theirs), strict=True):
        groups = [min(a.groups, b.groups) for a, b in zip(one, other, strict=True)]
        apart = np.stack([b.sample - a.sample for a, b in zip(one, other, strict=True)])
        values = np.stack([[a.sample[0], b.sample[0]] for a, b in zip(one, other, strict=True)])
        tied = [max(a.tied, b.tied) for a, b in zip(one, other, strict=True)]
        quantity = Quantity(measure.unit, 0.0, difference=True)
        for i, member in enumerate(first[0]):
            moved = _Moved(of_checkpoint(apart[i], groups[i], quantity), groups[i], tied[i])
            found[i].append(_row([member], measure, values[[i]], moved))
        if len(first[0]) > 1:
            able = ~np.isnan(apart[:, 0])
            fewest = min((n for n, known in zip(groups, able, strict=True) if known), default=0)
            moved = _Moved(of_family(list(apart[able]), fewest, quantity), fewest, max(tied))
            family.append(_row(first[0], measure, values[able], moved))
    together = [*found, family] if family else found  # one checkpoint alone is no family
    return [row for mine in together for row in _judged(mine, ours, tuple(corrected_over))]


def _key(measure: Measure) -> tuple:
    return (measure.name, *sorted((key, str(value)) for key, value in measure.conditions.items()))


@dataclass(frozen=True)
class _Moved:
    interval: Interval
    groups: int
    tied: float  # share of the scored items, in the way of asking that has more of them


def _row(members: Sequence[Member], measure: Measure, values: np.ndarray, moved: _Moved) -> dict[str, Any]:
    """`values` [checkpoints, 2] under the two ways."""
    several = len(members) > 1
    return {
        "model": members[0].family if several else members[0].model,
        "level": "family" if several else "checkpoint",
        "step": members[0].labels.get("step"),
        "measure": measure.name,
        **{key: str(value) for key, value in measure.conditions.items()},
        "first": float(values[:, 0].mean()) if len(values) else math.nan,
        "second": float(values[:, 1].mean()) if len(values) else math.nan,
        "difference": float((values[:, 1] - values[:, 0]).mean()) if len(values) else math.nan,
        "low": moved.interval.low,
        "high": moved.interval.high,
        "unit": measure.unit,
        "n_groups": moved.groups,
        "n_seeds": len(values),
        "p": moved.interval.p,
        "tied": moved.tied,
    }


def _judged(rows: list[dict[str, Any]], measures: Sequence[Measure], over: tuple[str, ...]) -> list[dict[str, Any]]:
    ps = corrected(measures, [row["p"] for row in rows], over)
    seeds = [None if row["level"] == "checkpoint" else row["n_seeds"] for row in rows]
    return [
        {**row, "p_corrected": float(p), "verdict": verdict(p, row["n_groups"], n, row["tied"])}
        for row, p, n in zip(rows, ps, seeds, strict=True)
    ]
