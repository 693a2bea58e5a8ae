"""Two models or families in a terminal: the numbers that the summary of a run shows, as differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from trueprobe.probes.display import Summary, row_names
from trueprobe.results.numbers import NumberFormat, p_text
from trueprobe.results.render.fitting import MOST_LINES, WIDEST, Fit, Fitted, Line, Lines, fit_columns, fitted, one_line
from trueprobe.results.render.printed import Console, text_line
from trueprobe.results.text import tables as table_words
from trueprobe.results.text import terminal as words
from trueprobe.results.view.key import Key
from trueprobe.results.view.number import Mark, format_of, mark_of, number
from trueprobe.results.view.select import of_summary, titles
from trueprobe.runs.compare import ModelComparison
from trueprobe.statistics.rows import Difference, Estimate, grouped
from trueprobe.types import NAMED_BY, Verdict


def show(comparison: ModelComparison, path: Path, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    for part in _render(comparison, path, min(console.width, WIDEST)):
        console.print(part, soft_wrap=isinstance(part, Text))


def show_contrasts(rows: Sequence[Estimate], path: Path, console: Console | None = None) -> None:
    """Each model's contrasts: of a family that over its seeds, else those of its checkpoint."""
    console = console or Console(highlight=False)
    whole = {row.family for row in rows if row.level == "family"}
    standing = [row for row in rows if row.level == "family" or row.family not in whole]
    for (label, model, measure), same in grouped(standing, lambda r: (r.probe, r.model, r.measure)).items():
        console.print(text_line(f"{label}, {model}: {measure}", "bold"), soft_wrap=True)
        form = format_of(same, ends=True)
        for row in same:
            made = number(row, row.model, form)
            names = (row.conditions[name] for name in NAMED_BY)
            console.print(text_line(f"  {', '.join(names)}: {made.sentence()}{made.mark.symbol}"), soft_wrap=True)
    console.print(text_line(words.contrasts_legend(str(path))), soft_wrap=True)


def _render(comparison: ModelComparison, path: Path, width: int) -> Iterator[RenderableType]:
    few = comparison.too_few_seeds
    header = words.COMPARED_HEADER
    sections = [
        _section(label, rows, comparison.summaries[label], header)
        for label, rows in grouped(comparison.rows, lambda row: row.probe).items()
    ]
    fit = Fit.of(sections, MOST_LINES - 4 - few - bool(comparison.apart) - bool(comparison.unequal))
    columns, _ = fit_columns(fit.columns(header), width)
    sides = zip((comparison.a, comparison.b), comparison.steps, strict=True)
    yield one_line(words.compared_head(*(table_words.at_step(name, step) for name, step in sides)), width)
    yield from fit.render("", columns, width)
    if comparison.apart:
        yield one_line(words.not_asked_alike(comparison.apart), width)
    if comparison.unequal:
        yield one_line(words.asked_otherwise(comparison.unequal), width)
    key = Key.of(number for line in fit.lines for number in line.numbers)
    others = replace(key, marks=tuple(mark for mark in key.marks if mark is not Mark.HOLDS))
    yield text_line(words.compared_legend(max(comparison.n_seeds) == 1, others))
    if few:
        yield text_line(words.TOO_FEW_SEEDS)
    held = sum(mark_of(row.verdict) is Mark.HOLDS for row in comparison.rows)
    yield text_line(words.compared_total(held, len(comparison.primary), str(path)))


def _section(label: str, rows: list[Difference], summary: Summary, header: tuple[str, ...]) -> Lines:
    selected = [row for row in of_summary(rows, summary) if not row.verdict.inconclusive]
    if not selected:
        return Lines(words.compared_nothing(label, any(row.verdict is Verdict.LOW_COVERAGE for row in rows)), [])
    heading = words.compared_section(label, max(r.n_items for r in selected), max(r.n_groups for r in selected))
    return Lines(heading, [_line(row, summary, header) for row in selected])


def _line(row: Difference, summary: Summary, header: tuple[str, ...]) -> Line:
    names = row_names(row.conditions, summary.row_conditions) or ()
    plain = NumberFormat.of(row.unit, None, [row.a, row.b])
    texts = [plain.sentence(row.a), plain.sentence(row.b), p_text(row.p_corrected), p_text(row.p_permutation)]
    cells: list[Fitted] = [(text, text) for text in texts]
    difference = number(row, "", format_of([row], ends=True))
    cells.insert(2, fitted(difference))
    statement = f"{' '.join(names)}: {titles(summary)[row.measure]}"
    return Line(statement, dict(zip(header, cells, strict=False)), (difference,))
