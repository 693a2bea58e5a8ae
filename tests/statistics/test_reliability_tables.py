"""The tables of a run beside its estimates: where variance comes from, SEAT over seeds, disagreeing diagnostics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trueprobe.statistics.disagreement import between, claims
from trueprobe.statistics.interval import Interval
from trueprobe.statistics.rows import Agreement, Disagreement, Estimate, SignAgreement, Tail
from trueprobe.statistics.seed_tables import sign_counts, variance
from trueprobe.statistics.spread import Components
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.verdict import Share
from trueprobe.types import Unit, Verdict


def unjudged(value=1.0, p=0.5, level="family", interval_p=None, model="m", tested=False, **more) -> Unjudged:
    made = {name: more.pop(name) for name in ("se", "parts") if name in more}
    beside = {name: more.pop(name) for name in ("seed_values", "covered", "passes") if name in more}
    fixed = {"probe": "p", "measure": "v", "unit": Unit.SHARE, "neutral": 0.0, "method": "", "n_items": 9}
    fixed |= {"n_unscored": 0, "n_groups": 9, "low": value - 1, "high": value + 1, "conditions": {}, "n_seeds": 5}
    fixed |= more
    estimate = Estimate(model=model, value=value, p=p, level=level, family="m", **fixed)
    return Unjudged(estimate, Interval(p=p if interval_p is None else interval_p, **made), tested=tested, **beside)


# ---------------------------------------------------------------- variance


def test_where_variance_comes_from_by_hand():
    """Five seeds; of their mean: items 0.05, seeds 0.03, of which single answers 0.01."""
    (row,) = variance([unjudged(parts=Components(0.05, 0.03, 0.01, 5))])
    assert row.variance_items == pytest.approx(0.04)
    assert row.variance_seeds == pytest.approx(5 * 0.02)
    assert row.variance_seeds_by_items == pytest.approx(0.05)
    assert np.isnan(row.variance_wordings)
    assert row.share_seeds == pytest.approx(0.10 / 0.19)


def test_wordings_count_once_in_the_row_that_pools_them():
    parts = Components(0.05, 0.03, 0.01, 5)
    values = {"x": 1.0, "y": 3.0, "all": 2.0}
    rows = variance([unjudged(v, parts=parts, conditions={"wording": w, "k": "3"}) for w, v in values.items()])
    assert [dict(row.conditions) for row in rows] == [{"wording": "all", "k": "3"}]
    assert rows[0].variance_wordings == 2.0
    shares = [getattr(rows[0], f"share_{name}") for name in ("items", "seeds", "seeds_by_items", "wordings")]
    assert sum(shares) == pytest.approx(1)


def test_a_single_checkpoint_has_a_row_only_where_it_has_wordings():
    assert variance([unjudged(level="checkpoint", se=0.1)]) == []
    values = {"x": 1, "y": 2, "all": 1.5}
    rows = variance([unjudged(v, level="checkpoint", se=0.1, conditions={"wording": w}) for w, v in values.items()])
    assert [(row.variance_items, row.variance_wordings) for row in rows] == [(pytest.approx(0.01), 0.5)]


# ---------------------------------------------------------------- signs


def runs(*value_p: tuple[float, float], tail: Tail = Tail.UPPER) -> list[Unjudged]:
    """Their intervals all hold neutral: the test's p alone decides."""
    rows = [unjudged(v, p, "checkpoint", 0.5, f"m{i}", tested=True) for i, (v, p) in enumerate(value_p)]
    return [replace(row, tail=tail) for row in rows]


ONE_SIDED = [
    ([(1.0, 0.001), (0.9, 0.002)], SignAgreement.ALL, 2, 0),
    ([(0.1, 0.4), (0.1, 0.4)], SignAgreement.ALL, 0, 0),
    ([(0.1, 0.4), (-0.1, 0.6)], SignAgreement.NOT_SIGNIFICANT, 0, 0),
    ([(1.0, 0.001), (0.1, 0.4)], SignAgreement.SOME_ONLY, 1, 0),
    ([(1.0, 0.01), (-0.1, 0.6)], SignAgreement.SOME_ONLY, 1, 0),
    ([(1.0, 0.001), (-1.0, 0.999)], SignAgreement.BOTH_DIRECTIONS, 1, 1),
]


