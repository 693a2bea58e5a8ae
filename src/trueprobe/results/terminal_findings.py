"""Several probes in a terminal: a line for each finding, a column for each model, the most telling ones first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.text import Text

from trueprobe.results.numbers import Format
from trueprobe.results.select import (
    SILENT,
    claims_itself,
    directed,
    mostly_tied,
    reasons,
    row_keys,
    row_names,
    threshold,
    titles,
    where,
    where_known,
    where_told,
)
from trueprobe.results.terminal_tables import Number, Setup, fitting
from trueprobe.runs.folder import Run

_LEAST = 46  # columns of a finding's words, before intervals are left out
_MEAN = {"*": "as published, or holds", "=": "not contradicted", "!": "opposite", "~": "flips"}
_KEPT = ["what", "says", "model", "value", "low", "high", "unit", "neutral", "verdict", "reason"]


@dataclass(frozen=True)
class _Line:
    says: str
    numbers: Mapping[str, Number]  # of each setup; under no name, of two together
    counts: bool  # something is to be said of any of them

    @property
    def of_two(self) -> Number | None:
        return self.numbers.get("")

    @property
    def marks(self) -> set[str]:
        return {number.mark for number in self.numbers.values()} - {"", " "}


@dataclass(frozen=True)
class _Section:
    head: str
    lines: Sequence[_Line]

    def by_weight(self) -> tuple[list[int], list[int]]:
        """Places of the lines with a mark, what is not as it was published second, and of those that are undecided."""
        marked = [i for i, line in enumerate(self.lines) if line.marks]
        second = sorted(marked[1:], key=lambda i: not self.lines[i].marks & {"!", "~"})
        return marked[:1] + second, [i for i, line in enumerate(self.lines) if line.counts and not line.marks]

    def headed(self, shown: int) -> str:
        counting = sum(line.counts for line in self.lines)
        more = {"more findings" if counting - shown > 1 else "more finding": counting - shown}
        more["without a verdict"] = len(self.lines) - counting
        return "; ".join([self.head, *(f"{many} {what}" for what, many in more.items() if many)])


def rows_of(run: Run, label: str, probe: Mapping[str, Any] | None, setups: Sequence[Setup]) -> pd.DataFrame:
    """A row for each claim and setup (or two), and for what a probe measures if it claims nothing of single models."""
    summary = probe["summary"] if probe else {"where": {}}
    claims = claimed(run, label, summary["where"], setups)
    parts = []
    if len(claims):
        neutral = claims["expected"].map(threshold)
        parts.append(claims.assign(what=claims["claim"], says=claims["statement"], neutral=neutral, reason=""))
    if probe and not claims_itself(run.claims, label):
        parts.append(_directed(run, label, summary, setups))
    return pd.concat(parts)[_KEPT] if parts else pd.DataFrame(columns=_KEPT)


def claimed(run: Run, label: str, fixed: Mapping[str, Any], setups: Sequence[Setup]) -> pd.DataFrame:
    """The claims of each setup, and those about two models."""
    if run.claims.empty:
        return run.claims
    claims = run.claims[run.claims["probe"] == label]
    mine = pd.concat([*(setup.rows(claims) for setup in setups), claims[claims["level"] == "pair"]])
    return where_known(mine, fixed)


def _directed(run: Run, label: str, summary: Mapping[str, Any], setups: Sequence[Setup]) -> pd.DataFrame:
    """The summary's first measure with a neutral value."""
    estimates = run.estimates[run.estimates["probe"] == label]
    rows = where(pd.concat([setup.rows(estimates) for setup in setups]), summary["where"])
    first = directed(rows, summary)[:1]
    rows = rows[rows["measure"].isin(first)].dropna(subset=row_keys(summary))
    names = row_names(rows, summary)
    says = summary.get("finding") or "".join(titles(summary)[measure] for measure in first)
    return rows.assign(what=names, says=[f"{name}: {says}" for name in names])


def _moved(rows: pd.DataFrame, summary: Mapping[str, Any], setups: Sequence[Setup]) -> pd.DataFrame:
    """The numbers that one probe gives in two ways."""
    rows = pd.concat([where_told(setup.rows(rows), summary["where"]) for setup in setups])
    rows, called = rows[rows["measure"].isin(summary["measures"])], titles(summary)
    named = zip(row_names(rows, summary), rows["measure"], strict=True)
    whats = [f"{name}: {called[measure]}" for name, measure in named]
    return rows.assign(what=whats, says=whats, value=rows["difference"], neutral=0.0, reason="")[_KEPT]


