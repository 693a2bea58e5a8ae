"""What a model would say if asked as often as people were: samples of completions against the people's own.

Paper B takes the norms as a sample of a distribution that a language model can be sampled for too. Per concept and
relation as many completions are drawn as people gave, from the model's distribution over the relation's completions.
A sample says little alone: where a number has a closed form (the count of one word in a multinomial sample is
binomial), its expectation over all samples is given too, and is the better number. The order of the counts has none.
Not shown: that people answered independently; each gave several properties, and none twice.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.probes.measure_sets import ColumnMean
from trueprobe.types import Unit

COLUMNS = {
    "given": "how many completions people gave, of words in the vocabulary: as many are drawn",
    "overlap_drawn": "share of them that a sample from the model has too, each as often as people gave it",
    "overlap_expected": "its mean over all samples",
    "overlap_whole": "the same where whatever the model says counts, not only completions of the relation",
    "overlap_people": "the same of samples from people's own shares, as if the model had exactly these",
    "entropy_people": "of people's answers, in nats, from the counts",
    "entropy_drawn": "of a sample from the model, from its counts",
    "entropy_excess": "its mean over all samples, minus that of people: positive where the model is less certain",
    "rank_frequency_apart": "shares by rank, commonest word first, whatever it is: half the sum of the differences "
    "between sample and people; 0 alike, 1 nothing in common",
}
MEASURES = (
    *(ColumnMean(name, name, Unit.SCORE) for name in COLUMNS if name.startswith("overlap_")),
    ColumnMean("entropy_people", "entropy_people", Unit.NATS),
    ColumnMean("entropy_drawn", "entropy_drawn", Unit.NATS),
    ColumnMean("entropy_excess", "entropy_excess", unit=Unit.NATS, neutral=0.0),
    ColumnMean("rank_frequency_apart", "rank_frequency_apart", Unit.SCORE),
)


def sampled(logps: np.ndarray, columns: Sequence[int], given: Sequence[float], seed: Sequence[int]) -> dict[str, float]:
    """`logps` of all completions, of which people gave those in `columns`, so often; nothing where the norms count no
    people."""
    people = np.zeros(len(logps))
    people[list(columns)] = given
    known = ~np.isnan(logps)
    whole, people = np.exp(logps[known]), people[known]
    if not people.sum() or not np.all(people == np.floor(people)):
        return dict.fromkeys(COLUMNS, math.nan)
    p, n = whole / whole.sum(), int(people.sum())
    drawn = draw(p, n, seed)
    return {
        "given": float(n),
        "overlap_drawn": float(np.minimum(drawn, people).sum() / n),
        "overlap_expected": expected_overlap(p, people),
        "overlap_whole": expected_overlap(whole, people),
        "overlap_people": expected_overlap(people / n, people),
        "entropy_people": entropy(people),
        "entropy_drawn": entropy(drawn),
        "entropy_excess": expected_entropy(p, n) - entropy(people),
        "rank_frequency_apart": float(np.abs(np.sort(drawn) - np.sort(people)).sum() / 2 / n),
    }


def seed_of(draw_seed: int, item: str) -> tuple[int, int]:
    """An item's own random numbers, whatever is asked before it."""
    return draw_seed, zlib.crc32(item.encode())


def draw(p: np.ndarray, n: int, seed: Sequence[int]) -> np.ndarray:
    """How often each word is drawn: the largest of ln p with Gumbel noise, which is a draw from p.

    It is another word only where two are within rounding of each other, so batch plans give the same sample; along a
    cumulative sum, the rounding of all words adds up."""
    noise = np.random.default_rng(seed).gumbel(size=(n, len(p)))
    with np.errstate(divide="ignore"):
        chosen = np.argmax(np.log(p) + noise, axis=1)
    return np.bincount(chosen, minlength=len(p)).astype(float)


def expected_overlap(p: np.ndarray, people: np.ndarray) -> float:
    """Σ E[min(K, c)] / n of binomial K: E[min(K, c)] is the sum of P(K > k) over k below c. By hand: two draws of a
    word with p = ½ that one of two people gave: P(K > 0) = ¾, so it adds ⅜."""
    n = people.sum()
    words = np.repeat(np.flatnonzero(people), people[people > 0].astype(int))
    below = np.concatenate([np.arange(c) for c in people[people > 0].astype(int)])
    return float(scipy.special.bdtrc(below, n, np.clip(p[words], 0.0, 1.0)).sum() / n)


def entropy(counts: np.ndarray) -> float:
    """In nats. A sample's is too low by itself; a model's and people's, of as many answers, by the same rule."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def expected_entropy(p: np.ndarray, n: int) -> float:
    """Of the counts of n draws: ln n − Σ E[K ln K] / n."""
    k = np.arange(1, n + 1)
    log_choose = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    inside = np.clip(p, 0.0, 1.0)[:, None]
    log_pmf = log_choose + scipy.special.xlogy(k, inside) + scipy.special.xlog1py(n - k, -inside)
    return float(math.log(n) - (np.exp(log_pmf) @ (k * np.log(k))).sum() / n)
