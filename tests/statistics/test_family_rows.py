"""Families: rows over seeds beside those of checkpoints, and the words they earn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics.claims import claimed
from trueprobe.statistics.estimates import CheckpointData, count
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Gate, Measure
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.verdict import Unjudged, judged
from trueprobe.statistics.rows import Estimate

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
    return count("p", seeds(*levels, **more), [measure])[-1]


def test_a_family_has_a_row_of_its_own_and_its_checkpoints_keep_theirs():
    rows = count("p", seeds(1.0, 2.0, 4.5), [V])
    assert [(row.level, row.model, row.model_seed, row.n_seeds) for row in rows] == [
        *[("checkpoint", f"m-seed{i}", i, 1) for i in range(3)],
        ("family", "m", None, 3),
    ]
    one = rows[-1]
    assert (one.value, one.lowest, one.highest) == pytest.approx((2.5, 1.0, 4.5))
    assert one.sd_seeds == pytest.approx(np.std([1, 2, 4.5], ddof=1))
    assert one.low < one.value < one.high


def test_one_checkpoint_has_no_family_row():
    (row,) = count("p", seeds(1.0), [V])
    assert (row.level, row.verdict) == ("checkpoint", "holds for this checkpoint")
    assert "another seed" in row.reason


def test_a_family_interval_is_wider_than_its_checkpoints():
    *single, one = count("p", seeds(0.5, 1.0, 1.5), [V])
    assert one.high - one.low > max(row.high - row.low for row in single)


@pytest.mark.parametrize(
    ("levels", "word", "reason"),
    [
        ((1.0, 1.1, 0.9), "holds", "3 of 3 seeds agree"),
        ((-1.0, -1.1, -0.9), "holds", "3 of 3 seeds agree"),
        ((0.01, -0.02, 0.02), "undecided", "includes neutral"),
        ((1.0, 1.1), "undecided", "2 trainings"),
        ((1.0, -1.0), "flips", "1 above neutral, 1 below"),
        ((1.0, -1.0, 0.9, 0.0), "flips", "2 above neutral, 1 below"),
        ((1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 0.9, 1.0, -0.05), "undecided", "1 of 9 seeds lie on the other side"),
        ((1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 0.9, 1.0, 1.0, 1.0, -0.05), "holds", "10 of 11 seeds agree"),
    ],
)
def test_which_word_a_family_earns(levels, word, reason):
    found = family(*levels)
    assert (found.verdict, reason in found.reason) == (word, True), found.reason


def test_a_measure_without_neutral_is_descriptive_and_few_groups_say_nothing():
    assert family(1.0, 1.1, 0.9, measure=Measure("v", means, ("v",))).verdict == "descriptive"
    few = family(1.0, 1.1, 0.9, groups=4)
    assert (few.verdict, few.reason) == ("not applicable", "4 groups, fewer than 5")


def test_seeds_that_fail_the_gate_are_left_out_and_counted():
    measure = Measure("v", means, ("v",), unit="nats", neutral=0.0, gate=Gate("able", 0.5))
    able = [member.frame.assign(able=float(i < 3)) for i, member in enumerate(seeds(1.0, 1.1, 0.9, 50.0))]
    *_, one = count("p", members(able), [measure])
    assert (one.n_seeds, one.verdict) == (3, "holds")
    assert one.value == pytest.approx(1.0)
    none = [frame.assign(able=0.0) for frame in able]
    assert count("p", members(none), [measure])[-1].verdict == "fails the gate"


def test_a_seed_that_scored_nothing_does_not_count_as_a_seed():
    frames = [member.frame for member in seeds(1.0, 1.1, 0.9, 1.0)]
    frames[3] = frames[3].assign(v=NAN)
    *_, one = count("p", members(frames), [V])
    assert (one.n_seeds, one.n_unscored) == (3, 40)
    assert one.value == pytest.approx(1.0)


def test_a_family_that_scored_nothing_is_not_applicable():
    *_, one = count("p", members([member.frame.assign(v=NAN) for member in seeds(1.0, 1.1)]), [V])
    assert (one.n_seeds, one.verdict, one.reason) == (0, "not applicable", "nothing scored")


def test_seeds_that_did_not_score_the_same_items_share_their_draws():
    frames = [member.frame for member in seeds(1.0, 1.1, 0.9)]
    frames[1] = frames[1].iloc[5:].reset_index(drop=True)
    mine = members(frames)
    assert mine[0].resampling.weights is mine[1].resampling.weights
    assert len(mine[1].resampling.cells) == 35
    name = mine[0].resampling.names[mine[1].resampling.cells[0], 0]
    assert name == frames[1]["group"].iloc[0]


def test_shares_without_any_variance_have_wilsons_interval_over_groups():
    measure = Measure("v", means, ("v",), unit="share", neutral=0.5)
    one = family(1.0, 1.0, 1.0, noise=0.0, measure=measure)
    assert one.low == pytest.approx(1 / (1 + 1.96**2 / 40), abs=1e-3)
    assert (one.high, one.verdict, one.method) == (pytest.approx(1.0), "holds", "Wilson, 95 %")


def test_the_multi_bootstrap_is_an_option_by_name():
    *_, one = count("p", seeds(0.2, 1.0, 1.8), [V], method="multibootstrap")
    *_, usual = count("p", seeds(0.2, 1.0, 1.8), [V])
    assert one.method.startswith("multi-bootstrap")
    assert one.value == usual.value
    assert one.high - one.low < usual.high - usual.low  # too narrow with three seeds


# ---------------------------------------------------------------- corrections


def found(p: float, value: float = 1.0, neutral=0.0, **conditions) -> Unjudged:
    estimate = Estimate(
        "p", "m", "v", conditions, value, value - 0.5, value + 0.5, 9, 0, 9, "nats", neutral, "", "", p=p
    )
    return Unjudged(estimate, p)


def test_categories_of_one_diagnostic_are_corrected_together_and_the_total_stands_alone():
    rows = judged(
        [found(0.03, category="a"), found(0.001, category="b"), found(0.03, category="all")], ("category", "test")
    )
    assert [row.p_corrected for row in rows] == pytest.approx([0.03, 0.002, 0.03])
    rows = judged([found(0.03, category=c) for c in "ab"], ("category",))
    assert [row.p_corrected for row in rows] == pytest.approx([0.06, 0.06])
    assert {row.verdict for row in rows} == {"undecided"}
    assert "correction" in rows[0].reason


def test_other_conditions_are_other_questions():
    rows = judged([found(0.03, category="a", k=3), found(0.03, category="a", k=5)], ("category",))
    assert [row.p_corrected for row in rows] == [0.03, 0.03]
    rows = judged([found(0.03, set="a"), found(0.03, set="b")], ("category",))
    assert [row.p_corrected for row in rows] == [0.03, 0.03]


def test_wordings_that_lie_on_both_sides_beyond_noise_flip_the_row_that_pools_them():
    rows = judged([found(0.001, 1.0, wording="x"), found(0.001, -1.0, wording="y"), found(0.001, 0.7, wording="all")])
    assert [row.verdict for row in rows] == ["holds for this checkpoint"] * 2 + ["flips"]
    assert rows[-1].reason == "wordings disagree beyond noise: x above neutral; y below"
    calm = judged([found(0.001, 1.0, wording="x"), found(0.4, -1.0, wording="y"), found(0.001, 0.7, wording="all")])
    assert calm[-1].verdict == "holds for this checkpoint"


# ---------------------------------------------------------------- claims


CLAIM = Claim("up", "it is above", "A", "v", {"kind": ("x",)}, unit="nats")


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ((1.0, 1.1, 0.9), "as published"),
        ((-1.0, -1.1, -0.9), "opposite"),
        ((1.0, -1.0, 0.5), "flips"),
        ((1.0, 1.1), "undecided"),
        ((0.1, -0.1, 0.0), "undecided"),
    ],
)
def test_a_familys_claims(levels, word):
    rows = claimed(seeds(*levels, kind="x"), [CLAIM])
    assert [row["level"] for row in rows] == ["checkpoint"] * len(levels) + ["family"]
    last = rows[-1]
    assert (last["model"], last["n_seeds"], last["verdict"]) == ("m", len(levels), word)
    assert last["value"] == pytest.approx(np.mean(levels))
    assert last["low"] < last["value"] < last["high"]
