"""Rankings: who is likeliest among a few candidates, and how well a ranking finds what people named.

Candidates closer than 1e-4 nats are as likely as each other: a first place is shared between them, and so is a rank.
A ranking may know the order of all candidates but the log-probability of only one, as released outputs do.

Reciprocal rank, average precision and Spearman's correlation are numbers of one prompt; over prompts they are averaged
by `means` (MRR, mAP, mean ρ). Ranks count from 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueprobe.statistics.measure import Columns, Weights
from trueprobe.types import TIE_NATS, Filled, Word


@dataclass(frozen=True)
class Ranking:
    """Candidates, likeliest first; log-probabilities of as many as are known."""

    order: tuple[str, ...]
    first: tuple[str, ...]  # those as likely as the likeliest
    logp: Mapping[str, float]

    @classmethod
    def of(cls, filled: Filled) -> Ranking:
        """Of the asked words that have a number; the others cannot be compared."""
        logp = {text: word.logp for text, word in filled.words.items() if isinstance(word, Word)}
        order = sorted(logp, key=logp.__getitem__, reverse=True)
        return cls(tuple(order), tuple(w for w in order if logp[order[0]] - logp[w] <= TIE_NATS), logp)

    @property
    def answer(self) -> str:
        return " = ".join(self.first)

    def share(self, word: str) -> float:
        """1 for the winner, 0 for the others; winners that are as likely share it."""
        return 1 / len(self.first) if word in self.first else 0.0

    def rank(self, word: str) -> float:
        gaps = [self.logp[other] - self.logp[word] for other in self.order if other != word and other in self.logp]
        if len(gaps) + 1 < len(self.order):  # the order is all that is known
            return 1.0 + self.order.index(word)
        return 1 + sum(gap > TIE_NATS for gap in gaps) + sum(abs(gap) <= TIE_NATS for gap in gaps) / 2

    def over_rivals(self, word: str) -> float:
        """Log-probability minus that of the likeliest other candidate; NaN without one of them."""
        rivals = [self.logp.get(other, math.nan) for other in self.order if other != word]
        return self.logp[word] - max(rivals) if rivals and not any(map(math.isnan, rivals)) else math.nan


def winners(ranking: Ranking, target: str, attractors: Sequence[str], most: int) -> dict[str, float]:
    """Whose target is the likeliest; `attractors` in the order in which they are mentioned, at most `most`."""
    backs = [ranking.share(word) for word in reversed(attractors)]
    won = sum(backs)
    shares = {f"won_{back}_back": math.nan for back in range(1, most + 1)}
    shares |= {f"won_{back}_back": share for back, share in enumerate(backs, 1)}
    shares["attractor_won"] = won if backs else math.nan
    shares["other_won"] = max(0.0, 1 - ranking.share(target) - won) if backs else math.nan
    shares["won_by_last"] = backs[0] / won if won else math.nan
    return shares


# ---------------------------------------------------------------- what people named


def reciprocal_rank(rank: float) -> float:
    return 1 / rank


def average_precision(ranks: ArrayLike) -> float:
    """Σ precision@j · Δrecall(j) over the whole ranking, from the ranks of the right answers; NaN without any.

    Right answers that share a rank take places of their own from it on: [1, 1, 5] is counted as [1, 2, 5], since at
    place 1 there is room for one."""
    ordered = np.sort(np.asarray(ranks, dtype=float))
    nth = np.arange(1, len(ordered) + 1)
    filled = nth + np.maximum.accumulate(ordered - nth)
    return float(np.mean(nth / filled)) if len(ordered) else math.nan


def ranks_within(logps: np.ndarray) -> np.ndarray:
    """1 is the likeliest; equals share the best of their ranks; NaN has none."""
    ascending = np.sort(logps[~np.isnan(logps)])
    ranks = len(ascending) - np.searchsorted(ascending, logps, side="right") + 1.0
    return np.where(np.isnan(logps), np.nan, ranks)


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's correlation of mid-ranks; NaN where fewer than two pairs are known or one side does not vary."""
    pairs = np.array([first, second], dtype=float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if pairs.shape[1] < 2:
        return math.nan
    x, y = (_mid_ranks(row) for row in pairs)
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / spread if spread else math.nan


def _mid_ranks(values: np.ndarray) -> np.ndarray:
    ascending = np.sort(values)
    return (np.searchsorted(ascending, values, side="left") + np.searchsorted(ascending, values, side="right") + 1) / 2


def commonest_share(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]: the share of observations that have the commonest value of a column of codes."""
    results = []
    for (name,) in quantities:
        values = columns.values[name]
        scored = ~np.isnan(values)
        codes = np.unique(values[scored], return_inverse=True)[1]
        if not len(codes):
            results.append(np.full(len(weights), np.nan))
            continue
        counts = np.zeros((weights.shape[1], codes.max() + 1))
        np.add.at(counts, (columns.cells[scored], codes), 1.0)
        totals = weights.astype(float) @ counts  # [R, codes]
        with np.errstate(invalid="ignore", divide="ignore"):
            results.append(totals.max(axis=1) / totals.sum(axis=1))
    return np.stack(results, axis=1)
