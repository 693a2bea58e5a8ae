"""A figure as data: pictures with panels, series and points, and what its reader may choose.

There is one picture for each combination of choices. Published numbers stand as reference points in the panels of
the models they are compared with. A number without a conclusion is not drawn, but its model is named; one with too few
groups is drawn without an interval. An axis ends where its quantity ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Literal

import pandas as pd

from trueprobe.probes.display import Figure
from trueprobe.results.numbers import NumberFormat, bounds, ticks
from trueprobe.results.text import figures as words
from trueprobe.results.view.number import NOT_COUNTED, Display, Number, Seed
from trueprobe.results.view.select import label_of
from trueprobe.types import Verdict

MOST_PICTURES = 60
SIDE = "side"  # the series of numbers on one side of their neutral value

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
    """A number with its place in a figure."""

    x: str
    at: Mapping[str, str]  # what the figure distinguishes: `model`, `measure`, `step`, `seed` and pairs `a+b` too
    number: Number
    source: str = ""  # of a published number

    @property
    def published(self) -> bool:
        return bool(self.source)

    @property
    def drawable(self) -> bool:
        return math.isfinite(self.number.value) and self.number.display is not Display.NOTHING

    @property
    def columns(self) -> dict[str, float | str | None]:
        """Of a table: what is displayed, unrounded."""
        n, (low, high) = self.number, self.number.interval
        counts = {"n_seeds": n.n_seeds or None, "n_items": n.n_items}
        return {
            **{"value": n.value, "low": low, "high": high, "sd_seeds": n.sd_seeds, **counts},
            "n_unscored": None if self.published else n.n_unscored,
            **{"unit": n.unit.value, "neutral": n.neutral},
            **{"verdict": n.verdict.value if n.row else "", "source": self.source},
        }


@dataclass(frozen=True)
class Look:
    """How a series is drawn, in the legend and in the chart."""

    position: int  # in the legend
    index: int  # its colour and shape
    style: Style


@dataclass(frozen=True)
class Series:
    name: str  # the condition's value
    title: str
    look: Look
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Panel:
    title: str
    model: str  # "" where panels are not by model
    series: tuple[Series, ...]
    why_empty: Verdict | None = None  # instead of marks


@dataclass(frozen=True)
class ValueAxis:
    ticks: tuple[float, ...]  # in the unit of the data; the first and the last are the ends
    neutral: float | None
    format: NumberFormat
    title: str


@dataclass(frozen=True)
class Picture:
    """What is drawn for one combination of choices."""

    figure: Figure
    chosen: Mapping[str, str]
    xs: tuple[tuple[str, str], ...]  # along x: value and title
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]  # without points
    axis: ValueAxis
    every: tuple[Point, ...]  # with those that are not drawn
    not_drawn: tuple[tuple[str, Verdict], ...] = ()  # models without a mark that have no panel to say so, and why
    nearest_published: tuple[tuple[str, str], ...] = ()  # changes of choice that lead to published numbers

    @property
    def kind(self) -> Kind:
        return self.figure.kind

    @property
    def conditions(self) -> tuple[str, ...]:
        """That distinguish its points."""
        figure = self.figure
        return tuple(dict.fromkeys(("model", *figure.panels, figure.series, figure.x, "measure")))

    @property
    def x_title(self) -> str:
        return self.figure.x_title or label_of(self.figure.names, "", self.figure.x)

    @property
    def seeds_tested(self) -> bool:
        return any(tested(seed) for point in self.points for seed in point.number.seeds)

    @property
    def points(self) -> Iterator[Point]:
        return (point for panel in self.panels for series in panel.series for point in series.points)

    @cached_property
    def looks(self) -> list[Look]:
        """All that occur: one series may be published in one panel and this run's in another."""
        drawn = (series.look for panel in self.panels for series in panel.series)
        return list(dict.fromkeys([*(entry.look for entry in self.legend), *drawn]))

    @cached_property
    def side_by_side(self) -> bool:
        """Series are drawn next to each other where they meet, so that intervals do not hide each other."""
        reference = () if self.kind == "lines" else (Style.PUBLISHED,)  # of dots: on the line of the model's own
        for panel in self.panels:
            names = {s.name: {point.x for point in s.points} for s in panel.series if s.look.style not in reference}
            if sum(map(len, names.values())) > len(set().union(*names.values())):
                return True
        return False

    @property
    def has_published(self) -> bool:
        return any(point.published for point in self.every)

    @property
    def published_models(self) -> tuple[str, ...]:
        """Where hollow marks are of several models: which."""
        named = {series.name for series in self.legend}
        models = dict.fromkeys(point.at["model"] for point in self.every if point.published and point.drawable)
        return () if named & set(models) else tuple(models)

    @property
    def note(self) -> str:
        """What the marks do not say."""
        parts = [words.no_published_number(self.nearest_published)] if self.nearest_published else []
        parts += [words.published_hollow(self.published_models)] if self.published_models else []
        parts += [words.not_drawn(self.not_drawn)] if self.not_drawn else []
        return " ".join(parts)

    @property
    def data(self) -> pd.DataFrame:
        """What it shows, as a table."""
        return pd.DataFrame({**{key: one.at[key] for key in self.conditions}, **one.columns} for one in self.every)


