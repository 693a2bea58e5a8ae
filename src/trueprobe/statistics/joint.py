"""One question counted in many defensible ways: how far the choices move the answer, and one test of all together.

Each specification gives a number θ from sums per group of items, so that all of them are a matrix [groups,
specifications]. A relabelling changes all of them at once: the two sides of each group are swapped (SIGN), or the
groups are dealt to the two sides again (DEAL). z is the distance of θ from its mean under relabelling, in its standard
deviations there; the joint test asks how often the mean z is as far from zero. Positive is what the probe's number
means by it. Not shown: whether a way of counting that nobody declared would agree.

    values of three groups 1, 2, 4; neutral 0      θ = 7/3, sd √(1 + 4 + 16)/3, z = 7/√21 = 1.53
    8 relabellings, |7| is reached by +++ and −−−  p = 2/8
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.statistics.association import effect_size, effect_size_ddof0
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.means import group_means
from trueprobe.statistics.measure import Claim, Measure
from trueprobe.statistics.multiverse import Chosen, Counting, Number, Question
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import GROUP

RELABELLINGS = 10_000
_AT_ONCE = 1_000  # relabellings
_ROUNDING = 1e-9


# ---------------------------------------------------------------- groups and specifications


@dataclass(frozen=True)
class Matrix:
    """[groups, specifications] each. A group's values sum to what it adds to θ on the first side, its weights to its
    share of what is counted."""

    values: np.ndarray
    weights: np.ndarray
    sides: np.ndarray | None = None  # [groups]: 1 or −1; None where signs are changed instead
    difference: bool = False  # of the means of the two sides, in place of the mean of side × value


def column(counting: Counting, member: CheckpointData, groups: Sequence[str], factor: str) -> tuple[np.ndarray, ...]:
    """[groups] values and weights of one specification and checkpoint: the values sum to θ − neutral.

    Of a difference of two means, a group has the difference of its means, so that swapping its sides changes the sign;
    a group on one side only has none."""
    here = np.searchsorted(groups, member.frame[GROUP + factor].to_numpy(dtype=str))
    sums, weights = np.zeros((2, len(groups))), np.zeros((2, len(groups)))
    for share, where in _parts(counting.number):
        rows = np.flatnonzero(member.rows(where) & ~np.isnan(counting.values))
        count = np.bincount(here[rows], minlength=len(groups)).astype(float)
        each = 1 / np.maximum(count, 1) if _over_groups(counting.number) else np.ones(len(groups))
        if not len(rows):
            return np.full(len(groups), np.nan), np.zeros(len(groups))
        each *= abs(share) / (each * count).sum()
        side = int(share < 0)
        sums[side] += each * np.bincount(here[rows], counting.values[rows], len(groups))
        weights[side] += each * count
    if isinstance(counting.number, Claim) and counting.number.minus is not None:
        both = (weights > 0).all(axis=0)
        means = np.divide(sums, weights, out=np.zeros_like(sums), where=both)
        shared = np.where(both, weights.mean(axis=0), 0.0)
        return shared * (means[0] - means[1]), shared
    neutral = counting.number.neutral if isinstance(counting.number, Measure) else counting.number.threshold
    return sums[0] - (neutral or 0.0) * weights[0], weights[0]


def _over_groups(number: Number) -> bool:
    return isinstance(number, Measure) and number.function is group_means


def _parts(number: Number) -> list[tuple[float, Mapping[str, Any]]]:
    """The means that a number is made of, each with its share."""
    if isinstance(number, Measure):
        return [(1.0, number.where)]
    plus = len(list(product(*number.plus.values())))
    shares = [1 / plus if i < plus else -1 / (len(number.parts) - plus) for i in range(len(number.parts))]
    return list(zip(shares, number.parts, strict=True))


def matrix(question: Question, counted: Sequence[Sequence[tuple[CheckpointData, Counting]]]) -> Matrix:
    """`counted`: of each specification, the seeds it is counted for. Their values are averaged, so that a relabelling
    is the same for all seeds, and tests the items given these seeds."""
    frames = [member.frame for seeds in counted for member, _ in seeds]
    groups = sorted({str(name) for frame in frames for name in frame[GROUP + question.factor].unique()})
    pairs = [[column(c, m, groups, question.factor) for m, c in seeds] for seeds in counted]
    known = [[pair for pair in seeds if not np.isnan(pair[0]).any()] or seeds[:1] for seeds in pairs]
    values, weights = (np.stack([np.mean([p[i] for p in seeds], axis=0) for seeds in known], axis=1) for i in (0, 1))
    counts = np.any(weights > 0, axis=1).tolist()  # attributes, say, are on no side
    values, weights, groups = values[counts], weights[counts], [g for g, has in zip(groups, counts, strict=True) if has]
    if question.first_side is None:
        return Matrix(values, weights)
    name, first = question.first_side
    side_of = {str(g): s for frame in frames for g, s in zip(frame[GROUP + question.factor], frame[name], strict=True)}
    sides = np.array([1.0 if side_of[group] == first else -1.0 for group in groups])
    functions = {c.number.function for seeds in counted for _, c in seeds if isinstance(c.number, Measure)}
    return Matrix(values, weights, sides, bool(functions & {effect_size, effect_size_ddof0}))


def numbers(matrix: Matrix, relabelled: np.ndarray) -> np.ndarray:
    """[relabellings, specifications]: θ − neutral; `relabelled` [relabellings, groups] has signs, or sides."""
    if matrix.sides is None:
        signed: np.ndarray = relabelled @ matrix.values
        return signed
    if not matrix.difference:
        dealt: np.ndarray = relabelled @ (matrix.sides[:, None] * matrix.values)
        return dealt
    first = (relabelled > 0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [(on @ matrix.values) / (on @ matrix.weights) for on in (first, 1 - first)]
    apart: np.ndarray = means[0] - means[1]
    return apart


def _spread(matrix: Matrix, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[specifications] mean and standard deviation of θ under relabelling; of signs these are known."""
    if matrix.sides is None:
        squares: np.ndarray = np.sqrt((matrix.values**2).sum(axis=0))
        return np.zeros(len(squares)), squares
    known, n = np.isfinite(theta), np.isfinite(theta).sum(axis=0)
    centre = np.divide(np.where(known, theta, 0.0).sum(axis=0), n, out=np.zeros(len(n)), where=n > 0)
    return centre, np.sqrt(np.where(known, (theta - centre) ** 2, 0.0).sum(axis=0) / np.maximum(n, 1))


