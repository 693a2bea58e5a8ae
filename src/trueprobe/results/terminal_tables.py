"""The numbers of one probe in a terminal: a table for each model, or one with a column for each, cut to the room."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trueprobe.results.numbers import Format
from trueprobe.results.select import SILENT, directed, row_keys, titles, where_told
from trueprobe.runs.folder import Run

FEWEST_ROWS = 5
_MARKS = {"holds": "*", "holds for this checkpoint": "*", "flips": "~"}
_MARKS |= {"as published": "*", "not contradicted": "=", "opposite": "!"}  # of claims
_SHORTEST = 8  # of a model's name above its column


@dataclass(frozen=True)
class Setup:
    """What has one table: a checkpoint, or the checkpoints that differ in their seed only."""

    family: str
    models: tuple[str, ...]
    step: int | None = None
    steps: int = 1  # that were asked; this is the last of them

    @property
    def several(self) -> bool:
        return len(self.models) > 1

    @property
    def name(self) -> str:
        """As its rows have it."""
        return self.family if self.several else self.models[0]

    @property
    def title(self) -> str:
        step = "" if self.step is None else f", step {self.step:,}"
        step += f" (the last of {self.steps})" if self.steps > 1 else ""
        return f"{self.family}{step}" + (f", {len(self.models)} seeds" if self.several else "")

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Its own rows of estimates or claims."""
        if not self.several:
            return table[(table["level"] == "checkpoint") & table["model"].isin(self.models)]
        mine = table[(table["level"] == "family") & (table["model"] == self.family)]
        return mine if self.step is None else mine[mine["step"] == self.step]


@dataclass(frozen=True)
class Grid:
    """A table whose first column names the rows."""

    title: str
    columns: dict[str, list[str]]
    intervals: bool = True
    unseen: int = 0  # models that found no room

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def shown(self, lines: int) -> Iterator[RenderableType]:
        """Title and table; where these lines do not hold all rows, marked ones stay first, and the rest is counted."""
        yield Text(self.title)
        room = lines - 2 - bool(self.unseen)
        kept = list(zip(*self.columns.values(), strict=True))
        if len(kept) > room:
            kept = _most_telling(kept, max(FEWEST_ROWS, lines - 3))
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for i, name in enumerate(self.columns):
            first = i == 0
            table.add_column(Text(name), justify="left" if first else "right", no_wrap=True, min_width=6 * first)
        for line in kept:
            table.add_row(*map(Text, line))
        yield table
        more = {"rows": self.rows - len(kept), "models": self.unseen}
        told = [f"{many} more {what}" for what, many in more.items() if many]
        if told:
            yield Text(f"… and {', '.join(told)}: estimates.csv")


def _most_telling(rows: list[tuple[str, ...]], many: int) -> list[tuple[str, ...]]:
    """So many of the rows, in their order: those in which something holds or flips, then the first of the others."""
    marked = [any(cell.endswith(tuple(_MARKS.values())) for cell in row[1:]) for row in rows]
    chosen = sorted(range(len(rows)), key=lambda i: not marked[i])[:many]
    return [rows[i] for i in sorted(chosen)]


@dataclass(frozen=True)
class Number:
    """A number as it stands in a table: with its interval where it has one, and the mark of its verdict."""

    value: str = "–"
    interval: str = ""
    mark: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any], form: Format, interval: bool = True) -> Number:
        """With too few groups for an interval, the value alone."""
        alone = row["verdict"] == "not applicable" and "groups, fewer" in str(row["reason"])
        if math.isnan(row["value"]) or (row["verdict"] in SILENT and not alone):
            return cls()
        suffix = form.suffix if row["unit"] == "share" and not form.signed else ""
        low, high = (row["low"], row["high"]) if not alone else (math.nan, math.nan)
        value, ends = form.parts(float(row["value"]), low, high)
        mark = "" if math.isnan(row["neutral"]) or alone else _MARKS.get(row["verdict"], " ")
        return cls(value + suffix, ends if interval else "", mark)

    @property
    def whole(self) -> str:
        return f"{self.value} {self.interval}{self.mark}" if self.interval else self.short

    @property
    def short(self) -> str:
        return f"{self.value}{self.mark}"