@dataclass(frozen=True)
class FigureChoice:
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
    choices: tuple[FigureChoice, ...]
    models: tuple[str, ...]  # of the panels, where the reader may look at one alone
    pictures: tuple[Picture, ...] = field(default_factory=tuple)  # the first is displayed first

    @property
    def scale_choice(self) -> bool:
        """Every model has its panel, so each may have its own scale."""
        return self.kind == "dots" and len(self.models) > 1


def figure_view(label: str, figure: Figure, points: Sequence[Point]) -> FigureView | None:
    """A figure of its points: one per model and place."""
    choices = tuple(choice for name in figure.choose if len((choice := _choice(points, figure, name)).options) > 1)
    combinations = list(product(*([value for value, _ in choice.options] for choice in choices)))
    names = [choice.name for choice in choices]
    chosen = [dict(zip(names, values, strict=True)) for values in combinations[:MOST_PICTURES]]
    pictures = [picture for one in chosen if (picture := _picture(_where(points, one), figure, one))]
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
        choices=choices,
        models=_panel_models(pictures),
        pictures=tuple(_with_nearest_published(pictures, figure)),
    )


def _where(points: Sequence[Point], at: Mapping[str, str]) -> list[Point]:
    return [point for point in points if all(point.at.get(key) == value for key, value in at.items())]


def _values(points: Sequence[Point], figure: Figure, name: str) -> list[str]:
    """A condition's values in the declared order, then as they come."""
    present = dict.fromkeys(point.at[name] for point in points)
    order = figure.measures if name == "measure" else figure.order.get(name, ())
    return list(dict.fromkeys([*(value for value in order if value in present), *present]))


def _choice(points: Sequence[Point], figure: Figure, name: str) -> FigureChoice:
    options = tuple((value, label_of(figure.names, name, value)) for value in _values(points, figure, name))
    return FigureChoice(name, label_of(figure.names, "", name), options)


def _drawn(choice: FigureChoice, pictures: Sequence[Picture]) -> FigureChoice:
    """The options that any picture has; that of the first picture first, as it is displayed first."""
    drawn = {picture.chosen[choice.name] for picture in pictures}
    options = [option for option in choice.options if option[0] in drawn]
    first = pictures[0].chosen[choice.name]
    return replace(choice, options=tuple(sorted(options, key=lambda option: option[0] != first)))


def _picture(points: Sequence[Point], figure: Figure, chosen: Mapping[str, str]) -> Picture | None:
    if not any(point.drawable or point.number.verdict in NOT_COUNTED for point in points):
        return None
    axis = _axis(points, figure)
    points = [replace(point, number=replace(point.number, format=axis.format)) for point in points]
    drawn = [point for point in points if point.drawable]
    xs = _values(drawn or points, figure, figure.x)
    if figure.kind == "lines":
        xs.sort(key=float)
    series = _series(points, figure)
    named = {point.at[figure.series] for point in drawn} if len(series) > 1 or figure.series == "model" else set()
    legend = tuple(one for one in series if one.name in named)
    positions = {one.name: i for i, one in enumerate(legend)}
    placed = [replace(one, look=replace(one.look, position=positions.get(one.name, 0))) for one in series]
    return Picture(
        figure,
        chosen,
        xs=tuple((x, label_of(figure.names, figure.x, x)) for x in xs),
        panels=tuple(_panels(points, figure, placed)),
        legend=tuple(one for one in placed if one.name in positions),
        axis=axis,
        every=tuple(points),
        not_drawn=tuple(_not_drawn(points, figure)),
    )


