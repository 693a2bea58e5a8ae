"""Tables: numbers with their digits, LaTeX that compiles, CSV that is not rounded."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd

import made_runs
from trueprobe.probes import Table
from trueprobe.results.render.latex import latex
from trueprobe.results.view import Cell, Grid, ReportSource, tables
from trueprobe.runs import load_run
from trueprobe.types import Outcome, Verdict


def grids(tmp_path, estimates, cards=None, **kwargs):
    folder = made_runs.write(tmp_path / "run", cards or [made_runs.card("toy")], estimates, **kwargs)
    return tables.tables(ReportSource(load_run(folder)), "pairs")


def over_seeds(tmp_path, *values_of_seeds, verdict=Verdict.HOLDS_FOR_CHECKPOINT):
    cards, rows = made_runs.family("toy", 3), []
    for i, values in enumerate(values_of_seeds):
        of_seeds = pd.Series(values)
        rows += [
            made_runs.estimate(c.name, "preference", v, category=f"c{i}", verdict=verdict)
            for c, v in zip(cards, values, strict=True)
        ]
        spread = {"sd_seeds": float(of_seeds.std()), "n_seeds": 3, "level": "family", "category": f"c{i}"}
        rows.append(made_runs.estimate("toy", "preference", float(of_seeds.mean()), **spread))
    table = Table("seeds", "Seeds", "", "estimates", ("category",), ("preference",), seeds=True)
    folder = made_runs.write(tmp_path / "run", cards, rows)
    grid = tables.over_seeds(ReportSource(load_run(folder)), "pairs", table)
    return [row[-1] for row in grid.rows]


def test_deviations_over_two_and_a_half_points_are_bold(tmp_path):
    calm, wild = over_seeds(tmp_path, (0.60, 0.62, 0.64), (0.60, 0.65, 0.70))
    assert (calm.text, calm.bold) == ("62.0 ± 2.0", False)
    assert (wild.text, wild.bold) == ("65.0 ± 5.0", True)


def test_seeds_from_near_neutral_to_clearly_beyond_are_shaded(tmp_path):
    far, reaching = over_seeds(tmp_path, (0.60, 0.62, 0.64), (0.51, 0.55, 0.60))
    assert not far.shaded
    assert reaching.shaded
    (unclear,) = over_seeds(tmp_path / "b", (0.51, 0.55, 0.60), verdict=Verdict.UNDECIDED)
    assert not unclear.shaded


def test_csv_keeps_every_digit(tmp_path):
    value = 0.123456789012
    (grid,) = grids(tmp_path, [made_runs.estimate("toy", "preference", value, category="age")])
    assert grid.rows[0][1].text == "12 % [2, 22]"
    assert grid.rows[0][1].number.value == value
    assert pd.read_csv(io.StringIO(grid.data.to_csv(index=False)))["value"].tolist() == [value]


def test_a_column_has_its_unit_in_the_heading_where_its_numbers_have_none(tmp_path):
    rows = [
        made_runs.estimate("toy", "preference", 0.6, category="age"),
        made_runs.estimate("toy", "ties", 0.02, category="age", unit="probability", neutral=0.0),
    ]
    (grid,) = grids(tmp_path, rows)
    assert grid.header == ("category", "prefers stereotype", "ties, points")


def test_what_is_behind_a_number_is_its_verdict_its_items_and_its_seeds(tmp_path):
    rows = [made_runs.estimate(card.name, "preference", 0.6, category="age") for card in made_runs.family("toy", 3)]
    known = {"level": "family", "n_seeds": 3, "sd_seeds": 0.0312, "n_unscored": 7, "verdict": Verdict.HOLDS}
    rows.append(made_runs.estimate("toy", "preference", 0.6, category="age", **known))
    (grid,) = grids(tmp_path, rows, made_runs.family("toy", 3))
    cell = grid.body[0][1]
    assert (cell.bold, cell.outcome) == (True, Outcome.GOOD)
    assert cell.hint == "holds; 40 items; 7 not scored; 3 seeds, deviation 3.1"


def test_latex_escapes_what_would_break_it():
    cells = (Cell("50_% & {more}\\"), Cell("−1 ± 2", True, bold=True))
    grid = Grid("t", "A & B", "100 %", ("a_b", "n"), ((Cell("of <x>"),), cells), pd.DataFrame())
    text = latex(grid)
    assert r"50\_\% \& \{more\}\textbackslash{}" in text
    assert r"\textbf{$-$1 $\pm$ 2}" in text
    assert r"\begin{tabularx}{\textwidth}{>{\raggedright\arraybackslash}Xr}" in text
    assert r"\caption{A \& B. 100 \%}" in text
    assert r"\textit{of $<$x$>$}" in text
    assert r"a\_b & n \\" in text


def test_a_family_silent_in_the_top_k_is_shown_over_the_whole_list(tmp_path):
    summary = replace(
        made_runs.SUMMARY, where={"k": "10"}, where_title="top 10", fallback={"k": "all"}, fallback_title="all words"
    )
    rows = [
        made_runs.estimate("toy", "preference", 0.5, category="age", k="10", verdict=Verdict.NO_VARIATION),
        made_runs.estimate("toy", "preference", 0.7, category="age", k="all"),
        made_runs.estimate("loud", "preference", 0.8, category="age", k="10"),
        made_runs.estimate("loud", "preference", 0.9, category="age", k="all"),
    ]
    cards = [made_runs.card("toy"), made_runs.card("loud")]
    (grid,) = grids(tmp_path, rows, cards, probe=made_runs.declaration(summary=summary))
    shown = {row[0].text: after[1].text for row, after in zip(grid.rows, grid.rows[1:], strict=False) if len(row) == 1}
    assert shown == {"toy, all words": "70 % [60, 80]", "loud": "80 % [70, 90]"}
    assert grid.caption.startswith("Top 10. ")


def test_answers_of_each_model_are_correct_or_wrong(tmp_path):
    table = Table("base", "Base", "", "observations", ("target",), ("answer",), correct="correct")
    observed = pd.DataFrame(
        [
            made_runs.observation("i0", 1.0, target="Paris", answer="Paris", correct=1.0),
            made_runs.observation("i1", 1.0, target="Jakarta", answer="Lima", correct=0.0),
            made_runs.observation("i2", None, target="Rome", answer=None, correct=None),
        ]
    )
    (grid,) = grids(tmp_path, [], probe=made_runs.declaration(tables=(table,)), observed=observed)
    assert [[cell.text for cell in row] for row in grid.rows] == [["Paris", "Paris ✓"], ["Jakarta", "Lima ✗"]]
    assert [row[1].outcome for row in grid.rows] == [Outcome.GOOD, Outcome.BAD]


def test_one_example_of_each_kind(tmp_path):
    table = Table("sample", "Sample", "", "items", ("category",), order={"category": ("race", "age")})
    (grid,) = grids(tmp_path, [], probe=made_runs.declaration(tables=(table,)))
    assert [[cell.text for cell in row] for row in grid.rows] == [["race", "Item 1 is ___."], ["age", "Item 0 is ___."]]
