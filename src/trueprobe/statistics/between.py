"""Findings about two models of a run: is the larger better, or one architecture than another of the same size?

The quantity of the first less that of the second, paired by item on what both scored; a family with all its seeds.
"""

from __future__ import annotations

from typing import Any

from trueprobe.statistics.claims import held, told
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Measure
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.verdict import FAILS, FEWEST_SEEDS, LOW_COVERAGE, NOT_APPLICABLE, UNDECIDED
from trueprobe.types import Card

LEVEL = "pair"  # of a row about two models


def is_about(claim: Claim, first: Card, second: Card) -> bool:
    """Are these the two it speaks of, in this order? Sizes are compared within one architecture and tokenizer."""
    if {first.kind, second.kind} - set(claim.kinds) or first.kind != second.kind or not first.layers * second.layers:
        return False
    one, other = (first.layers, first.width), (second.layers, second.width)
    if claim.between == LARGER:
        alike = (first.architecture, first.tokenizer_id) == (second.architecture, second.tokenizer_id)
        return alike and one != other and one[0] >= other[0] and one[1] >= other[1]
    return (first.architecture, second.architecture) == claim.between and one == other


def between(sides: Sides, claim: Claim) -> dict[str, Any]:
    """The row of `claims` for these two."""
    measure = Measure(claim.name, means, (claim.column,), claim.plus, claim.conditions, claim.unit)
    found = compare(sides, [measure])[0]
    fewest = min(len(sides.first), len(sides.second))
    word = held(claim, found["low"], found["high"], found["n_groups"])
    if word != NOT_APPLICABLE and not sides.single and fewest < FEWEST_SEEDS:
        word = UNDECIDED
    if found["verdict"] == LOW_COVERAGE:
        word = LOW_COVERAGE
    if any(member.gates.fails(claim.gate) for member in sides.members):
        word = FAILS
    first, second = (side[0].family if len(side) > 1 else side[0].model for side in (sides.first, sides.second))
    numbers = (found["difference"], found["low"], found["high"])
    return told(claim, f"{first} against {second}", LEVEL, None, fewest, numbers, word)