def _sections(run: Run, setups: Sequence[Setup]) -> Iterator[_Section]:
    for label, probe in run.told.items():
        rows = rows_of(run, label, probe, setups)
        seen = run.observations(label)
        failed = dict.fromkeys(rows[rows["verdict"] == "fails the gate"]["model"])
        models = {"failing the gate": failed, "mostly ties": mostly_tied(seen)}
        silent = "".join(f"; {says}: {', '.join(names)}" for says, names in models.items() if names)
        yield _Section(f"{label}: {scored(seen)}{silent}", _lines(rows, setups))
    several = [label for label in dict.fromkeys(run.claims.get("probe", ())) if label not in run.told]
    if several:
        rows = pd.concat([rows_of(run, labels, None, setups) for labels in several])
        yield _Section("several probes together", _lines(rows, setups))
    moved = run.table("variants") if (run.folder / "variants.parquet").exists() else pd.DataFrame()
    if len(moved):
        for (first, second), rows in moved.groupby(["first_label", "second_label"], sort=False):
            yield _Section(f"{second} less {first}", _lines(_moved(rows, run.told[first]["summary"], setups), setups))


def _lines(rows: pd.DataFrame, setups: Sequence[Setup]) -> list[_Line]:
    known = {setup.name: setup.family for setup in setups}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_dict("records"):
        apart = "" if row["model"] in known else f", {row['model']}"  # about two models: a line of its own
        found.setdefault(f"{row['says']}{apart}", []).append(row)
    lines = []
    for says, mine in found.items():
        ends = [row[name] for row in mine for name in ("value", "low", "high")]
        form = Format.of(str(mine[0]["unit"]), mine[0]["neutral"], ends)
        counts = any(row["verdict"] not in SILENT for row in mine)
        numbers = {known.get(row["model"], ""): Number.of(row, form) for row in mine}
        lines.append(_Line(says, numbers, counts))
    return lines


def scored(seen: pd.DataFrame) -> str:
    missing = seen[seen["why_not"] != ""]
    why = f" ({reasons(missing)})" if len(missing) else ""
    return f"{len(seen) - len(missing):,} of {len(seen):,} scored{why}"


def _chosen(sections: Sequence[_Section], room: int) -> list[list[_Line]]:
    """So many lines in all, from every section in turn: those with a mark, then those that are undecided."""
    places: list[set[int]] = [set() for _ in sections]
    for waiting in zip(*(section.by_weight() for section in sections), strict=True):
        while room and any(waiting):
            for queue, mine in zip(waiting, places, strict=True):
                if queue and room:
                    mine.add(queue.pop(0))
                    room -= 1
    return [[s.lines[i] for i in sorted(mine)] for s, mine in zip(sections, places, strict=True)]


def findings(run: Run, setups: Sequence[Setup], width: int, most: int) -> Iterator[Text]:
    """At most so many lines of this width."""
    shown = _Shown.of(list(_sections(run, setups)), most - 3)
    columns, intervals = fitting(shown.columns([setup.family for setup in setups]), width - shown.least() - 1)
    yield Text(_short(f"asked: {'; '.join(setup.title for setup in setups)}", width))
    told = "95 % intervals" if intervals else "intervals: claims.csv, estimates.csv"
    yield from shown.table(f"finding (shares in percent); {told}", columns, width)
    legend = [*shown.legend(), "– nothing to count"]
    unseen = len(setups) - len(columns)
    yield Text(_short("; ".join([*legend, *([f"{unseen} more models: claims.csv"] if unseen else [])]), width))


