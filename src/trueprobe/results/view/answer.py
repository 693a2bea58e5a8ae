"""What a run comes to, for one sentence: how many findings each family shows, and which go the other way or flip.

Decided from verdicts alone; `words.answer` writes the sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from trueprobe.results.view.findings import by_outcome
from trueprobe.results.view.number import Finding, Kind, Mark
from trueprobe.results.view.report import Report
from trueprobe.types import Outcome, Verdict

JUDGED = (Outcome.GOOD, Outcome.BAD, Outcome.OPEN)


class State(StrEnum):
    DECIDED = "decided"  # at least one number has a verdict
    UNDECIDED = "undecided"  # primary numbers, none of them decided
    EXPLORATORY = "exploratory"  # intervals without verdicts only
    SILENT = "silent"  # every number says nothing
    EMPTY = "empty"  # no finding


@dataclass(frozen=True)
class Standing:
    """Of one family, or a pair of models: how many of its findings with a verdict hold."""

    name: str
    n_holds: int
    n_judged: int
    below: tuple[str, ...]  # of those that hold below a neutral value: what the probe calls that side


@dataclass(frozen=True)
class Answer:
    state: State
    standings: tuple[Standing, ...]  # those that show most first
    widest: Finding | None  # that holds for most families on one side of its neutral value, with those numbers alone
    opposite: tuple[Finding, ...]  # with those numbers alone
    flips: tuple[Finding, ...]
    n_judged: int
    n_exploratory: int
    n_claims: int  # of those judged: what a paper found, which could be the other way round
    silent: Verdict | None  # the commonest reason, where nothing can be concluded

    @classmethod
    def of(cls, report: Report) -> Answer:
        groups = by_outcome(report.findings)
        good, bad = groups.get(Outcome.GOOD, []), groups.get(Outcome.BAD, [])
        numbers = [n for finding in report.findings for n in finding.numbers]
        silent = Counter(n.verdict for n in numbers if n.verdict.outcome is Outcome.NONE)
        return cls(
            _state({n.verdict.outcome for n in numbers}),
            _standings(report.findings),
            max(_by_side(good), key=lambda finding: len(finding.numbers), default=None),
            _with_mark(bad, Mark.OPPOSITE),
            _with_mark(bad, Mark.FLIPS),
            sum(n.verdict.outcome in JUDGED for n in numbers),
            sum(n.verdict.outcome is Outcome.EXPLORATORY for n in numbers),
            sum(n.verdict.outcome in JUDGED for f in report.findings if f.kind is Kind.CLAIM for n in f.numbers),
            silent.most_common(1)[0][0] if silent else None,
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


def _standings(findings: tuple[Finding, ...]) -> tuple[Standing, ...]:
    judged = [(finding, n) for finding in findings for n in finding.numbers if n.verdict.outcome in JUDGED]
    made = []
    for name in dict.fromkeys(n.model for _, n in judged):
        mine = [(finding, n) for finding, n in judged if n.model == name]
        holds = [pair for pair in mine if pair[1].verdict.outcome is Outcome.GOOD]
        below = tuple(finding.below for finding, n in holds if finding.is_below(n))
        made.append(Standing(name, len(holds), len(mine), below))
    return tuple(sorted(made, key=lambda one: -one.n_holds))


def _with_mark(findings: list[Finding], mark: Mark) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if mark in finding.marks)
