"""What `run` prints at its end: who was asked, one table per model, and what of the papers' claims holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueprobe.store import Run

_MOST_TABLES = 3
_WIDTH = 100
_NAMED = ("as published", "holds", "holds for this checkpoint", "opposite", "flips")  # others are counted
_MOST_EXAMPLES = 6
_NOTHING = ["not applicable", "fails the gate"]
_MARKS = {"holds": "*", "holds for this checkpoint": "*", "flips": "~"}


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


def show(run: Run, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    told = json.loads((run.folder / "probes.json").read_text(encoding="utf-8"))
    setups = _setups(run)
    if len(told) > 1:
        for line in (*_brief(run, told, setups), *_self_trained(run)):
            console.print(line, markup=False, soft_wrap=True)
        console.print(
            f"run folder: {run.folder}; as a page: trueprobe report {run.folder}", markup=False, soft_wrap=True
        )
        return
    for label, probe in told.items():
        seen = run.observations(label)
        console.print(f"[bold]{escape(label)}[/]  {escape(probe['question'])}")
        for setup in setups[:_MOST_TABLES]:
            passed, said = _gate(run, label, probe["summary"], setup.models)
            table = _table(run, label, probe, setup) if passed else None
            if table is not None and len(table.columns) > 1:  # the rows' names alone say nothing
                console.print(table)
            mine = seen[seen["model"].isin(setup.models)]
            shown = (*_answers(mine, probe["summary"]), *_examples(mine, probe["summary"]))
            for line in (*said, *_word_counts(mine, probe), *shown):
                console.print(line, markup=False)
        if len(setups) > _MOST_TABLES:
            console.print(f"… and {len(setups) - _MOST_TABLES} more models, see estimates.csv")
        for line in (*_legend(setups), *probe["summary"].get("notes", ())):
            console.print(line, markup=False)
        for line in _claims(run, label, probe["summary"]["where"], setups):
            console.print(line)
        console.print(f"{label}: {_scored(seen)}", markup=False)
    for line in _self_trained(run):
        console.print(line, markup=False)
    console.print(f"run folder: {run.folder}", soft_wrap=True, markup=False)


def _brief(run: Run, told: dict[str, Any], setups: list[Setup]) -> Iterator[str]:
    """Several probes: for each, how much was scored, what holds and what is otherwise; at most four lines."""
    yield f"asked: {', '.join(setup.title for setup in setups)}"
    for label, probe in told.items():
        yield f"{label}: {_scored(run.observations(label))}"
        yield from _brief_lines(_judged(run, label, probe, setups))
    claimed = dict.fromkeys(run.claims["probe"]) if len(run.claims) else {}
    for labels in (label for label in claimed if label not in told):  # claims about several probes
        yield f"{labels}, together"
        yield from _brief_lines(_judged(run, labels, None, setups))


def _judged(run: Run, label: str, probe: dict[str, Any] | None, setups: list[Setup]) -> list[tuple[str, str, str]]:
    """(verdict, what, model): of each claim; without any, of the summary's first measure with a neutral point."""
    claims = run.claims[run.claims["probe"] == label] if len(run.claims) else run.claims
    if len(claims):
        where = probe["summary"]["where"] if probe else {}
        rows = _where(pd.concat([s.rows(claims) for s in setups]), {k: v for k, v in where.items() if k in claims})
        return list(zip(rows["verdict"], rows["claim"], rows["model"], strict=True))
    summary = probe["summary"] if probe else {}
    found = pd.concat([setup.rows(run.estimates[run.estimates["probe"] == label]) for setup in setups])
    found = _where(found, summary["where"])
    directed = [m for m in summary["measures"] if found.loc[found["measure"] == m, "neutral"].notna().any()]
    keys = [summary["rows"]] if isinstance(summary["rows"], str) else list(summary["rows"])
    rows = found[found["measure"].isin(directed[:1])].dropna(subset=keys)
    names = rows[keys].astype(str).agg(" ".join, axis=1) if len(rows) else []
    return list(zip(rows["verdict"], names, rows["model"], strict=True))


