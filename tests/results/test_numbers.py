"""Numbers are written one way: sensible digits, a true minus, no sign on a rounded nothing."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.results.numbers import NumberFormat, several, ticks
from trueprobe.results.text import terminal


@pytest.mark.parametrize(
    ("unit", "neutral", "values", "expected"),
    [
        ("share", None, (0.254, 0.2, 0.31), "25 % [20, 31]"),
        ("share", 0.5, (0.031, 0.02, 0.04), "3.1 % [2.0, 4.0]"),
        ("probability", 0.0, (-0.013, -0.02, -0.006), "−1.3 points [−2.0, −0.6]"),
        ("nats", 0.0, (1.239, 0.5, 2.0), "+1.24 [+0.50, +2.00]"),
        ("ratio", 1.0, (0.5, 0.25, 1.0), "0.50 [0.25, 1.00]"),
        ("ratio", None, (0.0042, 0.0011, 0.0123), "0.004 [0.001, 0.012]"),
        ("d", 0.0, (0.0, -1.0, 1.0), "0.00 [−1.00, +1.00]"),
    ],
)
def test_a_number_with_its_interval(unit, neutral, values, expected):
    assert NumberFormat.of(unit, neutral, values[:1]).sentence(*values) == expected


def test_digits_show_on_which_side_of_zero_an_interval_lies():
    form = NumberFormat.of("probability", 0.0, [0.013])
    assert form.sentence(0.013, 0.0003, 0.026) == "+1.30 points [+0.03, +2.60]"
    assert form.sentence(0.013, -0.0003, 0.026) == "+1.3 points [0.0, +2.6]"


def test_digits_show_how_far_a_small_interval_reaches():
    form = NumberFormat.of("ratio", 0.0)
    assert form.sentence(0.0004, -0.0003, 0.0011) == "0.000 [0.000, +0.001]"
    assert form.sentence(-0.0001, -0.0002, 0.0001) == "−0.0001 [−0.0002, +0.0001]"
    assert form.sentence(0.0, 0.0, 0.0) == "0.00 [0.00, 0.00]"
    assert (
        NumberFormat.of("ratio", None).sentence(0.001, 0.0, 0.002) == "0.00 [0.00, 0.00]"
    )  # no direction, no more digits


def test_no_number_is_a_dash():
    form = NumberFormat.of("share", None)
    assert form.plain(math.nan) == "–"
    assert form.sentence(math.nan) == "no number"


@given(
    st.floats(-1e4, 1e4, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6),
    st.floats(1e-3, 1e4, allow_nan=False),
)
def test_ticks_are_even_and_hold_both_ends(low, width):
    marks = ticks(low, low + width)
    steps = {round(b - a, 9) for a, b in itertools.pairwise(marks)}
    assert marks[0] <= low + 1e-9 * abs(low)
    assert marks[-1] >= low + width - 1e-6 * max(1, abs(low))
    assert 3 <= len(marks) <= 9
    assert max(steps) - min(steps) < 1e-6


@pytest.mark.parametrize(("number", "text"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1200, "1,200 items")])
def test_one_item_is_an_item(number, text):
    assert several(number, "item") == text


def test_lines_of_the_terminal_have_the_singular():
    assert terminal.compared_section("pairs", 1, 1) == "pairs: 1 item in 1 group"
    assert terminal.more_rows(1, 2) == "… and 1 more row, 2 more models: estimates/*.csv"
