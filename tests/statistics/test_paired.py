"""Two models or families on the same items: differences by hand, symmetry, swaps counted out, seeds and items."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from trueprobe.statistics import Measure, paired
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.means import means, pearson
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import Difference
from trueprobe.types import Unit, Verdict

V = Measure("v", means, ("v",), unit=Unit.NATS, neutral=0.0)
NOTHING = Resampling.of(pd.DataFrame({"": ["-"]}), 0)


def member(values, groups=None, name="m", why_not="", **columns) -> CheckpointData:
    n = len(values)
    frame = pd.DataFrame({"item": [f"i{i}" for i in range(n)], "part": "", "why_not": why_not, "v": values})
    frame["group_target"] = groups or [f"g{i:02d}" for i in range(n)]
    more = pd.DataFrame(columns, index=frame.index)
    return CheckpointData(name, "masked", frame.drop(columns=more.columns, errors="ignore").join(more), NOTHING, name)


def one(first, second, measure=V, **more) -> Difference:
    first, second = ([side] if isinstance(side, CheckpointData) else side for side in (first, second))
    (row,) = compare("p", Sides.of(first, second, ["target"]), [measure], **more)
    return row


def noisy(seed: int, level: float = 0.0, n: int = 30, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(level, scale, n)


def test_a_difference_by_hand():
    row = one(member([1.0, 2, 3, 4, 5, 9]), member([0.0, 2, 2, 3, 5, 6]))
    assert (row.a, row.b, row.difference, row.n_items) == (4, 3, 1, 6)


def test_what_both_share_cancels():
    level = noisy(0, scale=10)
    row = one(member(level + 1), member(level))
    assert (row.low, row.high) == pytest.approx((1, 1), abs=1e-6)


def test_only_items_both_scored_count():
    first = member([1.0, 2, 3, 4, 5, 6, 7], why_not=["", "", "", "", "", "", "too_long"])
    second = member([0.0, np.nan, 3, 3, 4, 5, 100])
    row = one(first, second)
    assert (row.n_items, row.a, row.b) == (5, 19 / 5, 15 / 5)


def test_rows_that_only_one_side_has_are_left_out():
    gated = Measure("v", means, ("v",), {"able": 1.0}, neutral=0.0)
    row = one(member(noisy(0), able=[1.0] * 30), member(noisy(1), able=[1.0] * 20 + [0.0] * 10), gated)
    assert row.n_items == 20


@pytest.mark.parametrize("function", [(means, ("v",)), (pearson, ("v", "w"))])
def test_swapping_the_sides_flips_the_sign_and_nothing_else(function):
    measure = Measure("m", *function, neutral=0.0)
    a, b = (member(noisy(i, 0.4 * i), w=noisy(9)) for i in range(2))
    there, back = one(a, b, measure), one(b, a, measure)
    assert back.difference == pytest.approx(-there.difference)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    assert (back.verdict, back.n_items) == (there.verdict, there.n_items)
    for same in ("p", "p_permutation", "detectable"):
        assert getattr(back, same) == pytest.approx(getattr(there, same))


def test_measures_of_the_same_values_are_counted_once_and_as_if_alone(monkeypatch):
    asked = []
    original = paired.counted
    monkeypatch.setattr(paired, "counted", lambda f, wanted, *more: asked.append(wanted) or original(f, wanted, *more))
    members = [member(noisy(i), w=noisy(i), u=noisy(9 + i)) for i in range(4)]
    measures = [Measure(name, means, (name,), neutral=0.0) for name in ("v", "w", "u")]
    sides = Sides.of(members[:2], members[2:], ["target"])
    v, w, u = compare("p", sides, measures)
    assert asked == [[("v",), ("u",)]]
    assert w == replace(v, measure="w")
    assert [v, u] == [compare("p", sides, [measures[i]])[0] for i in (0, 2)]


def test_samples_of_one_measure_after_the_other_are_held():
    n = 80
    values = np.random.default_rng(0).normal(size=(2, n, 10))
    sides = Sides.of(*([member(each[0], **{f"v{i}": each[i] for i in range(n)})] for each in values), ["target"])
    measures = [Measure(f"v{i}", means, (f"v{i}",), neutral=0.0) for i in range(n)]
    tracemalloc.start()
    assert len(compare("p", sides, measures)) == n
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.7 * n * 2 * 10_001 * 8  # all samples together


def test_swaps_are_counted_out_by_a_plain_loop():
    apart = np.array([1.0, 2, -0.5, 3, 1, 0.2])
    row = one(member(apart), member(np.zeros(6)))
    means_of = [np.mean(apart * signs) for signs in product((1, -1), repeat=6)]
    assert row.p == row.p_permutation == np.mean(np.abs(means_of) >= apart.mean() - 1e-12)


def test_swaps_make_the_interval_by_hand():
    """Six groups that differ by 1 to 6: only all swapped lies as far, so p is 2 / 64, and a difference is kept as long
    as one set of groups lies on either side of it: from the smallest, 1, to the largest, 6."""
    row = one(member([1.0, 2, 3, 4, 5, 6]), member(np.zeros(6)))
    assert (row.p, row.low, row.high, row.verdict) == (2 / 64, 1.0, 6.0, Verdict.HOLDS_FOR_CHECKPOINT)


def test_groups_are_swapped_whole():
    """Ten items in two groups that differ by 1 and 2: of the four swaps, those of none and of both lie as far apart."""
    groups = ["a"] * 5 + ["b"] * 5
    row = one(member([1.0] * 5 + [2.0] * 5, groups=groups), member([0.0] * 10, groups=groups))
    assert row.p == row.p_permutation == 0.5
    assert (row.verdict, row.n_groups, row.n_items) == (Verdict.TOO_FEW_GROUPS, 2, 10)


def test_crossed_groups_have_the_widest_interval_and_the_largest_p_of_their_factors():
    """Differences go with the target alone: its twelve groups decide, as backgrounds hardly differ."""
    rng = np.random.default_rng(0)
    targets, backgrounds = (
        np.repeat([f"t{i:02d}" for i in range(12)], 12),
        np.tile([f"b{i:02d}" for i in range(12)], 12),
    )
    apart = np.repeat(rng.normal(0.4, 1, 12), 12) + rng.normal(0, 0.1, 144)
    sides = [member(values, list(targets), group_background=backgrounds) for values in (apart, np.zeros(144))]
    rows = {
        factors: compare("p", Sides.of([sides[0]], [sides[1]], list(factors)), [V])[0]
        for factors in (("target",), ("background",), ("target", "background"))
    }
    both, single = rows["target", "background"], [rows["target",], rows["background",]]
    assert both.p == max(row.p for row in single)
    widest = min(row.low for row in single), max(row.high for row in single)
    assert (both.low, both.high) == pytest.approx(widest)


def test_groups_drawn_within_parts_have_students_interval():
    """Two halves of 20 groups, one better by 3 and one worse by 1: a set of groups with more of one half would differ
    by that alone. Within halves, 38 degrees of freedom and the halves' own variances are left."""
    noise = noisy(0, n=40)
    apart = np.repeat([3.0, -1.0], 20) + noise
    sides = [member(values, condition_half=np.repeat(["x", "y"], 20)) for values in (apart, np.zeros(40))]
    (within,) = compare("p", Sides.of([sides[0]], [sides[1]], ["target"], ["half"]), [V])
    (across,) = compare("p", Sides.of([sides[0]], [sides[1]], ["target"]), [V])
    error = np.sqrt((noise[:20].var() + noise[20:].var()) / 2 / 40 * 40 / 38)
    assert (within.high - within.low) / 2 == pytest.approx(stats.t.ppf(0.975, 38) * error, rel=0.03)
    assert within.high - within.low < 0.6 * (across.high - across.low)


