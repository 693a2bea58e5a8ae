"""Families: rows over seeds beside those of checkpoints, and the verdicts they earn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Claim, Gate, Measure, estimates
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.interval import Interval
from trueprobe.statistics.means import means
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import Estimate
from trueprobe.statistics.unjudged import Unjudged, judged
from trueprobe.types import Reason, Unit, Verdict

NAN = float("nan")


def members(frames: list[pd.DataFrame], **more) -> list[CheckpointData]:
    drawn = Resampling.shared([frame[["group"]] for frame in frames])
    return [
        CheckpointData(f"m-seed{i}", "masked", frame, resampling, "m", {"model_seed": i, **more})
        for i, (frame, resampling) in enumerate(zip(frames, drawn, strict=True))
    ]


def seeds(*levels: float, groups: int = 40, noise: float = 1.0, **columns) -> list[CheckpointData]:
    """One checkpoint per level: that mean, and noise around it that sums to nothing."""
    frames = []
    for i, level in enumerate(levels):
        values = np.random.default_rng(i).normal(0, noise, groups)
        frame = pd.DataFrame({"v": level + values - values.mean(), "group": [f"g{j:02d}" for j in range(groups)]})
        frames.append(frame.assign(**columns))
    return members(frames)


V = Measure("v", means, ("v",), unit="nats", neutral=0.0)


def family(*levels: float, measure: Measure = V, **more) -> Estimate:
    return estimate("p", seeds(*levels, **more), [measure])[-1]


def test_a_family_has_a_row_of_its_own_and_its_checkpoints_keep_theirs():
    rows = estimate("p", seeds(1.0, 2.0, 4.5), [V])
    assert [(row.level, row.model, row.model_seed, row.n_seeds) for row in rows] == [
        *[("checkpoint", f"m-seed{i}", i, 1) for i in range(3)],
        ("family", "m", None, 3),
    ]
    one = rows[-1]
    assert (one.value, one.lowest, one.highest) == pytest.approx((2.5, 1.0, 4.5))
    assert one.sd_seeds == pytest.approx(np.std([1, 2, 4.5], ddof=1))
    assert one.low < one.value < one.high


def test_measures_of_the_same_values_have_the_same_numbers_as_alone(monkeypatch):
    asked, original = [], estimates.counted
    monkeypatch.setattr(estimates, "counted", lambda f, some, *more: asked.append(some) or original(f, some, *more))
    three = seeds(1.0, 2.0, 4.5, none=0.0, never=0.0)
    measures = [Measure(name, means, (name,), unit="nats", neutral=0.0) for name in ("none", "v", "never")]
    together = estimate("p", three, measures)
    assert asked == [[("none",), ("v",)]]
    alone = [estimate("p", three, [measure]) for measure in measures]
    expected = [rows[i] for i in range(4) for rows in alone]  # three checkpoints, then the family
    assert list(map(repr, together)) == list(map(repr, expected))


def test_one_checkpoint_has_no_family_row():
    (row,) = estimate("p", seeds(1.0), [V])
    assert (row.level, row.verdict) == ("checkpoint", Verdict.HOLDS_FOR_CHECKPOINT)
    assert (row.reason, row.n_seeds) == (Reason.NONE, 1)


def test_a_family_interval_is_wider_than_its_checkpoints():
    *single, one = estimate("p", seeds(0.5, 1.0, 1.5), [V])
    assert one.high - one.low > max(row.high - row.low for row in single)


@pytest.mark.parametrize(
    ("levels", "verdict", "reason", "numbers"),
    [
        ((1.0, 1.1, 0.9), Verdict.HOLDS, Reason.NONE, {"n_against": 0}),
        ((-1.0, -1.1, -0.9), Verdict.HOLDS, Reason.NONE, {"n_against": 0}),
        ((0.01, -0.02, 0.02), Verdict.UNDECIDED, Reason.INTERVAL_INCLUDES_NEUTRAL, {}),
        ((1.0, 1.1), Verdict.UNDECIDED, Reason.TOO_FEW_SEEDS, {}),
        ((1.0, -1.0), Verdict.FLIPS, Reason.SEEDS_APART, {"above": "1", "below": "1"}),
        ((1.0, -1.0, 0.9, 0.0), Verdict.FLIPS, Reason.SEEDS_APART, {"above": "2", "below": "1"}),
        ((1.0,) * 5 + (1.1, 0.9, 1.0, -0.05), Verdict.HOLDS, Reason.NONE, {"n_against": 1}),
        ((1.0,) * 9 + (-0.05,) * 3, Verdict.HOLDS, Reason.NONE, {"n_against": 3}),
        ((1.0,) * 3 + (-0.05,) * 3, Verdict.UNDECIDED, Reason.INTERVAL_INCLUDES_NEUTRAL, {"n_against": 3}),
    ],
)
def test_which_verdict_a_family_earns_and_why(levels, verdict, reason, numbers):
    row = family(*levels)
    assert (row.verdict, row.reason, row.n_seeds) == (verdict, reason, len(levels))
    assert row.verdict_alone is verdict  # until a list is judged
    assert {name: getattr(row, name) for name in numbers} == numbers


def test_a_measure_without_neutral_is_descriptive_and_few_groups_say_nothing():
    assert family(1.0, 1.1, 0.9, measure=Measure("v", means, ("v",))).verdict == Verdict.DESCRIPTIVE
    for groups in (2, 5):
        few = family(1.0, 1.1, 0.9, groups=groups)
        assert (few.verdict, few.n_groups) == (Verdict.TOO_FEW_GROUPS, groups)
        assert np.isnan([few.low, few.high]).all()
    assert family(1.0, 1.1, 0.9, groups=6, noise=0.1).verdict == Verdict.HOLDS


def test_seeds_that_fail_the_gate_are_left_out_and_counted():
    measure = Measure("v", means, ("v",), unit="nats", neutral=0.0, gate=Gate("able", 0.5))
    able = [member.frame.assign(able=float(i < 3)) for i, member in enumerate(seeds(1.0, 1.1, 0.9, 50.0))]
    *_, one = estimate("p", members(able), [measure])
    assert (one.n_seeds, one.verdict) == (3, Verdict.HOLDS)
    assert one.value == pytest.approx(1.0)
    none = [frame.assign(able=0.0) for frame in able]
    assert estimate("p", members(none), [measure])[-1].verdict == Verdict.FAILS_GATE


def test_a_seed_that_scored_nothing_does_not_count_as_a_seed():
    frames = [member.frame for member in seeds(1.0, 1.1, 0.9, 1.0)]
    frames[3] = frames[3].assign(v=NAN)
    *_, one = estimate("p", members(frames), [V])
    assert (one.n_seeds, one.n_unscored) == (3, 40)
    assert one.value == pytest.approx(1.0)


def test_a_family_that_scored_nothing_has_no_number():
    *_, one = estimate("p", members([member.frame.assign(v=NAN) for member in seeds(1.0, 1.1)]), [V])
    assert (one.n_seeds, one.verdict, np.isnan(one.value)) == (0, Verdict.NOTHING_SCORED, True)


def test_seeds_that_did_not_score_the_same_items_share_their_draws():
    frames = [member.frame for member in seeds(1.0, 1.1, 0.9)]
    frames[1] = frames[1].iloc[5:].reset_index(drop=True)
    mine = members(frames)
    assert mine[0].resampling.weights is mine[1].resampling.weights
    assert len(mine[1].resampling.cells) == 35
    name = mine[0].resampling.names[mine[1].resampling.cells[0], 0]
    assert name == frames[1]["group"].iloc[0]


def test_shares_without_any_variance_have_the_exact_interval_over_groups():
    """All of 40 groups: the share of the others is at most u with (1 − u)^40 = 0.025, so the lower end is
    0.025^(1/40) = 0.912."""
    measure = Measure("v", means, ("v",), unit=Unit.SHARE, neutral=0.5)
    one = family(1.0, 1.0, 1.0, noise=0.0, measure=measure)
    assert one.low == pytest.approx(0.025 ** (1 / 40))
    assert (one.high, one.verdict, one.method) == (1.0, Verdict.HOLDS, "exact binomial, 95 %")


def test_a_family_interval_by_a_plain_calculation():
    """Every group has the same value in all seeds, so seeds move nothing of single items: the items' variance is that
    of a group over their number, the seeds' that of 0, 1 and 2 over three, and t of 2 and of 9 degrees of freedom."""
    by_group = np.tile([-1.0, 1.0], 5)
    frames = [pd.DataFrame({"v": level + by_group, "group": [f"g{i}" for i in range(10)]}) for level in (0.0, 1, 2)]
    *_, one = estimate("p", members(frames), [V])
    items, over_seeds = by_group.var(ddof=1) / 10, 1 / 3
    reach = np.sqrt(2.2622**2 * items + 4.3027**2 * over_seeds)
    assert (one.value, one.high - one.value) == pytest.approx((1.0, reach), rel=0.005)  # 10,000 draws


