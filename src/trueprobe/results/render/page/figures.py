"""A figure on the page, as its script draws it, with the numbers as a table; and the same as SVG, PNG and CSV files."""

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

import jinja2
import vl_convert
from markupsafe import Markup

from trueprobe.results import marks
from trueprobe.results.chart import Spec, chart, file_svg, version
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.render.spreadsheet import csv_text
from trueprobe.results.text import figures as words
from trueprobe.results.text import verdicts
from trueprobe.results.view.number import DASH
from trueprobe.results.view.pictures import FigureView, Picture, Point

HERE = Path(__file__).parent
PIXELS = 2  # of a PNG per unit of its SVG
MOST_NUMBERS = 400  # rows of a figure's table on the page; all are in its CSV


@dataclass(frozen=True)
class PagePart:
    """A figure on the page: its body, and what the script draws from, compressed."""

    view: FigureView
    html: Markup
    pack_id: str
    payload: str


def page_parts(view: FigureView) -> PagePart:
    packed = {
        "|".join(one.chosen.values()): {"spec": _page_spec(one), "above": _above(one), "below": _below(one)}
        for one in view.pictures
    }
    first = next(iter(packed.values()))
    html = _macros().body(view, first["above"], first["below"], words)
    return PagePart(view, Markup(html), f"p-{view.name}", pack(packed))


def bundle() -> str:
    """Vega, Vega-Lite, Vega-Embed with its interpreter, and what the page does with them; once per page."""
    return f"{_libraries()}\n{(HERE / 'figures.js').read_text(encoding='utf-8')}"


@cache
def _libraries() -> str:
    script: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed", vl_version=version())
    return script.replace("</script", r"<\/script")


def _page_spec(picture: Picture) -> Spec:
    """Without Vega's legend: the page has one that keys can reach."""
    spec = chart(picture)
    for layer in spec["spec"]["layer"]:
        for channel in {"fill", "stroke", "shape"} & layer["encoding"].keys():
            layer["encoding"][channel]["legend"] = None
    return spec


def _above(picture: Picture) -> Markup:
    """Legend and note."""
    return Markup(_macros().legend(picture, words))


def _below(picture: Picture) -> Markup:
    """The numbers as a table."""
    return Markup(_macros().numbers(picture.figure, numbers_table(picture), words))


def _macros() -> Any:
    return environment().get_template("figure.html").module


@cache
def environment() -> jinja2.Environment:
    """Of the page's templates."""
    loader = jinja2.FileSystemLoader(HERE)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(marks=marks)
    return made


def pack(content: object) -> str:
    """Compressed JSON that a script element holds."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


@dataclass(frozen=True)
class NumbersTable:
    header: list[str]
    rows: list[list[str]]  # the number last


def numbers_table(picture: Picture) -> NumbersTable:
    """The picture as a table: what differs between its numbers, and each number."""
    rows = [
        {**{name.replace("_", " "): one.at[name] for name in picture.conditions}, **_counts(one)}
        for one in picture.every
    ]
    columns = [name for name in rows[0] if len({row.get(name, "") for row in rows}) > 1]
    numbers = [one.number.sentence() if one.drawable else DASH for one in picture.every]
    cells = [[*(row.get(name, "") for name in columns), number] for row, number in zip(rows, numbers, strict=True)]
    return NumbersTable([*columns, words.TIP_VALUE], cells[:MOST_NUMBERS])


def _counts(point: Point) -> dict[str, str]:
    n = point.number
    if point.published:
        return {words.TIP_VERDICT: point.source}
    verdict = verdicts.verdict_text(n.verdict, n.source) if n.row else ""
    return {**words.items_behind(n.n_items or 0, n.n_unscored), words.TIP_VERDICT: verdict}


# ---------------------------------------------------------------- files


def write_files(views: Iterable[FigureView], folder: Path, formats: Collection[FigureFormat]) -> None:
    """NAME.svg, .png as asked for, and NAME.csv of every picture; NAME has the choices."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in views:
        for name, picture in zip(_file_names(view), view.pictures, strict=True):
            svg = file_svg(picture)
            if FigureFormat.SVG in formats:
                (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
            if FigureFormat.PNG in formats:
                (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=PIXELS))
            (folder / f"{name}.csv").write_text(csv_text(picture.data), encoding="utf-8")


def _file_names(view: FigureView) -> list[str]:
    """Of its pictures, in characters that every file system has; numbered where they would be the same."""
    names: list[str] = []
    for picture in view.pictures:
        chosen = (f"{key}_{value}" for key, value in picture.chosen.items())
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join([view.name, *chosen]))
        same = sum(re.sub(r"~\d+$", "", name) == plain for name in names)
        names.append(f"{plain}~{same + 1}" if same else plain)
    return names
