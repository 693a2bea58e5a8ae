"""Two models or two families on the same items: difference, interval, permutation test, and how many seeds it takes.

Items that any of them did not score are left out for all. Single checkpoints are permuted by swapping the two models'
answers group by group; families by dealing their seeds anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, groupby, product

import numpy as np
import pandas as pd
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.correction import holm
from trueprobe.statistics.estimates import CheckpointData, Picked
from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Batch, Columns, Function, Measure, batches, counted, least
from trueprobe.statistics.resampling import Resampling, columns_of, groups_of
from trueprobe.statistics.rows import Difference, VariantDifference, changed
from trueprobe.statistics.spread import CONFIDENCE, Samples, Spread
from trueprobe.statistics.verdict import ALPHA, FEWEST_SEEDS, low_coverage, without_interval
from trueprobe.types import Verdict

PERMUTATIONS = 10_000
_MOST_SEEDS = 10_000  # more than this many seeds is "never"


@dataclass(frozen=True)
class Sides:
    """The checkpoints of the two sides, in step: row i of every frame is the same item."""

    first: tuple[CheckpointData, ...]
    second: tuple[CheckpointData, ...]

    @classmethod
    def of(
        cls,
        first: Sequence[CheckpointData],
        second: Sequence[CheckpointData],
        factors: Sequence[str],
        parts: Sequence[str] = (),
    ) -> Sides:
        """The groups of `factors` are drawn, where `parts` are named within each of them."""
        frames = _in_step([m.frame[m.frame["why_not"] == ""] for m in (*first, *second)])
        seed = first[0].resampling.resample_seed
        (drawn,) = Resampling.shared([groups_of(frames[0], factors, parts)], seed, parts)
        members = [
            CheckpointData(m.model, m.kind, frame, drawn, m.family, m.labels)
            for m, frame in zip((*first, *second), frames, strict=True)
        ]
        return cls(tuple(members[: len(first)]), tuple(members[len(first) :]))

    @property
    def members(self) -> tuple[CheckpointData, ...]:
        return (*self.first, *self.second)

    @property
    def resampling(self) -> Resampling:
        return self.first[0].resampling

    @property
    def fewest_seeds(self) -> int:
        return min(len(self.first), len(self.second))

    @property
    def single(self) -> bool:
        return len(self.first) == len(self.second) == 1


def _in_step(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Those rows of each whose item and part are in all of them, in the order of the first."""
    keys = ["item", "part"]
    if all(np.array_equal(frames[0][key], frame[key]) for frame in frames[1:] for key in keys):
        return [frame.reset_index(drop=True) for frame in frames]
    named = [frame.set_index(keys) for frame in frames]
    common = named[0].index
    for frame in named[1:]:
        common = common.intersection(frame.index, sort=False)
    return [frame.loc[common].reset_index() for frame in named]


def to_pair(
    model: str, kind: str, frame: pd.DataFrame, resample_seed: int, family: str, labels: Mapping[str, int]
) -> CheckpointData:
    """A checkpoint whose items are drawn once it is known which of them the other side scored too."""
    nothing = Resampling.of(pd.DataFrame({"": ["-"]}), 0, resample_seed)
    return CheckpointData(model, kind, frame, nothing, family, labels)


def compare(
    label: str,
    sides: Sides,
    measures: Sequence[Measure],
    corrected_over: Sequence[str] = (),
    precision: float | None = None,
) -> list[Difference]:
    """One row per measure; p corrected over the conditions that ask one thing many times."""
    rows = [_row(label, sides, sample, precision) for sample in _samples(sides, measures)]  # one sample at a time
    ps = corrected(measures, [row.p for row in rows], tuple(corrected_over))
    seeds = None if sides.single else sides.fewest_seeds
    judged = []
    for row, p in zip(rows, ps.tolist(), strict=True):
        verdict = judge_difference(row, p, seeds)
        judged.append(changed(row, p_corrected=p, verdict=verdict))
    return judged


@dataclass(frozen=True)
class _Apart:
    """One quantity of two sides."""

    values: np.ndarray  # of the members
    spread: Spread  # of the difference
    parts: Parts | None
    p_permutation: float


@dataclass(frozen=True)
class _Sample:
    measure: Measure
    apart: _Apart
    n_items: int
    groups: int
    tied: float  # share of the scored items, of the member that has most
    covered: float  # share of the items that hold anything to count, of the member that has least


def _samples(sides: Sides, measures: Sequence[Measure]) -> Iterator[_Sample]:
    names = {name for measure in measures for name in measure.all_columns}
    every = [columns_of(m.frame, names, sides.resampling) for m in sides.members]
    missing = {name: np.isnan([columns.values[name] for columns in every]).any(axis=0) for name in every[0].values}
    every = [
        Columns({name: np.where(missing[name], np.nan, v) for name, v in columns.values.items()}, columns.cells)
        for columns in every
    ]
    for _, alike in groupby(measures, key=lambda m: tuple(m.where.items())):
        first, *others = alike
        rows = np.all([m.rows(first.where) for m in sides.members], axis=0)
        picked = [Picked(columns.pick(rows), sides.resampling) for columns in every]
        columns = [one.columns for one in picked]
        for batch in batches([first, *others], columns, len(sides.resampling.weights)):
            yield from _counted(sides, batch, picked, columns)


