"""What a reader sees first: the headline findings by families, and what the run comes to, for one sentence.

One rule chooses the findings (`findings.in_order`): every probe has a row while there is room; then those follow that
decide most. The sentence is about primary numbers: the largest that is decided, what contradicts it or a paper, what
could not be judged; `text.answer` writes it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

from trueprobe.results.view.findings import Section, SectionKind, in_order
from trueprobe.results.view.key import Key
from trueprobe.results.view.number import TIERS, Display, Finding, Number
from trueprobe.results.view.report import Report
from trueprobe.types import ClaimSource, Outcome, Unit, Verdict


@dataclass(frozen=True)
class FindingsMatrix:
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


def matrix(report: Report, most_rows: int = 8, most_columns: int | None = None) -> FindingsMatrix:
    """Findings about pairs of models have no column and are left out. What the headline is about is among the rows."""
    with_columns = [([f for f in s.findings if f.numbers and not f.of_pairs], s.kind) for s in report.sections]
    order = in_order([(findings, kind is SectionKind.PROBE) for findings, kind in with_columns])
    main = Answer.of(report).main
    order = sorted(order, key=lambda finding: not (main and _same(finding, main)))
    chosen = {id(finding) for finding in order[:most_rows]}
    rows = tuple(finding for finding in report.findings if id(finding) in chosen)
    names = [family.name for family in report.families]
    single = sum(not finding.of_pairs for finding in report.findings)
    return FindingsMatrix(rows, columns(rows, names, most_columns), single, len(names))


def whole(report: Report, section: Section) -> FindingsMatrix:
    """Every finding of one section, with those about pairs of models."""
    names = tuple(family.name for family in report.families)
    return FindingsMatrix(section.findings, names, len(section.findings), len(names))


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
    DECIDED = "decided"  # something is, or a published finding is reversed
    UNDECIDED = "undecided"  # primary numbers, none of them decided
    UNJUDGED = "unjudged"  # primary numbers, none of which could be judged
    EXPLORATORY = "exploratory"  # none is primary
    EMPTY = "empty"  # no finding


@dataclass(frozen=True)
class NotJudged:
    """A probe of which no primary number of these families could be judged, and the commonest reason."""

    probe: str
    families: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Answer:
    """What the run comes to; findings have those numbers alone that are meant."""

    state: State
    main: Finding | None  # the largest that is decided, on one side; where none is, the undecided number with least p
    other_way: tuple[Number, ...]  # decided numbers of the same finding on the other side
    reversed: tuple[
        Finding, ...
    ]  # claims found the other way round: those on the list first, then findings, the largest
    apart: tuple[Finding, ...]  # primary numbers whose seeds, wordings or parts are on both sides
    not_judged: tuple[NotJudged, ...]

    @classmethod
    def of(cls, report: Report) -> Answer:
        findings = report.findings
        listed = [one for f in findings if (one := _with(f, lambda n: n.row and report.source.is_primary(n.row)))]
        decided = [side for finding in listed for side in _sides(_with(finding, _is_decided))]
        main = max(decided, key=size, default=None)
        other = [side for side in decided if main and _same(side, main) and side is not main]
        reverse = sorted(filter(None, (_with(f, lambda n: n.reversed) for f in findings)), key=_reversed_first)
        apart = tuple(filter(None, (_with(f, lambda n: n.verdict in APART) for f in listed)))
        state = _state(findings, listed, main or any(map(_on_list, reverse)) or apart)
        if main is None and state is State.UNDECIDED:
            main = _nearest(listed)
        numbers = tuple(n for side in other for n in side.numbers)
        return cls(state, main, numbers, tuple(reverse), apart, tuple(_not_judged(report, listed)))


APART = (Verdict.FLIPS, Verdict.MIXED)


def _with(finding: Finding, chosen: Callable[[Number], object]) -> Finding | None:
    """With these of its numbers; None without any."""
    numbers = tuple(n for n in finding.numbers if chosen(n))
    return replace(finding, numbers=numbers) if numbers else None


def _is_decided(n: Number) -> bool:
    return n.verdict.outcome is Outcome.GOOD


def _on_list(finding: Finding) -> bool:
    return any(n.verdict is Verdict.OPPOSITE for n in finding.numbers)


def _reversed_first(finding: Finding) -> tuple[bool, bool, float]:
    return not _on_list(finding), finding.source is ClaimSource.EXPECTED, -size(finding)


def _sides(finding: Finding | None) -> Iterator[Finding]:
    if finding is not None:
        upper = _with(finding, lambda n: not finding.on_lower_side(n))
        yield from filter(None, (upper, _with(finding, finding.on_lower_side)))


def _same(one: Finding, other: Finding) -> bool:
    return replace(one, numbers=()) == replace(other, numbers=())


def size(finding: Finding) -> float:
    """Summed over its numbers, of any unit: how far each is from neutral as a change of a probability. Nats are taken
    for log-odds, an effect size for the chance that one of the first group exceeds one of the second."""
    distances = (abs(_as_share(n.unit, n.value) - _as_share(n.unit, n.neutral or 0.0)) for n in finding.numbers)
    return sum(min(distance, 1.0) for distance in distances)


def _as_share(unit: Unit, value: float) -> float:
    if unit is Unit.NATS:
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, value))))
    if unit is Unit.EFFECT_SIZE:
        return NormalDist().cdf(value / math.sqrt(2))
    return value / 100 if unit is Unit.PERCENT else value


def _state(findings: Sequence[Finding], listed: Sequence[Finding], decided: object) -> State:
    if decided:
        return State.DECIDED
    outcomes = {n.verdict for finding in listed for n in finding.numbers}
    if outcomes & {Verdict.UNDECIDED, Verdict.NOT_CONTRADICTED}:
        return State.UNDECIDED
    if outcomes:
        return State.UNJUDGED
    return State.EXPLORATORY if any(finding.numbers for finding in findings) else State.EMPTY


def _nearest(listed: Sequence[Finding]) -> Finding:
    """To a decision: one number with an interval."""
    open_ones = [
        (f, n) for f in listed for n in f.numbers if n.verdict in (Verdict.UNDECIDED, Verdict.NOT_CONTRADICTED)
    ]
    finding, n = min(open_ones, key=lambda pair: (pair[1].display is not Display.INTERVAL, pair[1].p))
    return replace(finding, numbers=(n,))


def _not_judged(report: Report, listed: Sequence[Finding]) -> Iterator[NotJudged]:
    """Probes with primary numbers, of which some families have none that could be judged; once for each reason."""
    for label in report.source.labels:
        numbers = [n for f in listed if f.probe == label and not f.of_pairs for n in f.numbers]
        reasons: dict[Verdict, list[str]] = {}
        for name in dict.fromkeys(n.model for n in numbers):
            verdicts = [n.verdict for n in numbers if n.model == name]
            if all(v.outcome is Outcome.NONE or v is Verdict.BORDERLINE_COVERAGE for v in verdicts):
                reasons.setdefault(Counter(verdicts).most_common(1)[0][0], []).append(name)
        yield from (NotJudged(label, tuple(names), verdict) for verdict, names in reasons.items())
