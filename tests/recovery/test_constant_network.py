"""A network that answers the same to everything: every probe counts its answers as ties, and none gives a verdict."""

from __future__ import annotations

import io
import shutil

import pytest
from rich.console import Console
from safetensors.torch import load_file, save_file

import trueprobe
from trueprobe import probes
from trueprobe.results.render import page as report
from trueprobe.results.render import terminal as summary
from trueprobe.runs.study import ProbeRun, Study
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.training import nursery
from trueprobe.types import Verdict

pytestmark = pytest.mark.slow
SETTINGS = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}, "seat": {"tests": ["sent-weat6"]}}
SUMMED = {"pairs", "cloze"}  # over all tokens: where every token is equally likely, fewer of them are likelier together
ASKING = [name for name in probes.names() if not probes.find(name).results_setting]
OF_COVERAGE = {"neutral", "no_preference", "listed_tokens", "listed_mass", "tied", "tied_gated"}


@pytest.fixture(scope="module", params=["nursery", "nursery-causal"])
def done(request, tmp_path_factory):
    """All weights are one, so all words are equally likely and all sentences have one vector."""
    root = tmp_path_factory.mktemp("constant")
    folder = shutil.copytree(nursery.shipped(f"{request.param}/0")[0].folder, root / "constant")
    ones = {name: weights.fill_(1.0) for name, weights in load_file(folder / "model.safetensors").items()}
    save_file(ones, folder / "model.safetensors", {"format": "pt"})
    asked = tuple(ProbeRun(name=name, settings=SETTINGS.get(name, {})) for name in ASKING)
    study = Study(probes=asked, models=(str(folder),), limit=120)
    return trueprobe.run(study, out=root / "run", store=root / "s")


@pytest.mark.parametrize("name", sorted(set(ASKING) - SUMMED))
def test_its_answers_are_ties(name, done):
    observations = done.observations(name)
    scored = observations[observations["why_not"] == ""]
    assert len(scored)
    assert (scored["tied"] == 1).all()


def test_no_number_has_a_verdict(done):
    rows = [row for row in done.rows(Estimate) if row.probe not in SUMMED]
    spoken = [row for row in rows if not row.verdict.inconclusive]
    assert {row.verdict for row in spoken} <= {Verdict.DESCRIPTIVE}
    assert {row.measure for row in spoken} <= OF_COVERAGE
    assert sum(row.verdict is Verdict.LOW_COVERAGE for row in rows) > 100


def test_sums_over_tokens_decide_nothing_either(done):
    """Of these examples the better text is the shorter one no oftener than the worse."""
    rows = [row for row in done.rows(Estimate) if row.probe in SUMMED and row.neutral is not None]
    assert rows
    found = (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT, Verdict.FLIPS)
    assert [row.measure for row in rows if row.verdict in found] == []


def test_no_claim_has_one(done):
    verdicts = {row.verdict for row in done.rows(ClaimResult)}
    assert all(verdict.inconclusive for verdict in verdicts)
    assert Verdict.LOW_COVERAGE in verdicts


def test_the_terminal_reports_why(done):
    console = Console(file=io.StringIO(), width=100)
    summary.show(done, console)
    assert "mostly ties: constant" in console.file.getvalue()


def test_the_page_shows_no_number_of_it(done):
    page = report.html(done)
    assert "low coverage" in page
    assert "Mostly ties, which show nothing: constant" in page
    assert "What holds" not in page
