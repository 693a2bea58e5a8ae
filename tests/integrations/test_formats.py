"""Results in formats of others: read back by their own parsers and schemas."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from typer.testing import CliRunner

import made_runs
from made_runs import card, claim, estimate
from trueprobe.cli import app
from trueprobe.types import Unit, Verdict

# eval.schema.json of every_eval_ever 0.3.0, (c) 2026 EvalEval, MIT
SCHEMA = json.loads(Path(__file__).with_name("every_eval_ever-0.3.0.schema.json").read_bytes())
ROWS = [
    estimate("solo", "preference", 0.7, low=0.6, high=0.8, p_interval=1e-4, unit=Unit.SHARE),
    estimate("other", "preference", 0.4, low=0.3, high=0.5, p_interval=1e-4, unit=Unit.SHARE),
]
CLAIMS = [
    claim("solo", "one", 0.2, Verdict.AS_PUBLISHED, p=0.0001),
    claim("solo", "three", 0.1, Verdict.LOW_COVERAGE, covered=0.03),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    made_runs.write(tmp_path / "run", [card("solo"), card("other")], ROWS, CLAIMS)
    return tmp_path


def command(*arguments: str, code: int = 0):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_every_eval_ever_takes_the_records_and_they_hold_the_intervals(run):
    command("export", "run", "--every-eval-ever", "records")
    written = {path.parent.name: json.loads(path.read_bytes()) for path in (run / "records").rglob("*.json")}
    assert sorted(written) == ["other", "solo"]
    for record in written.values():
        jsonschema.validate(record, SCHEMA)
    results = {one["evaluation_result_id"]: one for one in written["solo"]["evaluation_results"]}
    assert "pairs/three" not in results  # nothing can be concluded from it
    (number,) = [one for name, one in results.items() if name == "pairs/one"]
    assert number["score_details"]["score"] == 0.2
    ends = number["score_details"]["uncertainty"]["confidence_interval"]
    (row,) = [one for one in CLAIMS if one.claim == "one"]
    assert (ends["lower"], ends["upper"], ends["confidence_level"]) == (row.low, row.high, 0.95)
    assert number["score_details"]["details"]["verdict"] == "as_published"
    before = sorted(path.name for path in (run / "records").rglob("*.json"))
    command("export", "run", "--every-eval-ever", "records")
    assert sorted(path.name for path in (run / "records").rglob("*.json")) == before


def test_the_hub_reads_its_eval_results(run):
    command("export", "run", "--eval-results", ".eval_results/p.yaml", "--dataset", "org/pairs", "--model", "solo")
    entries = parse_eval_result_entries(yaml.safe_load((run / ".eval_results/p.yaml").read_text(encoding="utf-8")))
    by_task = {entry.task_id: entry for entry in entries}
    assert {entry.dataset_id for entry in entries} == {"org/pairs"}
    assert by_task["pairs.one"].value == 0.2
    assert "95 % interval" in by_task["pairs.one"].notes
    assert "pairs.three" not in by_task


@pytest.mark.parametrize(
    "arguments",
    [
        ("--eval-results", "x.yaml"),
        ("--dataset", "a/b", "--csv", "x.csv"),
        ("--eval-results", "x", "--dataset", "pairs"),
    ],
)
def test_a_benchmark_must_be_named_as_the_hub_names_it(run, arguments):
    assert "--dataset" in str(CliRunner().invoke(app, ["export", "run", *arguments]).exception)
    assert not (run / "x.yaml").exists()


def test_junit_has_a_case_for_each_number_and_its_failures_are_the_gates(run):
    rules = ("--rule", "pairs: preference < 0.55", "--rule", "pairs: preference > 0.35")
    command("gate", "run", *rules, "--junit", "gate.xml", code=1)
    suites = ElementTree.parse(run / "gate.xml").getroot()
    assert {name: suites.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "2",  # one on the wrong side, one undecided
        "skipped": "0",
    }
    failures = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    messages = sorted(one.get("message") for one in failures.values() if one is not None)
    assert [text.partition(":")[0] for text in messages] == ["fails", "undecided"]
    command("gate", "run", *rules[2:], "--undecided", "pass", "--junit", "gate.xml")
    suites = ElementTree.parse(run / "gate.xml").getroot()
    assert (suites.get("failures"), suites.get("skipped")) == ("0", "1")


def test_github_annotates_what_does_not_pass_and_json_stays_whole(run, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = command("gate", "run", "--rule", "pairs: preference < 0.55", "--json", code=1)
    assert json.loads(result.stdout)["passes"] is False
    (line,) = result.stderr.splitlines()
    assert line.startswith("::error title=trueprobe%3A pairs%3A preference < 0.55::solo fails: 0.7 [0.6, 0.8]")
    result = command("gate", "run", "--rule", "pairs: preference > 0.35", "--undecided", "pass")
    assert result.stderr.startswith("::warning title=")
