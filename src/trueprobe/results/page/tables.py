"""Tables as data: what is shown on the page, what goes into CSV (numbers as they are) and into LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from trueprobe.probes.display import Table
from trueprobe.results.numbers import Format, count
from trueprobe.results.page.figures import reads
from trueprobe.results.page.items import answer_text
from trueprobe.results.page.reading import Reading, together
from trueprobe.results.select import SILENT, row_keys, titles, where, where_told_by

UNSTABLE_POINTS = 2.5  # of a share in percent: deviations above are bold, as in paper C
NEAR_POINTS = 2.0  # of the neutral point
MOST_ROWS = 80


@dataclass(frozen=True)
class Cell:
    text: str
    kind: str = "text"  # text | number
    bold: bool = False
    mark: str = ""  # a class: what the page colours
    told: str = ""  # on hovering


@dataclass(frozen=True)
class Grid:
    name: str
    title: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]  # a row of one cell is a heading within the table
    data: pd.DataFrame
    source: str = ""

    @property
    def _caption(self) -> str:
        return f"{self.title}{'' if self.title.endswith('?') else '.'} {self.caption}"

    def csv(self) -> str:
        return self.data.to_csv(index=False)

    def latex(self) -> str:
        kinds = [cell.kind for cell in next((row for row in self.rows if len(row) > 1), ())]
        lines = [
            r"\begin{table}",
            r"\centering",
            r"\begin{tabular}{" + "".join("r" if kind == "number" else "l" for kind in kinds) + "}",
            r"\toprule",
            " & ".join(map(tex, self.header)) + r" \\",
            r"\midrule",
        ]
        for row in self.rows:
            if len(row) == 1:
                lines.append(rf"\multicolumn{{{len(self.header)}}}{{l}}{{\textit{{{tex(row[0].text)}}}}} \\")
            else:
                lines.append(" & ".join(_tex_cell(cell) for cell in row) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{tex(self._caption)}}}"]
        return "\n".join([*lines, rf"\label{{tab:{self.name}}}", r"\end{table}", ""])


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"}
_TEX |= {"<": "$<$", ">": "$>$"}
_TEX |= {char: "\\" + char for char in "&%$#_{}"} | {"×": r"$\times$", "✓": r"\checkmark", "–": "--", "…": r"\dots{}"}


def tex(text: str) -> str:
    return re.sub("|".join(map(re.escape, _TEX)), lambda found: _TEX[found.group()], text)


def _tex_cell(cell: Cell) -> str:
    text = tex(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold and text else text


def grids(reading: Reading, label: str) -> list[Grid]:
    told = reading.told[label]
    found = [_summary(reading, label)]
    for entry in told.get("tables") or ():
        table = Table(**{key: value for key, value in entry.items() if key in Table.__dataclass_fields__})
        make = {"estimates": _estimates, "observations": _observed, "items": _examples}[table.of]
        found.append(make(reading, label, table))
    return [grid for grid in found if grid is not None]


def names_of(told: Mapping[str, Any]) -> dict[str, str]:
    """What people read for a probe's conditions: in the summary's words, or as its figures have it."""
    return {**short_names(told), **told["summary"].get("meanings", {})}


def short_names(told: Mapping[str, Any]) -> dict[str, str]:
    """The same where there is little room: as its figures have it, or in the summary's words."""
    drawn = {key: text for figure in told.get("figures") or () for key, text in figure.get("names", {}).items()}
    return {**told["summary"].get("meanings", {}), **drawn}


def verdict_mark(verdict: str) -> str:
    """A class for a verdict: good, bad, open, none."""
    if verdict.startswith("holds") or verdict in ("as published", "not contradicted"):
        return "good"
    if verdict in ("opposite", "flips"):
        return "bad"
    return "open" if verdict == "undecided" else "none"


def number_cell(row: Mapping[str, Any], form: Format) -> Cell:
    """Value and interval, with what is behind it; a dash where nothing was to be counted."""
    value, verdict = float(row["value"]), str(row.get("verdict", ""))
    if math.isnan(value) or verdict in SILENT:
        return Cell("–", "number", mark="none", told=verdict)
    told = [] if verdict == "descriptive" else [verdict]
    if not math.isnan(float(row.get("n_items", math.nan))):
        told.append(f"{count(row['n_items'])} items")
        if row["n_unscored"]:
            told.append(f"{count(row['n_unscored'])} not scored")
    if row.get("n_seeds", 1) > 1 and not math.isnan(row["sd_seeds"]):
        told.append(f"{row['n_seeds']} seeds, deviation {form.factor * row['sd_seeds']:.{form.digits + 1}f}")
    mark = verdict_mark(verdict) if verdict != "descriptive" else ""
    text = form.number(value, float(row["low"]), float(row["high"]))
    return Cell(text, "number", mark == "good", mark, "; ".join(told))


