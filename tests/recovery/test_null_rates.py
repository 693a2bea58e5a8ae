"""Random networks earn no claim, and what is planted is called as published: a few cases of `bench/null_rates.py`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import trueprobe
import zoo
from trueprobe.results.view import Report, tally
from trueprobe.runs import Study
from trueprobe.runs.study import ProbeRun
from trueprobe.types import Outcome, Verdict

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
    rates = bench.of_random_networks(20, limit=60)
    assert rates.too_often() == []
    assert {claim[0] for claim in rates.counts} == set(bench.claiming())
    # gating everything would be no way out: of claims that no gate stands before, many are judged
    ungated = [counts for claim, counts in rates.counts.items() if claim[1].endswith("k=10")]
    assert sum(counts[Verdict.UNDECIDED] for counts in ungated) > 2 * len(ungated)


def test_what_is_planted_is_called_as_published(bench):
    rates = bench.together(bench.of_planted_effects(1), bench.of_planted_effects(1, strengths=bench.APART))
    known = {c for c in rates.counts if c[1].split(",")[0] not in bench.NEVER_PUBLISHED}
    assert len(known) > 40
    missed = [claim for claim in known if rates.published(claim)[0] < rates.published(claim)[1]]
    assert missed == []


def test_precision_that_is_not_there_cannot_fall(bench):
    """A random network ranks the few words that complete many prompts anywhere: an interval over concepts misses it."""
    rows = bench.random_claims("tacit_production", "gpt2", 26, limit=200)  # earned it without the gate
    assert {row.claim: row.verdict for row in rows}["context_helps_is"] is Verdict.FAILS_GATE


def test_reports_of_random_networks_have_no_finding(tmp_path):
    """Three whole runs: any finding in one of twenty, so two of three reports with one would be 7 in 1,000."""
    found = 0
    for seed, name in enumerate(("bert", "albert", "gpt2")):
        folder = zoo.save(name, tmp_path / name, seed)
        asked = (ProbeRun(name="counteracts"), ProbeRun(name="crows_pairs", settings={"data": "sample"}))
        study = Study(probes=asked, models=(str(folder),), limit=200)
        report = Report.of(trueprobe.run(study, out=tmp_path / f"run{seed}", store=tmp_path / "s"))
        assert report.n_primary > 0
        found += bool({Outcome.GOOD, Outcome.BAD} & set(tally(report.findings)))
    assert found < 2