def test_the_multi_bootstrap_is_an_option_by_name():
    *_, one = estimate("p", seeds(0.2, 1.0, 1.8), [V], method="multibootstrap")
    *_, usual = estimate("p", seeds(0.2, 1.0, 1.8), [V])
    assert one.method.startswith("multi-bootstrap")
    assert one.value == usual.value
    assert one.high - one.low < usual.high - usual.low  # too narrow with three seeds


# ---------------------------------------------------------------- corrections


def unjudged(p: float, value: float = 1.0, neutral=0.0, **conditions) -> Unjudged:
    numbers = {"value": value, "low": value - 0.5, "high": value + 0.5, "n_items": 9, "n_unscored": 0, "n_groups": 9}
    kind = {"unit": Unit.NATS, "neutral": neutral, "method": ""}
    return Unjudged(Estimate("p", "m", "v", conditions, **numbers, **kind, p=p), Interval(p=p))


def test_categories_of_one_diagnostic_are_corrected_together_and_the_total_stands_alone():
    ps = {"a": 0.03, "b": 0.001, "all": 0.03}
    rows = judged([unjudged(p, category=category) for category, p in ps.items()], ("category", "test"))
    assert [row.p_corrected for row in rows] == pytest.approx([0.03, 0.002, 0.03])
    rows = judged([unjudged(0.03, category=c) for c in "ab"], ("category",))
    assert [row.p_corrected for row in rows] == pytest.approx([0.06, 0.06])
    assert {row.verdict for row in rows} == {Verdict.UNDECIDED}
    assert {row.reason for row in rows} == {Reason.NOT_AFTER_CORRECTION}


