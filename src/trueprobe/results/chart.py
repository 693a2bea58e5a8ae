"""A picture as a Vega-Lite specification, by altair: for the page, for a notebook, and as SVG.

Panels are facets; what people read is looked up by number in lists. Colours are CSS variables, so that the page's theme
and its print style need no other chart; files get the light ones.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from trueprobe.results.marks import LIGHT, data, fill, shape, stroke
from trueprobe.results.text import figures as words
from trueprobe.results.view.pictures import Panel, Picture, Style

_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_CHARACTER = 6.0  # pixels of a label's character, on average
_LONGEST_LABEL = 210
_FEW = 3  # lines; with more of them intervals step back
_FILE_COLUMNS = {"lines": 3, "dots": 2, "bars": 2}
_FILE_WIDTH = {"lines": 280, "dots": 320, "bars": 320}
PADDING = {"left": 30, "right": 12, "top": 12, "bottom": 12}  # a reader's font may be wider than the measured one

Spec = dict[str, Any]  # a Vega-Lite specification, as JSON


# ---------------------------------------------------------------- the specification


def chart(picture: Picture) -> Spec:
    """The Vega-Lite specification of a picture. Panels are facets; `hidden` has the series a reader has hidden."""
    kind, panels = picture.kind, picture.panels
    with debug_mode(False):  # no validation against the schema, which takes longer than all the rest
        layers = {"lines": _lines, "dots": _dots, "bars": _bars}[kind](picture)
        facets = _facets(panels).to_dict(validate=False)
        # put together below, as altair copies all layers several times when it does
        inside = {"top_level": False, "data": alt.NamedData("rows")}
        written = [layer.to_dict(validate=False, context=dict(inside)) for layer in layers]
    return {
        "$schema": alt.SCHEMA_URL,
        "description": words.figure_description(kind, picture.figure.title, [panel.title for panel in panels]),
        "config": CONFIG,
        "usermeta": _for_script(picture),
        "params": [{"name": "hidden", "value": []}],
        "data": {"name": "rows"},
        "datasets": {"rows": list(data(picture))},
        "facet": facets,
        "columns": min(len(panels), _FILE_COLUMNS[kind]),
        "spacing": 22,
        "resolve": {"axis": {"x": "independent"}},
        "spec": {"width": _FILE_WIDTH[kind], "height": _height(picture), "layer": written},
    }


def _for_script(picture: Picture) -> Spec:
    """What the page's script lays panels out by."""
    values = "y" if picture.kind == "lines" else "x"
    models = [panel.model for panel in picture.panels]
    labels = [] if values == "y" else [title for _, title in picture.xs]
    return {"values": values, "title": _axis_title(picture), "labels": labels, "models": models}


def _axis_title(picture: Picture) -> str:
    axis = picture.axis
    return words.axis_title(axis.title, axis.format.factor == 100, axis.format.signed)


def _height(picture: Picture) -> int:
    if picture.kind == "lines":
        return 170
    series = len(picture.legend) if picture.side_by_side and picture.kind == "dots" else 1
    return max(20, 9 * series + 10) * len(picture.xs)


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


def _value_axis(picture: Picture) -> alt.Axis:
    axis = picture.axis
    step = axis.format.factor * (axis.ticks[1] - axis.ticks[0])
    length = _height(picture) if picture.kind == "lines" else _FILE_WIDTH[picture.kind]
    return alt.Axis(
        values=[round(axis.format.factor * tick, 9) for tick in axis.ticks],
        format=f".{_digits(step)}f",
        title=textwrap.wrap(_axis_title(picture), int(length / _CHARACTER)),
        labelOverlap=picture.kind != "lines",
        labelFlush=False,
        grid=True,
    )


def _digits(step: float) -> int:
    """Enough to distinguish ticks."""
    return next((d for d in range(5) if abs(round(step, d) - step) < 1e-6 * step), 4)


def _values(picture: Picture) -> dict[str, Any]:
    axis = picture.axis
    ends = [axis.format.factor * axis.ticks[0], axis.format.factor * axis.ticks[-1]]
    return {"axis": _value_axis(picture), "scale": alt.Scale(domain=ends, zero=False)}


def _scale(values: Sequence[str] | Sequence[Sequence[float]]) -> alt.Scale:
    return alt.Scale(domain=list(range(len(values))), range=list(values))


