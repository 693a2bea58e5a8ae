"""Figures as Vega-Lite charts: interactive on the page, SVG, PNG and CSV as files.

A chart's data has columns of our own making and refers to places, series and panels by number; what people read is
looked up in lists. A Vega-Lite field named `a.b` or `a[b]` would be read as a path and silently drawn as nothing.
Colours are CSS variables, so that the page's theme and its print style need no other chart; files get the light ones.
"""

from __future__ import annotations

import base64
import json
import math
import re
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from trueprobe.results.figures import FigureView, Panel, Picture, Point, Row, Series, Style
from trueprobe.results.words import figures as words
from trueprobe.results.words import verdicts

PAGE = Path(__file__).parent / "page"
PIXELS = 2  # of a PNG per unit of its SVG
MOST_NUMBERS = 400  # rows of a figure's table on the page; all are in its CSV
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
)
_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_CHARACTER = 6.0  # pixels of a label's character, on average
_LONGEST_LABEL = 210
_FEW = 3  # lines; with more of them intervals step back
_FILE_COLUMNS = {"lines": 3, "dots": 2, "bars": 2}
_FILE_WIDTH = {"lines": 280, "dots": 320, "bars": 320}
_DODGE = 0.014  # of the length of an axis of numbers, between series

Datum = dict[str, object]
Spec = dict[str, Any]  # a Vega-Lite specification, as JSON


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
        titles = [entry.title for entry in self.legend]
        position = titles.index(series.title) if series.title in titles else 0
        return Look(position, series.index, series.style)

    @property
    def seeds_tested(self) -> bool:
        return self.picture.seeds_tested

    @property
    def beside(self) -> bool:
        """Series stand beside each other, so that intervals do not hide each other."""
        return any(len(panel.series) > 1 for panel in self.picture.panels)

    @property
    def note(self) -> str:
        changes = self.picture.nearest_published
        return words.no_published_number(changes) if changes else ""

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
        return 170 if self.view.kind == "lines" else self.row_height * len(self.picture.places)


# ---------------------------------------------------------------- data


def _data(drawing: Drawing) -> Iterator[Datum]:
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
    }
    title, number = _title(drawing, series, point), drawing.picture.axis.format.sentence(row.value, row.low, row.high)
    tip = {"title": title, words.TIP_VALUE: number, **_behind(row)}
    value: Datum = {"role": "value", **at, "value": factor * row.value, "tip": tip, "text": f"{title}: {number}"}
    if not math.isnan(row.low):
        value |= {"low": factor * row.low, "high": factor * row.high}
    if drawing.view.kind != "bars" or row.value:
        yield value
    for seed in row.seeds:
        hollow = seed.tested and not seed.significant
        yield {"role": "seed", **at, "value": factor * seed.value, "hollow": hollow}


def _x(drawing: Drawing, look: Look, point: Point) -> float:
    """The number of the place; on an axis of numbers the number itself, a little aside for each series."""
    keys = [key for key, _ in drawing.picture.places]
    if drawing.view.kind != "lines":
        return keys.index(point.x)
    numbers, series = [float(key) for key in keys], len(drawing.legend)
    if not drawing.beside or len(numbers) < 2:
        return float(point.x)
    length = numbers[-1] - numbers[0]
    step = min(_DODGE * length, 0.5 * length / (len(numbers) - 1) / series)
    return float(point.x) + (look.position - (series - 1) / 2) * step


def _title(drawing: Drawing, series: Series, point: Point) -> str:
    """`2 attractors · mini`"""
    unit = drawing.view.x_unit
    place = f"{point.x} {unit}" if unit else dict(drawing.picture.places)[point.x]
    return " · ".join(filter(None, (place, series.title)))


