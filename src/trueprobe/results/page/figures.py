"""From a declared figure to pictures: which estimates belong into which panel, series and place.

A picture holds everything that is drawn, as data; `draw` makes it visible. Published numbers are series of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pandas as pd

from trueprobe.probes.display import Figure
from trueprobe.results.numbers import Format, count, ticks
from trueprobe.results.page.reading import Reading, Seed, together
from trueprobe.results.select import SILENT, directed, row_keys, titles, where, where_told

MOST_VARIANTS = 60
SIGNIFICANT = 0.01  # of one seed's own test, as paper C has it
PUBLISHED = " (published)"
SCALE = "scale"  # chosen by the reader where every model has its panel
SAME, OWN = "the same for all", "each its own"
ONE_TRAINING = "one training"  # of a family that names no seed
_WHY_EMPTY = {"fails the gate": "fails the gate: nothing to draw", "low coverage": "mostly ties: nothing to draw"}


@dataclass(frozen=True)
class Point:
    x: str
    value: float
    low: float = math.nan
    high: float = math.nan
    seeds: tuple[Seed, ...] = ()
    told: str = ""


@dataclass(frozen=True)
class Series:
    title: str
    index: int  # its colour and shape
    points: tuple[Point, ...]
    style: str = "own"  # own | published | band; of bars: part | rest


@dataclass(frozen=True)
class Panel:
    title: str
    series: tuple[Series, ...]
    note: str = ""  # instead of marks
    scale: tuple[float, ...] = ()  # its own, where it has one


@dataclass(frozen=True)
class Picture:
    kind: str
    title: str
    xs: tuple[tuple[str, str], ...]  # value and what people read
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, int, str], ...]  # title, index, style
    scale: tuple[float, ...]  # the ticks; the first and the last are the ends
    neutral: float
    form: Format
    x_title: str = ""
    y_title: str = ""
    tested: bool = False  # seeds have p-values: hollow where not significant
    note: str = ""  # below the legend: what a reader may look for in vain


@dataclass(frozen=True)
class Variant:
    chosen: Mapping[str, str]
    picture: Picture
    data: pd.DataFrame


@dataclass(frozen=True)
class Drawing:
    """A figure with all the reader may choose."""

    label: str  # of the probe
    figure: Figure
    choices: Mapping[str, Sequence[str]]
    variants: Sequence[Variant] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.label}-{self.figure.name}"


def reads(names: Mapping[str, str], condition: str, value: Any) -> str:
    """What people read for a condition's value."""
    text = str(value)
    if condition in ("model", "family"):
        return text
    plain = text if "___" in text or " " in text else text.replace("_", " ")  # a name, not a prompt
    return names.get(f"{condition}={text}", names.get(text, plain))


