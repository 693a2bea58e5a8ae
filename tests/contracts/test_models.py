"""Every architecture holds the contract that `trueprobe check model` tests."""

from __future__ import annotations

import pytest
import zoo

from trueprobe.contracts import check_model


@pytest.mark.parametrize("name", [*zoo.MASKED, *zoo.CAUSAL])
def test_every_architecture_holds_the_contract(name, opened):
    failed = [check for check in check_model(opened(name)) if not check.passed]
    assert not failed


@pytest.mark.parametrize("name", ["bert", "gpt2"])
@pytest.mark.parametrize("batch_tokens", [1, 100, 5000])
def test_any_batch_plan_holds_it_too(name, batch_tokens, opened):
    failed = [check for check in check_model(opened(name), batch_tokens) if not check.passed]
    assert not failed
