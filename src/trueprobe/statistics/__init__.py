"""Measures and how far they can be trusted, over resampled items, other seeds and other wordings.

`measure` declares what is counted; `means`, `ranking` and `association` are measure functions; `resampling` draws items
by the probe's groups; `spread` and `interval` make intervals; `estimates` and `claims` count them for checkpoints and
families; `verdict` judges them. `flips`, `seed_tables` and `disagreement` are the tables of paper C made general;
`paired` compares two models or families.
"""

from __future__ import annotations

from trueprobe.statistics.measure import Claim, Columns, Flips, Gate, Measure

__all__ = ["Claim", "Columns", "Flips", "Gate", "Measure"]
