"""Resampling by groups: what is drawn, what an interval covers, and which verdict a number earns."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Claim, Gate, Measure, resampling
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import OVER_ITEMS, CheckpointData, estimate
from trueprobe.statistics.means import means, pearson
from trueprobe.statistics.resampling import Groups, Resampling, rows_where
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.types import Direction, Verdict

NAN = np.nan


def one_way(groups, resamples=500, resample_seed=0) -> Resampling:
    return Resampling.of(pd.DataFrame({"target": groups}), resamples, resample_seed)


def crossed(targets, backgrounds, resamples=500, resample_seed=0) -> Resampling:
    return Resampling.of(pd.DataFrame({"target": targets, "background": backgrounds}), resamples, resample_seed)


def names(n: int, letter: str = "t") -> list[str]:
    return [f"{letter}{i:02d}" for i in range(n)]


# ---------------------------------------------------------------- what is drawn


def test_within_parts_each_has_its_groups_in_every_draw_whatever_other_parts_there_are():
    x, y = [f"x{i}" for i in range(8)], [f"y{i}" for i in range(5)]
    one = pd.DataFrame({"word": [*x, *y], "test": "a", "side": ["X"] * 8 + ["Y"] * 5})
    both = pd.concat([pd.DataFrame({"word": x, "test": "b", "side": "X"}), one], ignore_index=True)
    alone, among = (Resampling.of(table, 200, within=("test", "side")) for table in (one, both))
    assert (alone.weights[0] == 1).all()
    assert (alone.weights[:, alone.cells[:8]].sum(axis=1) == 8).all()
    assert (alone.weights[:, alone.cells[8:]].sum(axis=1) == 5).all()
    assert (among.weights[:, among.cells[8:]] == alone.weights[:, alone.cells]).all()
    assert (among.weights[:, among.cells[:8]] != alone.weights[:, alone.cells[:8]]).any()  # x of b is drawn apart
    assert alone.groups(alone.cells) == Groups(13, parts=2)
    assert alone.factors == ("word within test and side",)
    shuffled = Resampling.of(one.sample(frac=1, random_state=0), 200, within=("test", "side"))
    order = one.sample(frac=1, random_state=0).index
    assert (shuffled.weights[:, shuffled.cells] == alone.weights[:, alone.cells[order]]).all()


@pytest.mark.parametrize("portion", [1, 1000, 10_000_000])
def test_what_is_drawn_does_not_depend_on_how_much_is_drawn_at_once(monkeypatch, portion):
    before = one_way(names(40)).weights
    monkeypatch.setattr(resampling, "_AT_ONCE", portion)
    assert (one_way(names(40)).weights == before).all()


def test_the_first_row_is_the_sample_itself():
    both = crossed(["a", "a", "b", "b"], ["x", "y", "x", ""])
    assert both.weights.shape == (501, 4)
    assert (both.weights[0] == 1).all()


def test_every_draw_has_as_many_groups_as_there_are():
    drawn = one_way(names(17))
    assert (drawn.weights.sum(axis=1) == 17).all()
    assert (drawn.weights >= 0).all()
    assert drawn.weights[1:].mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("factors", [["target"], ["target", "background"]])
def test_nothing_to_draw_is_no_group(factors):
    drawn = Resampling.of(pd.DataFrame(columns=factors, dtype=str), 10)
    assert drawn.groups(np.array([], dtype=int)) == Groups(0)


def test_observations_of_one_group_are_drawn_together():
    drawn = one_way(["a", "b", "a", "c", "a"])
    assert drawn.cells.tolist() == [0, 1, 0, 2, 0]
    assert drawn.weights.shape[1] == 3


def test_crossed_factors_multiply_and_an_empty_one_is_left_alone():
    targets, backgrounds = ["a", "a", "b", "b", "a", "b"], ["x", "y", "x", "y", "", ""]
    drawn = crossed(targets, backgrounds)
    ax, ay, bx, by, a, b = drawn.weights[1:].T
    assert (a + b == 2).all()  # targets alone
    x, y = (
        np.where(a > 0, first / np.maximum(a, 1), second / np.maximum(b, 1)) for first, second in ((ax, bx), (ay, by))
    )
    assert (x + y == 2).all()
    for cell, target, background in ((ax, a, x), (ay, a, y), (bx, b, x), (by, b, y)):
        assert (cell == target * background).all()


def test_a_factor_that_never_applies_draws_nothing():
    with_empty = crossed(names(9), [""] * 9)
    assert (with_empty.weights == one_way(names(9)).weights).all()
    assert (crossed([""] * 3, [""] * 3).weights == 1).all()


def test_the_same_seed_draws_the_same():
    assert (one_way(names(9), resample_seed=3).weights == one_way(names(9), resample_seed=3).weights).all()
    assert (one_way(names(9), resample_seed=3).weights != one_way(names(9), resample_seed=4).weights).any()


def test_the_order_of_the_rows_does_not_change_a_groups_draws():
    forwards, backwards = one_way(["a", "b", "c"]), one_way(["c", "b", "a"])
    assert (forwards.weights == backwards.weights[:, ::-1]).all()


def test_groups_are_counted_by_the_scarcer_factor():
    targets, backgrounds = np.repeat(names(6), 2), ["x", "y"] * 6
    drawn = crossed(targets, backgrounds)
    assert drawn.groups(drawn.cells) == Groups(2)
    assert drawn.groups(drawn.cells[:1]) == Groups(1)
    alone = crossed(names(6), [""] * 6)
    assert alone.groups(alone.cells) == Groups(6)
    assert alone.groups(alone.cells[:0]) == Groups(0)


def test_groups_drawn_within_parts_leave_a_degree_of_freedom_less_for_each():
    """Six words on one side and four on the other: ten groups, two means, eight degrees of freedom. A word that is on
    both sides is two groups; of one side alone there is one part."""
    table = pd.DataFrame({"word": [*names(6), *names(4)], "side": ["X"] * 6 + ["Y"] * 4})
    drawn = Resampling.of(table, 10, within=("side",))
    both = drawn.groups(drawn.cells)
    assert (both, both.df) == (Groups(10, 2), 8)
    assert drawn.groups(drawn.cells[:6]) == Groups(6, 1)
    across = Resampling.of(table[["word"]], 10)
    assert (across.groups(across.cells), across.groups(across.cells).df) == (Groups(6), 5)


# ---------------------------------------------------------------- estimates


def counted(frame: pd.DataFrame, measures: list[Measure], drawn: Resampling) -> list[Estimate]:
    return estimate("probe", [CheckpointData("model", "masked", frame, drawn)], measures)


def mean_of(values, groups=None, resamples=500, **measure) -> Estimate:
    drawn = one_way(names(len(values)) if groups is None else groups, resamples)
    (row,) = counted(pd.DataFrame({"v": values}), [Measure("v", means, ("v",), **measure)], drawn)
    return row


def test_an_estimate_by_hand():
    row = mean_of([1, 2, 3, NAN, 10, NAN], ["a", "a", "b", "b", "c", "d"], neutral=0.0, unit="nats")
    assert row.value == 4
    assert (row.n_items, row.n_unscored, row.n_groups) == (4, 2, 3)  # d has nothing scored
    assert (row.unit, row.neutral, row.method) == ("nats", 0.0, OVER_ITEMS.format(groups="target"))
    assert (row.probe, row.model, row.measure) == ("probe", "model", "v")
    assert np.isnan(row.low)  # of three groups there is no interval


def test_the_same_draws_give_the_same_interval():
    values = np.random.default_rng(0).normal(size=30)
    one, other = (asdict(mean_of(values, neutral=0.0)) for _ in range(2))
    np.testing.assert_equal(one, other)


def test_turning_the_values_round_turns_the_interval_round():
    values = np.random.default_rng(0).normal(0.3, 1, size=30)
    plain, turned = mean_of(values, neutral=0.0), mean_of(-values, neutral=0.0)
    assert (turned.value, turned.low, turned.high) == pytest.approx((-plain.value, -plain.high, -plain.low))
    assert turned.verdict == plain.verdict


def test_repeating_a_groups_rows_narrows_nothing():
    values = np.random.default_rng(0).normal(size=20)
    alone, many = mean_of(values), mean_of(np.repeat(values, 50), np.repeat(names(20), 50))
    assert (many.low, many.high) == pytest.approx((alone.low, alone.high), abs=1e-5)
    assert (many.n_items, many.n_groups) == (1000, 20)


def test_measures_see_only_their_rows():
    frame = pd.DataFrame({"v": [1.0, 2, 3, 4], "kind": ["x", "x", "y", "z"], "k": [3, 5, 3, 3]})
    wanted = [
        Measure("v", means, ("v",), {"kind": "x"}),
        Measure("v", means, ("v",), {"kind": "y"}),
        Measure("v", means, ("v",), {"k": 3, "kind": ("x", "z")}),
        Measure("v", means, ("v",), {"kind": "nothing"}),
    ]
    rows = counted(frame, wanted, one_way(names(4)))
    assert [e.value for e in rows[:3]] == [1.5, 3, 2.5]
    assert np.isnan(rows[3].value)
    assert (rows[3].n_items, rows[3].verdict) == (0, Verdict.NOTHING_SCORED)
    assert rows_where(frame, {}).all()


def test_measures_keep_their_order_whatever_they_share():
    frame = pd.DataFrame({"v": [1.0, 2, 4], "w": [5.0, 6, 1], "kind": ["x", "x", "y"]})
    wanted = [
        Measure("a", means, ("v",), {"kind": "x"}),
        Measure("b", means, ("w",), {"kind": "x"}),
        Measure("c", pearson, ("v", "w")),
        Measure("d", means, ("v",), {"kind": "x"}),
    ]
    rows = counted(frame, wanted, one_way(names(3)))
    assert [e.measure for e in rows] == ["a", "b", "c", "d"]
    assert [e.value for e in rows] == pytest.approx([1.5, 5.5, np.corrcoef(frame.v, frame.w)[0, 1], 1.5])


# ---------------------------------------------------------------- how often it is wrong


def excluding_zero(frame, drawn: Resampling, function=means, columns=lambda name: (name,), unit="nats") -> float:
    names = [str(name) for name in frame.columns if name != "fixed"]
    wanted = [Measure(name, function, columns(name), unit=unit, neutral=0.0) for name in names]
    return float(np.mean([row.verdict is Verdict.HOLDS_FOR_CHECKPOINT for row in counted(frame, wanted, drawn)]))


def simulated(rows: int, sets: int, seed: int = 1) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, sets))).add_prefix("set")


def test_without_an_effect_one_interval_in_twenty_excludes_zero():
    assert 0.02 <= excluding_zero(simulated(40, 400), one_way(names(40), 1000)) <= 0.09


def test_without_an_effect_within_unequal_groups_too():
    """40 groups of 1 to 8 rows that share a group's own draw."""
    groups = np.repeat(names(40), np.arange(40) % 8 + 1)
    by_group = simulated(40, 400, seed=2).to_numpy()[np.repeat(np.arange(40), np.arange(40) % 8 + 1)]
    frame = pd.DataFrame(by_group).add_prefix("set") + simulated(len(groups), 400, seed=3)
    assert 0.02 <= excluding_zero(frame, one_way(groups, 1000)) <= 0.10
    rows_as_groups = excluding_zero(frame, one_way(names(len(groups)), 1000))
    assert rows_as_groups > 0.15  # what resampling by groups is for


