"""A gate: decided by whole intervals, for the numbers that a rule names, against a baseline where there is one."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import made_runs
from made_runs import card, claim, estimate, family, observation
from trueprobe import gate as gates
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.gate import (
    Amount,
    Decision,
    Obstacle,
    Operator,
    Pairing,
    Undecided,
    apart,
    decide,
    gate,
    number_text,
    parse,
)
from trueprobe.runs import load_run
from trueprobe.types import Verdict

PASSES, FAILS, UNDECIDED, CANNOT = Decision
FINITE = st.floats(-10, 10)


def run(folder, estimates, claims=(), cards=None, name="run", **more):
    cards = [card("solo")] if cards is None else cards
    return load_run(made_runs.write(folder / name, cards, estimates, claims, **more))


def checks(loaded, *rules, **more):
    return gate(loaded, [parse(rule) for rule in rules], **more).checks


def decisions(loaded, *rules, **more):
    return [check.decision for check in checks(loaded, *rules, **more)]


# ---------------------------------------------------------------- one number


@pytest.mark.parametrize(
    ("operator", "bound", "decision"),
    [
        ("<", 0.9, PASSES),
        ("<", 0.81, PASSES),
        ("<", 0.7, UNDECIDED),
        ("<", 0.59, FAILS),
        (">", 0.59, PASSES),
        (">", 0.7, UNDECIDED),
        (">", 0.81, FAILS),
    ],
)
def test_the_whole_interval_decides(tmp_path, operator, bound, decision):
    loaded = run(tmp_path, [estimate("solo", "preference", 0.7)])  # [0.6, 0.8]
    assert decisions(loaded, f"pairs: preference {operator} {bound}") == [decision]


@pytest.mark.parametrize(("operator", "decision"), [("<", FAILS), ("<=", PASSES), (">", FAILS), (">=", PASSES)])
def test_an_interval_that_is_the_bound_itself(operator, decision):
    assert decide(Operator(operator), 0.5, 0.5, 0.5) is decision


@given(st.sampled_from(Operator), FINITE, FINITE, FINITE)
def test_turning_all_signs_and_the_operator_changes_nothing(operator, bound, one, other):
    low, high = sorted((one, other))
    turned = Operator(operator.value.translate(str.maketrans("<>", "><")))
    assert decide(operator, bound, low, high) is decide(turned, -bound, -high, -low)


@given(st.sampled_from(Operator), FINITE, FINITE, FINITE)
def test_what_passes_fails_the_opposite_rule(operator, bound, one, other):
    low, high = sorted((one, other))
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
    turned = {PASSES: FAILS, FAILS: PASSES, UNDECIDED: UNDECIDED}
    assert decide(Operator(opposite), bound, low, high) is turned[decide(operator, bound, low, high)]


@pytest.mark.parametrize(
    "verdict", [Verdict.FAILS_GATE, Verdict.LOW_COVERAGE, Verdict.NOTHING_SCORED, Verdict.TOO_FEW_GROUPS]
)
def test_a_number_without_a_verdict_cannot_be_decided(tmp_path, verdict):
    loaded = run(tmp_path, [estimate("solo", "preference", 0.7, verdict=verdict)])
    (check,) = checks(loaded, "pairs: preference < 0.9")
    assert (check.decision, check.amount.obstacle, check.amount.verdict) == (CANNOT, Obstacle.NO_VERDICT, verdict)


@pytest.mark.parametrize(
    ("policy", "undecided", "cannot"),
    [(Undecided.FAIL, False, False), (Undecided.PASS, True, False), (Undecided.IGNORE, True, True)],
)
def test_what_undecided_does_is_the_users_choice(tmp_path, policy, undecided, cannot):
    rows = [estimate("solo", "preference", 0.7), estimate("solo", "ties", 0.1, verdict=Verdict.LOW_COVERAGE)]
    loaded = run(tmp_path, rows)
    assert gate(loaded, [parse("pairs: preference < 0.75")], policy).passes is undecided
    assert gate(loaded, [parse("pairs: ties < 0.75")], policy).passes is cannot
    assert not gate(loaded, [parse("pairs: preference < 0.5")], policy).passes


@pytest.mark.parametrize(
    ("number", "rule", "message"),
    [
        ({}, "< 90", r"a share is between 0 and 1: did you mean 0\.9\?"),
        ({}, "> 55.5", r"a share is between 0 and 1: did you mean 0\.555\?"),
        ({}, "> -0.5", "a share is between 0 and 1$"),
        ({}, "< 900", "a share is between 0 and 1$"),
        ({"unit": "probability", "neutral": 0.0}, "> -5", r"a probability is between -1 and 1: did you mean -0\.05\?"),
        ({}, "< baseline + 5", r"difference from a baseline is between -1 and 1: did you mean baseline \+ 0\.05\?"),
    ],
)
def test_a_bound_that_no_share_can_cross_is_refused(tmp_path, number, rule, message):
    loaded = run(tmp_path, [estimate("solo", "preference", 0.7, **number)])
    with pytest.raises(BadInput, match=message):
        checks(loaded, f"pairs: preference {rule}", baseline=loaded)


def test_bounds_that_a_number_can_cross_are_held(tmp_path):
    rows = [estimate("solo", "margin", 0.7, neutral=0.0), estimate("solo", "score", 7.0, unit="nats")]
    loaded = run(tmp_path, rows, [claim("solo", "one", 0.2, Verdict.AS_PUBLISHED)])
    rules = ("pairs: margin > -0.5", "pairs: score < 90", "pairs: one > -1")
    assert decisions(loaded, *rules) == [PASSES, PASSES, PASSES]
    with pytest.raises(BadInput, match="between -1 and 1"):
        checks(loaded, "pairs: one < 20")


# ---------------------------------------------------------------- which number


def test_every_family_is_held_to_a_rule_that_names_none(tmp_path):
    cards = [*family("toy", 3), card("solo")]
    rows = [estimate(f"toy-seed{i}", "preference", 0.9) for i in range(3)]
    rows += [estimate("toy", "preference", 0.7, level="family"), estimate("solo", "preference", 0.2)]
    loaded = run(tmp_path, rows, cards=cards)
    assert [(c.model, c.decision) for c in checks(loaded, "pairs: preference < 0.85")] == [
        ("toy", PASSES),  # its own number, not those of its seeds
        ("solo", PASSES),
    ]
    assert decisions(loaded, "pairs: preference@toy-seed1 < 0.7") == [FAILS]
    assert decisions(loaded, "pairs: preference@solo < 0.85") == [PASSES]


def test_a_family_is_at_its_last_step_unless_a_rule_names_another(tmp_path):
    cards = [card(f"toy-step{step}", "toy", step=step) for step in (100, 200)]
    rows = [estimate("toy-step100", "preference", 0.2), estimate("toy-step200", "preference", 0.9)]
    loaded = run(tmp_path, rows, cards=cards)
    assert decisions(loaded, "pairs: preference < 0.5") == [FAILS]
    assert decisions(loaded, "pairs: preference@toy[step=100] < 0.5") == [PASSES]
    with pytest.raises(BadInput, match="no step of toy '300'"):
        checks(loaded, "pairs: preference@toy[step=300] < 0.5")


def test_a_condition_that_is_not_named_is_the_summarys_else_pooled(tmp_path):
    probe = made_runs.declaration(summary=replace(made_runs.SUMMARY, where={"k": "10"}))
    values = {("all", "10"): 0.1, ("all", "5"): 0.9, ("age", "10"): 0.5, ("age", "5"): 0.8}
    rows = [estimate("solo", "preference", value, category=c, k=k) for (c, k), value in values.items()]
    loaded = run(tmp_path, rows, probe=probe)

    def amounts(rule):
        return [check.amount.value for check in checks(loaded, rule)]

    assert amounts("pairs: preference < 1") == [0.1]
    assert amounts("pairs: preference[category=age] < 1") == [0.5]
    assert amounts("pairs: preference[category=age, k=5] < 1") == [0.8]
    assert amounts("pairs: preference[category=*] < 1") == amounts("pairs: preference[category=all|age] < 1")
    assert amounts("pairs: preference[category=*] < 1") == [0.1, 0.5]


def test_a_rule_that_means_several_numbers_is_refused(tmp_path):
    rows = [estimate("solo", "preference", 0.5, category=name) for name in ("age", "race")]
    with pytest.raises(BadInput, match=r"several numbers: category is age, race; name one as \[category=age\]"):
        checks(run(tmp_path, rows), "pairs: preference < 1")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("pair: preference < 1", "no probe 'pair'; did you mean 'pairs'"),
        ("pairs: preferenc < 1", "no measure or claim 'preferenc'; did you mean 'preference'"),
        ("pairs: preference[categor=age] < 1", "no condition 'categor'; did you mean 'category'"),
        ("pairs: preference[category=ag] < 1", "no value of category 'ag'; did you mean 'age'"),
        ("pairs: preference[category=age]@sol < 1", "no model 'sol'; did you mean 'solo'"),
        ("pairs: preference[category=age, k=5] < 1", "has no number at these conditions"),
        ("pairs: preference[category=age] < baseline", "needs a baseline: --against"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(tmp_path, rule, message):
    rows = [estimate("solo", "preference", 0.5, category="age", k="10")]
    rows += [estimate("solo", "preference", 0.5, category="race", k="5")]
    with pytest.raises(BadInput, match=message):
        checks(run(tmp_path, rows), rule)


def test_a_claim_is_a_number_too_and_a_pair_of_models_has_its_own(tmp_path):
    claims = [claim("solo", "one", 0.3, Verdict.AS_PUBLISHED)]
    claims += [claim("solo against other", "two", 0.3, Verdict.AS_PUBLISHED, level="pair")]
    loaded = run(tmp_path, [], claims, [card("solo"), card("other")])
    assert [(c.model, c.decision) for c in checks(loaded, "pairs: one > 0.1")] == [("solo", PASSES), ("other", CANNOT)]
    assert checks(loaded, "pairs: one > 0.1")[1].amount.obstacle is Obstacle.NOT_COUNTED
    assert [(c.model, c.decision) for c in checks(loaded, "pairs: two > 0.1")] == [("solo against other", PASSES)]


def test_an_interrupted_run_and_a_gate_without_rules_are_refused(tmp_path):
    rows = [estimate("solo", "preference", 0.5)]
    with pytest.raises(BadInput, match="is not finished"):
        checks(run(tmp_path, rows, complete=False), "pairs: preference < 1")
    with pytest.raises(BadInput, match="a gate needs a rule"):
        checks(run(tmp_path, rows, name="whole"))


# ---------------------------------------------------------------- against a baseline


def test_the_difference_of_two_intervals():
    """Zou & Donner: 0.5 [0.4, 0.7] less 0.2 [0.1, 0.25] is 0.3, down by √(0.1² + 0.05²), up by √(0.2² + 0.1²)."""
    made = apart(Amount(0.5, 0.4, 0.7), Amount(0.2, 0.1, 0.25))
    assert made.value == pytest.approx(0.3)
    assert made.low == pytest.approx(0.3 - math.sqrt(0.0125))
    assert made.high == pytest.approx(0.3 + math.sqrt(0.05))


def test_of_two_normal_intervals_it_is_the_normal_one():
    made = apart(Amount(0.5, 0.5 - 1.96 * 0.3, 0.5 + 1.96 * 0.3), Amount(0.2, 0.2 - 1.96 * 0.4, 0.2 + 1.96 * 0.4))
    assert (made.low, made.high) == pytest.approx((0.3 - 1.96 * 0.5, 0.3 + 1.96 * 0.5))


@given(*[st.floats(0, 5)] * 4, FINITE, FINITE)
def test_turning_the_sides_turns_the_interval(a, b, c, d, one, other):
    first, second = Amount(one, one - a, one + b), Amount(other, other - c, other + d)
    forth, back = apart(first, second), apart(second, first)
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_run_is_never_worse_than_itself(tmp_path, seeds):
    cards = family("toy", seeds)
    level = {"level": "family"} if seeds > 1 else {}
    rows = [estimate(one.name, "preference", 0.4 + 0.1 * i) for i, one in enumerate(cards)]
    rows += [estimate("toy", "preference", 0.5, **level)] if level else []
    claims = [claim("toy" if level else "toy-seed0", "one", 0.3, Verdict.AS_PUBLISHED, **level)]
    loaded = run(tmp_path, rows, claims, cards)
    for operator in ("< 0.99", "> 0.01"):
        made = gate(loaded, [parse(f"pairs: {name} {operator}") for name in ("preference", "one")], baseline=loaded)
        assert made.passes
        assert [check.amount.pairing for check in made.checks[2:]] == [Pairing.SAME_WEIGHTS] * 2


def observed_run(folder, name, values, model="solo"):
    """The item's difficulty is most of each value, so that only pairing sees a small change."""
    items = [f"i{n}" for n in range(len(values))]
    frame = pd.DataFrame([observation(item, float(value)) for item, value in zip(items, values, strict=True)])
    known = pd.DataFrame({"item": items, "text": items, "group_item": items})
    centre, reach = float(np.mean(values)), float(2 * np.std(values) / math.sqrt(len(values)))
    row = estimate(model, "preference", centre, low=centre - reach, high=centre + reach, unit="nats", neutral=0.0)
    cards = [replace(card(model), compute_id=name)]
    return run(folder, [row], cards=cards, name=name, observed=frame, items=known)