def _brief_lines(judged: list[tuple[str, str, str]]) -> Iterator[str]:
    counted: dict[str, int] = {}
    named: dict[str, dict[str, list[str]]] = {}
    for verdict, what, model in judged:
        if verdict in _NAMED:
            named.setdefault(verdict, {}).setdefault(what, []).append(model)
        else:
            counted[verdict] = counted.get(verdict, 0) + 1
    for verdict in (name for name in _NAMED if name in named):
        whats = [f"{what} ({', '.join(models)})" for what, models in named[verdict].items()]
        line, left = f"  {verdict}: {whats[0]}", len(whats) - 1
        while left and len(line) + len(whats[-left]) < _WIDTH - 12:
            line, left = f"{line}; {whats[-left]}", left - 1
        yield line + (f"; {left} more" if left else "")
    if counted:
        yield "  " + ", ".join(f"{verdict}: {many}" for verdict, many in counted.items())


def _setups(run: Run) -> list[Setup]:
    """As they were asked; of a family with several training steps, the last."""
    found: dict[str, dict[int | None, list[str]]] = {}
    for card in run.manifest["cards"]:
        step = card.get("labels", {}).get("step")
        found.setdefault(card["family"], {}).setdefault(step, []).append(card["name"])
    last = {family: max(steps, key=lambda step: -1 if step is None else step) for family, steps in found.items()}
    return [Setup(family, tuple(found[family][step]), step) for family, step in last.items()]


def _table(run: Run, label: str, probe: dict[str, Any], setup: Setup) -> Table:
    summary = probe["summary"]
    found = setup.rows(run.estimates[run.estimates["probe"] == label])
    rows = _where(found, summary["where"])
    keys = [summary["rows"]] if isinstance(summary["rows"], str) else list(summary["rows"])
    top = f", top {summary['where']['k']}" if "k" in summary["where"] else ""
    directed = rows[rows["neutral"].notna()]
    if top and (directed["value"].isna() | (directed["verdict"] == "not applicable")).mean() > 0.5:
        rows, top = _where(found, {**summary["where"], "k": "all"}), ", all listed words: the top 10 holds too few"
    title = f"{setup.title}{top}"
    shown = rows[rows["measure"].isin(summary["measures"]) & rows["neutral"].notna() & (rows["unit"] != "share")]
    digits = 1 if shown["value"].abs().max() > 0.01 else 2
    table = Table(box=None, padding=(0, 1, 0, 0), title=escape(title), title_justify="left", header_style="bold")
    here = rows.dropna(subset=keys).drop_duplicates(keys)[keys]
    columns = {summary["row_title"]: [" ".join(map(str, name)) for name in here.itertuples(index=False)]}
    for column, measure in zip(summary["titles"], summary["measures"], strict=True):
        mine = rows[rows["measure"] == measure]
        between = measure in summary.get("intervals", ())
        cells = [_cell(_where(mine, dict(zip(keys, name, strict=True))), digits, between) for name in here.to_numpy()]
        if set(cells) != {"–"}:
            columns[column] = cells
    for column in columns:
        first = column == summary["row_title"]
        table.add_column(column, justify="left" if first else "right", no_wrap=True, min_width=6 if first else None)
    for line in zip(*columns.values(), strict=True):
        table.add_row(*line)
    return table


def _where(rows: pd.DataFrame, where: dict[str, Any]) -> pd.DataFrame:
    """The rows where every condition has its value, or one of its values."""
    for key, value in where.items():
        rows = rows[rows[key].isin(value if isinstance(value, list) else [value])]
    return rows


