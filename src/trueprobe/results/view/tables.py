"""The tables of a probe: its summary, and what it declares of estimates, observations and items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from trueprobe.probes.display import Table, Where, row_names
from trueprobe.results.numbers import NumberFormat, count
from trueprobe.results.text import tables as words
from trueprobe.results.text import verdicts
from trueprobe.results.view.items import CAUSAL_TEXT, answer_text, prompts
from trueprobe.results.view.number import DASH, EMPTY, Cell, Display, Grid, Number, format_of, number, seeds_of
from trueprobe.results.view.select import forms_of, label_of, names_of, titles, where
from trueprobe.results.view.source import ReportSource, where_rows
from trueprobe.runs.families import Family
from trueprobe.runs.schema import frame_of
from trueprobe.statistics.rows import Estimate, grouped
from trueprobe.types import Outcome, Verdict

UNSTABLE_POINTS = 2.5  # of a share in percent: deviations above are bold, as in paper C
NEAR_POINTS = 2.0  # of the neutral point
MOST_ROWS = 80  # examples of items
_GATE = NumberFormat(100, " %", 1, False)


class Placed(NamedTuple):
    """A number with its place in a table."""

    family: Family
    names: tuple[str, ...]  # of its row
    measure: str
    number: Number
    row: Estimate


class FamilyRows(NamedTuple):
    family: Family
    rows: list[Placed]
    fell_back: bool


def tables(source: ReportSource, label: str) -> list[Grid]:
    makers = {"estimates": _estimates, "observations": _observed, "items": _examples}
    declared = [(makers[table.of], table) for table in source.declaration(label).tables]
    every = [
        make(source, label, one)
        for make, table in ((_estimates, summary_table(source, label)), *declared)
        for one in (by_form(source, label, table).values() if make is _estimates else (table,))
    ]
    return [grid for grid in every if grid is not None]


def by_form(source: ReportSource, label: str, table: Table) -> dict[str, Table]:
    """A table for each form in which families were asked or scored, where these differ, by the form's name; the table
    itself under no name where they do not."""
    parts = family_rows(source, label, table)
    rows = [(part.family.name, placed.row) for part in parts for placed in part.rows]
    depth = source.declaration(label).summary.fallback  # which its heading names
    forms, names = forms_of(rows, (*table.rows, *depth)), names_of(source.declaration(label))
    made = {}
    for values in dict.fromkeys(tuple(row.conditions[form] for form in forms) for _, row in rows) if forms else ():
        chosen = dict(zip(forms, values, strict=True))
        name = ", ".join(label_of(names, form, value) for form, value in chosen.items())
        where = {**table.where, **chosen}
        made[name] = replace(table, name="-".join((table.name, *values)), title=f"{table.title}: {name}", where=where)
    return made or {"": table}


def summary_table(source: ReportSource, label: str) -> Table:
    """The summary, as a table that could have been declared."""
    summary = source.declaration(label).summary
    names = {**names_of(source.declaration(label)), **titles(summary)}
    caption = words.summary_caption(_fixed(summary.where, summary.fallback, summary.where_title))
    keys, measures = summary.row_conditions, tuple(summary.measures)
    return Table("summary", words.SUMMARY_TITLE, caption, "estimates", keys, measures, summary.where, names=names)


def _fixed(where: Where, fallback: Where, title: str) -> list[str]:
    """`top 10`, `direction all`: what a table is fixed at; pooled conditions need no mention."""
    fixed = {key: value for key, value in where.items() if key not in fallback and value != "all"}
    named = [f"{key} {value}" for key, value in fixed.items() if isinstance(value, str)]
    return [title, *named] if title else named


def family_rows(source: ReportSource, label: str, table: Table) -> list[FamilyRows]:
    """The table's numbers of each family that has any; a measure's numbers of one family have one format."""
    parts = []
    for family in source.families:
        selected = source.select(label, family, tuple(table.measures), table.where)
        rows = [row for row in selected.rows if row_names(row.conditions, table.rows) is not None]
        forms = {measure: format_of(same) for measure, same in grouped(rows, lambda row: row.measure).items()}
        placed = [_placed(source, family, row, forms[row.measure], table) for row in rows]
        if placed:
            parts.append(FamilyRows(family, placed, selected.fell_back))
    return parts


def _informative_first(parts: Sequence[FamilyRows]) -> list[FamilyRows]:
    """Families of which most numbers are dashes go behind the others."""

    def mostly_dashes(part: FamilyRows) -> bool:
        return 2 * sum(placed.number.display is Display.NOTHING for placed in part.rows) > len(part.rows)

    return sorted(parts, key=mostly_dashes)


def _placed(source: ReportSource, family: Family, row: Estimate, form: NumberFormat, table: Table) -> Placed:
    names = row_names(row.conditions, table.rows) or ()
    return Placed(
        family, names, row.measure, number(row, family.name, form, seeds_of(source.seed_rows(family, row))), row
    )


def ordered(names: Sequence[tuple[str, ...]], table: Table) -> list[tuple[str, ...]]:
    """The distinct rows in the declared order, then as they come."""
    place = {key: {value: i for i, value in enumerate(table.order.get(key, ()))} for key in table.rows}

    def rank(row: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(place[key].get(value, len(place[key])) for key, value in zip(table.rows, row, strict=True))

    return sorted(dict.fromkeys(names), key=rank)


def cells_of(rows: Sequence[Placed]) -> dict[tuple[tuple[str, ...], str], Number]:
    """By row and measure; where several numbers have one place, the first that shows something."""
    cells: dict[tuple[tuple[str, ...], str], Number] = {}
    for placed in rows:
        key = (placed.names, placed.measure)
        if key not in cells or cells[key].display is Display.NOTHING:
            cells[key] = placed.number
    return cells


def _estimates(source: ReportSource, label: str, table: Table) -> Grid | None:
    return over_seeds(source, label, table) if table.seeds else by_family(source, label, table)


def by_family(source: ReportSource, label: str, table: Table) -> Grid | None:
    """Conditions down, measures across, one family after the other."""
    parts = _informative_first(family_rows(source, label, table))
    every = [placed for part in parts for placed in part.rows]
    if all(placed.number.display is Display.NOTHING for placed in every):
        return None
    measures = [name for name in table.measures if any(placed.measure == name for placed in every)]
    summary = source.declaration(label).summary
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        heading = words.family_heading(part.family, summary.fallback_title if part.fell_back else "")
        if len(parts) > 1 or heading != part.family.name:
            rows.append((Cell(heading),))
        cells = cells_of(part.rows)
        for names in ordered([placed.names for placed in part.rows], table):
            numbers = (cells.get((names, measure)) for measure in measures)
            rows.append((*_row_head(table, names), *(number_cell(n) if n else EMPTY for n in numbers)))
    header = _header(table, *(_measure_title(table, name, every) for name in measures))
    return _grid(label, table, header, rows, frame_of([placed.row for placed in every], Estimate), len(table.rows))


def _row_head(table: Table, names: tuple[str, ...]) -> list[Cell]:
    return [Cell(label_of(table.names, key, name)) for key, name in zip(table.rows, names, strict=True)]


def _header(table: Table, *columns: str) -> tuple[str, ...]:
    return (*(label_of(table.names, "", key) for key in table.rows), *columns)


def _measure_title(table: Table, measure: str, rows: Sequence[Placed]) -> str:
    """With the unit, where the numbers do not have it behind them."""
    units = [placed.number.unit_text() for placed in rows if placed.measure == measure]
    unit = next(filter(None, units), "")
    return label_of(table.names, "measure", measure) + (f", {unit}" if unit else "")


def _grid(
    label: str,
    table: Table,
    header: tuple[str, ...],
    rows: Sequence[tuple[Cell, ...]],
    data: pd.DataFrame,
    n_factors: int = 0,
) -> Grid:
    texts = (f"{label}-{table.name}", table.title, table.caption)
    return Grid(*texts, header, tuple(rows), data, table.source, n_factors)


class GateFailure(NamedTuple):
    """A checkpoint that fails the summary's gate, and its number there."""

    model: str
    number: Number | None


