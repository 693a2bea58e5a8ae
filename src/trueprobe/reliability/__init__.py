"""How far a number can be trusted: the same measure over resampled items, its interval, and a verdict.

Items are resampled by the probe's groups. Where an item belongs to two crossed groups (a target and a background
occupation), both are resampled and their weights multiply. `resample_seed` is our dice, never a model's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.measures import Claim, Columns, Gate, Measure
from trueprobe.measures.means import group_means, means
from trueprobe.types import Estimate

RESAMPLES = 10_000
METHOD = "bootstrap over {groups}, percentile, 95 %"
FAILS = "fails the gate"
_FEWEST_GROUPS = 5  # below this an interval over groups says nothing


@dataclass(frozen=True)
class Resampling:
    """The cells of a probe's observations and how often each is drawn: weights[0] is the sample itself."""

    cells: np.ndarray  # of each observation
    weights: np.ndarray  # [1 + R, cells], float32
    factors: tuple[str, ...]
    names: np.ndarray  # [cells, factors]
    resample_seed: int = 0

    def groups(self, cells: np.ndarray) -> int:
        """Independent units behind these cells: of the crossed factors that apply, the one with fewest groups."""
        distinct = [set(self.names[np.unique(cells), f]) - {""} for f in range(len(self.factors))]
        return min((len(groups) for groups in distinct if groups), default=0)

    @classmethod
    def of(cls, groups: pd.DataFrame, resamples: int = RESAMPLES, resample_seed: int = 0) -> Resampling:
        """`groups` has one column per crossed factor; "" means that the factor does not apply."""
        dice = np.random.default_rng(resample_seed)
        codes, distinct = pd.factorize(pd.MultiIndex.from_frame(groups) if groups.shape[1] > 1 else groups.iloc[:, 0])
        table = pd.DataFrame(list(distinct)) if groups.shape[1] > 1 else pd.DataFrame({0: list(distinct)})
        weights = np.ones((1 + resamples, len(table)), dtype=np.float32, order="F")  # read by columns
        for factor in table.columns:
            names = sorted(set(table[factor]) - {""})
            if not names:
                continue
            drawn = dice.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
            place = {name: i for i, name in enumerate(names)}
            for column, name in enumerate(table[factor]):
                if name:
                    weights[1:, column] *= drawn[:, place[name]]
        return cls(codes, weights, tuple(map(str, groups.columns)), table.to_numpy(dtype=str), resample_seed)


def columns_of(frame: pd.DataFrame, names: Iterable[str], resampling: Resampling) -> Columns:
    """Numbers, NaN where nothing was scored, even where a whole column holds nothing."""
    numbers = {name: pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float) for name in set(names)}
    return Columns(numbers, resampling.cells)


def estimates(
    probe: str, model: str, frame: pd.DataFrame, measures: Iterable[Measure], resampling: Resampling
) -> list[Estimate]:
    """One row per measure; measures over the same rows share their matrix products."""
    ordered = list(measures)
    columns = columns_of(frame, (name for measure in ordered for name in measure.columns), resampling)
    gates = Gates(frame, resampling)
    results: list[Estimate] = []
    for (where, function), group in groupby(ordered, key=lambda m: (tuple(m.where.items()), m.function)):
        members = list(group)
        rows = rows_where(frame, dict(where))
        picked = columns.pick(rows)
        values = function(picked, [m.columns for m in members], resampling.weights) if rows.any() else None
        for i, measure in enumerate(members):
            sample = values[:, i] if values is not None else np.array([np.nan])
            results.append(_estimate(probe, model, measure, sample, picked, resampling))
            if gates.fails(measure.gate):
                results[-1] = replace(results[-1], verdict=FAILS)
    return results


class Gates:
    """Which gates this model does not pass; each is looked at once."""

    def __init__(self, frame: pd.DataFrame, resampling: Resampling) -> None:
        self.frame, self.resampling = frame, resampling
        self.known: dict[tuple, bool] = {}

    def fails(self, gate: Gate | None) -> bool:
        if gate is None:
            return False
        key = (gate.column, gate.least, *gate.where.items())
        if key not in self.known:
            columns = columns_of(self.frame, [gate.column], self.resampling)
            rows = rows_where(self.frame, gate.where)
            value = group_means(columns.pick(rows), [(gate.column,)], self.resampling.weights[:1])[0, 0]
            self.known[key] = not value >= gate.least  # nothing known is not passed either
        return self.known[key]


