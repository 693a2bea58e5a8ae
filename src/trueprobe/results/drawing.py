"""A picture with its looks and its data, ready for a chart.

The data has columns of our own making and refers to series, panels and what is listed along x by number: a Vega-Lite
field named `a.b` or `a[b]` would be read as a path and silently drawn as nothing. Colours are CSS variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from trueprobe.results.text import figures as words
from trueprobe.results.text import verdicts
from trueprobe.results.view.figure_rows import FigureRow
from trueprobe.results.view.pictures import FigureView, Picture, Point, Series, Style, tested
from trueprobe.types import Tail

COLOURS = 7  # Okabe and Ito's, without black
LIGHT = {
    "ink": "#1c2430",
    "soft": "#59636f",
    "line": "#dfe3e8",
    "stripe": "#f4f6f8",
    "paper": "#ffffff",
    "s0": "#0072b2",
    "s1": "#d55e00",
    "s2": "#009e73",
    "s3": "#cc79a7",
    "s4": "#e69f00",
    "s5": "#56b4e9",
    "s6": "#6b6b6b",
    "pub": "#9aa3ad",
}
DARK = {
    "ink": "#e8ebef",
    "soft": "#a9b2bd",
    "line": "#343c46",
    "stripe": "#1f252d",
    "paper": "#171c22",
    "s0": "#5cb8f0",
    "s1": "#ff8a3d",
    "s2": "#2cc89c",
    "s3": "#e59bc6",
    "s4": "#f2b632",
    "s5": "#9ad4f7",
    "s6": "#b5b5b5",
    "pub": "#77818c",
}
SHAPES = (  # as SVG paths in a square from -1 to 1: for Vega and for the page's legend
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.3L1.3,0L0,1.3L-1.3,0Z",
    "M0,-1.2L1.2,.9H-1.2Z",
    "M0,1.2L1.2,-.9H-1.2Z",
    "M-1.1,-.4H-.4V-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1Z",
)
DODGE = 0.014  # of the length of an axis of numbers, between series

Datum = dict[str, object]


@dataclass(frozen=True)
class Look:
    """How a series is drawn, in the legend and in the chart."""

    position: int  # in the legend
    index: int
    style: Style

    @property
    def surface(self) -> bool:
        return self.style in (Style.BAND, Style.PART, Style.REST)

    @property
    def colour(self) -> str:
        return f"var(--s{self.index % COLOURS})"

    @property
    def fill(self) -> str:
        return "var(--paper)" if self.style in (Style.PUBLISHED, Style.REST) else self.colour

    @property
    def stroke(self) -> str:
        grey = {Style.PUBLISHED: "var(--pub)", Style.REST: "var(--soft)"}
        return grey.get(self.style, self.colour)

    @property
    def dash(self) -> list[int]:
        return [5, 3] if self.style is Style.PUBLISHED else [1, 0]

    @property
    def shape(self) -> str:
        return SHAPES[self.index % len(SHAPES)]


@dataclass(frozen=True)
class Entry:
    """Of the legend on the page."""

    title: str
    look: Look


@dataclass(frozen=True)
class Drawing:
    """A picture and what its chart is made of."""

    view: FigureView
    picture: Picture

    @cached_property
    def legend(self) -> list[Entry]:
        return [Entry(s.title, Look(i, s.index, s.style)) for i, s in enumerate(self.picture.legend)]

    @cached_property
    def looks(self) -> list[Look]:
        """All that occur: one series may be published in one panel and this run's in another."""
        drawn = (self.look(series) for panel in self.picture.panels for series in panel.series)
        return list(dict.fromkeys([*(entry.look for entry in self.legend), *drawn]))

    def look(self, series: Series) -> Look:
        names = [entry.name for entry in self.picture.legend]
        position = names.index(series.name) if series.name in names else 0
        return Look(position, series.index, series.style)

    @property
    def seeds_tested(self) -> bool:
        return self.picture.seeds_tested

    @property
    def beside(self) -> bool:
        """Series stand beside each other where they meet, so that intervals do not hide each other."""
        reference = () if self.view.kind == "lines" else (Style.PUBLISHED,)  # of dots: on the line of the model's own
        for panel in self.picture.panels:
            names = {one.name: {point.x for point in one.points} for one in panel.series if one.style not in reference}
            if sum(map(len, names.values())) > len(set().union(*names.values())):
                return True
        return False

    @property
    def note(self) -> str:
        """What the marks do not say."""
        picture = self.picture
        parts = [words.no_published_number(picture.nearest_published)] if picture.nearest_published else []
        parts += [words.published_hollow(picture.published_models)] if picture.published_models else []
        parts += [words.not_drawn(picture.not_drawn)] if picture.not_drawn else []
        return " ".join(parts)

    @property
    def description(self) -> str:
        return words.figure_description(self.view.kind, self.view.title, [p.title for p in self.picture.panels])

    @property
    def axis_title(self) -> str:
        axis = self.picture.axis
        return words.axis_title(axis.title, axis.format.factor == 100, axis.format.signed)

    @property
    def row_height(self) -> int:
        return max(20, 9 * (len(self.legend) if self.beside and self.view.kind == "dots" else 1) + 10)

    @property
    def height(self) -> int:
        return 170 if self.view.kind == "lines" else self.row_height * len(self.picture.xs)


