"""Paper C's claims about seeds: what they count, how often they are made where there is nothing, and where there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2

from trueprobe.statistics import flips
from trueprobe.statistics.flips import SeedAnswers
from trueprobe.statistics.interval import Interval
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.statistics.seed_claims import SeedVariance, claims_over_seeds, varies_more
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.types import Unit, Verdict

SEEDS = 5
DECIDED = (Verdict.AS_PUBLISHED, Verdict.OPPOSITE)


def most_by_chance(runs: int, rate: float = 0.05) -> int:
    """A rate of 5 % gives more than this once in a thousand times."""
    return int(binom.ppf(0.999, runs, rate))


def estimate(**known) -> Estimate:
    fixed = {"low": 0.0, "high": 0.0, "n_items": 100, "n_unscored": 0, "n_groups": 100, "method": ""}
    return Estimate(**fixed, family="m", **known)


def category(name: str, seeds: np.ndarray) -> Unjudged:
    about = {"probe": "stereo", "model": "m", "measure": "ss", "conditions": {"category": name}, "level": "family"}
    row = estimate(**about, value=float(seeds.mean()), unit=Unit.SHARE, neutral=0.5, n_seeds=len(seeds))
    return Unjudged(row, Interval(p=0.5), seed_values=tuple(seeds))


def of_seeds(
    measure: str, test: str, seeds: np.ndarray, unit: Unit = Unit.EFFECT_SIZE, neutral: float = 0.0
) -> list[Unjudged]:
    about = {"probe": "seat", "measure": measure, "conditions": {"test": test}, "unit": unit, "neutral": neutral}
    rows = [estimate(**about, model=f"m{i}", model_seed=i, value=float(value)) for i, value in enumerate(seeds)]
    return [Unjudged(row, Interval(p=0.5), tested=True) for row in rows]


def vectors_vary_more(categories: np.ndarray, effects: np.ndarray, clusters: np.ndarray) -> ClaimResult:
    """Of values [quantities, seeds], neutral at 0; of clusters, at 0.5."""
    likelihood = [category(f"c{i}", 0.5 + 0.05 * values) for i, values in enumerate(categories)]
    vectors = [row for i, values in enumerate(effects) for row in of_seeds("effect_size", f"t{i}", values)]
    vectors += [
        row for i, v in enumerate(clusters) for row in of_seeds("clusters_targets", f"t{i}", v, Unit.SHARE, 0.5)
    ]
    rows = claims_over_seeds({"stereo": likelihood, "seat": vectors}, {"stereo": "ss"})
    (row,) = (row for row in rows if row.claim == "vectors_vary_more")
    return row


def quantities(rng: np.random.Generator, n: int, tendency: float) -> np.ndarray:
    """[n, seeds]: each has a tendency of its own, and each seed differs from it by chance."""
    return rng.normal(0, tendency, (n, 1)) + rng.normal(size=(n, SEEDS))


def clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return 0.5 + 0.2 * rng.random((n, SEEDS))


def test_accuracies_of_clusters_are_no_vector_tests():
    """Of two effect sizes one is torn, of two categories one: no difference, whatever the clusters are."""
    torn, sure = np.array([-1.0, 1, 1, 1, 1]), np.ones(SEEDS)
    both = np.stack([torn, sure])
    row = vectors_vary_more(both, both, clusters(np.random.default_rng(0), 4))
    assert row.value == 0
    assert vectors_vary_more(both, np.stack([torn, torn]), clusters(np.random.default_rng(0), 4)).value == 0.5


def test_other_tests_would_have_been_torn_otherwise():
    """No seed matters (each test is torn by two of them), yet with two tests of each kind nothing is decided."""
    torn, sure = np.array([-1.0, -1, 1, 1, 1]), np.ones(SEEDS)
    few = vectors_vary_more(np.stack([sure, torn]), np.stack([torn, torn]), np.empty((0, SEEDS)))
    assert (few.value, few.verdict) == (0.5, Verdict.UNDECIDED)
    assert few.low < 0 < few.high


@pytest.mark.slow
@pytest.mark.parametrize("tendency", [0.0, 2.0])
def test_vector_tests_like_the_others_are_rarely_reported_to_vary_more_or_less(tendency):
    runs, decided = 150, 0
    for i in range(runs):
        rng = np.random.default_rng([i, int(10 * tendency)])
        values = (quantities(rng, 13, tendency), quantities(rng, 50, tendency), clusters(rng, 20))
        decided += vectors_vary_more(*values).verdict in DECIDED
    assert decided <= most_by_chance(runs)


@pytest.mark.slow
def test_vector_tests_without_a_tendency_are_reported_to_vary_more():
    runs, made = 100, 0
    for i in range(runs):
        rng = np.random.default_rng([i, 99])
        row = vectors_vary_more(quantities(rng, 13, 6.0), quantities(rng, 50, 0.0), clusters(rng, 20))
        made += row.verdict is Verdict.AS_PUBLISHED
    assert made >= 95


# ---------------------------------------------------------------- categories


CROWS_PAIRS = (516, 262, 172, 159, 105, 87, 84, 63, 60)  # items of its categories


def answers(rng: np.random.Generator, sizes=CROWS_PAIRS, by_category=0.0, by_seed=0.0) -> SeedAnswers:
    """Of items with a tendency each (logits); categories move with the seed, or all items alike."""
    categories = np.repeat([f"c{i}" for i in range(len(sizes))], sizes)
    moved = np.repeat(rng.normal(0, by_category, (len(sizes), SEEDS)), sizes, axis=0) + rng.normal(0, by_seed, SEEDS)
    logits = rng.normal(size=(len(categories), 1)) + moved
    prefers = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return SeedAnswers("crows", "m", None, pd.DataFrame({"category": categories}), prefers, prefers, 0.5)


def categories_vary_more(of: SeedAnswers) -> ClaimResult:
    rows = claims_over_seeds({"crows": []}, {"crows": "prefers"}, [of])
    (row,) = (row for row in rows if row.claim == "categories_vary_more")
    return row


def decided(runs: int, **planted: float) -> list[Verdict]:
    rows = (categories_vary_more(answers(np.random.default_rng([i, 1]), **planted)).verdict for i in range(runs))
    return [verdict for verdict in rows if verdict in DECIDED]


def test_categories_are_held_against_cuts_of_their_sizes_by_hand():
    """Four items, two categories of two. Seeds turn both items of the first: their shares are 0, 1, 1 (deviation
    1/√3), those of the second 1, 1, 1: a mean of 0.289. Of the three ways to deal the items, one is as they are, and
    two put a turning item into each category: shares 0.5, 1, 1, the same mean. So nothing is more than by its size."""
    prefers = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], float)
    of = SeedAnswers("crows", "m", None, pd.DataFrame({"category": list("aabb")}), prefers, prefers, 0.5)
    assert of.categories_beside_cuts() == pytest.approx((0, 0, 0, 1), abs=1e-12)
    turned = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 1]], float)  # now two halves of one category cancel
    value, low, high, p = replace(of, prefers=turned).categories_beside_cuts()
    as_dealt = np.std([0.5, 0.5, 1], ddof=1)  # two deals of three; the third is the categories themselves
    assert value == pytest.approx(2 / 3 * (1 / np.sqrt(3) - as_dealt), abs=0.02)
    assert (low, high) == pytest.approx((0, 1 / np.sqrt(3) - as_dealt))
    assert p == pytest.approx(2 / 3, abs=0.06)  # one deal of three is as large


def test_one_category_is_the_total():
    of = answers(np.random.default_rng(0), sizes=(20,))
    assert claims_over_seeds({"crows": []}, {"crows": "prefers"}, [of]) == []
    assert claims_over_seeds({"crows": []}, {}, [answers(np.random.default_rng(0), sizes=(20, 20))]) == []


@pytest.mark.slow
def test_categories_like_any_other_set_of_items_are_rarely_reported_to_vary_more(monkeypatch):
    monkeypatch.setattr(flips, "DRAWS", 300)
    assert len(decided(100) + decided(100, by_seed=0.3)) <= most_by_chance(200)


@pytest.mark.slow
def test_categories_that_move_with_the_seed_are_reported_to_vary_more(monkeypatch):
    """By 0.4 in logits, about 9 points."""
    monkeypatch.setattr(flips, "DRAWS", 300)
    assert decided(60, by_category=0.4).count(Verdict.AS_PUBLISHED) >= 57


# ---------------------------------------------------------------- which of two diagnostics varies more


def tossed(rng: np.random.Generator, items: int, by_seed: float = 0.0, seeds: int = SEEDS) -> np.ndarray:
    """[items, seeds] answers of yes or no; every seed has a share of its own about one half."""
    return (rng.random((items, seeds)) < 0.5 + by_seed * rng.normal(size=seeds)).astype(float)


def test_seed_variance_by_hand():
    """Two items, three seeds. Answers 0 1 1 and 0 0 1: shares 0, 1/2, 1 of variance 1/4; each item's answers have the
    variance 1/3. Without their noise: (2 · 1/4 − 1/3) / (2 − 1) = 1/6, the covariance of the two items."""
    answers = np.array([[0, 1, 1], [0, 0, 1]], dtype=float)
    one = SeedVariance.of([answers])
    assert (one.noise_free, one.with_noise, one.df) == pytest.approx((1 / 6, 1 / 4, 2))
    assert np.cov(answers)[0, 1] == pytest.approx(1 / 6)
    low, high = one.reach(0.05)
    assert (low, high) == pytest.approx((1 / 4 - 2 / 4 / chi2.ppf(0.975, 2), 2 / 4 / chi2.ppf(0.025, 2) - 1 / 4))


def test_seed_variance_of_items_that_seeds_answer_alike_is_that_of_their_covariances():
    """By definition the mean covariance over seeds of two different items."""
    answers = tossed(np.random.default_rng(0), 12, 0.2)
    plain = np.cov(answers)
    off = plain[~np.eye(12, dtype=bool)]
    assert SeedVariance.of([answers]).noise_free == pytest.approx(off.mean())


def test_seed_variance_counts_correlated_categories_as_fewer():
    """Two categories with the same shares have the degrees of freedom of one, two unlike ones those of both."""
    one, other = np.array([[0, 1, 1, 0], [0, 1, 0, 0.0]]), np.array([[1, 1, 0, 0], [1, 0, 0, 0.0]])
    assert SeedVariance.of([one, one]).df == pytest.approx(3)
    shares = np.cov([one.mean(axis=0), other.mean(axis=0)])
    expected = 3 * np.trace(shares) ** 2 / (shares**2).sum()
    assert 3 < expected <= 6
    assert SeedVariance.of([one, other]).df == pytest.approx(expected)


def test_varies_more_by_hand():
    """As above, 1/6 with χ² of 2 degrees of freedom from 0.25 · 2 / 7.378 to 0.25 · 2 / 0.0506; the other does not vary
    at all. The ends lie 0.25 − 0.0678 = 0.1822 below and 9.875 − 0.25 = 9.625 above."""
    moving, still = np.array([[0, 1, 1], [0, 0, 1]], dtype=float), np.array([[0, 0, 0], [1, 1, 1]], dtype=float)
    assert varies_more([moving], [still])[:3] == pytest.approx((1 / 6, 1 / 6 - 0.1822, 1 / 6 + 9.625), abs=2e-3)


def test_varies_more_of_seeds_that_all_answer_alike_is_nothing():
    still = np.array([[0, 0, 0], [1, 1, 1]], dtype=float)
    value, low, high, p = varies_more([still], [still])
    assert (value, low, high) == (0, 0, 0)
    assert np.isnan(p)


def test_varies_more_needs_two_items_of_every_category():
    both = tossed(np.random.default_rng(0), 20)
    assert np.isnan(varies_more([both, both[:1]], [both])).all()


@settings(max_examples=40)
@given(st.integers(0, 9999), st.sampled_from([(60, 500), (40, 40)]), st.floats(0, 0.2), st.floats(0, 0.2))
def test_varies_more_turned_round_and_p_in_step_with_the_interval(seed, sizes, first, second):
    rng = np.random.default_rng(seed)
    sides = [[tossed(rng, n, by_seed) for _ in range(3)] for n, by_seed in zip(sizes, (first, second), strict=True)]
    there, back = varies_more(*sides), varies_more(*reversed(sides))
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low), abs=1e-12)
    assert back.p == pytest.approx(there.p, abs=1e-6)
    if min(abs(there.low), abs(there.high)) > 1e-7:
        assert (there.p < 0.05) == (not there.low <= 0 <= there.high)


def first_varies_more(sizes: tuple[int, int], by_seed: tuple[float, float], runs: int) -> list[Verdict]:
    """Of two datasets with four categories of these sizes."""
    verdicts = []
    for i in range(runs):
        rng = np.random.default_rng([i, *sizes])
        both = [
            answers_of(probe, [tossed(rng, size, moved) for _ in range(4)])
            for probe, size, moved in zip(("crows", "stereo"), sizes, by_seed, strict=True)
        ]
        rows = claims_over_seeds({"crows": [], "stereo": []}, {"crows": "v", "stereo": "v"}, both)
        verdicts += [row.verdict for row in rows if row.claim == "first_varies_more"]
    return verdicts


def answers_of(probe: str, categories: list[np.ndarray]) -> SeedAnswers:
    named = np.repeat([f"c{i}" for i in range(len(categories))], [len(one) for one in categories])
    prefers = np.concatenate(categories)
    return SeedAnswers(probe, "m", None, pd.DataFrame({"category": named}), prefers, prefers, 0.5)


def test_a_smaller_dataset_does_not_vary_more_because_it_is_smaller(monkeypatch):
    """60 items a category against 500, of seeds that are all alike: the shares of 60 vary eight times as much. With the
    noise of items in it, the claim was decided in 82 % of cases; 5 % are allowed."""
    monkeypatch.setattr(flips, "DRAWS", 2)
    runs = 100
    verdicts = first_varies_more((60, 500), (0.0, 0.0), runs)
    assert len(verdicts) == runs
    assert sum(verdict in DECIDED for verdict in verdicts) <= most_by_chance(runs)


@pytest.mark.slow
@pytest.mark.parametrize("by_seed", [0.0, 0.05])
def test_datasets_that_vary_alike_are_rarely_reported_to_vary_more(monkeypatch, by_seed):
    monkeypatch.setattr(flips, "DRAWS", 2)
    verdicts = first_varies_more((60, 500), (by_seed, by_seed), 600)
    assert sum(verdict in DECIDED for verdict in verdicts) <= most_by_chance(600)


def test_a_dataset_that_varies_more_is_reported_whichever_is_larger(monkeypatch):
    """Shares that move by 15 points with the seed, against none. The smaller dataset is the first of the claim."""
    monkeypatch.setattr(flips, "DRAWS", 2)
    smaller, larger = (first_varies_more((60, 500), moved, 20) for moved in ((0.15, 0.0), (0.0, 0.15)))
    assert smaller.count(Verdict.AS_PUBLISHED) >= 15
    assert larger.count(Verdict.OPPOSITE) >= 15
