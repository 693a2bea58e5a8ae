"""Shares, quartiles and icat of pairs: by hand, symmetric, and the same under weights as under repetition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.probes import measure_sets as pairs
from trueprobe.probes.stereoset import measures as stereoset
from trueprobe.statistics import Columns
from trueprobe.statistics.means import group_means, means

ONE = np.ones((1, 8), dtype=np.float32)


def columns(prefers, nats=None, meaningful=None, cells=None) -> Columns:
    n = len(prefers)
    values = {
        pairs.PREFERS: prefers,
        pairs.PREFERENCE: [0.0] * n if nats is None else nats,
        stereoset.MEANINGFUL: [1.0] * n if meaningful is None else meaningful,
    }
    return Columns({k: np.array(v, dtype=float) for k, v in values.items()}, np.array(cells or range(n)))


def value(function, table: Columns, *names: str) -> float:
    return float(function(table, [names], ONE)[0, 0])


def test_shares_by_hand():
    """Two wins, a loss, a tie, and one that was not scored."""
    table = columns([1, 1, 0, 0.5, np.nan])
    assert value(pairs.wins, table, pairs.PREFERS) == 2 / 4
    assert value(pairs.ties, table, pairs.PREFERS) == 1 / 4
    assert value(pairs.wins_of_decided, table, pairs.PREFERS) == pytest.approx(2 / 3)
    assert value(means, table, pairs.PREFERS) == 2.5 / 4


def test_the_worked_example_of_the_documentation():
    """docs/measures/pairs.md: five items of two target terms, one of them not scored."""
    prefers, nats = [1, 1, 0.5, 0, np.nan], [1.5, 0.2, 0, -2, np.nan]
    five = columns(prefers, nats, [1, 0.5, 1, 0.5, np.nan], cells=[0, 0, 0, 1, 1])
    once = np.ones((1, 2))
    assert means(five, [(pairs.PREFERS,)], once) == 0.625
    assert group_means(five, [(pairs.PREFERS,)], once) == pytest.approx(2.5 / 6)
    assert stereoset.icat(five, [(pairs.PREFERS, stereoset.MEANINGFUL)], once) == 0.5625
    assert means(five, [(pairs.PREFERENCE,)], once) == pytest.approx(-0.075)
    assert pairs.clearly_for(five, [(pairs.PREFERENCE,)], once) == 0.25


def test_a_conviction_is_distinguished_from_a_coin_flip():
    sure = columns([1] * 4, [3.0, 2.0, -1.5, 1.1])
    unsure = columns([1] * 4, [0.03, 0.02, -0.015, 1.0])
    assert value(pairs.clearly_for, sure, pairs.PREFERENCE) == 0.75
    assert value(pairs.clearly_against, sure, pairs.PREFERENCE) == 0.25
    assert value(pairs.clearly_for, unsure, pairs.PREFERENCE) == 0
    assert value(pairs.clearly_against, unsure, pairs.PREFERENCE) == 0


def test_quartiles_by_hand():
    table = columns([1] * 6, [40.0, 10.0, np.nan, 30.0, 20.0, np.nan])
    assert value(pairs.lower_quartile, table, pairs.PREFERENCE) == 10
    assert value(pairs.median, table, pairs.PREFERENCE) == 20
    assert value(pairs.upper_quartile, table, pairs.PREFERENCE) == 30


@given(
    st.lists(st.tuples(st.integers(-9, 9) | st.none(), st.integers(0, 4)), min_size=1, max_size=60),
    st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4),
)
def test_a_weight_of_two_is_the_same_as_being_there_twice(rows, weights):
    values = np.array([np.nan if v is None else v for v, _ in rows], dtype=float)
    cells = np.array([cell for _, cell in rows])
    drawn = np.array(weights, dtype=np.float32)
    for share, function in ((0.25, pairs.lower_quartile), (0.5, pairs.median), (0.75, pairs.upper_quartile)):
        table = function(Columns({"v": values}, cells), [("v",)], drawn)[:, 0]
        for row, got in zip(drawn, table, strict=True):
            known = ~np.isnan(values)
            there = np.sort(np.repeat(values[known], row[cells[known]].astype(int)))
            wanted = there[max(0, int(np.ceil(share * len(there))) - 1)] if len(there) else np.nan
            np.testing.assert_equal(got, wanted)


@pytest.mark.parametrize("n", [63, 64, 300, 3000])
def test_quartiles_of_many_are_those_of_a_plain_sort(n):
    """In one block of neighbours for each value, and in blocks of several."""
    rng = np.random.default_rng(n)
    values, cells = np.round(rng.normal(size=n), 2), rng.integers(0, 50, n)
    values[rng.random(n) < 0.1] = np.nan
    drawn = rng.integers(0, 4, (5, 50)).astype(np.float32)
    known = ~np.isnan(values)
    for share, function in ((0.25, pairs.lower_quartile), (0.5, pairs.median), (0.75, pairs.upper_quartile)):
        got = function(Columns({"v": values}, cells), [("v",)], drawn)[:, 0]
        there = [np.sort(np.repeat(values[known], row[cells[known]].astype(int))) for row in drawn]
        assert got.tolist() == [each[int(np.ceil(share * len(each))) - 1] for each in there]


def test_icat_by_hand():
    """ss 0.75, lms 0.8: 0.8 × 0.25 / 0.5."""
    table = columns([1, 1, 1, 0], meaningful=[1, 1, 0.7, 0.5])
    assert value(stereoset.icat, table, pairs.PREFERS, stereoset.MEANINGFUL) == pytest.approx(0.4)


def test_icat_is_one_at_the_ideal_and_zero_at_either_end():
    both = (pairs.PREFERS, stereoset.MEANINGFUL)
    assert value(stereoset.icat, columns([1, 0]), *both) == 1
    assert value(stereoset.icat, columns([1, 1]), *both) == 0
    assert value(stereoset.icat, columns([0, 0]), *both) == 0
    assert value(stereoset.icat, columns([1, 0], meaningful=[0, 0]), *both) == 0


def test_swapping_stereotype_and_anti_stereotype_leaves_icat_and_mirrors_ss():
    one, other = columns([1, 1, 0.5, 0, 1]), columns([0, 0, 0.5, 1, 0])
    both = (pairs.PREFERS, stereoset.MEANINGFUL)
    assert value(stereoset.icat, one, *both) == pytest.approx(value(stereoset.icat, other, *both))
    assert value(means, one, pairs.PREFERS) == pytest.approx(1 - value(means, other, pairs.PREFERS))


def test_over_items_and_over_terms_differ_where_terms_have_unequal_counts():
    """One term with three stereotyped items, one with a single one that is not."""
    table = columns([1, 1, 1, 0], cells=[0, 0, 0, 1])
    both = (pairs.PREFERS, stereoset.MEANINGFUL)
    assert value(means, table, pairs.PREFERS) == 0.75
    assert value(group_means, table, pairs.PREFERS) == 0.5
    assert value(stereoset.icat, table, *both) == 0.5
    assert value(stereoset.icat_by_term, table, *both) == 1.0
