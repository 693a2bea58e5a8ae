"""The report as a file of the run folder: a page, Markdown or JSON. One process at a time writes it."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

from trueprobe.errors import BadInput
from trueprobe.paths import locked, write_text
from trueprobe.results.render import json, markdown
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import Run


class ReportFormat(StrEnum):
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


_TEXTS = {ReportFormat.MARKDOWN: ("report.md", markdown.render), ReportFormat.JSON: ("report.json", json.render)}


class FigureFormat(StrEnum):
    SVG = "svg"
    PNG = "png"


def figure_formats(text: str) -> tuple[FigureFormat, ...]:
    """`svg,png`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := set(names) - set(FigureFormat):
        raise BadInput(f"figures are written as {' or '.join(FigureFormat)}, not as {', '.join(sorted(unknown))}")
    return tuple(map(FigureFormat, names))


def write(run: Run, form: ReportFormat, figures: Collection[FigureFormat] = ()) -> Path:
    """With `figures` (svg, png) a page has its figures and tables as files beside it."""
    if form is ReportFormat.HTML:
        from trueprobe.results.render import page

        return page.write(run, figures)
    if figures:
        raise BadInput(f"figures are written with a page, not with {form.value}")
    name, render = _TEXTS[form]
    with locked(run.folder, "command"):
        write_text(run.folder / name, render(Report.of(run)))
    return run.folder / name
