"""Paper C's claims about seeds: what they count, how often they are made where there is nothing, and where there is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

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
