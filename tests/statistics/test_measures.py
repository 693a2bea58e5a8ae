"""Means and correlations: worked by hand, blind to what is not scored, and the same as counting rows twice."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pytest

from trueprobe.probes.measure_sets import (
    clearly_for,
    lower_quartile,
    median,
    ties,
    upper_quartile,
    wins,
    wins_of_decided,
)
from trueprobe.probes.stereoset.measures import icat, icat_by_term
from trueprobe.statistics import Columns, measure
from trueprobe.statistics.association import effect_size, effect_size_ddof0
from trueprobe.statistics.means import group_means, means, pearson
from trueprobe.statistics.measure import cell_sums, counted, totals
from trueprobe.statistics.ranking import commonest_share

NAN = np.nan


def columns(cells, **values) -> Columns:
    return Columns({name: np.array(column, dtype=float) for name, column in values.items()}, np.array(cells))


def once(cells: int) -> np.ndarray:
    return np.ones((1, cells))


# ---------------------------------------------------------------- means


def test_each_observation_counts_once_whatever_its_cells_size():
    result = means(columns([0, 0, 0, 1], v=[1, 2, 3, 10]), [("v",)], once(2))
    assert result == pytest.approx(np.array([[4.0]]))  # 16 / 4, not (2 + 10) / 2


def test_every_group_counts_once_whatever_its_size():
    result = group_means(columns([0, 0, 0, 1, 2], v=[1, 2, 3, 10, NAN]), [("v",)], np.array([[1, 1, 1], [3, 1, 5.0]]))
    assert result[:, 0] == pytest.approx([(2 + 10) / 2, (3 * 2 + 10) / 4])  # the third group has nothing scored


def test_a_weighted_mean_by_hand():
    result = means(columns([0, 0, 0, 1], v=[1, 2, 3, 10]), [("v",)], np.array([[1, 3], [2, 0], [0, 1.0]]))
    assert result[:, 0] == pytest.approx([(6 + 30) / (3 + 3), 12 / 6, 10])


def test_what_is_not_scored_counts_nowhere():
    result = means(columns([0, 0, 1, 1], v=[1, NAN, 3, NAN], w=[NAN, NAN, NAN, 8]), [("v",), ("w",)], once(2))
    assert result == pytest.approx(np.array([[2.0, 8.0]]))


def test_a_resample_with_nothing_scored_is_nan():
    result = means(columns([0, 1], v=[5, NAN]), [("v",)], np.array([[1, 1], [0, 2], [0, 0.0]]))
    assert result[0, 0] == 5
    assert np.isnan(result[1:, 0]).all()


def test_a_share_is_the_mean_of_zeros_and_ones():
    assert means(columns([0, 1, 2, 3], v=[1, 0, 1, 1]), [("v",)], once(4))[0, 0] == 0.75


def test_cells_without_rows_change_nothing():
    picked = columns([4, 4, 7], v=[1, 2, 6])
    weights = np.arange(20.0).reshape(2, 10) + 1
    by_hand = [(3 * w[4] + 6 * w[7]) / (2 * w[4] + w[7]) for w in weights]
    assert means(picked, [("v",)], weights)[:, 0] == pytest.approx(by_hand)


def test_several_quantities_are_as_each_alone():
    both = columns([0, 1, 1, 2], v=[1, 2, NAN, 4], w=[3, NAN, 5, 9])
    weights = np.random.default_rng(0).integers(0, 4, (6, 3)).astype(float)
    together = means(both, [("v",), ("w",)], weights)
    for i, name in enumerate("vw"):
        np.testing.assert_allclose(together[:, [i]], means(both, [(name,)], weights))


def test_picking_rows_keeps_their_cells():
    picked = columns([0, 1, 2], v=[1, 2, 3]).pick(np.array([False, True, True]))
    assert picked.cells.tolist() == [1, 2]
    assert means(picked, [("v",)], np.array([[9, 1, 3.0]]))[0, 0] == pytest.approx(11 / 4)


def test_cell_sums_by_hand():
    stacked = np.array([[1.0, 2, 4], [10, 20, 40]])
    assert cell_sums(np.array([2, 0, 2]), stacked, 4).tolist() == [[2, 0, 5, 0], [20, 0, 50, 0]]
    assert cell_sums(np.array([], dtype=int), stacked[:, :0], 1).tolist() == [[0.0], [0.0]]


def test_totals_by_hand(monkeypatch: pytest.MonkeyPatch):
    cells, stacked, weights = (
        np.array([2, 0, 2]),
        np.array([[1.0, 2, 4]]),
        np.array([[1, 9, 1], [3, 9, 0], [0, 9, 2.0]]),
    )
    by_hand = [[2 + 5, 3 * 2, 2 * 5]]
    assert totals(cells, stacked, weights).tolist() == by_hand
    monkeypatch.setattr(measure, "_AT_ONCE", 4)  # two draws at a time
    assert totals(cells, stacked, weights.copy()).tolist() == by_hand
    monkeypatch.setattr(measure, "_MOST_CACHED", 0)
    assert totals(cells, stacked, weights).tolist() == by_hand


def test_what_is_made_of_weights_once_is_of_those_weights_and_cells_alone():
    """Interleaved calls give what a fresh process gives; the weights themselves are not kept alive."""
    rng = np.random.default_rng(0)
    stacked, cells = rng.normal(size=(2, 12)), np.repeat(np.arange(4), 3)
    drawn = [rng.integers(0, 3, (50, 4)).astype(np.float32) for _ in range(2)]
    for weights in (*drawn, *drawn):
        for rows in (cells >= 0, cells < 2, cells != 1):
            by_hand = stacked[:, rows] @ weights[:, cells[rows]].T
            np.testing.assert_allclose(totals(cells[rows], stacked[:, rows], weights), by_hand, rtol=1e-12)
    last = weakref.ref(drawn.pop())
    del weights
    assert last() is None


def test_quartiles_share_what_is_ordered_and_nothing_else():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, (40, 30)).astype(np.float32)
    for seed in range(3):
        nats = np.random.default_rng(seed).normal(size=30)
        columns = Columns({"nats": nats}, np.arange(30))
        for function, share in ((lower_quartile, 0.25), (median, 0.5), (upper_quartile, 0.75)):
            by_hand = [np.sort(np.repeat(nats, w))[math.ceil(share * w.sum()) - 1] for w in weights.astype(int)]
            assert function(columns, [("nats",)], weights)[:, 0].tolist() == by_hand


# ---------------------------------------------------------------- many at once


def random_members(rng: np.random.Generator, n: int, cells: np.ndarray) -> list[Columns]:
    """Numbers, shares, codes and sides with gaps in various places."""
    return [
        columns(
            cells,
            x=np.where(rng.random(len(cells)) < 0.1, NAN, rng.normal(size=len(cells))),
            share=np.where(rng.random(len(cells)) < 0.1, NAN, rng.integers(0, 3, len(cells)) / 2),
            side=rng.integers(0, 2, len(cells)),
        )
        for _ in range(n)
    ]


ONE_COLUMN = (
    *(means, group_means, commonest_share, median, upper_quartile),
    *(wins, ties, clearly_for, wins_of_decided),
)
TWO_COLUMNS = (pearson, effect_size, effect_size_ddof0, icat, icat_by_term)


@pytest.mark.parametrize("function", [*ONE_COLUMN, *TWO_COLUMNS])
def test_many_measures_of_many_members_are_as_one_at_a_time(function):
    rng = np.random.default_rng(3)
    members = random_members(rng, 4, rng.integers(0, 30, 80))
    weights = np.asfortranarray(rng.poisson(1.0, (200, 40)).astype(np.float32))
    single: list[tuple[str, ...]] = [("x",), ("share",)]
    quantities = single if function in ONE_COLUMN else [("x", "side"), ("share", "side")]
    together = counted(function, quantities, members, weights)
    assert together.shape == (4, 2, 200)
    for i, member in enumerate(members):
        for j, quantity in enumerate(quantities):
            np.testing.assert_allclose(together[i, j], function(member, [quantity], weights)[:, 0], rtol=1e-12)


def test_members_out_of_step_are_counted_too():
    rng = np.random.default_rng(4)
    members = [random_members(rng, 1, np.arange(n) % 7)[0] for n in (30, 20, 0)]
    weights = rng.poisson(1.0, (50, 7)).astype(float)
    together = counted(means, [("x",)], members, weights)
    for values, member in zip(together[:2], members, strict=False):
        np.testing.assert_array_equal(values[0], means(member, [("x",)], weights)[:, 0])
    assert np.isnan(together[2]).all()


# ---------------------------------------------------------------- weights are repetitions


def data(rows: int = 60, cells: int = 12):
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, rows))
    y = y + 0.5 * x
    x[::11], y[::13] = NAN, NAN
    return columns(rng.permutation(np.arange(rows) % cells), x=x, y=y)


def repeated(columns: Columns, weights: np.ndarray) -> Columns:
    rows = np.repeat(np.arange(len(columns.cells)), weights[columns.cells].astype(int))
    return columns.pick(rows)


@pytest.mark.parametrize(("function", "quantity"), [(means, ("x",)), (pearson, ("x", "y"))])
@pytest.mark.parametrize("seed", range(5))
def test_weighting_a_cell_twice_is_repeating_its_rows(function, quantity, seed):
    drawn = np.random.default_rng(seed).multinomial(12, np.full(12, 1 / 12)).astype(float)
    weighted = function(data(), [quantity], drawn[None])
    assert weighted == pytest.approx(function(repeated(data(), drawn), [quantity], once(12)))


@pytest.mark.parametrize(("function", "quantity"), [(means, ("x",)), (pearson, ("x", "y"))])
def test_the_scale_of_the_weights_does_not_matter(function, quantity):
    assert function(data(), [quantity], once(12) * 3) == pytest.approx(function(data(), [quantity], once(12)))


# ---------------------------------------------------------------- correlation


def correlate(x, y, weights=None) -> float:
    result = columns(range(len(x)), x=x, y=y)
    return float(pearson(result, [("x", "y")], once(len(x)) if weights is None else np.array([weights]))[0, 0])


def test_correlation_by_hand():
    # deviations -1 0 1 and -1 1 0: covariance 1, both variances 2
    assert correlate([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)


def test_correlation_is_numpys():
    picked = data()
    x, y = picked.values["x"], picked.values["y"]
    known = ~np.isnan(x + y)
    result = pearson(picked, [("x", "y"), ("y", "x")], once(12))[0]
    assert result == pytest.approx([np.corrcoef(x[known], y[known])[0, 1]] * 2)


def test_correlation_weighted_is_numpys_over_repeated_rows():
    picked, drawn = data(), np.array([3, 0, 1, 2, 0, 1, 1, 0, 2, 1, 1, 0.0])
    again = repeated(picked, drawn)
    x, y = again.values["x"], again.values["y"]
    known = ~np.isnan(x + y)
    assert pearson(picked, [("x", "y")], drawn[None])[0, 0] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1])


def test_turning_a_column_round_flips_the_sign():
    picked = data()
    x, y = picked.values["x"], picked.values["y"]
    turned = Columns({"x": -3 * x + 100, "y": y}, picked.cells)
    assert pearson(turned, [("x", "y")], once(12)) == pytest.approx(-pearson(picked, [("x", "y")], once(12)))


def test_a_line_correlates_fully():
    assert correlate([1, 2, 4], [10, 20, 40]) == pytest.approx(1)
    assert correlate([1, 2, 4], [-10, -20, -40]) == pytest.approx(-1)


def test_a_large_offset_loses_no_digits():
    assert correlate([1e9 + 1, 1e9 + 2, 1e9 + 3], [1, 3, 2]) == pytest.approx(0.5)


@pytest.mark.parametrize("x", [[2, 2, 2], [0.1, 0.1, 0.1], [NAN, NAN, NAN], [1, NAN, NAN]])
def test_a_constant_column_has_no_correlation(x):
    assert np.isnan(correlate(x, [1, 3, 2]))
    assert np.isnan(correlate([1, 3, 2], x))


def test_a_resample_of_one_cell_has_no_correlation():
    assert np.isnan(correlate([1, 2, 3], [1, 3, 2], weights=[3, 0, 0.0]))


def test_a_column_that_is_constant_in_a_resample_has_no_correlation_there():
    rng = np.random.default_rng(6)
    x = np.full(40, rng.uniform())
    x[:2] = rng.uniform(size=2)
    left_out = np.array([0.0, 0.0] + [1.0] * 38)
    assert np.isnan(correlate(x, rng.uniform(3, 95, 40), weights=left_out))


def test_independent_columns_rarely_correlate():
    """Null rate: |r| beyond 1.96 / sqrt(n) in about one of twenty."""
    rng = np.random.default_rng(1)
    n, sets = 100, 400
    values = {f"{name}{i}": rng.normal(size=n) for name in "xy" for i in range(sets)}
    result = pearson(Columns(values, np.arange(n)), [(f"x{i}", f"y{i}") for i in range(sets)], once(n))[0]
    assert 0.02 <= np.mean(np.abs(result) > 1.96 / np.sqrt(n)) <= 0.09