def gate_failures(source: ReportSource, label: str) -> list[GateFailure]:
    """Of the checkpoints that stand for families."""
    summary, rows = source.declaration(label).summary, source.estimates(label)
    names = [card.name for family in source.families for card in family.checkpoints]
    failing = {row.model for row in where(rows, summary.where) if row.verdict is Verdict.FAILS_GATE}
    gate = {key: value for key, value in summary.gate.items() if key != "measure"}
    behind = [row for row in where(rows, gate) if row.measure == summary.gate.get("measure")] if failing else []
    known = {row.model: number(row, row.model, _GATE) for row in behind if not math.isnan(row.value)}
    return [GateFailure(name, known.get(name)) for name in names if name in failing]


def number_cell(n: Number) -> Cell:
    """Value and interval, with what is behind them; bold where it holds."""
    outcome = None if n.verdict is Verdict.DESCRIPTIVE else n.verdict.outcome
    return Cell(n.text(), True, outcome is Outcome.GOOD, outcome, hint=verdicts.behind(n), number=n)


def over_seeds(source: ReportSource, label: str, table: Table) -> Grid | None:
    """Paper C's table 1: mean ± deviation over seeds, of the families that have several."""
    parts = [part for part in family_rows(source, label, table) if part.family.n_seeds > 1]
    every = [placed for part in parts for placed in part.rows]
    if not every:
        return None
    cells = {part.family.name: cells_of(part.rows) for part in parts}
    columns, rows = list(product(cells, table.measures)), []
    for names in ordered([placed.names for placed in every], table):
        n_items = max(placed.row.n_items for placed in every if placed.names == names)
        numbers = (cells[family].get((names, measure)) for family, measure in columns)
        across = (seeds_cell(n) if n else EMPTY for n in numbers)
        rows.append((*_row_head(table, names), Cell(count(n_items), True), *across))
    several = len(table.measures) > 1
    titled = (f"{f}, {label_of(table.names, 'measure', m)}" if several else f for f, m in columns)
    header = _header(table, words.ITEMS, *titled)
    if any(placed.number.has_coverage for placed in every):
        table = replace(table, caption=words.with_coverage(table.caption))
    return _grid(label, table, header, rows, frame_of([placed.row for placed in every], Estimate), len(table.rows))


