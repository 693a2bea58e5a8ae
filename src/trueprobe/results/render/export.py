"""The findings of a run for use elsewhere: CSV, LaTeX, and a model card with a model-index.

The card's metadata are written by huggingface_hub's own classes. A number that decides nothing is in the card's table,
with the reason, and not in its metadata, where it would be read as a result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from trueprobe.errors import BadInput, nearest, printable
from trueprobe.results.render import markdown
from trueprobe.results.render.latex import latex
from trueprobe.results.render.spreadsheet import csv_text
from trueprobe.results.text import verdicts
from trueprobe.results.view import methods
from trueprobe.results.view.headline import FindingsMatrix, matrix
from trueprobe.results.view.key import Key
from trueprobe.results.view.number import EMPTY, Cell, Display, Finding, Grid, Kind, Number, worded
from trueprobe.results.view.report import Report
from trueprobe.runs.binding import study_lines
from trueprobe.runs.families import Family
from trueprobe.runs.folder import Run
from trueprobe.runs.schema import StudyDescription
from trueprobe.runs.signature import UNKNOWN
from trueprobe.statistics.rows import Estimate
from trueprobe.types import ClaimSource, Unit

_TASKS = {"masked": "fill-mask", "causal": "text-generation", "encoder": "feature-extraction"}  # the hub's names
STUDY_FILE = "study.toml"


def report_of(run: Run) -> Report:
    run.refuse_unfinished("before it is exported")
    return Report.of(run)


# ---------------------------------------------------------------- tables


def csv(report: Report) -> str:
    """One line for each number of each finding, unrounded."""
    return csv_text(findings_grid(report).data)


def tex(report: Report) -> str:
    """Findings down, families across."""
    return latex(findings_grid(report))


def findings_grid(report: Report) -> Grid:
    whole = matrix(report, len(report.findings))
    caption = _findings_caption(whole.key, report.n_primary)
    data = pd.DataFrame([_line(finding, n) for finding in report.findings for n in finding.numbers])
    data = data.astype({"n_items": "Int64"}) if len(data) else data
    return Grid("findings", "Findings", caption, ("finding", *whole.families), tuple(_rows(whole)), data)


def _rows(whole: FindingsMatrix) -> Iterator[tuple[Cell, ...]]:
    probe = ""
    for finding in whole.rows:
        if finding.probe != probe:
            yield (Cell(finding.probe),)
        probe = finding.probe
        yield (Cell(_with_conditions(finding)), *(_cell(n) for n in whole.numbers(finding)))


def _with_conditions(finding: Finding) -> str:
    """`counterexamples lower the margin, k = 10`: a row says at which factors its numbers were counted."""
    return ", ".join([finding.statement, *worded(_conditions(finding.numbers))])


def _conditions(numbers: Sequence[Number]) -> list[tuple[str, str]]:
    """Those that all the numbers share."""
    each = [set(getattr(n.row, "conditions", {}).items()) for n in numbers]
    shared = set.intersection(*each) if each else set()
    first = getattr(numbers[0].row, "conditions", {}) if numbers else {}
    return [(name, value) for name, value in first.items() if (name, value) in shared]


def _cell(n: Number | None) -> Cell:
    if n is None:
        return EMPTY
    return Cell(_with_unit(n), True, outcome=n.verdict.outcome)


def _with_unit(n: Number) -> str:
    """Nats too: a file is read without its page."""
    unit = n.unit_text() or (n.unit.value if n.unit is Unit.NATS and n.display is not Display.NOTHING else "")
    return " ".join(filter(None, (n.text() + n.mark.symbol, unit)))


def _line(finding: Finding, n: Number) -> dict[str, Any]:
    has = n.display is not Display.NOTHING
    ends = (n.low, n.high) if n.display is Display.INTERVAL else (math.nan, math.nan)
    return {
        "probe": finding.probe,
        "kind": finding.kind.value,
        "finding": finding.name,
        "statement": finding.statement,
        "conditions": "; ".join(f"{name}={value}" for name, value in _conditions([n])),
        "direction": finding.direction.value if finding.direction else "",
        "threshold": math.nan if finding.threshold is None else finding.threshold,
        "paper": finding.paper,
        "model": n.model,
        "value": n.value if has else math.nan,
        "low": ends[0],
        "high": ends[1],
        "unit": n.unit.value,
        "verdict": n.verdict.value,
        "n_seeds": n.n_seeds,
        "n_items": n.n_items,
        "covered": n.covered,
        "signature": n.signature or UNKNOWN,
        "source": n.source.value if finding.kind is Kind.CLAIM else "",
    }


def signatures(report: Report) -> str:
    """A line for each probe and kind of model: what all its numbers share."""
    return "".join(
        f"{printable(one)}\n" for probe in report.probes for one in methods.signatures(report.source, probe.label)
    )


# ---------------------------------------------------------------- a model card


def model_card(report: Report, model: str = "") -> str:
    """A YAML head with the model-index, and a section for the card's text."""
    family = family_of(report, model)
    return f"---\n{metadata(report, family)}\n---\n\n" + "\n".join(_section(report, family)) + "\n"


