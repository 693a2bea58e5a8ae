"""The report as one self-contained page. Made from the run folder alone.

`report.html` needs no network and no other file. On request `figures/` has every figure as SVG or PNG with its data as
CSV, and `tables/` every table as CSV and LaTeX.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from trueprobe import __version__
from trueprobe.paths import locked, write_text, write_whole
from trueprobe.results import text as words
from trueprobe.results.curve import curve_svg
from trueprobe.results.marks import DARK, LIGHT
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.render.latex import latex
from trueprobe.results.render.page import figures
from trueprobe.results.render.page.audit import payload
from trueprobe.results.render.spreadsheet import csv_text
from trueprobe.results.text import models as model_words
from trueprobe.results.view.audit import Audit
from trueprobe.results.view.findings import silences, tally
from trueprobe.results.view.headline import Answer, matrix, whole
from trueprobe.results.view.items import ItemRows
from trueprobe.results.view.multiverse import curves
from trueprobe.results.view.number import Mark
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import Run
from trueprobe.types import Outcome

HERE = Path(__file__).parent
WIDE, NARROW = (8, 8), (5, 3)  # rows and columns of the matrix, and on a phone
LONGEST_NAME = 24  # characters of a family above its column, over several lines
MOST_ROWS = 10  # of a table; with more it scrolls in its place
MOST_CURVES = 4  # that have a line on the first screen
STATIC_ROWS = 8  # of items, shown where scripts are off
_LIGHT = {"link": "#005a8c", "good": "#00694c", "bad": "#a94400", "open": "#5c5470", "edge": "#8a939d", "hi": "#ffedc2"}
_LIGHT |= {"good-bg": "#e3f4ec", "bad-bg": "#fdeadd"}
_DARK = {"link": "#7cc7f5", "good": "#45d3a8", "bad": "#ff9a57", "open": "#c3b8e0", "edge": "#6c7681", "hi": "#4d3b0c"}
_DARK |= {"good-bg": "#123a2e", "bad-bg": "#46291a"}
_OUTCOMES = {
    Mark.HOLDS: Outcome.GOOD,
    Mark.ALIKE: Outcome.GOOD,
    Mark.NOT_CONTRADICTED: Outcome.OPEN,
    Mark.OPPOSITE: Outcome.BAD,
    Mark.FLIPS: Outcome.BAD,
    Mark.MIXED: Outcome.BAD,
    Mark.SUGGESTIVE: Outcome.EXPLORATORY,
}


class Export(NamedTuple):
    """A table as the files that people take away."""

    csv: str
    tex: str


def html(run: Run) -> str:
    """The page alone; nothing is written."""
    report = Report.of(run)
    return _html(report, _exports(report))


def write(run: Run, formats: Collection[FigureFormat] = ()) -> Path:
    """DIR/report.html; with formats of figures DIR/figures/ and DIR/tables/ too, which replace earlier ones."""
    path = run.folder / "report.html"
    with locked(run.folder, "command"):
        report = Report.of(run)
        exports = _exports(report)
        if formats:
            write_whole(run.folder / "figures", lambda at: figures.write_files(report.figures, at, formats))
            write_whole(run.folder / "tables", lambda at: _write_tables(exports, at))
        write_text(path, _html(report, exports))
    return path


def _exports(report: Report) -> dict[str, Export]:
    return {grid.name: Export(csv_text(grid.data), latex(grid)) for grid in report.grids}


def _write_tables(exports: Mapping[str, Export], folder: Path) -> None:
    folder.mkdir()
    for name, export in exports.items():
        (folder / f"{name}.csv").write_text(export.csv, encoding="utf-8")
        (folder / f"{name}.tex").write_text(export.tex, encoding="utf-8")


def _html(report: Report, exports: Mapping[str, Export]) -> str:
    drawn = {probe.label: [figures.page_parts(view) for view in probe.figures] for probe in report.probes}
    about_seeds = [figures.page_parts(view) for view in report.about_seeds]
    every = [part for parts in (*drawn.values(), about_seeds) for part in parts]
    packed = {name: export._asdict() for name, export in exports.items()}
    packs = {"exports": figures.pack(packed), **{part.pack_id: part.payload for part in every}}
    packs |= {f"i-{probe.label}": _packed(probe.items) for probe in report.probes if probe.items}
    main, audit = matrix(report, *WIDE), Audit(report)
    numbers = [n for finding in main.rows for n in main.numbers(finding) if n]
    return (
        figures.environment()
        .get_template("report.html")
        .render(
            report=report,
            words=words,
            css=Markup(style() + _text("figures.css")),
            script=Markup(_text("report.js") + _text("audit.js")),
            audit=audit,
            behind=lambda: Markup(figures.pack(payload(audit))),  # after all numbers have their place
            about=_about(report),
            bundle=Markup(figures.bundle()) if every else "",
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
            curves=[(curve, Markup(curve_svg(curve))) for curve in curves(report.source.run)],
            most_curves=MOST_CURVES,
            static_rows=STATIC_ROWS,
            most_rows=MOST_ROWS,
            nothing=Outcome.NONE,
            packs={name: Markup(text) for name, text in packs.items()},
            version=__version__,
        )
    )


class FamilyHeading(NamedTuple):
    """A family above its column."""

    name: Markup  # with places to break it
    what: str
    whole: str


def _about(report: Report) -> dict[str, FamilyHeading]:
    names, about = [family.name for family in report.families], {}
    for family, short in zip(report.families, model_words.abbreviated(names, LONGEST_NAME), strict=True):
        name, card, broken = family.name, family.cards[0], Markup("<wbr>").join(model_words.pieces(short))
        about[name] = FamilyHeading(broken, model_words.short(card), f"{name}; {model_words.whole(card)}")
    return about


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def style() -> str:
    """Colours as CSS variables, light and dark, and how text, tables and controls look."""

    def values(colours: dict[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in colours.items())

    light, dark = values({**LIGHT, **_LIGHT}), values({**DARK, **_DARK})
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
    return figures.pack({"n": rows.total, "columns": columns})