def _estimate(
    probe: str, model: str, measure: Measure, sample: np.ndarray, picked: Columns, resampling: Resampling
) -> Estimate:
    scored = ~np.isnan(np.stack([picked.values[name] for name in measure.columns])).any(axis=0)
    groups = resampling.groups(picked.cells[scored])
    value, (low, high) = float(sample[0]), interval(sample[1:])
    return Estimate(
        probe=probe,
        model=model,
        measure=measure.name,
        conditions=measure.conditions,
        value=value,
        low=low,
        high=high,
        n_items=int(scored.sum()),
        n_unscored=int((~scored).sum()),
        n_groups=groups,
        unit=measure.unit,
        neutral=measure.neutral,
        method=METHOD.format(groups=" × ".join(resampling.factors)),
        verdict=verdict(value, low, high, measure.neutral, groups),
        p=measure.test(picked, measure.columns, resampling.resample_seed) if measure.test and groups else math.nan,
    )


def interval(resampled: np.ndarray) -> tuple[float, float]:
    known = resampled[~np.isnan(resampled)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def verdict(value: float, low: float, high: float, neutral: float | None, groups: int) -> str:
    """What one checkpoint can earn; over several trainings of one setup more can be said."""
    if np.isnan(value) or np.isnan(low) or groups < _FEWEST_GROUPS:
        return "not applicable"
    if neutral is None:
        return "descriptive"
    if low == high == neutral:  # nothing was there to measure: no listed word in any top k
        return "not applicable"
    return "holds for this checkpoint" if low > neutral or high < neutral else "undecided"


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> np.ndarray:
    rows = np.ones(len(frame), dtype=bool)
    for name, wanted in where.items():
        rows &= frame[name].isin(list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]).to_numpy()
    return rows


def claims(
    model: str, kind: str, frame: pd.DataFrame, published: Sequence[Claim], resampling: Resampling
) -> list[dict[str, Any]]:
    """Each published finding with this model's number for it."""
    columns = columns_of(frame, (claim.column for claim in published), resampling)
    gates = Gates(frame, resampling)
    rows = []
    for claim in published:
        if kind not in claim.kinds:
            continue
        sample = _mean_where(columns, frame, claim.column, claim.plus, resampling)
        if claim.minus is not None:
            sample = sample - _mean_where(columns, frame, claim.column, claim.minus, resampling)
        value, (low, high) = float(sample[0]), interval(sample[1:])
        agrees = _agrees(claim, low, high, _claim_groups(columns, frame, claim, resampling))
        rows.append(
            {
                "claim": claim.name,
                "statement": claim.statement,
                "paper": claim.paper,
                "model": model,
                **{key: str(value) for key, value in claim.conditions.items()},
                "quantity": claim.column,
                "expected": f"{claim.expected.replace('_', ' ')} {claim.threshold:g}",
                "value": value,
                "low": low,
                "high": high,
                "unit": claim.unit,
                "verdict": FAILS if gates.fails(claim.gate) else agrees,
            }
        )
    return rows


def _mean_where(
    columns: Columns, frame: pd.DataFrame, column: str, where: Mapping[str, Any], resampling: Resampling
) -> np.ndarray:
    """Every listed value counts the same, however many items it has."""
    samples = []
    for values in product(*where.values()):
        rows = rows_where(frame, dict(zip(where, values, strict=True)))
        if not rows.any():
            return np.full(len(resampling.weights), np.nan)
        samples.append(means(columns.pick(rows), [(column,)], resampling.weights)[:, 0])
    return np.mean(samples, axis=0)


def _claim_groups(columns: Columns, frame: pd.DataFrame, claim: Claim, resampling: Resampling) -> int:
    """The fewest groups behind any of the means a claim compares."""
    scored = ~np.isnan(columns.values[claim.column])
    sides = [claim.plus] if claim.minus is None else [claim.plus, claim.minus]
    parts = [dict(zip(side, values, strict=True)) for side in sides for values in product(*side.values())]
    return min(resampling.groups(columns.cells[rows_where(frame, part) & scored]) for part in parts)


def _agrees(claim: Claim, low: float, high: float, groups: int) -> str:
    if np.isnan(low) or groups < _FEWEST_GROUPS or low == high == claim.threshold:
        return "not applicable"
    above, below = low > claim.threshold, high < claim.threshold
    if claim.expected == "not_below":
        return "opposite" if below else "not contradicted"
    if claim.expected == "below":
        above, below = below, above
    return "as published" if above else "opposite" if below else "undecided"