def test_other_conditions_are_other_questions():
    rows = judged([unjudged(0.03, category="a", k=3), unjudged(0.03, category="a", k=5)], ("category",))
    assert [row.p_corrected for row in rows] == [0.03, 0.03]
    rows = judged([unjudged(0.03, set="a"), unjudged(0.03, set="b")], ("category",))
    assert [row.p_corrected for row in rows] == [0.03, 0.03]


def test_wordings_that_lie_on_both_sides_beyond_noise_flip_the_row_that_pools_them():
    pooled = unjudged(0.001, 0.7, wording="all")
    rows = judged([unjudged(0.001, 1.0, wording="x"), unjudged(0.001, -1.0, wording="y"), pooled])
    assert [row.verdict for row in rows] == [Verdict.HOLDS_FOR_CHECKPOINT] * 2 + [Verdict.FLIPS]
    assert (rows[-1].reason, rows[-1].above, rows[-1].below) == (Reason.WORDINGS_APART, "x", "y")
    calm = judged([unjudged(0.001, 1.0, wording="x"), unjudged(0.4, -1.0, wording="y"), pooled])
    assert calm[-1].verdict == Verdict.HOLDS_FOR_CHECKPOINT


# ---------------------------------------------------------------- claims


CLAIM = Claim("up", "it is above", "A", "v", {"kind": ("x",)}, unit="nats")


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ((1.0, 1.1, 0.9), Verdict.AS_PUBLISHED),
        ((-1.0, -1.1, -0.9), Verdict.OPPOSITE),
        ((1.0, -1.0, 0.5), Verdict.FLIPS),
        ((1.0, 1.1), Verdict.UNDECIDED),
        ((0.1, -0.1, 0.0), Verdict.UNDECIDED),
    ],
)
def test_a_familys_claims(levels, verdict):
    rows = claim_results("p", seeds(*levels, kind="x"), [CLAIM])
    assert [row.level for row in rows] == ["checkpoint"] * len(levels) + ["family"]
    last = rows[-1]
    assert (last.probe, last.model, last.n_seeds, last.verdict) == ("p", "m", len(levels), verdict)
    assert last.value == pytest.approx(np.mean(levels))
    assert last.low < last.value < last.high
