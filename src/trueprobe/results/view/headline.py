"""What a reader sees first: the headline findings by families, and what the run comes to, for one sentence.

One rule chooses the findings (`findings.in_order`): every probe has a row while there is room; then those follow that
decide most. The sentence is decided from verdicts alone; `text.answer` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trueprobe.results.view.findings import Section, SectionKind, by_outcome, in_order
from trueprobe.results.view.number import TIERS, Finding, Key, Kind, Mark, Number
from trueprobe.results.view.report import Report
from trueprobe.types import Outcome, Verdict

JUDGED = (Outcome.GOOD, Outcome.BAD, Outcome.OPEN)


@dataclass(frozen=True)
class Matrix:
    """Findings down, in the order of the report; families across, in the order of the run."""

    rows: tuple[Finding, ...]
    families: tuple[str, ...]
    n_findings: int  # of the report, with those that are left out
    n_families: int

    def numbers(self, finding: Finding) -> tuple[Number | None, ...]:
        """One for each family; None where the finding is not about it."""
        known = {number.model: number for number in finding.numbers}
        return tuple(known.get(name) for name in self.families)

    @property
    def key(self) -> Key:
        return Key.of(n for finding in self.rows for n in self.numbers(finding))


def matrix(report: Report, most_rows: int = 8, most_columns: int | None = None) -> Matrix:
    """Findings about pairs of models have no column and are left out."""
    with_columns = [([f for f in s.findings if f.numbers and not f.of_pairs], s.kind) for s in report.sections]
    order = in_order([(findings, kind is SectionKind.PROBE) for findings, kind in with_columns])
    chosen = {id(finding) for finding in order[:most_rows]}
    rows = tuple(finding for finding in report.findings if id(finding) in chosen)
    names = [family.name for family in report.families]
    single = sum(not finding.of_pairs for finding in report.findings)
    return Matrix(rows, columns(rows, names, most_columns), single, len(names))


def whole(report: Report, section: Section) -> Matrix:
    """Every finding of one section, with those about pairs of models."""
    names = tuple(family.name for family in report.families)
    return Matrix(section.findings, names, len(section.findings), len(names))


def columns(rows: Sequence[Finding], names: Sequence[str], most: int | None) -> tuple[str, ...]:
    """Where there are too many families, those with most verdicts."""
    if most is None or len(names) <= most:
        return tuple(names)
    deciding = list(_deciding(rows))
    chosen = sorted(names, key=lambda name: -deciding.count(name))[:most]
    return tuple(name for name in names if name in chosen)


def _deciding(rows: Sequence[Finding]) -> Iterator[str]:
    return (number.model for finding in rows for number in finding.numbers if TIERS[number.verdict.outcome] == 0)


# ---------------------------------------------------------------- one sentence


class State(StrEnum):
    DECIDED = "decided"  # at least one number has a verdict
    UNDECIDED = "undecided"  # primary numbers, none of them decided
    EXPLORATORY = "exploratory"  # intervals without verdicts only
    SILENT = "silent"  # every number says nothing
    EMPTY = "empty"  # no finding


@dataclass(frozen=True)
class FamilySummary:
    """Of one family, or a pair of models: how many of its findings with a verdict hold."""

    name: str
    n_holds: int
    n_judged: int
    below: tuple[str, ...]  # of those that hold below a neutral value: what the probe calls that side


@dataclass(frozen=True)
class Answer:
    state: State
    summaries: tuple[FamilySummary, ...]  # those that show most first
    most_shared: (
        Finding | None
    )  # that holds for most families on one side of its neutral value, with those numbers alone
    opposite: tuple[Finding, ...]  # with those numbers alone
    flips: tuple[Finding, ...]
    n_judged: int
    n_exploratory: int
    n_claims: int  # of those judged: what a paper found, which could be the other way round
    inconclusive: Verdict | None  # the commonest reason, where nothing can be concluded

    @classmethod
    def of(cls, report: Report) -> Answer:
        groups = by_outcome(report.findings)
        good, bad = groups.get(Outcome.GOOD, []), groups.get(Outcome.BAD, [])
        numbers = [n for finding in report.findings for n in finding.numbers]
        inconclusive = Counter(n.verdict for n in numbers if n.verdict.outcome is Outcome.NONE)
        return cls(
            _state({n.verdict.outcome for n in numbers}),
            _family_summaries(report.findings),
            max(_by_side(good), key=lambda finding: len(finding.numbers), default=None),
            _with_mark(bad, Mark.OPPOSITE),
            _with_mark(bad, Mark.FLIPS),
            sum(n.verdict.outcome in JUDGED for n in numbers),
            sum(n.verdict.outcome is Outcome.EXPLORATORY for n in numbers),
            sum(n.verdict.outcome in JUDGED for f in report.findings if f.kind is Kind.CLAIM for n in f.numbers),
            inconclusive.most_common(1)[0][0] if inconclusive else None,
        )


def _by_side(findings: list[Finding]) -> Iterator[Finding]:
    """Families on two sides of a neutral value share nothing; what a claim says has one side."""
    for finding in findings:
        for lower in (False, True):
            numbers = [
                n for n in finding.numbers if (finding.kind is not Kind.CLAIM and finding.on_lower_side(n)) is lower
            ]
            if numbers:
                yield replace(finding, numbers=tuple(numbers))


def _state(outcomes: set[Outcome]) -> State:
    if outcomes & {Outcome.GOOD, Outcome.BAD}:
        return State.DECIDED
    if Outcome.OPEN in outcomes:
        return State.UNDECIDED
    if Outcome.EXPLORATORY in outcomes:
        return State.EXPLORATORY
    return State.SILENT if outcomes else State.EMPTY


def _family_summaries(findings: tuple[Finding, ...]) -> tuple[FamilySummary, ...]:
    judged = [(finding, n) for finding in findings for n in finding.numbers if n.verdict.outcome in JUDGED]
    made = []
    for name in dict.fromkeys(n.model for _, n in judged):
        of_model = [(finding, n) for finding, n in judged if n.model == name]
        holds = [pair for pair in of_model if pair[1].verdict.outcome is Outcome.GOOD]
        below = tuple(finding.below for finding, n in holds if finding.is_below(n))
        made.append(FamilySummary(name, len(holds), len(of_model), below))
    return tuple(sorted(made, key=lambda one: -one.n_holds))


def _with_mark(findings: list[Finding], mark: Mark) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if mark in finding.marks)