def planted(folder, change):
    rng = np.random.default_rng(0)
    before = 5 * rng.standard_normal(60)
    after = before + change + 0.05 * rng.standard_normal(60)
    return observed_run(folder, "after", after), observed_run(folder, "before", before)


@pytest.mark.parametrize(("change", "decision"), [(0.3, FAILS), (-0.3, PASSES), (0.0, UNDECIDED)])
def test_a_planted_change_is_seen_item_by_item(tmp_path, probe_again, change, decision):
    after, before = planted(tmp_path, change)
    (check,) = checks(after, "pairs: preference <= baseline", baseline=before)
    assert (check.decision, check.amount.pairing) == (decision, Pairing.BY_ITEM)
    assert check.amount.value == pytest.approx(change, abs=0.03)
    assert check.amount.high - check.amount.low < 0.05
    assert decisions(after, "pairs: preference <= baseline + 0.5", baseline=before) == [PASSES]
    assert decisions(after, "pairs: preference >= baseline - 0.5", baseline=before) == [PASSES]


def test_the_numbers_of_all_rules_may_not_have_got_worse(tmp_path, probe_again):
    after, before = planted(tmp_path, 0.3)
    rules = ("pairs: preference < 9", "pairs: preference < 8")
    assert [c.rule.text() for c in checks(after, *rules, baseline=before)][2:] == ["pairs: preference <= baseline"]
    assert decisions(after, *rules, baseline=before) == [PASSES, PASSES, FAILS]
    assert decisions(after, "pairs: preference > -9", baseline=before) == [PASSES, PASSES]
    tolerant = ("pairs: preference < 9", "pairs: preference <= baseline + 1")  # the number's rule of its own
    assert decisions(after, *tolerant, baseline=before) == [PASSES, PASSES]


