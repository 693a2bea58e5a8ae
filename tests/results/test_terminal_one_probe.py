"""What a run of one probe prints: a table per family, what its seeds agree on, no number with nothing behind it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console

import made_runs
from trueprobe.probes import Summary
from trueprobe.results.render.terminal import show
from trueprobe.runs import load_run
from trueprobe.types import Verdict

SUMMARY = Summary(
    "knowledge",
    "prompt",
    ("female", "margin", "covered"),
    {"k": "10"},
    ("female", "towards", "covered"),
    where_title="top 10",
    fallback={"k": "all"},
    fallback_title="all listed words: the top 10 holds too few",
)
PROBE = made_runs.declaration(name="p", question="Does it?", summary=SUMMARY)


def row(model: str, measure: str, value: float, k: str = "10", verdict=Verdict.UNDECIDED, **more):
    unit = {"covered": "share"}.get(measure, "probability")
    neutral = 0.0 if measure == "margin" else None
    known = {"knowledge": "base", "k": k, "unit": unit, "neutral": neutral, "verdict": verdict}
    return made_runs.estimate(model, measure, value, **{**known, **more})


def claim(name: str, model: str, verdict: Verdict, level: str = "checkpoint"):
    return made_runs.claim(model, name, 0.1, verdict, level=level, k="10")


def printed(tmp_path, rows, cards, claims=(), tied: bool = False, width: int = 80, probe=PROBE) -> str:
    observed = pd.DataFrame([made_runs.observation("i0", 1.0, tied=float(tied))])
    folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
    made_runs.write(folder, cards, rows, claims, probe, observed)
    console = Console(width=width, record=True, highlight=False)
    show(load_run(folder), console)
    return console.export_text()


def seeds(name: str, many: int, **labels: int):
    return [made_runs.card(f"{name}-seed{i}", name, model_seed=i, **labels) for i in range(many)]


def line(text: str, start: str) -> list[str]:
    return next(text for text in text.splitlines() if text.startswith(start)).split()


SEEDS = {"a-seed0": 0.02, "a-seed1": 0.06, "a-seed2": 0.10}


@pytest.mark.parametrize(("verdict", "mark"), [(Verdict.HOLDS, "*"), (Verdict.FLIPS, "~"), (Verdict.UNDECIDED, "")])
def test_a_family_has_one_table_of_its_own_rows(verdict, mark, tmp_path):
    rows = [row(model, "margin", value) for model, value in SEEDS.items()]
    rows.append(row("a", "margin", 0.06, verdict=verdict, level="family"))
    text = printed(tmp_path, rows, seeds("a", 3))
    assert "a, 3 seeds, top 10" in text
    assert line(text, "base") == ["base", "+6.0", "[−4.0,", f"+16.0]{mark}"]
    keys = {"*": "* holds;", "~": "~ flips: seeds disagree;", "": "no mark: undecided"}
    assert [key for key in keys.values() if key in text] == list(dict.fromkeys([keys[mark], keys[""]]))


def test_of_a_family_with_training_steps_the_last_is_shown(tmp_path):
    cards = [
        made_runs.card(f"a-seed{seed}-step{step}", "a", model_seed=seed, step=step)
        for step in (100, 2000)
        for seed in range(3)
    ]
    rows = [row(card.name, "margin", 0.01) for card in cards]
    rows += [row("a", "margin", 0.1 * step / 100, level="family", step=step) for step in (100, 2000)]
    text = printed(tmp_path, rows, cards)
    assert "a, step 2,000 (the last of 2), 3 seeds, top 10" in text
    assert line(text, "base")[1] == "+200.0"


def test_steps_without_seeds_are_one_checkpoint_each(tmp_path):
    cards = [made_runs.card(f"a-step{step}", "a", step=step) for step in (500, 2000)]
    rows = [row(card.name, "margin", 0.1 * card.labels["step"] / 1000) for card in cards]
    text = printed(tmp_path, rows, cards)
    assert "a, step 2,000 (the last of 2), top 10" in text
    assert line(text, "base")[1] == "+20.0"


def test_rows_have_their_meaning_beside_their_code_as_far_as_there_is_room(tmp_path):
    meant = made_runs.declaration(summary=replace(SUMMARY, meanings={"base": "asked alone"}))
    rows = [row("m", "margin", 0.3), row("m", "female", 0.3), row("m", "covered", 0.5)]
    wide, narrow = (printed(tmp_path, rows, [made_runs.card("m")], width=w, probe=meant) for w in (80, 33))
    assert line(wide, "base")[:3] == ["base", "asked", "alone"]
    assert line(narrow, "base")[1] != "asked"


def test_a_model_that_answers_with_ties_is_named_and_has_no_number(tmp_path):
    rows = [
        row("m", "margin", 0.3, verdict=Verdict.LOW_COVERAGE),
        row("m", "covered", 1.0, verdict=Verdict.DESCRIPTIVE, low=1.0, high=1.0),
    ]
    probe = made_runs.declaration(summary=replace(SUMMARY, fallback={}))
    text = printed(tmp_path, rows, [made_runs.card("m")], tied=True, probe=probe)
    assert "mostly ties, so that most numbers would show nothing: m" in text
    assert line(text, "base")[:3] == ["base", "100", "%"]
    assert "30.0" not in text


def test_one_checkpoint_has_its_own_interval_and_what_it_leaves_open_is_named(tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3, verdict=Verdict.HOLDS_FOR_CHECKPOINT)], [made_runs.card("m")])
    assert line(text, "base") == ["base", "+30.0", "[+20.0,", "+40.0]*"]
    assert "one seed: * applies only to this checkpoint; other seeds may differ" in " ".join(text.split())


def test_two_seeds_decide_nothing(tmp_path):
    text = printed(tmp_path, [row("a", "margin", 0.06, level="family")], seeds("a", 2))
    assert "two seeds are too few for a verdict" in text


def test_where_the_top_ten_holds_too_few_listed_words_all_listed_words_are_shown_with_enough_digits(tmp_path):
    rows = [
        row("m", "margin", 0.0, verdict=Verdict.NO_VARIATION),
        row("m", "covered", 0.0, verdict=Verdict.NOTHING_SCORED),
        row("m", "margin", 0.0006, k="all"),
        row("m", "female", 0.0033, k="all"),
    ]
    text = printed(tmp_path, rows, [made_runs.card("m")])
    assert "m, all listed words: the top 10 holds too few" in " ".join(text.split())
    cells = line(text, "base")
    assert cells[1] == "0.33"
    assert "+0.06" in cells
    assert "covered" not in line(text, "prompt")


def test_where_room_is_short_intervals_of_shares_and_of_numbers_without_neutral_value_go_first(tmp_path):
    rows = [row("m", "female", 0.3), row("m", "margin", 0.3), row("m", "covered", 0.9)]
    wide = line(printed(tmp_path, rows, [made_runs.card("m")]), "base")
    assert wide == ["base", "30.0", "[20.0,", "40.0]", "+30.0", "[+20.0,", "+40.0]", "90", "%", "[80,", "100]"]
    narrow = line(printed(tmp_path, rows, [made_runs.card("m")], width=50), "base")
    assert narrow == ["base", "30.0", "+30.0", "[+20.0,", "+40.0]", "90", "%"]


def test_claims_of_families_and_of_single_checkpoints_are_listed(tmp_path):
    cards = [*seeds("a", 2), made_runs.card("b")]
    rows = [row(card.name, "margin", 0.3) for card in cards] + [row("a", "margin", 0.3, level="family")]
    claims = [
        claim("lowers", "a-seed0", Verdict.OPPOSITE),
        claim("lowers", "a-seed1", Verdict.UNDECIDED),
        claim("lowers", "a", Verdict.UNDECIDED, "family"),
        claim("lowers", "b", Verdict.AS_PUBLISHED),
    ]
    text = printed(tmp_path, rows, cards, claims)
    assert "as published: lowers (b)" in text
    assert "undecided: lowers (a)" in text
    assert "opposite" not in text


def test_claims_about_two_models_are_listed(tmp_path):
    rows = [row("a", "margin", 0.3), row("b", "margin", 0.2)]
    claims = [
        claim("lowers", "b", Verdict.AS_PUBLISHED),
        claim("larger", "a against b", Verdict.AS_PUBLISHED, "pair"),
    ]
    text = printed(tmp_path, rows, [made_runs.card("a"), made_runs.card("b")], claims)
    assert "as published: lowers (b); larger (a against b)" in text


@pytest.mark.parametrize(("nats", "said"), [(3e-4, True), (1e-5, False), (0.0, False)])
def test_a_server_that_answers_one_question_in_two_ways_is_named(nats, said, tmp_path):
    served = replace(made_runs.card("m", kind="causal"), noise_nats=nats)
    text = printed(tmp_path, [row("m", "margin", 0.3)], [served])
    assert ("two answers to one prompt (m: 0.0003 nats)" in text) is said


@pytest.mark.parametrize("self_trained", [True, False])
def test_self_trained_models_are_called_so(self_trained, tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3)], [made_runs.card("m", self_trained=self_trained)])
    assert ("self-trained, to show the method; does not represent BERT or GPT-2: m" in text) is self_trained


def test_with_too_few_groups_for_an_interval_the_value_stands_alone(tmp_path):
    few = row("m", "female", 0.3, verdict=Verdict.TOO_FEW_GROUPS)
    text = printed(tmp_path, [few, row("m", "margin", 0.1)], [made_runs.card("m")])
    assert "30.0" in text
    assert "30.0 [" not in text
    gone = row("m", "female", 0.3, verdict=Verdict.NOTHING_SCORED)
    assert "30.0" not in printed(tmp_path, [gone, row("m", "margin", 0.1)], [made_runs.card("m")])


def test_a_model_that_fails_the_gate_has_no_table_and_is_named_with_its_number(tmp_path):
    summary = replace(SUMMARY, where={}, fallback={}, where_title="", gate={"measure": "covered", "k": "10"})
    rows = [
        row("m", "margin", 0.3, verdict=Verdict.FAILS_GATE),
        row("m", "covered", 0.123, verdict=Verdict.DESCRIPTIVE),
        row("n", "margin", 0.1),
    ]
    cards = [made_runs.card("m"), made_runs.card("n")]
    text = printed(tmp_path, rows, cards, probe=made_runs.declaration(summary=summary))
    assert "failing the gate (covered), so that a table would show nothing: m (12.3 % [" in " ".join(text.split())
    assert line(text, "base") == ["base", "+10.0", "[0.0,", "+20.0]"]
    assert "+30.0" not in text


def test_a_dash_has_its_reason_in_the_legend(tmp_path):
    rows = [row("a", "covered", 0.5), row("a", "margin", 0.0, verdict=Verdict.NO_VARIATION)]
    rows += [row("a", "margin", 0.02, knowledge=f"t{n}") for n in range(3)]
    text = " ".join(printed(tmp_path, rows, [made_runs.card("a")]).split())
    assert "–: no variation: every resample gives exactly the neutral value" in text
