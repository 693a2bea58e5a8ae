"""Which numbers of a list have a verdict: the primary ones, controlled together; the rest is exploratory.

A probe declares at most three primary numbers; where it declares none, all that its summary shows is one list. The
false discovery rate over everything on the list is 5 % (docs/decisions/0015-primary-numbers.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from trueprobe.probes.display import Primary, Summary, matches, row_names
from trueprobe.runs.schema import ProbeDeclaration
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference, changed
from trueprobe.statistics.verdict import controlled
from trueprobe.types import Outcome, Reason, Verdict

Listed = Estimate | ClaimResult | VariantDifference | Difference
L = TypeVar("L", Estimate, ClaimResult, VariantDifference, Difference)
Key = tuple[object, ...]


def key_of(row: Listed) -> Key:
    """The same for the row of a table however often it is read."""
    name = row.claim if isinstance(row, ClaimResult) else row.measure
    of = (row.first_label, row.second_label) if isinstance(row, VariantDifference) else (row.probe,)
    about = () if isinstance(row, Difference) else (row.model, row.level, row.step)
    return type(row).__name__, *of, name, *about, *sorted(row.conditions.items())


def is_primary(row: Listed, declaration: ProbeDeclaration | None) -> bool:
    """What several probes together claim has no declaration, and is on the list."""
    if declaration is None:
        return True
    if declaration.primary is None:
        return isinstance(row, ClaimResult) or _in_summary(row, declaration.summary)
    return any(_is(row, primary) for primary in declaration.primary)


def _is(row: Listed, primary: Primary) -> bool:
    if isinstance(row, ClaimResult):
        known = {key: value for key, value in primary.where.items() if key in row.conditions}
        return row.claim in primary.claims and matches(known, row.conditions.get)
    return row.measure == primary.measure and matches(primary.where, row.conditions.get)


def _in_summary(row: Estimate | VariantDifference | Difference, summary: Summary) -> bool:
    at = [summary.where, {**summary.where, **summary.fallback}]
    named = row_names(row.conditions, summary.row_conditions) is not None
    return named and row.measure in summary.measures and any(matches(one, row.conditions.get) for one in at)


def p_of(row: Listed) -> float:
    return row.p_interval if isinstance(row, Estimate) else row.p


def verdicts(rows: Sequence[Listed]) -> dict[Key, Verdict]:
    """Of the primary rows of one list."""
    judged = controlled([row.verdict for row in rows], [p_of(row) for row in rows])
    return {key_of(row): verdict for row, verdict in zip(rows, judged, strict=True)}


def displayed(row: L, known: Mapping[Key, Verdict]) -> L:
    """The row with the verdict that is worded: its own where it decides nothing, `exploratory` where it is not on the
    list."""
    if row.verdict.outcome is Outcome.NONE:
        return row
    verdict = known.get(key_of(row), Verdict.EXPLORATORY)
    if isinstance(row, Estimate) and verdict is Verdict.UNDECIDED is not row.verdict:
        return changed(row, verdict=verdict, reason=Reason.NOT_ON_LIST)
    return changed(row, verdict=verdict)