def test_a_clear_difference_is_detected_and_noise_is_not():
    base = noisy(0, n=60)
    far = one(member(base + noisy(1, 1.0, 60)), member(base))
    assert (far.verdict, far.p) == (Verdict.HOLDS_FOR_CHECKPOINT, 2 / 10_000)
    near = one(member(base + noisy(1, 0.0, 60)), member(base))
    assert near.verdict == Verdict.UNDECIDED
    assert near.p > 0.05


@pytest.mark.parametrize("groups", [6, 9])
def test_two_checkpoints_without_a_difference_differ_one_time_in_twenty(groups):
    """Skewed differences in few groups, to either side alike."""
    rng, runs = np.random.default_rng(groups), 400
    wanted = [Measure(f"v{i}", means, (f"v{i}",), unit=Unit.NATS, neutral=0.0) for i in range(runs)]
    apart = rng.exponential(1, (runs, groups)) * rng.choice([-1, 1], (runs, groups))
    first, second = (
        member(values[0], **{f"v{i}": values[i] for i in range(runs)}) for values in (apart, np.zeros_like(apart))
    )
    rows = compare("p", Sides.of([first], [second], ["target"]), wanted)
    assert [row.verdict for row in rows].count(Verdict.HOLDS_FOR_CHECKPOINT) <= stats.binom.ppf(0.9995, runs, 0.05)
    assert all((row.p < 0.05) == (not row.low <= 0 <= row.high) for row in rows)


