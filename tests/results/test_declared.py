"""What the shipped probes declare is drawn from a real run, every figure and table of it."""

from __future__ import annotations

import pytest

import trueprobe
from trueprobe.results.render import page as report
from trueprobe.results.render.files import FigureFormat


@pytest.mark.slow
@pytest.mark.parametrize(("probe", "settings"), [("counteracts", {}), ("distractors", {"position": "all"})])
def test_everything_declared_is_there(checkpoint, tmp_path, probe, settings):
    """The small vocabulary lacks the distractors' targets: then nothing is scored, and only items can be shown."""
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    done = trueprobe.run(probe, models=models, out=tmp_path / "run", settings=settings, limit=300)
    declared = done.declarations[probe]
    scored = (done.observations(probe)["why_not"] == "").any()
    report.write(done, [FigureFormat.SVG])
    figures = {path.stem for path in (done.folder / "figures").glob("*.svg")}
    tables = {path.stem for path in (done.folder / "tables").glob("*.csv")}
    for figure in declared.figures if scored else ():
        assert any(name.startswith(f"{probe}-{figure.name}") for name in figures), figure.name
    for table in declared.tables:
        expected = scored or table.of == "items"
        assert (f"{probe}-{table.name}" in tables) == expected, table.name