def _behind(row: Row) -> dict[str, str]:
    """What is behind a mark: items, seeds and verdict, or the source of a published number."""
    if row.published:
        return {words.TIP_SOURCE: row.source}
    behind = words.scored(row.n_items or 0, row.n_unscored or 0)
    if row.seeds:
        tested = [seed for seed in row.seeds if seed.tested]
        significant = sum(seed.significant for seed in tested) if tested else None
        behind[words.TIP_SEEDS] = words.seeds_behind(len(row.seeds), significant)
    verdict = verdicts.verdict_with_reason(row.verdict, row.estimate)
    return {**behind, words.TIP_VERDICT: verdict} if verdict else behind


# ---------------------------------------------------------------- chart


def chart(drawing: Drawing) -> Spec:
    """The Vega-Lite specification of a picture. Panels are facets; `hidden` has the series a reader has hidden."""
    kind, panels = drawing.view.kind, drawing.picture.panels
    layers = {"lines": _lines, "dots": _dots, "bars": _bars}[kind](drawing)
    # put together here, as altair copies all layers several times when it does
    inside = {"top_level": False, "data": alt.NamedData("rows")}
    written = [layer.to_dict(validate=False, context=dict(inside)) for layer in layers]
    return {
        "$schema": alt.SCHEMA_URL,
        "description": drawing.description,
        "config": _CONFIG,
        "usermeta": _for_script(drawing),
        "params": [{"name": "hidden", "value": []}],
        "data": {"name": "rows"},
        "datasets": {"rows": list(_data(drawing))},
        "facet": _facets(panels).to_dict(validate=False),
        "columns": min(len(panels), _FILE_COLUMNS[kind]),
        "spacing": 22,
        "resolve": {"axis": {"x": "independent"}},
        "spec": {"width": _FILE_WIDTH[kind], "height": drawing.height, "layer": written},
    }


def _for_script(drawing: Drawing) -> Spec:
    """What the page's script lays panels out by."""
    values = "y" if drawing.view.kind == "lines" else "x"
    models = [panel.model for panel in drawing.picture.panels]
    labels = [] if values == "y" else [title for _, title in drawing.picture.places]
    return {"values": values, "title": drawing.axis_title, "labels": labels, "models": models}


def _facets(panels: Sequence[Panel]) -> alt.Facet:
    titles = [panel.title for panel in panels]
    header = alt.Header(title=None, labelExpr=_lookup(titles), labels=any(titles))
    return alt.Facet(field="panel", type="ordinal", header=header, sort=list(range(len(panels))))


def _lookup(titles: Sequence[str]) -> str:
    """A Vega expression: the title of a number. JSON is a subset of its literals."""
    return f"{json.dumps(list(titles), ensure_ascii=True)}[datum.value]"


def _of(role: str, *more: str) -> alt.Chart:
    tests = [f"datum.role === '{role}'", *more]
    if role != "panel":
        tests.append("indexof(hidden, datum.series) < 0")
    return alt.Chart().transform_filter(" && ".join(tests))


def _value_axis(drawing: Drawing) -> alt.Axis:
    axis = drawing.picture.axis
    step = axis.format.factor * (axis.ticks[1] - axis.ticks[0])
    length = drawing.height if drawing.view.kind == "lines" else _FILE_WIDTH[drawing.view.kind]
    return alt.Axis(
        values=[round(axis.format.factor * tick, 9) for tick in axis.ticks],
        format=f".{_digits(step)}f",
        title=textwrap.wrap(drawing.axis_title, int(length / _CHARACTER)),
        labelOverlap=drawing.view.kind != "lines",
        labelFlush=False,
        grid=True,
    )


def _digits(step: float) -> int:
    """Enough to distinguish ticks."""
    return next((d for d in range(5) if abs(round(step, d) - step) < 1e-6 * step), 4)


def _values(drawing: Drawing) -> dict[str, Any]:
    axis = drawing.picture.axis
    ends = [axis.format.factor * axis.ticks[0], axis.format.factor * axis.ticks[-1]]
    return {"axis": _value_axis(drawing), "scale": alt.Scale(domain=ends, zero=False)}


def _scale(values: Sequence[str] | Sequence[Sequence[float]]) -> alt.Scale:
    return alt.Scale(domain=list(range(len(values))), range=list(values))


