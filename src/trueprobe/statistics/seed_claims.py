"""Paper C's claims about diagnostics, as rows: how much they vary over the seeds of a family, and whether they agree.

How often tests change sides has an interval that leaves out one seed at a time (jackknife, t) and allows for other
tests too. Categories are compared with the total cut to their sizes, with the interval of such cuts. Two diagnostics
are compared by the variance over seeds that is left without the noise of their items (`SeedVariance`).
A category's deviation is held against the paper's 2.5 points as it is, with the noise of its items, and only where the
family prefers stereotypes in all: of a family that answers by chance it would say how few items there are.
Likelihood tests are the probes that declare a `diagnostic`; vector tests are the effect sizes with a test of their own
(the accuracy of clusters is none: it cannot lie below neutral, so its seeds never lie on both sides).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.claims import ClaimSubject, result
from trueprobe.statistics.disagreement import Key, scores
from trueprobe.statistics.flips import SeedAnswers
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.rows import AND, ClaimResult
from trueprobe.statistics.spread import Spread
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.vector_claims import vector_claims
from trueprobe.statistics.verdict import ALPHA, FEWEST_GROUPS, FEWEST_SEEDS, Case
from trueprobe.types import Unit

Family = tuple[str, int | None]  # its name, and the step
Values = Mapping[str, np.ndarray]  # [category] = a value for each seed, neutral at 0.5
_SMALLEST_P = 1e-12  # smaller ones decide nothing
MUCH = 0.025  # paper C's table 1: deviations over seeds above this are bold


def claims_over_seeds(
    estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str], answers: Sequence[SeedAnswers] = ()
) -> list[ClaimResult]:
    """For every family of the run that has seeds enough."""
    families = dict.fromkeys(
        (one.estimate.model, one.estimate.step)
        for rows in estimates.values()
        for one in rows
        if one.estimate.level == "family" and one.estimate.n_seeds >= FEWEST_SEEDS
    )
    usable = [one for one in answers if one.probe in diagnostics and one.seeds >= FEWEST_SEEDS]
    return [
        *filter(None, map(_categories, usable)),
        *(row for one in usable for row in _deviations(one, scores(estimates[one.probe], diagnostics[one.probe]))),
        *(_first_varies_more(*pair) for pair in _pairs(usable)),
        *(row for family in families for row in _claims(family, estimates, diagnostics)),
        *(row for family in families for label in estimates for row in vector_claims(label, estimates[label], family)),
    ]


def _deviations(answers: SeedAnswers, by_category: Mapping[Key, Unjudged]) -> Iterator[ClaimResult]:
    """One row per category; none where there is one alone, which is the total."""
    names = sorted(set(answers.items["category"]))
    total = by_category.get((answers.family, "family", answers.step, "all"))
    for category, prefers in zip(names, answers.by_category(), strict=True) if len(names) > 1 else ():
        claim = Claim(
            "category_deviates",
            f"{category}: the score has a standard deviation over seeds above 2.5 points",
            paper="C",
            column="sd_seeds",
            plus={},
            threshold=MUCH,
            unit=Unit.SHARE,
            conditions={"category": category},
        )
        quantity = deviation(prefers.mean(axis=0), MUCH)
        about = ClaimSubject(answers.family, "family", answers.family, answers.step, answers.seeds)
        case = Case(
            **quantity._asdict(),
            reference=MUCH,
            groups=FEWEST_GROUPS,
            seeds=answers.seeds,
            direction=claim.direction,
            sensitive=total is not None and total.interval.p < ALPHA and total.estimate.value > _neutral(total),
        )
        yield result(answers.probe, claim, about, case)


def _neutral(one: Unjudged) -> float:
    return one.estimate.neutral or 0.5


def _categories(answers: SeedAnswers) -> ClaimResult | None:
    if answers.items["category"].nunique() < 2:
        return None
    more = "categories vary more over seeds than equally many items drawn from all"
    claim = Claim("categories_vary_more", more, "C", "sd_seeds", {}, unit=Unit.SHARE)
    quantity = Quantified(*answers.categories_beside_cuts())
    return _result(answers.probe, (answers.family, answers.step), claim, quantity, answers.seeds)


def _claims(
    family: Family, estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str]
) -> Iterator[ClaimResult]:
    likelihood = {label: _by_category(estimates[label], measure, family) for label, measure in diagnostics.items()}
    vectors = _tested(estimates, family)
    categories = {f"1 {label} {k}": v for label, values in likelihood.items() for k, v in values.items() if k != "all"}
    if vectors and categories:
        more = "vector tests change sides over seeds more often than likelihood tests"
        claim = Claim("vectors_vary_more", more, "C", "seeds on both sides", {}, unit=Unit.SHARE)
        both = {f"0 {key}": v for key, v in vectors.items()} | categories
        quantity, seeds = torn_more(both)
        yield _result(AND.join(estimates), family, claim, quantity, seeds)


def _pairs(answers: Sequence[SeedAnswers]) -> Iterator[tuple[SeedAnswers, SeedAnswers]]:
    """Two diagnostics of one family; the larger dataset second, as the paper has it."""
    for first, second in combinations(sorted(answers, key=lambda one: len(one.prefers)), 2):
        if (first.family, first.step) == (second.family, second.step):
            yield first, second


def _first_varies_more(first: SeedAnswers, second: SeedAnswers) -> ClaimResult:
    more = f"{first.probe} varies more over seeds than {second.probe}, category by category"
    column = "variance over seeds without the noise of items"
    claim = Claim("first_varies_more", more, "C", column, {}, unit=Unit.VARIANCE)
    quantity = varies_more([*first.by_category()], [*second.by_category()])
    seeds, family = min(first.seeds, second.seeds), (first.family, first.step)
    return _result(f"{first.probe}, {second.probe}", family, claim, quantity, seeds)


def _by_category(estimates: Sequence[Unjudged], measure: str, family: Family) -> dict[str, np.ndarray]:
    by_category = {
        key[3]: one for key, one in scores(estimates, measure).items() if key[:3] == (family[0], "family", family[1])
    }
    most = max((len(one.seed_values) for one in by_category.values()), default=0)
    return {
        category: np.array(one.seed_values) / (2 * (one.estimate.neutral or 0.5))
        for category, one in by_category.items()
        if len(one.seed_values) == most >= FEWEST_SEEDS
    }


def _tested(estimates: Mapping[str, Sequence[Unjudged]], family: Family) -> dict[str, np.ndarray]:
    """The seeds' effect sizes in every test, moved to a neutral of 0.5."""
    together: dict[str, list[float]] = {}
    for one in (one for rows in estimates.values() for one in rows):
        e = one.estimate
        of_family = e.level == "checkpoint" and (e.family, e.step) == family
        if of_family and one.tested and one.usable and e.unit is Unit.EFFECT_SIZE:
            key = f"{e.probe} {e.measure} {dict(e.conditions)}"
            together.setdefault(key, []).append(e.value - (e.neutral or 0.0) + 0.5)
    most = max(map(len, together.values()), default=0)
    return {key: np.array(values) for key, values in together.items() if len(values) == most >= FEWEST_SEEDS}


