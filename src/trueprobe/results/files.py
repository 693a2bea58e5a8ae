"""The report as a file of the run folder: a page, Markdown or JSON. One process at a time writes it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from trueprobe.paths import locked, write_text
from trueprobe.results import json, markdown
from trueprobe.results.report import Report
from trueprobe.runs.folder import Run


class Format(StrEnum):
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


_TEXTS = {Format.MARKDOWN: ("report.md", markdown.render), Format.JSON: ("report.json", json.render)}


def write(run: Run, form: Format) -> Path:
    if form is Format.HTML:
        from trueprobe.results import page

        return page.write(run)
    name, render = _TEXTS[form]
    with locked(run.folder, "command"):
        write_text(run.folder / name, render(Report.of(run)))
    return run.folder / name
