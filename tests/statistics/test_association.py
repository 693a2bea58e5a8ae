"""Effect size and permutation test: by hand, by symmetry, against scipy, and under no effect."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trueprobe.statistics import Columns, association
from trueprobe.statistics.association import PermutationTest, associations, effect_size, effect_size_ddof0

QUANTITY = ("association", "in_first")
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda v: round(v, 3))


def columns(x, y, cells=None):
    values = {"association": np.array([*x, *y], float), "in_first": np.array([1.0] * len(x) + [0.0] * len(y))}
    return Columns(values, np.arange(len(x) + len(y)) if cells is None else np.array(cells))


def size(x, y, function=effect_size):
    return function(columns(x, y), [QUANTITY], np.ones((1, len(x) + len(y))))[0, 0]


# ---------------------------------------------------------------- association and effect size


def test_an_association_by_hand():
    # with A along the first axis and B along the second: cos 0 − cos 90°, then 0.6 − 0.8
    targets = np.array([[2.0, 0.0], [3.0, 4.0], [-1.0, 0.0]])
    result = associations(targets, np.array([[5.0, 0.0]]), np.array([[0.0, 0.1]]))
    assert result == pytest.approx([1.0, -0.2, -1.0])


def test_the_mean_of_cosines_is_taken_not_the_cosine_of_the_mean():
    first = np.array([[1.0, 0.0], [0.0, 100.0]])
    result = associations(np.array([[1.0, 0.0]]), first, np.array([[-1.0, 0.0]]))
    assert result == pytest.approx([0.5 - -1.0])


def test_a_vector_without_a_direction_has_no_association():
    assert np.isnan(associations(np.zeros((1, 2)), np.ones((1, 2)), np.ones((1, 2)))).all()


def test_effect_size_by_hand():
    # means 2 and −1; all of 1, 3, 0, −2 have mean .5 and squares 0.25 + 6.25 + 0.25 + 6.25 = 13
    assert size([1, 3], [0, -2]) == pytest.approx(3 / np.sqrt(13 / 3))
    assert size([1, 3], [0, -2], effect_size_ddof0) == pytest.approx(3 / np.sqrt(13 / 4))


@given(arrays(float, 5, elements=numbers), arrays(float, 7, elements=numbers))
def test_exchanging_the_targets_turns_the_sign(x, y):
    there, back = size(x, y), size(y, x)
    assert there == pytest.approx(-back, abs=1e-9, nan_ok=True)


@given(arrays(float, 6, elements=numbers), arrays(float, 6, elements=numbers), st.floats(0.5, 9), st.floats(-5, 5))
def test_neither_unit_nor_origin_matters(x, y, unit, origin):
    if np.concatenate([x, y]).std() > 1e-2:
        assert size(unit * x + origin, unit * y + origin) == pytest.approx(size(x, y), abs=1e-6)


def test_nothing_varies_no_effect_is_known():
    assert np.isnan(size([1, 1], [1, 1]))


def test_what_was_not_scored_counts_nowhere():
    assert size([1, 3, np.nan], [0, -2]) == pytest.approx(size([1, 3], [0, -2]))


def test_weights_are_repetitions():
    weights = np.array([[1, 1, 1, 1], [2, 0, 1, 3]])
    values = effect_size(columns([1, 3], [0, -2]), [QUANTITY], weights)[:, 0]
    assert values == pytest.approx([size([1, 3], [0, -2]), size([1, 1], [0, -2, -2, -2])])


def test_sentences_of_one_word_are_drawn_together():
    drawn = effect_size(columns([1, 3], [0, -2], cells=[0, 0, 1, 1]), [QUANTITY], np.array([[3.0, 1.0]]))[0, 0]
    assert drawn == pytest.approx(size([1, 3] * 3, [0, -2]))


# ---------------------------------------------------------------- permutation test


def test_all_partitions_by_hand():
    # of 3, 2 | 1, 0 the six sums of two are 5, 4, 3, 3, 2, 1: one is at least 5
    x, y = np.array([3.0, 2.0]), np.array([1.0, 0.0])
    assert PermutationTest().p(x, y, 0) == pytest.approx(1 / 6)
    assert PermutationTest(two_sided=True).p(x, y, 0) == pytest.approx(2 / 6)
    assert PermutationTest(strict=True).p(x, y, 0) == 0
    assert PermutationTest().p(np.array([3.0, 0.0]), np.array([2.0, 1.0]), 0) == pytest.approx(4 / 6)
    assert PermutationTest(strict=True).p(np.array([3.0, 0.0]), np.array([2.0, 1.0]), 0) == pytest.approx(2 / 6)


def test_sums_that_are_equal_but_for_rounding_are_equal():
    # .1 + .2 and .3 + 0 differ in the last bit
    assert PermutationTest().p(np.array([0.3, 0.0]), np.array([0.1, 0.2]), 0) == pytest.approx(4 / 6)
    assert PermutationTest().p(np.array([0.1, 0.2]), np.array([0.3, 0.0]), 0) == pytest.approx(4 / 6)


@given(arrays(float, 4, elements=numbers), arrays(float, 3, elements=numbers), st.booleans(), st.booleans())
def test_it_is_the_definition_counted_out(x, y, two_sided, strict):
    s = [*x, *y]
    middle = len(x) * np.mean(s)
    every = np.array([sum(part) for part in combinations(s, len(x))]) - middle
    observed = sum(x) - middle
    if two_sided:
        every, observed = np.abs(every), abs(observed)
    beyond = every > observed + 1e-9 if strict else every >= observed - 1e-9
    result = PermutationTest(two_sided=two_sided, strict=strict).p(x, y, 0)
    assert result == pytest.approx(beyond.mean())


@pytest.mark.parametrize(("two_sided", "alternative"), [(False, "greater"), (True, "two-sided")])
def test_it_agrees_with_scipy(two_sided, alternative):
    rng = np.random.default_rng(3)
    for _ in range(5):
        x, y = rng.normal(0.5, 1, 6), rng.normal(0, 1, 6)
        theirs = stats.permutation_test(
            (x, y), lambda a, b: a.mean() - b.mean(), alternative=alternative, n_resamples=np.inf
        )
        assert PermutationTest(two_sided=two_sided).p(x, y, 0) == pytest.approx(theirs.pvalue)


def test_drawn_partitions_come_near_to_all_of_them():
    rng = np.random.default_rng(4)
    x, y = rng.normal(0.6, 1, 8), rng.normal(0, 1, 8)
    exact, drawn = PermutationTest().p(x, y, 0), PermutationTest(partitions=10_000).p(x, y, 0)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact / 10_000))
    assert drawn != exact


def test_a_drawn_p_is_never_zero_and_repeats_with_its_seed():
    x, y = np.arange(30.0) + 100, np.arange(30.0)
    assert PermutationTest(partitions=1_000).p(x, y, 0) == 1 / 1_000
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.2, 1, 30), rng.normal(0, 1, 30)
    ps = [PermutationTest(partitions=1_000).p(x, y, seed) for seed in (0, 0, 1)]
    assert ps[0] == ps[1] != ps[2]


def test_every_target_is_dealt_to_x_equally_often():
    from trueprobe.statistics.association import _partitions

    bits = np.unpackbits(_partitions(4, 8, 20_000, 0).T, axis=1, count=12)
    assert (bits.sum(axis=1) == 4).all()
    assert bits.mean(axis=0) == pytest.approx(np.full(12, 1 / 3), abs=0.02)


def test_without_an_effect_p_is_even():
    rng = np.random.default_rng(6)
    ps = [PermutationTest().p(*rng.normal(size=(2, 5)), 0) for _ in range(400)]
    assert stats.kstest(ps, "uniform").pvalue > 0.001
    assert np.mean(np.array(ps) <= 0.05) < 0.08


@pytest.mark.slow
@pytest.mark.parametrize(("by_word", "least", "most"), [(0.0, 0.0, 0.04), (1.0, 0.10, 0.30)])
def test_sentences_of_one_word_are_no_independent_targets(by_word, least, most):
    """Eight words a side with eight sentences each, no effect: the share of p ≤ 0.01, nominally 1 %. A word's effect
    as large as a sentence's makes the test err as often as it does on real vectors."""
    rng = np.random.default_rng(0)
    s = by_word * np.repeat(rng.normal(size=(200, 16)), 8, axis=1) + rng.normal(size=(200, 128))
    test = PermutationTest(partitions=1_000)
    rate = np.mean([test.p(row[:64], row[64:], 0) <= 0.01 for row in s])
    assert least <= rate <= most


def test_the_test_reads_the_measure_s_columns():
    result = PermutationTest()(columns([3, 2, np.nan], [1, 0]), QUANTITY, 0)
    assert result == pytest.approx(1 / 6)
    assert np.isnan(PermutationTest()(columns([3, 2], []), QUANTITY, 0))


def test_sums_of_subsets_are_those_of_a_plain_loop():
    rng = np.random.default_rng(8)
    for n in (1, 7, 8, 9, 30):
        bits, values = rng.integers(0, 2, (40, n)), rng.normal(size=n)
        packed = np.packbits(bits.astype(np.uint8), axis=1).T
        assert association._subset_sums(packed, values) == pytest.approx([row @ values for row in bits])


def test_equal_keys_deal_no_target_too_many():
    rng = np.random.default_rng(9)
    for keys in (rng.random((500, 12)), rng.integers(0, 5, (500, 12))):  # of five keys, most rows have two at the line
        chosen = association._smallest(keys, 4)
        assert (chosen.sum(axis=1) == 4).all()
        assert all(max(row[mine]) <= min(row[~mine]) for row, mine in zip(keys, chosen, strict=True))