@pytest.mark.parametrize(("values", "agreement", "above", "below"), ONE_SIDED)
def test_how_many_runs_are_significant_and_which_way(values, agreement, above, below):
    (row,) = sign_counts(runs(*values))
    assert (row.agreement, row.significant_above, row.significant_below) == (agreement, above, below)
    assert row.n_seeds == 2


@pytest.mark.parametrize(("values", "agreement", "above", "below"), ONE_SIDED)
def test_swapping_x_and_y_swaps_the_sides_of_signs(values, agreement, above, below):
    (row,) = sign_counts(runs(*((-v, 1 - p) for v, p in values)))
    assert (row.agreement, row.significant_above, row.significant_below) == (agreement, below, above)


@pytest.mark.parametrize(
    ("values", "agreement", "above", "below"),
    [
        ([(1.0, 0.001), (-1.0, 0.001)], SignAgreement.BOTH_DIRECTIONS, 1, 1),
        ([(1.0, 0.001), (-0.01, 0.995)], SignAgreement.SOME_ONLY, 1, 0),  # as near to neutral as can be
    ],
)
def test_a_two_sided_test_is_significant_on_the_side_of_the_value(values, agreement, above, below):
    (row,) = sign_counts(runs(*values, tail=Tail.BOTH))
    assert (row.agreement, row.significant_above, row.significant_below) == (agreement, above, below)


def test_measures_without_a_test_and_single_runs_have_no_row():
    assert sign_counts([unjudged(level="checkpoint"), unjudged(level="checkpoint")]) == []
    assert sign_counts(runs((1.0, 0.001))) == []


# ---------------------------------------------------------------- disagreement


def score(value, category, neutral=0.5, seeds=(), se=0.02, direction="all", **more) -> Unjudged:
    conditions = {"category": category, "direction": direction}
    parts = (
        Components((se * 2 * neutral) ** 2, float(np.var(seeds, ddof=1)) / len(seeds), 0.0, len(seeds))
        if seeds
        else None
    )
    level = "family" if seeds else "checkpoint"
    beside = {"parts": parts, "seed_values": tuple(seeds), "se": se * 2 * neutral, "n_seeds": len(seeds) or 1}
    return unjudged(value, level=level, neutral=neutral, conditions=conditions, n_groups=100, **beside, **more)


def disagreements(first: list[Unjudged], second: list[Unjudged]) -> list[Disagreement]:
    return [row for row, _ in between({"crows": first, "stereo": second}, {"crows": "v", "stereo": "v"})]


def test_a_difference_between_two_diagnostics_by_hand():
    """0.70 and 52 of 100 (0.52), each with se 0.02 over 100 groups: t of 99 degrees of freedom is 1.984, and the
    squares of both reaches add: 1.984 · 0.02 · √2 = 0.0561."""
    (row,) = disagreements([score(0.70, "religion")], [score(52.0, "religion", neutral=50.0)])
    assert (row.first_value, row.second_value, row.difference) == pytest.approx((0.70, 0.52, 0.18))
    assert (row.low, row.high) == pytest.approx((0.18 - 0.0561, 0.18 + 0.0561), abs=1e-4)
    assert row.agreement is Agreement.FIRST_ABOVE


def test_a_difference_between_two_diagnostics_over_seeds_by_hand():
    """Seed by seed 0.1, 0.2 and 0.3 apart: the variance of their mean is 0.01 / 3, t 4.3027. With the items of both,
    √(2 · (1.984 · 0.02)² + 4.3027² · 0.00333) = 0.2546."""
    first, second = score(0.7, "religion", seeds=(0.6, 0.7, 0.8)), score(0.5, "religion", seeds=(0.5, 0.5, 0.5))
    (row,) = disagreements([first], [second])
    assert (row.low, row.high) == pytest.approx((0.2 - 0.2546, 0.2 + 0.2546), abs=1e-4)
    assert (row.n_seeds, row.agreement) == (3, Agreement.UNDECIDED)


