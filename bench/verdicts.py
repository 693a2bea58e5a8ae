"""How often intervals miss the truth and verdicts are wrong: the package's own functions on made-up data.

    make bench-verdicts
    python bench/verdicts.py [--runs 4000] [--write docs/reference/coverage.md] [--resume FILE] [items|seeds|seat|…]

A `Cell` is one situation (data, groups, seeds), measured in some thousand runs with random seeds of its own; a `Table`
is a grid of cells. Cells that miss a target by less than chance explains are measured again with four times as many
runs and other random seeds; those that miss one are bold on the page, with the reason below. The text of the page is
not written here. Data and bootstrap are vectorised: runs of a batch share 1,000 draws. Everything after the draws is
the package's: spreads, intervals, p-values, verdicts, the list.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy.special import expit, ndtr

from trueprobe.statistics import seed_claims
from trueprobe.statistics.association import effect_size
from trueprobe.statistics.contrasts import Contrast
from trueprobe.statistics.coverage import covered
from trueprobe.statistics.equivalence import Equivalence, Side, equivalence, over_seeds
from trueprobe.statistics.exact import Trials
from trueprobe.statistics.flips import SeedAnswers
from trueprobe.statistics.interval import Interval, Quantity, interval, of_checkpoint, of_family
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Columns, Margin
from trueprobe.statistics.permutation import Swapped, seeds_dealt_ps, within_sets
from trueprobe.statistics.resampling import Groups, Resampling
from trueprobe.statistics.rows import Estimate, changed
from trueprobe.statistics.spread import Samples, Spread, VarianceSource
from trueprobe.statistics.unjudged import share_of_new_seeds
from trueprobe.statistics.verdict import Case, Judgement, PartNumber, judge, judge_list, of_coverage
from trueprobe.types import Direction, Unit, Verdict

RUNS = 4000
AGAIN = 4  # times as many runs, where a missed target may be chance
RESAMPLES = 1000
BATCH = 100  # runs that share their draws
PROCESSES = 2
ROUNDING = 1e-9  # 0.3 is not quite 3 of 10
FINDINGS = (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT)

Rng = np.random.Generator
Measured = dict[str, float]  # of a cell, in percent
Numbers = Callable[[Rng, int], Iterable[tuple[float, Interval]]]  # so many runs: each number with its interval


# ---------------------------------------------------------------- cells and their targets


@dataclass(frozen=True)
class Limit:
    """A target of one of the measured rates, in percent; within `unsure` of it, chance may have decided."""

    rate: str
    least: float = -math.inf
    most: float = math.inf
    unsure: float = 1.0

    def missed(self, measured: Measured, slack: float = 0.0) -> bool:
        return not self.least - slack * self.unsure <= measured[self.rate] <= self.most + slack * self.unsure


COVERS = Limit("covers", least=93.0)
NOT_TOO_WIDE = Limit("covers", most=98.0)
SIZE = Limit("size", most=5.5)
SMALL_SIZE = Limit("size_002", most=0.4, unsure=0.15)
FALSE_DISCOVERIES = Limit("false", most=5.5)


@dataclass(frozen=True)
class Cell:
    row: tuple[str, ...]
    column: str
    measure: Callable[[Rng, int], Measured]
    limits: tuple[Limit, ...] = ()
    why: str = ""  # it may err too often
    wide: str = ""  # why its interval may be too wide

    def missed(self, measured: Measured, slack: float = 0.0) -> bool:
        return any(limit.missed(measured, slack) for limit in self.limits)

    def reason(self, measured: Measured) -> str:
        too_wide = NOT_TOO_WIDE in self.limits and NOT_TOO_WIDE.missed(measured)
        return (self.wide if too_wide else self.why) or "No reason is known."

    def run(self, table: str, runs: int) -> Measured:
        """Measured again with other random seeds where a missed target may be chance."""
        name = zlib.crc32("/".join((table, *self.row, self.column)).encode())
        measured = self.measure(np.random.default_rng([name, 0]), runs)
        if self.missed(measured) and not self.missed(measured, slack=1.0):
            runs *= AGAIN
            measured = self.measure(np.random.default_rng([name, 1]), runs)
        return measured | {"runs": runs}


def batches(runs: int) -> Iterator[int]:
    yield from (min(BATCH, runs - start) for start in range(0, runs, BATCH))


def percent(which: Iterable[bool] | np.ndarray) -> float:
    return 100 * float(np.mean(np.asarray(which)))


@dataclass(frozen=True)
class Tried:
    """A number whose interval is made many times; verdicts are against the truth, so that each finding is false."""

    numbers: Numbers
    truth: float
    groups: int
    seeds: int | None = None
    sides: tuple[int, ...] = (-1, 1)  # of the truth, on which the reference of the power lies
    reference: float | None = None  # of the power; else 3 standard errors from the truth

    def __call__(self, rng: Rng, runs: int) -> Measured:
        tried = [one for batch in batches(runs) for one in self.numbers(rng, batch)]
        values = np.array([value for value, _ in tried])
        low, high, p = (np.array([getattr(one, name) for _, one in tried]) for name in ("low", "high", "p"))
        shown = ~np.isnan(low)
        above, below = self.truth > high + ROUNDING, self.truth < low - ROUNDING
        verdicts = [judgement.verdict for judgement in judge([self._case(*one) for one in tried])]
        far = 3 * float(np.nanstd(values))
        references = [self.truth + side * far for side in self.sides] if self.reference is None else [self.reference]
        return {
            "covers": percent(~(above | below)[shown]),
            "below": percent(below[shown]),
            "above": percent(above[shown]),
            "size": percent([verdict in FINDINGS for verdict in verdicts]),
            "size_002": percent(p < 0.002),
            "power": float(np.mean([percent((low > point) | (high < point)) for point in references])),
            "disagree": float(((p < 0.05) != (above | below))[shown].sum()),
        }

    def _case(self, value: float, one: Interval) -> Case:
        return Case(
            value=value, low=one.low, high=one.high, p=one.p, reference=self.truth, groups=self.groups, seeds=self.seeds
        )


def draws(rng: Rng, frame: pd.DataFrame, within: Sequence[str] = ()) -> Resampling:
    return Resampling.of(frame, RESAMPLES, int(rng.integers(1 << 30)), within)


@cache
def names(groups: int) -> pd.DataFrame:
    return pd.DataFrame({"target": [f"{i:05d}" for i in range(groups)]})


def resampled(totals: np.ndarray, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[…, groups] sums and numbers of items -> […, 1 + R] means over the drawn items."""
    drawn = weights.T.astype(float)
    values: np.ndarray = (totals @ drawn) / (counts @ drawn)
    return values


# ---------------------------------------------------------------- data of one checkpoint


