"""Tables: numbers with their digits, LaTeX that compiles, CSV that is not rounded."""

from __future__ import annotations

import io
from dataclasses import asdict

import pandas as pd
from trueprobe.results.page.reading import Reading

import made_runs
from trueprobe.probes.display import Table
from trueprobe.results.page import tables
from trueprobe.runs.folder import load_run


def grids(tmp_path, estimates, cards=None, **kwargs):
    folder = made_runs.write(tmp_path / "run", cards or [made_runs.card("toy")], estimates, **kwargs)
    return tables.grids(Reading(load_run(folder)), "pairs")


def over_seeds(tmp_path, *values_of_seeds, verdict="holds for this checkpoint"):
    cards = made_runs.family("toy", 3)
    rows = [
        made_runs.estimate(c["name"], "preference", v, category=f"c{i}", verdict=verdict)
        for i, values in enumerate(values_of_seeds)
        for c, v in zip(cards, values, strict=True)
    ]
    table = Table("seeds", "Seeds", "", "estimates", ("category",), ("preference",), seeds=True)
    folder = made_runs.write(tmp_path / "run", cards, rows)
    grid = tables.over_seeds(Reading(load_run(folder)), "pairs", table)
    return [row[-1] for row in grid.rows]


def test_deviations_over_two_and_a_half_points_are_bold(tmp_path):
    calm, wild = over_seeds(tmp_path, (0.60, 0.62, 0.64), (0.60, 0.65, 0.70))
    assert (calm.text, calm.bold) == ("62.0 ± 2.0", False)
    assert (wild.text, wild.bold) == ("65.0 ± 5.0", True)


def test_seeds_from_near_neutral_to_clearly_beyond_are_marked(tmp_path):
    far, reaching = over_seeds(tmp_path, (0.60, 0.62, 0.64), (0.51, 0.55, 0.60))
    assert far.mark == ""
    assert reaching.mark == "crosses"
    (unclear,) = over_seeds(tmp_path / "b", (0.51, 0.55, 0.60), verdict="undecided")
    assert unclear.mark == ""


def test_csv_keeps_every_digit(tmp_path):
    value = 0.123456789012
    (grid,) = grids(tmp_path, [made_runs.estimate("toy", "preference", value, category="age")])
    assert grid.rows[0][1].text == "12 [2, 22]"
    assert pd.read_csv(io.StringIO(grid.csv()))["value"].tolist() == [value]


def test_latex_escapes_what_would_break_it():
    cells = [tables.Cell("50_% & {more}\\"), tables.Cell("−1 ± 2", "number", bold=True)]
    grid = tables.Grid("t", "A & B", "100 %", ["a_b", "n"], [cells], pd.DataFrame())
    text = grid.latex()
    assert r"50\_\% \& \{more\}\textbackslash{}" in text
    assert r"\textbf{$-$1 $\pm$ 2}" in text
    assert r"\begin{tabular}{lr}" in text
    assert r"\caption{A \& B. 100 \%}" in text


def test_a_family_silent_in_the_top_k_is_shown_over_the_whole_list(tmp_path):
    summary = {**made_runs.SUMMARY, "where": {"k": "10"}}
    rows = [
        made_runs.estimate("toy", "preference", 0.5, category="age", k="10", verdict="not applicable"),
        made_runs.estimate("toy", "preference", 0.7, category="age", k="all"),
        made_runs.estimate("loud", "preference", 0.8, category="age", k="10"),
        made_runs.estimate("loud", "preference", 0.9, category="age", k="all"),
    ]
    cards = [made_runs.card("toy"), made_runs.card("loud")]
    (grid,) = grids(tmp_path, rows, cards, probe=made_runs.told(summary=summary))
    shown = {row[0].text: after[1].text for row, after in zip(grid.rows, grid.rows[1:], strict=False) if len(row) == 1}
    assert {name.partition(",")[0]: text for name, text in shown.items()} == {
        "toy": "70 [60, 80]",
        "loud": "80 [70, 90]",
    }


def test_answers_of_each_model_are_right_or_wrong(tmp_path):
    table = Table("base", "Base", "", "observations", ("target",), ("answer",), right="right")
    seen = pd.DataFrame(
        [
            made_runs.observation("i0", 1.0, target="Paris", answer="Paris", right=1.0),
            made_runs.observation("i1", 1.0, target="Jakarta", answer="Lima", right=0.0),
            made_runs.observation("i2", None, target="Rome", answer=None, right=None),
        ]
    )
    (grid,) = grids(tmp_path, [], probe=made_runs.told(tables=[asdict(table)]), seen=seen)
    assert [[cell.text for cell in row] for row in grid.rows] == [["Paris", "Paris ✓"], ["Jakarta", "Lima ✗"]]


def test_one_example_of_each_kind(tmp_path):
    table = Table("sample", "Sample", "", "items", ("category",), order={"category": ("race", "age")})
    (grid,) = grids(tmp_path, [], probe=made_runs.told(tables=[asdict(table)]))
    assert [[cell.text for cell in row] for row in grid.rows] == [["race", "Item 1 is ___."], ["age", "Item 0 is ___."]]
