"""A page that sets our figures beside what the papers draw, figure by figure, to look at.

    python tools/paper_figures.py runs/tour page.html

The left column says in our words what a paper's figure has on its axes, and where ours differs on purpose; the right
column has ours, from a run. tests/results/test_paper_figures.py holds the declarations to the left column.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from trueprobe.results.chart import file_svg
from trueprobe.results.view import ReportSource, figures
from trueprobe.results.view.pictures import FigureView
from trueprobe.runs.folder import Run, load_run


@dataclass(frozen=True)
class PaperFigure:
    paper: str
    numbers: tuple[int, ...]
    probe: str
    figure: str  # of the probe's declaration, or `flips`
    x: str
    series: str
    kind: str
    drawn: str  # by the paper
    ours: str = "as the paper"
    settings: dict[str, str] = field(default_factory=dict)


_KINDS = (
    "one column for each kind of knowledge, one panel for each model; figure 2 counts the top 3, figure 3 the top 5, "
)
_KINDS += "figure 4 the top 10"
_CURVES = "one line for each model along 0 to 3 attractors; panels for several people and for one person"
_DOWN = "kinds of knowledge go down, with intervals; the depth is chosen in a menu"
PAPER_FIGURES = (
    PaperFigure("A, version 1", (2, 3, 4), "counteracts", "groups", "knowledge", "measure", "dots",
                f"Probability of female (blue) and male (orange) words: {_KINDS}.", _DOWN),
    PaperFigure("A, version 2", (2, 3, 4), "counteracts", "preference", "knowledge", "side", "dots",
                f"The two's difference, blue where male words are likelier, else orange: {_KINDS}.", _DOWN),
    PaperFigure("B", (2,), "tacit_retrieval", "growth", "properties", "model", "lines",
                "MRR, and beside it the probability of the right concept, along 1 to 10 properties; a line per model.",
                "the two quantities are a choice of a menu; intervals"),
    PaperFigure("B", (3,), "tacit_retrieval", "kinds", "properties", "selection", "lines",
                "(a) MRR of one model along properties: one line for each category of properties, and all together.",
                "a panel for each model"),
    PaperFigure("B", (3,), "tacit_retrieval", "selection", "properties", "selection+order", "lines",
                "(b) MRR of one model along properties: the most and the least frequent ones, in either order.",
                "a panel for each model"),
    PaperFigure("C", (1,), "crows_pairs", "flips", "category", "part", "bars",
                "Share of examples on which 0, 1 or 2 of five seeds differ from the rest, stacked, for each category.",
                "with and without near-ties", {"data": "sample"}),
    PaperFigure("C", (2,), "seat", "clusters", "step", "seed", "lines",
                "Accuracy of clusters along training steps, one line per seed, a dashed line at 0.5."),
    PaperFigure("C", (3,), "seat", "effects", "test", "model", "dots",
                "Effect sizes of each test, one mark per seed, filled where p is below 0.01; a line at 0.",
                "also the mean over seeds with its interval; filled at p ≤ 0.01 and p ≥ 0.99 alike"),
    PaperFigure("D", (1, 6, 7, 8), "distractors", "accuracy", "attractors", "model", "lines",
                f"Accuracy: {_CURVES}. Figure 1 merges both related kinds, 6 and 7 have one each, 8 unrelated ones.",
                "the kind of attractor is chosen in a menu; intervals"),
    PaperFigure("D", (2, 3), "distractors", "relative_probability", "attractors", "model", "lines",
                f"Probability relative to that without attractors: {_CURVES}. Figure 2 related, figure 3 unrelated.",
                "the kind of attractor is chosen in a menu; intervals"),
    PaperFigure("D", (4,), "distractors", "accuracy_between", "attractors", "model", "lines",
                "Accuracy along the attractors that stand between the person and the fact.", "intervals",
                {"position": "between"}),
    PaperFigure("D", (5,), "distractors", "accuracy_key_later", "attractors", "model", "lines",
                "Accuracy along the attractors that stand before the person.", "intervals", {"position": "key_later"}),
)  # fmt: skip


def page(run: Run) -> str:
    rows = "".join(_row(run, one) for one in PAPER_FIGURES)
    style = "body{font:15px/1.5 sans-serif;margin:2rem}td{vertical-align:top;padding:1rem;border-top:1px solid #ccc}"
    style += "td:first-child{width:22rem}svg{max-width:100%;height:auto}"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Figures</title><style>{style}</style>'
    return f"{head}<h1>The papers' figures and ours</h1><table>{rows}</table></html>"


def _row(run: Run, one: PaperFigure) -> str:
    numbers = ", ".join(map(str, one.numbers))
    left = f"<b>Paper {one.paper}, figure {numbers}</b><p>{escape(one.drawn)}</p><p>Ours: {escape(one.ours)}.</p>"
    svg = next((file_svg(view.pictures[0]) for view in _views(run, one)), "<i>not in this run</i>")
    return f"<tr><td>{left}</td><td>{svg}</td></tr>"


def _views(run: Run, one: PaperFigure) -> Iterator[FigureView]:
    for label in (label for label, declared in run.declarations.items() if declared.name == one.probe):
        wanted = f"{label}-{one.figure}"
        yield from (view for view in figures.of_probe_and_its_seeds(ReportSource(run), label) if view.name == wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("page", type=Path)
    asked = parser.parse_args()
    asked.page.write_text(page(load_run(asked.run)), encoding="utf-8")
    print(asked.page)


if __name__ == "__main__":
    main()
