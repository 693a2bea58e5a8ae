"""False alarms are counted from answers that were given once: dealing the targets again equals asking again."""

from __future__ import annotations

import pytest

import toy_association
from trueprobe.sensitivity import associations, pointing
from trueprobe.sensitivity.measure import Dose, ask
from trueprobe.sensitivity.relabel import Answers
from trueprobe.types import NoProgress

NOBODY = Dose(assignment=0, dose=0.0, nats={0: 0.0})


@pytest.mark.slow
def test_relabelling_equals_asking_about_the_other_assignment(tmp_path):
    association = associations.read(str(toy_association.write(tmp_path)))
    folder = toy_association.checkpoint(tmp_path)

    def answers(number):
        dealt, here = association.assignment(number), tmp_path / f"{number}"
        probes = {name: pointing.settings(name, association, dealt, here) for name in pointing.pointed(association)}
        run = ask(probes, str(folder), here / "run", tmp_path / "store.sqlite", NoProgress())
        return Answers(run, association, number)

    first, second = answers(0), answers(1)
    relabelled, asked = list(first.rows(1, NOBODY)), list(second.rows(1, NOBODY))
    assert {row.probe for row in asked} == {"cloze", "pairs", "seat", "counteracts"}
    for mine, wanted in zip(relabelled, asked, strict=True):
        assert (mine.probe, mine.measure, mine.n_items) == (wanted.probe, wanted.measure, wanted.n_items)
        assert mine.value == pytest.approx(wanted.value, abs=1e-5, nan_ok=True), mine
    changed = [a.value != b.value for a, b in zip(first.rows(0, NOBODY), relabelled, strict=True)]
    assert sum(changed) > len(changed) / 2


@pytest.mark.slow
def test_rows_about_the_own_assignment_are_those_of_the_run(tmp_path):
    association = associations.read(str(toy_association.write(tmp_path)))
    settings = pointing.settings("cloze", association, association.assignment(0), tmp_path)
    run = ask({"cloze": settings}, str(toy_association.checkpoint(tmp_path)), tmp_path / "run", None, NoProgress())
    estimates = {one.measure: (one.value, one.low, one.high) for one in run.estimates_of("cloze")}
    for row in Answers(run, association, 0).rows(0, NOBODY):
        assert (row.value, row.low, row.high) == estimates[row.measure]
