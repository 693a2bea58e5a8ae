"""The matrix of headline findings: one rule chooses rows and columns."""

from __future__ import annotations

from itertools import pairwise

import made_runs
from trueprobe.probes.display import Primary
from trueprobe.results.view import Report, matrix
from trueprobe.runs import load_run
from trueprobe.types import Verdict

PUBLISHED, OPPOSITE, UNDECIDED = Verdict.AS_PUBLISHED, Verdict.OPPOSITE, Verdict.UNDECIDED


def report(folder, claims, models=("solo",), **more):
    cards = [made_runs.card(name) for name in models]
    return Report.of(load_run(made_runs.write(folder / "run", cards, [], claims, **more)))


def claim(name, verdict, model="solo", **more):
    return made_runs.claim(model, name, 0.0, verdict, p=0.5 if verdict is UNDECIDED else 0.0001, **more)


def names(made):
    return [finding.name for finding in made.rows]


def test_what_decides_goes_before_what_does_not(tmp_path):
    claims = [claim("a", UNDECIDED), claim("b", Verdict.FAILS_GATE), claim("c", PUBLISHED), claim("d", OPPOSITE)]
    made = report(tmp_path, claims)
    assert names(matrix(made, 1)) == ["c"]
    assert names(matrix(made, 2)) == ["c", "d"]
    assert names(matrix(made, 3)) == ["a", "c", "d"]  # in the order of the report
    assert names(matrix(made)) == ["a", "b", "c", "d"]


def test_fewer_rows_are_a_part_of_more(tmp_path):
    verdicts = (UNDECIDED, PUBLISHED, Verdict.NOTHING_SCORED, OPPOSITE, PUBLISHED)
    made = report(tmp_path, [claim(f"c{i}", verdict) for i, verdict in enumerate(verdicts * 2)])
    chosen = [set(names(matrix(made, most))) for most in range(1, 11)]
    assert all(few < more for few, more in pairwise(chosen))


def test_primary_numbers_go_before_exploratory_ones(tmp_path):
    declared = made_runs.declaration(primary=(Primary("preference", {}, ("b",)),))
    made = report(tmp_path, [claim("a", PUBLISHED), claim("b", UNDECIDED)], probe=declared)
    assert names(matrix(made, 1)) == ["b"]


def test_every_probe_has_a_row_while_there_is_room(tmp_path):
    claims = [claim(f"a{i}", PUBLISHED) for i in range(9)] + [claim("b", Verdict.NOTHING_SCORED, probe="others")]
    made = report(tmp_path, claims, labels=("pairs", "others"))
    assert names(matrix(made, 8)) == [*(f"a{i}" for i in range(7)), "b"]
    assert names(matrix(made, 1)) == ["a0"]


def test_of_too_many_families_those_with_most_verdicts_stay_in_their_order(tmp_path):
    claims = [claim("a", UNDECIDED, "one"), claim("a", PUBLISHED, "two"), claim("a", OPPOSITE, "three")]
    made = report(tmp_path, claims, ("one", "two", "three"))
    assert matrix(made).families == ("one", "two", "three")
    assert matrix(made, most_columns=2).families == ("two", "three")
    assert matrix(made, most_columns=2).n_families == 3


def test_a_family_without_a_number_has_an_empty_cell_and_pairs_have_no_row(tmp_path):
    claims = [claim("a", PUBLISHED, "two"), claim("b", PUBLISHED, "one − two", level="pair")]
    made = matrix(report(tmp_path, claims, ("one", "two")))
    assert names(made) == ["a"]
    (row,) = made.rows
    first, second = made.numbers(row)
    assert first is None
    assert second is not None
    assert second.model == "two"
    assert [mark.symbol for mark in made.key.marks] == ["*"]
