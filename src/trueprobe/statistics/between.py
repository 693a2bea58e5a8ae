"""Findings about two models of a run: is the larger better, or one architecture than another of the same size?

The quantity of the first less that of the second, paired by item on what both scored; a family with all its seeds.
"""

from __future__ import annotations

from trueprobe.statistics.claims import About, Numbers, judge_claim, result
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Measure
from trueprobe.statistics.paired import Sides, compare
from trueprobe.statistics.rows import ClaimResult, Difference
from trueprobe.statistics.verdict import FEWEST_SEEDS
from trueprobe.types import Card, Verdict


def is_about(claim: Claim, first: Card, second: Card) -> bool:
    """Are these the two it speaks of, in this order? Sizes are compared within one architecture and tokenizer."""
    if {first.kind, second.kind} - set(claim.kinds) or first.kind != second.kind or not first.layers * second.layers:
        return False
    one, other = (first.layers, first.width), (second.layers, second.width)
    if claim.between == LARGER:
        alike = (first.architecture, first.tokenizer_id) == (second.architecture, second.tokenizer_id)
        return alike and one != other and one[0] >= other[0] and one[1] >= other[1]
    return (first.architecture, second.architecture) == claim.between and one == other


def between(label: str, sides: Sides, claim: Claim) -> ClaimResult:
    """The row of `claims` for these two."""
    column, covered = (claim.column,), claim.coverage
    measure = Measure(claim.name, means, column, claim.plus, claim.conditions, claim.unit, coverage=covered)
    (row,) = compare(label, sides, [measure])
    first, second = (side[0].family if len(side) > 1 else side[0].model for side in (sides.first, sides.second))
    about = About(f"{first} against {second}", "pair", n_seeds=sides.fewest_seeds)
    numbers = Numbers(row.difference, row.low, row.high, row.p, row.covered)
    return result(label, claim, about, numbers, _verdict(sides, claim, row))


def _verdict(sides: Sides, claim: Claim, row: Difference) -> Verdict:
    if any(member.gates.fails(claim.gate) for member in sides.members):
        return Verdict.FAILS_GATE
    if row.verdict is Verdict.LOW_COVERAGE:
        return Verdict.LOW_COVERAGE
    verdict = judge_claim(claim, Numbers(row.difference, row.low, row.high), row.n_groups)
    few = not sides.single and sides.fewest_seeds < FEWEST_SEEDS
    return Verdict.UNDECIDED if few and not verdict.silent else verdict
