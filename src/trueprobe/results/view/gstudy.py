"""The card of a generalisability study: variances of single answers, and reliability over seeds."""

from __future__ import annotations

import math

from trueprobe.results.numbers import NumberFormat, count
from trueprobe.results.text import gstudy as words
from trueprobe.results.view.number import DASH, Cell, Grid
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.families import at_last_step
from trueprobe.runs.schema import frame_of
from trueprobe.statistics.rows import ItemReliability

_RATIO = NumberFormat.of("ratio", None)


def card(source: ReportSource) -> Grid | None:
    """None where no family has several seeds."""
    every = source.rows(ItemReliability)
    rows = at_last_step(every, source.families, lambda row: row.model)
    if not rows:
        return None
    lines = tuple(_line(row) for row in rows)
    return Grid("reliability", words.TITLE, words.CAPTION, words.HEADER, lines, frame_of(every, ItemReliability))


def _line(row: ItemReliability) -> tuple[Cell, ...]:
    parts = (row.variance_items, row.variance_seeds, row.variance_seeds_by_items)
    total = sum(parts)
    shares = [f"{100 * part / total:.0f}" if total else DASH for part in parts]
    where = ", ".join(value for value in row.conditions.values() if value != "all")
    numbers = (
        *shares,
        _wordings(row),
        _RATIO.number(row.reliability, row.low, row.high),
        words.NEVER if row.seeds_needed is None else count(row.seeds_needed),
        words.NEVER if row.items_needed is None else count(row.items_needed),
    )
    name = f"{row.probe}: {row.measure.replace('_', ' ')}" + (f" ({where})" if where else "")
    return (Cell(name), Cell(row.model), *(Cell(text, True) for text in numbers))


def _wordings(row: ItemReliability) -> str:
    if math.isnan(row.variance_wordings):
        return DASH
    return NumberFormat.of(row.unit, None).sentence(math.sqrt(row.variance_wordings))
