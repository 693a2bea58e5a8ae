"""Random networks earn no claim, and what is planted is called as published: a few cases of `bench/null_rates.py`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from trueprobe.types import Verdict

pytestmark = pytest.mark.slow
PATH = Path(__file__).resolve().parents[2] / "bench" / "null_rates.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("null_rates", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["null_rates"] = module
    spec.loader.exec_module(module)
    return module


def test_twenty_random_networks_earn_no_claim(bench):
    """Of 20, five called as published are more than a rate of 5 % gives in one case of a thousand."""
    rates = bench.of_random_networks(20, limit=100)
    assert rates.too_often() == []
    assert {claim[0] for claim in rates.counts} == set(bench.claiming())
    undecided = [counts[Verdict.UNDECIDED] for counts in rates.counts.values()]
    assert sum(undecided) > len(undecided)  # gating everything would be no way out


def test_what_is_planted_is_called_as_published(bench):
    rates = bench.of_planted_effects(2, limit=200)
    known = {c for c in rates.counts if c[1].split(",")[0] not in bench.NEVER_PUBLISHED}
    assert len(known) > 40
    missed = [claim for claim in known if rates.published(claim)[0] < rates.published(claim)[1]]
    assert missed == []