def test_without_a_correlation_one_interval_in_twenty_excludes_zero():
    frame = simulated(40, 400).assign(fixed=np.linspace(3, 95, 40))
    drawn, unit = one_way(names(40), 1000), "correlation"
    rate = excluding_zero(frame, drawn, pearson, lambda name: (name, "fixed"), unit)
    assert 0.02 <= rate <= 0.09


def test_without_an_effect_crossed_groups_err_no_more_often():
    targets, backgrounds = np.repeat(names(20), 20), np.tile(names(20, "b"), 20)
    rng = np.random.default_rng(4)
    by_target, by_background = rng.normal(size=(20, 200)), rng.normal(size=(20, 200))
    rows = np.repeat(by_target, 20, axis=0) + np.tile(by_background, (20, 1)) + rng.normal(size=(400, 200))
    frame = pd.DataFrame(rows).add_prefix("set")
    assert excluding_zero(frame, crossed(targets, backgrounds, 500)) <= 0.10
    assert excluding_zero(frame, one_way(targets, 500)) > 0.10  # background resampling is needed


@pytest.mark.parametrize("effect", [-1.0, 0.6, 1.0])
def test_a_planted_effect_is_recovered(effect):
    frame = simulated(40, 200, seed=5) + effect
    wanted = [Measure(name, means, (name,), neutral=0.0) for name in frame.columns]
    rows = counted(frame, wanted, one_way(names(40), 1000))
    assert np.mean([e.low <= effect <= e.high for e in rows]) >= 0.90
    assert np.mean([e.verdict is Verdict.HOLDS_FOR_CHECKPOINT for e in rows]) >= 0.90
    assert np.mean([e.value for e in rows]) == pytest.approx(effect, abs=0.05)


