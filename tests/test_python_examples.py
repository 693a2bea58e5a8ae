"""The Python that people copy: examples of docstrings and the tutorial run as they stand."""

from __future__ import annotations

import ast
import doctest
import json
import sys
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

import trueprobe
from trueprobe.results.render import notebook

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial.ipynb"


@pytest.mark.slow
def test_the_examples_of_docstrings_run(tmp_path, monkeypatch):
    """With `runs/mine` present, which the example of `run` makes."""
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestFinder().find(trueprobe) + doctest.DocTestFinder().find(notebook.RunResults)
    tried = [example for example in examples if example.examples]
    assert len(tried) == 9
    for example in sorted(tried, key=lambda example: example.name != "trueprobe.run"):
        example.globs["trueprobe"] = trueprobe
        assert doctest.DocTestRunner().run(example).failed == 0, example.name


def cells() -> list[dict]:
    """Those of the tutorial with code."""
    content = json.loads(TUTORIAL.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_the_tutorial_runs_from_its_first_cell_to_its_last(tmp_path, monkeypatch):
    """In one namespace instead of a kernel; a cell's last line is displayed as in a notebook."""
    displayed: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "displayhook", displayed.append)
    names: dict[str, object] = {"__name__": "__tutorial__"}
    for cell in cells():
        code = ast.parse("".join(cell["source"]))
        exec(compile(ast.Interactive(code.body), "tutorial", "single"), names)
    runs = [one for one in displayed if isinstance(one, trueprobe.RunResults)]
    assert [run.complete and "<table>" in run._repr_html_() for run in runs] == [True, True]
    assert [type(one).__name__ for one in displayed if isinstance(one, alt.TopLevelMixin)] == ["FacetChart"]
    assert_what_its_text_says(runs[-1], names["table"])
    assert (tmp_path / "effects.svg").exists()
    assert (tmp_path / "runs" / "tutorial" / "report.html").exists()


def assert_what_its_text_says(run: trueprobe.RunResults, compared: pd.DataFrame) -> None:
    verdicts = run.findings.set_index(["name", "model"])["verdict"].to_dict()
    decided = {key: verdict for key, verdict in verdicts.items() if verdict != "undecided"}
    assert decided == {
        ("sent-weat6 cls", "mini"): "holds_for_checkpoint",
        ("sent-weat7 cls", "mini"): "holds_for_checkpoint",
        ("sent-weat7 cls", "nursery"): "holds",
    }
    seeds = run.estimates.query("family == 'nursery' and level == 'checkpoint'")
    above = {test: sum(rows["value"] > 0) for test, rows in seeds.groupby("condition_test")}
    assert above["sent-weat6"] == 3
    assert above["sent-weat7"] == 0
    assert sum(compared["low"] > 0) == 2
    assert set(compared["verdict"]) == {"undecided"}


def test_the_tutorial_is_committed_with_what_its_cells_gave():
    outputs = [output for cell in cells() for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert {"text/html", "image/png"} <= {kind for output in outputs for kind in output.get("data", ())}
