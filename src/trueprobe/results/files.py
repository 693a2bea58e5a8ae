"""The report as a file of the run folder: a page, Markdown or JSON. One process at a time writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from trueprobe.paths import locked, write_text
from trueprobe.results import json, markdown
from trueprobe.results.report import Report
from trueprobe.runs.folder import Run

_TEXTS = {"markdown": ("report.md", markdown.render), "json": ("report.json", json.render)}


def write(run: Run, form: Literal["html", "markdown", "json"]) -> Path:
    if form == "html":
        from trueprobe.results import page

        return page.write(run)
    name, render = _TEXTS[form]
    with locked(run.folder, "command"):
        write_text(run.folder / name, render(Report.of(run)))
    return run.folder / name