def test_varying_backgrounds_widen_the_interval():
    targets, backgrounds = np.repeat(names(12), 12), np.tile(names(12, "b"), 12)
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=12), 12) + np.tile(rng.normal(size=12), 12)
    frame = pd.DataFrame({"v": values})
    measure = [Measure("v", means, ("v",))]
    (narrow,) = counted(frame, measure, one_way(targets, 2000))
    (wide,) = counted(frame, measure, crossed(targets, backgrounds, 2000))
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)
    assert wide.value == pytest.approx(narrow.value)


# ---------------------------------------------------------------- published claims


def held(frame, claim, kind="masked", groups=None, resamples=500) -> ClaimResult | None:
    drawn = one_way(groups or names(len(frame)), resamples)
    rows = claim_results("probe", [CheckpointData("model", kind, frame, drawn)], [claim])
    return rows[0] if rows else None


def claim(column="v", plus=("x",), minus=None, **more) -> Claim:
    minus = {"kind": minus} if minus else None
    return Claim("name", "what was published", "A", column, {"kind": plus}, minus, **more)


UP = pd.DataFrame({"v": [0.4, 0.5, 0.6] * 4, "kind": ["x"] * 12})
DOWN = UP.assign(v=-UP.v)
UNCLEAR = UP.assign(v=[-0.5, 0.4, 0.2] * 4)


