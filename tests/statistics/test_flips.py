"""Flips: how many seeds disagree on an item, by hand; agreement against the published formula; the two reasons."""

from __future__ import annotations

from dataclasses import asdict

import krippendorff
import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Flips
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.flips import SeedAnswers, krippendorff_alpha, subsampled
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import FlipShares, FlipStatistic, NearTies

FLIPS = Flips("prefers", "nats", near_tie=0.5, size="tokens")


def answers(prefers: list[list[float]], nats=None, categories=None, tokens=None, probe="p", items=None) -> SeedAnswers:
    """`prefers` [items][seeds]"""
    table = np.array(prefers, dtype=float)
    margins = np.array(nats, dtype=float) if nats is not None else np.where(table > 0.5, 1.0, -1.0)
    n = len(table)
    members = []
    for seed in range(table.shape[1]):
        frame = pd.DataFrame(
            {
                "item": items or [f"i{i}" for i in range(n)],
                "part": "",
                "prefers": table[:, seed],
                "nats": margins[:, seed],
                "tied": np.where(np.isnan(table[:, seed]), np.nan, table[:, seed] == 0.5),
                "category": categories or ["c"] * n,
                "tokens": tokens if tokens is not None else 5.0,
            }
        )
        drawn = Resampling.of(frame[["item"]], 0)
        members.append(CheckpointData(f"m{seed}", "masked", frame, drawn, "m", {"model_seed": seed}))
    return SeedAnswers.of(probe, members, FLIPS)


FIVE = [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]


def over_all(prefers) -> list[FlipShares]:
    """The rows over all categories, with near-ties."""
    rows = answers(prefers).distribution()
    return [row for row in rows if (row.category, row.near_ties) == ("all", NearTies.INCLUDED)]


def test_the_distribution_by_hand():
    rows = over_all(FIVE)
    assert [(row.against, row.share) for row in rows] == [(0, 0.5), (1, 0.25), (2, 0.25)]
    assert {(row.n_items, row.n_seeds, row.flip_rate, row.no_majority) for row in rows} == {(4, 5, 0.5, 0.0)}


def test_where_runs_tie_an_item_may_have_no_majority_and_the_shares_still_sum_to_one():
    rows = over_all([*FIVE[:3], [1, 1, 0, 0, 0.5]])
    assert [*(row.share for row in rows), rows[0].no_majority] == [0.25] * 4
    assert {row.flip_rate for row in rows} == {0.75}


def test_swapping_the_sides_changes_no_flip():
    for there, back in zip(over_all(FIVE), over_all((1 - np.array(FIVE)).tolist()), strict=True):
        assert asdict(there) == pytest.approx(asdict(back))


def test_categories_and_near_ties_have_rows_of_their_own():
    nats = [[2.0] * 5, [0.1, 0.1, -0.1, -0.1, -0.1], [-2, -2, -2, -2, 2], [3.0] * 5]
    rows = answers(FIVE, nats, ["a", "a", "b", "b"]).distribution()
    by = {(row.category, row.near_ties): row for row in rows}
    assert list(by) == [(c, n) for c in ("all", "a", "b") for n in NearTies]
    assert by["a", NearTies.INCLUDED].flip_rate == 0.5
    clear = by["a", NearTies.EXCLUDED]
    assert (clear.n_items, clear.flip_rate) == (1, 0.0)  # a coin flip
    assert by["b", NearTies.EXCLUDED].flip_rate == 0.5  # no coin flip
    assert by["all", NearTies.EXCLUDED].n_items == 3


def test_a_tie_is_an_answer_of_its_own():
    tied = answers([[1, 1, 0.5], [0.5, 0.5, 0.5], [1, 1, 1], [0, 0, 0]])
    assert tied.against_majority.tolist() == [1, 0, 0, 0]


SIX = [*FIVE, [0, 0, 0, 0, 0], [1, 0, 1, 1, 1]]


def test_a_seed_that_surely_answers_mostly_with_ties_or_not_at_all_is_left_out():
    """Six ties of six: if half of the answers were ties, so many would come in 1 of 64 cases."""
    table = np.array(SIX, dtype=float)
    table[:, 1], table[:, 3] = 0.5, np.nan
    left = answers(table.tolist())
    assert left.prefers.tolist() == np.delete(np.array(SIX, dtype=float), [1, 3], axis=1).tolist()


