"""Measured coverage and error rates, with fewer runs than the tables of docs/reliability.md."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from trueprobe.types import Verdict

spec = importlib.util.spec_from_file_location("coverage_tool", Path(__file__).parents[2] / "tools" / "coverage.py")
assert spec
assert spec.loader
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("groups", [22, 40, 266])
@pytest.mark.parametrize("data", list(tool.ITEMS))
def test_intervals_over_items_cover(data, groups):
    ours, plain = tool.over_items_coverage(tool.ITEMS[data], groups, 1000)
    assert 0.925 <= ours <= 0.975  # 93.5 to 96.5 %, and what 1,000 runs are unsure of
    assert groups > 40 or plain < ours


def test_plain_shares_and_correlations_cover():
    assert 0.935 <= tool.plain_share_coverage(105, 0.6, 5000) <= 0.965
    assert 0.925 <= tool.correlation_coverage(40, 0.5, 1000) <= 0.975


@pytest.mark.parametrize("mix", list(tool.MIXES))
def test_intervals_over_five_seeds_cover(mix):
    crossed, _ = tool.over_seeds_coverage(mix, 5, 60, 1000)
    assert crossed >= 0.91


def test_the_multi_bootstrap_is_too_narrow_with_three_seeds():
    crossed, multi = tool.over_seeds_coverage("mostly seeds", 3, 60, 500)
    assert multi < 0.88 < crossed


def test_without_an_effect_few_hold_and_with_a_clear_one_all_do():
    none = tool.verdict_rates("no effect, seeds alike", 5, 60, 500)
    clear = tool.verdict_rates("clear effect, seeds alike", 5, 105, 1000)
    torn = tool.verdict_rates("no effect, every seed its own (a flip)", 5, 60, 300)
    assert none[Verdict.HOLDS] <= 0.07
    assert none[Verdict.FLIPS] <= 0.01
    assert clear[Verdict.HOLDS] >= 0.97
    assert torn[Verdict.FLIPS] >= 0.6


def test_permutation_tests_err_one_time_in_twenty():
    assert 0.02 <= tool.swapped_null(22, 500) <= 0.08
    assert 0.02 <= tool.dealt_null(5, 1000) <= 0.07