def _gate(run: Run, label: str, summary: dict[str, Any], models: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The models that have a table to show, and what is said of the others instead."""
    found = run.estimates[(run.estimates["probe"] == label) & run.estimates["model"].isin(models)]
    failed = set(_where(found, summary["where"]).query("verdict == 'fails the gate'")["model"])
    told = []
    for _, row in (_where(found, summary["gate"]) if failed else found[:0]).iterrows():
        why = "nothing scored" if math.isnan(row["value"]) else f"{row['measure']} {100 * row['value']:.0f} %"
        if row["model"] in failed:
            told.append(f"{row['model']} fails the gate: {why}; a table would say nothing")
    return [model for model in models if model not in failed], told


def _answers(seen: pd.DataFrame, summary: dict[str, Any]) -> list[str]:
    """What each group was answered with at base: right ones are counted, wrong ones named."""
    columns = summary.get("answers")
    if not columns:
        return []
    scored = seen[seen["why_not"] == ""].drop_duplicates(["model", columns["by"], columns["of"]])
    lines = []
    for model, mine in list(scored.groupby("model", sort=False))[:_MOST_TABLES]:
        parts = []
        for name, group in mine.groupby(columns["by"], sort=False):
            wrong = group[group[columns["right"]] != 1]
            named = ", ".join(f"{w[columns['of']]}: {w[columns['answer']]}" for _, w in wrong.iterrows())
            parts.append(f"{name} {len(group) - len(wrong)} of {len(group)}" + (f" ({named})" if named else ""))
        lines.append(f"right at base, {model}: {'; '.join(parts)}")
    return lines


def _examples(seen: pd.DataFrame, summary: dict[str, Any]) -> list[str]:
    """What the first model of a family said to some items, with probabilities."""
    if not summary.get("examples"):
        return []
    chosen = _where(seen[(seen["why_not"] == "") & (seen["model"] == seen["model"].iloc[0])], summary["examples"])
    lines = []
    for _, row in chosen.head(_MOST_EXAMPLES).iterrows():
        said = zip(row["top_words"][:5], row["top_probabilities"][:5], strict=True)
        lines.append(f"{row['model']}: {row['prompt']} {', '.join(f'{w} ({p:.2g})' for w, p in said)}")
    return lines


def _cell(rows: pd.DataFrame, digits: int, interval: bool) -> str:
    """Value, interval, and a mark for the verdict; with too few groups for an interval, the value alone."""
    few = (rows["verdict"] == "not applicable") & rows["reason"].str.contains("groups, fewer")
    rows = rows[rows["value"].notna() & (~rows["verdict"].isin(_NOTHING) | few)]
    if rows.empty:
        return "–"
    row, interval = rows.iloc[0], interval and not few.any()
    value = (100 if row["unit"] in ("share", "probability") else 1) * float(row["value"])
    mark = _MARKS.get(row["verdict"], " ")
    if row["unit"] == "share":
        return f"{value:.0f} %" + (f" [{100 * row['low']:.0f}, {100 * row['high']:.0f}]{mark}" if interval else "")
    if row["unit"] in ("ratio", "correlation"):
        return f"{value:.2f}" + (f" [{row['low']:.2f}, {row['high']:.2f}]" if interval else "")
    if math.isnan(row["neutral"]) or few.any():
        return f"{value:.{digits}f}"
    scale = 100 if row["unit"] == "probability" else 1
    return f"{value:+.{digits}f} [{scale * row['low']:.{digits}f}, {scale * row['high']:.{digits}f}]{mark}"


def _legend(setups: list[Setup]) -> list[str]:
    """What the marks mean here; two seeds or one leave something unknown, and the reader is told what."""
    lines = ["in percent, 95 % intervals (none with fewer than 5 groups); – nothing to count; no mark: undecided"]
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


def _claims(run: Run, label: str, where: dict[str, str], setups: list[Setup]) -> list[str]:
    if run.claims.empty:
        return []
    claims = run.claims[run.claims["probe"] == label]
    claims = pd.concat([setup.rows(claims) for setup in setups])
    claims = _where(claims, {key: value for key, value in where.items() if key in claims})
    lines = []
    for verdict, group in claims.groupby("verdict", sort=True):
        if verdict in _NOTHING:  # nothing was found either way: counted, not listed
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


def _scored(seen: pd.DataFrame) -> str:
    missing = seen[seen["why_not"] != ""]
    reasons = ", ".join(f"{count:,} {code}" for code, count in missing["why_not"].value_counts().items())
    return f"{len(seen) - len(missing):,} of {len(seen):,} scored" + (f" ({reasons})" if reasons else "")


def comparison_text(found: Any, path: Any) -> str:
    """The rows that the summary of a run shows, as differences."""
    lines = [f"{found.a} less {found.b}, on the items both scored"]
    for probe, rows in found.told.groupby("probe", sort=False):
        shown = pd.DataFrame(
            {
                "": rows["row"],
                "measure": rows["measure"],
                found.a: rows["a"].map("{:.4g}".format),
                found.b: rows["b"].map("{:.4g}".format),
                "difference [95 %]": [
                    f"{d:+.3g} [{low:.3g}, {high:.3g}]"
                    for d, low, high in zip(rows["difference"], rows["low"], rows["high"], strict=True)
                ],
                "p": rows["p_corrected"].map(_p),
                "permuted": rows["p_permutation"].map(_p),
                "verdict": rows["verdict"],
            }
        )
        lines += ["", str(probe), shown.to_string(index=False)]
    held = found.table["verdict"].str.startswith("holds")
    lines += ["", f"{held.sum():,} of {len(held):,} differences hold; p is corrected over categories; all: {path}"]
    return "\n".join(lines)


def _p(value: float) -> str:
    return "" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


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
