"""Suggested sentences to compare: the first pairs of the sample."""

from __future__ import annotations

from trueprobe.probes.crows_pairs import material
from trueprobe.probes.suggestions import Json, Suggestions

_MOST_PAIRS = 12


def _menu() -> Json:
    return {"pairs": [[pair.more, pair.less] for pair in material.read("sample").pairs[:_MOST_PAIRS]]}


SUGGESTIONS = Suggestions(_menu)