# ---------------------------------------------------------------- data


def data(drawing: Drawing) -> Iterator[Datum]:
    for number, panel in enumerate(drawing.picture.panels):
        note = "" if panel.why_empty is None else words.why_empty(panel.why_empty)
        yield {"role": "panel", "panel": number, "note": note}
        for series in panel.series:
            for point in series.points:
                yield from _point(drawing, number, series, point)


def _point(drawing: Drawing, panel: int, series: Series, point: Point) -> Iterator[Datum]:
    row, factor, look = point.row, drawing.picture.axis.format.factor, drawing.look(series)
    at: Datum = {
        "panel": panel,
        "series": look.position,
        "look": drawing.looks.index(look),
        "x": _x(drawing, look, point),
        "joined": _joined(drawing, series),
    }
    title, number = _title(drawing, series, point), drawing.picture.axis.format.sentence(row.value, row.low, row.high)
    tip = {"title": title, words.TIP_VALUE: number, **_behind(row, drawing.view.tail)}
    value: Datum = {"role": "value", **at, "value": factor * row.value, "tip": tip, "text": f"{title}: {number}"}
    if math.isfinite(row.low) and math.isfinite(row.high):  # no further than the axis, which ends with the quantity
        first, *_, last = drawing.picture.axis.ticks
        value |= {"low": factor * max(row.low, first), "high": factor * min(row.high, last)}
    if drawing.view.kind != "bars" or row.value:
        yield value
    for seed in row.seeds:
        hollow = tested(seed) and not drawing.view.tail.significant(seed.p)
        yield {"role": "seed", **at, "value": factor * seed.value, "hollow": hollow}


def _joined(drawing: Drawing, series: Series) -> bool:
    """A line has a number at each of its places: published ones at the ends alone are points."""
    if series.style is not Style.PUBLISHED:
        return True
    xs = [key for key, _ in drawing.picture.xs]
    at = sorted(xs.index(point.x) for point in series.points)
    return at == list(range(at[0], at[-1] + 1))


def _x(drawing: Drawing, look: Look, point: Point) -> float:
    """The number of the place; on an axis of numbers the number itself, a little aside for each series."""
    keys = [key for key, _ in drawing.picture.xs]
    if drawing.view.kind != "lines":
        return keys.index(point.x)
    numbers, series = [float(key) for key in keys], len(drawing.legend)
    if not drawing.beside or len(numbers) < 2:
        return float(point.x)
    length = numbers[-1] - numbers[0]
    step = min(DODGE * length, 0.5 * length / (len(numbers) - 1) / series)
    return float(point.x) + (look.position - (series - 1) / 2) * step


def _title(drawing: Drawing, series: Series, point: Point) -> str:
    """`2 attractors · mini`"""
    unit = drawing.view.x_unit
    place = f"{point.x} {unit}" if unit else dict(drawing.picture.xs)[point.x]
    model = point.row.at["model"] if point.row.published else ""
    return " · ".join(dict.fromkeys(filter(None, (place, series.title, model))))


def _behind(row: FigureRow, tail: Tail) -> dict[str, str]:
    """What is behind a mark: items, seeds and verdict, or the source of a published number."""
    if row.published:
        return {words.TIP_SOURCE: row.source}
    behind = words.items_behind(row.n_items or 0, row.n_unscored or 0)
    if row.seeds:
        clear = sum(tail.significant(seed.p) for seed in row.seeds) if any(map(tested, row.seeds)) else None
        behind[words.TIP_SEEDS] = words.seeds_drawn(len(row.seeds), clear)
    verdict = "" if row.verdict is None else verdicts.verdict_with_reason(row.verdict, row.estimate)
    return {**behind, words.TIP_VERDICT: verdict} if verdict else behind
