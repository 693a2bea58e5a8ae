"""The marks of a picture: its numbers as rows of data, and how its series look. Colours are CSS variables.

The data has columns of our own making and refers to series, panels and what is listed along x by number: a Vega-Lite
field named `a.b` or `a[b]` would be read as a path and silently drawn as nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from trueprobe.results.text import figures as words
from trueprobe.results.text import verdicts
from trueprobe.results.view.pictures import Look, Picture, Point, Series, Style, tested

COLOURS = 7  # Okabe and Ito's, without black
_COLOURS = {  # light, dark
    "ink": ("#1c2430", "#e8ebef"),
    "soft": ("#59636f", "#a9b2bd"),
    "line": ("#dfe3e8", "#343c46"),
    "stripe": ("#f4f6f8", "#1f252d"),
    "paper": ("#ffffff", "#171c22"),
    "s0": ("#0072b2", "#5cb8f0"),
    "s1": ("#d55e00", "#ff8a3d"),
    "s2": ("#009e73", "#2cc89c"),
    "s3": ("#cc79a7", "#e59bc6"),
    "s4": ("#e69f00", "#f2b632"),
    "s5": ("#56b4e9", "#9ad4f7"),
    "s6": ("#6b6b6b", "#b5b5b5"),
    "pub": ("#9aa3ad", "#77818c"),
}
LIGHT, DARK = ({name: both[i] for name, both in _COLOURS.items()} for i in (0, 1))
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

# ---------------------------------------------------------------- looks


def surface(look: Look) -> bool:
    return look.style in (Style.BAND, Style.PART, Style.REST)


def _colour(look: Look) -> str:
    return f"var(--s{look.index % COLOURS})"


def fill(look: Look) -> str:
    return "var(--paper)" if look.style in (Style.PUBLISHED, Style.REST) else _colour(look)


def stroke(look: Look) -> str:
    return {Style.PUBLISHED: "var(--pub)", Style.REST: "var(--soft)"}.get(look.style, _colour(look))


def shape(look: Look) -> str:
    return SHAPES[look.index % len(SHAPES)]


# ---------------------------------------------------------------- data


def data(picture: Picture) -> Iterator[Datum]:
    for number, panel in enumerate(picture.panels):
        note = "" if panel.why_empty is None else words.why_empty(panel.why_empty)
        yield {"role": "panel", "panel": number, "note": note}
        for series in panel.series:
            for point in series.points:
                yield from _point(picture, number, series, point)


def _point(picture: Picture, panel: int, series: Series, point: Point) -> Iterator[Datum]:
    n, factor, look = point.number, picture.axis.format.factor, series.look
    at: Datum = {
        "panel": panel,
        "series": look.position,
        "look": picture.looks.index(look),
        "x": _x(picture, look, point),
        "joined": _joined(picture, series),
    }
    title, text = _title(picture, series, point), n.sentence()
    tip = {"title": title, words.TIP_VALUE: text, **_behind(picture, point)}
    value: Datum = {"role": "value", **at, "value": factor * n.value, "tip": tip, "text": f"{title}: {text}"}
    low, high = n.interval
    if math.isfinite(low) and math.isfinite(high):  # no further than the axis, which ends with the quantity
        first, *_, last = picture.axis.ticks
        value |= {"low": factor * max(low, first), "high": factor * min(high, last)}
    if picture.kind != "bars" or n.value:
        yield value
    for seed in n.seeds:
        hollow = tested(seed) and not picture.figure.tail.significant(seed.p)
        yield {"role": "seed", **at, "value": factor * seed.value, "hollow": hollow}


def _joined(picture: Picture, series: Series) -> bool:
    """A line has a number at each of its places: published ones at the ends alone are points."""
    if series.look.style is not Style.PUBLISHED:
        return True
    xs = [key for key, _ in picture.xs]
    at = sorted(xs.index(point.x) for point in series.points)
    return at == list(range(at[0], at[-1] + 1))


def _x(picture: Picture, look: Look, point: Point) -> float:
    """The number of the place; on an axis of numbers the number itself, a little aside for each series."""
    keys = [key for key, _ in picture.xs]
    if picture.kind != "lines":
        return keys.index(point.x)
    numbers, series = [float(key) for key in keys], len(picture.legend)
    if not picture.side_by_side or len(numbers) < 2:
        return float(point.x)
    length = numbers[-1] - numbers[0]
    step = min(DODGE * length, 0.5 * length / (len(numbers) - 1) / series)
    return float(point.x) + (look.position - (series - 1) / 2) * step


def _title(picture: Picture, series: Series, point: Point) -> str:
    """`2 attractors · mini`"""
    unit = picture.figure.x_unit
    place = f"{point.x} {unit}" if unit else dict(picture.xs)[point.x]
    model = point.at["model"] if point.published else ""
    return " · ".join(dict.fromkeys(filter(None, (place, series.title, model))))


def _behind(picture: Picture, point: Point) -> dict[str, str]:
    """What is behind a mark: items, seeds and verdict, or the source of a published number."""
    if point.published:
        return {words.TIP_SOURCE: point.source}
    n, tail = point.number, picture.figure.tail
    behind = words.items_behind(n.n_items or 0, n.n_unscored)
    if n.seeds:
        clear = sum(tail.significant(seed.p) for seed in n.seeds) if any(map(tested, n.seeds)) else None
        behind[words.TIP_SEEDS] = words.seeds_drawn(len(n.seeds), clear)
    verdict = verdicts.verdict_with_reason(n.verdict, n.judged, n.source)
    return {**behind, words.TIP_VERDICT: verdict} if verdict else behind
