"""Reciprocal rank, average precision and Spearman's ρ: worked by hand, and as independent implementations have them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from trueprobe.statistics import Columns
from trueprobe.statistics.means import means
from trueprobe.statistics.ranking import average_precision, commonest_share, ranks_within, reciprocal_rank, spearman

RNG = np.random.default_rng(0)
NUMBERS = st.floats(-50, 0, allow_nan=False).map(lambda x: round(x, 2))


def test_reciprocal_ranks_average_to_mrr_by_hand():
    ranks = [1, 2, 4, 100]
    columns = Columns({"rr": np.array([reciprocal_rank(r) for r in ranks])}, np.arange(4))
    assert means(columns, [("rr",)], np.ones((1, 4)))[0, 0] == pytest.approx((1 + 0.5 + 0.25 + 0.01) / 4)


def test_average_precision_by_hand():
    # right answers at places 1, 3 and 6: precision there is 1/1, 2/3 and 3/6, recall rises by a third each time
    assert average_precision([6, 1, 3]) == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    assert average_precision([1, 2, 3]) == 1
    assert average_precision([10]) == 0.1
    assert math.isnan(average_precision([]))


def test_right_answers_that_tie_take_places_of_their_own():
    # fur and claws are as likely as each other and likelier than all else: precision 1/1 and 2/2, not 2/1
    assert average_precision([1, 1]) == 1
    assert average_precision([1, 1, 5]) == pytest.approx((1 + 1 + 3 / 5) / 3)
    assert average_precision([2, 2, 2, 5]) == pytest.approx((1 / 2 + 2 / 3 + 3 / 4 + 4 / 5) / 4)


@given(st.lists(st.integers(-5, 0), min_size=1, max_size=12), st.data())
def test_average_precision_stays_within_its_bounds_whatever_ties(scores, data):
    right = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    if right.any():
        scores = np.array(scores, dtype=float)
        result = average_precision(ranks_within(scores)[right])
        # as if the right answers stood before others that are as likely: the order in which each has its best rank
        assert result == pytest.approx(by_definition(right[np.lexsort((~right, -scores))]))
        assert 0 < result <= 1


def by_definition(right: np.ndarray) -> float:
    """Σ P(j) Δr(j) over every place of the ranking."""
    total, hits = 0.0, 0
    for place, is_right in enumerate(right, 1):
        if is_right:
            hits += 1
            total += hits / place * (1 / right.sum())
    return total


def random_rankings():
    for _ in range(200):
        size = int(RNG.integers(2, 60))
        scores = RNG.normal(size=size)
        right = RNG.random(size) < 0.3
        if right.any():
            yield scores, right, average_precision(ranks_within(scores)[right])


def test_average_precision_is_the_papers_sum_over_ranks():
    for scores, right, result in random_rankings():
        assert result == pytest.approx(by_definition(right[np.argsort(-scores)]))


def test_average_precision_agrees_with_scikit_learn():
    for scores, right, result in random_rankings():
        assert result == pytest.approx(metrics.average_precision_score(right, scores))


def test_reciprocal_rank_agrees_with_scikit_learn():
    for _ in range(200):
        scores = RNG.normal(size=20)
        right = np.arange(20) == RNG.integers(20)
        (rank,) = ranks_within(scores)[right]
        # with one right answer, the two are the same number
        expected = metrics.label_ranking_average_precision_score([right], [scores])
        assert reciprocal_rank(rank) == pytest.approx(expected)


def test_ranks_by_hand():
    assert ranks_within(np.array([-3.0, -1.0, np.nan, -2.0, -2.0])).tolist()[:2] == [4, 1]
    assert ranks_within(np.array([-2.0, -2.0, -1.0])).tolist() == [2, 2, 1]  # equals share the better one


def test_spearman_by_hand():
    # ranks 1 2 3 4 and 2 1 4 3: 1 - 6 · 4 / (4 · 15)
    assert spearman([10, 20, 30, 40], [-4, -5, -2, -3]) == pytest.approx(0.6)
    assert spearman([1, 2], [-1, -9]) == -1
    assert math.isnan(spearman([3, 3], [-1, -2]))
    assert math.isnan(spearman([3], [-1]))
    assert spearman([1, 2, 3, 9], [-3, -2, -1, math.nan]) == 1


@given(st.lists(st.tuples(st.integers(1, 6), NUMBERS), min_size=2, max_size=20))
def test_spearman_agrees_with_scipy(pairs):
    first, second = zip(*pairs, strict=True)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
    else:
        assert math.isnan(spearman(first, second))


@given(st.lists(NUMBERS, min_size=3, max_size=20, unique=True))
def test_spearman_knows_orders_only(values):
    values = np.array(values)
    assert spearman(np.arange(len(values)), values) == pytest.approx(-spearman(np.arange(len(values)), -values))
    assert spearman(values, np.exp(values / 10)) == pytest.approx(1)


def test_the_commonest_answer_by_hand():
    columns = Columns({"code": np.array([7, 7, 9, np.nan, 7.0])}, np.array([0, 1, 2, 3, 4]))
    weights = np.array([[1, 1, 1, 1, 1], [1, 0, 2, 1, 0], [0, 0, 0, 1, 0]])
    result = commonest_share(columns, [("code",)], weights)[:, 0]
    assert result[:2] == pytest.approx([3 / 4, 2 / 3])  # in the second resample it is the 9 that is commonest
    assert math.isnan(result[2])


def test_the_commonest_of_nothing_is_unknown():
    columns = Columns({"code": np.array([np.nan])}, np.array([0]))
    assert np.isnan(commonest_share(columns, [("code",)], np.ones((2, 1)))).all()
