"""Verdicts are given for primary numbers alone, and controlled together: a list without any effect has no finding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import made_runs
from trueprobe import probes
from trueprobe.probes.display import MOST_PRIMARY, Primary
from trueprobe.results.render import markdown
from trueprobe.results.view import Report, ReportSource, figures
from trueprobe.runs import load_run
from trueprobe.runs.families import families
from trueprobe.runs.primary import is_primary, on_run_list
from trueprobe.types import Outcome, Verdict

HOLDS, UNDECIDED, EXPLORATORY = Verdict.HOLDS_FOR_CHECKPOINT, Verdict.UNDECIDED, Verdict.EXPLORATORY
DECLARED = made_runs.declaration(
    primary=(Primary("preference", {"category": "all"}), Primary("other", claims=("one",)))
)
UNDECLARED = made_runs.declaration()
SOLO = [made_runs.card("solo")]


def listed(rows, declared=UNDECLARED, cards=SOLO, **more):
    alone = [made_runs.alone(made_runs.of_card(row, cards), cards) for row in rows]
    return on_run_list(alone, {"pairs": declared}, families(cards), **more)


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
def test_list_without_any_effect_has_a_finding_in_one_case_of_twenty(many):
    """2,000 repeats: 5 % ± 1.5 points; without control it would be 14 % and 71 %."""
    rng = np.random.default_rng(0)
    repeats = [estimates(rng, many) for _ in range(2000)]
    alone = np.mean([any(row.verdict is HOLDS for row in rows) for rows in repeats])
    together = np.mean([any(row.verdict is HOLDS for row in listed(rows)) for rows in repeats])
    assert alone == pytest.approx(1 - 0.95**many, abs=0.03)
    assert together <= 0.065


def test_list_still_has_an_effect():
    rng = np.random.default_rng(1)
    rows = [
        *estimates(rng, 10),
        made_runs.estimate("solo", "preference", 0.9, category="all", p_interval=1e-4, verdict=HOLDS),
    ]
    assert [row.conditions["category"] for row in listed(rows) if row.verdict is HOLDS] == ["all"]


def test_primary_is_what_a_probe_declares_or_its_whole_summary():
    at_all = made_runs.estimate("solo", "preference", 0.9, category="all")
    other = made_runs.estimate("solo", "preference", 0.9, category="age")
    assert (is_primary(at_all, DECLARED), is_primary(other, DECLARED)) == (True, False)
    assert is_primary(other, UNDECLARED)  # the whole summary is one list
    assert not is_primary(made_runs.estimate("solo", "unheard", 0.9, category="age"), UNDECLARED)
    named = made_runs.estimate("solo", "other", 0.9, category="all")
    assert not is_primary(named, DECLARED)  # its claim is on the list in its place
    one, two = (made_runs.claim("solo", name, 0.2, Verdict.AS_PUBLISHED) for name in ("one", "two"))
    assert (is_primary(one, DECLARED), is_primary(two, DECLARED)) == (True, False)
    assert is_primary(two, None)  # of several probes together


@pytest.mark.parametrize(
    ("alone", "p", "shown"),
    [
        (HOLDS, 0.001, Verdict.SUGGESTIVE),
        (UNDECIDED, 0.4, EXPLORATORY),
        (Verdict.FLIPS, 0.4, EXPLORATORY),
        (Verdict.LOW_COVERAGE, 0.001, Verdict.LOW_COVERAGE),
        (Verdict.DESCRIPTIVE, 0.001, Verdict.DESCRIPTIVE),
    ],
)
def test_number_off_the_list_is_exploratory_by_its_interval(alone, p, shown):
    (row,) = listed(
        [made_runs.estimate("solo", "preference", 0.9, category="age", verdict=alone, p_interval=p)], DECLARED
    )
    assert (row.verdict, row.verdict_alone, row.n_list) == (shown, alone, 0)


def test_each_model_can_have_a_list_of_its_own():
    """0.04 is a finding alone, and not beside a second model's 0.5."""
    cards = [made_runs.card("one"), made_runs.card("two")]
    rows = [
        made_runs.estimate("one", "preference", 0.7, category="age", p_interval=0.04, verdict=HOLDS),
        made_runs.estimate("two", "preference", 0.5, category="age", p_interval=0.5, verdict=UNDECIDED),
    ]
    together = listed(rows, cards=cards)
    apart = listed(rows, cards=cards, each_model=True)
    assert [(row.verdict, row.n_list) for row in together] == [(UNDECIDED, 2), (UNDECIDED, 2)]
    assert [(row.verdict, row.n_list) for row in apart] == [(HOLDS, 1), (UNDECIDED, 1)]


def test_report_gives_no_verdict_for_exploratory_numbers(tmp_path):
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
    assert "90 % \\[80, 100\\]°, suggestive" in text


def test_figures_have_the_verdicts_of_tables(tmp_path):
    rows = [
        made_runs.estimate("solo", "preference", 0.9, category=name, p_interval=1e-4, verdict=HOLDS)
        for name in ("all", "age")
    ]
    run = load_run(made_runs.write(tmp_path / "run", [made_runs.card("solo")], rows, [], DECLARED))
    (view, *_) = figures.of_probe(ReportSource(run), "pairs")
    drawn = {point.at["category"]: point.number.verdict for point in view.pictures[0].every}
    shown = {f.name: f.numbers[0].verdict for f in Report.of(run).findings}
    assert drawn == shown == {"all": HOLDS, "age": Verdict.SUGGESTIVE}


@pytest.mark.parametrize("name", probes.names())
def test_probe_declares_at_most_three_primary_numbers(name):
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
