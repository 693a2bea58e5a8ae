"""Contrasts: worked by hand, equal to regression coefficients, blind to nothing, and as wide as they should be."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from mixed_reference import data
from scipy import stats

from trueprobe.errors import BadInput
from trueprobe.statistics.contrasts import WHOLE, contrasts, factors_of
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import AT, CONTRAST, LEVELS, Unit, Verdict

A, B = ("a1", "a2"), ("b1", "b2")


def cells(*levels: tuple[str, ...], unit: Unit = Unit.NATS) -> list[Measure]:
    names = ("a", "b", "c")[: len(levels)]
    return [
        Measure("v", means, ("v",), dict(zip(names, at, strict=True)), dict(zip(names, at, strict=True)), unit)
        for at in itertools.product(*levels)
    ]


def frame(values: dict[tuple[str, ...], list[float]], names=("a", "b", "c")) -> pd.DataFrame:
    """Item i of every cell is of group i."""
    rows = [
        {**{f"condition_{n}": level for n, level in zip(names, at, strict=False)}, "v": v, "group": f"g{i:03d}"}
        for at, listed in values.items()
        for i, v in enumerate(listed)
    ]
    made = pd.DataFrame(rows)
    return made.assign(item=[str(i) for i in range(len(made))], part="", why_not="", group_group=made["group"])


def checkpoint(table: pd.DataFrame, seed: int = 0) -> CheckpointData:
    drawn = Resampling.of(table[["group"]], resamples=2000)
    return CheckpointData(f"m{seed}", "masked", table, drawn, "m", {"model_seed": seed})


def values(table: pd.DataFrame, measures: list[Measure]) -> dict[tuple[str, str], float]:
    rows = estimate("p", [checkpoint(table)], measures)
    return {(row.conditions[CONTRAST], row.conditions[AT]): row.value for row in rows}


TWO_BY_TWO = {("a1", "b1"): [1.0, 3.0], ("a1", "b2"): [2.0, 4.0], ("a2", "b1"): [5.0, 7.0], ("a2", "b2"): [10.0, 14.0]}


def test_a_two_by_two_by_hand():
    """Cell means 2, 3, 6 and 12."""
    assert values(frame(TWO_BY_TWO), contrasts("a × b", cells(A, B))) == {
        ("a", WHOLE): (6 + 12) / 2 - (2 + 3) / 2,
        ("a at each b", "b = b1"): 6 - 2,
        ("a at each b", "b = b2"): 12 - 3,
        ("b", WHOLE): (3 + 12) / 2 - (2 + 6) / 2,
        ("b at each a", "a = a1"): 3 - 2,
        ("b at each a", "a = a2"): 12 - 6,
        ("a × b", WHOLE): (12 - 3) - (6 - 2),
    }


def test_every_cell_counts_the_same_however_many_items_it_has():
    more = TWO_BY_TWO | {("a1", "b1"): [1.0, 3.0] * 5}
    assert values(frame(more), contrasts("a × b", cells(A, B))) == values(
        frame(TWO_BY_TWO), contrasts("a × b", cells(A, B))
    )


@pytest.mark.parametrize("shape", [(A, B), (A, B, ("c1", "c2"))])
def test_they_are_the_coefficients_of_a_regression_on_factors_coded_by_one_half(shape):
    """Of a saturated regression, whose cells hold different numbers of items."""
    rng = np.random.default_rng(1)
    made = {at: rng.normal(size=rng.integers(3, 9)).tolist() for at in itertools.product(*shape)}
    ours = values(frame(made), contrasts(" x ".join("abc"[: len(shape)]), cells(*shape)))
    y = np.concatenate(list(made.values()))
    codes = np.repeat(
        [[(-0.5, 0.5)[level.endswith("2")] for level in at] for at in made], [*map(len, made.values())], 0
    )
    terms = [t for n in range(1, len(shape) + 1) for t in itertools.combinations(range(len(shape)), n)]
    design = np.stack([np.ones(len(y)), *(codes[:, list(term)].prod(axis=1) for term in terms)], axis=1)
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0][1:]
    for term, coefficient in zip(terms, coefficients, strict=True):
        assert ours[" × ".join("abc"[i] for i in term), WHOLE] == pytest.approx(coefficient)


def test_values_are_subtracted_in_their_order_and_each_pair_of_three():
    made = contrasts("a:b", cells(("low", "mid", "high"), B))
    assert [m.reported[LEVELS] for m in made if m.reported[CONTRAST] == "a"] == [
        "mid − low",
        "high − low",
        "high − mid",
    ]
    assert sum(m.reported[CONTRAST] == "a × b" for m in made) == 3


def test_a_cell_without_a_scored_item_leaves_the_contrast_unknown():
    made = frame(TWO_BY_TWO)
    made.loc[made["condition_a"].eq("a2") & made["condition_b"].eq("b2"), "v"] = np.nan
    known = values(made, contrasts("a*b", cells(A, B)))
    assert known["a at each b", "b = b1"] == 4
    assert all(np.isnan(known[key]) for key in [("a", WHOLE), ("b", WHOLE), ("a × b", WHOLE)])


def test_an_interaction_of_shares_may_exceed_one_and_its_interval_is_not_cut_at_one():
    answers = {at: [float(at in (("a1", "b1"), ("a2", "b2")))] * 30 for at in itertools.product(A, B)}
    (row,) = (
        row
        for row in estimate("p", [checkpoint(frame(answers))], contrasts("a × b", cells(A, B, unit=Unit.SHARE)))
        if row.conditions[CONTRAST] == "a × b"
    )
    assert (row.value, row.high) == (2.0, 2.0)
    assert 1 < row.low < 2
    assert row.verdict is Verdict.HOLDS_FOR_CHECKPOINT


def test_the_groups_are_those_of_the_cell_that_has_fewest():
    few = {("a1", "b1"): [0.0] * 9, ("a1", "b2"): [1.0] * 9, ("a2", "b1"): [1.0] * 4, ("a2", "b2"): [0.0] * 9}
    rows = estimate("p", [checkpoint(frame(few))], contrasts("a × b", cells(A, B)))
    assert {row.conditions[CONTRAST]: row.n_groups for row in rows}["a × b"] == 4
    assert next(row for row in rows if row.conditions[AT] == "b = b2").n_groups == 9


def test_two_models_are_compared_in_an_interaction():
    rng = np.random.default_rng(2)
    one, other = (
        frame({at: (rng.normal(size=40) + shift * (at == ("a2", "b2"))).tolist() for at in itertools.product(A, B)})
        for shift in (5.0, 0.0)
    )
    sides = Sides.of([checkpoint(one)], [checkpoint(other, 1)], ["group"])
    (row,) = (r for r in compare("p", sides, contrasts("a × b", cells(A, B))) if r.conditions[CONTRAST] == "a × b")
    assert row.difference == pytest.approx(row.a - row.b)
    assert 3 < row.low < row.high < 7
    assert row.verdict is Verdict.HOLDS_FOR_CHECKPOINT


def test_a_measure_can_be_sent_to_another_process():
    (first, *_) = contrasts("a × b", cells(A, B))
    again = pickle.loads(pickle.dumps(first))
    assert again.columns == first.columns
    assert [c.where for c in again.columns[1:]] == [c.where for c in first.columns[1:]]


@pytest.mark.parametrize("text", ["a × b", "a x b", "a*b", "a:b", " a  ×  b "])
def test_how_a_contrast_may_be_written(text):
    assert factors_of(text, ["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attrctor × b", "'attrctor' is no condition; did you mean 'attractor'"),
        ("a × a", "different conditions"),
        ("a × b × c × d", "one to 3 different conditions"),
        ("", "'' is no condition"),
    ],
)
def test_a_wrong_contrast_is_refused(text, message):
    with pytest.raises(BadInput, match=message):
        factors_of(text, ["a", "b", "c", "d", "attractor"])


def test_a_design_with_an_empty_combination_has_the_differences_of_the_others():
    made = contrasts("a × b", cells(("a1", "a2", "a3"), B)[:-1])
    assert {m.reported[LEVELS] for m in made if m.reported[CONTRAST] == "a × b"} == {"(a2 − a1) × (b2 − b1)"}
    with pytest.raises(BadInput, match="no combination of values is complete"):
        contrasts("a × b", cells(A, B)[:-1])


def test_too_many_differences_are_refused():
    many = tuple(f"a{i}" for i in range(30))
    with pytest.raises(BadInput, match="conditions with fewer values"):
        contrasts("a × b", cells(many, B))


MIXED = {"a": (0.238635, 0.154081), "b": (-0.372469, 0.224967), "a × b": (0.690667, 0.222353)}  # estimate, se
CLUSTERED = {"a": 0.154887, "b": 0.226148, "a × b": 0.223521}  # se of least squares


def test_estimates_and_standard_errors_are_those_of_a_mixed_model_with_random_slopes():
    """statsmodels 0.15.0, y ~ a * b with random intercepts and slopes by group: mixed_reference.py."""
    made = data()
    table = pd.DataFrame({"condition_a": made["a"], "condition_b": made["b"], "v": made["y"], "group": made["group"]})
    levels = (made["a"].unique().tolist(), made["b"].unique().tolist())
    rows = {
        row.conditions[CONTRAST]: row
        for row in estimate("p", [checkpoint(table)], contrasts("a × b", cells(*levels)))
        if row.conditions[AT] == WHOLE
    }
    for term, (value, error) in MIXED.items():
        row = rows[term]
        assert row.value == pytest.approx(value, abs=1e-6)
        ours = (row.high - row.low) / 2 / stats.t.ppf(0.975, 23)
        assert ours == pytest.approx(error, rel=0.08)
        assert ours == pytest.approx(CLUSTERED[term], rel=0.08)
