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
    families = _families(run)
    for label, probe in told.items():
        seen = run.observations(label)
        console.print(f"[bold]{escape(label)}[/]  {escape(probe['question'])}")
        for family, models in list(families.items())[:_MOST_TABLES]:
            console.print(_table(run, label, probe, family, models))
            for line in _word_counts(seen[seen["model"].isin(models)], probe):
                console.print(line, markup=False)
        if len(families) > _MOST_TABLES:
            console.print(f"… and {len(families) - _MOST_TABLES} more models, see estimates.csv")
        for line in _legend(families):
            console.print(line, markup=False)
        for line in _claims(run, label, probe["summary"]["where"], families):
            console.print(line)
        console.print(f"{label}: {_scored(seen)}", markup=False)
    for line in _self_trained(run):
        console.print(line, markup=False)
    console.print(f"run folder: {run.folder}", soft_wrap=True, markup=False)


def _families(run: Run) -> dict[str, list[str]]:
    """The models of each setup, as they were asked."""
    families: dict[str, list[str]] = {}
    for card in run.manifest["cards"]:
        families.setdefault(card["family"], []).append(card["name"])
    return families


def _table(run: Run, label: str, probe: dict[str, Any], family: str, models: list[str]) -> Table:
    summary = probe["summary"]
    found = run.estimates[(run.estimates["probe"] == label) & run.estimates["model"].isin(models)]
    rows = _where(found, summary["where"])
    top = f", top {summary['where']['k']}" if "k" in summary["where"] else ""
    directed = rows[rows["neutral"].notna()]
    if top and (directed["value"].isna() | (directed["verdict"] == "not applicable")).mean() > 0.5:
        rows, top = _where(found, {**summary["where"], "k": "all"}), ", all listed words: the top 10 holds too few"
    seeds = f", {len(models)} checkpoints" if len(models) > 1 else ""
    title = f"{family}{seeds}{top}"
    shown = rows[rows["measure"].isin(summary["measures"]) & rows["neutral"].notna() & (rows["unit"] != "share")]
    digits = 1 if shown["value"].abs().max() > 0.01 else 2
    table = Table(box=None, padding=(0, 1, 0, 0), title=escape(title), title_justify="left", header_style="bold")
    names = list(dict.fromkeys(rows[summary["rows"]]))
    columns = {summary["row_title"]: names}
    for column, measure in zip(summary["titles"], summary["measures"], strict=True):
        found = rows[rows["measure"] == measure]
        cells = [_cell(found[found[summary["rows"]] == name], digits) for name in names]
        if set(cells) != {"–"}:
            columns[column] = cells
    for column in columns:
        first = column == summary["row_title"]
        table.add_column(column, justify="left" if first else "right", no_wrap=True, min_width=6 if first else None)
    for line in zip(*columns.values(), strict=True):
        table.add_row(*line)
    return table


def _where(rows: pd.DataFrame, where: dict[str, str]) -> pd.DataFrame:
    for key, value in where.items():
        rows = rows[rows[key] == value]
    return rows


def _cell(rows: pd.DataFrame, digits: int) -> str:
    """One checkpoint: value and interval. Several: their mean, the lowest and highest, and how many hold."""
    rows = rows[rows["value"].notna() & (rows["verdict"] != "not applicable")]
    if rows.empty:
        return "–"
    value, row = 100 * float(rows["value"].mean()), rows.iloc[0]
    if row["unit"] == "share":
        return f"{value:.0f} %"
    if math.isnan(row["neutral"]):
        return f"{value:.{digits}f}"
    holds = int(rows["verdict"].str.startswith("holds").sum())
    low, high = (row["low"], row["high"]) if len(rows) == 1 else (rows["value"].min(), rows["value"].max())
    mark = ("*" if holds else " ") if len(rows) == 1 else f" {holds}*"
    return f"{value:+.{digits}f} [{100 * low:.{digits}f}, {100 * high:.{digits}f}]{mark}"


def _legend(families: dict[str, list[str]]) -> list[str]:
    sizes = [len(models) for models in families.values()]
    lines = ["probabilities in percent; * the 95 % interval over items excludes zero; – nothing to count"]
    if max(sizes) > 1:
        lines.append("several checkpoints: mean [lowest, highest], and how many have an interval that excludes zero")
    return lines


def _self_trained(run: Run) -> list[str]:
    found = dict.fromkeys(card["family"] for card in run.manifest["cards"] if card.get("self_trained"))
    return [f"self-trained, to show the method; no stand-in for BERT or GPT-2: {', '.join(found)}"] if found else []


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


def _claims(run: Run, label: str, where: dict[str, str], families: dict[str, list[str]]) -> list[str]:
    claims = run.claims
    if claims.empty:
        return []
    claims = claims[claims["probe"] == label]
    for key, value in where.items():
        claims = claims[claims[key] == value] if key in claims else claims
    lines = []
    for verdict, group in claims.groupby("verdict", sort=True):
        if verdict == "not applicable":  # too little was covered: counted, not listed
            who = ", ".join(_who(set(group["model"]), families))
            lines.append(f"not applicable: {group['claim'].nunique()} claims ({escape(who)})")
            continue
        names = []
        for claim, models in group.groupby("claim", sort=False)["model"]:
            who = "" if claims["model"].nunique() == 1 else f" ({', '.join(_who(set(models), families))})"
            names.append(claim + who)
        lines.append(f"[bold]{verdict}[/]: {escape('; '.join(names))}")
    return lines


def _who(models: set[str], families: dict[str, list[str]]) -> list[str]:
    """Families by name; where only some members are meant, how many."""
    counts = {family: len(models & set(members)) for family, members in families.items()}
    return [
        family if count == len(families[family]) else f"{count} of {len(families[family])} {family}"
        for family, count in counts.items()
        if count
    ]


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
