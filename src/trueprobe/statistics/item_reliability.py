"""How well items' scores agree over the seeds of a family, and how many seeds and items a reliable number takes.

A generalisability study (Cronbach et al. 1972; Brennan 2001) of each primary number: seeds × items, crossed. The
reliability of an item's mean over S seeds is ICC(C, S) = 1 − 1/F with its F interval (McGraw & Wong 1996); degrees of
freedom are those of groups, since items of a group are alike. It says whether the same items stand out in every seed,
and nothing about whether they measure what they should.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.item_values import ItemValues, item_values
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.power import Design, mean_squares
from trueprobe.statistics.rows import ItemReliability, VarianceShares

WANTED = 0.8  # of a reliability


@dataclass(frozen=True)
class FamilyAnswers:
    """A family's observations of a probe."""

    label: str
    family: str
    step: int | None
    frames: Sequence[pd.DataFrame]  # of its seeds
    factor: str
    within: Sequence[str]


def reliabilities(
    answers: FamilyAnswers, measures: Sequence[Measure], shares: Sequence[VarianceShares]
) -> Iterator[ItemReliability]:
    """Of several seeds; `shares` has the variance over wordings, where a number has several."""
    if len(answers.frames) < 2:
        return
    wordings = {(row.measure, *sorted(row.conditions.items())): row.variance_wordings for row in shares}
    for measure in measures:
        known = item_values(answers.frames, measure, answers.factor, answers.within, shared=True)
        if known is not None:
            key = (measure.name, *sorted(measure.reported.items()))
            yield _row(answers, measure, known, wordings.get(key, math.nan))


def _row(answers: FamilyAnswers, measure: Measure, known: ItemValues, wordings: float) -> ItemReliability:
    v, agreement = known.variances, item_agreement(known)
    own = Design.of_groups(v.n_seeds, known.groups).of_mean(v.seeds_by_groups, v.seeds_by_items)
    return ItemReliability(
        probe=answers.label,
        model=answers.family,
        step=answers.step,
        measure=measure.name,
        conditions=measure.reported,
        unit=measure.unit,
        n_seeds=v.n_seeds,
        n_items=v.n_items,
        n_groups=v.n_groups,
        variance_items=v.groups + v.items,
        variance_seeds=v.seeds,
        variance_seeds_by_items=v.seeds_by_groups + v.seeds_by_items,
        variance_wordings=wordings,
        reliability=agreement.mean,
        low=agreement.low,
        high=agreement.high,
        seeds_needed=needed(agreement.single),
        items_needed=needed(v.seeds / (v.seeds + v.n_items * own) if v.seeds > 0 else 0.0),
    )


@dataclass(frozen=True)
class ItemAgreement:
    mean: float  # reliability of an item's mean over the seeds
    low: float
    high: float
    single: float  # of its score in one seed


def item_agreement(known: ItemValues) -> ItemAgreement:
    """Of two seeds with 1 2 3 and 2 3 5: mean squares 3.17 of items and 0.17 of both, so 1 − 0.17 / 3.17 = 0.95."""
    seeds, groups = len(known.values), len(set(known.groups))
    squares = mean_squares(known.values)
    if not squares.columns > 0:
        return ItemAgreement(math.nan, math.nan, math.nan, math.nan)
    inverse, df = squares.both / squares.columns, (groups - 1, (groups - 1) * (seeds - 1))
    low, high = (1 - inverse * float(scipy.special.fdtri(*df, tail)) for tail in (0.975, 0.025))
    return ItemAgreement(1 - inverse, low, high, (1 - inverse) / (1 + (seeds - 1) * inverse))


def needed(single: float) -> int | None:
    """How many parallel scores make .8, by Spearman and Brown: four of .5. None where no number does."""
    if not single > 0:
        return None
    return max(1, math.ceil(WANTED / (1 - WANTED) * (1 - single) / single - 1e-9))