@dataclass(frozen=True)
class _Shown:
    """The lines that find room, section by section, and how many sections do not."""

    sections: Sequence[_Section]
    chosen: Sequence[Sequence[_Line]]
    left_out: int

    @classmethod
    def of(cls, sections: Sequence[_Section], room: int) -> _Shown:
        left_out = len(sections) - (room - 1) if len(sections) > room else 0
        kept = sections[: len(sections) - left_out]
        return cls(kept, _chosen(kept, room - len(kept) - bool(left_out)), left_out)

    @property
    def lines(self) -> list[_Line]:
        return [line for mine in self.chosen for line in mine]

    def least(self) -> int:
        return min(_LEAST, max((2 + len(line.says) for line in self.lines), default=_LEAST))

    def columns(self, names: Sequence[str]) -> dict[str, list[Number]]:
        in_columns = [line for line in self.lines if not line.of_two]
        return {name: [line.numbers.get(name, Number("")) for line in in_columns] for name in names}

    def table(self, head: str, columns: Mapping[str, Sequence[str]], width: int) -> Iterator[Text]:
        wide = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
        words = width - sum(wide.values()) - len(wide)
        yield Text(_row(head, words, {name: name for name in columns}, wide), style="bold")
        rows = iter(zip(*columns.values(), strict=True))
        for section, mine in zip(self.sections, self.chosen, strict=True):
            yield Text(_short(section.headed(len(mine)), width), style="bold")
            for line in mine:
                if line.of_two:
                    number = line.of_two.whole
                    yield Text(f"  {_short(line.says, width - 3 - len(number))} {number}")
                else:
                    yield Text(_row(f"  {line.says}", words, dict(zip(columns, next(rows), strict=True)), wide))
        if self.left_out:
            yield Text(f"… and {self.left_out} more probes: claims.csv, estimates.csv")

    def legend(self) -> list[str]:
        marks = {mark for line in self.lines for mark in line.marks}
        return [*(f"{mark} {says}" for mark, says in _MEAN.items() if mark in marks), "no mark: undecided"]


def compared(found: Any, path: Any, width: int, most: int) -> Iterator[Text]:
    """Two models or families: the numbers that the summary of a run tells, as differences."""
    told = dict(list(found.told.groupby("probe", sort=False)))
    sections = [
        _Section(
            f"{label}: {told[label]['n_items'].max():,} items in {told[label]['n_groups'].max():,} groups",
            [_difference(row) for row in told[label].to_dict("records")],
        )
        if label in told
        else _Section(f"{label}: {_why_nothing(found.table[found.table['probe'] == label])}", [])
        for label in dict.fromkeys(found.table["probe"])
    ]
    several, few = min(found.seeds) > 1, found.too_few_seeds
    shown = _Shown.of(sections, most - 4 - several - few - bool(found.apart))
    names = ["a", "b", "a − b [95 %]", "p", "permuted", *(["seeds"] if several else [])]
    columns, _ = fitting(shown.columns(names), width)
    a, b = (
        name if step is None else f"{name} at step {step:,}"
        for name, step in zip((found.a, found.b), found.steps, strict=True)
    )
    yield Text(f"a: {a}; b: {b}; on the items both scored, shares in percent")
    yield from shown.table("", columns, width)
    if found.apart:
        yield Text(_short(f"not asked alike of both: {', '.join(found.apart)}", width))
    held = found.table["verdict"].str.startswith("holds")
    single = max(found.seeds) == 1
    holds, exchanged = ("holds for these two", "answers") if single else ("holds", "answers or seeds")
    yield Text(f"* {holds}; no mark: undecided; p: corrected over categories; permuted: {exchanged} exchanged")
    if few:
        yield Text("too few seeds on one side or both (three are needed): nothing can hold, whatever p is")
    if several:
        wanted = f"intervals of ± {found.precision:g}" if found.precision else "telling the difference from 0"
        yield Text(f"seeds: needed of each side for {wanted}; –: never with these items")
    yield Text(f"{held.sum():,} of {len(held):,} differences hold; all: {path}")


def _why_nothing(rows: pd.DataFrame) -> str:
    tied = (rows["verdict"] == "low coverage").any()
    return "mostly ties on one side or both" if tied else "too few items that both scored"


def _difference(row: Mapping[str, Any]) -> _Line:
    plain = Format.of(str(row["unit"]), None, [row["a"], row["b"]])
    apart = Format.of(str(row["unit"]), 0.0, [row["difference"], row["low"], row["high"]])
    told = {**row, "value": row["difference"], "neutral": 0.0, "reason": ""}
    numbers = {side: Number(plain.told(row[side])) for side in ("a", "b")}
    numbers |= {"a − b [95 %]": Number.of(told, apart), "p": Number(_p(row["p_corrected"]))}
    needed = row["seeds_needed"]
    seeds = "–" if needed is None or math.isnan(needed) else f"{needed:.0f}"
    numbers |= {"permuted": Number(_p(row["p_permutation"])), "seeds": Number(seeds)}
    return _Line(f"{row['row']}: {row['title']}", numbers, True)


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _row(first: str, words: int, cells: Mapping[str, str], wide: Mapping[str, int]) -> str:
    shown = "".join(f" {cells[name]:>{wide[name]}}" for name in wide)
    return f"{_short(first, words):<{words}}{shown}".rstrip()


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