def seeds_cell(n: Number) -> Cell:
    """Bold where seeds deviate by more than 2.5 points; shaded where they reach from near neutral to clearly beyond."""
    if n.display is Display.NOTHING or math.isnan(n.sd_seeds):
        return number_cell(n)
    form, scale = replace(n.format, digits=max(1, n.format.digits)), n.format.factor
    percent, covered = scale == 100, verdicts.covered(n, " %")
    away = [(abs(scale * (seed.value - (n.neutral or 0))), seed.holds) for seed in n.seeds]
    near = any(far <= NEAR_POINTS for far, _ in away)
    beyond = any(far > NEAR_POINTS and holds for far, holds in away)
    return Cell(
        " ".join(filter(None, (f"{form.plain(n.value)} ± {scale * n.sd_seeds:.{form.digits}f}", covered))),
        numeric=True,
        bold=percent and scale * n.sd_seeds > UNSTABLE_POINTS,
        shaded=percent and near and beyond,
        hint=verdicts.seed_range(n, form),
        number=n,
    )


def _observed(source: ReportSource, label: str, table: Table) -> Grid | None:
    """Distinct values down, what each model answered across."""
    rows = where_rows(source.observations(label), table.where)
    needed = (*table.rows, *table.measures, *filter(None, (table.correct,)))
    if rows.empty or not table.rows or any(key not in rows for key in needed):
        return None
    rows = rows[rows["why_not"] == ""]
    distinct = rows.drop_duplicates(list(table.rows))[list(table.rows)]
    if distinct.empty:
        return None
    models = list(dict.fromkeys(rows["model"])) if table.measures else []
    each = rows.drop_duplicates(["model", *table.rows] if models else list(table.rows))
    answers = {tuple(row[key] for key in ("model", *table.rows)): row for row in each.to_dict("records")}
    digits = {name: _digits(distinct[name]) for name in table.rows}
    lines = []
    for names in distinct.itertuples(index=False, name=None):
        head = [_value_cell(table, key, name, digits[key]) for key, name in zip(table.rows, names, strict=True)]
        across = (_answer_cell(answers.get((model, *names)), table) for model in models)
        lines.append((*head, *across))
    columns = ("model" if models else "", *table.rows, *table.measures, table.correct)
    return _grid(label, table, _header(table, *models), lines, each[list(filter(None, columns))])


def _digits(values: pd.Series[Any]) -> int:
    """Of a column of numbers, so that they stand below each other."""
    if not pd.api.types.is_float_dtype(values):
        return 0
    return max((len(f"{value:g}".partition(".")[2]) for value in values.dropna()), default=0)


def _value_cell(table: Table, column: str, value: Any, digits: int) -> Cell:
    if isinstance(value, float):
        return Cell(DASH if math.isnan(value) else f"{value:,.{digits}f}", True)
    return Cell(label_of(table.names, column, value), not isinstance(value, str))


def _answer_cell(row: Mapping[Any, Any] | None, table: Table) -> Cell:
    if row is None:
        return Cell(DASH, outcome=Outcome.NONE)
    text = ", ".join(answer_text(row[measure]) for measure in table.measures)
    if not table.correct:
        return Cell(text)
    correct = row[table.correct] == 1
    return Cell(f"{text} {'✓' if correct else '✗'}", outcome=Outcome.GOOD if correct else Outcome.BAD)


def _examples(source: ReportSource, label: str, table: Table) -> Grid | None:
    """The first item of each combination."""
    items = where_rows(source.items(label), table.where)
    if items.empty or any(key not in items for key in table.rows):
        return None
    items = items.drop_duplicates(list(table.rows))
    asked = prompts(source, items)
    names = [tuple(map(str, row)) for row in items[list(table.rows)].itertuples(index=False, name=None)]
    texts = dict(zip(names, zip(*asked.values(), strict=True), strict=True))
    rows = [(*_row_head(table, one), *map(Cell, texts[one])) for one in ordered(names, table)[:MOST_ROWS]]
    called = label_of(table.names, "", "text")
    header = _header(table, *(f"{called}, {kind}" if kind else called for kind in asked))
    return _grid(label, table, header, rows, items[[*table.rows, *(n for n in ("text", CAUSAL_TEXT) if n in items)]])
