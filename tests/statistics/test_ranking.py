"""Who is likeliest among candidates: ties are shared, and an order alone is enough."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from trueprobe.statistics.ranking import Ranking, winners
from trueprobe.types import TIE_NATS, Filled, Token, WhyNot, Word


def ranking(**logps) -> Ranking:
    words = {w: Word((Token(w, i, v),), 1, 0) for i, (w, v) in enumerate(logps.items())}
    return Ranking.of(Filled({**words, "longer": WhyNot("multi_piece")}, (), len(words)))


def test_order_and_margin_by_hand():
    result = ranking(a=-3.0, b=-1.0, c=-2.0)
    assert (result.order, result.first, result.answer) == (("b", "c", "a"), ("b",), "b")
    assert [result.rank(word) for word in "abc"] == [3, 1, 2]
    assert [result.over_rivals(word) for word in "abc"] == [-2, 1, -1]
    assert [result.share(word) for word in "abc"] == [0, 1, 0]


@pytest.mark.parametrize("gap", [0.0, TIE_NATS / 2])
def test_candidates_closer_than_the_margin_share_place_and_rank(gap):
    result = ranking(a=-1.0, b=-1.0 - gap, c=-2.0, d=-2.0 - gap)
    assert [result.share(word) for word in "abcd"] == [0.5, 0.5, 0, 0]
    assert [result.rank(word) for word in "abcd"] == [1.5, 1.5, 3.5, 3.5]
    assert result.answer == "a = b"


def test_ranks_sum_up_whatever_is_tied():
    for logps in permutations([-1.0, -1.0, -1.0, -2.0]):
        result = ranking(**dict(zip("abcd", logps, strict=True)))
        assert sum(result.rank(word) for word in "abcd") == 10
        assert sum(result.share(word) for word in "abcd") == pytest.approx(1)


def test_an_order_alone_has_ranks_but_no_margin():
    result = Ranking(("b", "c", "a"), ("b",), {"a": -3.0})
    assert result.rank("a") == 3
    assert math.isnan(result.over_rivals("a"))


def test_a_lone_candidate_has_no_rivals():
    assert math.isnan(ranking(a=-1.0).over_rivals("a"))
    assert ranking(a=-1.0).rank("a") == 1


def test_winners_are_counted_from_the_end():
    result = winners(ranking(target=-3.0, x=-1.0, y=-2.0, z=-4.0), "target", ["x", "y"], 3)
    assert (result["won_1_back"], result["won_2_back"]) == (0, 1)
    assert math.isnan(result["won_3_back"])
    assert (result["attractor_won"], result["other_won"], result["won_by_last"]) == (1, 0, 0)


def test_a_shared_win_of_two_attractors_is_half_the_last_ones():
    result = winners(ranking(target=-3.0, x=-1.0, y=-1.0, z=-4.0), "target", ["x", "y"], 3)
    assert (result["won_1_back"], result["won_2_back"], result["won_by_last"]) == (0.5, 0.5, 0.5)


def test_without_attractors_nobody_else_can_win():
    result = winners(ranking(target=-3.0, x=-1.0), "target", [], 3)
    assert all(map(math.isnan, result.values()))
