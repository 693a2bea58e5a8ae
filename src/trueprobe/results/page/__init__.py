"""The report: one page, figures and tables, from the run folder alone. Never a model, never a probe's code.

`report.html` needs no network and no other file; `figures/` has every picture as SVG and PNG with its data as CSV,
`tables/` every table as CSV and LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from trueprobe.paths import write_folder, write_text
from trueprobe.results.page import draw, figures, findings, render, tables, trust
from trueprobe.results.page.figures import OWN, SCALE, Drawing, Variant
from trueprobe.results.page.reading import Reading
from trueprobe.results.page.tables import Grid
from trueprobe.runs.folder import Run

PIXELS = 2  # per unit of the SVG


def write(run: Run) -> Path:
    """DIR/report.html, DIR/figures/, DIR/tables/; what an earlier report left there is replaced."""
    reading = Reading(run)
    probes = {
        label: render.Parts(figures.drawings(reading, label), tables.grids(reading, label)) for label in reading.told
    }
    about = render.Parts(*trust.parts(reading), lead=trust.lead(reading))
    claims = findings.claims_grid(reading)
    parts = [*probes.values(), about]
    write_folder(run.folder / "figures", lambda at: _figures(at, (d for p in parts for d in p.drawings)))
    grids = [grid for p in parts for grid in p.grids]
    write_folder(run.folder / "tables", lambda at: _tables(at, [*grids, *([claims] if claims else [])]))
    path = run.folder / "report.html"
    write_text(path, render.page(reading, probes, about, claims))
    return path


def _figures(folder: Path, drawings: Iterable[Drawing]) -> None:
    import vl_convert

    folder.mkdir()
    for drawing in drawings:
        for variant in drawing.variants:
            if variant.chosen.get(SCALE) == OWN:
                continue
            stem = folder / _file_name(drawing, variant)
            svg = draw.file_svg(variant.picture)
            stem.with_suffix(".svg").write_text(svg, encoding="utf-8")
            stem.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=PIXELS))
            variant.data.to_csv(stem.with_suffix(".csv"), index=False)


def _file_name(drawing: Drawing, variant: Variant) -> str:
    chosen = [f"{key}_{value}" for key, value in variant.chosen.items() if key != SCALE]
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join([drawing.name, *chosen]))


def _tables(folder: Path, grids: Iterable[Grid]) -> None:
    folder.mkdir()
    for grid in grids:
        (folder / f"{grid.name}.csv").write_text(grid.csv(), encoding="utf-8")
        (folder / f"{grid.name}.tex").write_text(grid.latex(), encoding="utf-8")
