"""Two models on one screen: both numbers and their difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import made_runs
from trueprobe.results.render import comparison as comparisons
from trueprobe.results.render.fitting import MOST_LINES
from trueprobe.runs.compare import ModelComparison
from trueprobe.statistics.rows import Difference
from trueprobe.types import Verdict

SUMMARY = replace(made_runs.SUMMARY, measures=("preference",), titles=("t",))


def cells(lines, start) -> list[str]:
    return next(line for line in lines if line.strip().startswith(start)).strip()[len(start) :].split()


def difference(category="age", a=0.52, b=0.49, **more) -> Difference:
    plain = {"probe": "pairs", "measure": "preference", "a": a, "b": b, "difference": a - b, "unit": "share"}
    plain |= {"low": a - b - 0.02, "high": a - b + 0.02, "n_items": 1508, "n_groups": 40, "n_seeds_a": 3}
    plain |= {"n_seeds_b": 3, "p": 0.2, "p_permutation": 0.25, "detectable": 0.1}
    return made_runs.row(Difference, {**plain, "p_corrected": 0.2}, {"category": category, **more})


def comparison(rows, **more):
    summaries = dict.fromkeys((row.probe for row in rows), SUMMARY)
    return ModelComparison("one", "other", rows, summaries, **more)


def compared(result) -> list[str]:
    console = Console(width=100, record=True, highlight=False)
    comparisons.show(result, Path("all.csv"), console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_a_comparison_has_both_numbers_and_their_difference():
    rows = [difference("age", p_corrected=0.0001, verdict=Verdict.HOLDS), difference("race", 0.50, 0.50)]
    lines = compared(comparison(rows))
    assert lines[0] == "a: one; b: other; on the items both scored, shares in percent"
    assert lines[1].split() == ["a", "b", "a", "−", "b", "[95", "%]", "p", "permuted"]
    assert lines[2] == "pairs: 1,508 items in 40 groups"
    assert cells(lines, "age: t") == ["52", "%", "49", "%", "+3.0", "[+1.0,", "+5.0]*", "<", "0.001", "0.250"]
    assert cells(lines, "race: t") == ["50", "%", "50", "%", "0.0", "[−2.0,", "+2.0]", "0.200", "0.250"]
    assert lines[-1] == "1 of 2 primary differences hold (false discovery rate 5 %); all: all.csv"


@pytest.mark.parametrize(("seeds", "named"), [((3, 1), True), ((2, 2), True), ((3, 5), False), ((1, 1), False)])
def test_too_few_seeds_are_named(seeds, named):
    lines = compared(comparison([difference(n_seeds_a=seeds[0], n_seeds_b=seeds[1])]))
    assert any(line.startswith("too few seeds on one side or both") for line in lines) is named


def test_ties_are_given_as_the_reason_where_nothing_can_be_compared():
    lines = compared(comparison([difference(), difference(probe="silent", verdict=Verdict.LOW_COVERAGE)]))
    assert "silent: low coverage on one side or both" in lines


def test_the_step_that_stands_for_a_family_is_named():
    result = replace(comparison([difference()]), a="run", b="mini", steps=(10000, None))
    assert compared(result)[0].startswith("a: run at step 10,000; b: mini; on the items both scored")


def test_probes_with_nothing_to_compare_are_named():
    rows = [difference(), difference(probe="silent", verdict=Verdict.TOO_FEW_GROUPS)]
    lines = compared(comparison(rows, apart=("others", "more")))
    assert "silent: too few items that both scored" in lines
    assert "prompted differently: others, more" in lines


def test_what_holds_is_never_cut():
    rows = [difference(f"c{n:02}", n_seeds_a=1, n_seeds_b=1) for n in range(60)]
    rows[55] = replace(rows[55], verdict=Verdict.HOLDS_FOR_CHECKPOINT)
    lines = compared(comparison(rows))
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 100
    assert cells(lines, "c55: t")[-3].endswith("]*")
    assert "pairs: 1,508 items in 40 groups; 35 more findings" in lines


def test_where_most_numbers_are_silent_the_fallback_is_compared():
    summary = replace(SUMMARY, where={"k": "10"}, fallback={"k": "all"})
    rows = [difference(k="10", verdict=Verdict.NOTHING_SCORED), difference(k="all", a=0.9, b=0.4)]
    result = replace(comparison(rows), summaries={"pairs": summary})
    assert cells(compared(result), "age: t")[:4] == ["90", "%", "40", "%"]
