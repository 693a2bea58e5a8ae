"""Every architecture holds the contract that `trueprobe check model` tests."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

import zoo
from answering import Answering
from trueprobe.runs.check import Check, check_model
from trueprobe.types import Filled, NoProgress

FAST = ("bert", "roberta", "gpt2", "llama")
ALL = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in (*zoo.MASKED, *zoo.CAUSAL)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_architecture_holds_the_contract(name, opened):
    failed = [check for check in check_model(opened(name)) if not check.passed]
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2"])
@pytest.mark.parametrize("batch_tokens", [1, 100, 5000])
def test_any_batch_plan_holds_it_too(name, batch_tokens, opened):
    failed = [check for check in check_model(opened(name), batch_tokens) if not check.passed]
    assert not failed


def test_a_model_that_answers_whole_requests_holds_it_where_it_applies():
    checks = list(check_model(Answering()))
    assert [check.name for check in checks if not check.passed] == []
    skipped = {check.name: check.detail for check in checks if check.skipped}
    assert set(skipped) == {"special tokens in a text stay text", "characters that no piece covers are refused"}
    assert all(skipped.values())
    assert {"any order", "a batch of one agrees", "a token sees nothing behind it"} <= {check.name for check in checks}


def test_the_bar_of_a_check_is_full_at_its_end():
    class Bar(NoProgress):
        done, total = 0, None

        def task(self, title, total=None, unit=""):
            if title.startswith("checking"):
                self.total = total
                return nullcontext(self)
            return NoProgress().task(title)

        def advance(self, amount=1, note=""):
            self.done += amount

    bar = Bar()
    list(check_model(Answering(), progress=bar))
    assert bar.done == bar.total > 100


def test_a_model_whose_answers_depend_on_the_request_before_is_refused():
    class Wandering(Answering):
        def _scored(self, request):
            scored = super()._scored(request)
            moved = replace(scored.tokens[0], logp=scored.tokens[0].logp - len(self.asked))
            return replace(scored, tokens=(moved, *scored.tokens[1:]))

    failed = {check.name for check in check_model(Wandering()) if not check.passed}
    assert {"any subset", "a batch of one agrees"} <= failed


def test_a_last_layer_with_other_numbers_is_noticed(opened, monkeypatch):
    """It agreed when it was tried, on a few rows; here it is wrong from then on."""
    from trueprobe.models.last_layer import LastLayer

    bert, name = opened("bert"), "a blank next to a hidden state agrees"
    assert bert.network.last_layer is not None
    assert {check.name: check.passed for check in check_model(bert)}[name]
    behind = LastLayer._behind
    monkeypatch.setattr(LastLayer, "_behind", lambda self, context, states: behind(self, 1.01 * context, states))
    assert not {check.name: check.passed for check in check_model(bert)}[name]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_model_that_loses_characters_is_refused(name, opened, monkeypatch):
    """The tokenizer's pieces as they come: what is unknown is one piece, whatever it was."""

    def lost() -> Check:
        (check,) = [check for check in check_model(opened(name)) if check.name.startswith("characters")]
        return check

    assert lost().passed
    monkeypatch.setattr(opened(name), "_pieces", lambda text, unknown=False: opened(name).text.pieces(text))
    assert lost().passed == (name == "gpt2")


def test_a_short_list_of_likely_tokens_cannot_be_summed_and_is_no_failure():
    class Short(Answering):
        def _filled(self, request):
            filled = super()._filled(request)
            return replace(filled, top=filled.top[:5]) if isinstance(filled, Filled) else filled

    (check,) = [check for check in check_model(Short()) if check.name == "probabilities sum to one"]
    assert check.skipped
    assert check.detail == "the model lists 5 of 50 tokens"
