"""How far a number can be trusted: the same measure over resampled items, other seeds and other wordings.

`resampling` draws items by the probe's groups; `spread` and `interval` make intervals; `estimates` and `claims` count
them for checkpoints and families; `verdict` gives the word. `flips`, `wordings`, `signs` and `disagreement` are the
tables of paper C made general, `paired` holds two models or families against each other.
"""

from __future__ import annotations

from trueprobe.reliability.claims import claimed, claims
from trueprobe.reliability.correction import benjamini_hochberg, holm
from trueprobe.reliability.estimates import Gates, Member, count, estimates, find
from trueprobe.reliability.interval import Method
from trueprobe.reliability.resampling import RESAMPLES, Resampling, columns_of, rows_where
from trueprobe.reliability.verdict import Found, judged

__all__ = [
    "RESAMPLES",
    "Found",
    "Gates",
    "Member",
    "Method",
    "Resampling",
    "benjamini_hochberg",
    "claimed",
    "claims",
    "columns_of",
    "count",
    "estimates",
    "find",
    "holm",
    "judged",
    "rows_where",
]
