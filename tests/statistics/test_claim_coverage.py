"""A number that rests on few of its items decides nothing, however clear those few are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Claim, Measure
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.means import means
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import Direction, Verdict

CLAIM = Claim("lowers", "it lowers", "A", "shift", {"knowledge": ("counter",)}, direction=Direction.BELOW)
COVERED = Claim(**{**vars(CLAIM), "coverage": "compared"})


def frame(clear: int, items: int = 40, kind: str = "counter") -> pd.DataFrame:
    """`clear` items with a large shift, the others with none at all, because they hold nothing to count."""
    covered = np.arange(items) < clear
    shifts = np.where(covered, -0.5 - 0.01 * np.arange(items), 0.0)
    columns = {"condition_knowledge": kind, "group_target": [f"t{i}" for i in range(items)], "why_not": ""}
    ids = {"item": [f"{kind}{i}" for i in range(items)], "part": ""}
    return pd.DataFrame({**ids, **columns, "shift": shifts, "compared": covered.astype(float)})


def data(table: pd.DataFrame, name: str = "m") -> CheckpointData:
    return CheckpointData(name, "masked", table, Resampling.of(table[["group_target"]], 500), name)


def verdict(table: pd.DataFrame, claim: Claim = COVERED) -> Verdict:
    (row,) = claim_results("p", [data(table)], [claim])
    return row.verdict


def test_a_claim_that_rests_on_a_few_items_is_not_decided():
    """8 of 40 with a shift, 32 with exactly none: the interval excludes zero, the coverage is 20 %."""
    assert verdict(frame(8), CLAIM) is Verdict.AS_PUBLISHED
    assert verdict(frame(8)) is Verdict.LOW_COVERAGE


@pytest.mark.parametrize(
    ("clear", "expected"),
    [
        (13, Verdict.LOW_COVERAGE),
        (14, Verdict.BORDERLINE_COVERAGE),
        (20, Verdict.BORDERLINE_COVERAGE),
        (26, Verdict.BORDERLINE_COVERAGE),
        (27, Verdict.AS_PUBLISHED),
        (40, Verdict.AS_PUBLISHED),
    ],
)
def test_a_claim_needs_surely_more_than_half_of_its_items(clear, expected):
    """If half of all items were covered, at most 13 of 40 would be in 1.9 % of cases and at most 14 in 4.0 %, on the
    other side of 2.5 %; and so at least 27, and at least 26."""
    assert verdict(frame(clear)) is expected


def test_every_part_of_a_claim_needs_coverage():
    both = pd.concat([frame(40), frame(10, kind="other")], ignore_index=True)
    claim = Claim(**{**vars(COVERED), "plus": {"knowledge": ("counter", "other")}})
    (row,) = claim_results("p", [data(both)], [claim])
    assert (row.verdict, row.covered) == (Verdict.LOW_COVERAGE, 0.25)
    assert verdict(both) is Verdict.AS_PUBLISHED  # of the covered part alone


def test_a_family_is_counted_without_the_seeds_that_lack_coverage():
    seeds = [data(frame(clear), "m") for clear in (40, 40, 40, 4)]
    row = claim_results("p", seeds, [COVERED])[-1]
    assert (row.n_seeds, row.covered, row.verdict) == (3, 1.0, Verdict.AS_PUBLISHED)
    assert claim_results("p", seeds[3:] * 3, [COVERED])[-1].verdict is Verdict.LOW_COVERAGE


def test_estimates_and_differences_follow_the_same_rule():
    measure = Measure("shift", means, ("shift",), neutral=0.0, coverage="compared")
    (row,) = estimate("p", [data(frame(8))], [measure])
    assert (row.verdict, row.covered) == (Verdict.LOW_COVERAGE, 0.2)
    (row,) = estimate("p", [data(frame(30))], [measure])
    assert (row.verdict, row.covered) == (Verdict.HOLDS_FOR_CHECKPOINT, 0.75)
    none = frame(0).assign(shift=0.0)
    for clear, expected in ((8, Verdict.LOW_COVERAGE), (30, Verdict.LOW_COVERAGE)):  # the other side covers nothing
        sides = Sides.of([data(frame(clear))], [data(none, "n")], ["target"])
        assert compare("p", sides, [measure])[0].verdict is expected


def test_estimates_report_the_interval_of_their_coverage():
    """30 of 40: Clopper and Pearson's ends are 0.588 and 0.873."""
    (row,) = estimate("p", [data(frame(30))], [Measure("shift", means, ("shift",), neutral=0.0, coverage="compared")])
    assert (row.covered, row.covered_low, row.covered_high) == pytest.approx((0.75, 0.588, 0.873), abs=1e-3)


def test_coverage_that_nobody_declares_is_not_known_and_stands_in_no_ones_way():
    (row,) = claim_results("p", [data(frame(40))], [CLAIM])
    assert math.isnan(row.covered)
    assert row.verdict is Verdict.AS_PUBLISHED