def _counted(sides: Sides, batch: Batch, picked: list[Picked], columns: list[Columns]) -> Iterator[_Sample]:
    function, wanted = batch.measures[0].function, batch.quantities
    values = counted(function, wanted, columns, sides.resampling.weights)
    ps = _permutation_ps(sides, function, wanted, columns, values[:, :, 0])
    samples = [Samples(values[:, i]) for i in range(len(wanted))]
    apart: dict[int, _Apart] = {}
    for measure, which in zip(batch.measures, batch.which, strict=True):
        scored = picked[0].scored(measure)  # by all of them
        if which not in apart:
            spread, parts = difference(samples[which], len(sides.first), scored.groups)
            apart[which] = _Apart(samples[which].values[:, 0], spread, parts, ps[which])
        tied = max(one.at(scored.rows).ties(measure) for one in picked)
        covered = least(one.covered(measure) for one in picked)
        yield _Sample(measure, apart[which], scored.n_items, scored.groups, tied, covered)


def _row(label: str, sides: Sides, sample: _Sample, precision: float | None) -> Difference:
    n, measure = len(sides.first), sample.measure
    spread, parts = sample.apart.spread, sample.apart.parts
    first, second = np.split(sample.apart.values, [n])
    limits = interval(spread, sample.groups, Quantity(measure.unit, 0.0, difference=True))
    return Difference(
        probe=label,
        measure=measure.name,
        conditions=measure.reported,
        a=float(first.mean()),
        b=float(second.mean()),
        difference=spread.value,
        low=limits.low,
        high=limits.high,
        unit=measure.unit,
        n_items=sample.n_items,
        n_groups=sample.groups,
        n_seeds_a=len(first),
        n_seeds_b=len(second),
        p=limits.p,
        p_permutation=sample.apart.p_permutation,
        detectable=limits.detectable,
        seeds_needed=seeds_needed(parts, precision or abs(spread.value), sample.groups) if parts else None,
        tied=sample.tied,
        covered=sample.covered,
    )


@dataclass(frozen=True)
class Parts:
    """Variances behind the difference of two families: per single training of either side, and of the items."""

    items: float
    per_seed: float


def difference(samples: Samples, n_first: int, groups: int) -> tuple[Spread, Parts | None]:
    """Of the mean over the first seeds less that over the others. A side with one seed stands for this checkpoint
    only."""
    spread = samples.difference_over_items(n_first, groups)
    sides = [side for side in (slice(n_first), slice(n_first, None)) if len(samples.values[side]) > 1]
    if not sides or not spread.se >= 0:
        return spread, None
    parts = [samples.components(groups, side) for side in sides]
    items, both, seeds = spread.se**2, sum(p.both for p in parts), sum(p.seeds for p in parts)
    total = max(items + seeds - both, items, seeds)
    if not total > 0:
        return spread, None
    weighed = sum(p.seeds**2 / (p.n_seeds - 1) for p in parts) + items**2 / (groups - 1)
    df = max(total**2 / weighed, min(p.n_seeds for p in parts) - 1)
    per_seed = sum(p.n_seeds * p.seeds for p in parts)
    of_both = Parts(max(0.0, items - both), per_seed) if len(sides) == 2 else None
    return Spread(spread.value, math.sqrt(total), spread.skew * (items / total) ** 1.5, df), of_both


def seeds_needed(parts: Parts, precision: float, groups: int) -> int | None:
    """How many seeds each side needs for an interval of ± `precision`; None where these items never get there."""
    room = (
        precision / scipy.special.ndtri((1 + CONFIDENCE) / 2)
    ) ** 2 - parts.items  # t is never below z: fewer cannot be enough
    if not room > 0:
        return None
    first, tried = max(2, math.floor(min(parts.per_seed / room, _MOST_SEEDS)) - 1), 8
    while first < _MOST_SEEDS:
        seeds = np.arange(first, min(first + tried, _MOST_SEEDS))
        over = parts.per_seed / seeds
        total = parts.items + over
        with np.errstate(invalid="ignore", divide="ignore"):
            df = total**2 / (over**2 / (2 * (seeds - 1)) + parts.items**2 / max(1, groups - 1))
        enough = np.flatnonzero(scipy.special.stdtrit(df, (1 + CONFIDENCE) / 2) * np.sqrt(total) <= precision)
        if len(enough):
            return int(seeds[enough[0]])
        first, tried = first + tried, 2 * tried
    return None


# ---------------------------------------------------------------- permutations


