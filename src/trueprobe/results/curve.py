"""The specification curve: all ways of counting by their z, with the band of relabellings, and their choices below."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from trueprobe.paths import write_bytes
from trueprobe.results.chart import CONFIG, PADDING, in_light, version
from trueprobe.results.text import multiverse as words
from trueprobe.results.view.multiverse import Curve

_WIDTH, _HEIGHT, _ROW = 560, 180, 13
FORMATS = ("svg", "png", "html")


def curve_spec(curve: Curve) -> dict[str, Any]:
    """A Vega-Lite specification; colours are the page's CSS variables."""
    rows = [
        {"place": i, "z": one.z, "low": one.null_low, "high": one.null_high, "own": one.of_run}
        for i, one in enumerate(curve.drawn)
    ]
    with debug_mode(False):
        both = alt.vconcat(_upper(rows), _lower(curve), spacing=4).resolve_scale(x="shared")
        spec: dict[str, Any] = both.to_dict(validate=False)
    return {**spec, "config": CONFIG, "padding": PADDING, "description": words.description(curve)}


def _upper(rows: list[dict[str, Any]]) -> alt.LayerChart | alt.FacetChart:
    x = alt.X("place:Q", axis=None, scale=alt.Scale(domain=[-1, len(rows)], nice=False))
    base = alt.Chart(alt.InlineData(rows), width=_WIDTH, height=_HEIGHT)
    band = base.mark_area(color="var(--soft)", opacity=0.18, aria=False)
    dots = base.mark_circle(opacity=1, color="var(--s0)", aria=False)
    size = alt.condition("datum.own == 1", alt.value(110), alt.value(14))
    return alt.layer(
        band.encode(x=x, y=alt.Y("low:Q", title=words.AXIS_Z), y2=alt.Y2("high:Q")),
        base.mark_rule(color="var(--ink)", aria=False).encode(y=alt.datum(0)),
        dots.encode(x=x, y=alt.Y("z:Q"), size=size),
    )


def _lower(curve: Curve) -> alt.Chart:
    """A tick at every way that has the choice; the axis that explains most first."""
    drawn = curve.drawn
    choices = [
        (axis.axis, choice) for axis in curve.axes for choice in dict.fromkeys(w.conditions[axis.axis] for w in drawn)
    ]
    ticks = [
        {"place": i, "choice": f"{axis}: {choice}"}
        for axis, choice in choices
        for i, one in enumerate(drawn)
        if one.conditions[axis] == choice
    ]
    names = [f"{axis}: {choice}" for axis, choice in choices]
    chart = alt.Chart(alt.InlineData(ticks), width=_WIDTH, height=_ROW * max(1, len(names)))
    marks = chart.mark_tick(color="var(--s0)", thickness=1.2, height=9, aria=False)
    x, y = alt.X("place:Q", axis=None), alt.Y("choice:N", sort=names, title=None)
    below: alt.Chart = marks.encode(x=x, y=y)
    return below


def curve_svg(curve: Curve) -> str:
    """For the page, whose colours it takes."""
    svg: str = vl_convert.vegalite_to_svg(curve_spec(curve), vl_version=version())
    return svg


def write_curve(curve: Curve, folder: Path, formats: Collection[str]) -> list[Path]:
    """As files, in light colours."""
    spec = curve_spec(curve)
    title = {"text": words.title(curve), "subtitle": [words.headline(curve), words.BAND]}
    spec = in_light({**spec, "title": title, "config": {**spec["config"], "background": "var(--paper)"}})
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version())
    made: dict[str, Callable[[], bytes]] = {
        "svg": lambda: svg.encode(),
        "png": lambda: vl_convert.svg_to_png(svg, scale=2),
        "html": lambda: vl_convert.vegalite_to_html(spec, vl_version=version(), bundle=True).encode(),
    }
    whole = curve.whole
    parts = (whole.probe, whole.model, "" if whole.step is None else str(whole.step), whole.question)
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(filter(None, parts)))
    paths = []
    for form in formats:
        paths.append(folder / f"{name}.{form}")
        write_bytes(paths[-1], made[form]())
    return paths
