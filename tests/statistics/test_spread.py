"""What an interval is made of: by hand, against the textbook, and against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from trueprobe.statistics.correction import benjamini_hochberg, holm
from trueprobe.statistics.multibootstrap import multibootstrap, p_value, paired_multibootstrap, percentile
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.spread import Samples, Spread, Trials, scale_of


def drawn(values: np.ndarray, resamples: int = 4000) -> np.ndarray:
    """[..., 1 + R] bootstrap means of the last axis, each entry a group of its own."""
    groups = [f"{i:05d}" for i in range(values.shape[-1])]
    weights = Resampling.of(pd.DataFrame({"target": groups}), resamples).weights.astype(float)
    return values @ weights.T / values.shape[-1]


def over_items(sample: np.ndarray, groups: int) -> Spread:
    return Samples(sample[None]).over_items(0, groups)


def over_seeds(samples: np.ndarray, groups: int) -> Spread:
    return Samples(samples).over_seeds(groups)[0]


def test_symmetric_values_have_students_interval():
    values = np.array([-3.0, -1, 0, 1, 3, -2, 2]) + 5
    result = over_items(drawn(values, 40_000), 7)
    low, high = stats.t.interval(0.95, 6, 5, stats.sem(values))
    assert result.interval() == pytest.approx((low, high), rel=0.01)
    assert result.p(4.0) == pytest.approx(stats.ttest_1samp(values, 4.0).pvalue, rel=0.1)


def test_a_lopsided_number_reaches_further_on_its_long_side():
    value, (low, high) = 0.0, Spread(0.0, 1.0, skew=0.4, df=30).interval()
    assert high - value > value - low
    turned = Spread(0.0, 1.0, skew=-0.4, df=30).interval()
    assert turned == pytest.approx((-high, -low))


@given(value=some.floats(-5, 5), skew=some.floats(-1, 1), df=some.floats(1, 500), neutral=some.floats(-5, 5))
def test_p_is_below_five_percent_exactly_where_the_interval_excludes_neutral(value, skew, df, neutral):
    spread = Spread(value, 1.0, skew, df)
    low, high = spread.interval()
    assert low <= value <= high
    if min(abs(neutral - low), abs(neutral - high)) > 1e-6:
        assert (spread.p(neutral) < 0.05) == (not low < neutral < high)


def test_nothing_that_moves_has_no_width():
    assert Spread(2.0, 0.0).interval() == (2.0, 2.0)
    assert (Spread(2.0, 0.0).p(1.0), math.isnan(Spread(2.0, 0.0).p(2.0))) == (0.0, True)
    assert over_items(np.full(100, 0.1 + 0.2), 9).se == 0.0
    assert np.isnan(over_items(np.zeros(100), 1).interval()).all()


def test_the_detectable_effect_is_detected_four_times_in_five():
    detectable = Spread(0.0, 1.0, df=20).detectable()
    sample = np.random.default_rng(0).normal(detectable, 1, 20_000) / np.sqrt(
        np.random.default_rng(1).chisquare(20, 20_000) / 20
    )
    assert np.mean(sample > stats.t.ppf(0.975, 20)) == pytest.approx(0.8, abs=0.02)


def test_a_plain_share_by_hand():
    """8 of 10: Wilson's interval, and the score test of one half."""
    trials = Trials(0.8, 10)
    assert trials.interval() == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert trials.p(0.5) == pytest.approx(0.0578, abs=1e-4)
    assert math.isnan(trials.p(0.0))


@pytest.mark.parametrize(("unit", "low", "high", "cut"), [("share", -0.1, 1.2, (0, 1)), ("percent", -3, 50, (0, 50))])
def test_intervals_end_where_numbers_end(unit, low, high, cut):
    assert scale_of(unit).cut(low, high) == cut


# ---------------------------------------------------------------- over seeds


