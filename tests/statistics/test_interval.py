"""One interval for estimates and claims: hand-worked ends, and that a claim's number is the estimate's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.interval import Quantity, interval, of_checkpoint
from trueprobe.statistics.means import means, wilson
from trueprobe.statistics.measure import Claim, Measure
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.spread import Samples, Spread, Unmoved
from trueprobe.types import Direction, Verdict

Z2 = 1.959963984540054**2
SHARE, APART = Quantity("share", 0.1), Quantity("share", 0.0, difference=True)


def members(*seeds: dict[str, np.ndarray], groups: int, each: int = 1) -> list[CheckpointData]:
    """Checkpoints of one family, with `each` observations of every group."""
    named = [f"g{i:02d}" for i in range(groups) for _ in range(each)]
    frames = [pd.DataFrame({**columns, "group": named}) for columns in seeds]
    drawn = Resampling.shared([frame[["group"]] for frame in frames])
    return [
        CheckpointData(f"m-seed{i}", "masked", frame, resampling, "m", {"model_seed": i})
        for i, (frame, resampling) in enumerate(zip(frames, drawn, strict=True))
    ]


def claim(column: str = "v", unit: str = "share", **more) -> Claim:
    return Claim("c", "statement", "A", column, {"at": ("x",)}, unit=unit, **more)


# ---------------------------------------------------------------- hand-worked


def test_none_of_nineteen_is_wilsons_interval_and_undecided_at_one_in_ten():
    checkpoints = members({"v": np.zeros(19), "at": np.repeat("x", 19)}, groups=19)
    (row,) = claim_results("p", checkpoints, [claim(direction=Direction.BELOW, threshold=0.1)])
    assert (row.value, row.low) == (0.0, 0.0)
    assert row.high == pytest.approx(Z2 / (19 + Z2))  # 16.8 %
    assert row.verdict == Verdict.UNDECIDED


def test_none_of_sixty_is_below_one_in_ten():
    checkpoints = members({"v": np.zeros(60), "at": np.repeat("x", 60)}, groups=60)
    (row,) = claim_results("p", checkpoints, [claim(direction=Direction.BELOW, threshold=0.1)])
    assert (row.high, row.verdict) == (pytest.approx(Z2 / (60 + Z2)), Verdict.AS_PUBLISHED)  # 6.0 %


def test_a_share_does_not_fall_below_zero():
    """Six groups of two, one yes among twelve: Student's interval alone would end at −0.09."""
    values = np.array([1.0] + [0.0] * 11)
    checkpoints = members({"v": values, "at": np.repeat("x", 12)}, groups=6, each=2)
    (row,) = claim_results("p", checkpoints, [claim(direction=Direction.BELOW, threshold=0.5)])
    assert (row.value, row.low) == (pytest.approx(1 / 12), 0.0)


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, -0.1611, 0.1611), (1.0, 0.6778, 1.0), (-1.0, -1.0, -0.6778)])
def test_a_difference_that_no_resample_moves_has_room_for_the_groups_that_were_not_asked(value, low, high):
    """Twenty groups: at most z² / (20 + z²) = 16.1 % of all groups differ, each by all it can."""
    apart = interval(Spread(value, 0.0, df=19), 20, APART)
    assert (apart.low, apart.high) == pytest.approx((low, high), abs=1e-4)
    assert apart.made_by == "wilson"


def test_accuracy_that_never_changes_does_not_show_that_nothing_hurts():
    ones = np.ones(20)
    frame = {"v": np.concatenate([ones, ones]), "at": np.repeat(["x", "y"], 20)}
    named = [f"g{i:02d}" for i in range(20)] * 2
    table = pd.DataFrame({**frame, "group": named})
    checkpoints = [CheckpointData("m", "masked", table, Resampling.of(table[["group"]]))]
    (row,) = claim_results("p", checkpoints, [claim(minus={"at": ("y",)})])
    assert (row.value, row.low, row.high) == pytest.approx((0.0, -0.1611, 0.1611), abs=1e-4)
    assert row.verdict == Verdict.UNDECIDED


