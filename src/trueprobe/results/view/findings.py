"""Findings: what the papers claim, what a probe measures, what a choice moves, with the number of each family.

A section holds the findings of one probe, of several probes together, or of the choice between two labels of a probe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product, zip_longest
from typing import NamedTuple, TypeVar

import pandas as pd

from trueprobe.probes.display import row_names
from trueprobe.results.view.number import Finding, Kind, Mark, Number, OfNumbers, Row, Seed, format_of, number, seeds_of
from trueprobe.results.view.select import first_directed, forms_of, label_of, of_summary, titles, where_known
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.families import Family
from trueprobe.statistics.rows import ClaimResult, Estimate, VariantDifference, grouped
from trueprobe.types import LEAST_COVERED, NAMED_BY, ClaimSource, Outcome, Verdict

R = TypeVar("R")


@dataclass(frozen=True)
class Scoring:
    """How much of what a probe asked was scored, and why the rest was not."""

    n_asked: int
    n_scored: int
    why_not: tuple[tuple[str, int], ...]  # code and count
    mostly_tied: tuple[str, ...]  # checkpoints whose answers say nothing
    countable: tuple[float, ...] = ()  # shares of prompts with a countable answer: the least and the most of any number


class SectionKind(StrEnum):
    PROBE = "probe"
    TOGETHER = "together"  # several probes
    CHOICE = "choice"  # between two labels of one probe: the second less the first


@dataclass(frozen=True)
class Section:
    kind: SectionKind
    probes: tuple[str, ...]
    findings: tuple[Finding, ...]
    scoring: Scoring | None = None
    depth: str = ""  # `top 10`: where its numbers are counted
    items_needed: int = 0  # where the run was limited to fewer
    items_of: str = ""  # whose items these are, where they are not the paper's

    @property
    def fails_gate(self) -> tuple[str, ...]:
        failed = (n.model for f in self.findings for n in f.numbers if n.verdict is Verdict.FAILS_GATE)
        return tuple(dict.fromkeys(failed))


F = TypeVar("F", bound=OfNumbers)


def ranked(lines: Iterable[F]) -> list[F]:
    """Of one section: those with a mark (after the first, those that are not as published), then the others by what
    they decide."""
    marked: list[F] = []
    unmarked: list[F] = []
    for line in lines:
        (marked if line.marks else unmarked).append(line)
    later = sorted(marked[1:], key=lambda line: not line.marks & {Mark.OPPOSITE, Mark.FLIPS, Mark.MIXED})
    return [*marked[:1], *later, *sorted(unmarked, key=lambda line: (not line.has_verdict, line.tier))]


def in_order(sections: Sequence[tuple[Iterable[F], bool]]) -> list[F]:
    """Of all sections, in the order in which they are shown where there is no room for all; `bool`: whether a section
    has a line while there is room. Then those follow that decide most, from every section in turn. Fewer lines are a
    part of more."""
    queues = [ranked(lines) for lines, _ in sections]
    certain = [queue for queue, (_, has_line) in zip(queues, sections, strict=True) if has_line and queue]
    first = sorted((queue.pop(0) for queue in certain), key=lambda line: line.tier)
    rest = (line for turn in zip_longest(*queues) for line in turn if line is not None)
    return [*first, *sorted(rest, key=lambda line: line.tier)]


def sections(source: ReportSource) -> Iterator[Section]:
    for label in source.labels:
        findings = (*_claim_findings(source, label), *_measure_findings(source, label))
        declared, needed = source.declaration(label), items_lacking(source, label)
        depth, of = declared.summary.where_title, declared.items_of
        yield Section(SectionKind.PROBE, (label,), findings, scoring(source, label), depth, needed, of)
    others = [label for label in dict.fromkeys(claim.probe for claim in source.claims) if label not in source.labels]
    together = tuple(finding for label in others for finding in _claim_findings(source, label))
    if together:
        yield Section(SectionKind.TOGETHER, tuple(others), together)
    moved = grouped(source.rows(VariantDifference), lambda row: (row.first_label, row.second_label))
    for pair, rows in moved.items():
        yield Section(SectionKind.CHOICE, pair, tuple(_choice_findings(source, rows)))


def items_lacking(source: ReportSource, label: str) -> int:
    """How many items would be needed, where the limit left fewer; else 0."""
    declaration = source.declaration(label)
    return declaration.items_needed if declaration.n_items < declaration.items_needed else 0


def scoring(source: ReportSource, label: str) -> Scoring:
    rows = source.observations(label)
    if rows.empty:
        return Scoring(0, 0, (), ())
    unscored = rows.loc[rows["why_not"] != "", "why_not"].value_counts()
    why = tuple((str(code), int(many)) for code, many in unscored.items())
    scored, tied = len(rows) - sum(n for _, n in why), _mostly_tied(source.last_observations(label))
    return Scoring(len(rows), scored, why, tied, _countable(source, label))


def _countable(source: ReportSource, label: str) -> tuple[float, ...]:
    shares = [row.covered for _, row in claim_rows(source, label)]
    shares += [row.covered for _, row in _measured(source, label)]
    known = sorted({share for share in shares if not math.isnan(share)})
    return (known[0], known[-1]) if known else ()


def _mostly_tied(rows: pd.DataFrame) -> tuple[str, ...]:
    if "tied" not in rows:
        return ()
    shares = rows[rows["why_not"] == ""].groupby("model", sort=False)["tied"].mean()
    return tuple(map(str, shares[shares > 1 - LEAST_COVERED].index))


def claim_rows(source: ReportSource, label: str) -> list[tuple[Family | None, ClaimResult]]:
    """Of each family, and of pairs of models (None), at the conditions of the probe's summary."""
    rows = [claim for claim in source.claims if claim.probe == label]
    fixed = source.declaration(label).summary.where if label in source.labels else {}
    pairs: list[tuple[Family | None, ClaimResult]] = [
        (family, row) for family in source.families for row in family.rows(rows)
    ]
    pairs += [(None, row) for row in rows if row.level == "pair"]
    chosen = {id(row) for row in where_known([row for _, row in pairs], fixed)}
    return [(family, row) for family, row in pairs if id(row) in chosen]


