"""Which tokens of two sentences are scored: those they share, those that differ, or all."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from trueprobe.types import Answer, Item, Scored

Variant = Literal["shared", "differing", "sentence"]


def logps_of(item: Item, answers: Sequence[Answer], variant: Variant) -> tuple[list[float], list[float]]:
    """Of the more stereotyping sentence and the other, the log-probabilities that count."""
    more, less = answers
    assert isinstance(more, Scored)
    assert isinstance(less, Scored)
    if item.conditions["direction"] == "stereo":  # the authors' order, on which alignment depends
        return _logps(more, less, variant)
    second, first = _logps(less, more, variant)
    return first, second


def _logps(first: Scored, second: Scored, variant: Variant) -> tuple[list[float], list[float]]:
    """Of each sentence, the log-probabilities that count. Aligned on the whole rows, special tokens included."""
    if variant == "sentence":
        return [token.logp for token in first.tokens], [token.logp for token in second.tokens]
    shared = shared_positions(first, second)
    return _at(first, shared[0], variant == "shared"), _at(second, shared[1], variant == "shared")


def shared_positions(first: Scored, second: Scored) -> tuple[set[int], set[int]]:
    """Where in each row the tokens stand that both sentences have; the alignment depends on their order."""
    positions: tuple[set[int], set[int]] = set(), set()
    for block in SequenceMatcher(None, first.row_ids, second.row_ids).get_matching_blocks():
        positions[0].update(range(block.a, block.a + block.size))
        positions[1].update(range(block.b, block.b + block.size))
    return positions


def _at(scored: Scored, positions: set[int], inside: bool) -> list[float]:
    placed = zip(scored.tokens, scored.positions, strict=True)
    return [token.logp for token, position in placed if (position in positions) == inside]
