"""Intervals and verdicts err as seldom as docs/reference/coverage.md has it: a few of its cells, with fewer runs.

The cells are those where an earlier rule erred too often. A test fails where the target is missed beyond chance: the
exact binomial bound at 99.9 %.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binom

from bench import verdicts as bench

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "coverage.md"


def measured(table: str, row: tuple[str, ...], column: str, runs: int) -> bench.Measured:
    return bench.find(table, row, column).measure(bench.np.random.default_rng(0), runs)


def at_most(rate: float, percent: float, runs: int) -> bool:
    """Whether a rate in percent may be a chance result of `percent`."""
    return rate * runs / 100 <= binom.ppf(0.999, runs, percent / 100) + 1e-6


SIZES = [
    ("items", ("normal",), "8", 1500),
    ("items", ("exponential",), "22", 1500),
    ("items", ("two halves, drawn within",), "22", 1500),
    ("crossed", ("both matter",), "8 × 40", 1000),
    ("shares", ("share 0.5",), "58", 1000),
    ("seeds", ("normal", "none", "25"), "8", 600),
    ("seeds", ("normal", "large", "3"), "22", 800),
    ("seeds", ("share 0.5", "none", "10"), "22", 600),
    ("seat", ("skewed", "0.6", "8", "0.0"), "25", 500),
    ("swapped", ("normal",), "8", 1500),
    ("swapped", ("exponential values",), "10", 1500),
    ("families", ("10 v 10", "normal, seeds alike"), "8", 800),
    ("contrasts", ("normal, within groups", "5"), "22", 500),
    ("contrasts", ("share, between groups", "1"), "22", 500),
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "row", "column", "runs"), SIZES)
def test_verdicts_without_an_effect_are_rare(table, row, column, runs):
    one = measured(table, row, column, runs)
    assert at_most(one["size"], 5.5, runs)
    assert one["disagree"] == 0  # of interval and p


COVERED = [
    ("items", ("share 0.9, icc 0.5",), "22", 1000),
    ("items", ("share 0.97, icc 0.5",), "58", 1000),
    ("items", ("MRR 0.1",), "58", 1000),
    ("seeds", ("share 0.97", "none", "10"), "22", 800),
    ("seeds", ("MRR 0.1", "none", "5"), "22", 800),
    ("seat", ("skewed", "0.9", "8", "1.55"), "4", 500),
    ("seat-seeds", ("3", "skewed, seed sd 0.5", "1.55"), "8", 400),
    ("swapped", ("one group of 30",), "8", 1000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "row", "column", "runs"), COVERED)
def test_intervals_hold_the_truth(table, row, column, runs):
    assert at_most(100 - measured(table, row, column, runs)["covers"], 7.0, runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "row", "column", "runs"),
    [
        ("items", ("normal",), "58", 1500),
        ("items", ("correlation 0.5",), "58", 1500),
        ("seeds", ("normal", "none", "10"), "58", 1000),
    ],
)
def test_intervals_of_continuous_measures_are_not_too_wide(table, row, column, runs):
    assert not at_most(100 - measured(table, row, column, runs)["covers"], 2.0, runs)


@pytest.mark.slow
def test_a_family_holds_or_flips_wherever_its_interval_excludes_neutral():
    none = measured("verdicts", ("no effect, seeds alike",), "5", 800)
    assert at_most(none["holds"], 5.5, 800)
    assert at_most(none["flips"], 1.0, 800)
    clear = measured("verdicts", ("effect of 1.3 seed sd, seeds precise",), "9", 400)
    assert clear["kept"] == 100
    assert clear["holds"] >= 50
    torn = measured("verdicts", ("no effect, every seed its own (a flip)",), "10", 300)
    assert torn["flips"] >= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "row", "column"),
    [
        ("list", "24 null rows", "8"),
        ("list", "24 null rows; the others are families of two seeds", "24"),
        ("discoveries", "30 families, seed sd 3 item se", "0% true"),
    ],
)
def test_a_list_without_effects_seldom_has_a_finding(table, row, column):
    assert at_most(measured(table, (row,), column, 200)["false"], 5.5, 200)


@pytest.mark.slow
def test_primary_seat_tests_are_corrected_once():
    once = measured("discoveries", ("10 SEAT tests of 30 rows",), "50% true", 150)
    twice = measured("discoveries", ("the same, if corrected twice",), "50% true", 150)
    assert once["power"] > twice["power"] + 15


@pytest.mark.slow
def test_noise_of_fewer_items_is_no_variance_over_seeds():
    assert at_most(measured("varies", ("seeds alike",), "5", 500)["published"], 2.75, 500)
    assert measured("varies", ("sd 0.08 and 0.02",), "10", 200)["published"] >= 80


def test_kinds_without_opposite_effects_are_seldom_called_mixed():
    assert at_most(measured("verdicts", ("kinds with effects 0.5, 0, 0, 0",), "1", 300)["flips"], 2.5, 300)
    assert measured("verdicts", ("kinds with effects 0.5, -0.5",), "1", 100)["flips"] >= 75


def test_the_share_of_new_seeds_is_covered():
    one = measured("new-seeds", ("normal, 1.3 sd from neutral",), "5", 2000)
    assert at_most(100 - one["covers"], 7.0, 2000)
    assert not at_most(100 - one["covers"], 2.0, 2000)


def test_a_coverage_of_one_half_is_seldom_called_low_or_enough():
    assert at_most(measured("coverage", ("58", "1–9 items, icc 0.3"), "0.50", 1000)["size"], 5.5, 1000)


def test_the_page_has_every_cell_of_the_bench():
    """Otherwise: make bench-verdicts"""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for table in bench.TABLES:
        for row in dict.fromkeys(cell.row for cell in table.cells()):
            assert any(line.startswith(f"| {' | '.join(row)} | ") for line in lines), row
