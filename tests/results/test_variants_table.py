"""One probe in two ways, in the report and in the summary of a run."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.console import Console
from trueprobe.results.page.reading import Reading

import made_runs
from trueprobe.results.page import trust
from trueprobe.results.terminal import show
from trueprobe.runs.folder import load_run

CARDS = [*made_runs.family("toy", 3), made_runs.card("solo")]


def moved(model, level, category, difference, verdict):
    told = {"first_label": "pairs", "second_label": "others", "model": model, "level": level, "step": None}
    told |= {"measure": "preference", "category": category, "first": 0.5, "second": 0.5 + difference}
    ends = {"difference": difference, "low": difference - 0.02, "high": difference + 0.02}
    return {**told, **ends, "unit": "share", "n_groups": 40, "verdict": verdict}


@pytest.fixture
def run(tmp_path):
    rows = [
        made_runs.estimate(card["name"], "preference", 0.5, category="age", level="checkpoint", reason="")
        for card in CARDS
    ]
    rows += [made_runs.estimate("toy", "preference", 0.5, category="age", level="family", reason="")]
    folder = made_runs.write(tmp_path / "run", CARDS, rows, [], labels=("pairs", "others"))
    table = [
        moved("toy-seed0", "checkpoint", "age", 0.2, "holds for this checkpoint"),
        moved("toy", "family", "age", 0.01, "undecided"),
        moved("toy", "family", "race", 0.1, "holds"),
        moved("solo", "checkpoint", "age", 0.3, "not applicable"),
        moved("solo", "checkpoint", "race", -0.1, "holds for this checkpoint"),
    ]
    pd.DataFrame(table).to_parquet(folder / "variants.parquet")
    return load_run(folder)


def test_the_report_has_families_and_single_models_with_what_holds_first(run):
    (grid,) = [grid for grid in trust.parts(Reading(run))[1] if grid.name == "variants_pairs_others"]
    assert list(grid.header) == ["model", "number", "pairs", "others", "difference", "verdict"]
    lines = [[cell.text for cell in row] for row in grid.rows]
    assert [(line[0], line[1].split("; ")[1], line[5]) for line in lines] == [
        ("toy", "race", "holds"),
        ("solo", "race", "holds for this checkpoint"),
        ("toy", "age", "undecided"),
    ]
    assert lines[0][2:5] == ["50 %", "60 %", "+10 points [+8, +12]"]
    assert len(grid.data) == 5


def test_the_summary_has_a_line_for_what_the_choice_moves(run):
    console = Console(width=100, record=True, highlight=False)
    show(run, console)
    lines = console.export_text().splitlines()
    at = lines.index("others less pairs")
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["age:", "prefers", "stereotype", "+1", "[−1,", "+3]", "–"],
        ["race:", "prefers", "stereotype", "+10", "[+8,", "+12]*", "−10", "[−12,", "−8]*"],
    ]
