"""Variance components by hand, and widths and power against scipy and plain simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from trueprobe.statistics import Measure
from trueprobe.statistics.item_reliability import item_agreement, needed
from trueprobe.statistics.item_values import ItemValues, item_values
from trueprobe.statistics.means import means, pearson
from trueprobe.statistics.power import Design, FacetVariances, Forecast, components, fewest, noncentral_power

# seeds down; two groups of two items
TINY, TINY_GROUPS = np.array([[1.0, 3, 5, 7], [2, 4, 8, 10]]), np.array(["a", "a", "b", "b"])
WORLD = FacetVariances(groups=0.2, items=1.0, seeds=0.1, seeds_by_groups=0.05, seeds_by_items=0.5)


def test_components_by_hand():
    """By mean squares, of items within groups and of the group means 2 6 and 3 9."""
    v = components(TINY, TINY_GROUPS)
    # within groups each item is 1 off its group's mean, alike in both seeds: MS items 2 · 4 / 2 = 4, MS both 0
    assert v.items == pytest.approx((4 - 0) / 2)
    assert v.seeds_by_items == 0
    # group means: seeds 4 and 6, groups 2.5 and 7.5, residuals ±0.5: MS groups 25, MS both 1, MS seeds 4
    assert v.groups == pytest.approx((25 - 1) / 2 - 2 / 2)
    assert v.seeds_by_groups == pytest.approx(1)
    assert v.seeds == pytest.approx((4 - 1) / 2)
    low, high = (2.0 / stats.chi2.ppf(p, 1) - 0.5 for p in (0.9, 0.1))
    assert v.seeds_range == pytest.approx((low, high))


def test_components_of_one_seed_know_nothing_of_seeds():
    v = components(TINY[:1], TINY_GROUPS)
    assert not v.knows_seeds
    assert v.items == pytest.approx(2.0)  # with seeds × items in it
    assert v.groups == pytest.approx((6 - 2) ** 2 / 2 - 2 / 2)


def test_components_recover_what_was_planted():
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        x = rng.normal(0, 0.3, (5, 1, 1)) + rng.normal(0, 1, (1, 20, 1)) + rng.normal(0, 0.7, (1, 20, 6))
        x = x + rng.normal(0, 0.4, (5, 20, 1)) + rng.normal(0, 0.9, (5, 20, 6))
        v = components(x.reshape(5, -1), np.repeat(np.arange(20), 6))
        found.append([v.seeds, v.groups, v.items, v.seeds_by_groups, v.seeds_by_items])
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(200)
    assert np.all(np.abs(means - [0.09, 1, 0.49, 0.16, 0.81]) < 4 * errors + 0.01)


def test_noncentral_power_is_that_of_scipy():
    for shift, threshold, df in ((0.0, 2.0, 5), (2.5, 2.2, 12.5), (3.0, 12.7, 1.0)):
        expected = stats.nct.sf(threshold, df, shift) + stats.nct.cdf(-threshold, df, shift)
        assert noncentral_power(shift, threshold, df) == pytest.approx(expected)


def test_power_of_one_seed_is_that_of_a_t_test():
    """Forty groups of one item: a plain one-sample t test."""
    forecast = Forecast(FacetVariances(groups=4.0, items=0.0), Design.balanced(1, 40, 1))
    shift = 0.9 / (2 / math.sqrt(40))
    expected = stats.nct.sf(stats.t.ppf(0.975, 39), 39, shift) + stats.nct.cdf(-stats.t.ppf(0.975, 39), 39, shift)
    assert forecast.power(0.9) == pytest.approx(expected)
    smallest = optimize.brentq(lambda d: forecast.power(d) - 0.8, 0.1, 3)
    assert forecast.detectable() == pytest.approx(smallest)
    assert forecast.power(0.9, alpha=0.005) < forecast.power(0.9)


def test_satterthwaite_by_hand():
    """Items' variance of the mean 0.2/20 + 1/20 = 0.06 with 19, seeds' (0.1 + 0.55/20)/3 = 0.0425 with 2."""
    forecast = Forecast(WORLD, Design.balanced(3, 20, 1))
    expected = (0.06 + 0.0425) ** 2 / (0.06**2 / 19 + 0.0425**2 / 2)
    assert forecast.satterthwaite == pytest.approx(expected)


def test_more_of_anything_narrows_the_interval():
    widths = [
        Forecast(WORLD, Design.balanced(*size)).width() for size in ((3, 20, 2), (5, 20, 2), (5, 60, 2), (5, 60, 8))
    ]
    assert widths == sorted(widths, reverse=True)


def test_width_is_what_simulated_intervals_have_on_average():
    """Plain numpy: √((t se items)² + t² var seeds) of normal variances, averaged."""
    rng, n = np.random.default_rng(3), 200_000
    forecast = Forecast(WORLD, Design.balanced(3, 20, 2))
    items, seeds = 0.2 / 20 + 1 / 40, (0.1 + 0.05 / 20 + 0.5 / 40) / 3
    least = items + (0.05 / 20 + 0.5 / 40) / 3
    t_items, t_seeds = stats.t.ppf(0.975, 19), stats.t.ppf(0.975, 2)
    q_items, q_seeds = rng.chisquare(19, n) / 19, rng.chisquare(2, n) / 2
    squares = np.maximum(t_items**2 * items * q_items + t_seeds**2 * seeds * q_seeds, t_items**2 * least * q_items)
    assert forecast.width() == pytest.approx(2 * np.sqrt(squares).mean(), rel=0.01)


@pytest.mark.parametrize(("seeds", "groups", "items"), [(3, 40, 2), (5, 30, 4)])
def test_width_and_power_are_those_of_runs_counted_in_plain_numpy(seeds, groups, items):
    """2,000 runs drawn from the definition, an effect that is promised a power of .8, and intervals by hand: items
    and other seeds, each with its own t. ± 0.06 holds the steps from a sum of two variances to one t."""
    rng, runs, v = np.random.default_rng(9), 2_000, WORLD
    forecast = Forecast(v, Design.balanced(seeds, groups, items))
    effect = forecast.detectable()
    x = effect + rng.normal(0, math.sqrt(v.seeds), (runs, seeds, 1))
    x = x + rng.normal(0, math.sqrt(v.groups), (runs, 1, groups))
    x = x + rng.normal(0, math.sqrt(v.items / items), (runs, 1, groups))
    own = v.seeds_by_groups + v.seeds_by_items / items
    x = x + rng.normal(0, math.sqrt(own), (runs, seeds, groups))
    of_items = x.mean(axis=1).var(axis=1, ddof=1) / groups
    of_each = x.var(axis=2, ddof=1).mean(axis=1) / groups
    both = np.maximum(0, (of_each - of_items) / (seeds - 1))
    of_seeds = x.mean(axis=2).var(axis=1, ddof=1) / seeds
    t_items, t_seeds = stats.t.ppf(0.975, groups - 1), stats.t.ppf(0.975, seeds - 1)
    squares = t_items**2 * np.maximum(of_items - both, 0.001 * of_items) + t_seeds**2 * of_seeds
    reach = np.sqrt(np.maximum(squares, t_items**2 * of_items))
    assert forecast.width() == pytest.approx(2 * reach.mean(), rel=0.04)
    assert np.mean(np.abs(x.mean(axis=(1, 2))) > reach) == pytest.approx(0.8, abs=0.06)


def test_wordings_that_stand_for_others_widen_the_interval():
    several = FacetVariances(0.2, 1.0, 0.1, 0.05, 0.5, wordings=0.3, n_wordings=3)
    forecast = Forecast(several, Design.balanced(3, 20, 2))
    assert forecast.width_over_wordings() > forecast.width()
    assert math.isnan(Forecast(WORLD, Design.balanced(3, 20, 2)).width_over_wordings())


def test_fewest_is_the_first_that_is_narrow_enough():
    asked = []

    def width(n):
        asked.append(n)
        return 10 / n

    assert fewest(1.3, 1_000, width) == 8
    assert len(asked) < 15
    assert fewest(0.001, 1_000, width) is None


# ---------------------------------------------------------------- what items add, and how well they agree


def test_item_values_of_a_mean_are_the_answers_and_of_others_pseudo_values():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30))
    frame = pd.DataFrame({"item": [str(i) for i in range(30)], "part": "", "group_g": "g", "x": x, "y": y})
    frame.loc[15:, "group_g"] = "h"
    known = item_values([frame], Measure("m", means, ("x",)), "g")
    assert known.values[0] == pytest.approx(x)
    assert list(known.groups) == ["g"] * 15 + ["h"] * 15
    whole = np.corrcoef(x, y)[0, 1]
    without = [np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(30)]
    pseudo = item_values([frame], Measure("r", pearson, ("x", "y")), "g").values[0]
    assert pseudo == pytest.approx(30 * whole - 29 * np.array(without))


def test_an_item_without_answer_leaves_the_number_where_it_is():
    frame = pd.DataFrame({"item": list("abcd"), "part": "", "group_g": list("gghh"), "x": [1.0, 3.0, np.nan, 8.0]})
    known = item_values([frame], Measure("m", means, ("x",)), "g")
    assert known.values[0].mean() == pytest.approx(4.0)
    assert known.values[0, 2] == 4.0
    assert item_values([frame], Measure("m", means, ("x",)), "g", shared=True).values[0].tolist() == [1.0, 3.0, 8.0]


def test_items_that_answers_leave_out_count_as_items_without_answer():
    """A gate on each target: a plan must not reckon with the items that it lets pass alone."""
    rows = {"item": list("abcd"), "part": "", "group_g": list("gghh"), "condition_k": ["1", "1", "1", "2"]}
    frame = pd.DataFrame({**rows, "x": [1.0, 3.0, 5.0, 9.0], "passed": [1.0, 1.0, 0.0, 1.0]})
    known = item_values([frame], Measure("m", means, ("x",), where={"k": "1", "passed": 1.0}), "g")
    assert known.values[0] == pytest.approx([2 - 1.5, 2 + 1.5, 2])


def test_item_agreement_by_hand():
    """Items' means 1.5 2.5 4 about 8/3, residuals of ±1/6 and ±1/3: mean squares 3.1667 and 0.1667."""
    agreement = item_agreement(ItemValues(np.array([[1.0, 2, 3], [2, 3, 5]]), np.array(list("abc"))))
    assert agreement.mean == pytest.approx(1 - 0.1666667 / 3.1666667)
    ratio = 3.1666667 / 0.1666667
    assert agreement.low == pytest.approx(1 - stats.f.ppf(0.975, 2, 2) / ratio)
    assert agreement.high == pytest.approx(1 - stats.f.ppf(0.025, 2, 2) / ratio)
    assert agreement.single == pytest.approx((3.1666667 - 0.1666667) / (3.1666667 + 0.1666667))


def test_the_interval_of_a_reliability_holds_it_in_95_of_100():
    rng, inside, true = np.random.default_rng(5), 0, 1 / (1 + 1.5 / 4)
    for _ in range(400):
        values = rng.normal(0, 1, (1, 40)) + rng.normal(0, 0.5, (4, 1)) + rng.normal(0, math.sqrt(1.5), (4, 40))
        agreement = item_agreement(ItemValues(values, np.arange(40)))
        inside += agreement.low <= true <= agreement.high
    assert 0.92 < inside / 400 < 0.98


def test_needed_is_spearman_and_browns():
    assert needed(0.5) == 4
    assert needed(0.8) == 1
    assert needed(0.0) is None
