"""Pictures as SVG: small panels with shared scales, for the page one by one, for a file side by side.

Colours are Okabe and Ito's, and every series has a shape of its own. On the page they follow the page's light or dark;
in files they are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from trueprobe.results.page.figures import SIGNIFICANT, Panel, Picture, Point, Series

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
COLOURS = 7
CSS = (
    """
.tp text{font:11px "Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;fill:var(--ink)}
.tp .t{font-weight:600;font-size:12px}.tp .h{font-weight:600;font-size:15px}.tp .q{fill:var(--soft)}
.tp .e{text-anchor:end}.tp .m{text-anchor:middle}
.tp .g{stroke:var(--line);stroke-width:1}.tp .n{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
.tp .z{fill:var(--stripe)}
.tp .w{stroke-width:1.6;fill:none}.tp .l{fill:none;stroke-width:1.8;stroke-linejoin:round}
.tp .v{fill:var(--paper);stroke:var(--soft);stroke-width:1}
.tp .c{opacity:.4;stroke-width:1.2}.tp .b{opacity:.16}.tp .d{opacity:.5}.tp .o{fill:var(--paper);stroke-width:1.2}
"""
    + "".join(f".tp .f{i}{{fill:var(--s{i})}}.tp .k{i}{{stroke:var(--s{i})}}" for i in range(COLOURS))
    + ".tp .fp{fill:var(--paper);stroke:var(--pub);stroke-width:1.4}.tp .kp{stroke:var(--pub);stroke-dasharray:5 3}"
)

_BOTTOM, _RIGHT = 42, 20
_CHARACTER = 6.6  # of a text in 11px, on average, in a wide font
_FEW = 3  # lines; with more of them intervals step back
_FILLED = ("band", "part", "rest")
_LONGEST = 34  # characters of a label; the rest is told on hovering


def file_css() -> str:
    css = CSS
    for name, colour in LIGHT.items():
        css = css.replace(f"var(--{name})", colour)
    return css


def wide(picture: Picture) -> bool:
    return picture.kind != "lines"


class _Frame:
    """Where a panel's axes lie, and where a value goes."""

    def __init__(self, picture: Picture, scale: Sequence[float] = ()) -> None:
        self.picture, self.scale = picture, scale or picture.scale
        self.top = 28.0 if any(panel.title for panel in picture.panels) else 10.0
        self.across = wide(picture)  # values go from left to right
        most = max((len(panel.series) for panel in picture.panels), default=0)
        self.series = len({s.index for panel in picture.panels for s in panel.series}) if most > 1 else 1
        longest = max((len(_short(title)) for _, title in picture.xs), default=0)
        self.left = _CHARACTER * longest + 16 if self.across else 46.0
        self.row = max(19.0, 9.0 * (1 if picture.kind == "bars" else self.series) + 9)
        self.width = max(340.0, self.left + 220) if self.across else 340.0
        inner = self.row * len(picture.xs) if self.across else 168.0
        self.height = self.top + inner + _BOTTOM
        self.low, self.high = self.scale[0], self.scale[-1]

    @property
    def right(self) -> float:
        return self.width - _RIGHT

    @property
    def bottom(self) -> float:
        return self.height - _BOTTOM

    def value(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        if self.across:
            return self.left + share * (self.right - self.left)
        return self.bottom - share * (self.bottom - self.top)

    def place(self, x: str) -> float:
        keys = [key for key, _ in self.picture.xs]
        if self.across:
            return self.top + self.row * (keys.index(x) + 0.5)
        first, last = float(keys[0]), float(keys[-1])
        share = (float(x) - first) / (last - first) if last > first else 0.5
        return self.left + 14 + share * (self.right - self.left - 28)

    def aside(self, index: int) -> float:
        """Series stand beside each other, so that intervals do not hide each other."""
        if self.series == 1:
            return 0.0
        gap = (self.right - self.left - 28) / max(1, len(self.picture.xs) - 1)
        step = 9.0 if self.across else min(4.0, 0.5 * gap / self.series)
        return (index - (self.series - 1) / 2) * step

    def at(self, x: str, value: float, index: int) -> tuple[float, float]:
        along, over = self.place(x) + self.aside(index), self.value(value)
        return (over, along) if self.across else (along, over)


def page_panels(picture: Picture) -> Iterator[str]:
    """Each panel as a picture of its own, so that a narrow page can put them below each other."""
    for panel in picture.panels:
        frame = _Frame(picture, panel.scale)
        yield (
            f'<svg class="tp" viewBox="0 0 {_n(frame.width)} {_n(frame.height)}" role="img" '
            f'aria-label="{escape(_label(picture, panel))}">{_panel(frame, panel)}</svg>'
        )


def file_svg(picture: Picture) -> str:
    """All panels, with title and legend, as one file."""
    frame = _Frame(picture)
    columns = min(len(picture.panels), 2 if frame.across else 3)
    rows = math.ceil(len(picture.panels) / columns)
    legend, tall = _legend_lines(picture, columns * frame.width)
    top = 34 + tall
    width, height = columns * frame.width, top + rows * frame.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tp" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}"><style>{file_css()}</style>'
        f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>',
        f'<text class="h" x="12" y="22">{escape(picture.title)}</text>{legend}',
    ]
    for i, panel in enumerate(picture.panels):
        x, y = (i % columns) * frame.width, top + (i // columns) * frame.height
        parts.append(f'<g transform="translate({_n(x)} {_n(y)})">{_panel(_Frame(picture, panel.scale), panel)}</g>')
    return "".join(parts) + "</svg>"


def _legend_lines(picture: Picture, width: float) -> tuple[str, float]:
    parts, x, y = [], 12.0, 44.0
    for title, index, style in picture.legend:
        long = 24 + 6.4 * len(title)
        if x + long > width and x > 12:
            x, y = 12.0, y + 18
        parts.append(f'<g transform="translate({_n(x)} {_n(y - 4)})">{swatch(index, style)}</g>')
        parts.append(f'<text x="{_n(x + 22)}" y="{_n(y)}">{escape(title)}</text>')
        x += long + 12
    if picture.note:
        y += 18 if picture.legend else 0
        parts.append(f'<text class="q" x="12" y="{_n(y)}">{escape(picture.note)}</text>')
    return "".join(parts), (y - 30 if parts else 0)


def swatch(index: int, style: str) -> str:
    """A mark as in the picture, around (8, 0)."""
    if style in _FILLED:
        return f'<rect class="{_fill(index, style)}" x="0" y="-5" width="16" height="10"/>'
    line = f'<path class="w {_stroke(index, style)}" d="M0 0H16"/>'
    return line + _mark(8, 0, index, style)


def _fill(index: int, style: str) -> str:
    """Of a surface: a band lets lines shine through, the rest of a bar is hollow."""
    return "v" if style == "rest" else f"{'b ' if style == 'band' else ''}f{index % COLOURS}"


def _stroke(index: int, style: str) -> str:
    return "kp" if style == "published" else f"k{index % COLOURS}"


def _mark(x: float, y: float, index: int, style: str, size: float = 4.0) -> str:
    colour = "fp" if style == "published" else f"f{index % COLOURS}"
    shape = index % 4
    if shape == 0:
        return f'<circle class="{colour}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}"/>'
    s = size * (0.9, 1.35, 1.25)[shape - 1]
    path = (
        f"M{_n(x - s)} {_n(y - s)}h{_n(2 * s)}v{_n(2 * s)}h{_n(-2 * s)}z",
        f"M{_n(x)} {_n(y - s)}L{_n(x + s)} {_n(y)}L{_n(x)} {_n(y + s)}L{_n(x - s)} {_n(y)}z",
        f"M{_n(x)} {_n(y - s)}L{_n(x + s)} {_n(y + 0.8 * s)}H{_n(x - s)}z",
    )[shape - 1]
    return f'<path class="{colour}" d="{path}"/>'


def _panel(frame: _Frame, panel: Panel) -> str:
    parts = [f'<text class="t" x="{_n(frame.left if not frame.across else 8)}" y="17">{escape(panel.title)}</text>']
    parts += _axes(frame)
    if panel.note:
        x, y = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
        parts.append(f'<text class="q m" x="{_n(x)}" y="{_n(y)}">{escape(panel.note)}</text>')
    behind_first = sorted(panel.series, key=lambda series: series.style != "band")
    drawn = _bars(frame, panel) if frame.picture.kind == "bars" else "".join(_series(frame, s) for s in behind_first)
    return "".join(parts) + drawn


def _axes(frame: _Frame) -> Iterator[str]:
    picture = frame.picture
    if frame.across:
        for i, (key, title) in enumerate(picture.xs):
            y = frame.place(key)
            if i % 2 == 0:
                top, wide_ = _n(y - frame.row / 2), _n(frame.right - 4)
                yield f'<rect class="z" x="4" y="{top}" width="{wide_}" height="{_n(frame.row)}"/>'
            yield f'<text class="e" x="{_n(frame.left - 8)}" y="{_n(y + 4)}">{escape(_short(title))}</text>'
    for tick in frame.scale:
        where, text = frame.value(tick), _tick(frame, tick)
        if frame.across:
            yield f'<path class="g" d="M{_n(where)} {_n(frame.top)}V{_n(frame.bottom)}"/>'
            yield f'<text class="q m" x="{_n(where)}" y="{_n(frame.bottom + 15)}">{text}</text>'
        else:
            yield f'<path class="g" d="M{_n(frame.left)} {_n(where)}H{_n(frame.right)}"/>'
            yield f'<text class="q e" x="{_n(frame.left - 6)}" y="{_n(where + 4)}">{text}</text>'
    if not math.isnan(picture.neutral):
        n = _n(frame.value(picture.neutral))
        line = (
            f"M{n} {_n(frame.top - 3)}V{_n(frame.bottom + 3)}"
            if frame.across
            else f"M{_n(frame.left)} {n}H{_n(frame.right)}"
        )
        yield f'<path class="n" d="{line}"/>'
    percent = f" ({'points' if picture.form.signed else '%'})" if picture.form.factor == 100 else ""
    middle = (frame.left + frame.right) / 2
    if frame.across:
        titled = picture.y_title + percent
        middle = min(middle, frame.right - _CHARACTER * len(titled) / 2) if titled else middle
        yield f'<text class="q m" x="{_n(middle)}" y="{_n(frame.height - 8)}">{escape(titled)}</text>'
        return
    end = 0.0
    for key, title in picture.xs:
        x, half = frame.place(key), _CHARACTER * len(title) / 2
        if x - half >= end:  # what would overlap is left out
            yield f'<text class="q m" x="{_n(x)}" y="{_n(frame.bottom + 15)}">{escape(title)}</text>'
            end = x + half + 4
    yield f'<text class="q m" x="{_n(middle)}" y="{_n(frame.height - 8)}">{escape(picture.x_title)}</text>'
    y = (frame.top + frame.bottom) / 2
    yield (
        f'<text class="q m" transform="translate(11 {_n(y)}) rotate(-90)">{escape(picture.y_title + percent)}</text>'
    )


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1].rstrip() + "…"


def _tick(frame: _Frame, tick: float) -> str:
    factor, scale = frame.picture.form.factor, frame.scale
    step = factor * (scale[1] - scale[0])
    digits = max(0, min(4, math.ceil(-math.log10(step) - 1e-9))) if step > 0 else 0
    if round(step * 10**digits) != step * 10**digits and abs(round(step * 10**digits) - step * 10**digits) > 1e-6:
        digits += 1
    return f"{factor * tick:.{digits}f}".replace("-", "−")


def _series(frame: _Frame, series: Series) -> str:
    parts = []
    if series.style == "band":
        parts.append(_band(frame, series))
    if frame.picture.kind == "lines":
        ordered = sorted(series.points, key=lambda point: float(point.x))
        line = "L".join("{} {}".format(*map(_n, frame.at(p.x, p.value, series.index))) for p in ordered)
        parts.append(f'<path class="l {_stroke(series.index, series.style)}" d="M{line}"/>')
    parts += [_point(frame, series, point) for point in series.points]
    return f'<g class="s" data-s="{series.index}{"p" if series.style == "published" else ""}">{"".join(parts)}</g>'


def _band(frame: _Frame, series: Series) -> str:
    points = sorted((p for p in series.points if not math.isnan(p.low)), key=lambda p: float(p.x))
    if not points:
        return ""
    up = [frame.at(p.x, p.high, series.index) for p in points]
    down = [frame.at(p.x, p.low, series.index) for p in reversed(points)]
    outline = "L".join(f"{_n(x)} {_n(y)}" for x, y in up + down)
    return f'<path class="{_fill(series.index, series.style)}" d="M{outline}z"/>'


def _point(frame: _Frame, series: Series, point: Point) -> str:
    index = series.index
    parts = []
    for seed in point.seeds:
        x, y = frame.at(point.x, seed.value, index)
        hollow = not math.isnan(seed.p) and seed.p >= SIGNIFICANT
        look = f"o k{index % COLOURS}" if hollow else f"d f{index % COLOURS}"
        parts.append(f'<circle class="{look}" cx="{_n(x)}" cy="{_n(y)}" r="2.2"/>')
    if not math.isnan(point.low) and series.style != "band":
        faint = " c" if frame.picture.kind == "lines" and frame.series > _FEW else ""
        (x0, y0), (x1, y1) = frame.at(point.x, point.low, index), frame.at(point.x, point.high, index)
        parts.append(
            f'<path class="w {_stroke(index, series.style)}{faint}" d="M{_n(x0)} {_n(y0)}L{_n(x1)} {_n(y1)}"/>'
        )
    x, y = frame.at(point.x, point.value, index)
    parts.append(_mark(x, y, index, series.style, 3.6))
    return f'<g class="p"><title>{escape(point.told)}</title>{"".join(parts)}</g>'


def _bars(frame: _Frame, panel: Panel) -> str:
    """Stacked from the left; a bar's parts sum to its whole."""
    parts, ends = [], {key: 0.0 for key, _ in frame.picture.xs}
    for series in panel.series:
        made = []
        for point in (point for point in series.points if point.value):
            start, end = frame.value(ends[point.x]), frame.value(ends[point.x] + point.value)
            ends[point.x] += point.value
            y, tall = frame.place(point.x) - frame.row * 0.36, frame.row * 0.72
            made.append(
                f'<g class="p"><title>{escape(point.told)}</title><rect class="{_fill(series.index, series.style)}" '
                f'x="{_n(start)}" y="{_n(y)}" width="{_n(max(0.0, end - start))}" height="{_n(tall)}"/></g>'
            )
        parts.append(f'<g class="s" data-s="{series.index}">{"".join(made)}</g>')
    return "".join(parts)


def _label(picture: Picture, panel: Panel) -> str:
    """For people who do not see it: what is drawn, with the numbers."""
    numbers = "; ".join(point.told for series in panel.series for point in series.points[:40])
    return f"{picture.title}{', ' + panel.title if panel.title else ''}. {numbers or panel.note}"


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
