"""The answer in plain words: what holds, what is otherwise, what is open, each with number, interval and verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from trueprobe.results.numbers import Format, count
from trueprobe.results.page.reading import Reading, together
from trueprobe.results.page.tables import Cell, Grid, number_cell, verdict_mark
from trueprobe.results.select import (
    claims_itself,
    directed,
    mostly_tied,
    reasons,
    row_keys,
    threshold,
    titles,
    where,
    where_known,
)

MOST_WITHOUT_CLAIMS = 12
HEADINGS = {
    "good": "What holds",
    "bad": "What is the other way round, or flips",
    "open": "What stays undecided",
    "none": "Where nothing can be said",
}


@dataclass(frozen=True)
class Said:
    model: str
    number: str
    verdict: str


@dataclass(frozen=True)
class Finding:
    label: str  # of the probe
    statement: str
    mark: str  # good | bad | open | none
    said: Sequence[Said]


def findings(reading: Reading) -> list[Finding]:
    found: list[Finding] = []
    for label in _labels(reading):
        found += [*_claimed(reading, label), *_directed(reading, label)]
    return found


def _labels(reading: Reading) -> list[str]:
    """The probes, then those that claims take together (`crows_pairs, stereoset`)."""
    claimed = reading.claims["probe"] if len(reading.claims) else ()
    return list(dict.fromkeys([*reading.told, *claimed]))


def _claims(reading: Reading, label: str) -> pd.DataFrame:
    """One row per claim and family, or two models, at the conditions of the summary."""
    rows = reading.claims
    if rows.empty:
        return rows
    fixed = reading.told[label]["summary"]["where"] if label in reading.told else {}
    rows = where_known(rows[rows["probe"] == label], fixed)
    return rows if rows.empty else together(rows, ["claim", "statement", "quantity", "expected"])


def _form(row: Mapping[str, Any]) -> Format:
    return Format.of(str(row["unit"]), threshold(row["expected"]), [row["value"], row["low"], row["high"]])


def _claimed(reading: Reading, label: str) -> Iterator[Finding]:
    rows = _claims(reading, label)
    for claim in dict.fromkeys(rows["claim"]) if len(rows) else ():
        mine = rows[rows["claim"] == claim].to_dict("records")
        statement = str(mine[0]["statement"])
        for mark in HEADINGS:
            said = [_said(row, _form(row)) for row in mine if verdict_mark(row["verdict"]) == mark]
            if said:
                yield Finding(label, statement[:1].upper() + statement[1:], mark, said)


def _said(row: Mapping[str, Any], form: Format) -> Said:
    ends = [seed.value for seed in row["seeds"]]
    number = form.told(float(row["value"]), float(row["low"]), float(row["high"]))
    if ends and math.isnan(row["low"]):
        number += f" (mean of {len(ends)} trainings, {form.plain(min(ends))} to {form.plain(max(ends))})"
    elif ends:
        number += f" ({len(ends)} trainings)"
    return Said(row["family"], number, str(row["verdict"]))


def _directed_rows(reading: Reading, label: str) -> tuple[str, list[str], pd.DataFrame]:
    """The summary's first measure that has a neutral value, its conditions, and one row per condition and family."""
    summary = reading.told[label]["summary"]
    rows = reading.estimates
    keys = row_keys(summary)
    if rows.empty:
        return "", keys, rows
    rows = where(rows[rows["probe"] == label], summary["where"])
    measure = next(iter(directed(rows, summary)), "")
    if not measure or any(key not in rows for key in keys):
        return "", keys, rows[:0]
    return measure, keys, together(rows[rows["measure"] == measure].dropna(subset=keys), keys)


def _told(joined: pd.DataFrame, keys: Sequence[str]) -> list[tuple]:
    """The conditions told in words: all in which something holds or flips, and the first of the others."""
    known = list(dict.fromkeys(map(tuple, joined[list(keys)].to_numpy()))) if len(joined) else []
    weighs = [verdict_mark(verdict) in ("good", "bad") for verdict in joined.get("verdict", ())]
    marked = set(map(tuple, joined.loc[weighs, list(keys)].to_numpy())) if any(weighs) else set()
    others = [names for names in known if names not in marked][: max(0, MOST_WITHOUT_CLAIMS - len(marked))]
    return [names for names in known if names in marked or names in others]


def _left_out(reading: Reading, label: str) -> str:
    """Where a probe has more to say than is told in words."""
    if claims_itself(reading.claims, label):
        return ""
    _, keys, joined = _directed_rows(reading, label)
    if joined.empty:
        return ""
    shown, many = len(_told(joined, keys)), len(joined[keys].drop_duplicates())
    return f"{label}: {shown} of {many} conditions are told in words; all are in its table." if shown < many else ""


