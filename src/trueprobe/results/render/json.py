"""The report as JSON: codes and numbers with the texts that people read, for scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from trueprobe.results.text import answer as answer_words
from trueprobe.results.text import findings as words
from trueprobe.results.text import verdicts
from trueprobe.results.view.findings import Section, tally
from trueprobe.results.view.headline import Answer
from trueprobe.results.view.number import Cell, Display, Finding, Grid, Number
from trueprobe.results.view.report import ProbeReport, Report
from trueprobe.runs.families import Family
from trueprobe.statistics.rows import Estimate

FORMAT = 1


def render(report: Report) -> str:
    return as_text(content(report)) + "\n"


def content(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "title": words.title(report),
        "complete": report.source.complete,
        "answer": _answer(report),
        "families": [_family(family) for family in report.families],
        "missing": [{**_fields(one), "text": words.missing_text(one)} for one in report.missing],
        "plan": asdict(report.plan_check) if report.plan_check else None,
        "tally": tally(report.findings),
        "n_primary": report.n_primary,
        "sections": [_section(section) for section in report.sections],
        "probes": [_probe(probe) for probe in report.probes],
        "trust": [_grid(grid) for grid in report.trust],
        "claims": _grid(report.claims) if report.claims else None,
        "models": _grid(report.models),
        "methods": report.methods,
        "bibtex": report.bibtex,
    }


def findings(report: Report, folder: str) -> str:
    """What `run` prints for scripts: the findings alone, as the report has them."""
    whole = {"format": FORMAT, "folder": folder, "complete": report.source.complete, "tally": tally(report.findings)}
    whole |= {"n_primary": report.n_primary, "sections": [_section(section) for section in report.sections]}
    return as_text(whole)


def flat(report: Report) -> dict[str, float]:
    """Findings as names and numbers, for trackers: `PROBE/MEASURE.WHERE`, and the same with `_low` and `_high`; of
    several models `MODEL/PROBE/…`. What nothing can be concluded from is left out. No name is the beginning of a path
    that another one is: MLflow makes folders of them."""
    findings = [(f, n) for f in report.findings for n in f.numbers if n.display is not Display.NOTHING]
    several = len({n.model for _, n in findings}) > 1
    numbers: dict[str, float] = {}
    for finding, n in findings:
        measure = n.row.measure if isinstance(n.row, Estimate) else finding.name
        pooled = finding.name == measure or set(finding.name.split()) <= {"all"}
        what = measure if pooled else f"{measure}.{'_'.join(finding.name.split())}"
        name = "/".join([*([n.model] if several else []), finding.probe, what])
        ends = {"_low": n.low, "_high": n.high} if n.display is Display.INTERVAL else {}
        numbers |= {name + end: float(value) for end, value in {"": n.value, **ends}.items()}
    return numbers


def _answer(report: Report) -> dict[str, Any]:
    answer = Answer.of(report)
    return {
        "state": answer.state,
        "text": answer_words.answer(answer, report),
        "how_far": answer_words.how_far(report),
        "limited": answer_words.limited(report),
    }


def _fields(value: Any, *without: str) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in without}


def as_text(content: Any) -> str:
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Tuples as lists, NaN as null; an enum is its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, str):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _family(family: Family) -> dict[str, Any]:
    steps = {"steps": family.steps, "last_step": family.last_step}
    return {
        "name": family.name,
        "n_seeds": family.n_seeds,
        "checkpoints": [c.name for c in family.checkpoints],
        **steps,
    }


def _section(section: Section) -> dict[str, Any]:
    scoring = _fields(section.scoring) if section.scoring else None
    findings = [_finding(finding) for finding in section.findings]
    known = {"kind": section.kind, "probes": section.probes, "title": words.section_title(section)}
    return {**known, "scoring": scoring, "fails_gate": section.fails_gate, "findings": findings}


def _finding(finding: Finding) -> dict[str, Any]:
    return {**_fields(finding, "numbers", "templates"), "numbers": [_number(n) for n in finding.numbers]}


def _number(n: Number) -> dict[str, Any]:
    seeds = [_fields(seed) for seed in n.seeds]
    reason = {"reason": n.row.reason} if isinstance(n.row, Estimate) else {}
    texts = {"text": n.text(), "unit_text": n.unit_text(), "verdict_text": verdicts.verdict_text(n.verdict, n.source)}
    return {
        **_fields(n, "format", "row", "seeds"),
        "outcome": n.verdict.outcome,
        **reason,
        **texts,
        "seeds": seeds,
    }


def _probe(probe: ProbeReport) -> dict[str, Any]:
    declared = {name: getattr(probe.declaration, name) for name in ("question", "paper", "does_not_show", "n_items")}
    assessment = probe.declaration.assessment
    declared["assessment"] = _fields(assessment) if assessment else None
    examples = [{"prompt": one.prompt, "answers": one.answers} for one in probe.examples]
    return {"label": probe.label, **declared, "examples": examples, "tables": [_grid(grid) for grid in probe.tables]}


def _grid(grid: Grid) -> dict[str, Any]:
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    return {**_fields(grid, "rows", "data"), "rows": rows}


def _cell(cell: Cell) -> dict[str, Any]:
    """Without what every cell of a text has."""
    mark = {"mark": cell.number.mark, "verdict": cell.number.verdict} if cell.number else {}
    chosen = {name: value for name, value in _fields(cell, "number").items() if name == "text" or value}
    return {**chosen, **mark}
