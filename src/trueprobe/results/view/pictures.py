"""A figure as data: pictures with panels, series and points, and what its reader may choose.

There is one picture for each combination of choices. Published numbers stand as reference points in the panels of
the models they are compared with. A number that decides nothing is not drawn, but its model is named; one with too few
groups is drawn without an interval. An axis ends where its quantity ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import Literal

import pandas as pd

from trueprobe.probes.display import Figure
from trueprobe.results.numbers import Format, bounds, ticks
from trueprobe.results.text import figures as words
from trueprobe.results.view.figure_rows import SIDE, FigureRow
from trueprobe.results.view.labels import label_of
from trueprobe.results.view.number import NOT_COUNTED, Seed
from trueprobe.types import Tail, Verdict

MOST_PICTURES = 60

Kind = Literal["lines", "dots", "bars"]


class Style(StrEnum):
    MODEL = "model"
    PUBLISHED = "published"
    BAND = "band"
    PART = "part"  # of a bar
    REST = "rest"  # of a bar, hollow


def tested(seed: Seed) -> bool:
    return not math.isnan(seed.p)


@dataclass(frozen=True)
class Point:
    x: str
    row: FigureRow


@dataclass(frozen=True)
class Series:
    name: str  # the condition's value
    title: str
    index: int  # its colour and shape
    style: Style
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Panel:
    title: str
    model: str  # "" where panels are not by model
    series: tuple[Series, ...]
    why_empty: Verdict | None = None  # instead of marks


@dataclass(frozen=True)
class Axis:
    ticks: tuple[float, ...]  # in the unit of the data; the first and the last are the ends
    neutral: float | None
    format: Format
    title: str


@dataclass(frozen=True)
class Picture:
    """What is drawn for one combination of choices."""

    chosen: Mapping[str, str]
    xs: tuple[tuple[str, str], ...]  # along x: value and title
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]  # without points
    axis: Axis
    conditions: tuple[str, ...]  # that distinguish its rows
    rows: tuple[FigureRow, ...]  # with those that are not drawn
    not_drawn: tuple[tuple[str, Verdict], ...] = ()  # models without a mark that have no panel to say so, and why
    nearest_published: tuple[tuple[str, str], ...] = ()  # changes of choice that lead to published numbers

    @property
    def seeds_tested(self) -> bool:
        return any(tested(seed) for point in self.points for seed in point.row.seeds)

    @property
    def points(self) -> Iterator[Point]:
        return (point for panel in self.panels for series in panel.series for point in series.points)

    @property
    def has_published(self) -> bool:
        return any(row.published for row in self.rows)

    @property
    def published_models(self) -> tuple[str, ...]:
        """Where hollow marks are of several models: which."""
        named = {series.name for series in self.legend}
        models = dict.fromkeys(row.at["model"] for row in self.rows if row.published and row.drawable)
        return () if named & set(models) else tuple(models)

    @property
    def data(self) -> pd.DataFrame:
        """What it shows, as a table."""
        return pd.DataFrame({**{key: row.at[key] for key in self.conditions}, **row.numbers} for row in self.rows)


@dataclass(frozen=True)
class Choice:
    name: str
    title: str
    options: tuple[tuple[str, str], ...]  # value and title


@dataclass(frozen=True)
class FigureView:
    """A figure with all that its reader may choose."""

    name: str  # of the files
    title: str
    caption: str
    source: str
    kind: Kind
    x_title: str
    x_unit: str
    series_title: str
    choices: tuple[Choice, ...]
    models: tuple[str, ...]  # of the panels, where the reader may look at one alone
    tail: Tail  # that the p of seeds is of
    pictures: tuple[Picture, ...] = field(default_factory=tuple)  # the first is displayed first

    @property
    def scale_choice(self) -> bool:
        """Every model has its panel, so each may have its own scale."""
        return self.kind == "dots" and len(self.models) > 1


def figure_view(label: str, figure: Figure, rows: Sequence[FigureRow]) -> FigureView | None:
    """A figure of rows that are put together already: one per model and place."""
    choices = tuple(choice for name in figure.choose if len((choice := _choice(rows, figure, name)).options) > 1)
    combinations = list(product(*([value for value, _ in choice.options] for choice in choices)))
    names = [choice.name for choice in choices]
    chosen = [dict(zip(names, values, strict=True)) for values in combinations[:MOST_PICTURES]]
    pictures = [picture for one in chosen if (picture := _picture(_where(rows, one), figure, one))]
    if not pictures:
        return None
    choices = tuple(_drawn(choice, pictures) for choice in choices)
    cut = words.pictures_cut(len(combinations), MOST_PICTURES) if len(combinations) > MOST_PICTURES else ""
    return FigureView(
        name=f"{label}-{figure.name}",
        title=figure.title,
        caption=figure.caption + cut,
        source=figure.source,
        kind=figure.kind,
        x_title=figure.x_title or label_of(figure.names, "", figure.x),
        x_unit=figure.x_unit,
        series_title=label_of(figure.names, "", figure.series),
        choices=choices,
        models=_panel_models(pictures),
        tail=figure.tail,
        pictures=tuple(_with_nearest_published(pictures, figure)),
    )


def _where(rows: Sequence[FigureRow], at: Mapping[str, str]) -> list[FigureRow]:
    return [row for row in rows if all(row.at.get(key) == value for key, value in at.items())]


def _values(rows: Sequence[FigureRow], figure: Figure, name: str) -> list[str]:
    """A condition's values in the declared order, then as they come."""
    present = dict.fromkeys(row.at[name] for row in rows)
    order = figure.measures if name == "measure" else figure.order.get(name, ())
    return list(dict.fromkeys([*(value for value in order if value in present), *present]))


