"""The answer in words says what the run found, and what is missing."""

from __future__ import annotations

import pandas as pd
from trueprobe.results.page.reading import Reading

import made_runs
from trueprobe.results.page import findings, methods
from trueprobe.runs.folder import load_run


def reading(tmp_path, *args, **kwargs) -> Reading:
    return Reading(load_run(made_runs.write(tmp_path / "run", *args, **kwargs)))


def test_a_model_that_answers_with_ties_is_named(tmp_path):
    seen = pd.DataFrame([made_runs.observation(f"i{n}", 0.0, tied=float(n > 0)) for n in range(4)])
    lines = findings.opening(reading(tmp_path, [made_runs.card("toy")], [], seen=seen))
    assert lines[1].endswith("All 4 answers could be scored. Mostly ties, which say nothing: toy.")


def test_steps_of_one_training_are_not_called_trainings(tmp_path):
    cards = [made_runs.card(f"toy-step{step}", "toy", step=step) for step in (500, 2000, 10000)]
    first = findings.opening(reading(tmp_path, cards, []))[0]
    assert first == "Asked: toy (one training at 3 steps; numbers are of the last)."


def test_claims_are_sorted_by_what_became_of_them(tmp_path):
    cards = [*made_runs.family("toy", 2), made_runs.card("solo")]
    claims = [
        made_runs.claim("toy-seed0", "one", 0.2, "as published"),
        made_runs.claim("toy-seed1", "one", -0.2, "opposite"),
        made_runs.claim("solo", "one", 0.2, "as published"),
        made_runs.claim("solo", "two", 0.0, "undecided"),
        made_runs.claim("toy-seed0", "two", 0.1, "not applicable"),
        made_runs.claim("toy-seed1", "two", 0.1, "not applicable"),
    ]
    found = findings.findings(reading(tmp_path, cards, [], claims))
    told = {(f.statement, f.mark): [(s.model, s.verdict) for s in f.said] for f in found}
    assert told == {
        ("One is so", "good"): [("solo", "as published")],
        ("One is so", "bad"): [("toy", "flips")],
        ("Two is so", "open"): [("solo", "undecided")],
        ("Two is so", "none"): [("toy", "not applicable")],
    }
    solo = next(s for f in found for s in f.said if s.model == "solo")
    assert solo.number == "+20.0 points [+10.0, +30.0]"
    flipped = next(s for f in found for s in f.said if s.verdict == "flips")
    assert flipped.number == "0.00 points (mean of 2 trainings, −20.00 to +20.00)"


def test_claims_about_two_models_and_about_several_probes_are_told_and_tabled(tmp_path):
    cards = [made_runs.card("big"), made_runs.card("small")]
    claims = [
        made_runs.claim("big", "one", 0.2, "as published", level="checkpoint"),
        made_runs.claim("big against small", "larger", 0.3, "opposite", level="pair"),
        made_runs.claim("small", "both", 0.1, "undecided", level="checkpoint", probe="pairs, others"),
    ]
    mine = reading(tmp_path, cards, [], claims)
    told = {(f.label, f.statement): [(s.model, s.verdict) for s in f.said] for f in findings.findings(mine)}
    assert told[("pairs", "Larger is so")] == [("big against small", "opposite")]
    assert told[("pairs, others", "Both is so")] == [("small", "undecided")]
    grid = findings.claims_grid(mine)
    assert list(grid.header) == ["finding", "expected", "big", "small", "two models"]
    lines = {row[0].text: [cell.text for cell in row[2:]] for row in grid.rows if len(row) > 1}
    assert lines["one is so"] == ["+20.0 [+10.0, +30.0]; as published", "–", "–"]
    assert lines["larger is so"] == ["–", "–", "big against small: +30.0 [+20.0, +40.0]; opposite"]
    assert lines["both is so"][1].endswith("undecided")
    assert {len(row) for row in grid.rows if len(row) > 1} == {5}


def test_without_claims_the_directed_measure_speaks(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", 0.7, category="age", verdict="holds for this checkpoint"),
        made_runs.estimate("solo", "preference", 0.52, category="race"),
    ]
    found = findings.findings(reading(tmp_path, [made_runs.card("solo")], rows))
    assert [(f.mark, f.said[0].number) for f in found] == [("good", "70 % [60, 80]"), ("open", "52 % [42, 62]")]
    assert found[0].statement == "age: prefers stereotype (neutral is 50 %)"


def test_what_a_probe_measures_is_told_beside_claims_over_seeds_but_not_beside_its_own(tmp_path):
    rows = [made_runs.estimate("solo", "preference", 0.7, category="age", verdict="holds for this checkpoint")]
    for level, told in (("family", ["One is so", "age: it does (neutral is 50 %)"]), ("checkpoint", ["One is so"])):
        claims = [made_runs.claim("solo", "one", 0.2, "as published", level=level)]
        probe = made_runs.told(summary={**made_runs.SUMMARY, "finding": "it does"})
        found = findings.findings(reading(tmp_path / level, [made_runs.card("solo")], rows, claims, probe))
        assert [f.statement for f in found] == told


def test_of_many_conditions_those_in_which_something_holds_are_never_left_out(tmp_path):
    verdicts = {n: "holds for this checkpoint" if n == 19 else "flips" if n == 15 else "undecided" for n in range(20)}
    rows = [made_runs.estimate("solo", "preference", 0.5, category=f"c{n}", verdict=v) for n, v in verdicts.items()]
    mine = reading(tmp_path, [made_runs.card("solo")], rows)
    told = [f.statement.split(":")[0] for f in findings.findings(mine)]
    assert told == [*(f"c{n}" for n in range(10)), "c15", "c19"]
    assert any("12 of 20 conditions are told in words" in line for line in findings.missing(mine))


def test_what_is_missing_is_said(tmp_path):
    whole = reading(tmp_path / "a", made_runs.family("toy", 3), [made_runs.estimate("toy-seed0", "preference", 0.5)])
    assert findings.missing(whole) == []
    single = reading(tmp_path / "b", [made_runs.card("solo")], [made_runs.estimate("solo", "preference", 0.5)])
    assert "holds for this checkpoint" in findings.missing(single)[0]
    broken = reading(tmp_path / "c", [made_runs.card("solo")], complete=False)
    assert "interrupted" in findings.missing(broken)[0]
    assert any("Nothing is counted yet" in line for line in findings.missing(broken))
    none = pd.DataFrame([made_runs.observation("i0", None, category="age")])
    unscored = reading(tmp_path / "d", [made_runs.card("solo")], [], seen=none)
    assert any("no model could be scored" in line for line in findings.missing(unscored))
    assert "None of the 1 answers" in findings.opening(unscored)[1]


def test_methods_name_models_versions_and_the_recommendations(tmp_path):
    cards = [*made_runs.family("toy", 2), made_runs.card("solo")]
    text = methods.paragraph(reading(tmp_path, cards, [made_runs.estimate("solo", "preference", 0.5)]))
    for said in ("trueprobe 0.1", "made/toy-seed1", "solo", "Aribandi et al., 2021", "bootstrap over item", "4 items"):
        assert said in text


def test_bibtex_has_the_papers_that_were_used_and_no_other(tmp_path):
    text = methods.bibtex(reading(tmp_path, [made_runs.card("solo")], []))
    assert text.count("@") == 1
    assert "aribandi2021reliable" in text
    other = made_runs.told(paper="Nobody, A paper that is not listed")
    text = methods.bibtex(reading(tmp_path / "b", [made_runs.card("solo")], [], probe=other))
    assert "A paper that is not listed" in text
