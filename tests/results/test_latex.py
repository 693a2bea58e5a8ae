"""Tables in LaTeX: no line is wider than the page, no table longer, and every row says what it is of."""

from __future__ import annotations

import re
import shutil
import subprocess

import pandas as pd
import pytest

from trueprobe.results.render.latex import latex
from trueprobe.results.view import Cell, Grid

SIGNS = "−1 ± 2 × ≈ ≥ ° [a] & % $ # _ { } ~ ^ \\ < > ✓ – …\u00a0²"


def grid(columns, rows, text="+20.0 [+10.0, +30.0]", **more):
    header = ("factor", *(f"model {i}" for i in range(columns)))
    body = [(Cell(f"value {i}"), *(Cell(text, True) for _ in range(columns))) for i in range(rows)]
    return Grid("t", "Title", "Caption.", header, tuple(body), pd.DataFrame(), **more)


def document(*tables):
    packages = r"\usepackage{amssymb,booktabs,tabularx,rotating}"
    return "\n".join([r"\documentclass{article}", packages, r"\begin{document}", *tables, r"\end{document}", ""])


def test_a_narrow_table_stands_upright_and_names_its_packages():
    text = latex(grid(2, 3))
    assert text.startswith("% \\usepackage{amssymb,booktabs,tabularx,rotating}\n\\begin{table}")
    assert r"\begin{tabularx}{\textwidth}" in text


def test_a_wide_table_is_rotated_and_a_wider_one_split_with_its_first_column():
    assert latex(grid(5, 3)).count(r"\begin{sidewaystable}") == 1
    text = latex(grid(12, 3))
    assert len(re.findall(r"begin\{(sideways)?table\}", text)) == 3
    assert text.count("value 0 &") == 3
    assert sorted(re.findall(r"model \d+", text)) == sorted(f"model {i}" for i in range(12))
    assert re.findall(r"label\{(.*?)\}", text) == ["tab:t", "tab:t-2", "tab:t-3"]


def test_a_long_table_is_several():
    text = latex(grid(1, 100))
    assert text.count(r"\begin{table}") == 3
    assert "Continued, part 3 of 3" in text
    assert text.count("+20.0") == 100


def test_rows_name_their_factor():
    text = latex(grid(1, 2, n_factors=1))
    assert "factor = value 1 & +20.0" in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_a_document_of_all_kinds_compiles_without_a_line_that_is_too_wide(tmp_path):
    wide = "a sentence that is much longer than a column may be, so that it wraps in its place"
    tables = [latex(one) for one in (grid(2, 3), grid(5, 3), grid(12, 60), grid(1, 100), grid(2, 2, SIGNS))]
    tables.append(latex(grid(3, 3, wide)))
    (tmp_path / "t.tex").write_text(document(*tables))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert re.findall(r"Overfull \\hbox.*|Float too large.*", done.stdout) == []
