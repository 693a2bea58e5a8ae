"""Many ways of counting together: hand-worked values, symmetries, null rates, and the share of each choice."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from trueprobe.statistics import joint as joint_module
from trueprobe.statistics.joint import Matrix, axis_shares, joint, numbers, same_sign
from trueprobe.statistics.multiverse import Axis, Choice, Question, Relabelling


def signs(values, weights=None) -> Matrix:
    values = np.array(values, float)
    return Matrix(values, np.ones_like(values) / len(values) if weights is None else np.array(weights, float))


def dealt(values, sides, difference=False) -> Matrix:
    values = np.array(values, float)
    return Matrix(values, np.full_like(values, 1 / len(values)), np.array(sides, float), difference)


@pytest.fixture
def few_groups(monkeypatch):
    monkeypatch.setattr(joint_module, "FEWEST_GROUPS", 2)


def test_joint_of_signs_by_hand(few_groups):
    """Groups 1, 2, 4: z = 7/√21; of 8 relabellings +++ and −−− are as far from zero."""
    result = joint(signs([[1], [2], [4]]))
    assert result.z == pytest.approx([7 / np.sqrt(21)])
    assert (result.p, result.relabellings, result.exact) == (2 / 8, 8, True)


def test_joint_takes_the_mean_of_z(few_groups):
    """z of two ways: (7, −3)/√21 at +++; |mean| 4/2√21 is reached where |θ1 + θ2| ≥ 4, of 8 relabellings by hand."""
    ways = np.array([[1, 1], [2, -2], [4, -2]], float)
    sums = [
        sum(s * row.sum() for s, row in zip(eps, ways / [np.sqrt(21), 3], strict=True))
        for eps in product((1, -1), repeat=3)
    ]
    result = joint(signs(ways))
    assert result.mean_z == pytest.approx(sums[0] / 2)
    assert result.p == pytest.approx(np.mean(np.abs(sums) >= abs(sums[0]) - 1e-9))


def test_joint_of_dealt_sides_by_hand(few_groups):
    """Sides + + − −, unsigned values 3 2 1 0: of 6 deals θ = 4 and −4 are as far; the others are 2, 0, 0, −2."""
    result = joint(dealt([[3], [2], [-1], [0]], [1, 1, -1, -1]))
    assert result.z == pytest.approx([4 / np.sqrt((16 + 4 + 4 + 16) / 6)])
    assert (result.p, result.relabellings) == (2 / 6, 6)


def test_joint_of_a_difference_by_hand(few_groups):
    """The means of the two sides, 2.5 and 0.5."""
    matrix = dealt(np.array([[3], [2], [1], [0]]) / 4, [1, 1, -1, -1], difference=True)
    assert numbers(matrix, matrix.sides[None]) == pytest.approx(2.0)
    assert joint(matrix).p == 2 / 6


def test_joint_does_not_depend_on_the_order_of_ways_nor_on_their_units():
    values = np.random.default_rng(0).normal(0.2, 1, (40, 6))
    one, other = joint(signs(values)), joint(signs(values[:, ::-1] * [1, 2, 3, 4, 5, 6]))
    assert other.p == one.p
    assert other.z[::-1] == pytest.approx(one.z)
    assert other.effective == pytest.approx(one.effective)


def test_joint_turns_with_the_answers():
    values = np.random.default_rng(1).normal(0.3, 1, (40, 5))
    up, down = joint(signs(values)), joint(signs(-values))
    assert (down.p, down.mean_z) == (up.p, pytest.approx(-up.mean_z))


def test_effective_number_is_one_for_copies_and_all_for_independent_ways():
    rng = np.random.default_rng(2)
    one = rng.normal(size=(200, 1))
    assert joint(signs(np.repeat(one, 5, axis=1))).effective == pytest.approx(1)
    assert joint(signs(rng.normal(size=(2000, 5))), most=2000).effective == pytest.approx(5, abs=0.2)


def test_joint_leaves_out_ways_of_few_groups_and_those_that_no_relabelling_moves():
    values = np.zeros((10, 3))
    values[:, 0], values[:4, 1] = 1, 1
    weights = np.where(np.arange(10)[:, None] < [10, 4, 10], 0.1, 0.0)
    z = joint(signs(values, weights)).z
    assert z[0] == pytest.approx(np.sqrt(10))
    assert np.isnan(z[1:]).all()


@pytest.mark.parametrize("sides", [False, True])
def test_joint_is_wrong_in_one_null_case_of_twenty(sides):
    """400 simulations: 5 % ± 3 standard errors (1.1 %). Any single way beyond 1.96 would be wrong far more often."""
    rng = np.random.default_rng(3)
    wrong, single = 0, 0
    for seed in range(400):
        values = rng.normal(size=(30, 1)) + rng.normal(size=(30, 8))
        on = np.repeat([1.0, -1.0], 15)
        matrix = dealt(on[:, None] * (values + 2), on) if sides else signs(values)
        result = joint(matrix, seed, most=400)
        wrong += result.p <= 0.05
        single += bool((np.abs(result.z) > 1.96).any())
    assert 0.017 <= wrong / 400 <= 0.083
    assert single / 400 > 0.1


def test_axis_shares_of_a_balanced_grid_by_hand():
    """z = 2a + b: of the variance 4/5 and 1/5."""
    chosen = [{"a": a, "b": b} for a, b in product("01", "01")]
    shares = axis_shares(np.array([2.0 * int(c["a"]) + int(c["b"]) for c in chosen]), chosen)
    assert shares.axes["a"] == pytest.approx((0.8, 0.8))
    assert shares.axes["b"] == pytest.approx((0.2, 0.2))
    assert (shares.overlap, shares.interactions) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))


def test_axis_shares_of_an_unbalanced_grid_name_the_overlap():
    """Without (1, 0) the axes go together: z = 2a + b over 00, 01, 11 is 0, 1, 3, whose sum of squares is 14/3."""
    chosen = [{"a": "0", "b": "0"}, {"a": "0", "b": "1"}, {"a": "1", "b": "1"}]
    shares = axis_shares(np.array([0.0, 1.0, 3.0]), chosen)
    alone_a, alone_b = 1 - 0.5 / (14 / 3), 1 - 2 / (14 / 3)
    assert shares.axes["a"] == pytest.approx((alone_a, 1 - alone_b))
    assert shares.axes["b"] == pytest.approx((alone_b, 1 - alone_a))
    assert shares.overlap == pytest.approx(1 - (1 - alone_b) - (1 - alone_a))


def test_axis_shares_find_a_planted_axis_and_interactions():
    chosen = [{"a": a, "b": b} for a, b in product("012", "01")]
    planted = axis_shares(np.array([5.0 * int(c["a"]) for c in chosen]), chosen)
    assert planted.axes["a"][1] == pytest.approx(1)
    crossed = axis_shares(np.array([(1.0 if c["a"] == "0" else -1.0) * (2 * int(c["b"]) - 1) for c in chosen]), chosen)
    assert crossed.interactions > 0.8


def test_same_sign_counts_the_larger_side():
    assert same_sign(np.array([1.0, 2.0, -1.0, 0.0, np.nan])) == (0.5, 1)
    assert same_sign(np.array([-1.0, -2.0, 1.0])) == (pytest.approx(2 / 3), -1)


def test_question_knows_what_a_choice_reads_and_costs():
    choices = (Choice(name="run", why="as it is"), Choice(name="new", why="too", settings={"variant": "other"}))
    question = Question(
        name="q",
        statement="s",
        axes=(Axis(name="free", values=choices), Axis(name="dear", values=choices, needs_rows=True)),
        own={"free": "run", "dear": "run"},
        count=lambda frame, chosen: None,
        relabelling=Relabelling.SIGN,
        factor="pair",
    )
    assert len(list(question.specifications())) == 4
    both = {"free": "new", "dear": "new"}
    assert question.read_with(both) == (("free", "new"), ("dear", "new"))
    assert question.settings(question.read_with(both)) == {"variant": "other"}
    assert question.paid(both) == ("dear=new",)
    assert question.paid({"free": "new", "dear": "run"}) == ()
    assert question.reads_answers