@dataclass(frozen=True)
class Data:
    name: str
    draw: Callable[[Rng, int, int], tuple[np.ndarray, np.ndarray]]  # [runs, groups] sums, and numbers of items
    truth: float = 0.0
    unit: Unit = Unit.NATS
    judged: bool = True  # verdicts are held against such a truth
    why: str = ""
    wide: str = ""

    @property
    def sides(self) -> tuple[int, ...]:
        """Of a share, towards one half."""
        return (-1, 1) if self.unit is Unit.NATS or self.truth == 0.5 else (-1 if self.truth > 0.5 else 1,)

    def limits(self, groups: int) -> tuple[Limit, ...]:
        wide = (NOT_TOO_WIDE,) if self.unit is not Unit.SHARE and groups >= 22 else ()
        return (COVERS, *((SIZE,) if self.judged else ()), *wide)

    def tried(self, groups: int) -> Tried:
        return Tried(partial(self._numbers, groups), self.truth, groups, sides=self.sides)

    def _numbers(self, groups: int, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
        values = resampled(*self.draw(rng, groups, runs), draws(rng, names(groups)).weights)
        return each(values, Groups(groups), Quantity(self.unit, self.truth))


def each(values: np.ndarray, groups: Groups, quantity: Quantity) -> Iterator[tuple[float, Interval]]:
    """[runs, 1 + R]: the numbers of single checkpoints."""
    samples = quantity.on_scale(Samples(values))
    return ((float(values[i, 0]), of_checkpoint(samples, i, groups, quantity)) for i in range(len(values)))


def normal(rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(runs, groups)), np.ones((runs, groups))


def exponential(rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.exponential(size=(runs, groups)) - 1, np.ones((runs, groups))


def share_of_groups(share: float, icc: float, rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 1 to 40 yes-or-no items whose answers correlate by `icc`."""
    sizes, many = rng.integers(1, 41, (runs, groups)), 1 / icc - 1
    yes = rng.binomial(sizes, rng.beta(share * many, (1 - share) * many, (runs, groups)))
    return yes.astype(float), sizes.astype(float)


def rare_failures(share: float, rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Values near 1, but some groups fail completely; a quarter of all that is missing is theirs."""
    failing = (1 - share) / 4
    others = 1 - (1 - share) * 3 / 4 / (1 - failing)
    values = rng.beta(40 * others, 40 * (1 - others), (runs, groups))
    return np.where(rng.random((runs, groups)) < failing, 0.0, values), np.ones((runs, groups))


LAST_RANK = 20_000


def reciprocal(log_rank: np.ndarray) -> np.ndarray:
    ranks: np.ndarray = 1 / np.clip(np.ceil(np.exp(log_rank)), 1, LAST_RANK)
    return ranks


def mean_reciprocal(log_mean: float, deviation: float) -> float:
    ranks = np.arange(1, LAST_RANK + 1)
    below = ndtr((np.log(ranks) - log_mean) / deviation)
    below[-1] = 1.0
    return float((np.diff(below, prepend=0.0) / ranks).sum())


@cache
def log_rank_of(mrr: float, deviation: float) -> float:
    """The mean of the log ranks with which the mean reciprocal rank is `mrr`."""
    return float(scipy.optimize.brentq(lambda mean: mean_reciprocal(mean, deviation) - mrr, -20, 40))


def reciprocal_ranks(mrr: float, rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    return reciprocal(rng.normal(log_rank_of(mrr, 2.0), 2.0, (runs, groups))), np.ones((runs, groups))


def probabilities(mean: float, rng: Rng, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Of words: their logits are normal."""
    return expit(rng.normal(logit_of(mean, 1.5), 1.5, (runs, groups))), np.ones((runs, groups))


SKEWED = "Skewness itself is not known from so few groups; the correction for it helps, but is bounded."
RARE = (
    "Few groups hold the rarer outcome, so that their own variance is not trusted, and the beta limit of a share with "
    "one answer a group decides: wide on purpose."
)
MIXED = "A total failure that no group of the sample shows cannot be known from the others."
SHARES = tuple(
    Data(f"share {share}, icc {icc}", partial(share_of_groups, share, icc), share, Unit.SHARE, share == 0.5)
    for share in (0.5, 0.9, 0.97)
    for icc in (0.05, 0.2, 0.5)
)
RANKS = tuple(
    Data(f"MRR {mrr}", partial(reciprocal_ranks, mrr), mrr, Unit.SCORE, False, wide=RARE) for mrr in (0.5, 0.1, 0.01)
)
PROBABILITIES = tuple(
    Data(f"probability {mean}", partial(probabilities, mean), mean, Unit.PROBABILITY, False, SKEWED)
    for mean in (0.1, 0.01)
)
FAILING = Data("mean 0.9, some groups fail", partial(rare_failures, 0.9), 0.9, Unit.SCORE, False, MIXED)


# ---------------------------------------------------------------- other designs over items


def correlations(truth: float, groups: int, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
    x = rng.normal(size=(runs, groups))
    y = truth * x + math.sqrt(1 - truth**2) * rng.normal(size=(runs, groups))
    w = draws(rng, names(groups)).weights.T.astype(float) / groups
    mx, my = x @ w, y @ w
    r = ((x * y) @ w - mx * my) / np.sqrt(((x**2) @ w - mx**2) * ((y**2) @ w - my**2))
    return each(r, Groups(groups), Quantity(Unit.CORRELATION, truth))


def halves(groups: int, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
    """Two halves prefer two sides by two deviations, as occupations do; they are drawn within."""
    part = np.arange(groups) % 2
    values = rng.normal(size=(runs, groups)) + np.where(part, 2.0, -2.0)
    drawn = draws(rng, names(groups).assign(part=part), ("part",))
    return each(resampled(values, np.ones(groups), drawn.weights), Groups(groups, 2), Quantity(Unit.NATS, 0.0))


def crossed(
    shape: tuple[int, int], deviations: tuple[float, float], rng: Rng, runs: int
) -> Iterator[tuple[float, Interval]]:
    """Every target meets every background once; each has an effect of its own, beside noise of 1."""
    targets, backgrounds = (axis.ravel() for axis in np.indices(shape))
    effects = [rng.normal(0, sd, (runs, n)) for sd, n in zip(deviations, shape, strict=True)]
    values = effects[0][:, targets] + effects[1][:, backgrounds] + rng.normal(size=(runs, len(targets)))
    drawn = draws(rng, pd.DataFrame({"target": targets, "background": backgrounds}).astype(str))
    return each(resampled(values, np.ones(len(targets)), drawn.weights), Groups(min(shape)), Quantity(Unit.NATS, 0.0))


# ---------------------------------------------------------------- contrasts

_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])  # of the four cells of a 2 × 2 design: its interaction


def interactions(
    data: str, between: bool, groups: int, seeds: int, rng: Rng, runs: int
) -> Iterator[tuple[float, Interval]]:
    """Two items of each group in each cell; with `between`, a group has one value of the second factor only. Every
    group, and every seed, has an interaction of its own, about 0."""
    cell = np.tile(np.repeat(np.arange(4), 2), groups)
    group = np.repeat(np.arange(groups), 8)
    if between:
        inside = cell % 2 == group % 2
        cell, group = cell[inside], group[inside]
    shape = (runs, seeds, len(cell))
    slopes = rng.normal(size=(runs, 1, groups, 4))[:, :, group, cell]
    of_seeds = rng.normal(0, 0.5 * (seeds > 1), (runs, seeds, 4))[:, :, cell]  # a single one stands for itself
    values = slopes + of_seeds + rng.normal(size=shape)
    if data != "normal":  # a share: far from one half in half of the cells
        values = (values > np.array([0.0, 0.0, 1.5, 1.5])[cell]).astype(float)
    unit = Unit.NATS if data == "normal" else Unit.SHARE
    drawn = draws(rng, names(groups))
    named = {f"{i} {j}": values[i, j] for i in range(runs) for j in range(seeds)}
    cells = {f"cell {k}": (cell == k).astype(float) for k in range(4)}
    quantities = [(name, *cells) for name in named]
    made = Contrast(tuple(_SIGNS), means)(Columns({**named, **cells}, group), quantities, drawn.weights)
    behind, quantity = Groups(groups // 2 if between else groups), Quantity(unit, 0.0, True, 2)
    for numbers in made.T.reshape(runs, seeds, -1):
        if seeds == 1:
            yield float(numbers[0, 0]), of_checkpoint(Samples(numbers), 0, behind, quantity)
        else:
            yield float(numbers[:, 0].mean()), of_family(Samples(numbers), behind, quantity)


def contrasts_cells() -> Iterator[Cell]:
    for data, between in (("normal", False), ("normal", True), ("share", False), ("share", True)):
        for seeds in (1, 5, 25):
            for groups in (8, 22, 58):
                name = f"{data}, {'between' if between else 'within'} groups"
                tried = Tried(
                    partial(interactions, data, between, groups, seeds),
                    0.0,
                    groups // 2 if between else groups,
                    None if seeds == 1 else seeds,
                )
                yield Cell((name, str(seeds)), str(groups), tried, (COVERS, SIZE))


def items_cells() -> Iterator[Cell]:
    for data in (Data("normal", normal), Data("exponential", exponential, why=SKEWED), *SHARES):
        for groups in (8, 22, 58, 150, 1508):
            yield Cell((data.name,), f"{groups:,}", data.tried(groups), data.limits(groups), data.why, data.wide)
    for data in PROBABILITIES:
        for groups in (8, 22, 58, 150):
            yield Cell((data.name,), f"{groups:,}", data.tried(groups), data.limits(groups), data.why, data.wide)
    for data in (*RANKS, FAILING):
        for groups in (58, 266):
            yield Cell((data.name,), f"{groups:,}", data.tried(groups), data.limits(groups), data.why, data.wide)
    for groups in (22, 58, 150):
        tried = Tried(partial(correlations, 0.5, groups), 0.5, groups)
        yield Cell(("correlation 0.5",), f"{groups:,}", tried, (COVERS, NOT_TOO_WIDE))
        tried = Tried(partial(halves, groups), 0.0, groups)
        yield Cell(("two halves, drawn within",), f"{groups:,}", tried, (COVERS, SIZE, NOT_TOO_WIDE))


CROSSED = (
    "Weights of two crossed factors multiply, so that noise of single pairs counts three times: where neither factor "
    "matters, the interval is √3 times too wide."
)


def crossed_cells() -> Iterator[Cell]:
    mixes = {"both matter": (1.0, 1.0), "targets matter": (1.0, 0.0), "neither matters": (0.0, 0.0)}
    for mix, deviations in mixes.items():
        for shape in ((8, 40), (20, 20), (22, 58)):
            wide = (NOT_TOO_WIDE,) if min(shape) >= 20 else ()
            tried = Tried(partial(crossed, shape, deviations), 0.0, min(shape))
            yield Cell((mix,), f"{shape[0]} × {shape[1]}", tried, (COVERS, SIZE, *wide), wide=CROSSED)


# ---------------------------------------------------------------- plain shares, counted exactly


def binomial(n: int, share: float) -> np.ndarray:
    chances: np.ndarray = scipy.stats.binom.pmf(np.arange(n + 1), n, share)
    return chances


def exact(n: int, share: float, ties: float, rng: Rng, runs: int) -> Measured:
    """Over all results of n answers, of which a share of `ties` ties."""
    results, chances = [], []
    for tied, chance in enumerate(binomial(n, ties) if ties else [1.0]):
        if chance > 1e-9:
            results += [Trials(yes, n - tied - yes, tied) for yes in range(n - tied + 1)]
            chances += (chance * binomial(n - tied, share)).tolist()
    truth, weights = ties / 2 + (1 - ties) * share, np.array(chances)
    low, high = np.array([one.interval() for one in results]).T
    reference = truth - 3 * math.sqrt((1 - ties) * share * (1 - share) / n)
    detected = 100 * float(weights[(low > reference) | (high < reference)].sum())
    ps = np.array([one.p(truth) for one in results])
    return {
        "covers": 100 * float(weights[(low <= truth) & (truth <= high)].sum()),
        "below": 100 * float(weights[truth < low].sum()),
        "above": 100 * float(weights[truth > high].sum()),
        "size": 100 * float(weights[ps < 0.05].sum()),
        "power": detected if reference > 0 else math.nan,
        "disagree": float(((ps < 0.05) != ((truth < low) | (truth > high))).sum()),
    }


def lowest(share: float, rng: Rng, runs: int) -> Measured:
    """The lowest coverage of any number of answers from 6 to 400."""
    return min((exact(n, share, 0.0, rng, runs) for n in range(6, 401)), key=lambda one: one["covers"])


def shares_cells() -> Iterator[Cell]:
    for share in (0.5, 0.9, 0.97):
        limits = (COVERS, SIZE) if share == 0.5 else (COVERS,)
        for n in (6, 8, 10, 22, 58, 150, 1508):
            yield Cell((f"share {share}",), f"{n:,}", partial(exact, n, share, 0.0), limits)
        yield Cell((f"share {share}",), "lowest of 6–400", partial(lowest, share), limits)
    for n in (10, 22, 58):
        yield Cell(("one half, 30 % ties",), f"{n:,}", partial(exact, n, 0.5, 0.3), (COVERS, SIZE))


# ---------------------------------------------------------------- families


@dataclass(frozen=True)
class FamilyData:
    """Made of effects of seeds, of items, and of single seeds on single items, for a seed deviation by name."""

    name: str
    draw: Callable[[Rng, str, int, int, int], tuple[np.ndarray, np.ndarray]]  # [runs, seeds, groups]
    truth: float = 0.0
    unit: Unit = Unit.NATS
    judged: bool = True
    why: str = ""
    wide: str = ""

    def cell(self, deviation: str, seeds: int, groups: int) -> Cell:
        sides = Data("", normal, self.truth, self.unit).sides
        tried = Tried(partial(self._numbers, deviation, seeds, groups), self.truth, groups, seeds, sides)
        wide = (NOT_TOO_WIDE,) if self.unit is not Unit.SHARE and seeds >= 5 else ()
        judged = (SIZE, SMALL_SIZE) if self.judged else ()
        row = (self.name, deviation, str(seeds))
        return Cell(row, f"{groups:,}", tried, (COVERS, *judged, *wide), self.why, self.wide)

    def _numbers(
        self, deviation: str, seeds: int, groups: int, rng: Rng, runs: int
    ) -> Iterator[tuple[float, Interval]]:
        values = resampled(*self.draw(rng, deviation, seeds, groups, runs), draws(rng, names(groups)).weights)
        quantity = Quantity(self.unit, self.truth)
        for one in values:
            yield float(one[:, 0].mean()), of_family(quantity.on_scale(Samples(one)), Groups(groups), quantity)


# seed variance of the mean over item variance of the mean; deviations on the scale of logits or log ranks
RATIO = {"none": 0.0, "small": 1.0, "large": 9.0}
LATENT = {"none": 0.0, "small": 0.25, "large": 0.8}


def effects(
    rng: Rng, deviations: tuple[float, float, float], shape: tuple[int, int, int], skewed: str = ""
) -> np.ndarray:
    """[runs, seeds, groups] of seeds, items and both, with the effects of `skewed` exponential."""
    runs, seeds, groups = shape
    shapes = {"seeds": (runs, seeds, 1), "items": (runs, 1, groups), "both": shape}
    parts = (
        sd * (rng.exponential(size=of) - 1 if name == skewed else rng.normal(size=of))
        for (name, of), sd in zip(shapes.items(), deviations, strict=True)
    )
    total: np.ndarray = np.zeros(shape)
    for part in parts:
        total += part
    return total


def additive(
    skewed: str, rng: Rng, deviation: str, seeds: int, groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    of_seeds = math.sqrt(RATIO[deviation] * seeds / groups)
    return effects(rng, (of_seeds, 1.0, 1.0), (runs, seeds, groups), skewed), np.ones(groups)


@cache
def logit_of(share: float, deviation: float) -> float:
    """The mean of normal logits with which the mean share is `share`."""
    points, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    return float(
        scipy.optimize.brentq(lambda mean: (weights * expit(mean + deviation * points)).sum() - share, -30, 30)
    )


def family_shares(
    share: float, rng: Rng, deviation: str, seeds: int, groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 1 to 40 items, the same for all seeds."""
    deviations = (LATENT[deviation], 1.5, 0.5)
    chances = expit(logit_of(share, math.hypot(*deviations)) + effects(rng, deviations, (runs, seeds, groups)))
    sizes = rng.integers(1, 41, (runs, 1, groups))
    return rng.binomial(sizes, chances).astype(float), sizes.astype(float)


def family_probabilities(
    mean: float, rng: Rng, deviation: str, seeds: int, groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    deviations = (LATENT[deviation], 1.5, 0.5)
    logits = logit_of(mean, math.hypot(*deviations)) + effects(rng, deviations, (runs, seeds, groups))
    return expit(logits), np.ones(groups)


def family_ranks(
    mrr: float, rng: Rng, deviation: str, seeds: int, groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    deviations = (LATENT[deviation], 1.8, 0.9)
    logs = log_rank_of(mrr, math.hypot(*deviations)) + effects(rng, deviations, (runs, seeds, groups))
    return reciprocal(logs), np.ones(groups)


SKEWED_SEEDS = (
    "Where seeds vary by far the most and are skewed, a few of them do not show it; this holds for any interval from "
    "few seeds."
)
ADDED = (
    "Seeds and items are each taken at their own quantile of Student's t and added by squares, as if both were at "
    "their worst at once."
)
FAMILIES = {
    "normal": FamilyData("normal", partial(additive, ""), wide=ADDED),
    "exponential": FamilyData("exponential items", partial(additive, "items"), why=SKEWED, wide=ADDED),
    "exponential seeds": FamilyData("exponential seeds", partial(additive, "seeds"), why=SKEWED_SEEDS),
    "probability 0.1": FamilyData(
        "probability 0.1", partial(family_probabilities, 0.1), 0.1, Unit.PROBABILITY, False, SKEWED, ADDED
    ),
} | {
    name: FamilyData(name, partial(draw, value), value, unit, value == 0.5 and unit is Unit.SHARE, SKEWED_SEEDS, RARE)
    for name, draw, value, unit in (
        *((f"share {share}", family_shares, share, Unit.SHARE) for share in (0.5, 0.9, 0.97)),
        *((f"MRR {mrr}", family_ranks, mrr, Unit.SCORE) for mrr in (0.5, 0.1, 0.01)),
    )
}


def seeds_cells() -> Iterator[Cell]:
    every = (8, 22, 58, 150)
    for deviation in RATIO:
        for seeds in (3, 5, 10, 25):
            yield from (FAMILIES["normal"].cell(deviation, seeds, groups) for groups in every)
    for deviation, groups in (("none", every), ("large", (8, 58))):
        for seeds in (3, 5, 10, 25):
            yield from (FAMILIES["exponential"].cell(deviation, seeds, n) for n in groups)
    for seeds in (3, 5, 10, 25):
        yield from (FAMILIES["exponential seeds"].cell("large", seeds, groups) for groups in (22, 150))
    for name, deviations in (
        ("share 0.5", ("none", "large")),
        ("share 0.9", ("none", "large")),
        ("share 0.97", tuple(LATENT)),
        ("MRR 0.5", ("none", "large")),
        ("MRR 0.1", ("none", "large")),
        ("MRR 0.01", ("none", "large")),
    ):
        for deviation in deviations:
            for seeds in (3, 5, 10):
                yield from (FAMILIES[name].cell(deviation, seeds, groups) for groups in every)
    for deviation in ("none", "large"):
        for seeds in (3, 5, 10):
            yield from (FAMILIES["probability 0.1"].cell(deviation, seeds, groups) for groups in (22, 150))
    for name in ("normal", "share 0.97", "MRR 0.01"):
        yield from (FAMILIES[name].cell("large", seeds, 1508) for seeds in (3, 5))


# ---------------------------------------------------------------- SEAT


ALLOWED = "The allowance for few words (`statistics/standardised.py`) is for skewed words; normal ones need less."


@dataclass(frozen=True)
class Seat:
    """Two sets of words, each word in some templates; `seed_sd` of the seeds' true effects, in deviations."""

    words: int
    effect: float
    skewed: bool
    icc: float
    seeds: int = 1
    seed_sd: float = 0.0
    templates: int = 8
    shared: float = 0.6  # of the variance of words and templates is the same for all seeds

    def cell(self) -> Cell:
        groups, seeds = 2 * self.words, None if self.seeds == 1 else self.seeds
        tried = Tried(self.numbers, self.effect, groups, seeds, reference=0.0)
        wide = (NOT_TOO_WIDE,) if (self.words >= 16 if seeds is None else self.seeds >= 5) else ()
        limits = (COVERS, *((SIZE,) if not self.effect else ()), *wide)
        kind = "skewed" if self.skewed else "normal"
        if seeds is None:
            row = (kind, str(self.icc), str(self.templates), str(self.effect))
        else:
            row = (str(seeds), f"{kind}, seed sd {self.seed_sd:g}", str(self.effect))
        return Cell(row, str(self.words), tried, limits, wide=ALLOWED)

    def numbers(self, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
        n, quantity = self.words, Quantity(Unit.EFFECT_SIZE, self.effect)
        in_x = np.repeat([1.0, 0.0], n * self.templates)
        words = np.repeat([f"{i:03d}" for i in range(2 * n)], self.templates)
        drawn = draws(rng, pd.DataFrame({"word": words, "side": in_x}), ("side",))
        answers = self._associations(rng, runs, in_x)
        columns = Columns({str(i): row for i, row in enumerate(answers)} | {"x": in_x}, drawn.cells)
        d = effect_size(columns, [(str(i), "x") for i in range(len(answers))], drawn.weights).T
        groups = Groups(2 * n, 2)
        if self.seeds == 1:
            yield from each(np.ascontiguousarray(d), groups, quantity)
            return
        for one in d.reshape(runs, self.seeds, -1):
            yield float(one[:, 0].mean()), of_family(quantity.on_scale(Samples(one)), groups, quantity)

    def _associations(self, rng: Rng, runs: int, in_x: np.ndarray) -> np.ndarray:
        """[runs × seeds, sentences]"""
        apart = deviations_of(self.effect, self.seed_sd) + self.seed_sd * rng.normal(size=(runs, self.seeds, 1))
        of_words = np.repeat(self._mixed(rng, (runs, self.seeds, 2 * self.words), self.skewed), self.templates, axis=2)
        of_sentences = self._mixed(rng, (runs, self.seeds, len(in_x)), False)
        values = (in_x - 0.5) * apart + math.sqrt(self.icc) * of_words + math.sqrt(1 - self.icc) * of_sentences
        rows: np.ndarray = values.reshape(runs * self.seeds, -1)
        return rows

    def _mixed(self, rng: Rng, shape: tuple[int, int, int], skewed: bool) -> np.ndarray:
        """Of variance 1, in part the same for all seeds."""

        def drawn(of: tuple[int, int, int]) -> np.ndarray:
            return (rng.gamma(2.0, 1.0, of) - 2) / math.sqrt(2) if skewed else rng.normal(size=of)

        if self.seeds == 1:
            return drawn(shape)
        mixed: np.ndarray = math.sqrt(self.shared) * drawn((shape[0], 1, shape[2]))
        return mixed + math.sqrt(1 - self.shared) * drawn(shape)


@cache
def deviations_of(effect: float, seed_sd: float) -> float:
    """The mean difference, in deviations within a set, with which the mean d over seeds is `effect`."""
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()

    def mean_d(apart: float) -> float:
        every = apart + seed_sd * points
        return float((weights * every / np.sqrt(1 + every**2 / 4)).sum())

    return float(scipy.optimize.brentq(lambda apart: mean_d(apart) - effect, -1e-9, 40)) if effect else 0.0


def seat_cells() -> Iterator[Cell]:
    for skewed in (False, True):
        for icc in (0.6, 0.9):
            for effect in (0.0, 0.8, 1.55):
                yield from (Seat(words, effect, skewed, icc).cell() for words in (4, 8, 16, 25))
    for effect in (0.0, 0.8):
        yield from (Seat(words, effect, False, 0.9, templates=1).cell() for words in (8, 16, 25))


def seat_seeds_cells() -> Iterator[Cell]:
    for seeds in (3, 5, 10):
        for skewed, seed_sd in ((False, 0.0), (True, 0.5)):
            for effect in (0.0, 0.8, 1.55):
                yield from (Seat(words, effect, skewed, 0.6, seeds, seed_sd).cell() for words in (4, 8, 16))


# ---------------------------------------------------------------- differences of two checkpoints


@dataclass(frozen=True)
class Pair:
    name: str
    draw: Callable[[Rng, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]  # two sums, and numbers of items
    truth: float = 0.0
    unit: Unit = Unit.NATS
    judged: bool = True
    why: str = ""

    def cell(self, groups: int) -> Cell:
        tried = Tried(partial(self._numbers, groups), self.truth, groups)
        wide = (NOT_TOO_WIDE,) if self.unit is Unit.NATS and groups >= 22 else ()
        return Cell((self.name,), str(groups), tried, (COVERS, *((SIZE,) if self.judged else ()), *wide), self.why)

    def _numbers(self, groups: int, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
        first, second, counts = self.draw(rng, groups, runs)
        drawn = draws(rng, names(groups))
        values = np.stack([resampled(side, counts, drawn.weights) for side in (first, second)], axis=1)
        sides = [Columns({"sums": side, "counts": counts}, drawn.cells) for side in (first, second)]
        within = within_sets(quotients, [], sides, drawn, 0)
        quantity = Quantity(self.unit, self.truth, difference=True)
        for i, one in enumerate(values):
            spread = Samples(one).difference(1, Groups(groups))
            test = Swapped(spread, within[:, i]) if spread.total > 0 else None
            yield spread.value, interval(spread, groups, quantity, test)


def quotients(columns: Columns, quantities: object, weights: np.ndarray) -> np.ndarray:
    """[sets, runs]; the columns hold [runs, groups]."""
    with np.errstate(invalid="ignore"):
        means: np.ndarray = (weights @ columns.values["sums"].T) / (weights @ columns.values["counts"].T)
    return means


Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def alike(kind: str, rng: Rng, groups: int, runs: int) -> Three:
    """Two checkpoints that answer as one does; `skewed`: their difference is skewed."""
    shape = (runs, groups)
    base, noise = rng.normal(size=shape), rng.normal(size=shape)
    values = {
        "normal": lambda: (base + noise, base + rng.normal(size=shape)),
        "exponential": lambda: (base + rng.exponential(size=shape), base + rng.exponential(size=shape)),
        "skewed": lambda: (base + rng.exponential(size=shape) - 1, base),
    }[kind]()
    return *values, np.ones(shape)


def answers(first: float, second: float, rng: Rng, groups: int, runs: int) -> Three:
    """One yes-or-no item a group, harder or easier for both."""
    chance, shape = rng.beta(2 * first, 2 * (1 - first), (runs, groups)), (runs, groups)
    one, other = rng.random(shape) < chance, rng.random(shape) < chance * second / first
    return one.astype(float), other.astype(float), np.ones(shape)


def few_answers(rng: Rng, groups: int, runs: int) -> Three:
    sizes, chance = rng.integers(2, 7, (runs, groups)), rng.beta(1.4, 0.6, (runs, groups))
    one, other = (rng.binomial(sizes, chance).astype(float) for _ in range(2))
    return one, other, sizes.astype(float)


def unequal(largest: int, rng: Rng, groups: int, runs: int) -> Three:
    """Groups of 1 to 11 items, or one of 30 beside groups of 1 to 3; the difference is 0.3."""
    sizes = rng.integers(1, 12 if largest == 11 else 4, (runs, groups)).astype(float)
    if largest > 11:
        sizes[:, 0] = largest
    noise = 0.5 * sizes * rng.normal(size=sizes.shape) + np.sqrt(sizes) * rng.normal(size=sizes.shape)
    return 0.3 * sizes + noise, np.zeros_like(sizes), sizes


NOT_SYMMETRIC = (
    "Swapping is exact where the two answer alike; a difference that is skewed though its mean is 0 is not "
    "exchangeable, and Student's interval errs as often."
)
PAIRS = (
    Pair("normal", partial(alike, "normal")),
    Pair("exponential values", partial(alike, "exponential")),
    Pair("skewed differences", partial(alike, "skewed"), why=NOT_SYMMETRIC),
    Pair("share 0.9 and 0.9", partial(answers, 0.9, 0.9), unit=Unit.SHARE),
    Pair("share 0.9 and 0.6", partial(answers, 0.9, 0.6), 0.3, Unit.SHARE, False),
    Pair("share 0.7, 2–6 items a group", few_answers, unit=Unit.SHARE),
    Pair("groups of 1–11 items", partial(unequal, 11), 0.3),
    Pair("one group of 30", partial(unequal, 30), 0.3),
)


def swapped_cells() -> Iterator[Cell]:
    for pair in PAIRS:
        yield from (pair.cell(groups) for groups in (6, 8, 10, 22, 58))


# ---------------------------------------------------------------- differences of two families


@dataclass(frozen=True)
class Families:
    """So many seeds against so many, on the same items; a side of one seed stands for this checkpoint only."""

    sides: tuple[int, int]
    name: str
    draw: Callable[[Rng, tuple[int, int], int, int], tuple[np.ndarray, np.ndarray]]  # [runs, seeds, groups] each
    truth: float = 0.0
    unit: Unit = Unit.NATS
    why: str = ""

    def cell(self, groups: int) -> Cell:
        fewest = min(self.sides)
        judged = (SIZE,) if self.truth == 0 and fewest > 1 else ()
        wide = (NOT_TOO_WIDE,) if self.unit is Unit.NATS and max(self.sides) >= 5 else ()
        tried = Tried(partial(self._numbers, groups), self.truth, groups, fewest)
        row = (" v ".join(map(str, self.sides)), self.name)
        return Cell(row, str(groups), tried, (COVERS, *judged, *wide), self.why, ADDED)

    def _numbers(self, groups: int, rng: Rng, runs: int) -> Iterator[tuple[float, Interval]]:
        both = np.concatenate(self.draw(rng, self.sides, groups, runs), axis=1)
        values = resampled(both, np.ones(groups), draws(rng, names(groups)).weights)
        quantity = Quantity(self.unit, self.truth, difference=True)
        for one in values:
            spread = Samples(one).difference(self.sides[0], Groups(groups))
            yield spread.value, interval(spread, groups, quantity)


def family_values(
    ratio: float, skewed: str, rng: Rng, sides: tuple[int, int], groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    """`ratio`: the seed variance of each family's mean over the item variance of the difference."""
    shared = rng.normal(size=(runs, 1, groups))

    def side(seeds: int) -> np.ndarray:
        of_seeds = math.sqrt(ratio * seeds / groups) if seeds > 1 else 0.0
        own: np.ndarray = effects(rng, (of_seeds, math.sqrt(0.5), 1.0), (runs, seeds, groups), skewed)
        return shared + own

    return side(sides[0]), side(sides[1])


def family_answers(
    first: float, second: float, rng: Rng, sides: tuple[int, int], groups: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    """One yes-or-no item a group; the easier for one family, the easier for the other."""
    ease = rng.random((runs, 1, groups))
    chances = (scipy.special.betaincinv(2 * share, 2 * (1 - share), ease) for share in (first, second))
    one, other = (
        (rng.random((runs, seeds, groups)) < chance).astype(float) for seeds, chance in zip(sides, chances, strict=True)
    )
    return one, other


NO_GUARD = (
    "Where nearly all answers agree, few groups differ at all, and their variance does not show how many others would."
)


def families_cells() -> Iterator[Cell]:
    for sides in ((3, 3), (5, 5), (10, 10), (5, 1)):
        kinds = (
            Families(sides, "normal, seeds alike", partial(family_values, 0.0, "")),
            Families(sides, "normal, seeds vary", partial(family_values, 1.0, "")),
            Families(sides, "normal, mostly seeds", partial(family_values, 9.0, "")),
            Families(sides, "exponential items, seeds alike", partial(family_values, 0.0, "items")),
            Families(sides, "share 0.9 and 0.9", partial(family_answers, 0.9, 0.9), unit=Unit.SHARE),
            Families(sides, "share 0.97 and 0.9", partial(family_answers, 0.97, 0.9), 0.07, Unit.SHARE, NO_GUARD),
        )
        for kind in kinds:
            yield from (kind.cell(groups) for groups in (8, 22, 58))


def dealt(seeds: int, rng: Rng, runs: int) -> Measured:
    """The p that is reported beside a verdict on two families: their seeds are dealt again."""
    return {"size": percent(np.array(seeds_dealt_ps(rng.normal(size=(2 * seeds, runs)), seeds)) <= 0.05)}


def dealt_cells() -> Iterator[Cell]:
    for seeds in (4, 5, 10):
        yield Cell(("p of seeds dealt again",), f"{seeds} v {seeds}", partial(dealt, seeds), (SIZE,))


# ---------------------------------------------------------------- verdicts of families


@dataclass(frozen=True)
class World:
    """An effect and the deviation of seeds; items deviate by 0.8, single answers by 0.6, in 58 groups."""

    name: str
    effect: float
    seed_sd: float
    groups: int = 58
    why: str = ""

    def cell(self, seeds: int) -> Cell:
        limits = (Limit("holds", most=5.5),) if not self.effect else (Limit("kept", least=100.0, unsure=0.0),)
        return Cell((self.name,), str(seeds), partial(self.measure, seeds), limits, self.why)

    def measure(self, seeds: int, rng: Rng, runs: int) -> Measured:
        quantity, groups, cases = Quantity(Unit.NATS, 0.0), Groups(self.groups), []
        for batch in batches(runs):
            values = self.effect + effects(rng, (self.seed_sd, 0.8, 0.6), (batch, seeds, self.groups))
            for one in resampled(values, np.ones(self.groups), draws(rng, names(self.groups)).weights):
                samples = Samples(one)
                by_seed = tuple(
                    PartNumber("", float(one[i, 0]), of_checkpoint(samples, i, groups, quantity).p)
                    for i in range(seeds)
                )
                over = of_family(samples, groups, quantity)
                cases.append(case(float(one[:, 0].mean()), over, seeds, seed_values=by_seed))
        return rates(cases)


def case(value: float, over: Interval, seeds: int | None, groups: int = 58, **more: object) -> Case:
    return Case(value=value, low=over.low, high=over.high, p=over.p, reference=0.0, groups=groups, seeds=seeds, **more)


def rates(cases: Sequence[Case]) -> Measured:
    """Of verdicts; `clear`: the interval excludes neutral; `kept`: of these, the share that holds or flips."""
    verdicts = [judgement.verdict for judgement in judge(cases)]
    clear = np.array([one.low > 0 or one.high < 0 for one in cases])
    decided = np.array([verdict is not Verdict.UNDECIDED for verdict in verdicts])
    return {
        "holds": percent([verdict in FINDINGS for verdict in verdicts]),
        "flips": percent([verdict in (Verdict.FLIPS, Verdict.MIXED) for verdict in verdicts]),
        "undecided": percent(~decided),
        "clear": percent(clear),
        "kept": percent(decided[clear]) if clear.any() else 100.0,
    }


def categories(seeds: int, rng: Rng, runs: int) -> Measured:
    """Ten categories that ask one thing, no effect: how often any of them holds or flips, after Holm's correction."""
    quantity, found = Quantity(Unit.NATS, 0.0), []
    for batch in batches(runs):
        values = effects(rng, (0.0, 0.8, 0.6), (10 * batch, seeds, 58))
        cases = []
        for i, one in enumerate(resampled(values, np.ones(58), draws(rng, names(58)).weights)):
            over = of_family(Samples(one), Groups(58), quantity)
            cases.append(case(float(one[:, 0].mean()), over, seeds, together=i // 10))
        verdicts = np.array([judgement.verdict for judgement in judge(cases)]).reshape(batch, 10)
        found += [[sum(v == which for v in row) > 0 for which in (Verdict.HOLDS, Verdict.FLIPS)] for row in verdicts]
    holds, flips = np.array(found).T
    return {"holds": percent(holds), "flips": percent(flips), "undecided": percent(~(holds | flips))}


def pooled(parts: str, effects_of_parts: Sequence[float], rng: Rng, runs: int) -> Measured:
    """The number of one checkpoint that pools `wordings` or `kinds`, each with an effect of its own."""
    quantity, groups, cases, n = Quantity(Unit.NATS, 0.0), Groups(58), [], len(effects_of_parts)
    for batch in batches(runs):
        values = np.array(effects_of_parts)[:, None] + effects(rng, (0.0, 0.8, 0.6), (batch, n, 58))
        for one in resampled(values, np.ones(58), draws(rng, names(58)).weights):
            samples, all_of_them = Samples(one), Samples(one.mean(axis=0)[None])
            named = [
                PartNumber(str(i), float(one[i, 0]), of_checkpoint(samples, i, groups, quantity).p) for i in range(n)
            ]
            over = of_checkpoint(all_of_them, 0, groups, quantity)
            cases.append(case(float(all_of_them.values[0, 0]), over, None, **{parts: tuple(named)}))
    return rates(cases)


WORLDS = (
    (World("no effect, seeds alike", 0.0, 0.0), (3, 5, 10, 25)),
    (World("no effect, seeds vary a little", 0.0, 0.1), (3, 5, 10, 25)),
    (World("no effect, every seed its own (a flip)", 0.0, 0.8), (3, 5, 10, 25)),
    (World("effect 0.3, seeds vary a little", 0.3, 0.1), (3, 5, 10, 25)),
    (World("effect 0.5, seeds vary as much", 0.5, 0.5), (3, 5, 10, 25)),
    (World("effect of 1.3 seed sd, seeds precise", 0.65, 0.5), (5, 9, 10, 19, 20, 25)),
    (World("effect of 1.3 seed sd, seeds noisy", 0.195, 0.15), (5, 9, 10, 19, 20, 25)),
)


def verdicts_cells() -> Iterator[Cell]:
    for world, several in WORLDS:
        yield from (world.cell(seeds) for seeds in several)
    no_holds = (Limit("holds", most=5.5),)
    for seeds in (3, 5, 10):
        yield Cell(("no effect, any of ten categories",), str(seeds), partial(categories, seeds), no_holds)
    no_flips = Limit("flips", most=5.5)
    yield Cell(("no effect, three wordings",), "1", partial(pooled, "wordings", (0, 0, 0)), (*no_holds, no_flips))
    for kinds in ((0, 0), (0, 0, 0, 0)):
        name = f"no effect, {len(kinds)} kinds"
        yield Cell((name,), "1", partial(pooled, "kinds", kinds), (*no_holds, no_flips))
    for kinds in ((0.5, 0), (0.5, 0, 0, 0), (0.5, 0.5), (0.5, -0.5), (0.5, 0.5, 0.5, -0.5)):
        limits = (no_flips,) if min(kinds) >= 0 else ()
        yield Cell((f"kinds with effects {', '.join(map(str, kinds))}",), "1", partial(pooled, "kinds", kinds), limits)


# ---------------------------------------------------------------- the list of a report

_ROW = Estimate(
    probe="p",
    model="m",
    measure="v",
    conditions={},
    value=0.0,
    low=0.0,
    high=0.0,
    n_items=58,
    n_unscored=0,
    n_groups=58,
    unit=Unit.NATS,
    neutral=0.0,
    method="",
    verdict=Verdict.UNDECIDED,
)


def list_row(value: float, over: Interval, judgement: Judgement, seeds: int | None = None) -> Estimate:
    more = {} if seeds is None else {"level": "family", "n_seeds": seeds}
    return changed(
        _ROW, value=value, low=over.low, high=over.high, p_interval=over.p, verdict_alone=judgement.verdict, **more
    )


def z_rows(z: np.ndarray, together: Sequence[object] | None = None) -> tuple[list[Estimate], list[float]]:
    """Numbers with a standard error of 1, and their p after Holm's correction over those that are asked `together`."""
    quantity = Quantity(Unit.NATS, 0.0)
    overs = [interval(Spread(value, 1.0), 58, quantity) for value in z.tolist()]
    keys = together or [None] * len(z)
    cases = [case(v, over, None, together=key) for v, over, key in zip(z.tolist(), overs, keys, strict=True)]
    judged = judge(cases)
    rows = [list_row(v, over, one) for v, over, one in zip(z.tolist(), overs, judged, strict=True)]
    return rows, [one.p_corrected for one in judged]


def found(rows: Sequence[Estimate]) -> np.ndarray:
    return np.array([row.verdict in FINDINGS for row in judge_list(rows, [True] * len(rows))])


@dataclass
class Discoveries:
    """Of many lists."""

    false: list[float] = field(default_factory=list)
    power: list[float] = field(default_factory=list)

    def add(self, findings: np.ndarray, true: np.ndarray) -> None:
        self.false.append(float((findings & ~true).sum() / max(1, findings.sum())))
        if true.any():
            self.power.append(float(findings[true].mean()))

    @property
    def measured(self) -> Measured:
        return {"false": 100 * float(np.mean(self.false)), "power": 100 * float(np.mean(self.power or [math.nan]))}


def beside(others: int, rng: Rng, runs: int) -> Measured:
    """24 null rows beside clear ones that cannot be findings."""
    counted, stopped = Discoveries(), (Verdict.FAILS_GATE, Verdict.LOW_COVERAGE, Verdict.TOO_FEW_GROUPS)
    for _ in range(runs):
        rows, _ = z_rows(rng.normal(size=24))
        clear, _ = z_rows(np.full(others, 9.0))
        silent = [changed(row, verdict_alone=stopped[i % 3]) for i, row in enumerate(clear)]
        counted.add(found([*rows, *silent]), np.zeros(24 + others, bool))
    return counted.measured


def dependent(kind: str, m: int, rng: Rng) -> np.ndarray:
    if kind == "independent":
        return rng.normal(size=m)
    if kind == "positive":  # correlated by 0.5
        return math.sqrt(0.5) * (rng.normal() + rng.normal(size=m))
    first = rng.normal(size=m // 2)  # pairs that are correlated by −0.8
    return np.stack([first, -0.8 * first + 0.6 * rng.normal(size=m // 2)], axis=1).ravel()


def discoveries(kind: str, m: int, share: float, rng: Rng, runs: int) -> Measured:
    """A share of the rows has an effect of 3 standard errors."""
    true, counted = np.zeros(m, bool), Discoveries()
    true[np.linspace(0, m - 1, round(share * m)).astype(int)] = True
    for _ in range(runs):
        counted.add(found(z_rows(dependent(kind, m, rng) + 3 * true)[0]), true)
    return counted.measured


def flipping(seed_sd: float, share: float, rng: Rng, runs: int) -> Measured:
    """30 families of five seeds, whose numbers have a standard error of 1 over items; rows that flip stay."""
    true, counted, quantity = np.arange(30) < 30 * share, Discoveries(), Quantity(Unit.NATS, 0.0)
    effect = 4.5 * math.sqrt((seed_sd**2 + 1) / 5)
    for _ in range(runs):
        values = effect * true[:, None] + math.hypot(seed_sd, 1.0) * rng.normal(size=(30, 5))
        cases, overs = [], []
        for one in values:
            spread = Spread(float(one.mean()), 0.0, others=(VarianceSource(float(one.var(ddof=1)) / 5, 4),))
            overs.append(interval(spread, 58, quantity))
            parts = tuple(PartNumber("", value, Spread(value, 1.0).p(0.0)) for value in one.tolist())
            cases.append(case(spread.value, overs[-1], 5, seed_values=parts))
        judged = zip(cases, overs, judge(cases), strict=True)
        counted.add(found([list_row(one.value, over, judgement, 5) for one, over, judgement in judged]), true)
    return counted.measured


def two_seeds(rng: Rng, runs: int) -> Measured:
    """24 null rows beside 24 of families with two seeds, which stay undecided whatever their number."""
    counted = Discoveries()
    for _ in range(runs):
        rows, _ = z_rows(np.concatenate([rng.normal(size=24), rng.normal(size=24) * 9]))
        pairs = [changed(row, level="family", n_seeds=2, verdict_alone=Verdict.UNDECIDED) for row in rows[24:]]
        counted.add(found([*rows[:24], *pairs]), np.zeros(48, bool))
    return counted.measured


def without_undecided(rng: Rng, runs: int) -> Measured:
    """What would happen if undecided rows were left off the list: 24 null rows."""
    counted = Discoveries()
    for _ in range(runs):
        rows, _ = z_rows(rng.normal(size=24))
        clear = [row for row in rows if row.verdict_alone is not Verdict.UNDECIDED]
        counted.add(found(clear) if clear else np.zeros(1, bool), np.zeros(max(1, len(clear)), bool))
    return counted.measured


def seat_on_list(twice: bool, rng: Rng, runs: int) -> Measured:
    """Ten SEAT tests among 30 rows, half of all with an effect of 3; power of the tests. `twice`: Holm first."""
    true, tests, counted, power = np.arange(30) % 2 == 0, np.arange(30) >= 20, Discoveries(), []
    keys = ["seat" if test else None for test in tests]
    for _ in range(runs):
        rows, corrected = z_rows(rng.normal(size=30) + 3 * true, keys)
        if twice:
            rows = [changed(row, p_interval=p) for row, p in zip(rows, corrected, strict=True)]
        findings = found(rows)
        counted.add(findings, true)
        power.append(float(findings[true & tests].mean()))
    return counted.measured | {"power": 100 * float(np.mean(power))}


def list_cells() -> Iterator[Cell]:
    limits = (FALSE_DISCOVERIES,)
    for others in (0, 1, 2, 4, 8):
        yield Cell(("24 null rows",), str(others), partial(beside, others), limits)
    yield Cell(("24 null rows; the others are families of two seeds",), "24", two_seeds, limits)
    yield Cell(("24 null rows, if undecided ones were left off",), "0", without_undecided)


def discoveries_cells() -> Iterator[Cell]:
    for kind in ("independent", "positive", "negative"):
        for m in (10, 30, 100):
            for share in (0.0, 0.25, 0.5):
                measure = partial(discoveries, kind, m, share)
                yield Cell((f"{kind}, {m} rows",), f"{share:.0%} true", measure, (FALSE_DISCOVERIES,))
    for seed_sd in (0.0, 1.0, 3.0, 10.0):
        for share in (0.0, 0.25, 0.5):
            measure = partial(flipping, seed_sd, share)
            row = (f"30 families, seed sd {seed_sd:g} item se",)
            yield Cell(row, f"{share:.0%} true", measure, (FALSE_DISCOVERIES,))
    yield Cell(("10 SEAT tests of 30 rows",), "50% true", partial(seat_on_list, False), (FALSE_DISCOVERIES,))
    yield Cell(("the same, if corrected twice",), "50% true", partial(seat_on_list, True))


# ---------------------------------------------------------------- claims about seeds


@dataclass(frozen=True)
class Varying:
    """Two diagnostics, 9 categories of 60 items and 4 of 500, whose shares deviate over seeds.

    `together`: the correlation of the seed effects of categories; within both diagnostics the same, or not."""

    name: str
    first: float
    second: float
    together: float = 0.8
    noise: tuple[str, str] = ("wide", "wide")
    alike: bool = True

    def cell(self, seeds: int) -> Cell:
        limits = (SIZE,) if self.first == self.second else ()
        return Cell((self.name,), str(seeds), partial(self.measure, seeds), limits)

    def measure(self, seeds: int, rng: Rng, runs: int) -> Measured:
        ends = []
        for _ in range(runs):
            common = rng.normal(size=(2, 1, seeds))
            sides = [
                [self._category(rng, items, sd, common[0 if self.alike else i], kind) for _ in range(categories)]
                for i, (categories, items, sd, kind) in enumerate(
                    ((9, 60, self.first, self.noise[0]), (4, 500, self.second, self.noise[1]))
                )
            ]
            one = seed_claims.varies_more(*sides)
            ends.append((one.p < 0.05 and one.value > 0, one.p < 0.05 and one.value < 0))
        published, opposite = np.array(ends).T
        return {"published": percent(published), "opposite": percent(opposite), "size": percent(published | opposite)}

    def _category(self, rng: Rng, items: int, sd: float, common: np.ndarray, kind: str) -> np.ndarray:
        """[items, seeds]"""
        seeds = common.shape[1]
        moved = sd * (math.sqrt(self.together) * common + math.sqrt(1 - self.together) * rng.normal(size=(1, seeds)))
        if kind == "little":  # values, not answers
            return moved + 0.05 * rng.normal(size=(items, seeds))
        wide = rng.uniform(0.2, 0.9, (items, 1))
        chance = wide if kind == "wide" else np.where(rng.random((items, 1)) < 0.55, 0.88, 0.12)
        return (rng.random((items, seeds)) < chance + moved).astype(float)


VARYING = (
    Varying("seeds alike", 0.0, 0.0),
    Varying("sd 0.02 and 0.02", 0.02, 0.02),
    Varying("sd 0.02 and 0.02, second less noisy", 0.02, 0.02, noise=("wide", "stable")),
    Varying("sd 0.02 and 0.02, first less noisy", 0.02, 0.02, noise=("stable", "wide")),
    Varying("sd 0.08 and 0.08, little noise, seeds apart", 0.08, 0.08, 1.0, ("little", "little"), alike=False),
    Varying("sd 0.04 and 0.02", 0.04, 0.02),
    Varying("sd 0.08 and 0.02", 0.08, 0.02),
)


def varies_cells() -> Iterator[Cell]:
    for world in VARYING:
        yield from (world.cell(seeds) for seeds in (3, 5, 10, 25))


@dataclass(frozen=True)
class Equal:
    """A claim that a quantity is alike, with a margin of a fifth of an effect of 1.

    Items deviate by 1 in the quantity and in the effect, with correlation `together`; seeds by `seed_sd` in both, and
    single seeds on single items by 0.5. `models` 2: two models are compared, whose effects are alike."""

    name: str
    quantity: float  # 0.2 is the margin
    effect: float = 1.0
    together: float = 0.3
    seed_sd: float = 0.05
    models: int = 1

    def cell(self, seeds: int, groups: int) -> Cell:
        limits = [Limit("apart", most=5.5)] if abs(self.quantity) <= 0.2 * abs(self.effect) else []
        if abs(self.quantity) >= 0.2 * abs(self.effect) or not self.effect:
            limits.append(Limit("alike", most=5.5))
        measure = partial(self.measure, seeds, groups)
        return Cell((self.name, str(seeds)), f"{groups:,}", measure, tuple(limits))

    def measure(self, seeds: int, groups: int, rng: Rng, runs: int) -> Measured:
        weights, many, verdicts = draws(rng, names(groups)).weights, Groups(groups), []
        for batch in batches(runs):
            truth = np.array([[self.quantity / self.models, self.effect]] * self.models)
            truth[1:, 0] *= -1  # half of the difference on either side
            numbers = self._values(rng, truth, (batch, seeds, groups)) @ (weights.T / weights.sum(1)).astype(float)
            for run in numbers:  # [models, quantity and effect, seeds, 1 + R]
                sides = [Side(Samples(q), Samples(e), sign) for (q, e), sign in zip(run, (1, -1), strict=False)]
                spread_of = partial(self._spread, seeds, many)
                one = equivalence(sides, MARGIN, spread_of, many, Unit.NATS)
                more = {"p": one.p, "p_apart": one.p_apart, "sensitive": one.sensitive}
                (judgement,) = judge([claim_case(one, None if seeds == 1 else seeds, groups, **more)])
                verdicts.append(judgement.verdict)
        counted = np.array(verdicts)
        names_of = {"alike": Verdict.ALIKE, "apart": Verdict.OPPOSITE, "insensitive": Verdict.INSENSITIVE}
        return {name: percent(counted == verdict) for name, verdict in names_of.items()}

    def _spread(self, seeds: int, groups: Groups, samples: Samples) -> Spread:
        return over_seeds(samples, groups) if self.models == 1 else samples.difference(seeds, groups)

    def _values(self, rng: Rng, truth: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """[runs, models, quantity and effect, seeds, groups]"""
        runs, seeds, groups = shape

        def noise(*of: int) -> np.ndarray:
            both = rng.normal(size=(2, runs, self.models, *of))
            both[0] = self.together * both[1] + math.sqrt(1 - self.together**2) * both[0]
            return np.moveaxis(both, 0, 2)

        # what is said of one checkpoint is about that checkpoint
        of_seeds, of_items = (self.seed_sd if seeds > 1 else 0.0) * noise(seeds, 1), noise(1, groups)
        values: np.ndarray = truth[:, :, None, None] + of_seeds + of_items + 0.5 * noise(seeds, groups)
        return values


def claim_case(one: Equivalence, seeds: int | None, groups: int, **more: Any) -> Case:
    return Case(
        value=one.value,
        low=one.low,
        high=one.high,
        reference=0.0,
        groups=groups,
        seeds=seeds,
        direction=Direction.ALIKE,
        **more,
    )


MARGIN = Margin(plus={})
EQUAL = (
    Equal("at the margin", 0.2),
    Equal("at the margin, quantity falls with the effect", -0.2, together=-0.6),
    Equal("at the margin, seeds vary", 0.2, seed_sd=0.15),
    Equal("no effect and no difference (a dead model)", 0.0, 0.0),
    Equal("no difference", 0.0),
    Equal("a tenth of the effect", 0.1),
    Equal("twice the margin", 0.4),
    Equal("two models at the margin", 0.2, models=2),
    Equal("two models alike", 0.0, models=2),
    Equal("two dead models", 0.0, 0.0, models=2),
)


def equivalence_cells() -> Iterator[Cell]:
    for world in EQUAL:
        for seeds in (1, 3, 5):
            yield from (world.cell(seeds, groups) for groups in (22, 150, 1_508))


def vectors(seeds: int, rng: Rng, runs: int) -> Measured:
    """30 vector tests and 13 categories that change sides equally often."""
    ps = []
    for _ in range(runs):
        values = 0.5 + rng.normal(size=(43, 1)) + rng.normal(0, 0.6, (43, seeds))
        tests = {f"{'0' if i < 30 else '1'} {i}": one for i, one in enumerate(values)}
        ps.append(seed_claims.torn_more(tests)[0].p)
    return {"size": percent(np.array(ps) < 0.05)}


def cut(seeds: int, rng: Rng, runs: int) -> Measured:
    """Nine categories of 60 items that are items like any others."""
    items, ps = pd.DataFrame({"category": np.repeat(np.arange(9), 60)}), []
    for _ in range(runs):
        prefers = (rng.random((540, seeds)) < rng.uniform(0.2, 0.9, (540, 1))).astype(float)
        one = SeedAnswers("p", "m", None, items, prefers, prefers, 0.0, int(rng.integers(1 << 30)))
        ps.append(one.categories_beside_cuts()[3])
    return {"size": percent(np.array(ps) < 0.05)}


def other_claims_cells() -> Iterator[Cell]:
    for seeds in (3, 5, 10, 25):
        yield Cell(("vector tests change sides more often",), str(seeds), partial(vectors, seeds), (SIZE,))
    for seeds in (5, 10):
        yield Cell(("categories vary more than cuts",), str(seeds), partial(cut, seeds), (SIZE,))


def new_seeds(seeds: int, effect: float, skewed: bool, rng: Rng, runs: int) -> Measured:
    """The share of new seeds on the side of the mean; seeds deviate by 1 about `effect`."""
    drawn = rng.exponential(size=(runs, seeds)) - 1 if skewed else rng.normal(size=(runs, seeds))
    share = math.exp(effect - 1) if skewed else float(ndtr(effect))
    values, below, above = drawn + effect, [], []
    for one in values:
        truth = share if one.mean() > 0 else 1 - share
        _, low, high = share_of_new_seeds(one.tolist(), 0.0)
        below.append(truth < low)
        above.append(truth > high)
    missed = np.array(below) | np.array(above)
    return {"covers": percent(~missed), "below": percent(below), "above": percent(above)}


NORMAL_SEEDS = "The share is that of normal seeds; of skewed ones the tail is another."


def new_seeds_cells() -> Iterator[Cell]:
    for effect in (0.0, 0.5, 1.3, 3.0):
        for seeds in (3, 5, 10, 25):
            yield Cell(
                (f"normal, {effect} sd from neutral",), str(seeds), partial(new_seeds, seeds, effect, False), (COVERS,)
            )
    for seeds in (3, 5, 10, 25):
        measure = partial(new_seeds, seeds, 0.8, True)
        yield Cell(("exponential, 0.8 sd from neutral",), str(seeds), measure, (COVERS,), NORMAL_SEEDS)


# ---------------------------------------------------------------- the cut-off of coverage


def cut_off(share: float, groups: int, icc: float, rng: Rng, runs: int) -> Measured:
    """`icc` 1: one item a group; else groups of 1 to 9 items."""
    verdicts = []
    for batch in batches(runs):
        sizes = rng.integers(1, 10, groups) if icc < 1 else np.ones(groups, int)
        drawn = Resampling.of(names(groups).loc[np.repeat(np.arange(groups), sizes)], 0)
        every = np.ones(sizes.sum(), bool)
        for _ in range(batch):
            many = 1 / icc - 1
            chance = rng.beta(share * many, (1 - share) * many, groups) if icc < 1 else np.full(groups, share)
            counted = (rng.random(len(every)) < np.repeat(chance, sizes)).astype(float)
            verdicts.append(of_coverage(covered(Columns({"c": counted}, drawn.cells), "c", every, drawn)))
    states = {"low": Verdict.LOW_COVERAGE, "borderline": Verdict.BORDERLINE_COVERAGE, "judged": None}
    shares = {name: percent([verdict is state for verdict in verdicts]) for name, state in states.items()}
    return shares | {"size": 100 - shares["borderline"]}


FEW_GROUPS_COVERED = "Student's interval over few groups, on the logit scale, is slightly too short here."


def coverage_cells() -> Iterator[Cell]:
    for groups in (22, 58, 150):
        for icc, kind in ((1.0, "one item"), (0.3, "1–9 items, icc 0.3"), (0.9, "1–9 items, icc 0.9")):
            for share in (0.3, 0.45, 0.5, 0.55, 0.7):
                limits = (SIZE,) if share == 0.5 else ()
                measure = partial(cut_off, share, groups, icc)
                yield Cell((str(groups), kind), f"{share:.2f}", measure, limits, FEW_GROUPS_COVERED)


# ---------------------------------------------------------------- tables


def interval_text(one: Measured) -> str:
    power = "–" if math.isnan(one["power"]) else f"{one['power']:.0f}"
    return f"{one['covers']:.1f} ({one['below']:.1f}, {one['above']:.1f}; {power})"


def family_text(one: Measured) -> str:
    return f"{one['covers']:.1f} ({one['below']:.1f}, {one['above']:.1f}; {one['size_002']:.2f}; {one['power']:.0f})"


def covers_text(one: Measured) -> str:
    return f"{one['covers']:.1f} ({one['below']:.1f}, {one['above']:.1f})"


def size_text(one: Measured) -> str:
    return f"{one['size']:.1f}"


def verdicts_text(one: Measured) -> str:
    clear = f" ({one['clear']:.1f})" if "clear" in one else ""
    return f"{one['holds']:.1f}{clear} / {one['flips']:.1f} / {one['undecided']:.1f}"


def list_text(one: Measured) -> str:
    return f"{one['false']:.1f}" if math.isnan(one["power"]) else f"{one['false']:.1f} ({one['power']:.0f})"


def varies_text(one: Measured) -> str:
    return f"{one['published']:.1f} / {one['opposite']:.1f}"


def equivalence_text(one: Measured) -> str:
    return f"{one['alike']:.1f} / {one['apart']:.1f} / {one['insensitive']:.1f}"


def coverage_text(one: Measured) -> str:
    return f"{one['low']:.1f} / {one['borderline']:.1f} / {one['judged']:.1f}"


@dataclass(frozen=True)
class Table:
    name: str
    cells: Callable[[], Iterator[Cell]]
    heads: tuple[str, ...]  # of the columns that name a row
    across: str  # what the other columns are
    text: Callable[[Measured], str]
    naming: int = 0  # which of the row's columns names the data
    counted: bool = False  # not simulated


TABLES = (
    Table("items", items_cells, ("data",), "groups", interval_text),
    Table("crossed", crossed_cells, ("data",), "targets × backgrounds", interval_text),
    Table("shares", shares_cells, ("truth",), "answers", interval_text, counted=True),
    Table("seeds", seeds_cells, ("data", "seed sd", "seeds"), "groups", family_text),
    Table("contrasts", contrasts_cells, ("data", "seeds"), "groups", interval_text),
    Table("seat", seat_cells, ("words", "icc", "sentences", "d"), "words a side", interval_text),
    Table("seat-seeds", seat_seeds_cells, ("seeds", "words", "d"), "words a side", interval_text, naming=1),
    Table("swapped", swapped_cells, ("data",), "groups", interval_text),
    Table("families", families_cells, ("seeds", "data"), "groups", interval_text, naming=1),
    Table("dealt", dealt_cells, ("test",), "", size_text),
    Table("verdicts", verdicts_cells, ("world",), "seeds", verdicts_text),
    Table("list", list_cells, ("list",), "rows that cannot be findings", list_text),
    Table("discoveries", discoveries_cells, ("list",), "", list_text),
    Table("varies", varies_cells, ("world",), "seeds", varies_text),
    Table("equivalence", equivalence_cells, ("world", "seeds"), "groups", equivalence_text),
    Table("other-claims", other_claims_cells, ("claim",), "seeds", size_text),
    Table("new-seeds", new_seeds_cells, ("values of seeds",), "seeds", covers_text),
    Table("coverage", coverage_cells, ("groups", "items"), "true coverage", coverage_text, naming=1),
)


# ---------------------------------------------------------------- running


def key(table: str, cell: Cell) -> str:
    return "/".join((table, *cell.row, cell.column))


def find(name: str, row: Sequence[str], column: str) -> Cell:
    (table,) = (table for table in TABLES if table.name == name)
    (cell,) = (cell for cell in table.cells() if (cell.row, cell.column) == (tuple(row), column))
    return cell


def _measured(job: tuple[int, int, int]) -> tuple[str, Measured]:
    """In a process of its own, which makes the table's cells again: they hold functions."""
    table, (i, runs) = TABLES[job[0]], job[1:]
    cell = list(table.cells())[i]
    return key(table.name, cell), cell.run(table.name, runs)


def measure(tables: Sequence[str], runs: int, results: Path | None) -> dict[str, Measured]:
    """Of all cells of these tables; those that `results` holds are not measured again."""
    measured: dict[str, Measured] = json.loads(results.read_text()) if results and results.exists() else {}
    jobs = [
        (t, i, runs)
        for t, table in enumerate(TABLES)
        if table.name in tables
        for i, cell in enumerate(table.cells())
        if key(table.name, cell) not in measured
    ]
    start = time.monotonic()
    with Pool(PROCESSES) as pool:
        for done, (name, one) in enumerate(pool.imap_unordered(_measured, jobs), 1):
            measured[name] = one
            minutes = (time.monotonic() - start) / 60
            print(f"{done}/{len(jobs)}, {minutes:.1f} min: {name}", file=sys.stderr, flush=True)
            if results:
                results.write_text(json.dumps(measured))
    return measured


# ---------------------------------------------------------------- the page


def grid(table: Table, measured: dict[str, Measured]) -> Iterator[str]:
    """The table in Markdown; cells that miss a target are bold."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in table.cells():
        one = measured[key(table.name, cell)]
        text = table.text(one)
        cells.setdefault(cell.row, {})[cell.column] = f"**{text}**" if cell.missed(one) else text
    columns = sorted({column for row in cells.values() for column in row}, key=_order)
    first = f"{table.across}: {columns[0]}" if table.across else columns[0]
    yield f"| {' | '.join((*table.heads, first, *columns[1:]))} |".replace("%", " %")
    yield f"|{'---|' * len(table.heads)}{'--:|' * len(columns)}"
    for row, texts in cells.items():
        yield f"| {' | '.join((*row, *(texts.get(column, '') for column in columns)))} |"


def _order(column: str) -> tuple[float, str]:
    digits = column.replace(",", "").split()[0].rstrip("%")
    return (float(digits), column) if digits.replace(".", "").isdigit() else (math.inf, column)


def missed(table: Table, measured: dict[str, Measured]) -> list[Cell]:
    return [cell for cell in table.cells() if cell.missed(measured[key(table.name, cell)])]


def reasons(table: Table, measured: dict[str, Measured]) -> Iterator[str]:
    """One line for each reason: which data miss a target, in how many cells, and why."""
    by_reason: dict[str, Counter[str]] = {}
    for cell in missed(table, measured):
        counts = by_reason.setdefault(cell.reason(measured[key(table.name, cell)]), Counter())
        counts[cell.row[table.naming]] += 1
    for reason, counts in by_reason.items():
        named = ", ".join(f"{name} ({many})" for name, many in counts.items())
        yield fill(f"- {named}: {reason}", 120, subsequent_indent="  ")


def error(runs: float) -> str:
    return f"± {196 * math.sqrt(0.05 * 0.95 / runs):.1f}"


def heading(table: Table, measured: dict[str, Measured]) -> str:
    if table.counted:
        return "Counted exactly, without simulation."
    runs = [measured[key(table.name, cell)]["runs"] for cell in table.cells()]
    again = sum(one > min(runs) for one in runs)
    text = f"{min(runs):,.0f} runs a cell, {error(min(runs))} points"
    more = f" ({again} of {len(runs)} again with {max(runs):,.0f}, {error(max(runs))})" if again else ""
    return f"{text}{more}."


def blocks(tables: Sequence[str], measured: dict[str, Measured]) -> Iterator[tuple[str, str]]:
    """What the page has between `<!-- name -->` and `<!-- end -->`."""
    shown = [table for table in TABLES if table.name in tables]
    if len(shown) == len(TABLES):
        cells, outside = sum(len(list(t.cells())) for t in shown), sum(len(missed(t, measured)) for t in shown)
        apart = sum(one.get("disagree", 0.0) for one in measured.values())
        yield (
            "summary",
            f"{outside} of {cells} cells miss a target; interval and p disagree, beyond rounding, in {apart:.0f} runs.",
        )
    for table in shown:
        lines, why = [heading(table, measured), "", *grid(table, measured)], list(reasons(table, measured))
        yield table.name, "\n".join([*lines, *(("", "Bold cells, by data:", "", *why) if why else ())])


def written(page: str, block: str, text: str) -> str:
    start, end = f"<!-- {block} -->\n", "\n<!-- end -->"
    before, found, rest = page.partition(start)
    if not found or end not in rest:
        raise SystemExit(f"the page has no <!-- {block} --> … <!-- end -->")
    return f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=", ".join(table.name for table in TABLES))
    parser.add_argument("--runs", type=int, default=RUNS, help="of each cell")
    parser.add_argument("--write", type=Path, help="the page; its text stays, its tables are replaced")
    parser.add_argument("--resume", type=Path, help="measured cells are saved here, and not measured again")
    options = parser.parse_args()
    every = [table.name for table in TABLES]
    unknown = set(options.tables) - set(every)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    tables = options.tables or every
    page = options.write.read_text(encoding="utf-8") if options.write else ""
    for name, text in blocks(tables, measure(tables, options.runs, options.resume)):
        print(f"{name}\n\n{text}\n")
        page = written(page, name, text) if options.write else ""
    if options.write:
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