def _colours(drawing: Drawing) -> dict[str, Any]:
    fills, strokes = ([getattr(look, name) for look in drawing.looks] for name in ("fill", "stroke"))
    legend = _legend(drawing)
    return {
        "fill": alt.Fill("look:N", scale=_scale(fills), legend=legend),
        "stroke": alt.Stroke("look:N", scale=_scale(strokes), legend=legend),
    }


def _legend(drawing: Drawing) -> alt.Legend | None:
    titles = [entry.title for entry in drawing.legend]
    if not titles:
        return None
    return alt.Legend(
        title=None,
        orient="top",
        columns=4,
        values=list(range(len(titles))),
        labelExpr=_lookup(titles),
        symbolOpacity=1,
        symbolDash=[1, 0],
        symbolStrokeWidth=1.2,
    )


def _shape(drawing: Drawing) -> alt.Shape:
    return alt.Shape("look:N", scale=_scale([look.shape for look in drawing.looks]), legend=_legend(drawing))


_BEHIND = {
    "tooltip": alt.Tooltip("tip:N"),
    "description": alt.Description("text:N"),
}


def _places(drawing: Drawing) -> dict[str, Any]:
    """Listed downwards, series beside each other."""
    titles = [title for _, title in drawing.picture.places]
    axis = alt.Axis(title=None, labelExpr=_lookup(titles), grid=drawing.view.kind == "dots")
    y = alt.Y("x:O", scale=alt.Scale(domain=list(range(len(titles)))), axis=axis)
    beside = drawing.beside and drawing.view.kind == "dots"
    scale = alt.Scale(domain=list(range(len(drawing.legend))), paddingOuter=0.4)
    return {"y": y, "yOffset": alt.YOffset("series:O", scale=scale)} if beside else {"y": y}


def _numbers(drawing: Drawing) -> alt.X:
    """An axis of numbers."""
    at = [float(key) for key, _ in drawing.picture.places]
    titles = [title for _, title in drawing.picture.places]
    label = f"{json.dumps(titles, ensure_ascii=True)}[indexof({json.dumps(at)}, datum.value)]"
    ends = [at[0], at[-1]] if len(at) > 1 else [at[0] - 1, at[0] + 1]
    axis = alt.Axis(
        title=drawing.view.x_title, values=at, labelExpr=label, labelOverlap="greedy", grid=False, labelFlush=False
    )
    return alt.X("x:Q", scale=alt.Scale(domain=ends, padding=14, nice=False, zero=False), axis=axis)


def _frame(drawing: Drawing, channel: str) -> list[alt.Chart]:
    """The neutral line, and the note of a panel without marks."""
    neutral, factor = drawing.picture.axis.neutral, drawing.picture.axis.format.factor
    lines = []
    if neutral is not None:
        datum = {"x": alt.XDatum, "y": alt.YDatum}[channel](factor * neutral, **_values(drawing))
        rule = _of("panel").mark_rule(color="var(--ink)", strokeDash=[3, 3], aria=False)
        lines.append(rule.encode(**{channel: datum}))
    note = _of("panel", "datum.note").mark_text(color="var(--soft)", fontSize=11).encode(text="note:N")
    return [*lines, note] if any(panel.why_empty for panel in drawing.picture.panels) else lines


def _seeds(across: Mapping[str, Any], drawing: Drawing) -> list[alt.Chart]:
    if not any(point.row.seeds for point in drawing.picture.points):
        return []
    colours, hollow = _colours(drawing), "datum.hollow"
    fill, opacity = colours["fill"].copy(), alt.OpacityValue(0.5, condition=alt.value(1, test=hollow))
    fill.condition = {"test": hollow, "value": "var(--paper)"}
    dots = _of("seed").mark_point(shape="circle", size=18, strokeWidth=1, aria=False)
    return [dots.encode(**across, stroke=colours["stroke"], fill=fill, opacity=opacity)]


