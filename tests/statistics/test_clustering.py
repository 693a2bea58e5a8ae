"""Two-means and its matching: planted clusters are recovered, chance is 0.5, and p is the count over all dealings."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from trueprobe.statistics import Columns
from trueprobe.statistics.association import MatchingTest, matched, two_means


def cloud(rng, apart, each=20, dims=6):
    points = rng.normal(size=(2 * each, dims))
    points[:each, 0] += apart
    return points, np.arange(2 * each) < each


def test_clusters_far_apart_are_recovered_whole():
    points, first = cloud(np.random.default_rng(0), apart=30)
    assert matched(points, first, 0).mean() == 1.0
    assert matched(points, ~first, 0).mean() == 1.0


def test_categories_that_are_not_the_clusters_stay_near_half():
    points, _ = cloud(np.random.default_rng(1), apart=30)
    alternating = np.arange(40) % 2 == 0
    assert matched(points, alternating, 0).mean() == pytest.approx(0.5)


def test_the_best_matching_is_never_below_half():
    rng = np.random.default_rng(2)
    for _ in range(20):
        points, first = cloud(rng, apart=0, each=5)
        assert matched(points, first, 0).mean() >= 0.5


def test_a_seed_gives_the_same_clusters_in_any_case():
    points, _ = cloud(np.random.default_rng(3), apart=1)
    assert (two_means(points, 7) == two_means(points, 7)).all()


def test_several_starts_find_the_tightest_of_two_splits():
    # two long parallel lines of points: a bad start splits them across, at twice the cost
    along = np.linspace(0, 1, 30)
    points = np.concatenate([np.stack([along, np.zeros(30)], 1), np.stack([along, np.full(30, 1.3)], 1)])
    for seed in range(10):
        assert matched(points, np.arange(60) < 30, seed).mean() == 1.0


def test_points_that_are_all_the_same_are_one_cluster():
    assert matched(np.ones((6, 3)), np.arange(6) < 3, 0).mean() == 0.5


def test_p_is_the_share_of_dealings_that_match_as_well():
    cluster = np.array([1, 1, 1, 0, 0, 0, 0], bool)
    first = np.array([1, 1, 1, 1, 0, 0, 0], bool)
    right = (cluster == first).astype(float)
    columns = Columns({"right": right, "first": first.astype(float)}, np.arange(7))
    as_good = 0
    for chosen in combinations(range(7), 4):
        agree = (cluster == np.isin(np.arange(7), chosen)).mean()
        as_good += max(agree, 1 - agree) >= right.mean() - 1e-9
    assert MatchingTest()(columns, ("right", "first"), 0) == pytest.approx(as_good / 35)


def test_half_right_is_no_finding():
    columns = Columns({"right": np.array([1.0, 1, 0, 0]), "first": np.array([1.0, 0, 1, 0])}, np.arange(4))
    assert MatchingTest()(columns, ("right", "first"), 0) == pytest.approx(1.0)
