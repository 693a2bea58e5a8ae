"""Paper C's claims about diagnostics, as rows: how much they vary over the seeds of a family, and whether they agree.

Each quantity is a function of the values of all seeds; its interval leaves out one seed at a time (jackknife, t), and
where tests are counted (`vectors_vary_more`) other tests are allowed for too. Categories are held against the total cut
to their sizes, with the interval of such cuts.
Likelihood tests are the probes that declare a `diagnostic`; vector tests are the effect sizes with a test of their own
(the accuracy of clusters is none: it cannot lie below neutral, so its seeds never lie on both sides).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from trueprobe.statistics.association import EFFECT_SIZE_UNIT
from trueprobe.statistics.claims import About, Numbers, result
from trueprobe.statistics.disagreement import scores
from trueprobe.statistics.flips import Answers
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.rows import AND, ClaimResult
from trueprobe.statistics.spread import Spread
from trueprobe.statistics.verdict import FEWEST_SEEDS, Unjudged
from trueprobe.types import Verdict

Family = tuple[str, int | None]  # its name, and the step
Values = Mapping[str, np.ndarray]  # [category] = a value for each seed, neutral at 0.5
_WHAT = {
    "categories_vary_more": "categories vary more over seeds than as many items of the total",
    "first_varies_more": "{first} varies more over seeds than {second}, category by category",
    "vectors_vary_more": "vector tests change sides over seeds more often than likelihood tests",
}


def claims_over_seeds(
    estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str], answers: Sequence[Answers] = ()
) -> list[ClaimResult]:
    """For every family of the run that has seeds enough."""
    families = dict.fromkeys(
        (one.estimate.model, one.estimate.step)
        for rows in estimates.values()
        for one in rows
        if one.estimate.level == "family" and one.estimate.n_seeds >= FEWEST_SEEDS
    )
    by_category = [_categories(one) for one in answers if one.probe in diagnostics and one.seeds >= FEWEST_SEEDS]
    return [
        *filter(None, by_category),
        *(row for family in families for row in _claims(family, estimates, diagnostics)),
    ]


def _categories(answers: Answers) -> ClaimResult | None:
    if answers.items["category"].nunique() < 2:
        return None
    numbers = Numbers(*answers.categories_beside_cuts())
    return _result(answers.probe, (answers.family, answers.step), "categories_vary_more", numbers, answers.seeds)


def _claims(
    family: Family, estimates: Mapping[str, Sequence[Unjudged]], diagnostics: Mapping[str, str]
) -> Iterator[ClaimResult]:
    likelihood = {label: _by_category(estimates[label], measure, family) for label, measure in diagnostics.items()}
    # the larger dataset second, as the paper has it
    for first, second in combinations(sorted(likelihood, key=lambda label: _items(estimates[label])), 2):
        both = {f"0 {k}": v for k, v in likelihood[first].items() if k != "all"}
        both |= {f"1 {k}": v for k, v in likelihood[second].items() if k != "all"}
        if len({key[0] for key in both}) == 2:
            names = {"first": first, "second": second}
            yield _row(
                f"{first}, {second}", family, "first_varies_more", partial(jackknife, _apart(_mean_sd)), both, **names
            )
    vectors = _tested(estimates, family)
    categories = {f"1 {label} {k}": v for label, values in likelihood.items() for k, v in values.items() if k != "all"}
    if vectors and categories:
        both = {f"0 {key}": v for key, v in vectors.items()} | categories
        yield _row(AND.join(estimates), family, "vectors_vary_more", _over_tests, both)


def _by_category(estimates: Sequence[Unjudged], measure: str, family: Family) -> dict[str, np.ndarray]:
    mine = {
        key[3]: one for key, one in scores(estimates, measure).items() if key[:3] == (family[0], "family", family[1])
    }
    most = max((len(one.seed_values) for one in mine.values()), default=0)
    return {
        category: np.array(one.seed_values) / (2 * (one.estimate.neutral or 0.5))
        for category, one in mine.items()
        if len(one.seed_values) == most >= FEWEST_SEEDS
    }


def _tested(estimates: Mapping[str, Sequence[Unjudged]], family: Family) -> dict[str, np.ndarray]:
    """The seeds' effect sizes in every test, moved to a neutral of 0.5."""
    together: dict[str, list[float]] = {}
    for one in (one for rows in estimates.values() for one in rows):
        e = one.estimate
        mine = e.level == "checkpoint" and (e.family, e.step) == family
        if mine and one.tested and one.usable and e.unit == EFFECT_SIZE_UNIT:
            key = f"{e.probe} {e.measure} {dict(e.conditions)}"
            together.setdefault(key, []).append(e.value - (e.neutral or 0.0) + 0.5)
    most = max(map(len, together.values()), default=0)
    return {key: np.array(values) for key, values in together.items() if len(values) == most >= FEWEST_SEEDS}


