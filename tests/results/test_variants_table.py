"""One probe in two ways: what the choice moves, in the tables and in the findings."""

from __future__ import annotations

import pytest
from rich.console import Console

import made_runs
from trueprobe.results.render.terminal import show
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.statistics.rows import VariantDifference
from trueprobe.types import Verdict

CARDS = [*made_runs.family("toy", 3), made_runs.card("solo")]


@pytest.fixture
def run(tmp_path):
    rows = [made_runs.estimate(card.name, "preference", 0.5, category="age") for card in CARDS]
    rows += [made_runs.estimate("toy", "preference", 0.5, category="age", level="family")]
    moved = [
        made_runs.choice("toy-seed0", "checkpoint", "age", 0.2, Verdict.HOLDS_FOR_CHECKPOINT),
        made_runs.choice("toy", "family", "age", 0.01, Verdict.UNDECIDED),
        made_runs.choice("toy", "family", "race", 0.1, Verdict.HOLDS),
        made_runs.choice("solo", "checkpoint", "age", 0.3, Verdict.NOTHING_SCORED),
        made_runs.choice("solo", "checkpoint", "race", -0.1, Verdict.HOLDS_FOR_CHECKPOINT),
    ]
    tables = {VariantDifference: moved}
    return load_run(made_runs.write(tmp_path / "run", CARDS, rows, labels=("pairs", "others"), tables=tables))


def test_the_table_has_families_and_single_models_with_what_holds_first(run):
    (grid,) = [grid for grid in Report.of(run).trust if grid.name == "variants_pairs_others"]
    assert grid.header == ("model", "number", "pairs", "others", "difference", "verdict")
    lines = [[cell.text for cell in row] for row in grid.rows]
    assert [(line[0], line[1].split("; ")[1], line[5]) for line in lines] == [
        ("toy", "race", "holds"),
        ("solo", "race", "holds for this checkpoint"),
        ("toy", "age", "undecided"),
    ]
    assert lines[0][2:5] == ["50 %", "60 %", "+10 [+8, +12] points"]
    assert len(grid.data) == 5


def test_the_terminal_has_a_line_for_what_the_choice_moves(run):
    console = Console(width=100, record=True, highlight=False)
    show(run, console)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    at = lines.index("others minus pairs")
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["age:", "prefers", "stereotype", "+1", "[−1,", "+3]", "–"],
        ["race:", "prefers", "stereotype", "+10", "[+8,", "+12]*", "−10", "[−12,", "−8]*"],
    ]
