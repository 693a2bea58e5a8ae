"""What a notebook shows of a run: its findings as a table."""

from __future__ import annotations

from html import escape

from trueprobe.results.report import Report
from trueprobe.results.view import Finding
from trueprobe.results.words import findings as words
from trueprobe.runs.folder import Run


def html(run: Run) -> str:
    report = Report.of(run)
    names = [family.name for family in report.families]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(_row(finding, names) for finding in report.findings)
    lines = "".join(f"<p>{escape(line)}</p>" for line in (words.facts(report), *words.opening(report)))
    table = f"<table><tr><th></th><th></th>{head}</tr>{rows}</table>"
    return f"<div><h4>{escape(words.title(report))}</h4>{lines}{table}</div>"


def _row(finding: Finding, names: list[str]) -> str:
    """Of pairs of models, the numbers stand in one cell."""
    known = {n.model: escape(n.text() + n.mark.symbol) for n in finding.numbers}
    cells = "".join(f"<td>{known.get(name, '')}</td>" for name in names)
    if finding.of_pairs:
        pairs = "<br>".join(f"{escape(model)}: {text}" for model, text in known.items())
        cells = f'<td colspan="{len(names)}">{pairs}</td>'
    return f"<tr><td>{escape(words.source_of(finding))}</td><td>{escape(finding.statement)}</td>{cells}</tr>"
