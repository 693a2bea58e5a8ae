"""Findings about two models of a run: is the larger better, one architecture than another, one network than all?

The quantity of the first minus that of the second, paired by item on what both scored; a family with all its seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueprobe.statistics.claims import ClaimSubject, PartMeans, claim_columns, result
from trueprobe.statistics.equivalence import Equivalence, Side, equivalence
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Lead, Measure, NetworkSize
from trueprobe.statistics.paired import Sides, unjudged_differences
from trueprobe.statistics.rows import AGAINST, ClaimResult
from trueprobe.statistics.spread import Samples
from trueprobe.types import CONDITION, GROUP, Card


def is_about(claim: Claim, first: Card, second: Card) -> bool:
    """Are these the two it speaks of, in this order? Sizes are compared within one architecture and tokenizer."""
    if {first.kind, second.kind} - set(claim.kinds) or not first.layers * second.layers:
        return False
    if isinstance(claim.between, Lead):
        return NetworkSize.of(first) == claim.between.leader and NetworkSize.of(second) in claim.between.others
    if first.kind != second.kind:
        return False
    one, other = (first.layers, first.width), (second.layers, second.width)
    if claim.between == LARGER:
        alike = (first.architecture, first.tokenizer_id) == (second.architecture, second.tokenizer_id)
        return alike and one != other and one[0] >= other[0] and one[1] >= other[1]
    return (first.architecture, second.architecture) == claim.between and one == other


def sides_of(
    claim: Claim,
    first: Sequence[CheckpointData],
    second: Sequence[CheckpointData],
    factors: Sequence[str],
    parts: Sequence[str] = (),
) -> Sides:
    """Paired by item; where the two are looked at in different conditions, by group and the remaining conditions."""
    if claim.minus is not None:
        first = [_at(member, claim.plus) for member in first]
        second = [_at(member, claim.minus) for member in second]
    if claim.times != 1:
        second = [_times(member, claim.column, claim.times) for member in second]
    return Sides.of(first, second, factors, parts)


def _times(member: CheckpointData, column: str, times: float) -> CheckpointData:
    return replace(member, frame=member.frame.assign(**{column: times * member.frame[column]}))


def _at(member: CheckpointData, where: Mapping[str, Any]) -> CheckpointData:
    frame = member.frame[member.rows(where)]
    columns = [name for name in map(str, frame) if name.startswith((GROUP, CONDITION))]
    rest = [name for name in columns if name.removeprefix(CONDITION) not in where]
    return replace(member, frame=frame.assign(item=["/".join(map(str, row)) for row in frame[rest].to_numpy()]))


def between(label: str, sides: Sides, claim: Claim) -> ClaimResult:
    """The row of `claims` for these two."""
    where = claim.plus if claim.minus is None else {}  # else `sides_of` has looked there
    column, covered = (claim.column,), claim.coverage
    measure = Measure(claim.name, means, column, where, claim.conditions, claim.unit, coverage=covered)
    ((_, case),) = unjudged_differences(label, sides, [measure])
    passes = not any(member.gates.fails(claim.gate) for member in sides.members)
    first, second = (side[0].family if len(side) > 1 else side[0].model for side in (sides.first, sides.second))
    about = ClaimSubject(f"{first}{AGAINST}{second}", "pair", n_seeds=sides.fewest_seeds)
    case = replace(case, direction=claim.direction, trivial=claim.trivial, passes=passes)
    return result(label, claim, about, case, _alike(sides, claim) if claim.margin else None)


def _alike(sides: Sides, claim: Claim) -> Equivalence | None:
    """Of two models: the margin refers to the mean of their effects."""
    assert claim.margin is not None
    means_at = PartMeans(sides.members, claim_columns(sides.members, [claim]))
    numbers, effects, n = means_at.of(claim), means_at.effect(claim), len(sides.first)
    groups = sides.resampling.groups(sides.resampling.cells)
    if groups.df < 1 or np.isnan(numbers[:, 0]).any():
        return None
    first, second = (
        Side(Samples(numbers[rows]), Samples(effects[rows]), sign)
        for rows, sign in ((slice(n), 1), (slice(n, None), -1))
    )
    return equivalence([first, second], claim.margin, lambda s: s.difference(n, groups), groups, claim.unit)
