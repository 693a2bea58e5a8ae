"""A table in LaTeX, by pandas' Styler."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trueprobe.results.view.number import Cell, Grid

_SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"}
_SIGNS |= {"<": "$<$", ">": "$>$", "×": r"$\times$", "✓": r"\checkmark", "–": "--", "…": r"\dots{}"}
_SIGNS |= {sign: "\\" + sign for sign in "&%$#_{}"}
_ESCAPED = str.maketrans(_SIGNS)


def latex(grid: Grid) -> str:
    """As the page shows it; headings within the table are in italics."""
    texts = [[_tex(cell.text) for cell in row] + [""] * (len(grid.header) - len(row)) for row in grid.rows]
    columns = list(range(len(grid.header)))  # as two may have one name
    styles = [[_style(row, i) for i in columns] for row in grid.rows]
    frame, looks = pd.DataFrame(texts, columns=columns), pd.DataFrame(styles, columns=columns)
    styler = frame.style.hide(axis="index").apply(lambda _: looks, axis=None)
    styler = styler.relabel_index([_tex(name) for name in grid.header], axis="columns")
    title = grid.title if grid.title.endswith("?") else f"{grid.title}."
    return str(
        styler.to_latex(
            column_format="".join("r" if numeric else "l" for numeric in grid.numeric),
            position_float="centering",
            hrules=True,
            caption=_tex(f"{title} {grid.caption}"),
            label=f"tab:{grid.name}",
        )
    )


def _style(row: Sequence[Cell], i: int) -> str:
    if len(row) == 1:
        return "" if i else "textit:--rwrap;"
    return "textbf:--rwrap;" if row[i].bold and row[i].text else ""


def _tex(text: str) -> str:
    return text.translate(_ESCAPED)
