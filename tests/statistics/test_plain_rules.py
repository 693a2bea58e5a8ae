"""The package and plain_rules.py, two implementations of one rule, on random numbers: equal to rounding."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import plain_rules
import pytest
from scipy import stats

from trueprobe.statistics import Columns
from trueprobe.statistics.interval import Quantity, of_checkpoint, of_family
from trueprobe.statistics.means import means
from trueprobe.statistics.permutation import Swapped, within_sets
from trueprobe.statistics.resampling import Groups, Resampling
from trueprobe.statistics.rows import Difference
from trueprobe.statistics.seed_claims import varies_more
from trueprobe.statistics.spread import Samples, Spread
from trueprobe.statistics.unjudged import share_of_new_seeds
from trueprobe.statistics.verdict import judge_list
from trueprobe.types import Outcome, Unit

GROUPS = 6
ALL_DRAWS = np.array(list(itertools.product(range(GROUPS), repeat=GROUPS)))  # 46,656: no random number is left
WEIGHTS = np.vstack([np.ones(GROUPS), np.stack([(g == ALL_DRAWS).sum(axis=1) for g in range(GROUPS)], axis=1)])
CASES = range(12)


def random_values(seed: int, seeds: int) -> np.ndarray:
    """[seeds, groups]: skewed items, with more or less of seeds and of single answers."""
    rng = np.random.default_rng([seed, seeds])
    scale = rng.uniform(0, 2, 3) * [1, 1, seed % 3 > 0]  # in every third case seeds differ by single answers alone
    items, own = scale[0] * rng.exponential(1, (1, GROUPS)), scale[1] * rng.normal(size=(seeds, GROUPS))
    return items + own + scale[2] * rng.normal(size=(seeds, 1))


def samples(values: np.ndarray) -> Samples:
    return Samples(values @ WEIGHTS.T / GROUPS)


def end_towards(ends: tuple[float, float], value: float, reference: float) -> float:
    return ends[0] if reference < value else ends[1]


# ---------------------------------------------------------------- families and differences


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_a_family_interval_is_the_plain_one(case, seeds):
    values = random_values(case, seeds)
    spread, _ = samples(values).over_seeds(Groups(GROUPS))
    for alpha in (0.01, 0.05, 0.3):
        assert spread.interval(alpha) == pytest.approx(plain_rules.crossed_ends(values, alpha=alpha), rel=1e-8)
    for reference in values.mean() + np.array([-3.0, -0.5, 0.2, 2.0]):
        p = spread.p(reference)
        if 1e-10 < p < 1:
            touching = end_towards(plain_rules.crossed_ends(values, alpha=p), values.mean(), reference)
            assert touching == pytest.approx(reference, abs=1e-6)


def test_a_family_interval_reaches_its_floor_in_some_of_these_cases():
    """So that the comparison above is about the floor too, and about skewness on both sides."""
    at_floor, skewed = 0, set()
    for case, seeds in itertools.product(CASES, (2, 3, 5, 10)):
        spread, parts = samples(random_values(case, seeds)).over_seeds(Groups(GROUPS))
        floor = stats.t.ppf(0.975, GROUPS - 1) * math.sqrt(parts.items)
        at_floor += spread.interval()[1] - spread.value == pytest.approx(floor)
        skewed.add(np.sign(spread.skew))
    assert at_floor >= 3
    assert skewed == {-1, 1}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sides", [(1, 1), (1, 4), (3, 3), (5, 2)])
def test_a_difference_of_sides_has_the_plain_interval(case, sides):
    first, second = random_values(case, sides[0]), random_values(case + 100, sides[1])
    spread = samples(np.concatenate([first, second])).difference(sides[0], Groups(GROUPS))
    assert spread.value == pytest.approx(first.mean() - second.mean())
    assert spread.interval() == pytest.approx(plain_rules.crossed_ends(first, second), rel=1e-8)


# ---------------------------------------------------------------- means of values between 0 and 1


@pytest.mark.parametrize("case", range(40))
def test_a_mean_between_0_and_1_has_the_plain_limits(case):
    """Each end is the farther of the beta limit and of Hall's or Student's."""
    rng = np.random.default_rng(case)
    groups, skew = int(rng.integers(6, 300)), float(rng.normal(0, 0.3))
    share = float(rng.choice([rng.uniform(0.001, 0.02), rng.uniform(0.02, 0.98), rng.uniform(0.98, 0.999)]))
    error = math.sqrt(share * (1 - share) / groups) * rng.uniform(0.05, 1.0)
    for alpha in (0.001, 0.05, 0.3):
        low, high = plain_rules.beta_ends(share, error, groups, groups - 1, alpha)
        down, up = plain_rules.hall_or_t(alpha, skew, groups - 1)
        expected = min(low, share - error * down), max(high, share + error * up)
        ours = Spread(share, error, skew, groups - 1, groups=groups)
        assert ours.interval(alpha) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_a_family_of_shares_has_the_plain_limits_with_its_seeds(case):
    """The items' limits, and the reach of seeds on top, squares added; not below the items' own."""
    rng = np.random.default_rng(case)
    values = np.clip(rng.uniform(0.7, 1.1, (1, GROUPS)) + rng.normal(0, 0.05, (4, GROUPS)), 0, 1)
    seeds, items, both = plain_rules.two_way(values)
    share, rest = values.mean(), math.sqrt(max(items - both, 1e-3 * items))
    down, up = plain_rules.hall_or_t(0.05, stats.skew(values.mean(axis=0)) / math.sqrt(GROUPS), GROUPS - 1)
    low, high = plain_rules.beta_ends(share, rest, GROUPS, GROUPS - 1)
    reach = stats.t.ppf(0.975, 3) * math.sqrt(seeds)
    floor = stats.t.ppf(0.975, GROUPS - 1) * math.sqrt(items)
    expected = (
        max(0.0, share - max(math.hypot(reach, max(rest * down, share - low)), floor)),
        min(1.0, share + max(math.hypot(reach, max(rest * up, high - share)), floor)),
    )
    ours = of_family(samples(values), Groups(GROUPS), Quantity(Unit.SHARE, 0.5))
    assert (ours.low, ours.high) == pytest.approx(expected, abs=1e-8)


# ---------------------------------------------------------------- two checkpoints


@pytest.mark.parametrize("case", CASES)
def test_swapped_answers_have_the_plain_p_and_interval(case):
    """Groups of one to four items, a level, and skewed differences; the plain one tries every exchange."""
    rng = np.random.default_rng(case)
    counts = rng.integers(1, 5, 7)
    groups = np.repeat([f"g{i}" for i in range(7)], counts)
    apart = rng.exponential(1, len(groups)) * rng.choice([-1, 1], len(groups)) + rng.choice([0.0, 0.7, 2.0])
    drawn = Resampling.of(pd.DataFrame({"item": groups}), 0)
    sides = [Columns({"v": values}, drawn.cells) for values in (apart + 3, np.full(len(groups), 3.0))]
    swapped = Swapped(Spread(float(apart.mean()), 1.0), within_sets(means, [("v",)], sides, drawn, 0)[:, 0])
    sums = np.array([apart[groups == f"g{i}"].sum() for i in range(7)])
    assert swapped.interval() == pytest.approx(plain_rules.swap_ends(sums, counts), abs=1e-9)
    for reference in (0.0, 0.5, -1.0, 2.2):
        assert swapped.p(reference) == pytest.approx(plain_rules.swap_p(sums, counts, reference))


# ---------------------------------------------------------------- effect sizes


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seeds", [1, 3, 5])
def test_an_effect_size_has_the_plain_interval_and_p(case, seeds):
    rng = np.random.default_rng([case, seeds])
    words, effect = int(rng.integers(4, 12)), rng.uniform(-2.5, 2.5)
    picks = [np.vstack([np.arange(words), rng.integers(0, words, (300, words))]) for _ in "xy"]
    sets = [level + rng.normal(size=words) + 0.5 * rng.normal(size=(seeds, words)) for level in (effect, 0.0)]
    first, second = (one[:, pick] for one, pick in zip(sets, picks, strict=True))
    deviation = np.concatenate([first, second], axis=2).std(axis=2, ddof=1)
    draws = np.clip((first.mean(axis=2) - second.mean(axis=2)) / deviation, -1.99, 1.99)
    quantity, groups = Quantity(Unit.EFFECT_SIZE, 0.0), Groups(2 * words, 2)
    on_scale = quantity.on_scale(Samples(draws))
    ours = of_checkpoint(on_scale, 0, groups, quantity) if seeds == 1 else of_family(on_scale, groups, quantity)
    assert (ours.low, ours.high) == pytest.approx(plain_rules.effect_ends(draws, words), abs=1e-7)
    if 1e-10 < ours.p < 1:
        centre = (ours.low + ours.high) / 2
        assert end_towards(plain_rules.effect_ends(draws, words, ours.p), centre, 0.0) == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- seeds


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seeds", [3, 5])
def test_varies_more_is_the_plain_one(case, seeds):
    rng = np.random.default_rng([case, seeds])
    sides = [
        [(rng.random((n, seeds)) < 0.5 + rng.normal(0, 0.15, seeds)).astype(float) for n in rng.integers(8, 90, 3)]
        for _ in range(2)
    ]
    value, low, high, p = varies_more(*sides)
    assert (low, high) == pytest.approx(plain_rules.varies_more_ends(*sides), abs=1e-9)
    assert value == pytest.approx(
        plain_rules.seed_variance(sides[0], 0.05)[0] - plain_rules.seed_variance(sides[1], 0.05)[0]
    )
    if 1e-6 < p < 0.5:
        assert end_towards(plain_rules.varies_more_ends(*sides, p), value, 0.0) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("case", range(0, 12, 3))
@pytest.mark.parametrize("n", [2, 3, 5, 25])
def test_the_share_of_new_seeds_is_the_plain_one(case, n):
    values = np.random.default_rng([case, n]).normal(case / 6, 1.0, n)
    assert share_of_new_seeds(values.tolist(), 0.0) == pytest.approx(plain_rules.new_seeds(values, 0.0), abs=1e-6)


def test_the_share_of_new_seeds_is_that_of_scipys_noncentral_t():
    values = np.array([0.4, 1.3, 0.9, 2.2])
    t = 2 * values.mean() / values.std(ddof=1)
    _, low, high = share_of_new_seeds(values.tolist(), 0.0)
    assert stats.nct.cdf(t, 3, 2 * stats.norm.ppf([low, high])) == pytest.approx([0.975, 0.025], abs=1e-6)


# ---------------------------------------------------------------- the list


@pytest.mark.parametrize("case", range(30))
def test_the_findings_of_a_list_are_the_plain_ones(case):
    """Differences of families, of which those with two seeds are not on the list."""
    rng = np.random.default_rng(case)
    ps = (rng.random(20) ** rng.choice([1.0, 4.0])).tolist()
    seeds = rng.choice([2, 3, 5], 20).tolist()
    numbers = {"a": 1.0, "b": 0.0, "difference": 1.0, "low": 0.5, "high": 1.5, "unit": Unit.NATS, "n_items": 9}
    rows = [
        Difference("p", "v", {}, **numbers, n_groups=9, n_seeds_a=n, n_seeds_b=5, p=p, p_permutation=p, detectable=1.0)
        for p, n in zip(ps, seeds, strict=True)
    ]
    found = [row.verdict.outcome is Outcome.GOOD for row in judge_list(rows, [True] * 20)]
    assert found == plain_rules.findings(ps, [n >= 3 for n in seeds])