def _colours(picture: Picture) -> dict[str, Any]:
    fills, strokes = ([of(look) for look in picture.looks] for of in (fill, stroke))
    legend = _legend(picture)
    return {
        "fill": alt.Fill("look:N", scale=_scale(fills), legend=legend),
        "stroke": alt.Stroke("look:N", scale=_scale(strokes), legend=legend),
    }


def _legend(picture: Picture) -> alt.Legend | None:
    titles = [entry.title for entry in picture.legend]
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
        aria=False,
    )


_BEHIND = {
    "tooltip": alt.Tooltip("tip:N"),
    "description": alt.Description("text:N"),
}


def _listed(picture: Picture) -> dict[str, Any]:
    """Listed downwards, series beside each other."""
    titles = [title for _, title in picture.xs]
    axis = alt.Axis(title=None, labelExpr=_lookup(titles), grid=picture.kind == "dots")
    y = alt.Y("x:O", scale=alt.Scale(domain=list(range(len(titles)))), axis=axis)
    dodged = picture.side_by_side and picture.kind == "dots"
    scale = alt.Scale(domain=list(range(len(picture.legend))), paddingOuter=0.4)
    return {"y": y, "yOffset": alt.YOffset("series:O", scale=scale)} if dodged else {"y": y}


def _numbers(picture: Picture) -> alt.X:
    """An axis of numbers."""
    at = [float(key) for key, _ in picture.xs]
    titles = [title for _, title in picture.xs]
    label = f"{json.dumps(titles, ensure_ascii=True)}[indexof({json.dumps(at)}, datum.value)]"
    ends = [at[0], at[-1]] if len(at) > 1 else [at[0] - 1, at[0] + 1]
    axis = alt.Axis(
        title=picture.x_title, values=at, labelExpr=label, labelOverlap="greedy", grid=False, labelFlush=False
    )
    return alt.X("x:Q", scale=alt.Scale(domain=ends, padding=14, nice=False, zero=False), axis=axis)


def _frame(picture: Picture, channel: str) -> list[alt.Chart]:
    """The neutral line, and the note of a panel without marks."""
    neutral, factor = picture.axis.neutral, picture.axis.format.factor
    lines = []
    if neutral is not None:
        datum = {"x": alt.XDatum, "y": alt.YDatum}[channel](factor * neutral, **_values(picture))
        rule = _of("panel").mark_rule(color="var(--ink)", strokeDash=[3, 3], aria=False)
        lines.append(rule.encode(**{channel: datum}))
    note = _of("panel", "datum.note").mark_text(color="var(--soft)", fontSize=11)
    note = note.encode(text=alt.Text("note:N"), description=alt.Description("note:N"))
    return [*lines, note] if any(panel.why_empty for panel in picture.panels) else lines


def _seeds(across: Mapping[str, Any], picture: Picture) -> list[alt.Chart]:
    if not any(point.number.seeds for point in picture.points):
        return []
    colours, hollow = _colours(picture), "datum.hollow"
    fill, opacity = colours["fill"].copy(), alt.OpacityValue(0.5, condition=alt.value(1, test=hollow))
    fill.condition = {"test": hollow, "value": "var(--paper)"}
    dots = _of("seed").mark_point(shape="circle", size=18, strokeWidth=1, aria=False)
    return [dots.encode(**across, stroke=colours["stroke"], fill=fill, opacity=opacity)]


def _with_style(picture: Picture, style: Style) -> list[int]:
    """The looks of it, by number."""
    return [number for number, look in enumerate(picture.looks) if look.style is style]


