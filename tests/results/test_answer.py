"""The sentence that answers a run's question, and the line about how far to trust it: one rule, from verdicts."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import made_runs
from trueprobe.probes.display import Primary
from trueprobe.results.render import json as json_report
from trueprobe.results.render import markdown, page
from trueprobe.results.text import answer as words
from trueprobe.results.view.headline import Answer, State
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.types import Verdict

SURE = {"p": 0.0001, "p_interval": 0.0001}
HOLDS = Verdict.HOLDS_FOR_CHECKPOINT


def report(folder, claims=(), estimates=(), models=("solo",), **more):
    cards = [made_runs.card(name) for name in models]
    return Report.of(load_run(made_runs.write(folder / "run", cards, list(estimates), list(claims), **more)))


def claim(name, verdict, model="solo"):
    return made_runs.claim(model, name, 0.1, verdict, p=0.5 if verdict is Verdict.UNDECIDED else 0.0001)


def sentence(mine):
    return words.answer(Answer.of(mine), mine)


def test_families_stand_by_how_much_they_show_with_what_holds_most_widely(tmp_path):
    verdicts = {"one": (Verdict.UNDECIDED, Verdict.AS_PUBLISHED), "two": (Verdict.AS_PUBLISHED, Verdict.AS_PUBLISHED)}
    claims = [claim(f"c{i}", v, name) for name, both in verdicts.items() for i, v in enumerate(both)]
    mine = report(tmp_path, claims, models=tuple(verdicts))
    assert sentence(mine) == (
        "two shows 2 of 2 findings that could be tested and one 1 of 2; most shared: c1 is so (one and two); "
        "no published finding is reversed."
    )


def test_what_is_the_other_way_round_or_flips_is_named(tmp_path):
    claims = [claim("a", Verdict.OPPOSITE), claim("b", Verdict.OPPOSITE), claim("c", Verdict.FLIPS)]
    assert sentence(report(tmp_path, claims)) == (
        "solo shows 0 of 3 findings that could be tested; reversed: a is so (solo) and 1 more; "
        "flips between seeds or wordings: c is so (solo)."
    )


def test_what_holds_below_its_neutral_value_is_counted_with_its_side(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", v, category=c, verdict=HOLDS, **SURE)
        for c, v in zip("ab", (0.7, 0.3), strict=True)
    ]
    summary = made_runs.replace(made_runs.SUMMARY, below="against the stereotype")
    mine = report(tmp_path, estimates=rows, probe=made_runs.declaration(summary=summary))
    assert sentence(mine).startswith(
        "solo shows 2 of 2 findings that could be tested (1 against the stereotype); among them: a:"
    )


def test_families_on_two_sides_of_a_neutral_value_share_nothing(tmp_path):
    values = {"one": (0.7, 0.2), "two": (0.3, 0.3)}
    rows = [
        made_runs.estimate(name, "preference", v, category=c, verdict=HOLDS, family=name, **SURE)
        for name, both in values.items()
        for c, v in zip("ab", both, strict=True)
    ]
    summary = made_runs.replace(made_runs.SUMMARY, below="against the stereotype")
    declared = made_runs.declaration(summary=summary)
    mine = report(tmp_path, estimates=rows, models=tuple(values), probe=declared)
    assert "most shared: b: " in sentence(mine)
    assert "(one and two, against the stereotype)" in sentence(mine)
    apart = report(tmp_path / "apart", estimates=rows[::2], models=tuple(values), probe=declared)
    assert "for example: a: " in sentence(apart)
    assert "(one)" in sentence(apart)


@pytest.mark.parametrize(
    ("verdicts", "state", "begins"),
    [
        ([Verdict.UNDECIDED], State.UNDECIDED, "Nothing is decided: the one primary number is not clearly"),
        (
            [Verdict.UNDECIDED] * 3,
            State.UNDECIDED,
            "Nothing is decided: none of 3 primary numbers that could be tested is clearly",
        ),
        (
            [Verdict.FAILS_GATE, Verdict.NO_INTERVAL, Verdict.FAILS_GATE],
            State.SILENT,
            "Nothing can be concluded. The commonest reason: fails the gate: the model cannot do",
        ),
        ([], State.EMPTY, "Nothing is decided: this run's numbers have no neutral value"),
    ],
)
def test_where_nothing_is_decided_it_says_why(tmp_path, verdicts, state, begins):
    mine = report(tmp_path, [claim(f"c{i}", verdict) for i, verdict in enumerate(verdicts)])
    assert Answer.of(mine).state is state
    assert sentence(mine).startswith(begins)


def test_a_run_of_exploratory_numbers_decides_nothing(tmp_path):
    declared = made_runs.declaration(primary=(Primary("other", {}, ()),))
    one, two = (
        report(tmp_path / names, [claim(name, Verdict.AS_PUBLISHED) for name in names], probe=declared)
        for names in ("a", "ab")
    )
    assert Answer.of(one).state is Answer.of(two).state is State.EXPLORATORY
    assert sentence(one) == "Nothing is decided: the one number is exploratory, with an interval and without a verdict."
    assert sentence(two).startswith("Nothing is decided: none of the 2 numbers is primary")


def test_a_run_that_scored_nothing_says_so(tmp_path):
    none = pd.DataFrame([made_runs.observation("i0", None, category="age")])
    mine = report(tmp_path, [claim("a", Verdict.NOTHING_SCORED)], observed=none)
    assert sentence(mine) == ("Nothing can be concluded: the one answer could not be scored (1 multi_piece).")
    assert "no model could be scored on any item" in words.how_far(mine)


def test_the_sentence_is_the_same_on_the_page_in_markdown_and_in_json(tmp_path):
    mine = report(tmp_path, [claim("a", Verdict.AS_PUBLISHED), claim("b", Verdict.OPPOSITE)])
    text = "solo shows 1 of 2 findings that could be tested; namely: a is so; reversed: b is so (solo)."
    assert f'<p id="sentence">{text}</p>' in page.html(mine.source.run)
    assert f"**{text}**" in markdown.render(mine)
    answer = json.loads(json_report.render(mine))["answer"]
    assert (answer["text"], answer["state"]) == (text, "decided")
    assert answer["standings"] == [{"name": "solo", "n_holds": 1, "n_judged": 2, "below": []}]


def test_an_interrupted_run_says_so(tmp_path):
    mine = Report.of(load_run(made_runs.write(tmp_path / "run", [], complete=False)))
    assert sentence(mine).startswith("This run was interrupted.")


def test_how_far_names_items_seeds_and_what_is_missing(tmp_path):
    cards = [*made_runs.family("toy", 3), made_runs.card("solo")]
    claims = [made_runs.claim("solo", "a", 0.1, Verdict.FAILS_GATE)]
    mine = Report.of(load_run(made_runs.write(tmp_path / "run", cards, [], claims)))
    assert words.how_far(mine) == (
        "4 questions to each checkpoint; 3 seeds of toy; one seed of solo, so that another may differ; all 16 answers "
        "scored; 1 number decides nothing."
    )
