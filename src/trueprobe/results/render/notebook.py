"""A run in Python: its main findings in a notebook, all findings as a table, its figures as charts, its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from trueprobe.errors import BadInput, nearest
from trueprobe.results.numbers import count
from trueprobe.results.render import files
from trueprobe.results.text import answer as answers
from trueprobe.results.text import findings as words
from trueprobe.results.text import terminal as legends
from trueprobe.results.text import verdicts
from trueprobe.results.view.figures import of_probe_and_its_seeds
from trueprobe.results.view.headline import Answer, FindingsMatrix, matrix
from trueprobe.results.view.number import Finding, Number
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import Run
from trueprobe.runs.schema import frame_of
from trueprobe.statistics.rows import column
from trueprobe.types import ClaimSource, Level, Verdict

if TYPE_CHECKING:
    import altair as alt

    from trueprobe.results.view.pictures import FigureChoice, FigureView, Picture


@dataclass(frozen=True)
class FindingRow:
    """One number of a finding: of a family at its last step, a checkpoint, or a pair of models."""

    probe: str = column("the probe's label; several where a finding takes them together")
    finding: str = column("the statement")
    model: str = column("the family's name, the checkpoint's, or two separated by ` against `")
    value: float = column("the number")
    low: float = column("lower end of the 95 % interval")
    high: float = column("upper end of the 95 % interval")
    unit: str = column("share, probability, nats, rank, …")
    neutral: float | None = column("the value that the number is held against")
    verdict: Verdict = column("the conclusion from the number; controlled together with the other primary numbers")
    covered: float = column("share of the items that hold anything to count; may be unknown")
    n_items: int | None = column("items behind the number; null where a claim combines several measures")
    n_seeds: int = column("seeds behind the number")
    level: Level = column("what the row is about: a checkpoint, a family, or a pair of models")
    name: str = column("the claim's name, or the category")
    paper: str = column("the paper it is from")
    source: ClaimSource = column("of a claim: whether the authors found or expected it")

    @classmethod
    def of(cls, finding: Finding, n: Number) -> FindingRow:
        number = (n.model, n.value, n.low, n.high, n.unit, n.neutral, n.verdict, n.covered, n.n_items, n.n_seeds)
        return cls(words.source_of(finding), finding.statement, *number, n.level, finding.name, finding.paper, n.source)


@dataclass(frozen=True)
class FigureEntry:
    probe: str
    figure: str
    title: str
    choices: str


class RunResults(Run):
    """A run with what is made of it.

    `findings`, `figures`, `plot(probe, figure)` and `report()` are what the page shows; `estimates`, `claims`,
    `observations(probe)`, `items(probe)` and `table(name)` are the tables of its folder."""

    @cached_property
    def _results(self) -> Report:
        return Report.of(self)

    def _repr_html_(self) -> str:
        """The main findings by families, with the key of the marks."""
        return _html(self._results)

    @property
    def findings(self) -> pd.DataFrame:
        """Every finding of every family, unrounded: a row for each number.

        >>> run = trueprobe.load_run("runs/mine")
        >>> list(run.findings.columns)[:6]
        ['probe', 'finding', 'model', 'value', 'low', 'high']
        """
        rows = [FindingRow.of(finding, number) for finding in self._results.findings for number in finding.numbers]
        return frame_of(rows, FindingRow)

    @property
    def figures(self) -> pd.DataFrame:
        """What `plot` can draw: probe, figure, title, and the choices that it takes, the default first.

        >>> run = trueprobe.load_run("runs/mine")
        >>> "margin" in set(run.figures["figure"])
        True
        """
        entries = [
            FigureEntry(probe, figure, view.title, _choices(view.choices))
            for probe in self.declarations
            for figure, view in self._views(probe).items()
        ]
        return pd.DataFrame(entries, columns=["probe", "figure", "title", "choices"])

    def plot(self, probe: str = "", figure: str = "", **choices: str | int) -> alt.FacetChart | alt.LayerChart:
        """A figure of the page as an Altair chart, to change and to save. `figures` lists names and choices. Of several
        panels, `chart.spec.width` is the width of each.

        >>> run = trueprobe.load_run("runs/mine")
        >>> chart = run.plot("counteracts", "margin", k="all").properties(title="Stereotypes")
        >>> chart.save("margin.svg")
        """
        from trueprobe.results.chart import altair_chart

        _refuse_other("probe", probe, list(self.declarations))
        views = self._views(probe)
        _refuse_other(f"figure of {probe}", figure, list(views))
        return altair_chart(_picture(views[figure], choices))

    def report(self) -> Path:
        """Writes the page into the run folder.

        >>> trueprobe.load_run("runs/mine").report().name
        'report.html'
        """
        return files.write(self, files.ReportFormat.HTML)

    def _views(self, probe: str) -> dict[str, FigureView]:
        return {
            view.name.removeprefix(f"{probe}-"): view for view in of_probe_and_its_seeds(self._results.source, probe)
        }


# ---------------------------------------------------------------- choosing a picture


def _refuse_other(what: str, name: str, known: list[str]) -> None:
    """No name asks for what there is."""
    if name not in known:
        wrong = f"there is no {what} '{name}'" if name else f"name a {what}"
        raise BadInput(f"{wrong}{nearest(name, known)}")


def _picture(view: FigureView, choices: Mapping[str, str | int]) -> Picture:
    """The one with these choices, and with those of the first picture for all others."""
    options = {choice.name: [value for value, _ in choice.options] for choice in view.choices}
    for name, value in choices.items():
        _refuse_other(f"choice in '{view.title}'", name, list(options))
        _refuse_other(name, str(value), options[name])
    wanted = {**view.pictures[0].chosen, **{name: str(value) for name, value in choices.items()}}
    picture = next((one for one in view.pictures if one.chosen == wanted), None)
    if picture is None:
        raise BadInput(f"'{view.title}' has no numbers for {', '.join(f'{key}={one}' for key, one in wanted.items())}")
    return picture


# ---------------------------------------------------------------- in a notebook


def _html(report: Report) -> str:
    main = matrix(report)
    answer = f"<p><b>{escape(answers.answer(Answer.of(report), report))}</b></p>"
    trust = "".join(f"<p>{escape(line)}</p>" for line in (answers.limited(report), answers.how_far(report)) if line)
    return f"<div><h4>{escape(words.title(report))}</h4>{answer}{_table(main)}{_key(main)}{trust}</div>"


def _table(main: FindingsMatrix) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in main.families)
    rows = "".join(_row(main, finding) for finding in main.rows)
    return f"<table><thead><tr><th></th><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""


def _row(main: FindingsMatrix, finding: Finding) -> str:
    cells = "".join(_cells(main, finding))
    left = ' style="text-align:left"'  # notebooks set table cells to the right
    against = answers.unit_and_neutral(finding)
    statement = f"{finding.statement} ({against})" if against else finding.statement
    named = f"<td{left}>{escape(words.source_of(finding))}</td><td{left}>{escape(statement)}</td>"
    return f"<tr>{named}{cells}</tr>"


def _cells(main: FindingsMatrix, finding: Finding) -> Iterator[str]:
    for n in main.numbers(finding):
        if n is None:
            yield "<td></td>"
        else:
            yield f'<td title="{escape(verdicts.behind(n))}">{escape(n.text() + n.mark.symbol)}</td>'


def _key(main: FindingsMatrix) -> str:
    lines = (legends.marks_legend(main.key), _more(main.n_findings - len(main.rows)))
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line and main.rows)


def _choices(of: Sequence[FigureChoice]) -> str:
    """`k: 10, 3, all; dominated: all, male`."""
    return "; ".join(f"{choice.name}: {', '.join(value for value, _ in choice.options)}" for choice in of)


def _more(findings: int) -> str:
    if not findings:
        return ""
    return f"{count(findings)} more {'finding' if findings == 1 else 'findings'}: run.findings; the page: run.report()"