def _dots(drawing: Drawing) -> list[alt.Chart]:
    values, places, colours = _values(drawing), _places(drawing), _colours(drawing)
    x, stroke = alt.X("value:Q", **values), colours["stroke"]
    interval = _of("value", "isValid(datum.low)").mark_rule(strokeWidth=1.6, aria=False)
    points = _of("value").mark_point(size=48, strokeWidth=1.2, opacity=1)
    return [
        *_frame(drawing, "x"),
        *_seeds({"x": x, **places}, drawing),
        interval.encode(x=alt.X("low:Q", **values), x2="high:Q", stroke=stroke, **places),
        points.encode(x=x, **places, **colours, shape=_shape(drawing), **_BEHIND),
    ]


def _lines(drawing: Drawing) -> list[alt.Chart]:
    values, x, colours = _values(drawing), _numbers(drawing), _colours(drawing)
    y, low, stroke = alt.Y("value:Q", **values), alt.Y("low:Q", **values), colours["stroke"]
    bands = [number for number, look in enumerate(drawing.looks) if look.style is Style.BAND]
    in_band = f"indexof({bands}, datum.look) >= 0"
    dashes = _scale([look.dash for look in drawing.looks])
    dash = alt.StrokeDash("look:N", scale=dashes, legend=None)
    faint = 0.4 if len(drawing.legend) > _FEW else 1
    interval = _of("value", "isValid(datum.low)", f"!({in_band})").mark_rule(strokeWidth=1.6, opacity=faint, aria=False)
    area = _of("value", "isValid(datum.low)", in_band).mark_area(opacity=0.16, aria=False)
    line = _of("value").mark_line(strokeWidth=1.8, aria=False)
    points = _of("value").mark_point(size=40, strokeWidth=1.2, opacity=1)
    return [
        *_frame(drawing, "y"),
        *([area.encode(x=x, y=low, y2="high:Q", fill=colours["fill"])] if bands else []),
        line.encode(x=x, y=y, stroke=stroke, strokeDash=dash),
        *_seeds({"x": x, "y": y}, drawing),
        interval.encode(x=x, y=low, y2="high:Q", stroke=stroke),
        points.encode(x=x, y=y, **colours, shape=_shape(drawing), **_BEHIND),
    ]


def _bars(drawing: Drawing) -> list[alt.Chart]:
    """Stacked from the left; a bar's parts sum to its whole."""
    x = alt.X("value:Q", stack="zero", **_values(drawing))
    bars = _of("value").mark_bar(height=alt.RelativeBandSize(0.72), strokeWidth=0.8)
    bars = bars.encode(x=x, order=alt.Order("series:Q"), **_places(drawing), **_colours(drawing), **_BEHIND)
    return [*_frame(drawing, "x"), bars]


_CONFIG: Spec = {
    "background": None,
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "gridColor": "var(--line)",
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "aria": False,
    },
    "axisY": {"titlePadding": 10},
    "axisYDiscrete": {"labelColor": "var(--ink)", "labelLimit": _LONGEST_LABEL},
    "header": {
        "labelColor": "var(--ink)",
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelAnchor": "start",
        "labelPadding": 6,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "labelFontSize": 11,
        "labelLimit": 300,
        "columnPadding": 16,
        "symbolSize": 60,
    },
    "title": {
        "color": "var(--ink)",
        "subtitleColor": "var(--soft)",
        "fontSize": 15,
        "anchor": "start",
        "offset": 12,
        "subtitleFontSize": 11,
    },
}


# ---------------------------------------------------------------- the page


@dataclass(frozen=True)
class PagePart:
    """A figure on the page: its body, and what the script draws from, compressed."""

    view: FigureView
    html: Markup
    pack_id: str
    payload: str

    @property
    def files(self) -> str:
        return f"figures/{self.view.name}*.svg, .png, .csv"


def page_parts(view: FigureView) -> PagePart:
    pictures = [Drawing(view, picture) for picture in view.pictures]
    packed = {
        _key(one.picture): {"spec": _page_spec(one), "above": _above(one), "below": _below(one)} for one in pictures
    }
    html = _macros().body(view, _above(pictures[0]), _below(pictures[0]), words)
    return PagePart(view, Markup(html), f"p-{view.name}", _pack(packed))


