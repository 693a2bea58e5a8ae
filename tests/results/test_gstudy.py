"""The card about where single answers vary, as a report has it."""

from __future__ import annotations

import math

import made_runs
from trueprobe.results.view import Report
from trueprobe.runs import load_run
from trueprobe.statistics.rows import ItemReliability

ROW = {"probe": "pairs", "model": "m", "step": None, "measure": "preference", "conditions": {"category": "all"}}
ROW |= {"unit": "share", "n_seeds": 3, "n_items": 40, "n_groups": 40, "reliability": 0.6, "low": 0.4, "high": 0.75}
ROW |= {"variance_items": 0.06, "variance_seeds": 0.02, "variance_seeds_by_items": 0.12, "variance_wordings": math.nan}


def card(folder, **row):
    tables = {ItemReliability: [ItemReliability(**{**ROW, **row})]} if row else {}
    estimates = [made_runs.estimate("m-seed0", "preference", 0.6)]
    made_runs.write(folder, made_runs.family("m", 3), estimates, tables=tables)
    return [grid for grid in Report.of(load_run(folder)).trust if grid.name == "reliability"]


def test_the_card_has_shares_of_variance_reliability_and_what_more_would_take(tmp_path):
    (grid,) = card(tmp_path / "run", seeds_needed=8, items_needed=None)
    texts = [cell.text for cell in grid.rows[0]]
    assert texts[:2] == ["pairs: preference", "m"]
    assert texts[2:6] == ["30", "10", "60", "–"]
    assert texts[6:] == ["0.60 [0.40, 0.75]", "8", "none"]


def test_a_run_without_several_seeds_has_no_card(tmp_path):
    assert card(tmp_path / "run") == []