def _forms(rows: pd.DataFrame) -> dict[str, Format]:
    """One format per measure, so that a column's digits agree."""
    found = {}
    for measure, mine in rows.groupby("measure", sort=False):
        neutral = float(mine["neutral"].iloc[0])
        unit = str(mine["unit"].iloc[0])
        found[str(measure)] = Format.of(unit, None if math.isnan(neutral) else neutral, mine["value"].astype(float))
    return found


def _summary(reading: Reading, label: str) -> Grid | None:
    """The table `run` prints, for all families."""
    told = reading.told[label]
    summary = told["summary"]
    names = {**names_of(told), **titles(summary)}
    keys = row_keys(summary)
    return _by_family(
        reading,
        label,
        Table(
            "summary",
            "In numbers",
            _at(summary["where"]) + " In brackets 95 % intervals. Bold: the interval excludes the neutral value.",
            "estimates",
            tuple(keys),
            tuple(summary["measures"]),
            summary["where"],
            names=names,
        ),
    )


def _at(fixed: Mapping[str, Any]) -> str:
    told = [f"top {v}" if k == "k" else f"{k} {v}" for k, v in fixed.items() if isinstance(v, str) and v != "all"]
    return f"{'; '.join(told).capitalize()}." if told else ""


def _estimates(reading: Reading, label: str, table: Table) -> Grid | None:
    return over_seeds(reading, label, table) if table.seeds else _by_family(reading, label, table)


def _table_rows(reading: Reading, label: str, table: Table) -> pd.DataFrame:
    rows = reading.estimates
    if rows.empty:
        return rows
    rows = rows[(rows["probe"] == label) & rows["measure"].isin(table.measures)]
    rows = where_told_by(rows, table.where, "family")
    if rows.empty or any(key not in rows for key in table.rows):
        return rows[:0]
    depth = ["k"] if "k" in table.where else []
    return together(rows.dropna(subset=list(table.rows)), ["measure", *table.rows, *depth])


def _sorted(rows: pd.DataFrame, table: Table) -> list[tuple[str, ...]]:
    """The combinations of the rows' conditions, in the declared order."""
    found = list(dict.fromkeys(map(tuple, rows[list(table.rows)].astype(str).to_numpy())))
    place = {key: {v: i for i, v in enumerate(table.order.get(key, ()))} for key in table.rows}
    return sorted(
        found, key=lambda t: tuple(place[k].get(v, len(place[k])) for k, v in zip(table.rows, t, strict=True))
    )


def _by_family(reading: Reading, label: str, table: Table) -> Grid | None:
    rows = _table_rows(reading, label, table)
    if rows.empty:
        return None
    whole = set(rows.loc[rows["k"] == "all", "family"]) if table.where.get("k", "all") != "all" else set()
    measures = [m for m in table.measures if m in set(rows["measure"])]
    forms = _forms(rows)
    lines: list[list[Cell]] = []
    for family in dict.fromkeys(rows["family"]):
        mine = rows[rows["family"] == family]
        seeds = int(mine["n_seeds"].max())
        told = [str(family)] + ([f"{seeds} trainings"] if seeds > 1 else [])
        told += ["over the whole word list, as the top k holds too few"] if family in whole else []
        if rows["family"].nunique() > 1 or len(told) > 1:
            lines.append([Cell(", ".join(told))])
        digits = _forms(mine)  # a family's own: small probabilities need more of them
        cells = {(_named(row, table), row["measure"]): row for row in _records(mine)}
        for names in _sorted(mine, table):
            line = [Cell(reads(table.names, key, name)) for key, name in zip(table.rows, names, strict=True)]
            for measure in measures:
                row = cells.get((names, measure))
                line.append(number_cell(row, digits[measure]) if row is not None else Cell("–", "number", mark="none"))
            lines.append(line)
    if all(cell.text == "–" for line in lines for cell in line if cell.kind == "number"):
        return None
    header = [reads(table.names, "", key) for key in table.rows] + [_headed(table, m, forms[m]) for m in measures]
    data = rows.drop(columns=["seeds"])
    return Grid(f"{label}-{table.name}", table.title, table.caption, header, lines, data, table.source)


def _headed(table: Table, measure: str, form: Format) -> str:
    unit = form.suffix.strip()
    return reads(table.names, "measure", measure) + (f", {unit}" if unit else "")


def over_seeds(reading: Reading, label: str, table: Table) -> Grid | None:
    """Paper C's table 1: mean ± deviation over seeds, per category, of the families that have several."""
    rows = _table_rows(reading, label, table)
    rows = rows[rows["n_seeds"] > 1] if len(rows) else rows
    if rows.empty:
        return None
    forms = {family: _forms(mine) for family, mine in rows.groupby("family", sort=False)}
    found = {(names, r["family"], r["measure"]): r for names, r in ((_named(r, table), r) for r in _records(rows))}
    lines = []
    for names in _sorted(rows, table):
        mine = [r for key, r in found.items() if key[0] == names]
        line = [Cell(reads(table.names, key, name)) for key, name in zip(table.rows, names, strict=True)]
        line.append(Cell(count(max(r["n_items"] for r in mine)), "number"))
        for family, measure in product(forms, table.measures):
            row = found.get((names, family, measure))
            line.append(seeds_cell(row, forms[family][measure]) if row else Cell("–", "number", mark="none"))
        lines.append(line)
    many = len(table.measures) > 1
    header = [reads(table.names, "", key) for key in table.rows] + ["items"]
    header += [f"{f}, {reads(table.names, 'measure', m)}" if many else f for f, m in product(forms, table.measures)]
    data = rows.drop(columns=["seeds"])
    return Grid(f"{label}-{table.name}", table.title, table.caption, header, lines, data, table.source)


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return rows.to_dict("records")


