"""Verdicts are worded of primary numbers alone, and controlled together: a list without any effect has no finding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import made_runs
from trueprobe import probes
from trueprobe.probes.display import MOST_PRIMARY, Primary
from trueprobe.results import markdown
from trueprobe.results.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.runs.primary import displayed, is_primary, verdicts
from trueprobe.statistics.verdict import controlled
from trueprobe.types import Outcome, Verdict

HOLDS, UNDECIDED, EXPLORATORY = Verdict.HOLDS_FOR_CHECKPOINT, Verdict.UNDECIDED, Verdict.EXPLORATORY
DECLARED = made_runs.declaration(primary=(Primary("preference", {"category": "all"}, ("one",)),))
UNDECLARED = made_runs.declaration()


def test_hand_worked_list():
    """Thresholds of four: 0.0125, 0.025, 0.0375, 0.05; 0.03 is above the second and below the third."""
    ps = [0.001, 0.03, 0.036, 0.2]
    assert controlled([HOLDS] * 4, ps) == [HOLDS, HOLDS, HOLDS, UNDECIDED]
    assert controlled([HOLDS] * 4, [0.001, 0.03, 0.04, 0.2]) == [HOLDS, UNDECIDED, UNDECIDED, UNDECIDED]


def test_what_is_no_finding_stays_and_counts():
    ps = [0.03, 0.6, float("nan")]
    assert controlled([Verdict.OPPOSITE, UNDECIDED, Verdict.FLIPS], ps) == [UNDECIDED, UNDECIDED, Verdict.FLIPS]


def estimates(rng: np.random.Generator, many: int):
    """Categories without any effect, each with the verdict its p earns it."""
    ps = 2 * norm.sf(np.abs(rng.normal(size=many)))
    return [
        made_runs.estimate(
            "solo", "preference", 0.6, category=f"c{i}", p_interval=p, verdict=HOLDS if p < 0.05 else UNDECIDED
        )
        for i, p in enumerate(ps)
    ]


@pytest.mark.parametrize("many", [3, 24])
def test_a_list_without_any_effect_has_a_finding_in_one_case_of_twenty(many):
    """2,000 repeats: 5 % ± 1.5 points; without control it would be 14 % and 71 %."""
    rng = np.random.default_rng(0)
    repeats = [estimates(rng, many) for _ in range(2000)]
    alone = np.mean([any(row.verdict is HOLDS for row in rows) for rows in repeats])
    together = np.mean([HOLDS in verdicts(rows).values() for rows in repeats])
    assert alone == pytest.approx(1 - 0.95**many, abs=0.03)
    assert together <= 0.065


def test_an_effect_is_still_called():
    rng = np.random.default_rng(1)
    rows = [
        *estimates(rng, 10),
        made_runs.estimate("solo", "preference", 0.9, category="all", p_interval=1e-4, verdict=HOLDS),
    ]
    assert [row.conditions["category"] for row in rows if verdicts(rows)[_key(row)] is HOLDS] == ["all"]


def _key(row):
    from trueprobe.runs.primary import key_of

    return key_of(row)


def test_what_is_primary():
    at_all = made_runs.estimate("solo", "preference", 0.9, category="all")
    other = made_runs.estimate("solo", "preference", 0.9, category="age")
    assert (is_primary(at_all, DECLARED), is_primary(other, DECLARED)) == (True, False)
    assert is_primary(other, UNDECLARED)  # the whole summary is one list
    assert not is_primary(made_runs.estimate("solo", "unheard", 0.9, category="age"), UNDECLARED)
    one, two = (made_runs.claim("solo", name, 0.2, Verdict.AS_PUBLISHED) for name in ("one", "two"))
    assert (is_primary(one, DECLARED), is_primary(two, DECLARED)) == (True, False)
    assert is_primary(two, None)  # of several probes together


def test_the_rest_is_exploratory_and_what_is_silent_stays_so():
    other = made_runs.estimate("solo", "preference", 0.9, category="age", verdict=HOLDS)
    assert displayed(other, {}).verdict is EXPLORATORY
    silent = made_runs.estimate("solo", "preference", 0.9, category="age", verdict=Verdict.LOW_COVERAGE)
    assert displayed(silent, {}).verdict is Verdict.LOW_COVERAGE


def test_the_report_words_no_verdict_of_exploratory_numbers(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", 0.9, category=name, p_interval=1e-4, verdict=HOLDS)
        for name in ("all", "age")
    ]
    folder = made_runs.write(tmp_path / "run", [made_runs.card("solo")], rows, [], DECLARED)
    report = Report.of(load_run(folder))
    outcomes = {f.name: f.numbers[0].verdict.outcome for f in report.findings}
    assert outcomes == {"all": Outcome.GOOD, "age": Outcome.EXPLORATORY}
    assert [f.numbers[0].text() for f in report.findings] == ["90 % [80, 100]"] * 2  # the interval stays
    text = markdown.render(report)
    assert "Verdicts: of the one primary number, false discovery rate 5 % over these" in text
    assert "90 % \\[80, 100\\], exploratory" in text


@pytest.mark.parametrize("name", probes.names())
def test_each_probe_declares_at_most_three(name):
    settings = {"data": "sample"} if name in ("crows_pairs", "stereoset") else {}
    probe = probes.make(name, settings)
    declared = probe.primary
    if declared is None:
        return
    assert 1 <= len(declared) <= MOST_PRIMARY
    measures, claims = list(probe.measures()), {claim.name for claim in probe.claims()}
    for primary in declared:
        assert set(primary.claims) <= claims
        rows = [m for m in measures if m.name == primary.measure]
        at = [
            m
            for m in rows
            if all(m.reported.get(k) in ((v,) if isinstance(v, str) else v) for k, v in primary.where.items())
        ]
        assert at, (name, primary)
        for kind in ("masked", "causal"):
            assert len([m for m in at if kind in m.kinds]) <= 1, (name, primary)
