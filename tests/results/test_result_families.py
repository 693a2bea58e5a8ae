"""A family is shown at its last step, by its own rows, with the checkpoints that it was counted from."""

from __future__ import annotations

import pytest

import made_runs
from trueprobe.errors import BadInput
from trueprobe.results.view import Report, ReportSource
from trueprobe.runs import load_run
from trueprobe.runs.families import families
from trueprobe.types import Verdict


def load(tmp_path, *args, **kwargs):
    return load_run(made_runs.write(tmp_path / "run", *args, **kwargs))


def numbers(tmp_path, estimates, cards):
    findings = Report.of(load(tmp_path, cards, estimates)).findings
    return [number for finding in findings for number in finding.numbers]


def test_a_family_has_its_own_row_with_the_values_of_its_checkpoints_behind_it(tmp_path):
    cards = made_runs.family("toy", 3)
    rows = [made_runs.estimate(card.name, "preference", 0.4, category="age") for card in cards]
    rows.append(
        made_runs.estimate(
            "toy", "preference", 0.45, category="age", verdict=Verdict.HOLDS, level="family", sd_seeds=0.2, n_seeds=3
        )
    )
    (number,) = numbers(tmp_path, rows, cards)
    assert (number.model, number.value, number.low, number.high) == ("toy", 0.45, 0.35, 0.55)
    assert (number.verdict, number.sd_seeds, number.n_seeds) == (Verdict.HOLDS, 0.2, 3)
    assert [seed.value for seed in number.seeds] == [0.4, 0.4, 0.4]


@pytest.mark.parametrize("verdict", [Verdict.LOW_COVERAGE, Verdict.FAILS_GATE])
def test_checkpoints_that_a_family_is_counted_without_are_none_of_its_seeds(verdict, tmp_path):
    cards = made_runs.family("toy", 4)
    verdicts = [Verdict.UNDECIDED] * 3 + [verdict]
    rows = [
        made_runs.estimate(card.name, "preference", 0.6 + i / 100, category="age", verdict=one)
        for i, (card, one) in enumerate(zip(cards, verdicts, strict=True))
    ]
    rows.append(made_runs.estimate("toy", "preference", 0.61, category="age", level="family", n_seeds=3))
    (number,) = numbers(tmp_path, rows, cards)
    assert (number.n_seeds, [seed.value for seed in number.seeds]) == (3, [0.6, 0.61, 0.62])


def test_of_several_steps_the_last_counts(tmp_path):
    cards = [made_runs.card(f"toy-step{s}", "toy", model_seed=0, step=s) for s in (100, 200)]
    rows = [made_runs.estimate(c.name, "preference", c.labels["step"] / 1000, category="age") for c in cards]
    run = load(tmp_path, cards, rows)
    (family,) = families(run.cards)
    assert (family.steps, family.last_step, family.n_seeds) == ([100, 200], 200, 1)
    assert [row.value for row in family.rows(run.estimates_of("pairs"))] == [0.2]
    assert [n.value for f in Report.of(run).findings for n in f.numbers] == [0.2]


def test_a_family_of_seeds_and_steps_has_the_row_of_its_last_step(tmp_path):
    cards = [
        made_runs.card(f"toy-seed{seed}-step{step}", "toy", model_seed=seed, step=step)
        for seed in range(2)
        for step in (100, 200)
    ]
    rows = [made_runs.estimate(card.name, "preference", 0.5, category="age") for card in cards]
    rows += [
        made_runs.estimate("toy", "preference", s / 1000, category="age", level="family", step=s) for s in (100, 200)
    ]
    (number,) = numbers(tmp_path, rows, cards)
    assert (number.value, len(number.seeds)) == (0.2, 2)


def test_an_interrupted_run_knows_the_families_that_answered(tmp_path):
    run = load(tmp_path, made_runs.family("toy", 2), complete=False)
    source = ReportSource(run)
    assert not source.counted
    assert not source.complete
    assert {family.name: family.n_seeds for family in source.families} == {"toy": 2}


def test_a_table_that_the_run_does_not_have_is_empty(tmp_path):
    report = Report.of(load(tmp_path, [made_runs.card("toy")], []))
    assert report.trust == ()
    assert report.claims is None


def test_a_folder_without_probes_is_refused(tmp_path):
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")])
    (folder / "probes.json").unlink()
    with pytest.raises(BadInput, match=r"no probes\.json"):
        _ = Report.of(load_run(folder)).sections