def _directed(reading: Reading, label: str) -> Iterator[Finding]:
    """Where a probe has no claims of its own: what its summary's first directed measure says."""
    if label not in reading.told or claims_itself(reading.claims, label):
        return
    summary = reading.told[label]["summary"]
    measure, keys, joined = _directed_rows(reading, label)
    says = summary.get("finding") or titles(summary).get(measure, "")
    for names in _told(joined, keys):
        mine = where(joined, dict(zip(keys, names, strict=True))).to_dict("records")
        form = Format.of(str(mine[0]["unit"]), float(mine[0]["neutral"]), [row["value"] for row in mine])
        told = " ".join(str(summary.get("meanings", {}).get(name, name)) for name in names)
        neutral = f"{form.factor * mine[0]['neutral']:g}{form.suffix if form.factor == 100 else ''}"
        statement = f"{told}: {says} (neutral is {neutral})"
        for mark in HEADINGS:
            said = [_said(row, form) for row in mine if verdict_mark(row["verdict"]) == mark]
            if said:
                yield Finding(label, statement, mark, said)


def claims_grid(reading: Reading) -> Grid | None:
    """What each paper found, what this run finds."""
    families = list(reading.families)
    lines: list[list[Cell]] = []
    tables = {label: rows for label in _labels(reading) if len(rows := _claims(reading, label))}
    paired = any((~rows["family"].isin(families)).any() for rows in tables.values())
    for label, rows in tables.items():
        if len(tables) > 1:
            lines.append([Cell(label)])
        for claim in dict.fromkeys(rows["claim"]):
            found = {row["family"]: row for row in rows[rows["claim"] == claim].to_dict("records")}
            first = next(iter(found.values()))
            line = [Cell(str(first["statement"])), Cell(str(first["expected"]))]
            if any(family in found for family in families):
                of_two = [Cell("–", mark="none", told="about each model")] if paired else []
                lines.append(line + [_claim_cell(found.get(family)) for family in families] + of_two)
            for two in (name for name in found if name not in families):
                each = [Cell("–", mark="none", told="about two models")] * len(families)
                lines.append([*line, *each, _claim_cell(found[two], f"{two}: ")])
    if not lines:
        return None
    caption = "Each published finding as a quantity; the number of each model with its 95 % interval, and the verdict."
    header = ["finding", "expected", *families, *(["two models"] if paired else [])]
    data = reading.claims.drop(columns=["family", "seed", "step", "level"], errors="ignore")
    return Grid("claims", "What the papers found, what this run finds", caption, header, lines, data)


def _claim_cell(row: Mapping[str, Any] | None, of: str = "") -> Cell:
    if row is None:
        return Cell("–", mark="none", told="not claimed of this kind of model")
    form = _form(row)
    cell = number_cell({**row, "n_items": math.nan}, form)
    told = str(row["verdict"])
    if cell.text == "–":
        return Cell(of + told, mark="none")
    return Cell(f"{of}{cell.text}; {told}", mark=verdict_mark(told))


def opening(reading: Reading) -> list[str]:
    """Who was asked, and what; how much of it could be counted."""
    *others, last = [*_who(reading)] or ["no model yet"]
    who = f"{', '.join(others)} and {last}" if others else last
    lines = [f"Asked: {who}."]
    for label, told in reading.told.items():
        lines.append(f"{told['question']} {count(told['items'])} prompts of {label}. {_scored(reading, label)}")
    return lines


def _who(reading: Reading) -> Iterator[str]:
    for family in reading.families.values():
        if len(family.cards) > 1:
            steps = f" at {len(family.steps)} steps; numbers are of the last" if len(family.steps) > 1 else ""
            trainings = f"{family.seeds} trainings of one setup" if family.seeds > 1 else "one training"
            yield f"{family.name} ({trainings}{steps})"
        else:
            kind = family.cards[0].get("kind")
            yield f"{family.name} ({kind})" if kind else family.name


def _scored(reading: Reading, label: str) -> str:
    seen = reading.observations(label)
    if seen.empty:
        return "No answers are in the folder."
    missing, tied = seen[seen["why_not"] != ""], mostly_tied(seen)
    ties = f" Mostly ties, which say nothing: {', '.join(tied)}." if tied else ""
    if missing.empty:
        return f"All {count(len(seen))} answers could be scored.{ties}"
    why = reasons(missing)
    if len(missing) == len(seen):
        return f"None of the {count(len(seen))} answers could be scored ({why})."
    return f"{count(len(seen) - len(missing))} of {count(len(seen))} answers could be scored ({why}).{ties}"


def missing(reading: Reading) -> list[str]:
    """What a reader would expect and does not find, and how to get it."""
    told = []
    if not reading.complete:
        told.append("This run was interrupted. Run the same command into the same folder to finish it.")
        if reading.estimates.empty:
            told.append("Nothing is counted yet: figures, numbers and findings are missing.")
        asked, there = ", ".join(reading.models_asked), ", ".join(reading.families) or "none"
        told.append(f"Models named: {asked}. Answers in the folder: {there}.")
    for label in reading.told:
        seen = reading.observations(label)
        if reading.complete and (seen.empty or (seen["why_not"] != "").all()):
            told.append(f"{label}: no model could be scored on any item, so there is nothing to count.")
    for label in reading.run.probes:
        if label not in reading.told:
            told.append(f"{label}: was not begun.")
    told += [line for label in reading.told if (line := _left_out(reading, label))]
    single = [f.name for f in reading.families.values() if f.seeds < 2]
    if single and not reading.estimates.empty:
        told.append(
            f"One training only of {', '.join(single)}: what holds there holds for this checkpoint, and need not for "
            "another training of the same setup."
        )
    return told