def _points(picture: Picture, size: int, at: Mapping[str, Any]) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Published marks, which lie below everything, and those of this run."""
    published = _with_style(picture, Style.PUBLISHED)
    is_published = f"indexof({published}, datum.look) >= 0"
    shapes = alt.Shape("look:N", scale=_scale([shape(look) for look in picture.looks]), legend=_legend(picture))
    below, above = (
        _of("value", test)
        .mark_point(size=size, strokeWidth=1.2, opacity=1)
        .encode(**at, **_colours(picture), shape=shapes, **_BEHIND)
        for test in (is_published, f"!({is_published})")
    )
    return [below] if published else [], [above]


def _dots(picture: Picture) -> list[alt.Chart]:
    values, xs, colours = _values(picture), _listed(picture), _colours(picture)
    x, stroke = alt.X("value:Q", **values), colours["stroke"]
    interval = _of("value", "isValid(datum.low)").mark_rule(strokeWidth=1.6, aria=False)
    published, points = _points(picture, 48, {"x": x, **xs})
    return [
        *_frame(picture, "x"),
        *published,
        *_seeds({"x": x, **xs}, picture),
        interval.encode(x=alt.X("low:Q", **values), x2=alt.X2("high:Q"), stroke=stroke, **xs),
        *points,
    ]


def _lines(picture: Picture) -> list[alt.Chart]:
    values, x, colours = _values(picture), _numbers(picture), _colours(picture)
    y, low, stroke = alt.Y("value:Q", **values), alt.Y("low:Q", **values), colours["stroke"]
    bands = _with_style(picture, Style.BAND)
    in_band = f"indexof({bands}, datum.look) >= 0"
    dashes = _scale([[5, 3] if look.style is Style.PUBLISHED else [1, 0] for look in picture.looks])
    dash = alt.StrokeDash("look:N", scale=dashes, legend=None)
    faint = 0.4 if len(picture.legend) > _FEW else 1
    interval = _of("value", "isValid(datum.low)", f"!({in_band})").mark_rule(strokeWidth=1.6, opacity=faint, aria=False)
    area = _of("value", "isValid(datum.low)", in_band).mark_area(opacity=0.16, aria=False)
    line = _of("value", "datum.joined").mark_line(strokeWidth=1.8, aria=False)
    published, points = _points(picture, 40, {"x": x, "y": y})
    return [
        *_frame(picture, "y"),
        *([area.encode(x=x, y=low, y2=alt.Y2("high:Q"), fill=colours["fill"])] if bands else []),
        line.encode(x=x, y=y, stroke=stroke, strokeDash=dash),
        *published,
        *_seeds({"x": x, "y": y}, picture),
        interval.encode(x=x, y=low, y2=alt.Y2("high:Q"), stroke=stroke),
        *points,
    ]


def _bars(picture: Picture) -> list[alt.Chart]:
    """Stacked from the left; a bar's parts sum to its whole."""
    x = alt.X("value:Q", stack="zero", **_values(picture))
    bars = _of("value").mark_bar(height=alt.RelativeBandSize(0.72), strokeWidth=0.8)
    bars = bars.encode(x=x, order=alt.Order("series:Q"), **_listed(picture), **_colours(picture), **_BEHIND)
    return [*_frame(picture, "x"), bars]


CONFIG: Spec = {
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


def version() -> str:
    """The Vega-Lite that altair writes for: `v6.4.1` -> `6.4`."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


# ---------------------------------------------------------------- files and notebooks


def file_svg(picture: Picture) -> str:
    svg: str = vl_convert.vegalite_to_svg(_without_tips(light_spec(picture)), vl_version=version())
    return svg


def altair_chart(picture: Picture) -> alt.FacetChart | alt.LayerChart:
    """For a notebook. A single panel is no facet: its width and height can be set like those of any chart."""
    spec = {key: value for key, value in light_spec(picture).items() if key != "usermeta"}
    if len(picture.panels) > 1:
        return alt.FacetChart.from_dict(spec)
    title = spec["title"] | {"subtitle": [*filter(None, (picture.panels[0].title, spec["title"].get("subtitle")))]}
    of_facets = ("facet", "columns", "spacing", "resolve", "spec")
    around = {key: value for key, value in spec.items() if key not in of_facets}
    return alt.LayerChart.from_dict({**around, **spec["spec"], "title": title})


def light_spec(picture: Picture) -> Spec:
    """All panels with title and legend, in light colours."""
    title = {"text": picture.figure.title, **({"subtitle": picture.note} if picture.note else {})}
    spec = chart(picture) | {"title": title, "padding": PADDING}
    spec["config"] = {**spec["config"], "background": "var(--paper)"}
    return in_light(spec)


def in_light(spec: Spec) -> Spec:
    """With the light colours in the place of the page's variables."""
    light: Spec = json.loads(re.sub(r"var\(--(\w+)\)", lambda match: LIGHT[match[1]], json.dumps(spec)))
    return light


def _without_tips(spec: Spec) -> Spec:
    for layer in spec["spec"]["layer"]:
        layer["encoding"].pop("tooltip", None)
    rows = [{key: value for key, value in row.items() if key != "tip"} for row in spec["datasets"]["rows"]]
    return spec | {"datasets": {"rows": rows}}
