"""The headline findings of a report by families: what a page, a notebook or a terminal shows first.

One rule chooses them. Every probe has a row while there is room; then those follow that decide most: with a verdict
on any family, then undecided primary numbers, then exploratory ones, from every section in turn. The rule gives an
order, so that fewer rows are a part of more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from trueprobe.results.view.findings import Section, SectionKind, ranked
from trueprobe.results.view.number import Finding, Key, Number
from trueprobe.results.view.report import Report
from trueprobe.types import Outcome

_TIERS = {Outcome.GOOD: 0, Outcome.BAD: 0, Outcome.OPEN: 1, Outcome.EXPLORATORY: 2, Outcome.NONE: 3}


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
    chosen = {id(finding) for finding in _in_order(report.sections)[:most_rows]}
    rows = tuple(finding for finding in report.findings if id(finding) in chosen)
    names = [family.name for family in report.families]
    single = sum(not finding.of_pairs for finding in report.findings)
    return Matrix(rows, _columns(rows, names, most_columns), single, len(names))


def whole(report: Report, section: Section) -> Matrix:
    """Every finding of one section, with those about pairs of models."""
    names = tuple(family.name for family in report.families)
    return Matrix(section.findings, names, len(section.findings), len(names))


def tier(finding: Finding) -> int:
    """0 with a verdict on any family, 1 undecided, 2 exploratory, 3 where nothing can be concluded."""
    return min(_TIERS[number.verdict.outcome] for number in finding.numbers)


def _in_order(sections: Sequence[Section]) -> list[Finding]:
    queues = {section.probes: _ranked(section) for section in sections}
    probes = [queues[section.probes] for section in sections if section.kind is SectionKind.PROBE]
    first = sorted((queue.pop(0) for queue in probes if queue), key=tier)
    rest = (finding for turn in zip_longest(*queues.values()) for finding in turn if finding is not None)
    return [*first, *sorted(rest, key=tier)]


def _ranked(section: Section) -> list[Finding]:
    """Of one section: those with a mark, as everywhere; then the others by what they decide."""
    findings = [finding for finding in section.findings if finding.numbers and not finding.of_pairs]
    marked, unmarked = ranked(findings)
    silent = (i for i, finding in enumerate(findings) if not finding.marks and not finding.speaks)
    return [findings[i] for i in (*marked, *sorted(unmarked, key=lambda i: tier(findings[i])), *silent)]


def _columns(rows: Sequence[Finding], names: Sequence[str], most: int | None) -> tuple[str, ...]:
    """Where there are too many families, those with most verdicts."""
    if most is None or len(names) <= most:
        return tuple(names)
    deciding = list(_deciding(rows))
    chosen = sorted(names, key=lambda name: -deciding.count(name))[:most]
    return tuple(name for name in names if name in chosen)


def _deciding(rows: Sequence[Finding]) -> Iterator[str]:
    return (number.model for finding in rows for number in finding.numbers if _TIERS[number.verdict.outcome] == 0)