def _z(matrix: Matrix, theta: np.ndarray) -> np.ndarray:
    """[relabellings, specifications]; NaN for a specification of too few groups, or that no relabelling moves."""
    centre, sd = _spread(matrix, theta)
    able = ((matrix.weights > 0).sum(axis=0) >= FEWEST_GROUPS) & np.isfinite(matrix.values).all(axis=0)
    varies = sd > _ROUNDING * np.abs(matrix.values).sum(axis=0)
    z = np.divide(theta - centre, sd, out=np.zeros_like(theta), where=varies)
    return np.where(able & varies, np.nan_to_num(z), np.nan)


# ---------------------------------------------------------------- the joint test


@dataclass(frozen=True)
class Joint:
    """What all specifications say together."""

    z: np.ndarray  # of each
    mean_z: float  # the declared statistic
    p: float  # two-sided
    max_abs_z: float  # a description: nothing is concluded from it
    any_significant: float  # share of relabellings in which some |z| exceeds 1.96, also a description
    effective: float  # how many uncorrelated specifications would vary as much
    band: np.ndarray  # [2, specifications]: 95 % of relabellings, of the smallest z, the second …
    relabellings: int
    exact: bool  # all of them
    groups: int


def joint(matrix: Matrix, resample_seed: int = 0, most: int = RELABELLINGS) -> Joint:
    """One relabelling for all specifications at once."""
    relabelled, exact = _relabelled(matrix, resample_seed, most)
    chunks = (relabelled[i : i + _AT_ONCE].astype(float) for i in range(0, len(relabelled), _AT_ONCE))
    z = _z(matrix, np.concatenate([numbers(matrix, chunk) for chunk in chunks]))
    able = np.isfinite(z[0])
    null = z[:, able]
    means = null.mean(axis=1) if able.any() else np.full(len(z), np.nan)
    beyond = float((np.abs(means) >= abs(means[0]) - _ROUNDING).mean()) if able.any() else np.nan
    band = np.full((2, len(able)), np.nan)
    if able.any():
        band[:, : able.sum()] = np.quantile(np.sort(null, axis=1), (0.025, 0.975), axis=0)
    return Joint(
        z=z[0],
        mean_z=float(means[0]),
        p=beyond,
        max_abs_z=float(np.abs(null[0]).max(initial=0.0)),
        any_significant=float((np.abs(null) > 1.96).any(axis=1).mean()),
        effective=_effective(null),
        band=band,
        relabellings=len(z),
        exact=exact,
        groups=len(matrix.values),
    )


