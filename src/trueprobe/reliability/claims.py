"""Published findings as quantities, with the number of each checkpoint and of each family, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.measures import Claim, Columns
from trueprobe.measures.means import means
from trueprobe.reliability.correction import holm
from trueprobe.reliability.estimates import Member
from trueprobe.reliability.resampling import Resampling, columns_of
from trueprobe.reliability.spread import Spread, over_items, over_seeds, scale_of
from trueprobe.reliability.verdict import FAILS, FEWEST_GROUPS, FEWEST_SEEDS, FLIPS, LEVEL, NOT_APPLICABLE, UNDECIDED


def claims(
    model: str, kind: str, frame: pd.DataFrame, published: Sequence[Claim], resampling: Resampling
) -> list[dict[str, Any]]:
    """Each published finding with one checkpoint's number for it."""
    return claimed([Member(model, kind, frame, resampling)], published)


def claimed(members: Sequence[Member], published: Sequence[Claim]) -> list[dict[str, Any]]:
    """The rows of each checkpoint, then those of the family, for the claims about their kind of model."""
    mine = [claim for claim in published if members[0].kind in claim.kinds and not claim.between]
    seen = [[_seen(member, columns, claim) for claim in mine] for member, columns in _columns(members, mine)]
    rows = [
        _row(claim, member.model, "checkpoint", 1, one.spread(claim), _agrees(claim, one), member.labels.get("step"))
        for member, found in zip(members, seen, strict=True)
        for claim, one in zip(mine, found, strict=True)
    ]
    if len(members) > 1:
        rows += [_family(members, claim, [found[i] for found in seen]) for i, claim in enumerate(mine)]
    return rows


@dataclass(frozen=True)
class _Seen:
    sample: np.ndarray  # [1 + R]
    groups: int
    passes: bool

    def spread(self, claim: Claim) -> Spread:
        return over_items(scale_of(claim.unit).there(self.sample), self.groups)


def _columns(members: Sequence[Member], mine: Sequence[Claim]) -> list[tuple[Member, Columns]]:
    return [(m, columns_of(m.frame, (claim.column for claim in mine), m.resampling)) for m in members]


def _seen(member: Member, columns: Columns, claim: Claim) -> _Seen:
    sample = _mean_where(columns, member, claim.column, claim.plus)
    if claim.minus is not None:
        sample = sample - _mean_where(columns, member, claim.column, claim.minus)
    return _Seen(sample, _groups(columns, member, claim), not member.gates.fails(claim.gate))


def _family(members: Sequence[Member], claim: Claim, seen: list[_Seen]) -> dict[str, Any]:
    able = [one for one in seen if one.passes and not math.isnan(one.sample[0])]
    groups = min((one.groups for one in able), default=0)
    spread = Spread(float(np.mean([one.sample[0] for one in able])) if able else math.nan, math.nan)
    if len(able) > 1:
        spread = over_seeds(scale_of(claim.unit).there(np.stack([one.sample for one in able])), groups)
    word = _over_seeds(claim, able, spread, groups) if able or any(one.passes for one in seen) else FAILS
    first = members[0]
    return _row(claim, first.family, "family", len(able), spread, word, first.labels.get("step"))


def _over_seeds(claim: Claim, able: list[_Seen], spread: Spread, groups: int) -> str:
    """Seeds that lie clearly on both sides of the threshold make it flip; fewer than three decide nothing."""
    ps = holm(np.array([one.spread(claim).p(claim.threshold) for one in able]))
    sides = {one.sample[0] > claim.threshold for one, p in zip(able, ps, strict=True) if p < LEVEL}
    if len(sides) > 1:
        return FLIPS
    word = held(claim, *spread.interval(), groups)
    return UNDECIDED if len(able) < FEWEST_SEEDS and word != NOT_APPLICABLE else word


def _row(
    claim: Claim, model: str, level: str, n_seeds: int, spread: Spread, word: str, step: int | None
) -> dict[str, Any]:
    scale = scale_of(claim.unit)
    value, low, high = (scale.back(number) for number in (spread.value, *spread.interval()))
    return told(claim, model, level, step, n_seeds, (value, low, high), word)


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


def _groups(columns: Columns, member: Member, claim: Claim) -> int:
    """The fewest groups behind any of the means a claim compares."""
    scored = ~np.isnan(columns.values[claim.column])
    sides = [claim.plus] if claim.minus is None else [claim.plus, claim.minus]
    parts = [dict(zip(side, values, strict=True)) for side in sides for values in product(*side.values())]
    return min(member.resampling.groups(columns.cells[member.rows(part) & scored]) for part in parts)


def _agrees(claim: Claim, one: _Seen) -> str:
    return held(claim, *one.spread(claim).interval(), one.groups) if one.passes else FAILS


def held(claim: Claim, low: float, high: float, groups: int) -> str:
    if np.isnan(low) or groups < FEWEST_GROUPS or low == high == claim.threshold:
        return NOT_APPLICABLE
    above, below = low > claim.threshold, high < claim.threshold
    if claim.expected == "not_below":
        return "opposite" if below else "not contradicted"
    if claim.expected == "below":
        above, below = below, above
    return "as published" if above else "opposite" if below else UNDECIDED