def bundle() -> str:
    """Vega, Vega-Lite, Vega-Embed with its interpreter, and what the page does with them; once per page."""
    return f"{_libraries()}\n{(PAGE / 'figures.js').read_text(encoding='utf-8')}"


@cache
def _libraries() -> str:
    script: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed", vl_version=_version())
    return script.replace("</script", r"<\/script")


def _version() -> str:
    """The Vega-Lite that altair writes for: `v6.4.1` -> `6.4`."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def _page_spec(drawing: Drawing) -> Spec:
    """Without Vega's legend: the page has one that keys can reach."""
    spec = chart(drawing)
    for layer in spec["spec"]["layer"]:
        for channel in {"fill", "stroke", "shape"} & layer["encoding"].keys():
            layer["encoding"][channel]["legend"] = None
    return spec


def _key(picture: Picture) -> str:
    return "|".join(picture.chosen.values())


def _above(drawing: Drawing) -> Markup:
    """Legend and note."""
    return Markup(_macros().legend(drawing, words))


def _below(drawing: Drawing) -> Markup:
    """The numbers as a table."""
    return Markup(_macros().numbers(drawing.view, _table(drawing), words))


def _macros() -> Any:
    return _environment().get_template("figure.html").module


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(PAGE)
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def _pack(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


@dataclass(frozen=True)
class NumbersTable:
    header: list[str]
    rows: list[list[str]]  # the number last


def _table(drawing: Drawing) -> NumbersTable:
    """The picture as a table: what differs between rows, and the number."""
    picture, form = drawing.picture, drawing.picture.axis.format
    rows = [{**_titled(drawing, row), **_counts(row)} for row in picture.rows]
    columns = [name for name in rows[0] if len({row.get(name, "") for row in rows}) > 1]
    numbers = [form.sentence(row.value, row.low, row.high) if row.drawable else "–" for row in picture.rows]
    cells = [[*(row.get(name, "") for name in columns), number] for row, number in zip(rows, numbers, strict=True)]
    return NumbersTable([*columns, words.TIP_VALUE], cells[:MOST_NUMBERS])


def _titled(drawing: Drawing, row: Row) -> dict[str, str]:
    return {name.replace("_", " "): row.at[name] for name in drawing.picture.conditions}


def _counts(row: Row) -> dict[str, str]:
    if row.published:
        return {words.TIP_VERDICT: row.source}
    return {
        **words.scored(row.n_items or 0, row.n_unscored or 0),
        words.TIP_VERDICT: verdicts.verdict_text(row.verdict),
    }


# ---------------------------------------------------------------- files


def write_files(views: Iterable[FigureView], folder: Path) -> None:
    """NAME.svg, .png and .csv of every picture; NAME has the choices."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in views:
        for name, picture in zip(_file_names(view), view.pictures, strict=True):
            svg = file_svg(view, picture)
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
            (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=PIXELS))
            picture.data.to_csv(folder / f"{name}.csv", index=False)


def file_svg(view: FigureView, picture: Picture) -> str:
    """All panels with title and legend, in light colours."""
    drawing = Drawing(view, picture)
    title = {"text": view.title, **({"subtitle": drawing.note} if drawing.note else {})}
    spec = chart(drawing) | {"title": title, "background": "var(--paper)", "padding": 12}
    text = re.sub(r"var\(--(\w+)\)", lambda match: LIGHT[match[1]], json.dumps(spec))
    svg: str = vl_convert.vegalite_to_svg(text, vl_version=_version())
    return svg


def _file_names(view: FigureView) -> list[str]:
    """Of its pictures, in characters that every file system has; numbered where they would be the same."""
    names: list[str] = []
    for picture in view.pictures:
        chosen = (f"{key}_{value}" for key, value in picture.chosen.items())
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join([view.name, *chosen]))
        same = sum(re.sub(r"~\d+$", "", name) == plain for name in names)
        names.append(f"{plain}~{same + 1}" if same else plain)
    return names