def _claim_findings(source: ReportSource, label: str) -> Iterator[Finding]:
    for rows in grouped(claim_rows(source, label), lambda pair: (pair[1].claim, pair[1].statement)).values():
        first = rows[0][1]
        form = format_of([row for _, row in rows], ends=True)
        numbers = tuple(
            number(row, family.name if family else row.model, form, _claim_seeds(source, family, row))
            for family, row in rows
        )
        head = (first.claim, first.statement, first.direction, first.threshold, first.paper)
        yield Finding(Kind.CLAIM, label, *head, numbers, source=first.source, templates=source.templates(first))


def _claim_seeds(source: ReportSource, family: Family | None, row: ClaimResult) -> tuple[Seed, ...]:
    if family is None:
        return ()
    same = [claim for claim in source.claims if (claim.probe, claim.claim) == (row.probe, row.claim)]
    return seeds_of(one for one in family.seed_rows(same) if one.conditions == row.conditions)


def _measure_findings(source: ReportSource, label: str) -> Iterator[Finding]:
    """Every primary number; and the summary's first measure with a neutral value, where the probe claims nothing of
    single models. Numbers of different forms are different findings."""
    declaration = source.declaration(label)
    summary = declaration.summary
    rows = list(_measured(source, label))
    first, called = first_directed((row for _, row in rows), summary), titles(summary)
    forms = forms_of(_by_name(rows), (*summary.row_conditions, *summary.fallback))
    keys = (*summary.row_conditions, *NAMED_BY, *forms)
    for (measure, names), group in grouped(rows, lambda pair: _place(pair[1], keys)).items():
        row = group[0][1]
        named = [label_of(summary.meanings, "", name) for name in names[: len(names) - len(forms)]]
        named += [f"({label_of(summary.meanings, form, row.conditions[form])})" for form in forms]
        about = summary.finding if measure == first and summary.finding else called.get(measure, measure)
        below = summary.below if measure == first else ""
        head = (" ".join(names), f"{' '.join(named)}: {about}", None, row.neutral, declaration.paper)
        numbers = _estimate_numbers(source, group)
        yield Finding(Kind.MEASURE, label, *head, numbers, below=below, templates=source.templates(row))


def _by_name(rows: Iterable[tuple[Family, R]]) -> list[tuple[str, R]]:
    return [(family.name, row) for family, row in rows]


