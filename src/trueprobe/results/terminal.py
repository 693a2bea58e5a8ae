"""What `run` prints at its end: who was asked, one table per model, and what of the papers' claims holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.text import Text

from trueprobe.results import terminal_tables as tables
from trueprobe.results.select import SILENT, mostly_tied, where
from trueprobe.results.terminal_findings import claimed, compared, findings, rows_of, scored
from trueprobe.results.terminal_tables import Setup
from trueprobe.runs.folder import Run

MOST_LINES, _WIDTH = 30, 100
_MOST_FOUND = 6  # lines of claims; with more of them each verdict has one line
_MOST_ANSWERS = 3
_INTERVALS, _NO_INTERVALS = "95 % intervals (none with fewer than 5 groups)", "intervals: estimates.csv"
_NAMED = ("as published", "holds", "holds for this checkpoint", "opposite", "flips")  # others are counted
_MOST_EXAMPLES = 6


def show(run: Run, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    setups = _setups(run)
    width = min(console.width, _WIDTH)
    if len(run.told) > 1:
        last = _self_trained(run)
        for line in (*findings(run, setups, width, MOST_LINES - 1 - len(last)), *map(Text, last)):
            console.print(line, soft_wrap=True)
        where_to = f"run folder: {run.folder}; as a page: trueprobe report {run.folder}"
        console.print(where_to, markup=False, soft_wrap=True)
        return
    ((label, probe),) = run.told.items()
    for part in _one_probe(run, label, probe, setups, lambda part: _tall(console, part, width), width):
        console.print(part, width=width)
    console.print(f"run folder: {run.folder}", soft_wrap=True, markup=False)


def _tall(console: Console, part: RenderableType, width: int) -> int:
    return len(console.render_lines(part, console.options.update(width=width), pad=False))


def _one_probe(
    run: Run, label: str, probe: dict[str, Any], setups: list[Setup], tall: Callable[[RenderableType], int], width: int
) -> list[RenderableType]:
    """Its question, its numbers as far as there is room, how to read them, and what they come to."""
    seen, summary = run.observations(label), probe["summary"]
    passed, failed = _gate(run, label, summary, setups)
    ties = mostly_tied(seen)
    tied = [model for setup in setups for model in setup.models if model in ties]
    failed += [f"mostly ties, so that most numbers would say nothing: {', '.join(tied)}"] if tied else []
    grids = tables.each(run, label, summary, passed)
    head = [Text.from_markup(f"[bold]{escape(label)}[/]  {escape(probe['question'])}")]
    legend = _legend(run, label, summary, setups)
    plain = [*failed, *legend, *summary.get("notes", ())]
    found = [Text.from_markup(line) for line in _claims(run, label, summary["where"], setups)]
    if not found or sum(map(tall, found)) > _MOST_FOUND:
        lines, counted = _brief_lines(rows_of(run, label, probe, setups))
        found = [Text(line) for line in (*lines, counted) if line]
    foot = [*map(Text, plain), *found, Text(f"{label}: {scored(seen)}"), *map(Text, _self_trained(run))]
    room = MOST_LINES - 1 - sum(map(tall, (*head, *foot)))
    if sum(grid.rows + 2 for grid in grids) > room and len(passed) > 1:
        one = tables.beside(run, label, summary, passed, width)
        grids = [one] if one else []
    shown = [part for grid in grids for part in grid.shown(room - tall(Text(grid.title)) + 1)]
    room -= sum(map(tall, shown))
    for line in map(Text, _besides(seen, probe, setups)):
        if tall(line) <= room:
            shown.append(line)
            room -= tall(line)
    if not all(grid.intervals for grid in grids):
        foot[len(failed)] = Text(legend[0].replace(_INTERVALS, _NO_INTERVALS))
    return [*head, *shown, *foot]


def _besides(seen: pd.DataFrame, probe: dict[str, Any], setups: list[Setup]) -> Iterator[str]:
    """Of each setup, what stands behind its numbers; where there is no room it is left out."""
    of = [seen[seen["model"].isin(setup.models)] for setup in setups]
    for setup, mine in zip(setups, of, strict=True):
        yield from (f"{setup.family}: {line}" for line in _word_counts(mine, probe))
    for mine in of:
        yield from (*_answers(mine, probe["summary"]), *_examples(mine, probe["summary"]))


def _brief_lines(rows: pd.DataFrame) -> tuple[list[str], str]:
    """A line for each verdict that is named, and how many have each of the others."""
    counted: dict[str, int] = {}
    named: dict[str, dict[str, list[str]]] = {}
    lines = []
    for verdict, what, model in zip(rows["verdict"], rows["what"], rows["model"], strict=True):
        if verdict in _NAMED:
            named.setdefault(verdict, {}).setdefault(what, []).append(model)
        else:
            counted[verdict] = counted.get(verdict, 0) + 1
    for verdict in (name for name in _NAMED if name in named):
        whats = [f"{what} ({', '.join(models)})" for what, models in named[verdict].items()]
        line, left = f"{verdict}: {whats[0]}", len(whats) - 1
        while left and len(line) + len(whats[-left]) < _WIDTH - 14:
            line, left = f"{line}; {whats[-left]}", left - 1
        lines.append(line + (f"; {left} more" if left else ""))
    return lines, ", ".join(f"{verdict}: {many}" for verdict, many in counted.items())


def _setups(run: Run) -> list[Setup]:
    """As they were asked; of a family with several training steps, the last."""
    found: dict[str, dict[int | None, list[str]]] = {}
    for card in run.manifest["cards"]:
        step = card.get("labels", {}).get("step")
        found.setdefault(card["family"], {}).setdefault(step, []).append(card["name"])
    last = {family: max(steps, key=lambda step: -1 if step is None else step) for family, steps in found.items()}
    return [Setup(family, tuple(found[family][step]), step, len(found[family])) for family, step in last.items()]


def _gate(run: Run, label: str, summary: dict[str, Any], setups: list[Setup]) -> tuple[list[Setup], list[str]]:
    """The setups that have a table to show, and a line on the checkpoints that failed."""
    found = run.estimates[run.estimates["probe"] == label]
    asked = [model for setup in setups for model in setup.models]
    failed = set(where(found, summary["where"]).query("verdict == 'fails the gate'")["model"]).intersection(asked)
    told = [
        f"{row['model']} ({_percent(row['value']) or 'nothing scored'})"
        for row in (where(found, summary["gate"]) if failed else found[:0]).to_dict("records")
        if row["model"] in failed
    ]
    passed = [setup for setup in setups if not failed.issuperset(setup.models)]
    if not told:
        return passed, []
    gate = summary["gate"]["measure"].replace("_", " ")
    return passed, [f"failing the gate ({gate}), so that a table would say nothing: {', '.join(told)}"]


def _answers(seen: pd.DataFrame, summary: dict[str, Any]) -> list[str]:
    """What each group was answered with at base: right ones are counted, wrong ones named."""
    columns = summary.get("answers")
    if not columns:
        return []
    scored = seen[seen["why_not"] == ""].drop_duplicates(["model", columns["by"], columns["of"]])
    lines = []
    for model, mine in list(scored.groupby("model", sort=False))[:_MOST_ANSWERS]:
        parts = []
        for name, group in mine.groupby(columns["by"], sort=False):
            wrong = group[group[columns["right"]] != 1]
            named = ", ".join(f"{w[columns['of']]}: {w[columns['answer']]}" for _, w in wrong.iterrows())
            parts.append(f"{name} {len(group) - len(wrong)} of {len(group)}" + (f" ({named})" if named else ""))
        lines.append(f"right at base, {model}: {'; '.join(parts)}")
    return lines


def _examples(seen: pd.DataFrame, summary: dict[str, Any]) -> list[str]:
    """What the first model of a family said to some items, with probabilities."""
    if seen.empty or not summary.get("examples"):
        return []
    chosen = where(seen[(seen["why_not"] == "") & (seen["model"] == seen["model"].iloc[0])], summary["examples"])
    lines = []
    for _, row in chosen.head(_MOST_EXAMPLES).iterrows():
        said = zip(row["top_words"][:5], row["top_probabilities"][:5], strict=True)
        lines.append(f"{row['model']}: {row['prompt']} {', '.join(f'{w} ({p:.2g})' for w, p in said)}")
    return lines


def _legend(run: Run, label: str, summary: dict[str, Any], setups: list[Setup]) -> list[str]:
    """What the marks mean here; two seeds or one leave something unknown, and the reader is told what."""
    shown = (run.estimates["probe"] == label) & run.estimates["measure"].isin(summary["measures"])
    percent = "in percent, " if "probability" in set(run.estimates.loc[shown, "unit"]) else ""
    lines = [f"{percent}{_INTERVALS}; – nothing to count; no mark: undecided"]
    if any(setup.several for setup in setups):
        lines.append("several seeds: * holds (over seeds and items, and the seeds agree), ~ flips (they disagree)")
    if any(not setup.several for setup in setups):
        lines.append("one seed: * holds for this checkpoint; what another training would say cannot be known")
    if any(len(setup.models) == 2 for setup in setups):
        lines.append("two seeds: nothing can hold; whether a third would agree cannot be known")
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


def _claims(run: Run, label: str, fixed: dict[str, str], setups: list[Setup]) -> list[str]:
    claims = claimed(run, label, fixed, setups)
    if claims.empty:
        return []
    lines = []
    for verdict, group in claims.groupby("verdict", sort=True):
        if verdict in SILENT:  # nothing was found either way: counted, not listed
            who = ", ".join(dict.fromkeys(group["model"]))
            many = group["claim"].nunique()
            every = "all " if many == claims["claim"].nunique() else ""
            lines.append(f"{verdict}: {every}{many} claims ({escape(who)})")
            continue
        names = []
        for claim, models in group.groupby("claim", sort=False)["model"]:
            who = "" if claims["model"].nunique() == 1 else f" ({', '.join(dict.fromkeys(models))})"
            names.append(claim + who)
        lines.append(f"[bold]{verdict}[/]: {escape('; '.join(names))}")
    return lines


def show_comparison(found: Any, path: Any, console: Console | None = None) -> None:
    """The rows that the summary of a run shows, as differences."""
    console = console or Console(highlight=False)
    for line in compared(found, path, min(console.width, _WIDTH), MOST_LINES):
        console.print(line, soft_wrap=True)


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