def figure_of(told: Mapping[str, Any]) -> Figure:
    def tuples(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    plain = {key: tuples(value) for key, value in told.items() if key in Figure.__dataclass_fields__}
    for key in ("where", "order"):
        plain[key] = {name: tuples(value) for name, value in plain.get(key, {}).items()}
    return Figure(**plain)


def drawings(reading: Reading, label: str) -> list[Drawing]:
    """The declared figures that this run has numbers for; without any declared, one of the summary. With several
    checkpoints of one training, the summary's first measure along it."""
    told = reading.told[label]
    declared = [figure_of(figure) for figure in told.get("figures") or ()]
    wanted = [*(declared or _plain_figures(reading, label)), *_along_training(reading, label)]
    return [drawn for figure in wanted if (drawn := _draw(reading, label, figure))]


def _draw(reading: Reading, label: str, figure: Figure) -> Drawing | None:
    return draw_rows(_rows(reading, label, figure), label, figure)


def draw_rows(rows: pd.DataFrame, label: str, figure: Figure) -> Drawing | None:
    """A figure of rows that are put together already: one per model and place."""
    if rows.empty:
        return None
    known = {name: _values(rows, figure, name) for name in figure.choose}
    choices = {name: several for name, several in known.items() if len(several) > 1}
    if figure.kind == "dots" and "model" in figure.panels and rows["model"].nunique() > 1:
        choices[SCALE] = [SAME, OWN]
    variants, every = [], list(product(*choices.values()))
    if len(every) > MOST_VARIANTS:
        cut = f" Of {len(every)} choices the first {MOST_VARIANTS} are drawn; estimates.csv has the numbers of all."
        figure = replace(figure, caption=figure.caption + cut)
    for values in every[:MOST_VARIANTS]:
        chosen = dict(zip(choices, values, strict=True))
        mine = where(rows, {key: value for key, value in chosen.items() if key != SCALE})
        if len(mine) and any(map(_worth_a_look, mine.to_dict("records"))):
            picture = _picture(mine, figure, chosen.get(SCALE) == OWN)
            variants.append(Variant(chosen, picture, _data(mine, figure)))
    return Drawing(label, figure, choices, _told_of_published(variants, figure)) if variants else None


def _told_of_published(variants: Sequence[Variant], figure: Figure) -> list[Variant]:
    """A choice without published numbers says so where another has some, and names the one that differs least."""
    having = [variant.chosen for variant in variants if variant.data["published"].any()]
    told = []
    for variant in variants:
        if having and not variant.data["published"].any():
            changes = [[key for key in chosen if chosen[key] != variant.chosen[key]] for chosen in having]
            nearest, keys = min(zip(having, changes, strict=True), key=lambda pair: len(pair[1]))
            named = [f"{reads(figure.names, '', key)}: {reads(figure.names, key, nearest[key])}" for key in keys]
            note = f"No published number for this choice; there are some for {', '.join(named)}."
            variant = replace(variant, picture=replace(variant.picture, note=note))
        told.append(variant)
    return told


def _keys(figure: Figure) -> list[str]:
    """The conditions a figure tells apart; `a+b` is the two together."""
    named = "+".join((figure.x, figure.series, *figure.panels, *figure.choose)).split("+")
    return list(dict.fromkeys(key for key in ("measure", *named) if key != "model"))


def _with_pairs(rows: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    pairs = [name for name in (figure.x, figure.series, *figure.panels, *figure.choose) if "+" in name]
    return rows.assign(**{name: rows[name.split("+")].astype(str).agg(" ".join, axis=1) for name in pairs})


def _rows(reading: Reading, label: str, figure: Figure) -> pd.DataFrame:
    """The figure's estimates, one per family and place; `model` is the family."""
    rows = reading.estimates
    if rows.empty:
        return rows
    rows = own = where(rows[rows["probe"] == label], {"measure": figure.measures, **figure.where})
    keys = _keys(figure)
    if rows.empty or any(key not in rows for key in keys):
        return rows[:0]
    if "seed" in keys:  # each training by itself; steps without a seed are one training
        rows = rows[rows["level"] != "family"]
        rows = rows.assign(seed=rows["seed"].astype("string").fillna(ONE_TRAINING))
    rows = together(rows.dropna(subset=keys), keys)
    if rows.empty:
        return rows
    rows = rows.rename(columns={"family": "model"}).assign(published=False)
    return _with_pairs(pd.concat([rows, _published(reading, label, figure, own)], ignore_index=True), figure)


def _published(reading: Reading, label: str, figure: Figure, own: pd.DataFrame) -> pd.DataFrame:
    """Published numbers under the figure's conditions; what it leaves open must be as it is in this run."""
    keys = _keys(figure)
    left_open = {name: set(own[name].dropna().astype(str)) for name in own if name not in (*keys, *figure.where)}
    found = []
    for row in reading.told[label].get("published") or ():
        conditions = {key: str(value) for key, value in row.get("conditions", {}).items()}
        flat = {**conditions, "measure": row["measure"]}
        wanted = {"measure": figure.measures, **figure.where}
        if any(flat.get(k, "") not in ([v] if isinstance(v, str) else v) for k, v in wanted.items()):
            continue
        asked_here = all(value in left_open.get(key, {value}) for key, value in conditions.items())
        if asked_here and all(key in flat for key in keys):
            shown = {"model": f"{row['model']}{PUBLISHED}", "value": row["value"], "published": True, "seeds": []}
            found.append({**flat, **shown, "verdict": row.get("source", "published")})
    return pd.DataFrame(found)


def _values(rows: pd.DataFrame, figure: Figure, condition: str) -> list[str]:
    """A condition's values in the declared order, then as they come."""
    present = list(dict.fromkeys(rows[condition].dropna().astype(str)))
    order = figure.measures if condition == "measure" else figure.order.get(condition, ())
    first = [value for value in order if value in present]
    return first + [value for value in present if value not in first]


def _picture(rows: pd.DataFrame, figure: Figure, own_scales: bool) -> Picture:
    own = rows[~rows["published"].astype(bool)]
    unit = str(own["unit"].iloc[0]) if len(own) else "share"
    neutral = float(own["neutral"].iloc[0]) if len(own) else math.nan
    form = Format.of(unit, None if math.isnan(neutral) else neutral, rows["value"].astype(float))
    shown = rows[[_drawable(row) for row in rows.to_dict("records")]]
    xs = _values(shown if len(shown) else rows, figure, figure.x)
    if figure.kind == "lines":
        xs.sort(key=float)
    names = _values(rows, figure, figure.series)
    styles = {name: _style(figure, rows, name) for name in names}
    index = {name: i for i, name in enumerate([n for n in names if styles[n] != "published"])}
    panels = []
    for group in product(*(_values(rows, figure, key) for key in figure.panels)):
        mine = where(rows, dict(zip(figure.panels, group, strict=True)))
        if mine.empty:
            continue
        title = " · ".join(reads(figure.names, key, value) for key, value in zip(figure.panels, group, strict=True))
        panel = _panel(mine, figure, title, [(n, index.get(n, 0), styles[n]) for n in names], form)
        panels.append(replace(panel, scale=_scale(mine, figure, unit, neutral, form)) if own_scales else panel)
    if "model" not in figure.panels:  # a model without numbers is named; a condition without any is left out
        panels = [panel for panel in panels if panel.series] or panels[:1]
    legend = [(reads(figure.names, figure.series, n), index.get(n, 0), styles[n]) for n in names]
    tested = any(not math.isnan(seed.p) for seeds in rows["seeds"] for seed in seeds)
    return Picture(
        figure.kind,
        figure.title,
        tuple((x, reads(figure.names, figure.x, x)) for x in xs),
        tuple(panels),
        tuple(legend) if len(legend) > 1 or figure.series == "model" else (),
        _scale(rows, figure, unit, neutral, form),
        neutral,
        form,
        figure.x_title or reads(figure.names, "", figure.x),
        figure.y_title,
        tested,
    )


def _style(figure: Figure, rows: pd.DataFrame, name: str) -> str:
    if figure.kind == "bars":
        return "rest" if name in figure.band else "part"
    if name in figure.band:
        return "band"
    return "published" if where(rows, {figure.series: name})["published"].all() else "own"


def _panel(rows: pd.DataFrame, figure: Figure, title: str, series: list[tuple[str, int, str]], form: Format) -> Panel:
    made = []
    records = rows.to_dict("records")
    for name, index, style in series:
        mine = [row for row in records if str(row[figure.series]) == name and _drawable(row)]
        if mine:
            kind = "published" if all(row["published"] for row in mine) else style
            points = tuple(_point(row, figure, form, name) for row in mine)
            made.append(Series(reads(figure.names, figure.series, name), index, points, kind))
    return Panel(title, tuple(made), "" if made else _why_empty(rows))


def _worth_a_look(row: Mapping[str, Any]) -> bool:
    """Something to draw, or a model that failed and must be named."""
    return _drawable(row) or row["verdict"] in _WHY_EMPTY


def _drawable(row: Mapping[str, Any]) -> bool:
    return not math.isnan(row["value"]) and row["verdict"] not in SILENT


def _why_empty(rows: pd.DataFrame) -> str:
    found = set(rows["verdict"])
    return next((why for verdict, why in _WHY_EMPTY.items() if verdict in found), "nothing to count")


def _point(row: Mapping[str, Any], figure: Figure, form: Format, name: str) -> Point:
    low, high = (float(row.get(key, math.nan)) for key in ("low", "high"))
    seeds = tuple(row["seeds"]) if isinstance(row["seeds"], (list, tuple)) else ()
    told = [reads(figure.names, figure.x, row[figure.x]), reads(figure.names, figure.series, name)]
    if figure.x in ("attractors", "properties"):
        told[0] = f"{row[figure.x]} {figure.x}"
    text = f"{' · '.join(told)}: {form.told(float(row['value']), low, high)}"
    return Point(str(row[figure.x]), float(row["value"]), low, high, seeds, text + _behind(row, seeds))


def _behind(row: Mapping[str, Any], seeds: Sequence[Seed]) -> str:
    """Item counts, seeds and verdict: what is behind a mark."""
    if row.get("published"):
        return f" ({row['verdict']})"
    parts = [f"{count(row['n_items'])} items"]
    if row["n_unscored"]:
        parts.append(f"{count(row['n_unscored'])} not scored")
    if seeds:
        parts.append(f"mean of {len(seeds)} checkpoints")
        tested = [seed.p for seed in seeds if not math.isnan(seed.p)]
        if tested:
            parts.append(f"{sum(p < SIGNIFICANT for p in tested)} significant at {SIGNIFICANT}")
    if row["verdict"] not in ("descriptive", ""):
        reason = row.get("reason")
        parts.append(f"{row['verdict']}: {reason}" if isinstance(reason, str) and reason else str(row["verdict"]))
    return f" ({'; '.join(parts)})"


def _scale(rows: pd.DataFrame, figure: Figure, unit: str, neutral: float, form: Format) -> tuple[float, ...]:
    """Ticks in the unit of the data. Neutral and, but for dots around a neutral point, zero are always in sight."""
    if figure.kind == "bars" or (figure.kind == "lines" and unit == "share"):
        return tuple(ticks(0, 1))
    shown = [float(v) for key in ("value", "low", "high") if key in rows for v in rows[key]]
    shown += [seed.value for seeds in rows["seeds"] for seed in seeds]
    shown = [v for v in shown if not math.isnan(v)]
    shown.append(0.0 if math.isnan(neutral) or figure.kind == "lines" else neutral)
    if not math.isnan(neutral):
        shown.append(neutral)
    scaled = ticks(form.factor * min(shown), form.factor * max(shown))
    return tuple(tick / form.factor for tick in scaled)


def _data(rows: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """What the picture shows, as a table."""
    keys = [key for key in dict.fromkeys(("model", *figure.panels, figure.series, figure.x, "measure")) if key in rows]
    kept = ["value", "low", "high", "sd_seeds", "n_seeds", "n_items", "n_unscored", "unit", "neutral", "verdict"]
    table = rows.reindex(columns=[*keys, *kept])
    return table.assign(published=rows["published"])


def _plain_figures(reading: Reading, label: str) -> list[Figure]:
    """A dot plot of each directed measure of a probe's summary, where it declares no figure."""
    summary = reading.told[label]["summary"]
    rows, (fixed, names) = row_keys(summary), _fixed_and_named(summary)
    return [
        Figure(
            measure,
            names[measure].capitalize() if names[measure].islower() else names[measure],
            "One dot per condition, with its 95 % interval over items.",
            (measure,),
            rows[-1],
            "dots",
            panels=tuple(rows[:-1]),
            where=fixed,
            names=names,
            y_title=names[measure],
        )
        for measure in summary["measures"]
    ]


def _fixed_and_named(summary: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The conditions a summary fixes, and what people read for its rows and measures."""
    fixed = {key: tuple(v) if isinstance(v, list) else v for key, v in summary["where"].items()}
    return fixed, {**summary.get("meanings", {}), **titles(summary)}


def _along_training(reading: Reading, label: str) -> list[Figure]:
    """A curve over steps of the summary's first measure with a neutral value, where a family has several steps."""
    if reading.estimates.empty or all(len(family.steps) < 2 for family in reading.families.values()):
        return []
    summary = reading.told[label]["summary"]
    rows = where_told(reading.estimates[reading.estimates["probe"] == label], summary["where"])
    fixed, names = _fixed_and_named(summary)
    if "k" in fixed and (rows["k"].astype(str) == "all").all():
        fixed["k"] = "all"
    measure = [*directed(rows, summary), *summary["measures"]][0]
    return [
        Figure(
            "training",
            f"Along training: {names[measure]}",
            "One line per model over its training steps, with 95 % intervals. Steps of one training are no seeds.",
            (measure,),
            "step",
            choose=tuple(row_keys(summary)),
            where=fixed,
            names=names,
            x_title="training step",
            y_title=names[measure],
        )
    ]
