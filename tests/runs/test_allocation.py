"""Items per group: nested, deterministic, and weighted back to the whole dataset."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import trueprobe
from trueprobe.errors import BadInput
from trueprobe.runs.allocation import ALL, Choice, design, per_group
from trueprobe.runs.design import Looker
from trueprobe.runs.pilot import Basis, Cost
from trueprobe.runs.study import make_study
from trueprobe.statistics.means import group_means, means, pearson
from trueprobe.statistics.measure import WEIGHT, Columns, Measure, counted
from trueprobe.statistics.power import FacetVariances
from trueprobe.types import Item

SIZES = {("a", "x"): 30, ("a", "y"): 10, ("b", "x"): 4, ("c", "y"): 7}


def items(sizes=SIZES):
    named = ((g, c, i) for (g, c), many in sizes.items() for i in range(many))
    return [Item(f"{g}/{c}/{i}", "text", {"kind": c}, (g,)) for g, c, i in named]


def test_items_per_group_are_nested_and_the_same_each_time():
    every = items()
    drawn = {n: {item.id for item in per_group(every, n)[0]} for n in (1, 2, 5, 100)}
    assert drawn[1] < drawn[2] < drawn[5] < drawn[100] == {item.id for item in every}
    assert {item.id for item in per_group(every[::-1], 2)[0]} == drawn[2]
    assert len(drawn[2]) == 2 * len(SIZES)


def test_weights_add_up_to_the_dataset():
    chosen, weights = per_group(items(), 2)
    assert sum(weights.values()) == pytest.approx(sum(SIZES.values()))
    assert weights[chosen[0].id] == 15
    assert per_group(items(), 100)[1] == {}


def test_weighted_means_equal_the_full_ones_where_items_of_a_group_are_alike():
    every, value = items(), {("a", "x"): 1.0, ("a", "y"): 5.0, ("b", "x"): 2.0, ("c", "y"): -4.0}
    chosen, weights = per_group(every, 3)
    cells = {"a": 0, "b": 1, "c": 2}

    def columns(some, weighted):
        x = np.array([value[item.groups[0], item.conditions["kind"]] for item in some])
        plain = {"x": x, "y": x**2}
        plain |= {WEIGHT: np.array([weights[item.id] for item in some])} if weighted else {}
        return Columns(plain, np.array([cells[item.groups[0]] for item in some]))

    draws = np.random.default_rng(0).multinomial(3, [1 / 3] * 3, size=50).astype(np.float32)
    whole, balanced = columns(every, False), columns(chosen, True)
    for function, quantity in ((means, ("x",)), (group_means, ("x",)), (pearson, ("x", "y"))):
        expected, found = (counted(function, [quantity], [one], draws)[0, 0] for one in (whole, balanced))
        assert found == pytest.approx(expected, nan_ok=True)
    unweighted = counted(means, [("x",)], [columns(chosen, False)], draws)[0, 0]
    assert not np.allclose(unweighted, counted(means, [("x",)], [whole], draws)[0, 0], equal_nan=True)


def test_a_design_counts_items_by_their_weights():
    """Of 40 items, 30 and 10 of two conditions, 2 each: 1 / (0.75² / 2 + 0.25² / 2) = 3.2."""
    every, choice = items({("a", "x"): 30, ("a", "y"): 10, ("b", "x"): 40}), Choice(per_group=2)
    made = design(every, choice.of(every), choice, seeds=3)
    assert made.shares.tolist() == [0.5, 0.5]
    assert made.items == pytest.approx([3.2, 2.0])
    assert design(every, every, ALL, 3).items == pytest.approx([40.0, 40.0])


def test_a_run_of_items_per_group_keeps_its_weights(checkpoint, tmp_path):
    model = str(checkpoint("bert"))
    run = trueprobe.run("pairs", model, tmp_path / "few", settings={"conditions": "none"}, per_group=1)
    assert run.manifest.study.per_group == 1
    assert run.observations("pairs")[WEIGHT].sum() == pytest.approx(24)
    assert "per_group:1" in run.estimates_of("pairs")[0].signature
    plain = trueprobe.run("pairs", model, tmp_path / "pairs", per_group=1)
    assert WEIGHT not in plain.observations("pairs")  # each condition has one pair of a group: all are drawn


def looker(variances, unit="share", neutral=0.5, effect=0.05):
    every = items({(f"g{i}", "x"): 1 for i in range(20)})
    basis = Basis("m", None, 3, None, every, (), Cost(), "pilot")
    return Looker(basis, Measure("m", means, ("x",), unit=unit, neutral=neutral), variances, effect, 0.05)


def test_a_plan_knows_where_a_unit_ends_and_what_few_groups_leave():
    none = FacetVariances(0.0, 0.0, 0.0, n_seeds=3, n_groups=20, n_items=20)
    still = looker(none).look(3, ALL)
    assert still.width == pytest.approx(1 - 0.025 ** (1 / 20))  # 0 of 20 is [0, 0.17]
    assert still.power == 0.0
    assert looker(none, effect=0.3).look(3, ALL).power == 1.0
    assert looker(none, unit="nats", neutral=0.0).look(3, ALL).width == 0.0
    wild = looker(FacetVariances(4.0, 0.0, 9.0, n_seeds=3, n_groups=20, n_items=20)).look(2, ALL)
    assert wild.width == 1.0
    assert wild.detectable == math.inf


def test_limit_and_items_per_group_are_not_combined(checkpoint):
    with pytest.raises(BadInput, match="two ways"):
        make_study("pairs", "mini", limit=3, per_group=2)


def test_numbers_of_one_seed_with_weights_have_no_exact_binomial_interval(tmp_path):
    from trueprobe.statistics.estimates import CheckpointData, unjudged
    from trueprobe.statistics.resampling import Resampling

    rows = {"item": list("abcdefgh"), "part": "", "group_g": list("abcdefgh"), "x": [1.0, 0, 1, 1, 0, 1, 1, 1]}
    frame = pd.DataFrame(rows)
    for weights, method in (((1.0,) * 8, "exact"), ((1.0, 9.0, 1, 1, 1, 1, 1, 1), "bootstrap")):
        some = frame.assign(**({WEIGHT: weights} if method == "bootstrap" else {}))
        drawn = Resampling.of(some[["group_g"]].rename(columns={"group_g": "g"}), 200)
        member = CheckpointData("m", "masked", some, drawn)
        (row,) = unjudged("p", [member], [Measure("m", means, ("x",), unit="share", neutral=0.5)])
        assert row.estimate.method.startswith(method)
        assert row.estimate.value == pytest.approx(6 / 8 if method == "exact" else 6 / 16)