# ---------------------------------------------------------------- quantities


class Quantified(NamedTuple):
    value: float
    low: float
    high: float
    p: float  # against 0


def deviation(shares: np.ndarray, threshold: float) -> Quantified:
    """The standard deviation of one share per seed, with the χ² interval and p. Five seeds with 5 points: 4 · 25 / 6.25
    = 16 has p = 0.006, so they are above 2.5; five with 4 points (10.2, p = 0.07) are not."""
    variance, df = float(shares.var(ddof=1)), len(shares) - 1
    low, high = (math.sqrt(df * variance / float(scipy.special.chdtri(df, tail))) for tail in (0.025, 0.975))
    statistic = df * variance / threshold**2
    p = 2 * min(float(scipy.special.chdtr(df, statistic)), float(scipy.special.chdtrc(df, statistic)))
    return Quantified(math.sqrt(variance), low, high, min(1.0, p))


@dataclass(frozen=True)
class SeedVariance:
    """How much the shares of some categories vary over seeds: a mean over the categories.

    The variance of n answers' share holds their noise: with seeds that do not differ at all, that of 60 items is eight
    times that of 500. So the noise is taken off, category by category: (n · variance of the share − mean variance of an
    answer over seeds) / (n − 1). The interval is χ² about the variance with its noise, with the degrees of freedom that
    correlated categories leave (Satterthwaite)."""

    noise_free: float
    with_noise: float
    df: float

    @classmethod
    def of(cls, categories: Sequence[np.ndarray]) -> SeedVariance:
        """`categories` [items, seeds] each."""
        shares = np.array([answers.mean(axis=0) for answers in categories])
        observed = shares.var(axis=1, ddof=1)
        noise = np.array([answers.var(axis=1, ddof=1).mean() for answers in categories])
        n, seeds = np.array([len(answers) for answers in categories]), shares.shape[1]
        covariance = np.atleast_2d(np.cov(shares))
        squares = float((covariance**2).sum())
        df = (seeds - 1) * float(np.trace(covariance)) ** 2 / squares if squares > 0 else seeds - 1
        df = min(max(df, seeds - 1), len(categories) * (seeds - 1))
        return cls(float(((n * observed - noise) / (n - 1)).mean()), float(observed.mean()), df)

    def reach(self, alpha: float) -> tuple[float, float]:
        """Down and up from the variance."""
        low, high = (self.df / float(scipy.special.chdtri(self.df, tail)) for tail in (alpha / 2, 1 - alpha / 2))
        return self.with_noise * (1 - low), self.with_noise * (high - 1)


