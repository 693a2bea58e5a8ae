"""What `run` prints at its end: who was asked, one table per model, and what of the papers' claims holds."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueprobe.store import Run

_MOST_TABLES = 3


def show(run: Run, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    told = json.loads((run.folder / "probes.json").read_text(encoding="utf-8"))
    models = list(dict.fromkeys(run.estimates["model"]))
    for label, probe in told.items():
        seen = run.observations(label)
        console.print(f"[bold]{escape(label)}[/]  {escape(probe['question'])}")
        for model in models[:_MOST_TABLES]:
            console.print(_table(run, label, probe, model))
            for line in _word_counts(seen[seen["model"] == model], probe):
                console.print(line, markup=False)
        if len(models) > _MOST_TABLES:
            console.print(f"… and {len(models) - _MOST_TABLES} more models, see estimates.csv")
        console.print("probabilities in percent; * the 95 % interval excludes zero; – nothing to count")
        for line in _claims(run, label, probe["summary"]["where"]):
            console.print(line)
        console.print(f"{label}: {_scored(seen)}", markup=False)
    console.print(f"run folder: {run.folder}", soft_wrap=True, markup=False)


def _table(run: Run, label: str, probe: dict[str, Any], model: str) -> Table:
    summary = probe["summary"]
    rows = run.estimates[(run.estimates["probe"] == label) & (run.estimates["model"] == model)]
    for key, value in summary["where"].items():
        rows = rows[rows[key] == value]
    title = f"{model}, top {summary['where']['k']}" if "k" in summary["where"] else model
    table = Table(box=None, padding=(0, 1, 0, 0), title=escape(title), title_justify="left", header_style="bold")
    table.add_column(summary["row_title"], no_wrap=True, min_width=6)
    for column in summary["titles"]:
        table.add_column(column, justify="right", no_wrap=True)
    for name in dict.fromkeys(rows[summary["rows"]]):
        here = rows[rows[summary["rows"]] == name].set_index("measure")
        table.add_row(name, *(_cell(here, measure) for measure in summary["measures"]))
    return table


def _cell(rows: pd.DataFrame, measure: str) -> str:
    if measure not in rows.index or math.isnan(float(rows.loc[measure, "value"])):
        return "–"
    row = rows.loc[measure]
    if row["verdict"] == "not applicable":
        return "–"
    if row["unit"] == "share":
        return f"{100 * row['value']:.0f} %"
    star = "*" if row["verdict"].startswith("holds") else ""
    if not math.isnan(row["neutral"]):
        return f"{100 * row['value']:+.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]{star or ' '}"
    return f"{100 * row['value']:.1f}"


def _word_counts(seen: pd.DataFrame, probe: dict[str, Any]) -> list[str]:
    """Listed words a model does not have as one piece cannot be counted for it."""
    listed = probe["facts"].get("verbalizer", {})
    seen = seen[seen["why_not"] == ""]
    lacks = [
        f"{int(seen[f'{group}_words'].max())} of {count} {group}"
        for group, count in listed.items()
        if len(seen) and seen[f"{group}_words"].max() < count
    ]
    return [f"words this model has as one piece: {', '.join(lacks)}"] if lacks else []


def _claims(run: Run, label: str, where: dict[str, str]) -> list[str]:
    claims = run.claims
    if claims.empty:
        return []
    claims = claims[claims["probe"] == label]
    for key, value in where.items():
        claims = claims[claims[key] == value] if key in claims else claims
    alone = claims["model"].nunique() == 1
    lines = []
    for verdict, group in claims.groupby("verdict", sort=True):
        by_claim = group.groupby("claim", sort=False)["model"]
        names = [claim if alone else f"{claim} ({', '.join(models)})" for claim, models in by_claim]
        lines.append(f"[bold]{verdict}[/]: {escape('; '.join(names))}")
    return lines


def _scored(seen: pd.DataFrame) -> str:
    missing = seen[seen["why_not"] != ""]
    reasons = ", ".join(f"{count:,} {code}" for code, count in missing["why_not"].value_counts().items())
    return f"{len(seen) - len(missing):,} of {len(seen):,} scored" + (f" ({reasons})" if reasons else "")


def words_text(table: pd.DataFrame) -> str:
    if table.empty:
        return "every token of every top ten is in the word list"
    shown = table.assign(mass=[_percent(m) for m in table["mass"]], prompts=[_count(n) for n in table["prompts"]])
    for column in (name for name in table.columns if name.startswith("leans_")):
        shown[column] = [_percent(v) for v in table[column]]
    return shown.to_string(index=False)


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f} %"


def _count(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.0f}"