def test_other_items_are_compared_by_their_intervals_where_that_is_allowed(tmp_path, probe_again):
    after = observed_run(tmp_path, "after", np.linspace(2, 4, 40))
    before = observed_run(tmp_path, "before", np.linspace(-1, 1, 30))
    manifest = before.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"material_id": "made"', '"material_id": "other"'))
    rules, other = [parse("pairs: preference <= baseline")], load_run(before.folder)
    with pytest.raises(BadInput, match=r"different signatures \(settings or material"):
        gate(after, rules, baseline=other)
    (check,) = gate(after, rules, baseline=other, allow_unequal=True).checks
    assert (check.decision, check.amount.pairing) == (FAILS, Pairing.INTERVALS)
    assert check.amount.value == pytest.approx(3.0)


def signed(folder, name, signature):
    return run(folder, [estimate("solo", "preference", 0.7, signature=signature)], name=name)


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("probe:pairs|k:10|version:2", "probe:pairs|k:10|version:1", "version 2 and 1"),
        ("probe:pairs|k:10|limit:400", "probe:pairs|k:10", "limit 400 and not set"),
        ("probe:pairs|start:[CLS]", "probe:pairs|start:none", "start [CLS] and none"),
    ],
)
def test_numbers_that_were_made_otherwise_are_not_held_against_each_other(tmp_path, one, other, difference):
    after, before = signed(tmp_path, "after", one), signed(tmp_path, "before", other)
    rules = [parse("pairs: preference <= baseline")]
    with pytest.raises(BadInput, match=f"{re.escape(difference)}.*--allow-unequal"):
        gate(after, rules, baseline=before)
    (check,) = gate(after, rules, baseline=before, allow_unequal=True).checks
    assert number_text(check.amount).endswith(f"made otherwise: {difference}")
    assert gate(after, rules, baseline=signed(tmp_path, "again", one)).passes