def _named(row: Mapping[str, Any], table: Table) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in table.rows)


def seeds_cell(row: Mapping[str, Any], form: Format) -> Cell:
    """Bold where seeds deviate by more than 2.5 points; marked where they reach from near neutral to clearly beyond."""
    scale, points = form.factor, form.factor == 100
    if math.isnan(row["value"]) or row["verdict"] in SILENT:
        return Cell("–", "number", mark="none")
    if math.isnan(row["sd_seeds"]):
        return number_cell(row, form)
    away = [(abs(scale * (seed.value - row["neutral"])), seed.holds) for seed in row["seeds"]]
    crosses = any(far <= NEAR_POINTS for far, _ in away) and any(far > NEAR_POINTS and holds for far, holds in away)
    form = replace(form, digits=max(1, form.digits))
    digits = form.digits
    text = f"{form.plain(row['value'])} ± {scale * row['sd_seeds']:.{digits}f}"
    ends = [scale * seed.value for seed in row["seeds"]]
    told = f"{row['n_seeds']} seeds, from {min(ends):.{digits}f} to {max(ends):.{digits}f}"
    unstable = points and scale * row["sd_seeds"] > UNSTABLE_POINTS
    return Cell(text, "number", unstable, "crosses" if points and crosses else "", told)


def _observed(reading: Reading, label: str, table: Table) -> Grid | None:
    """Distinct values down, what each model did across."""
    seen = reading.observations(label)
    if seen.empty or any(key not in seen for key in table.rows):
        return None
    seen = where(seen[seen["why_not"] == ""], table.where)
    distinct = seen.drop_duplicates(list(table.rows))[list(table.rows)]
    if distinct.empty:
        return None
    models = list(dict.fromkeys(seen["model"])) if table.measures else []
    firsts = seen.drop_duplicates(["model", *table.rows]).set_index(["model", *table.rows])
    lines = []
    digits = {name: _digits(distinct[name]) for name in table.rows}
    for names in distinct.itertuples(index=False, name=None):
        line = [_observed_cell(table, k, n, digits[k]) for k, n in zip(table.rows, names, strict=True)]
        for model in models:
            key = (model, *names)
            line.append(_answer(firsts.loc[key], table) if key in firsts.index else Cell("–", mark="none"))
        lines.append(line)
    header = [reads(table.names, "", key) for key in table.rows] + models
    columns = [*(["model"] if models else []), *table.rows, *table.measures, *([table.right] if table.right else [])]
    data = seen.drop_duplicates(["model", *table.rows] if models else list(table.rows))[columns]
    return Grid(f"{label}-{table.name}", table.title, table.caption, header, lines, data, table.source)


def _digits(values: pd.Series) -> int:
    """Of a column of numbers, so that they stand below each other."""
    if not pd.api.types.is_float_dtype(values):
        return 0
    return max((len(f"{v:g}".partition(".")[2]) for v in values.dropna()), default=0)


def _observed_cell(table: Table, column: str, value: Any, digits: int) -> Cell:
    if isinstance(value, float):
        return Cell("–" if math.isnan(value) else f"{value:,.{digits}f}", "number")
    return Cell(reads(table.names, column, value), "text" if isinstance(value, str) else "number")


def _answer(row: Any, table: Table) -> Cell:
    text = ", ".join(answer_text(row[measure]) for measure in table.measures)
    if not table.right:
        return Cell(text)
    right = row[table.right] == 1
    return Cell(f"{text} {'✓' if right else '✗'}", mark="good" if right else "bad")


def _examples(reading: Reading, label: str, table: Table) -> Grid | None:
    """The first item of each combination."""
    items = reading.items(label)
    if items.empty or any(key not in items for key in table.rows):
        return None
    items = where(items, table.where).drop_duplicates(list(table.rows))
    if items.empty:
        return None
    texts = {tuple(map(str, row[:-1])): row[-1] for row in items[[*table.rows, "text"]].itertuples(index=False)}
    lines = [
        [*(Cell(reads(table.names, k, n)) for k, n in zip(table.rows, names, strict=True)), Cell(texts[names])]
        for names in _sorted(items, table)[:MOST_ROWS]
    ]
    header = [reads(table.names, "", key) for key in (*table.rows, "text")]
    data = items[[*table.rows, "text"]]
    return Grid(f"{label}-{table.name}", table.title, table.caption, header, lines, data, table.source)
