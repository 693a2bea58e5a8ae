"""One probe in two ways: differences by hand, groups in common drawn together, seeds paired, and null rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Measure
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.means import means
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.variants import variants
from trueprobe.types import Verdict

LABELS = ("short", "long")
V = Measure("v", means, ("v",), conditions={"k": 10}, unit="nats", neutral=0.0)


def asked(*ways, measures=(V,)):
    """Each way: for every seed its values by group."""
    frames = [
        pd.DataFrame({"v": list(values.values()), "group_job": list(values), "why_not": ""})
        for way in ways
        for values in way
    ]
    drawn = Resampling.shared([frame[["group_job"]].set_axis(["job"], axis=1) for frame in frames], 0)
    seeds = len(ways[0])
    members = [
        CheckpointData(f"m-seed{i % seeds}", "masked", frame, resampling, "m", {"model_seed": i % seeds})
        for i, (frame, resampling) in enumerate(zip(frames, drawn, strict=True))
    ]
    return [(members[i : i + seeds], list(measures)) for i in range(0, len(members), seeds)]


def jobs(values, start=0):
    return {f"job{start + i:02d}": float(value) for i, value in enumerate(values)}


def noisy(seed, n=40, level=0.0):
    return np.random.default_rng(seed).normal(level, 1.0, n)


def test_a_difference_by_hand():
    (row,) = variants(LABELS, *asked([jobs([1, 2, 3, 4, 5, 9])], [jobs([3, 5, 7, 9, 11, 13, 15], start=3)]))
    assert (row.first, row.second, row.difference) == (4, 9, 5)
    assert (row.level, row.model, row.conditions, row.n_groups) == ("checkpoint", "m-seed0", {"k": "10"}, 6)
    assert (row.first_label, row.second_label) == LABELS


def test_one_checkpoint_is_corrected_over_its_own_numbers():
    kinds = [Measure("v", means, ("v",), conditions={"type": name}, unit="nats", neutral=0.0) for name in "ab"]
    values = noisy(0)
    first, second = asked([jobs(values)], [jobs(values + noisy(1, level=0.3))], measures=kinds)
    rows = variants(LABELS, first, second, corrected_over=["type"])
    assert [row.level for row in rows] == ["checkpoint"] * 2
    assert [row.p_corrected for row in rows] == pytest.approx([2 * row.p for row in rows])


def test_groups_in_common_are_drawn_together():
    values = noisy(0)
    (same,) = variants(LABELS, *asked([jobs(values)], [jobs(values + 0.01)]))
    assert (same.low, same.high) == pytest.approx((0.01, 0.01), abs=1e-6)
    (apart,) = variants(LABELS, *asked([jobs(values)], [jobs(values + 0.01, start=40)]))
    assert apart.high - apart.low > 0.5


def test_a_family_is_paired_seed_by_seed_and_holds_where_it_should():
    levels = [-2.0, 0.0, 2.0]  # seeds far apart, but the same step in each
    first = [jobs(noisy(i, level=level)) for i, level in enumerate(levels)]
    second = [{job: value + 0.5 + 0.1 * i for job, value in seed.items()} for i, seed in enumerate(first)]
    rows = variants(LABELS, *asked(first, second))
    assert [row.level for row in rows] == ["checkpoint"] * 3 + ["family"]
    family = rows[-1]
    assert (family.model, family.n_seeds, family.verdict) == ("m", 3, Verdict.HOLDS)
    assert family.difference == pytest.approx(0.6)
    assert {row.verdict for row in rows[:3]} == {Verdict.HOLDS_FOR_CHECKPOINT}


def test_swapping_the_ways_flips_the_sign_and_nothing_else():
    ways = [jobs(noisy(0))], [jobs(noisy(1, level=0.4), start=20)]
    (there,), (back,) = variants(LABELS, *asked(*ways)), variants(LABELS, *asked(*reversed(ways)))
    assert back.difference == pytest.approx(-there.difference)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    assert back.p == pytest.approx(there.p)


def test_only_numbers_that_both_ways_give_are_compared():
    first, second = asked([jobs(noisy(0))], [jobs(noisy(1))])
    other = Measure("v", means, ("v",), conditions={"k": 3}, unit="nats", neutral=0.0)
    assert [row.conditions["k"] for row in variants(LABELS, (first[0], [other, V]), second)] == ["10"]


def test_nothing_scored_and_one_seed_alone_have_no_interval():
    nothing = dict.fromkeys(jobs(noisy(0)), float("nan"))
    rows = variants(LABELS, *asked([jobs(noisy(0)), nothing], [jobs(noisy(1)), nothing]))
    assert [row.verdict for row in rows] == [Verdict.UNDECIDED, Verdict.NOTHING_SCORED, Verdict.NO_INTERVAL]
    assert rows[-1].n_seeds == 1  # a family of which one seed has a number has no interval


@pytest.mark.slow
def test_two_lists_with_a_common_part_and_no_difference_seldom_hold():
    held = 0
    for seed in range(300):
        values = noisy(seed, 60)
        (row,) = variants(LABELS, *asked([jobs(values[:40])], [jobs(values[20:], start=20)]))
        held += row.verdict is Verdict.HOLDS_FOR_CHECKPOINT
    assert 4 <= held <= 27  # 5 % of 300, within three standard deviations
