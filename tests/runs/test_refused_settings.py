"""What a run refuses or announces before it asks anything."""

from __future__ import annotations

import pytest

import made_runs
import trueprobe
from trueprobe.errors import BadInput
from trueprobe.probes.crows_pairs.probe import CrowsPairs
from trueprobe.probes.stereoset.probe import StereoSet
from trueprobe.results.text.findings import title
from trueprobe.results.view import Report, ReportSource
from trueprobe.runs import load_run, plan_run
from trueprobe.runs.plan import short_of_items


def test_a_setting_that_no_model_reads_is_refused(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "trueprobe.probes.counteracts.probe.CounterActs.unread_setting", lambda probe, kinds: "causal=x"
    )
    with pytest.raises(BadInput, match="counteracts: no model of this run reads causal=x: they are masked"):
        trueprobe.run("counteracts", models=[str(checkpoint("bert"))], limit=2, out=tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize("name", ["crows_pairs", "stereoset"])
def test_authors_start_is_about_causal_models(name):
    probe = {"crows_pairs": CrowsPairs, "stereoset": StereoSet}[name]
    made = probe.__new__(probe)
    for chosen, kinds, refused in [
        ("authors", {"masked"}, "causal=authors"),
        ("authors", {"masked", "causal"}, ""),
        ("start_token", {"masked"}, ""),
    ]:
        made.settings = probe.Settings.model_construct(causal=chosen)
        assert made.unread_setting(kinds) == refused


def test_a_small_limit_says_what_cannot_be_judged(checkpoint):
    few, enough = (plan_run("counteracts", [str(checkpoint("bert"))], limit=limit) for limit in (5, 400))
    (line,) = short_of_items(few)
    assert line.startswith("counteracts: --limit 5 is too small to judge every finding")
    assert "all need --limit " in line
    assert short_of_items(enough) == []


def test_a_run_that_was_stopped_at_once_has_a_title(tmp_path, monkeypatch):
    monkeypatch.setattr(ReportSource, "labels", [])
    run = load_run(made_runs.write(tmp_path / "run", [], complete=False))
    assert title(Report.of(run)) == "pairs on made"
