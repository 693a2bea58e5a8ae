"""What an auditor wants to know of one number: its list, what other conditions give, and which weights it is of.

Every number of a report has an index; a page keeps the answers below it, so that one click shows them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from trueprobe.results.view.number import Number, Row, format_of, number, worded
from trueprobe.results.view.report import Report
from trueprobe.results.view.select import names_of, titles
from trueprobe.runs.primary import label_of_row
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference, grouped
from trueprobe.statistics.verdict import ALPHA, p_corrected_from

MOST_OTHERS = 24  # values of one condition


@dataclass(frozen=True)
class Ranked:
    """A row of a list that is corrected together (Benjamini–Hochberg)."""

    row: Row
    rank: int
    p: float
    threshold: float
    p_list: float

    @property
    def decided(self) -> bool:
        return self.p_list < ALPHA


@dataclass(frozen=True)
class Changed:
    """The number with another value of one condition, or under another label of the same probe."""

    condition: str
    value: str
    number: Number


@dataclass
class Audit:
    """All numbers with a verdict that a report shows, numbered in the order in which they are first asked for."""

    report: Report
    numbers: list[Number] = field(default_factory=list)
    _numbered: dict[int, int] = field(default_factory=dict)  # of a row, by identity: `numbers` keeps it alive

    def place(self, n: Number | None) -> int | None:
        """Its index; None for a number without a row of its own."""
        if n is None or n.row is None:
            return None
        if id(n.row) not in self._numbered:
            self._numbered[id(n.row)] = len(self.numbers)
            self.numbers.append(n)
        return self._numbered[id(n.row)]

    def lists(self) -> dict[str, list[Ranked]]:
        """The whole list of the run, or of each model where the study says so; smallest p first."""
        each_model = self.report.verdicts_over == "model"
        listed = [row for row in _judged(self.report) if row.n_list > 0]
        of_list = grouped(listed, lambda row: model_of(row) if each_model else "")
        return {name: ranked(rows) for name, rows in of_list.items()}

    def list_of(self, n: Number) -> str | None:
        """The name of its list; None where it is exploratory, or says nothing."""
        if n.row is None or n.row.n_list == 0:
            return None
        return model_of(n.row) if self.report.verdicts_over == "model" else ""

    def others(self, n: Number) -> list[Changed]:
        """What changes with k, wording, word list or any other condition: rows that differ in one alone."""
        row = n.row
        if not isinstance(row, (Estimate, ClaimResult)):
            return []
        index, others = _index(self), []
        for key in row.conditions:
            same = [other for other in index.get((*name_of(row), key, _without(row, key)), []) if other is not row]
            others += [(key, other.conditions[key], other) for other in same[:MOST_OTHERS]]
        probe = self.report.source.declaration(row.probe).name if row.probe in self.report.source.labels else ""
        for label in self.report.source.labels if probe else ():
            if label != row.probe and self.report.source.declaration(label).name == probe:
                at = (type(row).__name__, label, *name_of(row)[2:], "", _without(row, ""))
                others += [("label", label, other) for other in index.get(at, [])]
        return [Changed(key, value, number(other, n.model, format_of([other]))) for key, value, other in others]

    _indexed: dict[Hashable, list[Estimate | ClaimResult]] = field(default_factory=dict)


def _judged(report: Report) -> Iterator[Row]:
    source = report.source
    for label in source.labels:
        yield from source.estimates(label)
    yield from source.claims
    yield from source.rows(VariantDifference)


def ranked(rows: Sequence[Row]) -> list[Ranked]:
    order = sorted(rows, key=p_corrected_from)
    many = len(order)
    return [Ranked(row, i, p_corrected_from(row), ALPHA * i / many, row.p_list) for i, row in enumerate(order, start=1)]


def model_of(row: Row) -> str:
    return "" if isinstance(row, Difference) else row.model


def name_of(row: Estimate | ClaimResult) -> tuple[Hashable, ...]:
    """What two rows of one quantity of one model share."""
    name = f"claim {row.claim}" if isinstance(row, ClaimResult) else row.measure
    return row.probe, row.model, name


def _without(row: Estimate | ClaimResult, key: str) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in row.conditions.items() if name != key)


def _index(audit: Audit) -> dict[Hashable, list[Estimate | ClaimResult]]:
    """Rows by all their conditions but one; made once."""
    if not audit._indexed:
        for row in _judged(audit.report):
            if isinstance(row, (Estimate, ClaimResult)):
                for key in ("", *row.conditions):
                    audit._indexed.setdefault((*name_of(row), key, _without(row, key)), []).append(row)
    return audit._indexed


def described(report: Report, row: Row) -> str:
    """What a row is of, in words: `accuracy, attractor = plural`."""
    label = label_of_row(row)
    known = label in report.source.labels
    called = names_of(report.source.declaration(label)) if known else {}
    if isinstance(row, ClaimResult):
        what = row.statement
    else:
        measures = titles(report.source.declaration(label).summary) if known else {}
        what = measures.get(row.measure, row.measure.replace("_", " "))
    at = worded((key, called.get(value, value)) for key, value in row.conditions.items())
    return ", ".join([what, *at])
