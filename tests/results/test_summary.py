"""What a run prints: one table per setup, what its trainings agree on, and no number with nothing behind it."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from trueprobe.results import terminal as summary

PROBE = {
    "question": "Does it?",
    "facts": {},
    "summary": {
        "rows": "knowledge",
        "row_title": "prompt",
        "measures": ["female", "margin", "covered"],
        "titles": ["female", "towards", "covered"],
        "where": {"k": "10"},
        "meanings": {},
    },
}


def row(model: str, measure: str, value: float, k: str = "10", verdict: str = "undecided", **more) -> dict:
    told = {"probe": "p", "model": model, "measure": measure, "knowledge": "base", "k": k, "value": value}
    told |= {"level": "checkpoint", "step": None}
    unit = {"covered": "share"}.get(measure, "probability")
    neutral = 0.0 if measure == "margin" else float("nan")
    return {
        **told,
        "low": value - 0.1,
        "high": value + 0.1,
        "unit": unit,
        "neutral": neutral,
        "verdict": verdict,
        "reason": "",
        **more,
    }


def printed(tmp_path, rows: list[dict], cards: list[dict], claims: list[dict] | None = None, tied: bool = False) -> str:
    seen = pd.DataFrame({"model": [card["name"] for card in cards], "why_not": "", "tied": float(tied)})
    run = SimpleNamespace(
        folder=tmp_path,
        told={"p": PROBE},
        manifest={"cards": cards},
        estimates=pd.DataFrame(rows),
        claims=pd.DataFrame(claims or []),
        observations=lambda label: seen,
    )
    out = io.StringIO()
    summary.show(run, Console(file=out, width=80, highlight=False))
    return out.getvalue()


def card(name: str, family: str = "", self_trained: bool = False, **labels) -> dict:
    return {"name": name, "family": family or name, "self_trained": self_trained, "labels": labels}


def line(text: str, start: str) -> list[str]:
    return next(text for text in text.splitlines() if text.startswith(start)).split()


SEEDS = {"a-seed0": 0.02, "a-seed1": 0.06, "a-seed2": 0.10}


@pytest.mark.parametrize(("verdict", "mark"), [("holds", "*"), ("flips", "~"), ("undecided", "")])
def test_a_family_has_one_table_of_its_own_rows(verdict, mark, tmp_path):
    rows = [row(model, "margin", value) for model, value in SEEDS.items()]
    rows.append(row("a", "margin", 0.06, verdict=verdict, level="family"))
    text = printed(tmp_path, rows, [card(model, "a") for model in SEEDS])
    assert "a, 3 seeds, top 10" in text
    assert line(text, "base") == ["base", "+6.0", "[−4.0,", f"+16.0]{mark}"]
    assert "* holds (over seeds and items, and the seeds agree)" in " ".join(text.split())


def test_of_a_family_with_training_steps_the_last_is_shown(tmp_path):
    cards = [card(f"a-seed{seed}-step{step}", "a", step=step) for step in (100, 2000) for seed in range(3)]
    rows = [row(c["name"], "margin", 0.01) for c in cards]
    rows += [row("a", "margin", 0.1 * step / 100, level="family", step=step) for step in (100, 2000)]
    text = printed(tmp_path, rows, cards)
    assert "a, step 2,000 (the last of 2), 3 seeds, top 10" in text
    assert line(text, "base")[1] == "+200.0"


def test_steps_without_seeds_are_one_checkpoint_each(tmp_path):
    cards = [card(f"a-step{step}", "a", step=step) for step in (500, 2000)]
    rows = [row(c["name"], "margin", 0.1 * c["labels"]["step"] / 1000) for c in cards]
    text = printed(tmp_path, rows, cards)
    assert "a, step 2,000 (the last of 2), top 10" in text
    assert line(text, "base")[1] == "+20.0"
    assert "several seeds" not in text


def test_a_model_that_answers_with_ties_is_named_and_has_no_number(tmp_path):
    rows = [row("m", "margin", 0.3, verdict="low coverage"), row("m", "covered", 1.0, verdict="descriptive")]
    text = printed(tmp_path, rows, [card("m")], tied=True)
    assert "mostly ties, so that most numbers would say nothing: m" in text
    assert line(text, "base") == ["base", "100", "%"]
    assert "30.0" not in text


def test_one_checkpoint_has_its_own_interval_and_the_reader_is_told_what_it_leaves_open(tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3, verdict="holds for this checkpoint")], [card("m")])
    assert line(text, "base") == ["base", "+30.0", "[+20.0,", "+40.0]*"]
    assert "several seeds" not in text
    assert "what another training would say cannot be known" in " ".join(text.split())


def test_two_seeds_are_told_to_decide_nothing(tmp_path):
    rows = [row("a", "margin", 0.06, level="family")]
    text = printed(tmp_path, rows, [card(f"a-seed{i}", "a") for i in range(2)])
    assert "two seeds: nothing can hold" in text


def test_where_the_top_ten_holds_too_few_listed_words_all_listed_words_are_shown_with_enough_digits(tmp_path):
    rows = [
        row("m", "margin", 0.0, verdict="not applicable"),
        row("m", "covered", 0.0, verdict="not applicable"),
        row("m", "margin", 0.0006, k="all"),
        row("m", "female", 0.0033, k="all"),
    ]
    text = printed(tmp_path, rows, [card("m")])
    assert "m, all listed words: the top 10 holds too few" in " ".join(text.split())
    assert line(text, "base")[:3] == ["base", "0.33", "+0.06"]
    assert "covered" not in line(text, "prompt")


def test_claims_are_told_for_families_and_for_single_checkpoints(tmp_path):
    cards = [card("a-seed0", "a"), card("a-seed1", "a"), card("b")]
    rows = [row(c["name"], "margin", 0.3) for c in cards] + [row("a", "margin", 0.3, level="family")]
    claims = [
        {"probe": "p", "claim": "lowers", "model": model, "k": "10", "verdict": verdict, "level": level}
        for model, verdict, level in [
            ("a-seed0", "opposite", "checkpoint"),
            ("a-seed1", "undecided", "checkpoint"),
            ("a", "undecided", "family"),
            ("b", "as published", "checkpoint"),
        ]
    ]
    text = printed(tmp_path, rows, cards, claims)
    assert "as published: lowers (b)" in text
    assert "undecided: lowers (a)" in text
    assert "opposite" not in text


def test_claims_about_two_models_are_told(tmp_path):
    rows = [row("a", "margin", 0.3), row("b", "margin", 0.2)]
    claims = [
        {"probe": "p", "claim": name, "model": model, "k": "10", "verdict": "as published", "level": level}
        for name, model, level in [("lowers", "b", "checkpoint"), ("larger", "a against b", "pair")]
    ]
    text = printed(tmp_path, rows, [card("a"), card("b")], claims)
    assert "as published: lowers (b); larger (a against b)" in text


@pytest.mark.parametrize("self_trained", [True, False])
def test_self_trained_models_are_called_so(self_trained, tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3)], [card("m", self_trained=self_trained)])
    assert ("self-trained, to show the method; no stand-in for BERT or GPT-2: m" in text) is self_trained


def test_with_too_few_groups_for_an_interval_the_value_stands_alone(tmp_path):
    few = row("m", "female", 0.3, verdict="not applicable") | {"reason": "4 groups, fewer than 5"}
    text = printed(tmp_path, [few, row("m", "margin", 0.1)], [card("m")])
    assert "30.0" in text
    assert "30.0 [" not in text
    gone = row("m", "female", 0.3, verdict="not applicable") | {"reason": "nothing was there to measure"}
    assert "30.0" not in printed(tmp_path, [gone, row("m", "margin", 0.1)], [card("m")])