def family_of(report: Report, model: str) -> Family:
    known = {family.name: family for family in report.families}
    if not model and len(known) == 1:
        return report.families[0]
    if model not in known:
        what = f"no model '{model}'" if model else "several models; a card is of one: name it with --model"
        raise BadInput(f"{report.source.run.folder} has {what}{nearest(model, list(known))}")
    return known[model]


def metadata(report: Report, family: Family) -> str:
    from huggingface_hub import ModelCardData

    results = [
        _result(report, family, finding, n)
        for finding, n in numbers_of(report, family)
        if n.display is not Display.NOTHING
    ]
    return str(ModelCardData(model_name=family.name, eval_results=results or None, tags=["trueprobe"]).to_yaml())


def numbers_of(report: Report, family: Family) -> list[tuple[Finding, Number]]:
    return [(f, n) for f in report.findings for n in f.numbers if n.model == family.name and n.level != "pair"]


def _result(report: Report, family: Family, finding: Finding, n: Number) -> Any:
    from huggingface_hub import EvalResult

    entries = {entry.label: entry for entry in report.source.run.manifest.study.probes}
    entry = entries.get(finding.probe)
    return EvalResult(
        task_type=_TASKS[family.cards[0].kind],
        dataset_type=entry.name if entry else finding.probe,
        dataset_name=finding.probe,
        dataset_revision=entry.material_id if entry else None,
        metric_type=n.row.measure if isinstance(n.row, Estimate) else finding.name,
        metric_value=float(n.value),
        metric_name=finding.statement,
        metric_args=_arguments(finding, n),
    )


def _arguments(finding: Finding, n: Number) -> dict[str, Any]:
    """What a reader needs beside the value; an interval only where it says something."""
    ends = {"low": float(n.low), "high": float(n.high), "confidence": 0.95} if n.display is Display.INTERVAL else {}
    held = {} if finding.threshold is None else {"threshold": float(finding.threshold)}
    conditions = n.row.conditions if isinstance(n.row, Estimate) else {}
    where = {"conditions": dict(conditions)} if conditions else {}
    items: dict[str, Any] = {} if n.n_items is None else {"n_items": int(n.n_items)}
    items |= {"source": n.source.value} if n.source is not ClaimSource.FINDING else {}
    behind = {"n_seeds": n.n_seeds, **items, **({"signature": n.signature} if n.signature else {})}
    return {**ends, "unit": n.unit.value, "verdict": n.verdict.value, **held, **where, **behind}


def _section(report: Report, family: Family) -> Iterator[str]:
    numbers = numbers_of(report, family)
    opening = _card_opening(family.name, family.n_seeds, report.n_primary)
    texts = [(f.statement, f"{_with_unit(n)} {verdicts.covered(n)}".rstrip(), verdicts.behind(n)) for f, n in numbers]
    rows = tuple(tuple(map(Cell, row)) for row in texts)
    header = ("finding", "number, 95 % interval", "verdict")
    yield from markdown.grid_lines(Grid("card", "Probed with trueprobe", opening, header, rows, pd.DataFrame()), 2)
    yield from ("### What these numbers do not show", "")
    for probe in report.probes:
        yield f"- {markdown.escaped(f'{probe.label}: {probe.declaration.does_not_show}')}"
    yield from ("", "### How to reproduce", "", markdown.escaped(report.methods), "")
    study = report.source.run.manifest.study
    yield from (*markdown.block("toml", [f"# {STUDY_FILE}", *study_toml(study)]), "")
    version = report.source.run.manifest.versions.get("trueprobe", "")
    yield from markdown.block("sh", list(_reproduce_steps(version)))
    yield from ("", "### BibTeX", "", *markdown.block("bibtex", report.bibtex.rstrip().split("\n")))


def study_toml(study: StudyDescription) -> Iterator[str]:
    """The study as the file that runs it again, with every setting and without the folders of this machine."""
    names = ("models", "limit", "per_group", "dtype", "intervals")
    head = {"title": study.title or None, **{name: getattr(study, name) for name in names}}
    entries = ({"name": one.file or one.name, "label": one.label, "settings": one.settings} for one in study.probes)
    return study_lines(head, entries)


# ---------------------------------------------------------------- words


def _findings_caption(key: Key, n_primary: int) -> str:
    """What is behind the numbers of the table."""
    legend = "; ".join([*verdicts.key_texts(key), f"no mark: {verdicts.NO_MARK}", f"–: {verdicts.NOTHING_TO_COUNT}"])
    return f"Values with 95 % intervals. {verdicts.controlled(n_primary)} {legend}."


def _card_opening(model: str, n_seeds: int, n_primary: int) -> str:
    seeds = f"{n_seeds} seeds" if n_seeds > 1 else "one checkpoint: what another seed would give is not known"
    return f"{model}, {seeds}. {verdicts.controlled(n_primary)}"


def _reproduce_steps(version: str) -> list[str]:
    """From a checkout, as no package index has trueprobe."""
    exact = f" {version}" if re.fullmatch(r"[\w.+!-]+", version) else ""  # it is copied into a shell
    return [f"# in a checkout of trueprobe{exact}", "pip install -c constraints.txt .", f"trueprobe run {STUDY_FILE}"]
