"""The report in Markdown: the findings, then every table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from trueprobe.results.text import answer as answer_words
from trueprobe.results.text import findings as words
from trueprobe.results.text import methods as method_words
from trueprobe.results.text import planned, verdicts
from trueprobe.results.view.findings import by_outcome, silences, tally
from trueprobe.results.view.headline import Answer
from trueprobe.results.view.number import Cell, Finding, Grid, Number
from trueprobe.results.view.report import ProbeReport, Report
from trueprobe.types import Outcome

_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~!"} | {"\n": " "})


def render(report: Report) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {escaped(words.title(report))}", "", escaped(words.facts(report)), "")
    yield from (f"**{escaped(answer_words.answer(Answer.of(report), report))}**", "")
    for line in filter(None, (answer_words.limited(report), f"{answer_words.HOW_FAR}: {answer_words.how_far(report)}")):
        yield from (escaped(line), "")
    for line in (*planned.lines(report), *words.opening(report), *map(words.missing_text, report.missing)):
        yield from (escaped(line), "")
    counts = (f"{many} {verdicts.outcome_tally(outcome)}" for outcome, many in tally(report.findings).items())
    explained = (verdicts.controlled(report.n_primary), verdicts.list_explained(report.n_primary, report.verdicts_over))
    yield from (escaped("; ".join(counts)), "", escaped(" ".join(filter(None, explained))), "")
    for outcome, findings in by_outcome(report.findings).items():
        yield from (f"## {verdicts.outcome_heading(outcome)}", "", *_findings(report, outcome, findings), "")
    for probe in report.probes:
        yield from _probe(probe)
    others = (*report.trust, *([report.claims] if report.claims else []), report.models)
    for grid in others:
        yield from grid_lines(grid, 2)
    yield from (f"## {method_words.METHODS}", "", escaped(report.methods), "")
    yield from block("bibtex", report.bibtex.rstrip().split("\n"))


def block(language: str, lines: Sequence[str]) -> list[str]:
    """Of code, within more backticks than there are in it."""
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def _findings(report: Report, outcome: Outcome, findings: Sequence[Finding]) -> Iterator[str]:
    if outcome is Outcome.NONE:
        for one in silences(report.findings):
            why = words.silence(one, report.items_needed.get(one.probe, 0))
            yield f"- {escaped(f'{one.model}, {one.probe}: {why}')}"
        return
    for finding in findings:
        numbers = "; ".join(escaped(number_line(n, verdicts.side(finding, n))) for n in finding.numbers)
        neutral = verdicts.neutral(finding)
        statement = f"{finding.statement} ({neutral})" if neutral else finding.statement
        yield f"- **{escaped(statement)}** ({escaped(words.source_of(finding))}): {numbers}"


def number_line(n: Number, side: str = "") -> str:
    """`nursery +3.1 [+1.0, +5.2]* points (5 seeds), holds`; with the side of neutral it is on, where that is named."""
    parts = (n.model, n.text() + n.mark.symbol, n.unit_text(), verdicts.seeds_behind(n), verdicts.covered(n), side)
    return f"{' '.join(filter(None, parts))}, {verdicts.verdict_or_parts(n)}"


def _probe(probe: ProbeReport) -> Iterator[str]:
    declaration = probe.declaration
    yield from (f"## {escaped(probe.label)}", "", escaped(declaration.question), "")
    for one in probe.examples:
        yield from (f"> {escaped(one.prompt)}", "")
    whose = [words.not_theirs(declaration.items_of)] if declaration.items_of else []
    for line in (*whose, *declaration.summary.notes, declaration.does_not_show):
        yield from (escaped(line), "")
    for grid in probe.tables:
        yield from grid_lines(grid, 3)
    if declaration.assessment:
        yield from (f"### {words.ASSESSMENT}", "")
        for title, text in declaration.assessment.parts:
            yield from (f"**{title}.** {escaped(text)}", "")


def grid_lines(grid: Grid, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} {escaped(grid.title)}", "", escaped(grid.caption), "")
    yield _row(map(escaped, grid.header))
    yield _row("--:" if numeric else "---" for numeric in grid.numeric)
    for row in grid.rows:
        empty = [""] * (len(grid.header) - len(row))
        yield _row([*map(_cell, row), *empty])
    yield ""


def _cell(cell: Cell) -> str:
    mark = cell.number.mark.symbol if cell.number and cell.text == cell.number.text() else ""
    text = escaped(cell.text + mark)
    return f"**{text}**" if cell.bold and text else text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    return text.translate(_ESCAPED)
