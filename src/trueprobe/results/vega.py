"""A picture as a Vega-Lite specification. Panels are facets; what people read is looked up by number in lists."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from trueprobe.results.drawing import Drawing, data
from trueprobe.results.view.pictures import Panel, Style

_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_CHARACTER = 6.0  # pixels of a label's character, on average
_LONGEST_LABEL = 210
_FEW = 3  # lines; with more of them intervals step back
_FILE_COLUMNS = {"lines": 3, "dots": 2, "bars": 2}
_FILE_WIDTH = {"lines": 280, "dots": 320, "bars": 320}


Spec = dict[str, Any]  # a Vega-Lite specification, as JSON


def chart(drawing: Drawing) -> Spec:
    """The Vega-Lite specification of a picture. Panels are facets; `hidden` has the series a reader has hidden."""
    kind, panels = drawing.view.kind, drawing.picture.panels
    with debug_mode(False):  # no validation against the schema, which takes longer than all the rest
        layers = {"lines": _lines, "dots": _dots, "bars": _bars}[kind](drawing)
        facets = _facets(panels).to_dict(validate=False)
        # put together below, as altair copies all layers several times when it does
        inside = {"top_level": False, "data": alt.NamedData("rows")}
        written = [layer.to_dict(validate=False, context=dict(inside)) for layer in layers]
    return {
        "$schema": alt.SCHEMA_URL,
        "description": drawing.description,
        "config": _CONFIG,
        "usermeta": _for_script(drawing),
        "params": [{"name": "hidden", "value": []}],
        "data": {"name": "rows"},
        "datasets": {"rows": list(data(drawing))},
        "facet": facets,
        "columns": min(len(panels), _FILE_COLUMNS[kind]),
        "spacing": 22,
        "resolve": {"axis": {"x": "independent"}},
        "spec": {"width": _FILE_WIDTH[kind], "height": drawing.height, "layer": written},
    }


def _for_script(drawing: Drawing) -> Spec:
    """What the page's script lays panels out by."""
    values = "y" if drawing.view.kind == "lines" else "x"
    models = [panel.model for panel in drawing.picture.panels]
    labels = [] if values == "y" else [title for _, title in drawing.picture.xs]
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
        aria=False,
    )


def _shape(drawing: Drawing) -> alt.Shape:
    return alt.Shape("look:N", scale=_scale([look.shape for look in drawing.looks]), legend=_legend(drawing))


_BEHIND = {
    "tooltip": alt.Tooltip("tip:N"),
    "description": alt.Description("text:N"),
}


def _listed(drawing: Drawing) -> dict[str, Any]:
    """Listed downwards, series beside each other."""
    titles = [title for _, title in drawing.picture.xs]
    axis = alt.Axis(title=None, labelExpr=_lookup(titles), grid=drawing.view.kind == "dots")
    y = alt.Y("x:O", scale=alt.Scale(domain=list(range(len(titles)))), axis=axis)
    beside = drawing.beside and drawing.view.kind == "dots"
    scale = alt.Scale(domain=list(range(len(drawing.legend))), paddingOuter=0.4)
    return {"y": y, "yOffset": alt.YOffset("series:O", scale=scale)} if beside else {"y": y}


def _numbers(drawing: Drawing) -> alt.X:
    """An axis of numbers."""
    at = [float(key) for key, _ in drawing.picture.xs]
    titles = [title for _, title in drawing.picture.xs]
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
    note = _of("panel", "datum.note").mark_text(color="var(--soft)", fontSize=11)
    note = note.encode(text=alt.Text("note:N"), description=alt.Description("note:N"))
    return [*lines, note] if any(panel.why_empty for panel in drawing.picture.panels) else lines


def _seeds(across: Mapping[str, Any], drawing: Drawing) -> list[alt.Chart]:
    if not any(point.row.seeds for point in drawing.picture.points):
        return []
    colours, hollow = _colours(drawing), "datum.hollow"
    fill, opacity = colours["fill"].copy(), alt.OpacityValue(0.5, condition=alt.value(1, test=hollow))
    fill.condition = {"test": hollow, "value": "var(--paper)"}
    dots = _of("seed").mark_point(shape="circle", size=18, strokeWidth=1, aria=False)
    return [dots.encode(**across, stroke=colours["stroke"], fill=fill, opacity=opacity)]


def _with_style(drawing: Drawing, style: Style) -> list[int]:
    """The looks of it, by number."""
    return [number for number, look in enumerate(drawing.looks) if look.style is style]


def _points(drawing: Drawing, size: int, at: Mapping[str, Any]) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Published marks, which lie below everything, and those of this run."""
    published = _with_style(drawing, Style.PUBLISHED)
    is_published = f"indexof({published}, datum.look) >= 0"
    below, above = (
        _of("value", test)
        .mark_point(size=size, strokeWidth=1.2, opacity=1)
        .encode(**at, **_colours(drawing), shape=_shape(drawing), **_BEHIND)
        for test in (is_published, f"!({is_published})")
    )
    return [below] if published else [], [above]


def _dots(drawing: Drawing) -> list[alt.Chart]:
    values, xs, colours = _values(drawing), _listed(drawing), _colours(drawing)
    x, stroke = alt.X("value:Q", **values), colours["stroke"]
    interval = _of("value", "isValid(datum.low)").mark_rule(strokeWidth=1.6, aria=False)
    published, points = _points(drawing, 48, {"x": x, **xs})
    return [
        *_frame(drawing, "x"),
        *published,
        *_seeds({"x": x, **xs}, drawing),
        interval.encode(x=alt.X("low:Q", **values), x2=alt.X2("high:Q"), stroke=stroke, **xs),
        *points,
    ]


def _lines(drawing: Drawing) -> list[alt.Chart]:
    values, x, colours = _values(drawing), _numbers(drawing), _colours(drawing)
    y, low, stroke = alt.Y("value:Q", **values), alt.Y("low:Q", **values), colours["stroke"]
    bands = _with_style(drawing, Style.BAND)
    in_band = f"indexof({bands}, datum.look) >= 0"
    dashes = _scale([look.dash for look in drawing.looks])
    dash = alt.StrokeDash("look:N", scale=dashes, legend=None)
    faint = 0.4 if len(drawing.legend) > _FEW else 1
    interval = _of("value", "isValid(datum.low)", f"!({in_band})").mark_rule(strokeWidth=1.6, opacity=faint, aria=False)
    area = _of("value", "isValid(datum.low)", in_band).mark_area(opacity=0.16, aria=False)
    line = _of("value", "datum.joined").mark_line(strokeWidth=1.8, aria=False)
    published, points = _points(drawing, 40, {"x": x, "y": y})
    return [
        *_frame(drawing, "y"),
        *([area.encode(x=x, y=low, y2=alt.Y2("high:Q"), fill=colours["fill"])] if bands else []),
        line.encode(x=x, y=y, stroke=stroke, strokeDash=dash),
        *published,
        *_seeds({"x": x, "y": y}, drawing),
        interval.encode(x=x, y=low, y2=alt.Y2("high:Q"), stroke=stroke),
        *points,
    ]


def _bars(drawing: Drawing) -> list[alt.Chart]:
    """Stacked from the left; a bar's parts sum to its whole."""
    x = alt.X("value:Q", stack="zero", **_values(drawing))
    bars = _of("value").mark_bar(height=alt.RelativeBandSize(0.72), strokeWidth=0.8)
    bars = bars.encode(x=x, order=alt.Order("series:Q"), **_listed(drawing), **_colours(drawing), **_BEHIND)
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


def version() -> str:
    """The Vega-Lite that altair writes for: `v6.4.1` -> `6.4`."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
