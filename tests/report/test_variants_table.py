"""One probe in two ways, in the report and in the summary of a run."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from rich.console import Console

import made_runs
from trueprobe.report import trust
from trueprobe.report.reading import Reading
from trueprobe.store import load_run
from trueprobe.summary import MOST_LINES, show

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
    folder = made_runs.write(tmp_path / "run", CARDS, rows, [])
    told = json.loads((folder / "probes.json").read_text())
    (folder / "probes.json").write_text(json.dumps({**told, "others": told["pairs"]}))
    (folder / "observations/others").mkdir()
    for file in (folder / "observations/pairs").iterdir():
        (folder / "observations/others" / file.name).write_bytes(file.read_bytes())
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


def test_the_summary_names_what_the_choice_moves(run):
    console = Console(width=100, record=True, highlight=False)
    show(run, console)
    lines = console.export_text().splitlines()
    at = lines.index("others less pairs; undecided: 1, not applicable: 1")
    assert lines[at + 1 : at + 3] == [
        "  holds: preference race (toy)",
        "  holds for this checkpoint: preference race (solo)",
    ]


def test_however_many_probes_and_claims_it_is_thirty_lines(run):
    verdicts = ("as published", "holds", "holds for this checkpoint", "opposite", "flips", "undecided")
    told = json.loads((run.folder / "probes.json").read_text())
    labels = [f"probe{n}" for n in range(9)]
    (run.folder / "probes.json").write_text(json.dumps({**told, **dict.fromkeys(labels, told["pairs"])}))
    for label in labels:
        (run.folder / "observations" / label).symlink_to(run.folder / "observations/pairs")
    claims = [
        made_runs.claim("solo", f"a_claim_with_a_name_{verdict}_{n}", 0.1, verdict, level="checkpoint", probe=label)
        for label in labels
        for verdict in verdicts
        for n in range(4)
    ]
    pd.DataFrame(claims).to_parquet(run.folder / "claims.parquet")
    console = Console(width=100, record=True, highlight=False)
    show(load_run(run.folder), console)
    lines = console.export_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines[:-1])) <= 100  # the last names the folder
    assert "… more of it is on the page, and in claims.csv" in lines
    assert all(any(line.startswith(f"{label}: ") and "undecided: 4" in line for line in lines) for label in labels)