def test_two_single_models_are_compared_whatever_their_names(tmp_path, probe_again):
    after = observed_run(tmp_path, "after", np.arange(40), "new")
    before = observed_run(tmp_path, "before", np.arange(40) + 1.0, "old")
    (check,) = checks(after, "pairs: preference <= baseline", baseline=before)
    assert (check.model, check.decision) == ("new", PASSES)
    rows = [estimate(name, "preference", 0.5) for name in ("old", "older")]
    more = run(tmp_path, rows, cards=[card("old"), card("older")], name="more")
    with pytest.raises(BadInput, match="has no model 'new'; choose from: old, older"):
        checks(after, "pairs: preference <= baseline", baseline=more)


def test_a_baseline_without_a_verdict_cannot_decide(tmp_path):
    after = run(tmp_path, [estimate("solo", "preference", 0.7)])
    rows = [estimate("solo", "preference", 0.7, verdict=Verdict.LOW_COVERAGE)]
    (check,) = checks(after, "pairs: preference <= baseline", baseline=run(tmp_path, rows, name="before"))
    assert (check.decision, check.amount.obstacle) == (CANNOT, Obstacle.NO_VERDICT_IN_BASELINE)


# ---------------------------------------------------------------- the command


def command(*arguments):
    return CliRunner().invoke(app, ["gate", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    return run(tmp_path, [estimate("solo", "preference", 0.7)]).folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--rule", "pairs: preference < 0.9"], 0),
        (["--rule", "pairs: preference < 0.5"], 1),
        (["--rule", "pairs: preference < 0.75"], 1),
        (["--rule", "pairs: preference < 0.75", "--undecided", "pass"], 0),
        (["--rule", "pairs: preference < 0.9", "--rule", "pairs: preference > 0.9"], 1),
    ],
)
def test_the_exit_code_is_the_decision(folder, arguments, code):
    assert command(folder, *arguments).exit_code == code


