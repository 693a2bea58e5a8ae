"""A table in LaTeX that fits the page: no line is wider than the text, no table longer than a page.

Long words wrap in tabularx. What is too wide for a page is rotated; what is too wide for that, or too long, becomes
several tables, each with the first column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trueprobe.results.view.number import Cell, Grid

PACKAGES = "% \\usepackage{amssymb,booktabs,tabularx,rotating}"
_UPRIGHT, _ROTATED = 74, 116  # characters of \small in a line of an article of A4 or US letter
_GAP = 3  # and between two columns
_LINES = {False: 44, True: 24}  # of a table on a page; True: rotated
_LONGEST = 22  # characters of a column that does not wrap
_LEAST_WRAPPED = 20  # characters that a column that wraps is given
_SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"}
_SIGNS |= {"<": "$<$", ">": "$>$", "×": r"$\times$", "✓": r"\checkmark", "✗": r"$\times$", "–": "--", "…": r"\dots{}"}
_SIGNS |= {
    "≈": r"$\approx$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "°": r"$^\circ$",
    "²": "$^2$",
    "␣": r"\textvisiblespace{}",
}
_SIGNS |= {"\u00a0": "~"}
_SIGNS |= {sign: "\\" + sign for sign in "&%$#_{}"}
_ESCAPED = str.maketrans(_SIGNS)
_SIGN = re.compile(r"(?<=[^\w.])|(?<=_)")  # after which a long word may be broken


def latex(grid: Grid) -> str:
    """As the page shows it, with the factor in every row (`attractor = plural`); headings in the table are in
    italics."""
    grid = _with_factors(grid)
    parts = [part for columns in _column_sets(grid) for part in _pages(_picked(grid, columns))]
    return f"{PACKAGES}\n" + "\n".join(_table(grid, part, i, len(parts)) for i, part in enumerate(parts))


@dataclass(frozen=True)
class _Part:
    grid: Grid
    rotated: bool


def _with_factors(grid: Grid) -> Grid:
    def named(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
        if len(row) == 1:
            return row
        head = (
            replace(cell, text=f"{name} = {cell.text}")
            for name, cell in zip(grid.header[: grid.n_factors], row, strict=False)
        )
        return (*head, *row[grid.n_factors :])

    return replace(grid, rows=tuple(map(named, grid.rows)))


def _widths(grid: Grid) -> list[int]:
    """Characters of each column that does not wrap; of one that does, what it is given."""
    longest = [max([len(name), *(len(row[i].text) for row in grid.body)]) for i, name in enumerate(grid.header)]
    return [many if many <= _LONGEST else _LEAST_WRAPPED for many in longest]


def _column_sets(grid: Grid) -> list[list[int]]:
    """All columns where they fit, rotated if need be; else as many as fit, always with the first."""
    widths = [width + _GAP for width in _widths(grid)]
    sets: list[list[int]] = [[0]]
    for i in range(1, len(widths)):
        if sum(widths[j] for j in (*sets[-1], i)) > _ROTATED and len(sets[-1]) > 1:
            sets.append([0])
        sets[-1].append(i)
    return sets


def _picked(grid: Grid, columns: Sequence[int]) -> Grid:
    rows = (row if len(row) == 1 else tuple(row[i] for i in columns) for row in grid.rows)
    return replace(grid, header=tuple(grid.header[i] for i in columns), rows=tuple(rows))


def _pages(grid: Grid) -> Iterator[_Part]:
    widths = _widths(grid)
    rotated = sum(widths) + _GAP * len(widths) > _UPRIGHT
    rows: list[tuple[Cell, ...]] = []
    lines = 0
    for row in grid.rows:
        height = 1 if len(row) == 1 else max(-(-len(cell.text) // w) for cell, w in zip(row, widths, strict=True))
        if rows and lines + height > _LINES[rotated]:
            yield _Part(replace(grid, rows=tuple(rows)), rotated)
            rows, lines = [], 0
        rows.append(row)
        lines += height
    yield _Part(replace(grid, rows=tuple(rows)), rotated)


def _table(whole: Grid, part: _Part, i: int, many: int) -> str:
    grid, environment = part.grid, "sidewaystable" if part.rotated else "table"
    title = whole.title if whole.title.endswith("?") else f"{whole.title}."
    caption = f"{title} {whole.caption}" if i == 0 else f"{title} Continued, part {i + 1} of {many}."
    label = f"tab:{whole.name}" + (f"-{i + 1}" if i else "")
    width = r"\textheight" if part.rotated else r"\textwidth"  # of a rotated page the height is the width
    lines = [
        rf"\begin{{{environment}}}",
        r"\centering\small",
        rf"\caption{{{_tex(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabularx}}{{{width}}}{{{''.join(_columns(grid))}}}",
        r"\toprule",
        f"{' & '.join(map(_tex, grid.header))} \\\\",
        r"\midrule",
        *(_row(row, len(grid.header)) for row in grid.rows),
        r"\bottomrule",
        r"\end{tabularx}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _columns(grid: Grid) -> Iterator[str]:
    """Short columns as they are; the others share the rest of the line. One always does, so that the line is full."""
    widths = [max([len(name), *(len(row[i].text) for row in grid.body)]) for i, name in enumerate(grid.header)]
    wraps = [width > _LONGEST for width in widths]
    if not any(wraps):
        wraps[0] = True
    for numeric, wrap in zip(grid.numeric, wraps, strict=True):
        side = r">{\raggedleft\arraybackslash}" if numeric else r">{\raggedright\arraybackslash}"
        yield f"{side}X" if wrap else "r" if numeric else "l"


def _row(row: Sequence[Cell], many: int) -> str:
    if len(row) == 1:
        return rf"\multicolumn{{{many}}}{{l}}{{\textit{{{_tex(row[0].text)}}}}} \\"
    cells = (rf"\textbf{{{_tex(cell.text)}}}" if cell.bold and cell.text else _tex(cell.text) for cell in row)
    text = f"{' & '.join(cells)} \\\\"
    return f"{{}}{text}" if text.startswith(("[", "*")) else text  # else an argument of the row before


def _tex(text: str) -> str:
    """Long names, as in a signature, may be broken at their signs."""
    return " ".join(_breakable(word) if len(word) > _LONGEST else word.translate(_ESCAPED) for word in text.split(" "))


def _breakable(word: str) -> str:
    parts = _SIGN.split(word)
    return r"\allowbreak{}".join(part.translate(_ESCAPED) for part in parts if part)
