"""A run in Python: what a notebook shows of it, its findings as a table, its figures as charts."""

from __future__ import annotations

import re
from html import unescape

import altair as alt
import pytest

import made_runs
import trueprobe
from trueprobe.errors import BadInput
from trueprobe.probes.display import Figure, Primary
from trueprobe.types import Verdict

FIGURE = Figure("margin", "The margin", "…", ("preference",), "category", "dots", "model", ("model",), ("k",))


def a_run(tmp_path, models=("one", "two"), claims=(), **more):
    """Of one figure: category by k, with a panel for each model."""
    values = [(model, category, k) for model in models for category in ("age", "race") for k in ("10", "3")]
    rows = [
        made_runs.estimate(model, "preference", 0.4 + 0.03 * i, category=category, k=k)
        for i, (model, category, k) in enumerate(values)
    ]
    cards = [made_runs.card(name) for name in models]
    probe = made_runs.declaration(
        figures=(FIGURE,), primary=(Primary("preference", claims=tuple({one.claim for one in claims})),)
    )
    return trueprobe.load_run(made_runs.write(tmp_path / "run", cards, rows, claims, probe=probe, **more))


def claim(model, name, value=0.2, verdict=Verdict.AS_PUBLISHED, **more):
    return made_runs.claim(model, name, value, verdict, p=0.0001, **more)


def points(chart: alt.TopLevelMixin) -> list[float]:
    """What is drawn, in the unit of the axis."""
    return [row["value"] for row in chart.to_dict()["datasets"]["rows"] if row["role"] == "value"]


# ---------------------------------------------------------------- what a notebook shows


def test_a_notebook_shows_the_main_findings_by_families_with_the_key_of_the_marks(tmp_path):
    claims = [claim("one", "a"), claim("two", "a", -0.2, Verdict.OPPOSITE), claim("one", "b < c")]
    html = a_run(tmp_path, claims=claims)._repr_html_()
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", html)]
    assert re.findall("<th>(.*?)</th>", html) == ["", "", "one", "two"]
    first, second = "+20.0 [+10.0, +30.0]*", "−20.0 [−30.0, −10.0]!"
    named = ["a is so (points)", "b &lt; c is so (points)"]
    assert rows[1:] == [["pairs", named[0], first, second], ["pairs", named[1], first, ""]]
    assert "<p><b>A is so, one +20.0 points [+10.0, +30.0]. Contradicts the paper: “a is so”, two −20.0 points" in html
    assert "* as published, or holds; ! opposite; no mark" in unescape(html)
    assert "more finding" not in html


def test_the_rest_is_said_to_be_elsewhere(tmp_path):
    run = a_run(tmp_path, claims=[claim("one", f"c{i}") for i in range(10)])
    assert "2 more findings: run.findings; the page: run.report()" in run._repr_html_()
    assert len(run.findings) == 10


def test_an_interrupted_run_shows_that_it_is(tmp_path):
    folder = made_runs.write(tmp_path / "run", [made_runs.card("one")], complete=False)
    html = trueprobe.load_run(folder)._repr_html_()
    assert "This run was interrupted." in html
    assert "<table>" not in html


# ---------------------------------------------------------------- findings


def test_findings_are_a_row_for_each_number_unrounded(tmp_path):
    claims = [claim("one", "a", 1 / 3, covered=0.75), claim("two", "a", 0.0, Verdict.FAILS_GATE)]
    table = a_run(tmp_path, claims=claims).findings
    assert table["model"].to_list() == ["one", "two"]
    assert table["value"].to_list() == [1 / 3, 0.0]
    assert table["low"].to_list() == [1 / 3 - 0.1, -0.1]
    assert table["verdict"].to_list() == ["as_published", "fails_gate"]
    assert table["covered"].to_list()[0] == 0.75
    assert table["n_items"].isna().all()
    assert set(table["n_seeds"]) == {1}


def test_a_run_without_findings_has_an_empty_table_with_the_same_columns(tmp_path):
    some = a_run(tmp_path, claims=[claim("one", "a")]).findings
    none = trueprobe.load_run(made_runs.write(tmp_path / "none", [made_runs.card("one")], [])).findings
    assert list(none) == list(some)
    assert none.empty


# ---------------------------------------------------------------- figures


def test_figures_are_listed_with_their_choices(tmp_path):
    table = a_run(tmp_path).figures
    assert table.to_dict("records") == [
        {"probe": "pairs", "figure": "margin", "title": "The margin", "choices": "k: 10, 3"}
    ]


def test_a_figure_is_a_chart_of_the_run_s_numbers(tmp_path):
    run = a_run(tmp_path)
    for k, chart in (("10", run.plot("pairs", "margin")), ("3", run.plot("pairs", "margin", k=3))):
        assert isinstance(chart, alt.FacetChart)
        expected = run.estimates.query(f"condition_k == '{k}'")["value"]
        assert sorted(points(chart)) == pytest.approx(sorted(100 * expected))


def test_a_chart_can_be_changed_and_saved(tmp_path):
    chart = a_run(tmp_path, models=("one",)).plot("pairs", "margin")
    assert isinstance(chart, alt.LayerChart)
    changed = chart.properties(title="For a paper", width=411).configure_axis(labelFontSize=14)
    changed.save(tmp_path / "margin.svg")
    svg = (tmp_path / "margin.svg").read_text(encoding="utf-8")
    assert "For a paper" in svg
    assert changed.to_dict()["width"] == 411


def test_the_panels_of_a_chart_can_be_resized(tmp_path):
    chart = a_run(tmp_path).plot("pairs", "margin")
    chart.spec.width = 123
    assert chart.to_dict()["spec"]["width"] == 123


def test_a_chart_needs_nothing_of_the_page(tmp_path):
    assert "var(--" not in a_run(tmp_path).plot("pairs", "margin").to_json()


@pytest.mark.parametrize(
    ("names", "choices", "error"),
    [
        ((), {}, "name a probe; choose from: pairs"),
        (("pears",), {}, "there is no probe 'pears'; did you mean 'pairs'?"),
        (("pairs",), {}, "name a figure of pairs; choose from: margin"),
        (("pairs", "margins"), {}, "there is no figure of pairs 'margins'; did you mean 'margin'?"),
        (("pairs", "margin"), {"depth": 3}, "there is no choice in 'The margin' 'depth'; choose from: k"),
        (("pairs", "margin"), {"k": 7}, "there is no k '7'; choose from: 10, 3"),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(names, choices, error, tmp_path):
    with pytest.raises(BadInput) as refused:
        a_run(tmp_path).plot(*names, **choices)
    assert str(refused.value) == error


@pytest.mark.slow
def test_the_page_is_written_into_the_folder(tmp_path):
    run = a_run(tmp_path)
    assert run.report() == run.folder / "report.html"
    assert "The margin" in (run.folder / "report.html").read_text(encoding="utf-8")
