"""Published findings as quantities, with the number of each checkpoint and of each family, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.correction import holm
from trueprobe.statistics.estimates import Member
from trueprobe.statistics.interval import Interval, Method, Quantity, of_checkpoint, of_family, trials_of
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Columns
from trueprobe.statistics.resampling import Resampling, columns_of
from trueprobe.statistics.verdict import (
    FAILS,
    FEWEST_GROUPS,
    FEWEST_SEEDS,
    FLIPS,
    LEVEL,
    LOW_COVERAGE,
    NOT_APPLICABLE,
    UNDECIDED,
    usable,
)


def claims(
    model: str, kind: str, frame: pd.DataFrame, published: Sequence[Claim], resampling: Resampling
) -> list[dict[str, Any]]:
    """Each published finding with one checkpoint's number for it."""
    return claimed([Member(model, kind, frame, resampling)], published)


def claimed(members: Sequence[Member], published: Sequence[Claim], method: Method = "crossed") -> list[dict[str, Any]]:
    """The rows of each checkpoint, then those of the family, for the claims about their kind of model."""
    mine = [claim for claim in published if members[0].kind in claim.kinds and not claim.between]
    seen = [[_seen(member, columns, claim) for claim in mine] for member, columns in _columns(members, mine)]
    rows = [
        _checkpoint(claim, member, one)
        for member, found in zip(members, seen, strict=True)
        for claim, one in zip(mine, found, strict=True)
    ]
    if len(members) > 1:
        rows += [_family(members, claim, [found[i] for found in seen], method) for i, claim in enumerate(mine)]
    return rows


@dataclass(frozen=True)
class _Seen:
    """One checkpoint's number for a claim."""

    sample: np.ndarray  # [1 + R]
    groups: int
    interval: Interval
    passes: bool  # the gate
    tied: float  # share of the scored items

    @property
    def value(self) -> float:
        return float(self.sample[0])

    @property
    def usable(self) -> bool:
        return usable(self.passes, self.tied)


def _columns(members: Sequence[Member], mine: Sequence[Claim]) -> list[tuple[Member, Columns]]:
    return [(m, columns_of(m.frame, (claim.column for claim in mine), m.resampling)) for m in members]


def _quantity(claim: Claim) -> Quantity:
    return Quantity(claim.unit, claim.threshold, difference=claim.minus is not None)


def _seen(member: Member, columns: Columns, claim: Claim) -> _Seen:
    sample = _mean_where(columns, member, claim.column, claim.plus)
    if claim.minus is not None:
        sample = sample - _mean_where(columns, member, claim.column, claim.minus)
    parts = [member.rows(part) & ~np.isnan(columns.values[claim.column]) for part in _parts(claim)]
    groups = min(member.resampling.groups(columns.cells[part]) for part in parts)
    trials = None
    if claim.unit == "share" and len(parts) == 1:
        trials = trials_of(columns.values[claim.column][parts[0]], groups, member.resampling.factors)
    found = of_checkpoint(sample, groups, _quantity(claim), trials)
    passes, tied = not member.gates.fails(claim.gate), columns.tied(np.logical_or.reduce(parts))
    return _Seen(sample, groups, found, passes, tied)


def _checkpoint(claim: Claim, member: Member, one: _Seen) -> dict[str, Any]:
    numbers = (one.value, one.interval.low, one.interval.high)
    word = held(claim, one.interval.low, one.interval.high, one.groups)
    return told(claim, member.model, "checkpoint", member.labels.get("step"), 1, numbers, _said_of([one]) or word)


def _family(members: Sequence[Member], claim: Claim, seen: list[_Seen], method: Method) -> dict[str, Any]:
    """Over the seeds that pass the gate, have a number and are not mostly ties."""
    able = [one for one in seen if one.usable and not math.isnan(one.value)]
    groups = min((one.groups for one in able), default=0)
    first = members[0]
    found = of_family([one.sample for one in able], groups, _quantity(claim), method, first.resampling.resample_seed)
    value = float(np.mean([one.value for one in able])) if able else math.nan
    word = _said_of(seen) or _over_seeds(claim, able, found, groups)
    numbers = (value, found.low, found.high)
    return told(claim, first.family, "family", first.labels.get("step"), len(able), numbers, word)


def _said_of(seen: Sequence[_Seen]) -> str:
    """What stands in the way of any verdict on these checkpoints, if something does."""
    if any(one.usable for one in seen):
        return ""
    return LOW_COVERAGE if any(one.passes for one in seen) else FAILS


def _over_seeds(claim: Claim, able: list[_Seen], found: Interval, groups: int) -> str:
    """Seeds that lie clearly on both sides of the threshold make it flip; fewer than three decide nothing."""
    ps = holm(np.array([one.interval.p for one in able]))
    sides = {one.value > claim.threshold for one, p in zip(able, ps, strict=True) if p < LEVEL}
    if len(sides) > 1:
        return FLIPS
    word = held(claim, found.low, found.high, groups)
    return UNDECIDED if len(able) < FEWEST_SEEDS and word != NOT_APPLICABLE else word


def told(
    claim: Claim,
    model: str,
    level: str,
    step: int | None,
    n_seeds: int,
    numbers: tuple[float, float, float],
    word: str,
) -> dict[str, Any]:
    """A row of the table of claims; `numbers` are the value and the ends of its interval."""
    value, low, high = numbers
    return {
        "claim": claim.name,
        "statement": claim.statement,
        "paper": claim.paper,
        "model": model,
        "level": level,
        "step": step,
        "n_seeds": n_seeds,
        **{key: str(value) for key, value in claim.conditions.items()},
        "quantity": claim.column,
        "expected": f"{claim.expected.replace('_', ' ')} {claim.threshold:g}",
        "value": value,
        "low": low,
        "high": high,
        "unit": claim.unit,
        "verdict": word,
    }


def _mean_where(columns: Columns, member: Member, column: str, where: Mapping[str, Any]) -> np.ndarray:
    """Every listed value counts the same, however many items it has."""
    samples = []
    for values in product(*where.values()):
        rows = member.rows(dict(zip(where, values, strict=True)))
        if not rows.any():
            return np.full(len(member.resampling.weights), np.nan)
        samples.append(means(columns.pick(rows), [(column,)], member.resampling.weights)[:, 0])
    return np.mean(samples, axis=0)


def _parts(claim: Claim) -> list[dict[str, Any]]:
    """The conditions of each of the means a claim compares."""
    sides = [claim.plus] if claim.minus is None else [claim.plus, claim.minus]
    return [dict(zip(side, values, strict=True)) for side in sides for values in product(*side.values())]


def held(claim: Claim, low: float, high: float, groups: int) -> str:
    if np.isnan(low) or groups < FEWEST_GROUPS or low == high == claim.threshold:
        return NOT_APPLICABLE
    above, below = low > claim.threshold, high < claim.threshold
    if claim.expected == "not_below":
        return "opposite" if below else "not contradicted"
    if claim.expected == "below":
        above, below = below, above
    return "as published" if above else "opposite" if below else UNDECIDED