def _not_drawn(points: Sequence[Point], figure: Figure) -> Iterator[tuple[str, Verdict]]:
    if "model" in figure.panels:
        return
    for model in dict.fromkeys(point.at["model"] for point in points):
        of_model = _where(points, {"model": model})
        if not any(point.drawable for point in of_model):
            yield model, _why_empty(of_model)


def _series(points: Sequence[Point], figure: Figure) -> list[Series]:
    """Those of this run get their colours and shapes in order, published ones theirs."""
    made: list[Series] = []
    present = _values(points, figure, figure.series)
    for name in dict.fromkeys([*figure.order[SIDE], *present]) if figure.series == SIDE else present:
        style = _style(figure, points, name)
        index = sum((one.look.style is Style.PUBLISHED) == (style is Style.PUBLISHED) for one in made)
        made.append(Series(name, label_of(figure.names, figure.series, name), Look(0, index, style)))
    return made


def _style(figure: Figure, points: Sequence[Point], name: str) -> Style:
    if figure.kind == "bars":
        return Style.REST if name in figure.band else Style.PART
    if name in figure.band:
        return Style.BAND
    published = [point.published for point in points if point.at[figure.series] == name]
    return Style.PUBLISHED if published and all(published) else Style.MODEL


def _panels(points: Sequence[Point], figure: Figure, series: Sequence[Series]) -> list[Panel]:
    """One for each combination of their conditions; published numbers stand in the panels of every model."""
    panels = []
    of_run = [point for point in points if not point.published]
    published = [point for point in points if point.published]
    for values in product(*(_values(of_run, figure, key) for key in figure.panels)):
        at = dict(zip(figure.panels, values, strict=True))
        if inside := _where(of_run, at):
            reference = _where(published, {key: value for key, value in at.items() if key != "model"})
            title = " · ".join(label_of(figure.names, key, value) for key, value in at.items())
            drawn = tuple(_with_points([*inside, *reference], figure, series))
            why = None if any(point.drawable for point in inside) else _why_empty(inside)
            panels.append(Panel(title, at.get("model", ""), drawn, why))
    if "model" in figure.panels:
        return panels
    return [panel for panel in panels if panel.series] or panels[:1]  # conditions without numbers are left out


def _with_points(points: Sequence[Point], figure: Figure, series: Sequence[Series]) -> Iterator[Series]:
    """A series may be this run's and a published one at once: two series, of two styles."""
    for one, published in product(series, (False, True)):
        at_series = [point for point in points if point.at[figure.series] == one.name and point.published == published]
        if drawn := tuple(point for point in at_series if point.drawable):
            style = Style.PUBLISHED if published else one.look.style
            yield replace(one, look=replace(one.look, style=style), points=drawn)


def _why_empty(points: Sequence[Point]) -> Verdict:
    verdicts = [point.number.verdict for point in points]
    known = [verdict for verdict in (*NOT_COUNTED, *verdicts) if verdict in verdicts and verdict.inconclusive]
    return (known or verdicts)[0]


def _axis(points: Sequence[Point], figure: Figure) -> ValueAxis:
    first = next((point for point in points if not point.published), points[0])
    unit, neutral = first.number.unit, first.number.neutral
    form = NumberFormat.of(unit, neutral, [point.number.value for point in points])
    title = figure.y_title.replace("{measure}", label_of(figure.names, "measure", first.at["measure"]))
    return ValueAxis(_scale([point.number for point in points], figure, first.number, form), neutral, form, title)


def _scale(numbers: Sequence[Number], figure: Figure, first: Number, form: NumberFormat) -> tuple[float, ...]:
    """Neutral and, but for dots around a neutral point, zero are always in sight."""
    if figure.kind == "bars" or (figure.kind == "lines" and first.unit == "share"):
        return tuple(ticks(0, 1))
    ends = [end for n in numbers for end in (n.value, *n.interval, *(seed.value for seed in n.seeds))]
    least, most = bounds(first.unit, first.neutral)
    known = [n.value for n in numbers if math.isfinite(n.value)]  # an interaction of shares may exceed 100 points
    least, most = min([least, *known]), max([most, *known])
    inside = [min(max(value, least), most) for value in ends if math.isfinite(value)]
    inside.append(0.0 if first.neutral is None or figure.kind == "lines" else first.neutral)
    if first.neutral is not None:
        inside.append(first.neutral)
    return tuple(tick / form.factor for tick in ticks(form.factor * min(inside), form.factor * max(inside)))


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