def _items(estimates: Sequence[Unjudged]) -> int:
    return max((one.estimate.n_items for one in estimates), default=0)


# ---------------------------------------------------------------- quantities


def _mean_sd(values: Sequence[np.ndarray]) -> float:
    return float(np.mean([v.std(ddof=1) for v in values]))


def _torn(values: Sequence[np.ndarray]) -> float:
    """Share of the quantities whose seeds lie on both sides of neutral."""
    return float(np.mean([(v > 0.5).any() and (v < 0.5).any() for v in values]))


def _apart(quantity: Callable[[Sequence[np.ndarray]], float]) -> Callable[[Values], float]:
    def first_less_second(values: Values) -> float:
        first, second = ([v for key, v in values.items() if key[0] == side] for side in "01")
        return quantity(first) - quantity(second)

    return first_less_second


def _over_tests(values: Values) -> Spread:
    """Of the shares of `_torn`, first less second: other seeds, and other tests of either kind."""
    seeds = jackknife(_apart(_torn), values)
    sides = [[_torn([v]) for key, v in values.items() if key[0] == side] for side in "01"]
    tests = sum(np.var(torn, ddof=1) / len(torn) if len(torn) > 1 else 0.0 for torn in sides)
    return replace(seeds, se=math.sqrt(seeds.se**2 + float(tests)))


def jackknife(quantity: Callable[[Values], float], values: Values) -> Spread:
    """Each seed left out in turn."""
    n = len(next(iter(values.values())))
    without = [quantity({key: np.delete(v, i) for key, v in values.items()}) for i in range(n)]
    return Spread(quantity(values), math.sqrt((n - 1) * float(np.var(without))), df=n - 1)


def _row(
    label: str, family: Family, name: str, spread_of: Callable[[Values], Spread], values: Values, **names: str
) -> ClaimResult:
    lengths = {len(v) for v in values.values()}
    spread = spread_of(values) if len(lengths) == 1 else Spread(math.nan, math.nan)
    low, high = (float(np.clip(end, -1, 1)) for end in spread.interval())  # a difference of shares
    return _result(label, family, name, Numbers(spread.value, low, high, spread.p(0.0)), max(lengths), **names)


def _result(label: str, family: Family, name: str, numbers: Numbers, seeds: int, **names: str) -> ClaimResult:
    column = "seeds on both sides" if name.startswith("vectors") else "sd_seeds"
    claim = Claim(name, _WHAT[name].format(**names), "C", column, {}, unit="share")
    about = About(family[0], "family", family[0], family[1], seeds)
    return result(label, claim, about, numbers, _verdict(numbers.value, numbers.low, numbers.high))


def _verdict(value: float, low: float, high: float) -> Verdict:
    if math.isnan(value):
        return Verdict.NOTHING_SCORED
    if math.isnan(low) or low == high == 0:
        return Verdict.NO_INTERVAL if math.isnan(low) else Verdict.NO_VARIATION
    return Verdict.AS_PUBLISHED if low > 0 else Verdict.OPPOSITE if high < 0 else Verdict.UNDECIDED
