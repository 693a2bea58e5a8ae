"""What an interval is made of: by hand, against the textbook, and against plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from trueprobe.statistics.resampling import Groups, Resampling, drawn_p, multibootstrap, percentile
from trueprobe.statistics.spread import Samples, Spread, VarianceSource, scale_of
from trueprobe.statistics.verdict import benjamini_hochberg, holm
from trueprobe.types import Unit


def drawn(values: np.ndarray, resamples: int = 4000) -> np.ndarray:
    """[..., 1 + R] bootstrap means of the last axis, each entry a group of its own."""
    groups = [f"{i:05d}" for i in range(values.shape[-1])]
    weights = Resampling.of(pd.DataFrame({"target": groups}), resamples).weights.astype(float)
    return values @ weights.T / values.shape[-1]


def over_items(sample: np.ndarray, groups: int) -> Spread:
    return Samples(sample[None]).over_items(0, Groups(groups))


def over_seeds(samples: np.ndarray, groups: int) -> Spread:
    return Samples(samples).over_seeds(Groups(groups))[0]


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


def test_an_end_is_never_nearer_than_students_by_hand():
    """t of 30 degrees of freedom is 2.042, and k = 0.3. Hall's ends lie at 3/k · (cbrt(1 + k(q − k/6)) − 1): for
    q = 2.042, 10 · (cbrt(1.5976) − 1) = 1.690, nearer than t; for q = −2.042, 10 · (cbrt(0.3724) − 1) = −2.805."""
    low, high = Spread(5.0, 2.0, skew=0.3, df=30).interval()
    assert low == pytest.approx(5 - 2 * 2.0423, abs=1e-3)
    assert high == pytest.approx(5 + 2 * 2.805, abs=5e-3)


def test_a_skewness_beyond_the_cubic_is_cut():
    """At most 0.8 / t: beyond, one side would reach anywhere."""
    most = 0.8 / stats.t.ppf(0.975, 10)
    assert Spread(0.0, 1.0, skew=5.0, df=10).interval() == Spread(0.0, 1.0, skew=most, df=10).interval()


def spreads(bounded: bool) -> some.SearchStrategy[Spread]:
    """Of items alone or with the seeds of one or two families, and a floor; of a mean between 0 and 1, or of any."""
    source = some.builds(VarianceSource, some.floats(1e-6, 1.0), some.integers(1, 20))
    return some.builds(
        lambda value, error, skew, df, others, floor: Spread(
            value,
            error * (math.sqrt(value * (1 - value)) if bounded else 1.0),
            skew,
            df,
            tuple(others),
            floor * error if others else 0.0,
            df + 1 if bounded else 0,
        ),
        some.floats(0.001, 0.999) if bounded else some.floats(-5, 5),
        some.floats(1e-3, 1.0),
        some.floats(-1, 1),
        some.integers(1, 500),
        some.lists(source, max_size=2),
        some.floats(0, 3),
    )


@given(some.booleans().flatmap(spreads), some.floats(-2, 3), some.sampled_from([0.001, 0.05, 0.2]))
def test_p_is_below_alpha_exactly_where_the_interval_at_alpha_excludes_the_reference(spread, at, alpha):
    """`at` is a part of the way from the lower end (0) to the upper one (1)."""
    low, high = spread.interval(alpha)
    assert low <= spread.value <= high
    if min(abs(at), abs(at - 1)) > 1e-5:
        reference = low + at * (high - low)
        assert (spread.p(reference) < alpha) == (not low < reference < high)


@given(some.booleans().flatmap(spreads), some.floats(-2, 3))
def test_turning_a_number_round_turns_its_interval_round_and_leaves_p(spread, at):
    """About 0, or about 1/2 where it lies between 0 and 1."""
    middle = 1.0 if spread.groups else 0.0
    turned = replace(spread, value=middle - spread.value, skew=-spread.skew)
    low, high = spread.interval()
    assert turned.interval() == pytest.approx((middle - high, middle - low), rel=1e-6, abs=1e-9)
    reference = low + at * (high - low)
    assert turned.p(middle - reference) == pytest.approx(spread.p(reference), rel=1e-4, abs=1e-9)


@given(some.booleans().flatmap(spreads), some.floats(0, 1), some.floats(0, 1))
def test_an_interval_at_a_larger_alpha_lies_within_one_at_a_smaller(spread, one, other):
    small, large = sorted((0.001 + 0.9 * one, 0.001 + 0.9 * other))
    (outer_low, outer_high), (low, high) = spread.interval(small), spread.interval(large)
    assert outer_low <= low + 1e-9
    assert high <= outer_high + 1e-9


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


def test_the_detectable_effect_of_a_family_by_hand():
    """se 0.05 over 40 groups, 3 seeds of variance 0.01: for t at 97.5 %, √((2.023 · 0.05)² + 4.303² · 0.01) = 0.442;
    at 80 %, √((0.851 · 0.05)² + 1.061² · 0.01) = 0.114."""
    assert Spread(0.0, 0.05, df=39, others=(VarianceSource(0.01, 2),)).detectable() == pytest.approx(
        0.442 + 0.114, abs=1e-3
    )


@pytest.mark.parametrize(
    ("unit", "low", "high", "cut"), [(Unit.SHARE, -0.1, 1.2, (0, 1)), (Unit.PERCENT, -3, 50, (0, 50))]
)
def test_intervals_end_where_numbers_end(unit, low, high, cut):
    assert scale_of(unit).cut(low, high) == cut


# ---------------------------------------------------------------- means of values between 0 and 1


def test_a_mean_near_one_has_the_limit_of_a_share_by_hand():
    """0.99 over 58 groups with se 0.005. As many answers of yes and no make this error: 0.99 · 0.01 / 0.005² = 396.
    Only 0.58 groups' worth of the rarer outcome were seen, e^(−0.58 / 3) = 0.824: of the 396 answers, 6.83 times the
    groups, 396 · 6.83^−0.824 = 81.3 are left, and for the groups' degrees of freedom 81.3 · (1.960 / 2.002)² = 77.9.
    The lower limit is a beta quantile with 0.99 · 77.9 + 0.088 of yes and 0.01 · 77.9 + 0.912 of no."""
    low, high = Spread(0.99, 0.005, df=57, groups=58).interval()
    assert low == pytest.approx(stats.beta.ppf(0.025, 77.19, 1.691), abs=5e-4)
    assert low == pytest.approx(0.937, abs=1e-3)
    assert Spread(0.99, 0.005, df=57).interval()[0] == pytest.approx(0.99 - 2.002 * 0.005, abs=1e-4)  # not bounded
    assert high == pytest.approx(1.0, abs=1e-3)


def test_a_mean_far_from_its_ends_keeps_students_interval():
    students = Spread(0.5, 0.05, df=39)
    assert replace(students, groups=40).interval() == pytest.approx(students.interval(), abs=1e-3)


def test_one_yes_in_many_groups_has_almost_clopper_and_pearsons_upper_limit():
    """A hundredth in 100 groups: between Clopper & Pearson's 0.0545 and Jeffreys' 0.0455, as little was seen."""
    exact, jeffreys = stats.beta.ppf(0.975, 2, 99), stats.beta.ppf(0.975, 1.5, 99.5)
    high = Spread(0.01, math.sqrt(0.01 * 0.99 / 100), df=99, groups=100).interval()[1]
    assert jeffreys < high < exact * 1.02


# ---------------------------------------------------------------- over seeds


def test_a_family_interval_by_hand():
    """40 groups, se 0.05: t 2.0227. Three seeds, variance of their mean 0.01: t 4.3027. Squared, they add:
    √((2.0227 · 0.05)² + 4.3027² · 0.01) = √(0.01023 + 0.18513) = 0.44200."""
    spread = Spread(1.0, 0.05, df=39, others=(VarianceSource(0.01, 2),))
    assert spread.interval() == pytest.approx((1 - 0.44200, 1 + 0.44200), abs=1e-5)
    assert spread.total == pytest.approx(math.sqrt(0.0125))


def test_two_families_add_their_squares_by_hand():
    """Seeds 0.01 with t 4.3027 and 0.02 with t 2.7764: √(0.01023 + 0.18513 + 0.15417) = 0.59121."""
    spread = Spread(0.0, 0.05, df=39, others=(VarianceSource(0.01, 2), VarianceSource(0.02, 4)))
    assert spread.interval()[1] == pytest.approx(0.59121, abs=1e-4)


def test_a_family_interval_is_never_shorter_than_that_of_its_items_by_hand():
    """Ten seeds (t 2.2622) whose own answers make most of the items' error: se 0.02 is left of 0.1, and the seeds'
    variance is by chance only 0.0004. Squared, √((2.0227 · 0.02)² + 2.2622² · 0.0004) = 0.0607; the items alone reach
    2.0227 · 0.1 = 0.2023."""
    spread = Spread(0.0, 0.02, df=39, others=(VarianceSource(0.0004, 9),), least=0.1)
    assert spread.interval() == pytest.approx((-0.20227, 0.20227), abs=1e-4)
    assert replace(spread, least=0.0).interval()[1] == pytest.approx(0.0607, abs=1e-4)


def test_the_variance_over_seeds_and_items_by_a_plain_loop():
    values = np.random.default_rng(0).normal(size=(4, 30)) + np.random.default_rng(1).normal(size=(4, 1))
    samples = drawn(values, 3000)
    parts = Samples(samples).components(Groups(30))
    means = [np.mean([samples[s, r] for s in range(4)]) for r in range(1, 3001)]
    deviations = [np.var([samples[s, r] - means[r - 1] for r in range(1, 3001)]) for s in range(4)]
    assert parts.items == pytest.approx(np.var(means) * 30 / 29)
    assert parts.both == pytest.approx(sum(deviations) / 3 / 4 * 30 / 29)
    assert parts.seeds == pytest.approx(np.var(values.mean(axis=1), ddof=1) / 4)


def test_two_way_variances_are_recovered():
    """Seeds 0.3, items 1, both 0.5: per group means of 200 groups and 40 seeds."""
    rng = np.random.default_rng(0)
    values = rng.normal(0, 0.3, (40, 1)) + rng.normal(0, 1, (1, 200)) + rng.normal(0, 0.5, (40, 200))
    parts = Samples(drawn(values)).components(Groups(200))
    assert 40 * parts.seeds == pytest.approx(0.09 + 0.25 / 200, rel=0.5)
    assert 200 * (parts.items - parts.both) == pytest.approx(1.0, rel=0.2)
    assert 200 * 40 * parts.both == pytest.approx(0.25, rel=0.1)


def test_seeds_that_are_all_the_same_leave_the_items_interval():
    values = np.random.default_rng(0).normal(size=40)
    one, five = over_items(drawn(values), 40), over_seeds(np.repeat(drawn(values)[None], 5, axis=0), 40)
    assert five.se == pytest.approx(one.se)
    assert five.value == pytest.approx(one.value)
    assert five.interval() == pytest.approx(one.interval())
    assert five.p(0.5) == pytest.approx(one.p(0.5), rel=1e-6)


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


def test_a_resampled_p_counts_the_other_side_plus_one():
    assert drawn_p(np.array([-1.0, *[1.0] * 98]), 0.0) == pytest.approx(2 * 2 / 100)
    assert drawn_p(np.array([-1.0, 1.0]), 0.0) == 1.0


# ---------------------------------------------------------------- corrections


def test_corrections_by_hand():
    p = np.array([0.01, 0.04, np.nan, 0.03])
    assert holm(p) == pytest.approx([0.03, 0.06, np.nan, 0.06], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([0.03, 0.04, np.nan, 0.04], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).max() == 1.0
    assert len(holm(np.array([]))) == 0


def test_a_probability_is_cut_at_its_ends_and_a_difference_is_not():
    assert scale_of(Unit.PROBABILITY, None).cut(-0.1, 0.4) == (0.0, 0.4)
    assert scale_of(Unit.PROBABILITY, 0.0).cut(-0.1, 0.4) == (-0.1, 0.4)
    assert scale_of(Unit.RATIO, None).cut(-0.1, 1.4) == (0.0, 1.4)
    assert scale_of(Unit.RATIO, 1.0).cut(-0.1, 1.4) == (0.0, 1.4)
    assert scale_of(Unit.RATIO, 0.0).cut(-0.1, 1.4) == (-0.1, 1.4)
    assert scale_of(Unit.RATIO, 1.0, difference=True).cut(-0.1, 1.4) == (-0.1, 1.4)


# ---------------------------------------------------------------- several numbers at once


def test_each_of_several_moves_as_it_does_alone():
    samples = drawn(np.random.default_rng(0).exponential(size=(4, 25)))
    samples[1, [3, 7]], samples[2] = np.nan, 0.25  # draws without anything scored; a number that never moves
    together = Samples(samples)
    for i, sample in enumerate(samples):
        one, alone = together.over_items(i, Groups(25)), over_items(sample, 25)
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
    (ours, our_parts), (theirs, their_parts) = (each.over_seeds(Groups(25)) for each in (Samples(lacking), known))
    assert vars(our_parts) == pytest.approx(vars(their_parts))
    assert (ours.value, ours.skew) == pytest.approx((theirs.value, theirs.skew))
    assert ours.interval() == pytest.approx(theirs.interval())


def test_a_difference_of_means_by_a_plain_loop():
    """Two seeds less three: what other items make of the difference, and what other seeds of either family do."""
    samples = drawn(np.random.default_rng(2).exponential(size=(5, 25)))
    spread = Samples(samples).difference(2, Groups(25))
    apart = np.array([np.mean(draw[:2]) - np.mean(draw[2:]) for draw in samples.T])
    assert (spread.value, spread.df) == (apart[0], 24)
    assert (spread.least, spread.skew) == pytest.approx((apart[1:].std() * np.sqrt(25 / 24), stats.skew(apart[1:])))
    sides = [samples[:2], samples[2:]]
    assert spread.others == tuple(
        VarianceSource(pytest.approx(side[:, 0].var(ddof=1) / len(side)), len(side) - 1) for side in sides
    )
    both = sum(Samples(side).components(Groups(25)).both for side in sides)
    assert spread.se == pytest.approx(np.sqrt(max(spread.least**2 - both, 1e-3 * spread.least**2)))


def test_a_side_of_one_checkpoint_adds_no_seeds_to_a_difference():
    samples = drawn(np.random.default_rng(2).exponential(size=(4, 25)))
    assert [part.df for part in Samples(samples).difference(1, Groups(25)).others] == [2]
    alone = Samples(samples[:2]).difference(1, Groups(25))
    assert (alone.others, alone.least) == ((), 0.0)
    assert alone.se == pytest.approx((samples[0] - samples[1])[1:].std() * np.sqrt(25 / 24))


@given(some.integers(1, 4), some.integers(1, 4), some.integers(0, 99))
def test_swapping_the_sides_turns_a_difference_round(first, second, seed):
    samples = drawn(np.random.default_rng(seed).exponential(size=(first + second, 12)), 200)
    there = Samples(samples).difference(first, Groups(12))
    back = Samples(np.roll(samples, second, axis=0)).difference(second, Groups(12))
    assert back.value == pytest.approx(-there.value)
    assert back.interval() == pytest.approx(tuple(-end for end in reversed(there.interval())))


@pytest.mark.parametrize("seeds", [(5, 5), (3, 7)])
def test_numbers_that_are_all_the_same_have_a_difference_that_does_not_move(seeds):
    """Their rounding does: 3 thirds are no 7 sevenths."""
    one = drawn(np.random.default_rng(3).random(25))
    spread = Samples(np.repeat(one[None], sum(seeds), axis=0)).difference(seeds[0], Groups(25))
    assert abs(spread.value) < 1e-15
    assert spread.se == 0.0