# ---------------------------------------------------------------- families


def family(name: str, *levels: float) -> list[CheckpointData]:
    base = noisy(0)
    return [member(base + level + noisy(ord(name) + i, scale=0.2), name=name) for i, level in enumerate(levels)]


def test_families_differ_beyond_their_seeds_or_do_not():
    far = one(family("a", 1.0, 1.1, 0.9, 1.0), family("b", 0.1, 0.0, -0.1, 0.0))
    assert (far.n_seeds_a, far.n_seeds_b, far.verdict) == (4, 4, Verdict.HOLDS)
    assert far.difference == pytest.approx(1.0, abs=0.15)
    assert far.p_permutation == pytest.approx(2 / math.comb(8, 4))
    near = one(family("a", 1.0, -1.1, 0.9), family("b", 0.1, 0.8, -1.1))
    assert near.verdict == Verdict.UNDECIDED


def test_two_seeds_decide_nothing():
    assert one(family("a", 3.0, 3.1), family("b", 0.0, 0.1)).verdict == Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("a", "b", "verdict"), [(1, 4, Verdict.UNDECIDED), (2, 4, Verdict.UNDECIDED), (3, 4, Verdict.HOLDS)]
)
def test_the_side_with_fewer_seeds_must_have_three(a, b, verdict):
    row = one(family("a", *np.linspace(3, 3.1, a)), family("b", *np.linspace(0, 0.1, b)))
    assert (row.n_seeds_a, row.n_seeds_b, row.verdict) == (a, b, verdict)


def test_a_difference_of_families_by_a_plain_calculation():
    """Groups have the same value in all seeds but for a level: items cancel, and seeds are left. Levels 2, 3, 4 less
    0, 1, 2: the variance of either mean is 1 / 3, with t 4.3027: √(2 · 4.3027² / 3) = 3.513."""
    base = noisy(0)
    first, second = (
        [member(base + level, name=name) for level in of] for name, of in (("a", (2, 3, 4)), ("b", (0, 1, 2)))
    )
    row = one(first, second)
    assert (row.difference, row.low, row.high) == pytest.approx((2, 2 - 3.513, 2 + 3.513), abs=1e-3)
    assert row.verdict is Verdict.UNDECIDED
    assert row.p_permutation == pytest.approx(4 / 20)  # {2, 3, 4}, {2', 3, 4} and their mirrors


def test_categories_are_corrected_together():
    a, b = member(noisy(0, 0.5)), member(noisy(1))
    wanted = [Measure("v", means, ("v",), conditions={"category": c}, neutral=0.0) for c in ("x", "y", "all")]
    rows = compare("p", Sides.of([a], [b], ["target"]), wanted, ["category"])
    assert [row.p_corrected / row.p for row in rows] == pytest.approx([2, 2, 1])


# ---------------------------------------------------------------- FAILS: the code is wrong here


def test_a_difference_that_is_the_same_in_every_group_has_the_p_of_its_swaps():
    """Six groups that all differ by exactly 1: swapping gives 2 / 64, as for 1 to 6. Where nothing moves, `paired`
    takes the interval of no width instead, whose p of 0 no correction raises, however long the list."""
    row = one(member(np.ones(6)), member(np.zeros(6)))
    assert (row.low, row.high) == pytest.approx((1.0, 1.0))
    assert row.p == 2 / 64
