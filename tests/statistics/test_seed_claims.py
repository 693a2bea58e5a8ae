"""Paper C's claims about seeds: what they count, how often they are made where there is nothing, and where there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from trueprobe.statistics import flips
from trueprobe.statistics.flips import Answers
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.statistics.seed_claims import claims_over_seeds
from trueprobe.statistics.verdict import Unjudged
from trueprobe.types import Verdict

SEEDS = 5
DECIDED = (Verdict.AS_PUBLISHED, Verdict.OPPOSITE)


def most_by_chance(runs: int, rate: float = 0.05) -> int:
    """A rate of 5 % gives more than this once in a thousand times."""
    return int(binom.ppf(0.999, runs, rate))


def estimate(**known) -> Estimate:
    fixed = {"low": 0.0, "high": 0.0, "n_items": 100, "n_unscored": 0, "n_groups": 100, "method": ""}
    return Estimate(**fixed, family="m", verdict=Verdict.UNDECIDED, **known)


def category(name: str, seeds: np.ndarray) -> Unjudged:
    about = {"probe": "stereo", "model": "m", "measure": "ss", "conditions": {"category": name}, "level": "family"}
    row = estimate(**about, value=float(seeds.mean()), unit="share", neutral=0.5, n_seeds=len(seeds))
    return Unjudged(row, 0.5, seed_values=tuple(seeds))


def of_seeds(measure: str, test: str, seeds: np.ndarray, unit: str = "d", neutral: float = 0.0) -> list[Unjudged]:
    about = {"probe": "seat", "measure": measure, "conditions": {"test": test}, "unit": unit, "neutral": neutral}
    rows = [estimate(**about, model=f"m{i}", model_seed=i, value=float(value)) for i, value in enumerate(seeds)]
    return [Unjudged(row, 0.5, tested=True) for row in rows]


def vectors_vary_more(categories: np.ndarray, effects: np.ndarray, clusters: np.ndarray) -> ClaimResult:
    """Of values [quantities, seeds], neutral at 0; of clusters, at 0.5."""
    likelihood = [category(f"c{i}", 0.5 + 0.05 * values) for i, values in enumerate(categories)]
    vectors = [row for i, values in enumerate(effects) for row in of_seeds("effect_size", f"t{i}", values)]
    vectors += [row for i, v in enumerate(clusters) for row in of_seeds("clusters_targets", f"t{i}", v, "share", 0.5)]
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


def answers(rng: np.random.Generator, sizes=CROWS_PAIRS, by_category=0.0, by_seed=0.0) -> Answers:
    """Of items with a tendency each (logits); categories move with the seed, or all items alike."""
    categories = np.repeat([f"c{i}" for i in range(len(sizes))], sizes)
    moved = np.repeat(rng.normal(0, by_category, (len(sizes), SEEDS)), sizes, axis=0) + rng.normal(0, by_seed, SEEDS)
    logits = rng.normal(size=(len(categories), 1)) + moved
    prefers = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return Answers("crows", "m", None, pd.DataFrame({"category": categories}), prefers, prefers, 0.5)


def categories_vary_more(of: Answers) -> ClaimResult:
    (row,) = claims_over_seeds({"crows": []}, {"crows": "prefers"}, [of])
    return row


def decided(runs: int, **planted: float) -> list[Verdict]:
    rows = (categories_vary_more(answers(np.random.default_rng([i, 1]), **planted)).verdict for i in range(runs))
    return [verdict for verdict in rows if verdict in DECIDED]


def test_categories_are_held_against_cuts_of_their_sizes_by_hand():
    """Four items, two categories of two. Seeds turn both items of the first: their shares are 0, 1, 1 (deviation
    1/√3), those of the second 1, 1, 1: a mean of 0.289. Of the three ways to deal the items, one is as they are, and
    two put a turning item into each category: shares 0.5, 1, 1, the same mean. So nothing is more than by its size."""
    prefers = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], float)
    of = Answers("crows", "m", None, pd.DataFrame({"category": list("aabb")}), prefers, prefers, 0.5)
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