@dataclass(frozen=True)
class _Numbers:
    """One setup's estimates at the conditions of the summary."""

    setup: Setup
    rows: pd.DataFrame
    keys: list[str]
    top: str

    @classmethod
    def of(cls, estimates: pd.DataFrame, summary: dict[str, Any], setup: Setup) -> _Numbers:
        rows, fixed = where_told(setup.rows(estimates), summary["where"]), summary["where"]
        top = f"top {fixed['k']}" if "k" in fixed else ""
        if top and (rows["k"].astype(str) != str(fixed["k"])).any():
            top = f"all listed words: the {top} holds too few"
        keys = row_keys(summary)
        return cls(setup, rows.dropna(subset=keys), keys, top)

    @property
    def names(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(map(tuple, self.rows[self.keys].astype(str).to_numpy())))

    def column(self, measure: str, names: Iterable[tuple[str, ...]], interval: bool) -> list[Number]:
        """What stands in each row; shares and ratios have their interval only where the summary says so."""
        mine = self.rows[self.rows["measure"] == measure].to_dict("records")
        if not mine:
            return [Number() for _ in names]
        unit, neutral = str(mine[0]["unit"]), float(mine[0]["neutral"])
        form = Format.of(unit, neutral, [row["value"] for row in mine])
        interval = interval or not (math.isnan(neutral) or unit in ("share", "ratio", "correlation"))
        found: dict[tuple[str, ...], Number] = {}
        for row in mine:
            name, number = tuple(str(row[key]) for key in self.keys), Number.of(row, form, interval)
            if found.get(name, Number()) == Number():
                found[name] = number
        return [found.get(name, Number()) for name in names]


def each(run: Run, label: str, summary: dict[str, Any], setups: Sequence[Setup]) -> list[Grid]:
    """One table per setup: a condition down, the summary's measures across; those that have anything to show."""
    estimates = run.estimates[run.estimates["probe"] == label]
    found = []
    for numbers in (_Numbers.of(estimates, summary, setup) for setup in setups):
        columns = {summary["row_title"]: [" ".join(name) for name in numbers.names]}
        for column, measure in zip(summary["titles"], summary["measures"], strict=True):
            interval = measure in summary.get("intervals", ())
            cells = [number.whole for number in numbers.column(measure, numbers.names, interval)]
            if set(cells) != {"–"}:
                columns[column] = cells
        if len(columns) > 1 and numbers.names:  # the rows' names alone say nothing
            found.append(Grid(", ".join(filter(None, (numbers.setup.title, numbers.top))), columns))
    return found


def beside(run: Run, label: str, summary: dict[str, Any], setups: Sequence[Setup], width: int) -> Grid | None:
    """One table for all: the measure that tells most, a column for each setup, with intervals where these fit."""
    estimates = run.estimates[run.estimates["probe"] == label]
    numbers = [_Numbers.of(estimates, summary, setup) for setup in setups]
    names = list(dict.fromkeys(name for one in numbers for name in one.names))
    if not names:
        return None
    measure = _telling(summary, pd.concat([one.rows for one in numbers]))
    title = titles(summary)[measure]
    tops: dict[str, list[str]] = {}
    for one in numbers:
        tops.setdefault(one.top, []).append(one.setup.title)
    who = ". ".join(f"{top.replace(': ', ', as ')}: {'; '.join(them)}".removeprefix(": ") for top, them in tops.items())
    first = [" ".join(name) for name in names]
    room = width - max(map(len, [summary["row_title"], *first])) - 1
    asked = {one.setup.family: one.column(measure, names, True) for one in numbers}
    columns, intervals = fitting(asked, room)
    return Grid(f"{title}; {who}", {summary["row_title"]: first} | columns, intervals, len(asked) - len(columns))


def fitting(asked: Mapping[str, Sequence[Number]], room: int) -> tuple[dict[str, list[str]], bool]:
    """A column for each setup as far as there is room; intervals are left out before a setup is."""
    for many in range(len(asked), 0, -1):
        full = list(asked)[:many]
        for whole, names in product((True, False), (full, _cut(full, max(_SHORTEST, room // many - 1)))):
            cells = [[one.whole if whole else one.short for one in mine] for mine in asked.values()]
            columns = dict(zip(names, cells, strict=False))
            if sum(max(map(len, [name, *mine])) + 1 for name, mine in columns.items()) <= room:
                return columns, whole
    return columns, False


def _telling(summary: dict[str, Any], rows: pd.DataFrame) -> str:
    """What the probe shows with an interval; else its first measure with a neutral value; else its first."""
    return [*summary.get("intervals", ()), *directed(rows, summary), *summary["measures"]][0]


def _cut(names: Sequence[str], longest: int) -> list[str]:
    """Models' names that take no more room than this: their beginnings, or their ends, or numbers."""
    starts = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
    ends = [name if len(name) <= longest else f"…{name[len(name) - longest + 1 :]}" for name in names]
    numbered = [f"{i}: {name}"[:longest] for i, name in enumerate(names, 1)]
    return next(cut for cut in (starts, ends, numbered) if len(set(cut)) == len(names))