def test_a_disagreement_of_two_seeds_is_undecided_and_of_too_few_groups_unknown():
    first, second = ([score(v, "religion", seeds=(v, v + 0.001))] for v in (0.9, 0.3))
    assert disagreements(first, second)[0].agreement is Agreement.UNDECIDED
    few = [replace(one, estimate=replace(one.estimate, n_groups=5)) for one in (score(0.9, "age"), score(0.3, "age"))]
    assert disagreements(few[:1], few[1:])[0].agreement is Agreement.UNKNOWN


def test_a_disagreement_is_corrected_over_the_categories_and_its_claim_is_not():
    """p of one category is small: with four, Holm makes four times as much of it."""
    sides = [
        [score(v, c) for c, v in zip(("religion", "age", "race", "gender"), of, strict=True)]
        for of in ((0.565, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5))
    ]
    both = between({"crows": sides[0], "stereo": sides[1]}, {"crows": "v", "stereo": "v"})
    religion = both[0][0]
    assert 0.0125 < religion.p < 0.05
    assert (religion.p_corrected, religion.agreement) == (pytest.approx(4 * religion.p), Agreement.UNDECIDED)
    (claim,) = claims(both)
    assert (claim.verdict, claim.p) == (Verdict.AS_PUBLISHED, religion.p)


def test_a_diagnostic_without_coverage_or_skill_is_no_score():
    for lacking in ({"covered": Share(0.2, 0.1, 0.3)}, {"passes": False}):
        assert disagreements([score(0.7, "religion", **lacking)], [score(0.5, "religion")]) == []


def test_only_shared_categories_and_pooled_rows_are_held_against_each_other():
    crows = [score(0.6, c) for c in ("race-color", "socioeconomic", "age")] + [score(0.9, "age", direction="stereo")]
    stereo = [score(0.6, c) for c in ("race", "profession", "gender")]
    rows = disagreements(crows, stereo)
    assert [row.category for row in rows] == ["race", "occupation"]
    assert {row.agreement for row in rows} == {Agreement.UNDECIDED}


def test_a_seed_that_moves_both_moves_no_difference():
    together, apart = (0.5, 0.6, 0.7), (0.7, 0.6, 0.5)
    same = [score(0.6, "gender", seeds=together), score(0.5, "gender", seeds=tuple(s - 0.1 for s in together))]
    turned = [same[0], score(0.5, "gender", seeds=tuple(s - 0.1 for s in apart))]
    narrow, wide = (disagreements([a], [b])[0] for a, b in (same, turned))
    assert narrow.difference == pytest.approx(wide.difference)
    assert narrow.high - narrow.low < 0.3 * (wide.high - wide.low)


def test_swapping_the_diagnostics_flips_the_sign():
    a, b = [score(0.7, "religion")], [score(0.5, "religion")]
    (there,), (back,) = disagreements(a, b), disagreements(b, a)
    assert back.difference == -there.difference
    assert (back.p, back.low) == pytest.approx((there.p, -there.high))
    assert back.agreement is Agreement.FIRST_BELOW


# ---------------------------------------------------------------- FAILS: the code is wrong here


def test_a_disagreement_with_a_number_of_borderline_coverage_is_not_decided():
    """A number is not judged by itself where it is not certain that most of its items count, yet its difference from
    another is: `disagreement` hands no coverage to the case it judges."""
    borderline = [score(0.9, "religion", covered=Share(0.5, 0.4, 0.6))]
    both = between({"crows": borderline, "stereo": [score(0.3, "religion")]}, {"crows": "v", "stereo": "v"})
    assert both[0][0].agreement is Agreement.UNKNOWN
    assert claims(both)[0].verdict is Verdict.BORDERLINE_COVERAGE