@pytest.mark.parametrize(
    ("direction", "threshold", "frame", "verdict"),
    [
        (Direction.ABOVE, 0, UP, Verdict.AS_PUBLISHED),
        (Direction.ABOVE, 0, DOWN, Verdict.OPPOSITE),
        (Direction.ABOVE, 0, UNCLEAR, Verdict.UNDECIDED),
        (Direction.BELOW, 0, UP, Verdict.OPPOSITE),
        (Direction.BELOW, 0, DOWN, Verdict.AS_PUBLISHED),
        (Direction.BELOW, 0, UNCLEAR, Verdict.UNDECIDED),
        (Direction.NOT_BELOW, 0, UP, Verdict.NOT_CONTRADICTED),
        (Direction.NOT_BELOW, 0, UNCLEAR, Verdict.NOT_CONTRADICTED),
        (Direction.NOT_BELOW, 0, DOWN, Verdict.OPPOSITE),
        (Direction.BELOW, 0.9, UP, Verdict.AS_PUBLISHED),
        (Direction.BELOW, 0.1, UP, Verdict.OPPOSITE),
        (Direction.BELOW, 0.5, UP, Verdict.UNDECIDED),
        (Direction.ABOVE, 0.9, UP, Verdict.OPPOSITE),
    ],
)
def test_a_claim_is_held_against_its_interval(direction, threshold, frame, verdict):
    row = held(frame, claim(direction=direction, threshold=threshold))
    assert row.verdict is verdict
    assert (row.direction, row.threshold) == (direction, threshold)


KNOWS = UP.assign(able=[1.0, 1, 0] * 4)


@pytest.mark.parametrize(("least", "fails"), [(0.5, False), (2 / 3, False), (0.7, True)])
def test_a_gate_that_is_not_passed_is_the_verdict(least, fails):
    gate = Gate("able", least)
    assert (held(KNOWS, claim(gate=gate)).verdict == Verdict.FAILS_GATE) == fails
    measure = Measure("m", means, ("v",), neutral=0.0, gate=gate)
    (row,) = counted(KNOWS, [measure], one_way(names(len(KNOWS)), 100))
    assert (row.verdict is Verdict.FAILS_GATE) == fails
    assert row.value == pytest.approx(0.5)  # the number stays


