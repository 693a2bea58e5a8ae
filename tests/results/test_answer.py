"""The headline: what a run found in a user's words, what contradicts it, what could not be judged; and the lines about
how far to trust it. Decided from verdicts, sizes and declarations alone."""

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
from trueprobe.types import ClaimSource, Unit, Verdict

SURE = {"p": 0.0001, "p_interval": 0.0001}
HOLDS, OPPOSITE = Verdict.HOLDS_FOR_CHECKPOINT, Verdict.OPPOSITE
PREFERS = Primary(
    "preference",
    where={"category": "a"},
    above="{models} {prefers|prefer} the stereotype in {value} of pairs",
    below="{models} {prefers|prefer} the stereotype in only {value} of pairs",
)
COSTS = Primary("cost", claims=("costs",), above="one fact costs {models} {by} of accuracy")
DECLARED = made_runs.declaration(primary=(PREFERS, COSTS))


def report(folder, claims=(), estimates=(), models=("solo",), **more):
    cards = [made_runs.card(name) for name in models]
    return Report.of(load_run(made_runs.write(folder / "run", cards, list(estimates), list(claims), **more)))


def claim(name, verdict, model="solo", value=0.2, **more):
    value = -value if verdict is OPPOSITE else value
    return made_runs.claim(model, name, value, verdict, p=0.5 if verdict is Verdict.UNDECIDED else 0.0001, **more)


def preference(model, value, verdict=HOLDS, **more):
    p = 0.4 if verdict is Verdict.UNDECIDED else 0.0001
    return made_runs.estimate(model, "preference", value, verdict=verdict, p_interval=p, **{"category": "a", **more})


def sentence(mine):
    return words.answer(Answer.of(mine), mine)


# ---------------------------------------------------------------- what is decided


def test_headline_of_one_model_has_its_number_and_interval(tmp_path):
    mine = report(tmp_path, estimates=[preference("solo", 0.68)], probe=DECLARED)
    assert sentence(mine) == "solo prefers the stereotype in 68 % of pairs [58, 78]."


def test_headline_of_a_number_below_neutral_says_so(tmp_path):
    mine = report(tmp_path, estimates=[preference("solo", 0.2)], probe=DECLARED)
    assert sentence(mine) == "solo prefers the stereotype in only 20 % of pairs [10, 30]."


def test_headline_of_many_models_goes_from_the_least_to_the_most(tmp_path):
    names = [f"m{i}" for i in range(8)]
    claims = [claim("costs", Verdict.AS_PUBLISHED, name, 0.37 + 0.37 * i / 7) for i, name in enumerate(names)]
    mine = report(tmp_path, claims, models=names, probe=DECLARED)
    assert sentence(mine) == "One fact costs all 8 models 37.0 to 74.0 points of accuracy."
    some = [*claims[:5], *(claim("costs", Verdict.UNDECIDED, name) for name in names[5:])]
    assert sentence(report(tmp_path / "some", some, models=names, probe=DECLARED)).startswith(
        "One fact costs 5 of 8 models"
    )


def test_headline_is_the_largest_of_the_decided_numbers_whatever_their_unit(tmp_path):
    rows = [preference("solo", 0.6)]
    assert sentence(report(tmp_path / "a", [claim("costs", Verdict.AS_PUBLISHED)], rows, probe=DECLARED)).startswith(
        "One fact costs solo"
    )
    nats = [made_runs.replace(one, unit=Unit.NATS, value=0.2) for one in [claim("costs", Verdict.AS_PUBLISHED)]]
    assert sentence(report(tmp_path / "b", nats, rows, probe=DECLARED)).startswith("solo prefers")  # σ(0.2) is 0.55


def test_headline_names_models_on_the_other_side(tmp_path):
    rows = [preference("one", 0.8), preference("two", 0.3)]
    mine = report(tmp_path, estimates=rows, models=("one", "two"), probe=DECLARED)
    assert sentence(mine) == ("one prefers the stereotype in 80 % of pairs [70, 90]. Opposite: two 30 % [20, 40].")


def test_headline_without_a_template_has_the_statement_and_who(tmp_path):
    claims = [claim("a", Verdict.AS_PUBLISHED, name) for name in ("one", "two")]
    assert sentence(report(tmp_path, claims, models=("one", "two"))) == "A is so, one and two +20.0 points."


# ---------------------------------------------------------------- what contradicts


def test_reversed_claim_is_always_in_the_headline_also_where_it_is_exploratory(tmp_path):
    """The claim is off the list, so its verdict there is `suggestive`; alone it is `opposite`."""
    claims = [claim("other", OPPOSITE, source=ClaimSource.EXPECTED)]
    mine = report(tmp_path, claims, [preference("solo", 0.68)], probe=DECLARED)
    (finding,) = (one for one in mine.findings if one.name == "other")
    assert finding.numbers[0].verdict is Verdict.SUGGESTIVE
    assert sentence(mine).endswith(
        " Contradicts the authors' expectation (exploratory): “other is so”, solo −20.0 points [−30.0, −10.0]."
    )


def test_reversed_claim_of_the_list_comes_first_and_others_are_said_to_be_there(tmp_path):
    claims = [claim("minor", OPPOSITE, value=0.9), claim("costs", OPPOSITE)]
    mine = report(tmp_path, claims, probe=DECLARED)
    assert sentence(mine) == "Contradicts the paper: “costs is so”, solo −20.0 points [−30.0, −10.0]; 1 more."


