"""What a run prints: one table per setup, what its trainings agree on, and no number with nothing behind it."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from trueprobe import summary

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
    unit = {"covered": "share"}.get(measure, "probability")
    neutral = 0.0 if measure == "margin" else float("nan")
    return {
        **told,
        "low": value - 0.1,
        "high": value + 0.1,
        "unit": unit,
        "neutral": neutral,
        "verdict": verdict,
        **more,
    }


def printed(tmp_path, rows: list[dict], cards: list[dict], claims: list[dict] | None = None) -> str:
    (tmp_path / "probes.json").write_text(json.dumps({"p": PROBE}))
    seen = pd.DataFrame({"model": [card["name"] for card in cards], "why_not": ""})
    run = SimpleNamespace(
        folder=tmp_path,
        manifest={"cards": cards},
        estimates=pd.DataFrame(rows),
        claims=pd.DataFrame(claims or []),
        observations=lambda label: seen,
    )
    out = io.StringIO()
    summary.show(run, Console(file=out, width=80, highlight=False))
    return out.getvalue()


def card(name: str, family: str = "", self_trained: bool = False) -> dict:
    return {"name": name, "family": family or name, "self_trained": self_trained}


def line(text: str, start: str) -> list[str]:
    return next(text for text in text.splitlines() if text.startswith(start)).split()


def test_a_family_is_one_row_with_its_mean_its_range_and_how_many_hold(tmp_path):
    values = {"a-seed0": 0.02, "a-seed1": 0.06, "a-seed2": 0.10}
    rows = [
        row(model, "margin", value, verdict="holds" if value > 0.05 else "undecided") for model, value in values.items()
    ]
    text = printed(tmp_path, rows, [card(model, "a") for model in values])
    assert "a, 3 checkpoints, top 10" in text
    assert line(text, "base") == ["base", "+6.0", "[2.0,", "10.0]", "2*"]


def test_one_checkpoint_has_its_own_interval(tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3, verdict="holds")], [card("m")])
    assert line(text, "base") == ["base", "+30.0", "[20.0,", "40.0]*"]
    assert "several checkpoints" not in text


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


def test_claims_name_how_many_of_a_family(tmp_path):
    cards = [card("a-seed0", "a"), card("a-seed1", "a"), card("b")]
    rows = [row(c["name"], "margin", 0.3) for c in cards]
    claims = [
        {"probe": "p", "claim": "lowers", "model": model, "k": "10", "verdict": verdict}
        for model, verdict in [("a-seed0", "as published"), ("a-seed1", "undecided"), ("b", "as published")]
    ]
    text = printed(tmp_path, rows, cards, claims)
    assert "as published: lowers (1 of 2 a, b)" in text
    assert "undecided: lowers (1 of 2 a)" in text


@pytest.mark.parametrize("self_trained", [True, False])
def test_self_trained_models_are_called_so(self_trained, tmp_path):
    text = printed(tmp_path, [row("m", "margin", 0.3)], [card("m", self_trained=self_trained)])
    assert ("self-trained, to show the method; no stand-in for BERT or GPT-2: m" in text) is self_trained
