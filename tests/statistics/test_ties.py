"""More than half of the items tied: no number of theirs earns a verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics.claims import claimed
from trueprobe.statistics.disagreement import scores
from trueprobe.statistics.estimates import CheckpointData, count, find
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import TIED, Claim, Measure
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.signs import significant
from trueprobe.statistics.variants import variants

GROUPS = 40
V = Measure("v", means, ("v",), unit="nats", neutral=0.0)
CLAIM = Claim("c", "says", "A", "v", {"at": ("x",)}, unit="nats")


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
    ("tied", "word"), [(0.0, "holds for this checkpoint"), (0.5, "holds for this checkpoint"), (0.525, "low coverage")]
)
def test_more_than_half_of_the_items_tied_is_low_coverage(tied, word):
    (row,) = count("p", members(tied), [V])
    (claim,) = claimed(members(tied), [CLAIM])
    assert row.verdict == word
    assert claim["verdict"] == {"low coverage": "low coverage"}.get(word, "as published")


def test_the_reason_says_how_many():
    (row,) = count("p", members(0.75), [V])
    assert row.reason == "ties among the scored items: 75 %"


def test_ties_among_unscored_items_do_not_count():
    seen = members(0.75)
    seen[0].frame.loc[: 0.75 * GROUPS - 1, "v"] = np.nan
    (row,) = count("p", seen, [V])
    assert (row.n_items, row.verdict) == (10, "holds for this checkpoint")


def test_ties_that_are_not_known_are_none():
    (row,) = count("p", members(0.75, **{TIED: np.nan}), [V])
    assert row.verdict == "holds for this checkpoint"


def test_a_number_without_a_neutral_point_has_low_coverage_too_but_not_one_about_coverage():
    ties = Measure("ties", means, (TIED,), unit="share", of_coverage=True)
    plain, of_ties = count("p", members(1.0), [Measure("v", means, ("v",), unit="nats"), ties])
    assert (plain.verdict, of_ties.verdict, of_ties.value) == ("low coverage", "descriptive", 1.0)


def test_a_family_is_counted_over_the_seeds_that_are_not_tied():
    rows = count("p", members(0.0, 1.0, 0.0, 0.0), [V])
    assert [row.verdict for row in rows] == [
        *["holds for this checkpoint", "low coverage", "holds for this checkpoint", "holds for this checkpoint"],
        "holds",
    ]
    assert rows[-1].n_seeds == 3
    claims = claimed(members(0.0, 1.0, 0.0, 0.0), [CLAIM])
    assert (claims[-1]["verdict"], claims[-1]["n_seeds"]) == ("as published", 3)


def test_a_family_of_ties_has_low_coverage():
    assert count("p", members(1.0, 0.9, 0.8), [V])[-1].verdict == "low coverage"
    assert claimed(members(1.0, 0.9, 0.8), [CLAIM])[-1]["verdict"] == "low coverage"


def test_a_difference_from_a_tied_model_holds_nothing():
    for tied, word in ((0.0, "holds for this checkpoint"), (0.9, "low coverage")):
        (one,), (other,) = members(0.0, level=3.0), members(tied)
        (row,) = compare(Sides.of([one], [other], ("item",)), [V])
        assert row["verdict"] == word


def test_two_ways_of_asking_of_which_one_ties_show_nothing():
    for tied, word in ((0.0, "holds for this checkpoint"), (0.9, "low coverage")):
        (row,) = variants((members(0.0, level=3.0), [V]), (members(tied), [V]))
        assert row["verdict"] == word


def test_a_seed_without_a_number_has_no_sign():
    measure = Measure("v", means, ("v",), unit="nats", neutral=0.0, test=lambda *_: 0.001)
    seen = members(0.0, 0.0, 0.0)
    seen[1].frame["v"] = np.nan
    (row,) = significant(find("p", seen, [measure]))
    assert row["n_seeds"] == 2


def test_a_tied_number_is_no_score_and_no_sign():
    measure = Measure("v", means, ("v",), {}, {"category": "age"}, "nats", 0.0, test=lambda *_: 0.001)
    for tied, many in ((0.0, 2), (0.9, 0)):
        found = find("p", members(tied, tied), [measure])
        assert len(significant(found)) == bool(many)
        assert len([key for key in scores(found, "v") if key[1] == "checkpoint"]) == many