def varies_more(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> Quantified:
    """The mean variance over seeds of the first's categories minus that of the second's, without the noise of items;
    nothing where a category has a single item."""
    if min(len(answers) for answers in (*first, *second)) < 2:
        return Quantified(*[math.nan] * 4)
    one, other = SeedVariance.of(first), SeedVariance.of(second)
    value = one.noise_free - other.noise_free

    def ends(alpha: float) -> tuple[float, float]:
        (down, up), (other_down, other_up) = one.reach(alpha), other.reach(alpha)
        return value - math.hypot(down, other_up), value + math.hypot(up, other_down)

    low, high = ends(ALPHA)
    if low == high:
        return Quantified(value, low, high, math.nan)
    side = 0 if value > 0 else 1
    if ends(1.0)[side] * (1 if value > 0 else -1) <= 0:
        p = 1.0
    elif ends(_SMALLEST_P)[side] * (1 if value > 0 else -1) >= 0:
        p = _SMALLEST_P
    else:
        p = float(scipy.optimize.brentq(lambda a: ends(a)[side], _SMALLEST_P, 1.0))
    return Quantified(value, low, high, p)


def _torn(values: Sequence[np.ndarray]) -> float:
    """Share of the quantities whose seeds lie on both sides of neutral."""
    return float(np.mean([(v > 0.5).any() and (v < 0.5).any() for v in values]))


def torn_more(values: Values) -> tuple[Quantified, int]:
    """Of the shares of `_torn`, first minus second: other seeds (each left out in turn), and other tests of either
    kind. With the number of seeds, where these are as many in all tests."""
    seeds = {len(v) for v in values.values()}
    if len(seeds) > 1:
        return Quantified(*[math.nan] * 4), max(seeds)
    (n,) = seeds
    without = [_torn_apart({key: np.delete(v, i) for key, v in values.items()}) for i in range(n)]
    sides = [[_torn([v]) for key, v in values.items() if key[0] == side] for side in "01"]
    tests = sum(np.var(torn, ddof=1) / len(torn) if len(torn) > 1 else 0.0 for torn in sides)
    se = math.sqrt((n - 1) * float(np.var(without)))
    spread = Spread(_torn_apart(values), math.sqrt(se**2 + float(tests)), df=n - 1)
    low, high = (float(np.clip(end, -1, 1)) for end in spread.interval())  # a difference of shares
    return Quantified(spread.value, low, high, spread.p(0.0)), n


def _torn_apart(values: Values) -> float:
    first, second = ([v for key, v in values.items() if key[0] == side] for side in "01")
    return _torn(first) - _torn(second)


def _result(label: str, family: Family, claim: Claim, quantity: Quantified, seeds: int) -> ClaimResult:
    about = ClaimSubject(family[0], "family", family[0], family[1], seeds)
    case = Case(
        **quantity._asdict(),
        reference=claim.threshold,
        groups=FEWEST_GROUPS,  # seeds are its units, and these are enough
        seeds=seeds,
        direction=claim.direction,
    )
    return result(label, claim, about, case)