def _place(row: Estimate, keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    return row.measure, tuple(row.conditions[key] for key in keys if key in row.conditions)


def _measured(source: ReportSource, label: str) -> Iterator[tuple[Family, Estimate]]:
    """Those of the summary first, in its order."""
    summary, first = source.declaration(label).summary, None
    summarised: list[tuple[Family, Estimate]] = []
    if not source.claims_single_models(label):
        every = [
            (family, row)
            for family in source.families
            for row in source.select(label, family, summary.measures, summary.where).rows
            if row_names(row.conditions, summary.row_conditions) is not None
        ]
        first = first_directed((row for _, row in every), summary)
        summarised = [(family, row) for family, row in every if row.measure == first]
    yield from summarised
    known = {id(row) for _, row in summarised}
    for family in source.families:
        for row in family.rows(source.estimates(label)):
            if id(row) not in known and row.neutral is not None and source.is_primary(row):
                yield family, row


def _estimate_numbers(source: ReportSource, rows: Sequence[tuple[Family, Estimate]]) -> tuple[Number, ...]:
    form = format_of([row for _, row in rows], ends=True)
    return tuple(number(row, family.name, form, seeds_of(source.seed_rows(family, row))) for family, row in rows)


def choice_rows(source: ReportSource, rows: Sequence[VariantDifference]) -> list[tuple[Family, VariantDifference]]:
    """Of one pair of labels: the numbers that the summary shows, family by family."""
    summary = source.declaration(rows[0].first_label).summary
    return [(family, row) for family in source.families for row in of_summary(family.rows(rows), summary)]


def _choice_findings(source: ReportSource, rows: Sequence[VariantDifference]) -> Iterator[Finding]:
    first = rows[0]
    summary, paper = source.declaration(first.first_label).summary, source.declaration(first.first_label).paper
    called = titles(summary)

    chosen = choice_rows(source, rows)
    forms = forms_of(_by_name(chosen), summary.row_conditions)

    def name(pair: tuple[Family, VariantDifference]) -> str:
        names = [*(row_names(pair[1].conditions, summary.row_conditions) or ())]
        names += [f"({pair[1].conditions[form]})" for form in forms]
        return f"{' '.join(names)}: {called[pair[1].measure]}"

    for what, group in grouped(chosen, name).items():
        every: list[Row] = [row for _, row in group]
        form = format_of(every, ends=True)
        numbers = tuple(number(row, family.name, form) for family, row in group)
        head = (first.second_label, what, what, None, 0.0, paper)
        yield Finding(Kind.CHOICE, *head, numbers, less=first.first_label)


def by_outcome(findings: Iterable[Finding]) -> dict[Outcome, list[Finding]]:
    """Each finding under every outcome that one of its numbers has, with those numbers alone; good ones first."""
    every = list(findings)
    groups: dict[Outcome, list[Finding]] = {}
    for outcome in Outcome:
        parts = [replace(f, numbers=tuple(n for n in f.numbers if n.verdict.outcome is outcome)) for f in every]
        groups[outcome] = [part for part in parts if part.numbers]
    return {outcome: parts for outcome, parts in groups.items() if parts}


NAMED = (  # the findings behind other verdicts are counted
    Verdict.AS_PUBLISHED,
    Verdict.HOLDS,
    Verdict.HOLDS_FOR_CHECKPOINT,
    Verdict.OPPOSITE,
    Verdict.FLIPS,
    Verdict.MIXED,
)


class Judged(NamedTuple):
    """What findings are listed by: as published is one thing, as only expected another."""

    verdict: Verdict
    source: ClaimSource

    @classmethod
    def of(cls, n: Number) -> Judged:
        return cls(n.verdict, n.source if n.verdict is Verdict.AS_PUBLISHED else ClaimSource.FINDING)


def by_verdict(findings: Sequence[Finding]) -> dict[Judged, dict[str, list[str]]]:
    """Verdict -> finding -> models; those that name findings first."""
    order = [*NAMED, *(verdict for verdict in Verdict if verdict not in NAMED)]
    models: dict[Judged, dict[str, list[str]]] = {Judged(*one): {} for one in product(order, ClaimSource)}
    for finding in findings:
        for n in finding.numbers:
            of_finding = models[Judged.of(n)].setdefault(finding.name, [])
            if n.model not in of_finding:
                of_finding.append(n.model)
    return {judged: named for judged, named in models.items() if named}


def tally(findings: Iterable[Finding]) -> dict[Outcome, int]:
    """How many numbers have each outcome."""
    return {outcome: sum(len(f.numbers) for f in parts) for outcome, parts in by_outcome(findings).items()}


@dataclass(frozen=True)
class Silence:
    """Findings of one probe that say nothing of a model, for one cause."""

    probe: str
    model: str
    verdict: Verdict
    n_findings: int


def silences(findings: Iterable[Finding]) -> list[Silence]:
    """Where nothing can be concluded: once for each probe and model, not once for each finding."""
    inconclusive = [
        (f.probe, n.model, n.verdict) for f in by_outcome(findings).get(Outcome.NONE, []) for n in f.numbers
    ]
    return [Silence(*key, len(same)) for key, same in grouped(inconclusive, lambda key: key).items()]
