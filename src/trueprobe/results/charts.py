"""Figures as charts: interactive on the page, SVG, PNG and CSV as files.

Colours are CSS variables, so that the page's theme and its print style need no other chart; files get the light ones.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from trueprobe.results.drawing import DARK, LIGHT, Drawing
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.text import figures as words
from trueprobe.results.text import verdicts
from trueprobe.results.vega import Spec, chart, version
from trueprobe.results.view.figure_rows import FigureRow
from trueprobe.results.view.number import DASH
from trueprobe.results.view.pictures import FigureView, Picture

__all__ = [
    "DARK",
    "LIGHT",
    "PagePart",
    "altair_chart",
    "bundle",
    "environment",
    "file_svg",
    "light_spec",
    "pack",
    "page_parts",
    "write_files",
]

PAGE = Path(__file__).parent / "render" / "page"
_PADDING = {"left": 30, "right": 12, "top": 12, "bottom": 12}  # a reader's font may be wider than the measured one
PIXELS = 2  # of a PNG per unit of its SVG
MOST_NUMBERS = 400  # rows of a figure's table on the page; all are in its CSV


# ---------------------------------------------------------------- the page


@dataclass(frozen=True)
class PagePart:
    """A figure on the page: its body, and what the script draws from, compressed."""

    view: FigureView
    html: Markup
    pack_id: str
    payload: str


def page_parts(view: FigureView) -> PagePart:
    pictures = [Drawing(view, picture) for picture in view.pictures]
    packed = {
        _key(one.picture): {"spec": _page_spec(one), "above": _above(one), "below": _below(one)} for one in pictures
    }
    first = packed[_key(pictures[0].picture)]
    html = _macros().body(view, first["above"], first["below"], words)
    return PagePart(view, Markup(html), f"p-{view.name}", pack(packed))


def bundle() -> str:
    """Vega, Vega-Lite, Vega-Embed with its interpreter, and what the page does with them; once per page."""
    return f"{_libraries()}\n{(PAGE / 'figures.js').read_text(encoding='utf-8')}"


@cache
def _libraries() -> str:
    script: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed", vl_version=version())
    return script.replace("</script", r"<\/script")


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
    return environment().get_template("figure.html").module


@cache
def environment() -> jinja2.Environment:
    """Of the page's templates."""
    loader = jinja2.FileSystemLoader(PAGE)
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def pack(content: object) -> str:
    """Compressed JSON that a script element holds."""
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
    numbers = [form.sentence(row.value, row.low, row.high) if row.drawable else DASH for row in picture.rows]
    cells = [[*(row.get(name, "") for name in columns), number] for row, number in zip(rows, numbers, strict=True)]
    return NumbersTable([*columns, words.TIP_VALUE], cells[:MOST_NUMBERS])


def _titled(drawing: Drawing, row: FigureRow) -> dict[str, str]:
    return {name.replace("_", " "): row.at[name] for name in drawing.picture.conditions}


def _counts(row: FigureRow) -> dict[str, str]:
    if row.published:
        return {words.TIP_VERDICT: row.source}
    verdict = "" if row.verdict is None else verdicts.verdict_text(row.verdict)
    return {**words.items_behind(row.n_items or 0, row.n_unscored or 0), words.TIP_VERDICT: verdict}


# ---------------------------------------------------------------- files


def write_files(views: Iterable[FigureView], folder: Path, formats: Collection[FigureFormat]) -> None:
    """NAME.svg, .png as asked for, and NAME.csv of every picture; NAME has the choices."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in views:
        for name, picture in zip(_file_names(view), view.pictures, strict=True):
            svg = file_svg(view, picture)
            if FigureFormat.SVG in formats:
                (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
            if FigureFormat.PNG in formats:
                (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=PIXELS))
            picture.data.to_csv(folder / f"{name}.csv", index=False)


def file_svg(view: FigureView, picture: Picture) -> str:
    svg: str = vl_convert.vegalite_to_svg(_without_tips(light_spec(view, picture)), vl_version=version())
    return svg


def altair_chart(view: FigureView, picture: Picture) -> alt.FacetChart | alt.LayerChart:
    """For a notebook. A single panel is no facet: its width and height can be set like those of any chart."""
    spec = {key: value for key, value in light_spec(view, picture).items() if key != "usermeta"}
    if len(picture.panels) > 1:
        return alt.FacetChart.from_dict(spec)
    title = spec["title"] | {"subtitle": [*filter(None, (picture.panels[0].title, spec["title"].get("subtitle")))]}
    of_facets = ("facet", "columns", "spacing", "resolve", "spec")
    around = {key: value for key, value in spec.items() if key not in of_facets}
    return alt.LayerChart.from_dict({**around, **spec["spec"], "title": title})


def light_spec(view: FigureView, picture: Picture) -> Spec:
    """All panels with title and legend, in light colours."""
    drawing = Drawing(view, picture)
    title = {"text": view.title, **({"subtitle": drawing.note} if drawing.note else {})}
    spec = chart(drawing) | {"title": title, "padding": _PADDING}
    spec["config"] = {**spec["config"], "background": "var(--paper)"}
    light: Spec = json.loads(re.sub(r"var\(--(\w+)\)", lambda match: LIGHT[match[1]], json.dumps(spec)))
    return light


def _without_tips(spec: Spec) -> Spec:
    for layer in spec["spec"]["layer"]:
        layer["encoding"].pop("tooltip", None)
    rows = [{key: value for key, value in row.items() if key != "tip"} for row in spec["datasets"]["rows"]]
    return spec | {"datasets": {"rows": rows}}


def _file_names(view: FigureView) -> list[str]:
    """Of its pictures, in characters that every file system has; numbered where they would be the same."""
    names: list[str] = []
    for picture in view.pictures:
        chosen = (f"{key}_{value}" for key, value in picture.chosen.items())
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join([view.name, *chosen]))
        same = sum(re.sub(r"~\d+$", "", name) == plain for name in names)
        names.append(f"{plain}~{same + 1}" if same else plain)
    return names