def _choice(rows: Sequence[FigureRow], figure: Figure, name: str) -> Choice:
    options = tuple((value, label_of(figure.names, name, value)) for value in _values(rows, figure, name))
    return Choice(name, label_of(figure.names, "", name), options)


def _drawn(choice: Choice, pictures: Sequence[Picture]) -> Choice:
    """The options that any picture has; that of the first picture first, as it is displayed first."""
    drawn = {picture.chosen[choice.name] for picture in pictures}
    options = [option for option in choice.options if option[0] in drawn]
    first = pictures[0].chosen[choice.name]
    return replace(choice, options=tuple(sorted(options, key=lambda option: option[0] != first)))


def _picture(rows: Sequence[FigureRow], figure: Figure, chosen: Mapping[str, str]) -> Picture | None:
    if not any(row.drawable or row.verdict in NOT_COUNTED for row in rows):
        return None
    xs = _values([row for row in rows if row.drawable] or rows, figure, figure.x)
    legend = _legend(rows, figure)
    drawn = {row.at[figure.series] for row in rows if row.drawable}
    listed = tuple(entry for name, entry in legend.items() if name in drawn)
    return Picture(
        chosen,
        xs=tuple((x, label_of(figure.names, figure.x, x)) for x in _ordered(xs, figure)),
        panels=tuple(_panels(rows, figure, legend)),
        legend=listed if len(legend) > 1 or figure.series == "model" else (),
        axis=_axis(rows, figure),
        conditions=tuple(dict.fromkeys(("model", *figure.panels, figure.series, figure.x, "measure"))),
        rows=tuple(rows),
        not_drawn=tuple(_not_drawn(rows, figure)),
    )


def _not_drawn(rows: Sequence[FigureRow], figure: Figure) -> Iterator[tuple[str, Verdict]]:
    if "model" in figure.panels:
        return
    for model in dict.fromkeys(row.at["model"] for row in rows):
        mine = [row for row in rows if row.at["model"] == model]
        if not any(row.drawable for row in mine):
            yield model, _why_empty(mine)


def _ordered(xs: list[str], figure: Figure) -> list[str]:
    return sorted(xs, key=float) if figure.kind == "lines" else xs


def _legend(rows: Sequence[FigureRow], figure: Figure) -> dict[str, Series]:
    """Series of this run get their colours and shapes in order, published ones theirs."""
    made: dict[str, Series] = {}
    present = _values(rows, figure, figure.series)
    for name in dict.fromkeys([*figure.order[SIDE], *present]) if figure.series == SIDE else present:
        style = _style(figure, rows, name)
        index = sum((one.style is Style.PUBLISHED) == (style is Style.PUBLISHED) for one in made.values())
        made[name] = Series(name, label_of(figure.names, figure.series, name), index, style)
    return made


