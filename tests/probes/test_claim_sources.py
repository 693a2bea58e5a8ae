"""What a paper's authors expected is not called published: sources of paper A's claims, and the words everywhere."""

from __future__ import annotations

import json
from html import unescape

import pytest

import made_runs
from trueprobe import load_run, probes
from trueprobe.results.render import export, markdown, page
from trueprobe.results.render import json as json_render
from trueprobe.results.text import verdicts
from trueprobe.results.view import Key, Report
from trueprobe.results.view.findings import Judged, by_verdict
from trueprobe.runs.schema import frame_of, rows_of
from trueprobe.statistics.rows import ClaimResult
from trueprobe.types import ClaimSource, Verdict

EXPECTED = ClaimSource.EXPECTED
WORDS = "as the authors expected"


@pytest.fixture
def run(tmp_path):
    claims = [
        made_runs.claim("solo", "found", 0.2, Verdict.AS_PUBLISHED, p=0.0001),
        made_runs.claim("solo", "hoped", 0.2, Verdict.AS_PUBLISHED, p=0.0001, source=EXPECTED),
        made_runs.claim("solo", "lost", -0.2, Verdict.OPPOSITE, p=0.0001, source=EXPECTED),
    ]
    rows = [made_runs.estimate("solo", "preference", 0.5, category="age")]
    return load_run(made_runs.write(tmp_path / "run", [made_runs.card("solo")], rows, claims))


def test_what_paper_a_expects_by_construction_is_no_finding_of_its_results():
    claims = probes.make("counteracts").claims()
    expected = {claim.name for claim in claims if claim.source is EXPECTED}
    assert expected == {
        "pro_enlarges",
        "counter_lowers",
        "own_counter_lowers",
        "other_counter_lowers",
        "neutral_lowers",
        "neutral_lowers_less",
    }
    assert not any(claim.architectures for claim in claims if claim.source is EXPECTED)


@pytest.mark.parametrize("name", [name for name in probes.names() if name != "counteracts"])
def test_other_papers_claims_are_findings(name):
    settings = {"data": "sample"} if name in ("crows_pairs", "stereoset") else {}
    assert {claim.source for claim in probes.make(name, settings).claims()} <= {ClaimSource.FINDING}


def test_the_words_depend_on_the_source_of_what_is_as_claimed_alone():
    assert verdicts.verdict_text(Verdict.AS_PUBLISHED) == "as published"
    assert verdicts.verdict_text(Verdict.AS_PUBLISHED, EXPECTED) == WORDS
    others = [verdict for verdict in Verdict if verdict is not Verdict.AS_PUBLISHED]
    assert all(verdicts.verdict_text(one, EXPECTED) == verdicts.verdict_text(one) for one in others)


def test_findings_and_expectations_are_listed_apart(run):
    listed = by_verdict(Report.of(run).findings)
    as_claimed = {judged.source: list(named) for judged, named in listed.items() if judged.verdict.outcome == "good"}
    assert as_claimed == {ClaimSource.FINDING: ["found"], EXPECTED: ["hoped"]}
    assert list(listed[Judged(Verdict.OPPOSITE, ClaimSource.FINDING)]) == ["lost"]


def test_the_key_names_expectations_where_one_is_marked(run):
    numbers = [n for finding in Report.of(run).findings for n in finding.numbers]
    expected = [n for n in numbers if n.source is EXPECTED]
    assert verdicts.key_texts(Key.of(expected))[0] == "* as published or expected, or holds"
    assert verdicts.key_texts(Key.of(numbers[:1])) == ["* as published, or holds"]


def test_every_renderer_has_the_words(run, tmp_path):
    report = Report.of(run)
    texts = {"markdown": markdown.render(report), "card": export.model_card(report)}
    texts["page"] = unescape(page.html(run))
    texts["notebook"] = unescape(run._repr_html_())
    assert [name for name, text in texts.items() if WORDS not in text] == []
    numbers = [
        n for s in json.loads(json_render.render(report))["sections"] for f in s["findings"] for n in f["numbers"]
    ]
    assert [n["verdict_text"] for n in numbers] == ["as published", WORDS, "opposite", "undecided"]
    assert list(run.findings["source"]) == ["found", "expected", "expected", "found"]


def test_a_folder_written_before_sources_existed_holds_findings():
    row = made_runs.claim("solo", "hoped", 0.2, Verdict.AS_PUBLISHED, source=EXPECTED)
    frame = frame_of([row], ClaimResult)
    assert rows_of(frame, ClaimResult, "claims.parquet")[0].source is EXPECTED
    assert rows_of(frame.drop(columns="source"), ClaimResult, "claims.parquet")[0].source is ClaimSource.FINDING