@pytest.mark.parametrize("rule", ["pairs: preferenc < 0.9", "pairs preference", "pairs: preference < baseline"])
def test_an_error_is_neither_a_pass_nor_a_failure(folder, rule):
    with pytest.raises(BadInput):  # which the program turns into exit code 2
        CliRunner().invoke(app, ["gate", str(folder), "--rule", rule], catch_exceptions=False)
    assert command(folder, "--undecided", "perhaps").exit_code == 2


def test_a_summary_that_cannot_be_written_is_an_error(folder, tmp_path):
    (tmp_path / "file").write_text("")
    arguments = [
        "gate",
        str(folder),
        "--rule",
        "pairs: preference < 0.9",
        "--markdown",
        str(tmp_path / "file" / "s.md"),
    ]
    with pytest.raises(BadInput, match="cannot write"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_file_of_rules_and_what_it_makes_of_undecided(folder, tmp_path):
    rules = tmp_path / "rules.toml"
    entry = '[[rule]]\nprobe = "pairs"\nmeasure = "preference"\noperator = "<"\nvalue = 0.75\n'
    rules.write_text(f'undecided = "pass"\n{entry}')
    assert command(folder, "--rules", rules).exit_code == 0
    assert command(folder, "--rules", rules, "--undecided", "fail").exit_code == 1
    assert command(folder, "--rules", rules, "--rule", "pairs: preference < 0.5").exit_code == 1


def test_json_and_markdown_have_every_check(folder, tmp_path):
    summary = tmp_path / "summary.md"
    rules = ["--rule", "pairs: preference < 0.75", "--rule", "pairs: preference < 0.9"]
    output = json.loads(command(folder, *rules, "--json", "--markdown", summary).output)
    assert (output["passes"], output["counts"]["undecided"], output["counts"]["passes"]) == (False, 1, 1)
    first = output["checks"][0]
    assert (first["decision"], first["model"], first["bound"], first["value"]) == ("undecided", "solo", 0.75, 0.7)
    text = summary.read_text().replace("\\", "")
    assert text.startswith(f"## Gate fails: {folder}\n")
    assert "| undecided | solo | pairs: preference < 0.75 | 0.7 [0.6, 0.8] |" in text
    assert "- undecided: the bound is inside the interval" in text


def test_what_does_not_pass_stands_first(folder):
    made = gate(load_run(folder), [parse("pairs: preference < 0.9"), parse("pairs: preference < 0.5")])
    table = gates.as_markdown(made)
    assert table.index("| fails |") < table.index("| passes |")