def test_the_variance_over_seeds_and_items_by_a_plain_loop():
    values = np.random.default_rng(0).normal(size=(4, 30)) + np.random.default_rng(1).normal(size=(4, 1))
    samples = drawn(values, 3000)
    parts = Samples(samples).components(30)
    means = [np.mean([samples[s, r] for s in range(4)]) for r in range(1, 3001)]
    deviations = [np.var([samples[s, r] - means[r - 1] for r in range(1, 3001)]) for s in range(4)]
    assert parts.items == pytest.approx(np.var(means) * 30 / 29)
    assert parts.both == pytest.approx(sum(deviations) / 3 / 4 * 30 / 29)
    assert parts.seeds == pytest.approx(np.var(values.mean(axis=1), ddof=1) / 4)
    assert parts.total >= max(parts.items, parts.seeds)


def test_two_way_variances_are_recovered():
    """Seeds 0.3, items 1, both 0.5: per group means of 200 groups and 40 seeds."""
    rng = np.random.default_rng(0)
    values = rng.normal(0, 0.3, (40, 1)) + rng.normal(0, 1, (1, 200)) + rng.normal(0, 0.5, (40, 200))
    parts = Samples(drawn(values)).components(200)
    assert 40 * parts.seeds == pytest.approx(0.09 + 0.25 / 200, rel=0.5)
    assert 200 * (parts.items - parts.both) == pytest.approx(1.0, rel=0.2)
    assert 200 * 40 * parts.both == pytest.approx(0.25, rel=0.1)


def test_seeds_that_are_all_the_same_leave_the_items_interval():
    values = np.random.default_rng(0).normal(size=40)
    one, five = over_items(drawn(values), 40), over_seeds(np.repeat(drawn(values)[None], 5, axis=0), 40)
    assert five.se == pytest.approx(one.se)
    assert five.value == pytest.approx(one.value)


def test_items_that_are_all_the_same_leave_students_interval_over_seeds():
    seeds = np.array([0.1, 0.4, 0.3, 0.9])
    result = over_seeds(np.repeat(seeds[:, None], 500, axis=1), 40)
    assert result.interval() == pytest.approx(stats.t.interval(0.95, 3, seeds.mean(), stats.sem(seeds)))


def test_seeds_whose_items_cancel_leave_a_real_interval():
    """One seed's deviation is the other's turned round: the mean does not move with the items at all."""
    values = np.random.default_rng(0).normal(size=20)
    result = over_seeds(drawn(np.stack([values, 0.3 - values])), 20)
    assert all(isinstance(end, float) and np.isfinite(end) for end in result.interval())


def test_swapping_the_sign_swaps_the_interval_and_nothing_else():
    samples = drawn(np.random.default_rng(0).exponential(size=(5, 40)))
    low, high = over_seeds(samples, 40).interval()
    assert over_seeds(-samples, 40).interval() == pytest.approx((-high, -low))


# ---------------------------------------------------------------- the multi-bootstrap


def test_the_multi_bootstrap_agrees_with_a_plain_double_loop():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 30)) + rng.normal(size=(4, 1)) + rng.normal(size=(1, 30))
    ours = multibootstrap(drawn(values, 20_000))
    plain = []
    for _ in range(4000):
        seeds, items = rng.integers(0, 4, 4), rng.integers(0, 30, 30)
        plain.append(np.mean([values[s, i] for s in seeds for i in items]))
    assert np.mean(ours) == pytest.approx(np.mean(plain), abs=0.03)
    assert np.std(ours) == pytest.approx(np.std(plain), rel=0.05)
    assert percentile(ours) == pytest.approx(percentile(np.array(plain)), abs=0.08)


def test_the_paired_multi_bootstrap_draws_seeds_and_items_together():
    values = np.random.default_rng(0).normal(size=(4, 30)) * 10
    one, other = drawn(values + 1), drawn(values)
    assert paired_multibootstrap(one, other) == pytest.approx(1.0)
    assert paired_multibootstrap(other, one) == pytest.approx(-1.0)
    with pytest.raises(ValueError, match="4 and 3"):
        paired_multibootstrap(one, other[:3])