def _permutation_ps(
    sides: Sides, function: Function, wanted: Sequence[tuple[str, ...]], picked: list[Columns], values: np.ndarray
) -> list[float]:
    """Two-sided, of each quantity; `values` [members, quantities]. Counted out where possible, else 10,000 draws."""
    n = len(sides.first)
    if not sides.single:
        return seeds_dealt_ps(values, n)
    if not len(picked[0].cells):
        return [math.nan] * len(wanted)
    tests = [_swapped_ps(sides, function, wanted, picked, factor) for factor in _factors(sides, picked[0])]
    return [max(p) for p in zip(*tests, strict=True)]


def seeds_dealt_ps(values: np.ndarray, n: int) -> list[float]:
    """How often seeds dealt anew to two families lie as far apart; `values` [seeds, quantities], the first `n` of one
    family."""
    chosen, total = _dealt(len(values), n), values.sum(axis=0)
    mine = values[chosen].sum(axis=1)
    apart = mine / n - (total - mine) / (len(values) - n)
    observed = (values[:n].mean(axis=0) - values[n:].mean(axis=0)).tolist()
    exact = len(chosen) == math.comb(len(values), n)
    return [_as_far(apart[:, i], one, exact) for i, one in enumerate(observed)]


@lru_cache(maxsize=8)
def _dealt(seeds: int, n: int) -> np.ndarray:
    """[deals, n]: who is in the first family."""
    if math.comb(seeds, n) <= PERMUTATIONS:
        return np.array(list(combinations(range(seeds), n)))
    return np.random.default_rng(0).random((PERMUTATIONS, seeds)).argsort(axis=1)[:, :n]


def _factors(sides: Sides, columns: Columns) -> list[int]:
    """The crossed factors that apply; swapping by each looks at its own variance, and the larger p counts."""
    names = sides.resampling.names[np.unique(columns.cells)]
    return [f for f in range(names.shape[1]) if (names[:, f] != "").all()]


def _swapped_ps(
    sides: Sides, function: Function, wanted: Sequence[tuple[str, ...]], picked: list[Columns], factor: int
) -> list[float]:
    """The two models' answers are exchanged, one group with all its items at a time."""
    one, other = picked
    cells, here = np.unique(one.cells, return_inverse=True)
    groups, group_of = np.unique(sides.resampling.names[cells, factor], return_inverse=True)
    exact = 2 ** len(groups) <= PERMUTATIONS
    if exact:
        swaps = np.array(list(product((0, 1), repeat=len(groups))))
    else:
        rng = np.random.default_rng(sides.resampling.resample_seed)
        swaps = rng.integers(0, 2, (PERMUTATIONS, len(groups)))
    swaps = np.concatenate([np.zeros((1, len(groups))), swaps])  # the first is what was observed
    swapped = swaps[:, group_of].astype(np.float32)
    both = Columns(
        {name: np.concatenate([one.values[name], other.values[name]]) for name in one.values},
        np.concatenate([here, here + len(cells)]),
    )
    first = function(both, wanted, np.concatenate([1 - swapped, swapped], axis=1))
    apart = first - function(both, wanted, np.concatenate([swapped, 1 - swapped], axis=1))
    return [_as_far(apart[1:, i], float(apart[0, i]), exact) for i in range(len(wanted))]


def _as_far(permuted: np.ndarray, observed: float, exact: bool) -> float:
    permuted = permuted[~np.isnan(permuted)]
    if math.isnan(observed) or not len(permuted):
        return math.nan
    as_far = int((np.abs(permuted) >= abs(observed) - 1e-12).sum())
    return as_far / len(permuted) if exact else (as_far + 1) / (len(permuted) + 1)


# ---------------------------------------------------------------- the verdict


def corrected(measures: Sequence[Measure], ps: Sequence[float], over: tuple[str, ...]) -> np.ndarray:
    """Holm, over rows that differ only in the conditions `over`; a pooled row (`all`) stands alone."""
    values = np.array(ps, dtype=float)
    parts: dict[tuple[str | tuple[str, str], ...], list[int]] = {}
    for i, measure in enumerate(measures):
        mine = [measure.conditions[name] for name in over if name in measure.conditions]
        if mine and "all" not in mine:
            rest = ((key, str(value)) for key, value in measure.conditions.items() if key not in over)
            parts.setdefault((measure.name, *sorted(rest)), []).append(i)
    for members in parts.values():
        values[members] = holm(values[members])
    return values


def judge_difference(row: Difference | VariantDifference, p: float, seeds: int | None) -> Verdict:
    """By its corrected p; `seeds` of the smaller family, None where it is of single checkpoints."""
    if math.isnan(row.difference):
        return Verdict.NOTHING_SCORED
    if low_coverage(row.tied, row.covered):
        return Verdict.LOW_COVERAGE
    unknown = without_interval(row.n_groups, p, math.nan, None)  # without an interval there is no p either
    if unknown is not None:
        return unknown
    if not p < ALPHA:
        return Verdict.UNDECIDED
    if seeds is None:
        return Verdict.HOLDS_FOR_CHECKPOINT
    return Verdict.HOLDS if seeds >= FEWEST_SEEDS else Verdict.UNDECIDED
