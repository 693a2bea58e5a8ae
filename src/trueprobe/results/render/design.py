"""A plan in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trueprobe.results.render.json import as_text
from trueprobe.results.render.printed import Console, print_lines, text_line
from trueprobe.results.text import design as words
from trueprobe.runs.design import FamilyPlan, NumberPlan


def show(plans: Sequence[FamilyPlan], width: float | None, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    for plan in plans:
        for part in _of_family(plan, width):
            console.print(part, soft_wrap=isinstance(part, Text))
    print_lines((words.LEGEND, words.WEIGHTED), console)


def _of_family(plan: FamilyPlan, width: float | None) -> Iterator[RenderableType]:
    yield text_line(words.heading(plan), style="bold")
    yield text_line(words.threshold(plan))
    for number in plan.numbers:
        yield text_line("")
        yield text_line(words.number_heading(number), style="bold")
        yield text_line(words.variances(number, plan.basis))
        if number.outlooks:
            yield _table(number)
        yield from map(text_line, _notes(number, width))
    yield text_line("")


def _table(number: NumberPlan) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in words.HEADER:
        table.add_column(name, justify="right", no_wrap=True)
    for one in number.outlooks:
        table.add_row(*map(text_line, words.cells(number, one)))
    return table


def _notes(number: NumberPlan, width: float | None) -> Iterator[str]:
    if number.variances is None:
        return
    if number.crossed:
        yield words.CROSSED
    if number.measure.neutral is None:
        yield words.NO_NEUTRAL
    if number.outlooks[0].seeds < 2:
        yield words.ONE_SEED
    elif not number.variances.knows_seeds:
        yield words.BLIND
    if number.outlooks[0].width_wordings == number.outlooks[0].width_wordings:
        yield words.over_wordings(number)
    if width is not None:
        yield words.wanted(number, width)


def as_json(plans: Sequence[FamilyPlan]) -> str:
    return as_text(list(map(_family, plans)))


def _family(plan: FamilyPlan) -> dict[str, object]:
    basis = plan.basis
    head = {"probe": basis.probe.name, "family": basis.family, "n_seeds": basis.n_seeds, "source": basis.source}
    head |= {"n_items": len(basis.items), **asdict(basis.cost), "n_list": plan.n_list, "alpha": plan.alpha}
    return {**head, "numbers": [_number(number) for number in plan.numbers]}


def _number(number: NumberPlan) -> dict[str, object]:
    return {
        "number": number.name,
        "unit": number.measure.unit.value,
        "effect": number.effect,
        "variances": asdict(number.variances) if number.variances else None,
        "designs": [asdict(one) for one in number.outlooks],
        "wanted": asdict(number.wanted) if number.wanted else None,
        "seeds_wanted": number.seeds_wanted,
    }
