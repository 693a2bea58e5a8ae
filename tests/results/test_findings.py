"""The findings are those of the run, and what is missing is named."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd

import made_runs
from trueprobe.probes.display import Primary
from trueprobe.results import text as words
from trueprobe.results.render import markdown, page
from trueprobe.results.view import Gap, Report, by_outcome, silences, tally
from trueprobe.runs import load_run
from trueprobe.types import Outcome, Verdict


def report(tmp_path, *args, **kwargs) -> Report:
    return Report.of(load_run(made_runs.write(tmp_path / "run", *args, **kwargs)))


def by_statement(mine: Report, outcome: Outcome) -> dict[str, list[tuple[str, Verdict]]]:
    findings = by_outcome(mine.findings).get(outcome, [])
    return {finding.statement: [(n.model, n.verdict) for n in finding.numbers] for finding in findings}


def test_a_model_that_answers_with_ties_is_named(tmp_path):
    observed = pd.DataFrame([made_runs.observation(f"i{n}", 0.0, tied=float(n > 0)) for n in range(4)])
    mine = report(tmp_path, [made_runs.card("toy")], [], observed=observed)
    assert mine.probes[0].scoring.mostly_tied == ("toy",)
    lines = words.findings.opening(mine)
    assert lines[1].endswith("All 4 answers could be scored. Mostly ties, which show nothing: toy.")


def test_steps_of_one_seed_are_not_called_seeds(tmp_path):
    cards = [made_runs.card(f"toy-step{step}", "toy", step=step) for step in (500, 2000, 10000)]
    first = words.findings.opening(report(tmp_path, cards, []))[0]
    assert first == "Models: toy (3 steps; numbers are of the last)."


def test_claims_are_sorted_by_outcome(tmp_path):
    cards = [*made_runs.family("toy", 2), made_runs.card("solo")]
    claims = [
        made_runs.claim("toy-seed0", "one", 0.2, Verdict.AS_PUBLISHED),
        made_runs.claim("toy-seed1", "one", -0.2, Verdict.OPPOSITE),
        made_runs.claim("toy", "one", 0.0, Verdict.FLIPS, level="family", n_seeds=2),
        made_runs.claim("solo", "one", 0.2, Verdict.AS_PUBLISHED),
        made_runs.claim("solo", "two", 0.0, Verdict.UNDECIDED),
        made_runs.claim("toy", "two", 0.1, Verdict.NOTHING_SCORED, level="family"),
    ]
    mine = report(tmp_path, cards, [], claims)
    assert by_statement(mine, Outcome.GOOD) == {"one is so": [("solo", Verdict.AS_PUBLISHED)]}
    assert by_statement(mine, Outcome.BAD) == {"one is so": [("toy", Verdict.FLIPS)]}
    assert by_statement(mine, Outcome.OPEN) == {"two is so": [("solo", Verdict.UNDECIDED)]}
    assert by_statement(mine, Outcome.NONE) == {"two is so": [("toy", Verdict.NOTHING_SCORED)]}
    assert tally(mine.findings) == dict.fromkeys(set(Outcome) - {Outcome.EXPLORATORY}, 1)
    flipping, published = mine.findings[0].numbers
    assert (published.text(), published.unit_text()) == ("+20.0 [+10.0, +30.0]", "points")
    assert [seed.value for seed in flipping.seeds] == [0.2, -0.2]


def test_where_nothing_can_be_said_a_model_is_named_once_for_each_probe(tmp_path):
    claims = [made_runs.claim("solo", f"c{n}", 0.1, Verdict.FAILS_GATE) for n in range(3)]
    (one,) = silences(report(tmp_path, [made_runs.card("solo")], [], claims).findings)
    assert (one.probe, one.model, one.verdict, one.n_findings) == ("pairs", "solo", Verdict.FAILS_GATE, 3)


def test_claims_about_two_models_and_about_several_probes_are_found_and_tabled(tmp_path):
    cards = [made_runs.card("big"), made_runs.card("small")]
    claims = [
        made_runs.claim("big", "one", 0.2, Verdict.AS_PUBLISHED),
        made_runs.claim("big against small", "larger", 0.3, Verdict.OPPOSITE, level="pair"),
        made_runs.claim("small", "both", 0.1, Verdict.UNDECIDED, probe="pairs, others"),
    ]
    mine = report(tmp_path, cards, [], claims)
    known = {(f.probe, f.statement): [(n.model, n.verdict) for n in f.numbers] for f in mine.findings}
    assert known["pairs", "larger is so"] == [("big against small", Verdict.OPPOSITE)]
    assert known["pairs, others", "both is so"] == [("small", Verdict.UNDECIDED)]
    grid = mine.claims
    assert grid.header == ("finding", "expected", "big", "small", "two models")
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in grid.body}
    assert lines["one is so"] == ["above 0", "+20.0 [+10.0, +30.0]; as published", "–", "–"]
    assert lines["larger is so"] == ["above 0", "–", "–", "big against small: +30.0 [+20.0, +40.0]; opposite"]
    assert lines["both is so"][2].endswith("undecided")
    assert {len(row) for row in grid.body} == {5}


def test_claims_at_other_conditions_than_the_summarys_are_no_findings(tmp_path):
    summary = replace(made_runs.SUMMARY, where={"k": "10", "unknown": "all"})
    claims = [made_runs.claim("solo", "one", k / 100, Verdict.UNDECIDED, k=str(k)) for k in (3, 10)]
    probe = made_runs.declaration(summary=summary)
    (finding,) = report(tmp_path, [made_runs.card("solo")], [], claims, probe).findings
    assert [number.value for number in finding.numbers] == [0.1]


def test_without_claims_the_directed_measure_is_the_finding(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", 0.7, category="age", verdict=Verdict.HOLDS_FOR_CHECKPOINT),
        made_runs.estimate("solo", "preference", 0.52, category="race"),
    ]
    first, second = report(tmp_path, [made_runs.card("solo")], rows).findings
    assert [(f.numbers[0].verdict.outcome, f.numbers[0].text()) for f in (first, second)] == [
        (Outcome.GOOD, "70 % [60, 80]"),
        (Outcome.OPEN, "52 % [42, 62]"),
    ]
    assert (first.name, first.statement, first.threshold) == ("age", "age: prefers stereotype", 0.5)
    assert words.verdicts.neutral(first) == "neutral is 50 %"


def against(tmp_path) -> Report:
    """One category on either side of 50 %, both of which hold."""
    holds = Verdict.HOLDS_FOR_CHECKPOINT
    values = {"age": 0.7, "race": 0.3}
    rows = [made_runs.estimate("solo", "preference", v, category=c, verdict=holds) for c, v in values.items()]
    summary = replace(made_runs.SUMMARY, finding="it does", below="against the stereotype")
    return report(tmp_path, [made_runs.card("solo")], rows, probe=made_runs.declaration(summary=summary))


def test_what_holds_against_the_stereotype_says_so(tmp_path):
    mine = against(tmp_path)
    assert [words.verdicts.side(f, f.numbers[0]) for f in mine.findings] == ["", "against the stereotype"]
    assert "solo 30 % \\[20, 40\\]\\* against the stereotype, holds" in markdown.render(mine)
    text = re.sub(r"(?:<[^>]+>|\s)+", " ", page.html(mine.source.run))
    assert re.search(r"30 % \* against the stereotype \[20, 40\] holds[^;]*; 40 items", text)
    assert not re.search(r"70 % \* \[60, 80\] holds[^;]*; 40 items; against the stereotype", text)


def test_a_section_counts_what_its_table_holds(tmp_path):
    claims = [made_runs.claim(m, f"c{n}", 0.1, Verdict.UNDECIDED) for n in range(9) for m in ("solo", "other")]
    claims += [made_runs.claim("solo", "good", 0.1, Verdict.AS_PUBLISHED)]
    text = page.html(report(tmp_path, [made_runs.card("solo"), made_runs.card("other")], [], claims).source.run)
    assert '<summary>pairs <span class="of">1 hold · 18 undecided or borderline</span></summary>' in text
    whole = text.partition('<section id="findings">')[2].partition("</section>")[0]
    assert [whole.count(f'<td class="num {outcome}"') for outcome in ("good", "open", "none")] == [1, 18, 1]


def test_a_dash_has_its_reason_where_it_stands(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", 0.5, category="age", verdict=Verdict.NO_VARIATION),
        made_runs.estimate("solo", "preference", 0.6, category="race"),
    ]
    (grid,) = report(tmp_path, [made_runs.card("solo")], rows).probes[0].tables
    dash = grid.body[0][1]
    assert dash.text == "–"
    assert dash.hint == "no variation: every resample gives exactly the neutral value; 40 items"


def test_findings_are_all_numbers_that_are_primary_whatever_is_claimed(tmp_path):
    rows = [made_runs.estimate("solo", "preference", 0.7, category="age", verdict=Verdict.HOLDS_FOR_CHECKPOINT)]
    cards = [made_runs.card("solo"), *made_runs.family("toy", 3)]
    summary = replace(made_runs.SUMMARY, finding="it does")
    only_claims, both = (Primary("preference", claims=("one",)),), None
    for model, level, primary, expected in (
        ("toy", "family", only_claims, ["one is so", "age: it does"]),  # claims over seeds say nothing of a model
        ("solo", "checkpoint", only_claims, ["one is so"]),
        ("solo", "checkpoint", both, ["one is so", "age: it does"]),
    ):
        claims = [made_runs.claim(model, "one", 0.2, Verdict.AS_PUBLISHED, level=level)]
        probe = made_runs.declaration(summary=summary, primary=primary)
        mine = report(tmp_path / f"{level} {primary}"[:40], cards, rows, claims, probe)
        assert [finding.statement for finding in mine.findings] == expected
        on_list = [n for finding in mine.findings for n in finding.numbers if n.row.n_list]
        assert len(on_list) == mine.n_primary == len(expected) - (level == "family")


def test_of_many_conditions_none_is_left_out(tmp_path):
    verdicts = dict.fromkeys(range(20), Verdict.UNDECIDED) | {19: Verdict.HOLDS_FOR_CHECKPOINT, 15: Verdict.FLIPS}
    rows = [made_runs.estimate("solo", "preference", 0.5, category=f"c{n}", verdict=v) for n, v in verdicts.items()]
    mine = report(tmp_path, [made_runs.card("solo")], rows)
    assert [finding.name for finding in mine.findings] == [f"c{n}" for n in range(20)]
    assert [f.name for f in by_outcome(mine.findings)[Outcome.GOOD]] == ["c19"]
    assert [f.name for f in by_outcome(mine.findings)[Outcome.BAD]] == ["c15"]


def gaps(mine: Report) -> list[Gap]:
    return [one.gap for one in mine.missing]


def test_what_is_missing_is_named(tmp_path):
    counted = [made_runs.estimate("toy-seed0", "preference", 0.5)]
    assert gaps(report(tmp_path / "a", made_runs.family("toy", 3), counted)) == []
    single = report(tmp_path / "b", [made_runs.card("solo")], [made_runs.estimate("solo", "preference", 0.5)])
    assert gaps(single) == [Gap.ONE_SEED]
    assert "Only one seed of solo was tested" in words.findings.missing_text(single.missing[0])
    broken = report(tmp_path / "c", [made_runs.card("solo")], complete=False)
    assert gaps(broken) == [Gap.INTERRUPTED, Gap.NOTHING_COUNTED, Gap.MODELS_MISSING]
    texts = [words.findings.missing_text(one) for one in broken.missing]
    assert "interrupted" in texts[0]
    assert "There are no numbers" in texts[1]
    assert texts[2] == "Models of the study: made. With answers so far: solo."
    none = pd.DataFrame([made_runs.observation("i0", None, category="age")])
    unscored = report(tmp_path / "d", [made_runs.card("solo")], [], observed=none)
    assert gaps(unscored) == [Gap.NOTHING_SCORED]
    assert "no model could be scored" in words.findings.missing_text(unscored.missing[0])
    assert "None of the 1 answers" in words.findings.opening(unscored)[1]


def test_methods_name_models_versions_and_the_recommendations(tmp_path):
    cards = [*made_runs.family("toy", 2), made_runs.card("solo")]
    text = report(tmp_path, cards, [made_runs.estimate("solo", "preference", 0.5)]).methods
    parts = ("trueprobe 0.1", "made/toy-seed1", "solo", "Aribandi et al., 2021", "bootstrap over item", "4 prompts")
    for part in parts:
        assert part in text


def test_the_methods_paragraph_cites_and_leaves_settings_to_their_table(tmp_path):
    """As in a paper: `(Aribandi et al., 2021)`, and no `key=value`."""
    cards = [made_runs.card("solo"), *made_runs.family("toy", 5)]
    mine = report(tmp_path, cards, [made_runs.estimate("solo", "preference", 0.5, category="age")])
    assert "pairs (4 prompts; Aribandi et al., 2021)" in mine.methods
    assert "toy (masked, bert, float32, 5 checkpoints)" in mine.methods
    assert "=" not in mine.methods
    listed = {(row[1].text, row[2].text) for row in mine.settings.rows}
    known = {("resample_seed", "0"), ("intervals", "bootstrap over item"), ("measures", "preference, ties")}
    assert listed == {*known, ("signature", "probe:pairs|version:unknown")}  # of a folder without signatures


def test_bibtex_has_the_papers_that_were_used_and_no_other(tmp_path):
    text = report(tmp_path, [made_runs.card("solo")], []).bibtex
    assert text.count("@") == 2
    assert "aribandi2021reliable" in text
    other = made_runs.declaration(paper="Nobody, A paper that is not listed")
    text = report(tmp_path / "b", [made_runs.card("solo")], [], probe=other).bibtex
    assert "A paper that is not listed" in text


def test_too_few_groups_because_of_the_limit_says_how_many_items_are_needed(tmp_path):
    claims = [made_runs.claim("solo", f"c{n}", 0.1, Verdict.TOO_FEW_GROUPS) for n in range(3)]
    why = "too few groups because of the limit; at least 366 items are needed"
    for needed, expected in ((366, why), (0, "too few groups: fewer than 6 groups of items")):
        probe = made_runs.declaration(items_needed=needed)
        mine = report(tmp_path / str(needed), [made_runs.card("solo")], [], claims, probe)
        assert f"solo, pairs: 3 findings: {expected}" in markdown.render(mine)
        assert f"3 findings: {expected}" in page.html(mine.source.run)
        assert words.findings.inconclusive_section(mine.sections[0]) == expected
