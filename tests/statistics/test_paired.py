"""Two models or families on the same items: differences by hand, symmetry, permutations counted out, seeds needed."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from trueprobe.statistics import paired
from trueprobe.statistics.correlation import pearson
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.paired import Parts, Sides, compare, seeds_dealt_ps, seeds_needed
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import Difference
from trueprobe.types import Verdict

V = Measure("v", means, ("v",), unit="nats", neutral=0.0)
NOTHING = Resampling.of(pd.DataFrame({"": ["-"]}), 0)


def member(values, groups=None, name="m", why_not="", **columns) -> CheckpointData:
    n = len(values)
    frame = pd.DataFrame({"item": [f"i{i}" for i in range(n)], "part": "", "why_not": why_not, "v": values})
    frame["group_target"] = groups or [f"g{i:02d}" for i in range(n)]
    return CheckpointData(name, "masked", frame.assign(**columns), NOTHING, name)


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
    assert row.p_permutation == np.mean(np.abs(means_of) >= apart.mean() - 1e-12)


def test_groups_are_swapped_whole():
    """Ten items in two groups: four swaps, of which two lie as far apart."""
    row = one(member([1.0] * 10, groups=["a"] * 5 + ["b"] * 5), member([0.0] * 10, groups=["a"] * 5 + ["b"] * 5))
    assert row.p_permutation == 0.5
    assert (row.verdict, row.n_groups) == (Verdict.TOO_FEW_GROUPS, 2)


def test_a_clear_difference_is_detected_and_noise_is_not():
    base = noisy(0, n=60)
    far = one(member(base + noisy(1, 1.0, 60)), member(base))
    assert (far.verdict, far.p_permutation) == (Verdict.HOLDS_FOR_CHECKPOINT, pytest.approx(1 / 10_001))
    near = one(member(base + noisy(1, 0.0, 60)), member(base))
    assert near.verdict == Verdict.UNDECIDED
    assert near.p_permutation > 0.05


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


def test_dealing_seeds_by_hand():
    apart, alike = (5.0, 6, 7, 1, 2, 3), (1.0, 2, 3, 1, 2, 3)
    assert seeds_dealt_ps(np.array([apart, alike]).T, 3) == pytest.approx([2 / 20, 1.0])
    assert seeds_dealt_ps(np.array([[1.0, 2, 1, 2]]).T, 2) == [1.0]


def test_how_many_seeds_it_takes():
    """Without any variance of the items: t · sqrt(per_seed / n) ≤ precision."""
    needed = seeds_needed(Parts(0.0, 2.0), 0.5, 1000)
    widths = {n: 1.96 * math.sqrt(2.0 / n) for n in (needed - 2, needed + 2)}
    assert widths[needed - 2] > 0.49
    assert widths[needed + 2] < 0.51
    assert seeds_needed(Parts(1.0, 2.0), 0.5, 1000) is None  # never with these items
    assert seeds_needed(Parts(0.0, 2.0), 5.0, 1000) < needed


@pytest.mark.parametrize("items", [0.0, 1e-4, 0.05, 0.3])
@pytest.mark.parametrize("per_seed", [1e-6, 0.3, 2.0, 40.0])
def test_the_number_of_seeds_is_the_first_that_is_enough(items, per_seed):
    """Against a plain walk over all of them."""
    for precision, groups in product((0.02, 0.3, 1.0, 5.0), (6, 1000)):
        walked = None
        for n in range(2, 10_000):
            over, total = per_seed / n, items + per_seed / n
            df = total**2 / (over**2 / (2 * (n - 1)) + items**2 / (groups - 1))
            if stdtrit(df, 0.975) * math.sqrt(total) <= precision:
                walked = n
                break
            if n > 50 and 1.96 * math.sqrt(items) > precision:  # cannot come
                break
        assert seeds_needed(Parts(items, per_seed), precision, groups) == walked


def test_a_wanted_precision_asks_for_more_seeds_than_a_coarse_one():
    sides = family("a", 1.0, 1.6, 0.2), family("b", 0.1, 0.5, -0.6)
    fine, coarse = (one(*sides, precision=p).seeds_needed for p in (0.25, 1.0))
    assert fine > coarse >= 2


def test_categories_are_corrected_together():
    a, b = member(noisy(0, 0.5)), member(noisy(1))
    wanted = [Measure("v", means, ("v",), conditions={"category": c}, neutral=0.0) for c in ("x", "y", "all")]
    rows = compare("p", Sides.of([a], [b], ["target"]), wanted, ["category"])
    assert [row.p_corrected / row.p for row in rows] == pytest.approx([2, 2, 1])