def _relabelled(matrix: Matrix, resample_seed: int, most: int) -> tuple[np.ndarray, bool]:
    """[relabellings, groups] of ±1, the observed one first; all where they are at most `most`, else drawn ones."""
    n, rng = len(matrix.values), np.random.default_rng(resample_seed)
    if matrix.sides is None:
        if 2**n <= most:
            return np.array(list(product((1, -1), repeat=n)), dtype=np.int8), True
        drawn = rng.integers(0, 2, (most - 1, n), dtype=np.int8) * 2 - 1
        return np.concatenate([np.ones((1, n), dtype=np.int8), drawn]), False
    sides = matrix.sides.astype(np.int8)
    k = int((sides > 0).sum())
    if comb(n, k) <= most:
        dealt = np.full((comb(n, k), n), -1, dtype=np.int8)
        for row, chosen in zip(dealt, combinations(range(n), k), strict=True):
            row[list(chosen)] = 1
        first = np.flatnonzero((dealt == sides).all(axis=1))[0]
        dealt[[0, first]] = dealt[[first, 0]]
        return dealt, True
    return np.concatenate([sides[None], rng.permuted(np.tile(sides, (most - 1, 1)), axis=1)]), False


def _effective(null: np.ndarray) -> float:
    """(Σ λ)² / Σ λ² of their correlations under relabelling: 1 where all are one, their number where none are alike."""
    vary = null[:, null.std(axis=0) > 1e-9]
    if vary.shape[1] < 2:
        return float(vary.shape[1])
    return float(vary.shape[1] ** 2 / (np.corrcoef(vary.T) ** 2).sum())


# ---------------------------------------------------------------- what the choices do


@dataclass(frozen=True)
class Shares:
    """Of the variance of z over specifications."""

    axes: Mapping[str, tuple[float, float]]  # of each by itself, and beyond all others (the same if balanced)
    overlap: float  # what the axes explain together less what each explains beyond the others; 0 if balanced
    interactions: float  # that depends on several choices at once


def axis_shares(z: np.ndarray, chosen: Sequence[Chosen]) -> Shares:
    """By least squares on the choices; specifications without a z are left out."""
    able = np.flatnonzero(np.isfinite(z)).tolist()
    z, chosen = z[able], [chosen[i] for i in able]
    names = list(chosen[0]) if chosen else []
    columns = {name: pd.get_dummies(pd.Series([one[name] for one in chosen])).to_numpy(dtype=float) for name in names}
    whole = _explained(z, list(columns.values()))
    axes = {
        name: (_explained(z, [columns[name]]), max(0.0, whole - _explained(z, _without(columns, name))))
        for name in names
    }
    return Shares(axes, whole - sum(unique for _, unique in axes.values()), max(0.0, 1 - whole))


def _without(columns: Mapping[str, np.ndarray], name: str) -> list[np.ndarray]:
    return [dummies for other, dummies in columns.items() if other != name]


def _explained(z: np.ndarray, dummies: Sequence[np.ndarray]) -> float:
    total = float(((z - z.mean()) ** 2).sum()) if len(z) else 0.0
    if total <= _ROUNDING * max(1.0, float((z**2).sum())):
        return 0.0
    design = np.concatenate([np.ones((len(z), 1)), *dummies], axis=1)
    rest = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return 1 - float((rest**2).sum()) / total


def same_sign(z: np.ndarray) -> tuple[float, int]:
    """The share of specifications on the side where most lie, and that side."""
    z = z[np.isfinite(z)]
    above, below = int((z > 0).sum()), int((z < 0).sum())
    return (max(above, below) / len(z) if len(z) else np.nan), (1 if above >= below else -1)