def test_a_gate_looks_at_its_own_rows_and_counts_groups():
    frame = pd.DataFrame({"v": [1.0] * 6, "able": [1.0, 1, 1, 0, 0, NAN], "kind": list("xxxxyy")})
    groups = ["a", "a", "a", "b", "c", "d"]
    verdicts = [
        held(frame, claim(gate=Gate("able", 0.5, where)), groups=groups).verdict
        for where in ({"kind": "x"}, {"kind": "y"})
    ]
    assert verdicts[0] != Verdict.FAILS_GATE  # one of two groups, though three of four rows
    assert held(frame, claim(gate=Gate("able", 0.6, {"kind": "x"})), groups=groups).verdict == Verdict.FAILS_GATE
    assert verdicts[1] == Verdict.FAILS_GATE
    assert held(frame, claim(gate=Gate("able", 0.0, {"kind": "z"})), groups=groups).verdict == Verdict.FAILS_GATE


def test_a_claims_number_is_a_mean_or_a_difference_of_means():
    frame = pd.DataFrame({"v": [1.0, 2, 6, 5, 7, NAN], "kind": ["x", "x", "y", "z", "z", "x"]})
    assert held(frame, claim()).value == 1.5
    assert held(frame, claim(plus=("x", "y"))).value == (1.5 + 6) / 2  # each kind counts the same
    assert held(frame, claim(plus=("x", "y"), minus=("y", "z"))).value == (1.5 + 6) / 2 - (6 + 6) / 2
    assert held(frame, claim(minus=("z",))).value == -4.5
    assert held(frame, claim(plus=("z",), minus=("x",))).value == 4.5


def test_a_difference_is_taken_within_each_resample():
    """Two conditions of the same targets: what they share cancels, so the interval is narrow."""
    level = np.random.default_rng(0).normal(0, 10, size=20)
    frame = pd.DataFrame({"v": [*(level + 1), *level], "kind": ["x"] * 20 + ["y"] * 20})
    row = held(frame, claim(minus=("y",)), groups=names(20) * 2)
    assert (row.value, row.low, row.high) == pytest.approx((1, 1, 1), abs=1e-4)
    assert row.verdict == Verdict.AS_PUBLISHED


def test_a_claim_about_other_kinds_of_model_is_left_out():
    assert held(UP, claim(kinds=("causal",))) is None
    assert held(UP, claim(kinds=("causal",)), kind="causal").verdict == Verdict.AS_PUBLISHED


def test_a_claim_without_rows_has_no_number():
    row = held(UP, claim(plus=("nothing",)))
    assert np.isnan(row.value)
    assert row.verdict is Verdict.NOTHING_SCORED
    assert held(UP, claim(plus=("x", "nothing"))).verdict is Verdict.NOTHING_SCORED
    assert held(UP, claim(minus=("nothing",), direction=Direction.NOT_BELOW)).verdict is Verdict.NOTHING_SCORED


def test_a_claim_carries_its_words():
    row = held(UP, claim(conditions={"k": 3}, unit="share"))
    assert (row.claim, row.statement, row.paper) == ("name", "what was published", "A")
    assert (row.probe, row.model, row.conditions) == ("probe", "model", {"k": "3"})
    assert (row.unit, row.quantity) == ("share", "v")


def test_a_claim_cannot_be_held_against_one_group():
    assert held(UP, claim(), groups=["only"] * 12).verdict is Verdict.TOO_FEW_GROUPS


# ---------------------------------------------------------------- FAILS: the code is wrong here


def test_nothing_to_draw_within_parts_is_no_group():
    """`agg("/".join, axis=1)` of an empty table is no column but a table: "all arrays must be same length"."""
    drawn = Resampling.of(pd.DataFrame({"item": [], "term": []}, dtype=str), 10, within=("term",))
    assert drawn.groups(np.array([], dtype=int)).n == 0