def test_headline_has_at_most_forty_words_and_keeps_every_number(tmp_path):
    long = made_runs.replace(claim("other", OPPOSITE), statement=" ".join(["word"] * 60))
    mine = report(tmp_path, [long], [preference("solo", 0.68)], probe=DECLARED)
    text = sentence(mine)
    assert len(text.split()) <= words.MOST_WORDS
    assert text.endswith(" word …”, solo −20.0 points [−30.0, −10.0].")


def test_headline_says_whose_seeds_or_kinds_disagree(tmp_path):
    claims = [claim("costs", Verdict.FLIPS)]
    mine = report(tmp_path, claims, [preference("solo", 0.68)], probe=DECLARED)
    assert sentence(mine).endswith("Both directions in solo (costs is so).")
    alone = report(
        tmp_path / "alone",
        [made_runs.replace(claim("costs", Verdict.MIXED), above="age", below="race")],
        probe=DECLARED,
    )
    assert sentence(alone) == "Both directions in solo, positive in age, negative in race (costs is so)."


# ---------------------------------------------------------------- what is not decided


def test_headline_names_what_could_not_be_judged(tmp_path):
    rows = [preference("one", 0.68), preference("two", 0.5, Verdict.TOO_FEW_GROUPS)]
    mine = report(tmp_path, estimates=rows, models=("one", "two"), probe=DECLARED)
    assert sentence(mine).endswith(" Not judged: pairs on two (too few groups).")


def test_headline_of_an_undecided_run_has_the_nearest_number(tmp_path):
    rows = [preference("solo", 0.55, Verdict.UNDECIDED)]
    assert sentence(report(tmp_path, estimates=rows, probe=DECLARED)) == (
        "Nothing is decided. Closest: solo prefers the stereotype in 55 % of pairs [45, 65]; the interval includes "
        "50 %."
    )


@pytest.mark.parametrize(
    ("verdicts", "state", "begins"),
    [
        ([Verdict.UNDECIDED], State.UNDECIDED, "Nothing is decided. Closest: c0 is so, solo"),
        (
            [Verdict.FAILS_GATE, Verdict.NO_INTERVAL, Verdict.FAILS_GATE],
            State.UNJUDGED,
            "No primary number could be judged (fails the gate: the model cannot do",
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
    mine = report(tmp_path, [claim("a", Verdict.AS_PUBLISHED)], probe=declared)
    assert Answer.of(mine).state is State.EXPLORATORY
    assert sentence(mine) == "Nothing is decided: no number of this run is primary, so all are exploratory."


def test_a_run_that_scored_nothing_says_so(tmp_path):
    none = pd.DataFrame([made_runs.observation("i0", None, category="age")])
    mine = report(tmp_path, [claim("a", Verdict.NOTHING_SCORED)], observed=none)
    assert sentence(mine) == ("Nothing could be judged: the one answer could not be scored (1 of several tokens).")
    assert "no model could be scored on any item" in words.how_far(mine)


def test_an_interrupted_run_says_so(tmp_path):
    mine = Report.of(load_run(made_runs.write(tmp_path / "run", [], complete=False)))
    assert sentence(mine).startswith("This run was interrupted.")


# ---------------------------------------------------------------- everywhere the same; a limited run; how far


def test_the_sentence_is_the_same_on_the_page_in_markdown_and_in_json(tmp_path):
    mine = report(tmp_path, [claim("a", Verdict.AS_PUBLISHED), claim("b", OPPOSITE)])
    text = sentence(mine)
    assert f'<p id="sentence">{text}</p>' in page.html(mine.source.run)
    assert f"**{markdown.escaped(text)}**" in markdown.render(mine)
    answer = json.loads(json_report.render(mine))["answer"]
    assert (answer["text"], answer["state"], answer["limited"]) == (text, "decided", "")


def test_a_limited_run_says_that_its_totals_are_not_those_of_the_dataset(tmp_path):
    mine = report(tmp_path, [claim("a", Verdict.AS_PUBLISHED)], probe=made_runs.declaration(n_whole=2680))
    limited = "Limited: 4 of 2,680 items, spread evenly over conditions; totals are not those of the whole dataset."
    assert words.limited(mine) == limited
    assert f'<p id="limited">{limited}</p>' in page.html(mine.source.run)
    assert limited in markdown.render(mine)
    whole = report(tmp_path / "whole", [claim("a", Verdict.AS_PUBLISHED)], probe=made_runs.declaration(n_whole=4))
    assert words.limited(whole) == ""


def test_how_far_names_items_seeds_and_what_is_missing(tmp_path):
    cards = [*made_runs.family("toy", 3), made_runs.card("solo")]
    claims = [made_runs.claim("solo", "a", 0.1, Verdict.FAILS_GATE)]
    mine = Report.of(load_run(made_runs.write(tmp_path / "run", cards, [], claims)))
    assert words.how_far(mine) == (
        "4 questions to each checkpoint; 3 seeds of toy; one seed of solo; other seeds may differ; all 16 answers "
        "scored; 1 number could not be judged."
    )
