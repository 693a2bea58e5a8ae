"""Who is likeliest among a few candidates: order, ties, and who wins instead of the right one.

Candidates closer than 1e-4 nats are as likely as each other: a first place is shared between them, and so is a rank.
A ranking may know the order of all candidates but the log-probability of only one, as released outputs do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        """Log-probability less that of the likeliest other candidate; NaN where one is not known."""
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