def _style(figure: Figure, rows: Sequence[FigureRow], name: str) -> Style:
    if figure.kind == "bars":
        return Style.REST if name in figure.band else Style.PART
    if name in figure.band:
        return Style.BAND
    mine = [row.published for row in rows if row.at[figure.series] == name]
    return Style.PUBLISHED if mine and all(mine) else Style.MODEL


def _panels(rows: Sequence[FigureRow], figure: Figure, legend: Mapping[str, Series]) -> list[Panel]:
    """One for each combination of their conditions; published numbers stand in the panels of every model."""
    panels = []
    asked = [row for row in rows if not row.published]
    published = [row for row in rows if row.published]
    for values in product(*(_values(asked, figure, key) for key in figure.panels)):
        at = dict(zip(figure.panels, values, strict=True))
        beside = {key: value for key, value in at.items() if key != "model"}
        if mine := _where(asked, at):
            inside = [*mine, *_where(published, beside)]
            title = " · ".join(label_of(figure.names, key, value) for key, value in at.items())
            panels.append(_panel(Panel(title, at.get("model", ""), ()), inside, figure, legend))
    if "model" in figure.panels:
        return panels
    return [panel for panel in panels if panel.series] or panels[:1]  # conditions without numbers are left out


def _panel(panel: Panel, rows: Sequence[FigureRow], figure: Figure, legend: Mapping[str, Series]) -> Panel:
    series = []
    for (name, entry), published in product(legend.items(), (False, True)):
        mine = [row for row in rows if row.at[figure.series] == name and row.published == published]
        if points := tuple(Point(row.at[figure.x], row) for row in mine if row.drawable):
            series.append(replace(entry, style=Style.PUBLISHED if published else entry.style, points=points))
    asked = [row for row in rows if not row.published]
    return replace(
        panel, series=tuple(series), why_empty=None if any(row.drawable for row in asked) else _why_empty(asked)
    )


def _why_empty(rows: Sequence[FigureRow]) -> Verdict:
    verdicts = [row.verdict for row in rows if row.verdict is not None]
    known = [verdict for verdict in (*NOT_COUNTED, *verdicts) if verdict in verdicts and verdict.silent]
    return (known or verdicts)[0]


def _axis(rows: Sequence[FigureRow], figure: Figure) -> Axis:
    first = next((row for row in rows if not row.published), rows[0])
    form = Format.of(first.unit, first.neutral, [row.value for row in rows])
    title = figure.y_title.replace("{measure}", label_of(figure.names, "measure", first.at["measure"]))
    return Axis(_scale(rows, figure, first, form), first.neutral, form, title)


def _scale(rows: Sequence[FigureRow], figure: Figure, first: FigureRow, form: Format) -> tuple[float, ...]:
    """Neutral and, but for dots around a neutral point, zero are always in sight."""
    if figure.kind == "bars" or (figure.kind == "lines" and first.unit == "share"):
        return tuple(ticks(0, 1))
    ends = [value for row in rows for value in (row.value, row.low, row.high, *(seed.value for seed in row.seeds))]
    least, most = bounds(first.unit, first.neutral)
    known = [min(max(value, least), most) for value in ends if math.isfinite(value)]
    known.append(0.0 if first.neutral is None or figure.kind == "lines" else first.neutral)
    if first.neutral is not None:
        known.append(first.neutral)
    return tuple(tick / form.factor for tick in ticks(form.factor * min(known), form.factor * max(known)))


def _panel_models(pictures: Sequence[Picture]) -> tuple[str, ...]:
    models = dict.fromkeys(panel.model for picture in pictures for panel in picture.panels if panel.model)
    return tuple(models) if len(models) > 1 else ()


def _with_nearest_published(pictures: Sequence[Picture], figure: Figure) -> Iterator[Picture]:
    """A choice without published numbers names, where another has some, the one that differs least."""
    having = [picture.chosen for picture in pictures if picture.has_published]
    for picture in pictures:
        if not having or picture.chosen in having:
            yield picture
            continue
        changes = [[key for key in other if other[key] != picture.chosen[key]] for other in having]
        nearest, keys = min(zip(having, changes, strict=True), key=lambda pair: len(pair[1]))
        named = ((label_of(figure.names, "", key), label_of(figure.names, key, nearest[key])) for key in keys)
        yield replace(picture, nearest_published=tuple(named))
