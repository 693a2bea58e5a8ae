"""Half of the items tied, or it may be: no number of theirs earns a verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Claim, Measure
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.disagreement import scores
from trueprobe.statistics.estimates import CheckpointData, estimate, unjudged
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import TIED
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.seed_tables import sign_counts
from trueprobe.statistics.variants import variants
from trueprobe.types import Unit, Verdict

GROUPS = 40
V = Measure("v", means, ("v",), unit=Unit.NATS, neutral=0.0)
CLAIM = Claim("c", "statement", "A", "v", {"at": ("x",)}, unit=Unit.NATS)


def members(*tied: float, level: float = 1.0, **columns) -> list[CheckpointData]:
    """One checkpoint per share of ties; every number is clearly above neutral."""
    named = [f"g{i:02d}" for i in range(GROUPS)]
    frames = [
        pd.DataFrame(
            {
                "v": level + np.random.default_rng(i).normal(0, 0.1, GROUPS),
                TIED: (np.arange(GROUPS) < round(share * GROUPS)).astype(float),
                "group": named,
                "group_item": named,
                "item": named,
                "part": "",
                "why_not": "",
                "at": "x",
                **columns,
            }
        )
        for i, share in enumerate(tied)
    ]
    drawn = Resampling.shared([frame[["group"]] for frame in frames])
    return [
        CheckpointData(f"m-seed{i}", "masked", frame, resampling, "m", {"model_seed": i})
        for i, (frame, resampling) in enumerate(zip(frames, drawn, strict=True))
    ]


@pytest.mark.parametrize(
    ("tied", "verdict"),
    [
        (0.0, Verdict.HOLDS_FOR_CHECKPOINT),
        (0.325, Verdict.HOLDS_FOR_CHECKPOINT),
        (0.35, Verdict.BORDERLINE_COVERAGE),
        (0.5, Verdict.BORDERLINE_COVERAGE),
        (0.65, Verdict.BORDERLINE_COVERAGE),
        (0.675, Verdict.LOW_COVERAGE),
    ],
)
def test_surely_more_than_half_of_the_items_tied_is_low_coverage(tied, verdict):
    """Of 40 items: if half of all were ties, 27 or more would come in 1.9 % of cases, 26 or more in 4.0 %."""
    (row,) = estimate("p", members(tied), [V])
    (claim,) = claim_results("p", members(tied), [CLAIM])
    assert row.verdict is verdict
    assert claim.verdict is (Verdict.AS_PUBLISHED if verdict is Verdict.HOLDS_FOR_CHECKPOINT else verdict)


def test_the_share_of_ties_is_beside_the_verdict():
    (row,) = estimate("p", members(0.75), [V])
    assert (row.verdict, row.tied) == (Verdict.LOW_COVERAGE, 0.75)


def test_ties_among_unscored_items_do_not_count():
    checkpoints = members(0.75)
    checkpoints[0].frame.loc[: 0.75 * GROUPS - 1, "v"] = np.nan
    (row,) = estimate("p", checkpoints, [V])
    assert (row.n_items, row.verdict) == (10, Verdict.HOLDS_FOR_CHECKPOINT)


def test_ties_that_are_not_known_are_none():
    (row,) = estimate("p", members(0.75, **{TIED: np.nan}), [V])
    assert row.verdict == Verdict.HOLDS_FOR_CHECKPOINT


def test_a_number_without_a_neutral_point_has_low_coverage_too_but_not_one_about_coverage():
    ties = Measure("ties", means, (TIED,), unit=Unit.SHARE, of_coverage=True)
    plain, of_ties = estimate("p", members(1.0), [Measure("v", means, ("v",), unit=Unit.NATS), ties])
    assert (plain.verdict, of_ties.verdict, of_ties.value) == (Verdict.LOW_COVERAGE, Verdict.DESCRIPTIVE, 1.0)


def test_a_family_is_counted_over_the_seeds_that_are_not_tied():
    rows = estimate("p", members(0.0, 1.0, 0.0, 0.0), [V])
    alone, tied = Verdict.HOLDS_FOR_CHECKPOINT, Verdict.LOW_COVERAGE
    assert [row.verdict for row in rows] == [alone, tied, alone, alone, Verdict.HOLDS]
    assert rows[-1].n_seeds == 3
    claims = claim_results("p", members(0.0, 1.0, 0.0, 0.0), [CLAIM])
    assert (claims[-1].verdict, claims[-1].n_seeds) == (Verdict.AS_PUBLISHED, 3)


def test_a_family_of_ties_has_low_coverage():
    assert estimate("p", members(1.0, 0.9, 0.8), [V])[-1].verdict == Verdict.LOW_COVERAGE
    assert claim_results("p", members(1.0, 0.9, 0.8), [CLAIM])[-1].verdict == Verdict.LOW_COVERAGE


def test_a_difference_from_a_tied_model_holds_nothing():
    for tied, verdict in ((0.0, Verdict.HOLDS_FOR_CHECKPOINT), (0.9, Verdict.LOW_COVERAGE)):
        (one,), (other,) = members(0.0, level=3.0), members(tied)
        (row,) = compare("p", Sides.of([one], [other], ("item",)), [V])
        assert row.verdict is verdict


def test_two_ways_of_asking_of_which_one_ties_show_nothing():
    for tied, verdict in ((0.0, Verdict.HOLDS_FOR_CHECKPOINT), (0.9, Verdict.LOW_COVERAGE)):
        (row,) = variants(("first", "second"), (members(0.0, level=3.0), [V]), (members(tied), [V]))
        assert row.verdict is verdict


def test_a_seed_without_a_number_has_no_sign():
    measure = Measure("v", means, ("v",), unit=Unit.NATS, neutral=0.0, test=lambda *_: 0.001)
    checkpoints = members(0.0, 0.0, 0.0)
    checkpoints[1].frame["v"] = np.nan
    (row,) = sign_counts(unjudged("p", checkpoints, [measure]))
    assert row.n_seeds == 2


def test_a_tied_number_is_no_score_and_no_sign():
    measure = Measure("v", means, ("v",), {}, {"category": "age"}, Unit.NATS, 0.0, test=lambda *_: 0.001)
    for tied, many in ((0.0, 2), (0.9, 0)):
        rows = unjudged("p", members(tied, tied), [measure])
        assert len(sign_counts(rows)) == bool(many)
        assert len([key for key in scores(rows, "v") if key[1] == "checkpoint"]) == many
