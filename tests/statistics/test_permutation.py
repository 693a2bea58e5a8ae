"""Swapping answers and dealing seeds: counted out by hand, exact under no difference, and in step with the interval."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueprobe.statistics import Columns
from trueprobe.statistics.means import means
from trueprobe.statistics.permutation import PERMUTATIONS, Swapped, seeds_dealt_ps, within_sets
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.spread import Spread

differences = arrays(float, st.integers(6, 9), elements=st.floats(-5, 5).map(lambda v: round(v, 2)))


@cache
def resampling(groups: tuple[str, ...]) -> Resampling:
    return Resampling.of(pd.DataFrame({"item": groups}), 0)


def swapped(apart: np.ndarray, groups: str = "") -> Swapped:
    """Of two checkpoints that differ by `apart` on each item."""
    apart = np.asarray(apart, dtype=float)
    drawn = resampling(tuple(groups or (f"{i:03d}" for i in range(len(apart)))))
    sides = [Columns({"v": values}, drawn.cells) for values in (apart, np.where(np.isnan(apart), np.nan, 0.0))]
    within = within_sets(means, [("v",)], sides, drawn, 0)[:, 0]
    return Swapped(Spread(float(np.nanmean(apart)), 1.0), within)


# ---------------------------------------------------------------- by hand


def test_differences_within_sets_by_hand():
    """1, 2 and 6: the sets of one, of two (1.5, 3.5, 4) and of all (3)."""
    assert sorted(swapped([1, 2, 6]).within) == pytest.approx([1, 1.5, 2, 3, 3.5, 4, 6])


def test_swapped_p_and_interval_by_hand():
    """Of 1, 2 and 6 no set is at most 0, so 0 has p = 2 · 1 / 8; 1 has one, so 2 · 2 / 8. At α = 0.5 a point is kept
    where at least one set lies on either side of it: from 1 to 6. At 0.05 three groups can reject nothing."""
    three = swapped([1, 2, 6])
    assert (three.p(0.0), three.p(1.0), three.p(3.0)) == (0.25, 0.5, 1.0)
    assert three.interval(0.5) == (1.0, 6.0)
    assert three.interval() == (-math.inf, math.inf)


def test_swapped_six_groups_are_the_fewest_that_decide():
    """All six above: p = 2 / 64, and the interval reaches from the smallest difference to the largest."""
    six = swapped([1, 2, 3, 4, 5, 6])
    assert (six.p(0.0), six.interval()) == (2 / 64, (1.0, 6.0))
    five = swapped([1, 2, 3, 4, 5])
    assert (five.p(0.0), five.interval()) == (2 / 32, (-math.inf, math.inf))


def test_swapped_p_is_the_flips_of_signs_counted_out():
    apart = np.array([1.0, 2, -0.5, 3, 1, 0.2])
    flipped = [np.mean(apart * signs) for signs in product((1, -1), repeat=6)]
    assert swapped(apart).p(0.0) == np.mean(np.abs(flipped) >= apart.mean() - 1e-12)


def test_swapped_groups_stay_whole_and_count_by_their_items():
    """Three items of a, one of b, differing by 1 and by 5: the sets are a (1), b (5) and both (8 / 4)."""
    two = swapped([1, 1, 1, 5], "aaab")
    assert sorted(two.within) == pytest.approx([1, 2, 5])


def test_swapped_sets_with_nothing_scored_count_for_either_tail():
    """The third group holds nothing: its set alone has no difference, and may be on both sides of any point."""
    with_nothing = swapped([1.0, 2.0, np.nan])
    assert np.isnan(with_nothing.within).sum() == 1
    assert with_nothing.p(0.0) == 2 * (1 + 1) / 8


def test_swapped_p_of_many_groups_is_never_below_the_number_of_sets():
    many = swapped(np.arange(1.0, 41))
    assert len(many.within) == PERMUTATIONS - 1
    assert many.p(0.0) == 2 / PERMUTATIONS


def test_swapped_drawn_sets_come_near_to_students_interval():
    apart = np.random.default_rng(0).normal(0.3, 1, 200)
    low, high = swapped(apart).interval()
    error = apart.std(ddof=1) / math.sqrt(200)
    assert (low, high) == pytest.approx((apart.mean() - 1.97 * error, apart.mean() + 1.97 * error), abs=0.15 * error)


# ---------------------------------------------------------------- symmetry, and p with the interval


@given(differences)
def test_swapped_sides_turn_the_interval_round_and_leave_p(apart):
    there, back = swapped(apart), swapped(-apart)
    low, high = there.interval()
    assert back.interval() == pytest.approx((-high, -low))
    assert back.p(0.0) == there.p(0.0)


@given(differences, st.floats(-6, 6))
def test_swapped_differences_moved_by_a_constant_move_the_interval_by_it(apart, constant):
    low, high = swapped(apart).interval()
    assert swapped(apart + constant).interval() == pytest.approx((low + constant, high + constant))


@given(differences, st.floats(-6, 6), st.sampled_from([0.04, 0.05, 0.2]), st.booleans())
def test_swapped_p_is_below_alpha_exactly_where_the_interval_excludes_the_reference(apart, reference, alpha, gap):
    if gap:
        apart = np.concatenate([apart, [np.nan]])
    both = swapped(apart)
    low, high = both.interval(alpha)
    assert low <= both.spread.value + 1e-9
    assert both.spread.value - 1e-9 <= high
    if min(abs(reference - low), abs(reference - high)) > 1e-6:
        assert (both.p(reference) < alpha) == (not low < reference < high)


@pytest.mark.parametrize("end", [0, 1])
def test_swapped_interval_holds_its_own_ends(end):
    both = swapped(np.random.default_rng(3).normal(1, 1, 9))
    at = both.interval()[end]
    step = 1e-6 if end else -1e-6
    assert both.p(at) >= 0.05 > both.p(at + step)


# ---------------------------------------------------------------- how often it is wrong


@pytest.mark.parametrize("seed", range(3))
def test_swapped_p_is_exact_where_each_group_may_as_well_be_swapped(seed):
    """Eight skewed differences, of which each sign is as likely: of the 256 cases at most 5 % have p below 0.05."""
    sizes = np.random.default_rng(seed).exponential(1, 8)
    ps = [swapped(sizes * signs).p(0.0) for signs in product((1, -1), repeat=8)]
    assert 0.03 <= np.mean(np.array(ps) < 0.05) <= 0.05


# ---------------------------------------------------------------- dealing seeds


def test_seeds_dealt_by_hand():
    """Of 20 deals of six seeds, the observed one and its mirror are as far apart."""
    apart, alike = (5.0, 6, 7, 1, 2, 3), (1.0, 2, 3, 1, 2, 3)
    assert seeds_dealt_ps(np.array([apart, alike]).T, 3) == pytest.approx([2 / 20, 1.0])
    assert seeds_dealt_ps(np.array([[1.0, 2, 1, 2]]).T, 2) == [1.0]


def test_seeds_dealt_from_the_other_family_have_the_same_p():
    values = np.random.default_rng(0).normal(size=(7, 3))
    assert seeds_dealt_ps(values, 3) == pytest.approx(seeds_dealt_ps(np.roll(values, 4, axis=0), 4))