def test_a_seed_of_which_it_is_not_certain_that_it_mostly_ties_stays():
    """Five ties of five come in 1 of 32 cases, more than 2.5 %."""
    table = np.array(SIX[:5], dtype=float)
    table[:, 1] = 0.5
    assert answers(table.tolist()).seeds == 5


def test_fewer_than_two_seeds_that_answer_have_no_flips():
    assert answers([[1, 0.5]] * 3 + [[0, 0.5]] * 3) is None
    assert answers([[1, np.nan]] * 6) is None


def test_only_items_that_all_seeds_scored_are_counted():
    assert len(answers([[1, np.nan], [1, 0]]).items) == 1


def test_the_most_flipping_items_come_first_and_steady_ones_not_at_all():
    nats = [[1.0] * 5, [1, 1, -1, -1, -1], [-1, -1, -1, -1, 9], [1.0] * 5]
    rows = answers(FIVE, nats).most_flipping()
    assert [(row.item, row.against, row.prefer) for row in rows] == [("i1", 2, 2), ("i2", 1, 1)]
    assert rows[0].mean_margin == pytest.approx(-0.2)


def test_agreement_by_hand():
    """Four units, two raters: 1-1, 0-0, 1-0, 0-0. Observed 2 · 1 / 8, expected 2 · 3 · 5 / (8 · 7)."""
    table = np.array([[1, 1], [0, 0], [1, 0], [0, 0]], dtype=float)
    assert krippendorff_alpha(table) == pytest.approx(1 - (2 / 8) / (30 / 56))
    assert krippendorff_alpha(np.array([[1.0, 1], [0, 0]])) == 1
    assert np.isnan(krippendorff_alpha(np.ones((3, 2))))
    assert np.isnan(krippendorff_alpha(np.ones((0, 2))))


def test_agreement_is_the_published_one():
    table = np.random.default_rng(0).choice([0, 0.5, 1.0], (50, 5), p=[0.3, 0.1, 0.6])
    theirs = krippendorff.alpha(table.T, level_of_measurement="nominal")
    assert krippendorff_alpha(table) == pytest.approx(theirs)


def test_answers_by_chance_agree_by_chance():
    assert krippendorff_alpha(np.random.default_rng(0).integers(0, 2, (4000, 5)).astype(float)) == pytest.approx(
        0, abs=0.02
    )


def test_items_that_flip_more_when_longer_are_detected_and_others_are_not():
    rng = np.random.default_rng(0)
    tokens = np.repeat(np.arange(4.0, 24), 30)
    chance = np.clip(tokens / 48, 0, 0.5)[:, None]
    longer = answers((rng.random((600, 5)) < chance).astype(float).tolist(), tokens=tokens)
    flat = answers((rng.random((600, 5)) < 0.2).astype(float).tolist(), tokens=tokens)
    rows = longer.by_size()
    assert [row.statistic for row in rows[:2]] == [FlipStatistic.FLIP_RATE_BY_SIZE, FlipStatistic.SD_MARGIN_BY_SIZE]
    assert rows[0].low > 0.1
    assert flat.by_size()[0].low < 0 < flat.by_size()[0].high
    quarters = [row for row in rows if row.statistic is FlipStatistic.FLIP_RATE_IN_QUARTER]
    assert [(row.smallest, row.largest) for row in quarters] == [(4, 8), (9, 13), (14, 18), (19, 23)]
    assert [row.value for row in quarters] == sorted(row.value for row in quarters)
    assert answers(FIVE).by_size() == []  # all of one size


def test_a_larger_dataset_is_cut_to_the_smaller_ones_size():
    rng = np.random.default_rng(0)
    large = answers(rng.integers(0, 2, (1000, 5)).tolist(), probe="large")
    small = answers(rng.integers(0, 2, (100, 5)).tolist(), probe="small")
    (row,) = subsampled([large, small])
    assert (row.probe, row.other, row.n_items) == ("large", "small", 100)
    assert row.statistic is FlipStatistic.SD_SEEDS_OF_AS_MANY
    assert row.value == pytest.approx(np.sqrt(0.25 / 100), rel=0.2)  # what 100 coins vary by
    assert row.sd_seeds_whole < row.value
    assert row.low < row.value < row.high