def test_a_resampled_p_counts_the_other_side_plus_one():
    assert p_value(np.array([-1.0, *[1.0] * 98]), 0.0) == pytest.approx(2 * 2 / 100)
    assert p_value(np.array([-1.0, 1.0]), 0.0) == 1.0


# ---------------------------------------------------------------- corrections


def test_corrections_by_hand():
    p = np.array([0.01, 0.04, np.nan, 0.03])
    assert holm(p) == pytest.approx([0.03, 0.06, np.nan, 0.06], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([0.03, 0.04, np.nan, 0.04], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).max() == 1.0
    assert len(holm(np.array([]))) == 0


def test_a_probability_is_cut_at_its_ends_and_a_difference_is_not():
    assert scale_of("probability", None).cut(-0.1, 0.4) == (0.0, 0.4)
    assert scale_of("probability", 0.0).cut(-0.1, 0.4) == (-0.1, 0.4)
    assert scale_of("ratio", None).cut(-0.1, 1.4) == (0.0, 1.4)
    assert scale_of("ratio", 1.0).cut(-0.1, 1.4) == (0.0, 1.4)
    assert scale_of("ratio", 0.0).cut(-0.1, 1.4) == (-0.1, 1.4)
    assert scale_of("ratio", 1.0, difference=True).cut(-0.1, 1.4) == (-0.1, 1.4)


# ---------------------------------------------------------------- several numbers at once


def test_each_of_several_moves_as_it_does_alone():
    samples = drawn(np.random.default_rng(0).exponential(size=(4, 25)))
    samples[1, [3, 7]], samples[2] = np.nan, 0.25  # draws without anything scored; a number that never moves
    together = Samples(samples)
    for i, sample in enumerate(samples):
        one, alone = together.over_items(i, 25), over_items(sample, 25)
        assert (one.value, one.se, one.df) == pytest.approx((alone.value, alone.se, alone.df))
        assert one.se == 0 or one.skew == pytest.approx(alone.skew)
        plain = sample[1:][~np.isnan(sample[1:])]
        assert one.se == pytest.approx(plain.std() * np.sqrt(25 / 24))
        assert one.se == 0 or one.skew == pytest.approx(stats.skew(plain))


def test_of_several_only_the_draws_count_in_which_all_have_a_value():
    samples = drawn(np.random.default_rng(1).normal(size=(3, 25)))
    lacking = samples.copy()
    lacking[0, 5], lacking[2, 9] = np.nan, np.nan
    known = Samples(np.delete(samples, [5, 9], axis=1))
    ours, theirs = (vars(each.over_seeds(25)[0]) for each in (Samples(lacking), known))
    assert ours == pytest.approx(theirs)


def test_a_difference_of_means_by_a_plain_loop():
    samples = drawn(np.random.default_rng(2).exponential(size=(5, 25)))
    spread = Samples(samples).difference_over_items(2, 25)
    apart = np.array([np.mean(draw[:2]) - np.mean(draw[2:]) for draw in samples.T])
    assert spread.value == apart[0]
    assert (spread.se, spread.skew) == pytest.approx((apart[1:].std() * np.sqrt(25 / 24), stats.skew(apart[1:])))


@pytest.mark.parametrize("seeds", [(5, 5), (3, 7)])
def test_numbers_that_are_all_the_same_have_a_difference_that_does_not_move(seeds):
    """Their rounding does: 3 thirds are no 7 sevenths."""
    one = drawn(np.random.default_rng(3).random(25))
    spread = Samples(np.repeat(one[None], sum(seeds), axis=0)).difference_over_items(seeds[0], 25)
    assert abs(spread.value) < 1e-15
    assert spread.se == 0.0