def test_numbers_beyond_all_measure_have_an_interval_and_no_error():
    sample = np.array([1e120, *(1e120 * np.random.default_rng(0).exponential(1, 500))])
    huge = of_checkpoint(Samples(sample[None]), 0, 20, Quantity("ratio", 1.0))
    assert huge.low < 1e120 < huge.high


def test_other_units_keep_an_interval_of_no_width():
    unmoved = interval(Spread(0.4, 0.0, df=19), 20, Quantity("nats", 0.0))
    assert (unmoved.low, unmoved.high, unmoved.p) == (0.4, 0.4, 0.0)


@given(st.floats(-1, 1), st.integers(2, 400), st.floats(-1, 1))
def test_p_and_interval_of_an_unmoved_difference_agree(value, groups, neutral):
    unmoved = Unmoved(value, groups)
    low, high = unmoved.interval()
    assert -1 <= low <= value <= high <= 1
    assert 0 <= unmoved.p(neutral) <= 1
    if min(abs(neutral - low), abs(neutral - high)) > 1e-9:
        assert (unmoved.p(neutral) < 0.05) == (not low <= neutral <= high)


@given(st.integers(2, 400))
def test_an_unmoved_difference_of_one_is_as_wide_as_a_share_of_all(groups):
    """All groups differ: the same numbers as `groups` of `groups`, on a scale twice as long."""
    apart, share = Unmoved(1.0, groups).interval(), interval(Spread(1.0, 0.0), groups, SHARE)
    assert 1 - apart[0] == pytest.approx(2 * (1 - share.low))


# ---------------------------------------------------------------- a claim's number is the estimate's

UNITS = {
    "share": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "probability": lambda rng, n: rng.normal(0.02, 0.1, n),
    "nats": lambda rng, n: rng.exponential(1, n) - 0.5,
    "ratio": lambda rng, n: rng.uniform(0, 2, n),
    "correlation": lambda rng, n: rng.uniform(-0.9, 1, n),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seeds", [1, 2, 5])
@pytest.mark.parametrize(("groups", "each"), [(24, 1), (8, 3)])
def test_claims_and_estimates_have_one_interval(unit, seeds, groups, each):
    n = groups * each
    columns = [
        {"v": UNITS[unit](np.random.default_rng([i, n]), n), "at": np.array(["x", "y"] * (n // 2))}
        for i in range(seeds)
    ]
    checkpoints = members(*columns, groups=groups, each=each)
    threshold = 0.3
    measure = Measure("v", means, ("v",), {"at": "x"}, unit=unit, neutral=threshold)
    for method in ("crossed", "multibootstrap"):
        estimates = estimate("p", checkpoints, [measure], method=method)
        claims = claim_results("p", checkpoints, [claim(unit=unit, threshold=threshold)], method)
        assert [(row.level, row.value, row.low, row.high) for row in estimates] == [
            (row.level, row.value, row.low, row.high) for row in claims
        ]


@given(st.integers(0, 10_000), st.sampled_from([(6, 1), (6, 4), (30, 1)]), st.floats(0, 1), st.sampled_from([1, 3]))
def test_shares_stay_between_none_and_all_and_their_differences_between_minus_one_and_one(seed, size, p, seeds):
    groups, each = size
    rng = np.random.default_rng(seed)
    columns = [
        {"v": (rng.random(groups * each) < p).astype(float), "at": rng.choice(["x", "y"], groups * each)}
        for _ in range(seeds)
    ]
    checkpoints = members(*columns, groups=groups, each=each)
    for row in claim_results("p", checkpoints, [claim()]):
        assert not row.low < 0
        assert not row.high > 1
    for row in claim_results("p", checkpoints, [claim(minus={"at": ("y",)})]):
        assert not row.low < -1
        assert not row.high > 1


@pytest.mark.parametrize("groups", range(2, 60))
def test_the_interval_of_none_or_all_ends_at_the_value(groups):
    """Wilson's formula leaves 2.8e-17 for 0 of 9, and 1 - 1.1e-16 for 10 of 10."""
    for value in (0.0, 1.0):
        low, high = wilson(value, groups)
        assert low <= value <= high
        assert (low if value == 0 else high) == value
