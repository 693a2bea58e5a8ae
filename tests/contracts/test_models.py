"""Every architecture holds the contract that `trueprobe check model` tests."""

from __future__ import annotations

import pytest

import zoo
from trueprobe.runs.check import check_model

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
