"""Everything a report contains, typed and decided once; the terminal, the page, Markdown and JSON only render it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from trueprobe.results.view import figures, methods, planned, tables, trust
from trueprobe.results.view.findings import Scoring, Section, sections
from trueprobe.results.view.items import Example, ItemRows, examples, item_rows
from trueprobe.results.view.number import Finding, Grid
from trueprobe.results.view.pictures import FigureView
from trueprobe.results.view.planned import PlanCheck
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.families import Family
from trueprobe.runs.folder import Run
from trueprobe.runs.schema import ProbeDeclaration
from trueprobe.types import TIE_NATS


class Gap(StrEnum):
    """What a reader would expect and does not find, or has to keep in mind."""

    INTERRUPTED = "interrupted"
    NOTHING_COUNTED = "nothing_counted"
    MODELS_MISSING = "models_missing"  # names: the models asked; others: those with answers
    NOTHING_SCORED = "nothing_scored"  # names: the probe
    NOT_BEGUN = "not_begun"  # names: the probe
    ONE_SEED = "one_seed"  # names: the families


@dataclass(frozen=True)
class Missing:
    gap: Gap
    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProbeReport:
    """One probe's part. Tables and items are made when they are first asked for."""

    source: ReportSource
    label: str
    scoring: Scoring

    @property
    def declaration(self) -> ProbeDeclaration:
        return self.source.declaration(self.label)

    @cached_property
    def tables(self) -> tuple[Grid, ...]:
        return tuple(tables.tables(self.source, self.label))

    @cached_property
    def figures(self) -> tuple[FigureView, ...]:
        return tuple(figures.of_probe(self.source, self.label))

    @cached_property
    def items(self) -> ItemRows | None:
        return item_rows(self.source, self.label)

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return tuple(examples(self.source, self.label))


@dataclass(frozen=True)
class Report:
    source: ReportSource

    @classmethod
    def of(cls, run: Run) -> Report:
        return cls(ReportSource(run))

    @property
    def families(self) -> tuple[Family, ...]:
        return self.source.families

    @property
    def title(self) -> str:
        """The study's, or an empty text."""
        return self.source.run.manifest.study.title

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return tuple(sections(self.source))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for section in self.sections for finding in section.findings)

    @cached_property
    def items_needed(self) -> dict[str, int]:
        """Of each probe: how many items its findings need, where a limit left fewer; else 0."""
        return {section.probes[0]: section.items_needed for section in self.sections}

    @property
    def n_primary(self) -> int:
        """The numbers that are controlled together."""
        return self.source.n_listed

    @property
    def verdicts_over(self) -> str:
        """`run` or `model`: whose primary numbers are on one list."""
        return self.source.run.manifest.study.verdicts_over

    @cached_property
    def probes(self) -> tuple[ProbeReport, ...]:
        known = {section.probes[0]: section.scoring for section in self.sections if section.scoring}
        return tuple(ProbeReport(self.source, label, known[label]) for label in self.source.labels)

    @cached_property
    def plan_check(self) -> PlanCheck | None:
        """What is not as planned, where the run followed a plan."""
        return planned.check(self.source)

    @cached_property
    def trust(self) -> tuple[Grid, ...]:
        return tuple(trust.tables(self.source))

    @cached_property
    def about_seeds(self) -> tuple[FigureView, ...]:
        return tuple(figures.about_seeds(self.source))

    @property
    def figures(self) -> list[FigureView]:
        """All of them, as files are written of them."""
        return [view for views in (*(probe.figures for probe in self.probes), self.about_seeds) for view in views]

    @cached_property
    def claims(self) -> Grid | None:
        return methods.claims_table(self.source, self.sections)

    @cached_property
    def models(self) -> Grid:
        return methods.models_table(self.source)

    @cached_property
    def settings(self) -> Grid:
        return methods.settings_table(self.source)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """All tables, as files are written of them."""
        of_probes = [grid for probe in self.probes for grid in probe.tables]
        return (*of_probes, *self.trust, *([self.claims] if self.claims else []), self.models, self.settings)

    @property
    def self_trained(self) -> tuple[str, ...]:
        return tuple(family.name for family in self.families if family.cards[0].self_trained)

    @property
    def unsteady(self) -> dict[str, float]:
        """Served models that answer one question in two ways, and how far these lie apart, in nats."""
        noise = {family.name: max(card.noise_nats for card in family.cards) for family in self.families}
        return {name: nats for name, nats in noise.items() if nats > TIE_NATS}

    @cached_property
    def missing(self) -> tuple[Missing, ...]:
        return tuple(_missing(self))

    @cached_property
    def methods(self) -> str:
        return methods.paragraph(self.source)

    @cached_property
    def bibtex(self) -> str:
        return methods.bibtex(self.source)


def _missing(report: Report) -> Iterator[Missing]:
    source = report.source
    if not source.complete:
        yield Missing(Gap.INTERRUPTED)
        if not source.counted:
            yield Missing(Gap.NOTHING_COUNTED)
        there = tuple(family.name for family in source.families)
        yield Missing(Gap.MODELS_MISSING, tuple(source.run.manifest.study.models), there)
    for probe in report.probes:
        if source.complete and not probe.scoring.n_scored:
            yield Missing(Gap.NOTHING_SCORED, (probe.label,))
    for label in source.run.probes:
        if label not in source.labels:
            yield Missing(Gap.NOT_BEGUN, (label,))
    single = tuple(family.name for family in source.families if family.n_seeds < 2)
    if single and source.counted:
        yield Missing(Gap.ONE_SEED, single)
