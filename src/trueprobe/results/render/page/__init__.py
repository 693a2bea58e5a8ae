"""The report as one self-contained page. Made from the run folder alone.

`report.html` needs no network and no other file. On request `figures/` has every figure as SVG or PNG with its data as
CSV, and `tables/` every table as CSV and LaTeX.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from trueprobe import __version__
from trueprobe.paths import locked, write_text, write_whole
from trueprobe.results import charts
from trueprobe.results import text as words
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.render.latex import latex
from trueprobe.results.view import figures
from trueprobe.results.view.answer import Answer
from trueprobe.results.view.findings import silences, tally
from trueprobe.results.view.items import ItemRows
from trueprobe.results.view.matrix import matrix, whole
from trueprobe.results.view.number import Mark
from trueprobe.results.view.pictures import FigureView
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import Run
from trueprobe.types import Outcome

HERE = Path(__file__).parent
WIDE, NARROW = (8, 5), (5, 3)  # rows and columns of the matrix, and on a phone
MOST_ROWS = 10  # of a table; with more it scrolls in its place
STATIC_ROWS = 8  # of items, shown where scripts are off
_LIGHT = {"link": "#005a8c", "good": "#00694c", "bad": "#a94400", "open": "#5c5470", "edge": "#8a939d", "hi": "#ffedc2"}
_LIGHT |= {"good-bg": "#e3f4ec", "bad-bg": "#fdeadd"}
_DARK = {"link": "#7cc7f5", "good": "#45d3a8", "bad": "#ff9a57", "open": "#c3b8e0", "edge": "#6c7681", "hi": "#4d3b0c"}
_DARK |= {"good-bg": "#123a2e", "bad-bg": "#46291a"}
_OUTCOMES = {
    Mark.HOLDS: Outcome.GOOD,
    Mark.NOT_CONTRADICTED: Outcome.OPEN,
    Mark.OPPOSITE: Outcome.BAD,
    Mark.FLIPS: Outcome.BAD,
    Mark.SUGGESTIVE: Outcome.EXPLORATORY,
}


class Export(NamedTuple):
    """A table as the files that people take away."""

    csv: str
    tex: str


@dataclass(frozen=True)
class Content:
    """What the page shows and the files beside it hold."""

    report: Report
    figures: Mapping[str, Sequence[FigureView]]  # of each probe, by its label
    about_seeds: Sequence[FigureView]
    exports: Mapping[str, Export]

    @classmethod
    def of(cls, run: Run) -> Content:
        report = Report.of(run)
        drawn = {label: figures.of_probe(run, label) for label in report.source.labels}
        exports = {grid.name: Export(grid.data.to_csv(index=False), latex(grid)) for grid in report.grids}
        return cls(report, drawn, figures.about_seeds(run), exports)

    @property
    def views(self) -> list[FigureView]:
        return [view for views in (*self.figures.values(), self.about_seeds) for view in views]


def html(run: Run) -> str:
    """The page alone; nothing is written."""
    return _html(Content.of(run))


def write(run: Run, formats: Collection[FigureFormat] = ()) -> Path:
    """DIR/report.html; with formats of figures DIR/figures/ and DIR/tables/ too, which replace earlier ones."""
    path = run.folder / "report.html"
    with locked(run.folder, "command"):
        content = Content.of(run)
        if formats:
            write_whole(run.folder / "figures", lambda at: charts.write_files(content.views, at, formats))
            write_whole(run.folder / "tables", lambda at: _write_tables(content.exports, at))
        write_text(path, _html(content))
    return path


def _write_tables(exports: Mapping[str, Export], folder: Path) -> None:
    folder.mkdir()
    for name, export in exports.items():
        (folder / f"{name}.csv").write_text(export.csv, encoding="utf-8")
        (folder / f"{name}.tex").write_text(export.tex, encoding="utf-8")


def _html(content: Content) -> str:
    report = content.report
    drawn = {label: [charts.page_parts(view) for view in views] for label, views in content.figures.items()}
    about_seeds = [charts.page_parts(view) for view in content.about_seeds]
    every = [part for parts in (*drawn.values(), about_seeds) for part in parts]
    packed = {name: export._asdict() for name, export in content.exports.items()}
    packs = {"exports": charts.pack(packed), **{part.pack_id: part.payload for part in every}}
    packs |= {f"i-{probe.label}": _packed(probe.items) for probe in report.probes if probe.items}
    main = matrix(report, *WIDE)
    numbers = [n for finding in main.rows for n in main.numbers(finding) if n]
    return (
        charts.environment()
        .get_template("report.html")
        .render(
            report=report,
            words=words,
            css=Markup(style() + _text("figures.css")),
            script=Markup(_text("report.js")),
            bundle=Markup(charts.bundle()) if every else "",
            answer=Answer.of(report),
            matrix=main,
            narrow=matrix(report, *NARROW),
            outcome_of=_OUTCOMES,
            covered=any(n.has_coverage for n in numbers),
            sections=[(one, whole(report, one), tally(one.findings)) for one in report.sections if one.findings],
            tally=tally(report.findings),
            silences=silences(report.findings),
            drawn=drawn,
            about_seeds=about_seeds,
            static_rows=STATIC_ROWS,
            most_rows=MOST_ROWS,
            nothing=Outcome.NONE,
            packs={name: Markup(text) for name, text in packs.items()},
            version=__version__,
        )
    )


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def style() -> str:
    """Colours as CSS variables, light and dark, and how text, tables and controls look."""

    def values(colours: dict[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in colours.items())

    light, dark = values({**charts.LIGHT, **_LIGHT}), values({**charts.DARK, **_DARK})
    themes = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return themes + _text("report.css")


def _packed(rows: ItemRows) -> str:
    """Texts once, places as numbers."""
    columns = []
    for column in rows.columns:
        content: dict[str, Any] = {"t": column.title, "k": column.kind}
        if column.kind == "number":
            content |= {"v": column.values, "d": column.digits}
        else:
            codes, distinct = pd.factorize(pd.Series(column.values, dtype=object))
            content |= {"u": list(distinct), "c": codes.tolist()}
        columns.append(content)
    return charts.pack({"n": rows.total, "columns": columns})
