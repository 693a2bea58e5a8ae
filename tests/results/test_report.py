"""The whole report: one file that needs nothing else, right for whole, partial and hostile runs."""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import made_runs
from trueprobe.cli import app
from trueprobe.probes import ItemTable
from trueprobe.results.render import page as report
from trueprobe.results.render.page.figures import bundle
from trueprobe.runs import load_run
from trueprobe.types import GROUP, Verdict

NASTY = "</script><script>alert('x')</script> & \"q\" <img src=x onerror=alert(1)>"


def page(folder) -> str:
    """Without the libraries that draw its figures; the browser's tests see that nothing is asked for."""
    return report.write(load_run(folder)).read_text(encoding="utf-8").replace(bundle(), "")


def estimates(*models):
    return [made_runs.estimate(m, "preference", 0.6, category=c) for m in models for c in ("age", "race")]


def test_a_whole_run_has_a_page_and_on_request_figures_and_tables(tmp_path):
    folder = made_runs.write(tmp_path / "run", made_runs.family("toy", 3), estimates("toy-seed0", "toy-seed1"))
    text = page(folder)
    assert not (folder / "figures").exists()
    assert not (folder / "tables").exists()
    assert CliRunner().invoke(app, ["report", str(folder), "--figures", "svg"]).exit_code == 0
    assert {p.suffix for p in (folder / "figures").iterdir()} == {".svg", ".csv"}
    assert CliRunner().invoke(app, ["report", str(folder), "--figures", "png,svg"]).exit_code == 0
    assert {p.name for p in (folder / "figures").iterdir()} == {f"pairs-preference.{e}" for e in ("svg", "png", "csv")}
    assert {p.suffix for p in (folder / "tables").iterdir()} == {".csv", ".tex"}
    assert (folder / "figures/pairs-preference.png").read_bytes().startswith(b"\x89PNG")
    refused = CliRunner().invoke(app, ["report", str(folder), "--figures", "gif"])
    assert str(refused.exception) == "figures are written as svg or png, not as gif"
    for part in ("All findings", "Does it prefer the stereotype?", "What this does not show", "BibTeX", "Item by item"):
        assert part in text


def test_nothing_is_fetched_from_anywhere(tmp_path):
    text = page(made_runs.write(tmp_path / "run", [made_runs.card("toy")], estimates("toy")))
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\s*\(", text)


def test_text_of_models_and_items_is_escaped(tmp_path):
    items = pd.DataFrame({"item": ["i0"], "text": [NASTY], "category": [NASTY], "group_item": ["i0"]})
    observed = pd.DataFrame([made_runs.observation("i0", 1.0, category=NASTY, top=NASTY)])
    table = ItemTable(("preference_nats",), "preference_nats", answer="top")
    probe = made_runs.declaration(question=NASTY, item_table=table)
    rows = [made_runs.estimate("toy", "preference", 0.6, category=NASTY)]
    claims = [made_runs.claim("toy", "one", 0.1, Verdict.UNDECIDED, statement=NASTY)]
    made = made_runs.write(tmp_path / "run", [made_runs.card("toy")], rows, claims, probe, observed, items)
    text = page(made)
    assert "<img" not in text
    assert "<script>alert" not in text
    assert "&lt;img" in text


def test_the_same_run_gives_the_same_page(tmp_path):
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")], estimates("toy"))
    assert page(folder) == page(folder)


@pytest.mark.parametrize("complete", [True, False])
def test_a_run_without_numbers_still_has_a_page(tmp_path, complete):
    none = pd.DataFrame([made_runs.observation("i0", None, category="age")])
    counted = [] if complete else None
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")], counted, observed=none, complete=complete)
    text = page(folder)
    assert ("interrupted" in text) == (not complete)
    assert "None of the 1 answers could be scored (1 of several tokens)" in text


def test_an_interrupted_run_before_any_answer_says_so(tmp_path):
    text = page(made_runs.write(tmp_path / "run", [], complete=False))
    assert "No answers are in the folder" in text
    assert re.search(r"<title>\w.* · trueprobe</title>", text)
    assert "With answers so far: none" in text


def test_numbers_that_are_missing_are_no_zeros(tmp_path):
    nothing = float("nan")
    rows = [made_runs.estimate("toy", "preference", nothing, low=nothing, high=nothing, category="age")]
    text = page(made_runs.write(tmp_path / "run", [made_runs.card("toy")], rows))
    assert "nan" not in re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL).lower().replace(
        "nangia", ""
    )


@pytest.mark.slow
def test_fifty_thousand_observations_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"word{n}" for n in range(4000)])
    names = [f"i{n}" for n in range(50_000)]
    texts = [" ".join(rng.choice(words, 14)) + " ___." for _ in names]
    items = pd.DataFrame({"item": names, "text": texts, "category": "age", "group_item": names})
    observed = pd.DataFrame({"item": names, "part": "", "why_not": "", "why_not_detail": "", "category": "age"}).assign(
        **{f"{GROUP}item": names}
    )
    observed["preference_nats"] = rng.normal(size=len(names))
    folder = made_runs.write(
        tmp_path / "run", [made_runs.card("toy")], estimates("toy"), observed=observed, items=items
    )
    began = time.process_time()
    size = len(page(folder).encode())
    assert size < 10e6
    assert time.process_time() - began < 60


def test_the_command_says_where_things_are(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")], estimates("toy"))
    result = CliRunner().invoke(app, ["report", str(folder), "--open"])
    assert result.exit_code == 0
    assert str(folder / "report.html") in result.output
    assert opened == [(folder / "report.html").resolve().as_uri()]
