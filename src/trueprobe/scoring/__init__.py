"""A user's sentences under any model: scored by token, word or region, with a blank filled, or as vectors.

`logp_nats` is a natural log-probability, `surprisal_bits` the same with the sign turned, to the base 2: a positive
number, larger for what the model expects less. Causal models read from left to right, behind their start token. Of
masked models it is a pseudo-log-likelihood (Salazar et al. 2020; within words from left to right, Kauf & Ivanova 2023):
a sum of conditionals, so surprisals of the two kinds do not compare.
"""

from __future__ import annotations

from trueprobe.scoring.api import (
    FileScoring,
    Written,
    around_blank,
    embed,
    fill,
    joined_as,
    score,
    score_file,
)
from trueprobe.scoring.sentences import Columns
from trueprobe.scoring.tables import ScoringMethod

__all__ = [
    "Columns",
    "FileScoring",
    "ScoringMethod",
    "Written",
    "around_blank",
    "embed",
    "fill",
    "joined_as",
    "score",
    "score_file",
]
