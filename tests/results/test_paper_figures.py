"""Figures that stand for one of a paper have its axes and series, and every such figure is on the page to compare."""

from __future__ import annotations

import re

import pytest

import made_runs
import paper_figures  # tools/paper_figures.py
from trueprobe import probes
from trueprobe.runs import load_run

DATA = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}, "distractors": {"position": "all"}}
DECLARED = [one for one in paper_figures.PAPER_FIGURES if one.figure != "flips"]


@pytest.mark.parametrize("one", DECLARED, ids=lambda one: f"{one.paper}-{one.figure}")
def test_a_figure_has_the_axes_and_series_of_the_papers(one):
    made = probes.make(one.probe, {**DATA.get(one.probe, {}), **one.settings})
    (figure,) = [figure for figure in made.page.figures if figure.name == one.figure]
    assert (figure.x, figure.series, figure.kind) == (one.x, one.series, one.kind)
    assert figure.y_title
    assert set(one.numbers) <= set(range_of(figure.source))


def test_every_figure_that_stands_for_one_of_a_paper_is_listed():
    standing = {
        (name, figure.name)
        for name in probes.names()
        for figure in probes.make(name, DATA.get(name, {})).page.figures
        if figure.source
    }
    assert standing == {(one.probe, one.figure) for one in DECLARED}


def test_the_page_has_a_row_for_each_and_says_what_a_run_lacks(tmp_path):
    run = load_run(
        made_runs.write(tmp_path / "run", [made_runs.card("m")], [made_runs.estimate("m", "preference", 0.5)])
    )
    html = paper_figures.page(run)
    assert html.count("<tr>") == len(paper_figures.PAPER_FIGURES)
    assert "not in this run" in html


def range_of(source: str) -> list[int]:
    """`figures 2 to 4 of the paper` -> 2, 3, 4."""
    numbers = [int(text) for text in re.findall(r"\d+", source)]
    return list(range(numbers[0], numbers[1] + 1)) if " to " in source else numbers
