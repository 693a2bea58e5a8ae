"""The numbers of one probe in a terminal: a table for each model, or one with a column for each, cut to the room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trueprobe.store import Run, row_keys, where

NOTHING = ["not applicable", "fails the gate"]
FEWEST_ROWS = 5
_MARKS = {"holds": "*", "holds for this checkpoint": "*", "flips": "~"}
_SHORTEST = 8  # of a model's name above its column


@dataclass(frozen=True)
class Setup:
    """What has one table: a checkpoint, or the checkpoints that differ in their seed only."""

    family: str
    models: tuple[str, ...]
    step: int | None = None

    @property
    def several(self) -> bool:
        return len(self.models) > 1

    @property
    def title(self) -> str:
        step = "" if self.step is None else f", step {self.step:,}"
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

    @property
    def wide(self) -> int:
        return sum(max(map(len, [name, *cells])) + 1 for name, cells in self.columns.items())

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
class _Numbers:
    """One setup's estimates at the conditions of the summary."""

    setup: Setup
    rows: pd.DataFrame
    keys: list[str]
    top: str
    digits: int

    @classmethod
    def of(cls, estimates: pd.DataFrame, summary: dict[str, Any], setup: Setup) -> _Numbers:
        found = setup.rows(estimates)
        rows, fixed = where(found, summary["where"]), summary["where"]
        top = f"top {fixed['k']}" if "k" in fixed else ""
        directed = rows[rows["neutral"].notna()]
        if top and (directed["value"].isna() | (directed["verdict"] == "not applicable")).mean() > 0.5:
            rows, top = where(found, {**fixed, "k": "all"}), f"all listed words: the {top} holds too few"
        shown = rows[rows["measure"].isin(summary["measures"]) & rows["neutral"].notna() & (rows["unit"] != "share")]
        keys = row_keys(summary["rows"])
        return cls(setup, rows.dropna(subset=keys), keys, top, 1 if shown["value"].abs().max() > 0.01 else 2)

    @property
    def names(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(map(tuple, self.rows[self.keys].astype(str).to_numpy())))

    def parts(self, measure: str, names: list[tuple[str, ...]], interval: bool) -> list[tuple[str, str, str]]:
        """Value, interval and mark of each row."""
        mine: dict[tuple[str, ...], list[dict[str, Any]]] = {name: [] for name in names}
        for row in self.rows[self.rows["measure"] == measure].to_dict("records"):
            mine[tuple(str(row[key]) for key in self.keys)].append(row)
        return [_parts(rows, self.digits, interval) for rows in mine.values()]


def each(run: Run, label: str, summary: dict[str, Any], setups: Sequence[Setup]) -> list[Grid]:
    """One table per setup: a condition down, the summary's measures across; those that have anything to show."""
    estimates = run.estimates[run.estimates["probe"] == label]
    found = []
    for numbers in (_Numbers.of(estimates, summary, setup) for setup in setups):
        columns = {summary["row_title"]: [" ".join(name) for name in numbers.names]}
        for column, measure in zip(summary["titles"], summary["measures"], strict=True):
            parts = numbers.parts(measure, numbers.names, measure in summary.get("intervals", ()))
            cells = [_cell(part) for part in parts]
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
    title = dict(zip(summary["measures"], summary["titles"], strict=True))[measure]
    tops: dict[str, list[str]] = {}
    for one in numbers:
        tops.setdefault(one.top, []).append(one.setup.title)
    who = ". ".join(f"{top.replace(': ', ', as ')}: {'; '.join(them)}".removeprefix(": ") for top, them in tops.items())
    parts = {one.setup.family: one.parts(measure, names, True) for one in numbers}
    first = {summary["row_title"]: [" ".join(name) for name in names]}
    for many in range(len(parts), 0, -1):
        kept = dict(list(parts.items())[:many])
        for cell in (_cell, _without_interval):
            columns = first | {model: list(map(cell, mine)) for model, mine in kept.items()}
            grid = Grid(f"{title}; {who}", _headed(columns, width), cell is _cell, len(parts) - many)
            if grid.wide <= width:
                return grid
    return grid


def _telling(summary: dict[str, Any], rows: pd.DataFrame) -> str:
    """What the probe shows with an interval; else its first measure with a neutral value; else its first."""
    directed = [m for m in summary["measures"] if rows.loc[rows["measure"] == m, "neutral"].notna().any()]
    return [*summary.get("intervals", ()), *directed, *summary["measures"]][0]


def _headed(columns: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """The columns, with models' names cut where they would take more room than there is."""
    first, *names = columns
    longest = max(_SHORTEST, (width - max(map(len, [first, *columns[first]])) - 1) // len(names) - 1)
    cut = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
    if len(set(cut)) < len(names):  # two that begin alike
        cut = [f"{i}: {name}"[:longest] for i, name in enumerate(names, 1)]
    return dict(zip((first, *cut), columns.values(), strict=True))


def _cell(parts: tuple[str, str, str]) -> str:
    value, interval, mark = parts
    return f"{value} {interval}{mark}" if interval else value


def _without_interval(parts: tuple[str, str, str]) -> str:
    value, interval, mark = parts
    return f"{value}{mark}" if interval else value


def _parts(rows: list[dict[str, Any]], digits: int, interval: bool) -> tuple[str, str, str]:
    """Value, interval, and a mark for the verdict; with too few groups for an interval, the value alone."""
    few = [r["verdict"] == "not applicable" and "groups, fewer" in str(r["reason"]) for r in rows]
    told = [
        (row, alone)
        for row, alone in zip(rows, few, strict=True)
        if not math.isnan(row["value"]) and (row["verdict"] not in NOTHING or alone)
    ]
    if not told:
        return "–", "", ""
    row, alone = told[0]
    unit, mark = row["unit"], _MARKS.get(row["verdict"], " ")
    scale = 100 if unit in ("share", "probability") else 1
    value, low, high = (scale * float(row[name]) for name in ("value", "low", "high"))
    if unit == "share":
        return f"{value:.0f} %", f"[{low:.0f}, {high:.0f}]" if interval and not alone else "", mark
    if unit in ("ratio", "correlation"):
        return f"{value:.2f}", f"[{low:.2f}, {high:.2f}]" if interval and not alone else "", ""
    if math.isnan(row["neutral"]) or alone:
        return f"{value:.{digits}f}", "", ""
    return f"{value:+.{digits}f}", f"[{low:.{digits}f}, {high:.{digits}f}]", mark
