"""What the probes of a user's file share: one share with a neutral value, and other quantities, at every condition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from trueprobe.probes import files
from trueprobe.probes.base import Probe
from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.generic import design, report
from trueprobe.probes.generic.design import Design, DesignSettings, Roles
from trueprobe.probes.measure_sets import ALL
from trueprobe.probes.pair_measures import NEAR_TIE_NATS
from trueprobe.probes.tables import DataTable
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Flips, Function, Measure
from trueprobe.types import TIE_NATS, Kind, Unit, WhyNot

NO_HEAD = WhyNot("no_head", "an encoder gives no word a probability")


class Quantity(NamedTuple):
    """A function of one observation column."""

    name: str  # of the measure
    function: Function
    column: str
    unit: Unit = Unit.SHARE
    neutral: float | None = None
    of_coverage: bool = False
    where: Mapping[str, Any] = {}


class DesignProbe(Probe):
    """The first of `quantities` is the headline, and its only primary number is that over all items."""

    example: ClassVar[str]  # the shipped file
    difference: ClassVar[str]  # column: by how much, in nats
    prefers: ClassVar[str]  # column: 1 for the right side, 0 for the wrong one, 0.5 for a tie
    axis: ClassVar[str]  # what the headline is a share of, for figures
    factors = ("group",)

    def __init__(self, settings: DesignSettings) -> None:
        super().__init__(settings)
        self.data = design.read_data(settings.data, self.example)
        table = design.read_table(self.data)
        self.roles = self._roles(table)
        self.design: Design = design.design_of(table, settings, self.roles)
        self.corrected_over = self.design.conditions
        first = self.design.conditions[0]
        self.flips = Flips(self.prefers, self.difference, NEAR_TIE_NATS, category=first, size="scored_tokens")

    @abstractmethod
    def _roles(self, table: DataTable) -> Roles: ...

    @abstractmethod
    def _quantities(self) -> Sequence[Quantity]: ...

    @abstractmethod
    def _scorings(self) -> Mapping[Kind, str]:
        """How each kind of model is asked: a condition of its numbers."""

    def measures(self) -> list[Measure]:
        return [measure for kind, scoring in self._scorings().items() for measure in self._measures(kind, scoring)]

    def _measures(self, kind: Kind, scoring: str) -> Iterator[Measure]:
        for where, conditions in self.design.combinations():
            at = {"scoring": scoring, **conditions}
            for name, function, column, unit, neutral, of_coverage, only in self._quantities():
                more: dict[str, Any] = {"of_coverage": of_coverage, "kinds": (kind,)}
                yield Measure(name, function, (column,), {**where, **only}, at, unit, neutral, **more)

    @property
    def headline(self) -> Measure:
        first = self._quantities()[0]
        return Measure(first.name, means, (first.column,), {}, {}, first.unit, first.neutral)

    @property
    def primary(self) -> tuple[Primary, ...]:
        return (Primary(self.headline.name, dict.fromkeys(self.design.conditions, ALL)),)

    def _summary(self, measures: Mapping[str, str], note: str, **declared: Any) -> Summary:
        """`measures` with their titles; rows are named by the file's conditions."""
        rows = report.rows(self.design)
        return Summary(
            rows=rows,
            row_title=" · ".join(rows),
            measures=tuple(measures),
            where=report.pooled(self.design),
            titles=tuple(measures.values()),
            notes=(note, *report.notes(self.design)),
            **declared,
        )

    @property
    def page(self) -> ReportSpec:
        return report.page(self.design, self.headline.name, self.difference, self.axis)

    @property
    def material_id(self) -> str:
        return files.content_id([data.sha256 for data in self.data])

    def facts(self) -> Mapping[str, Any]:
        """The files, and what their columns were taken for."""
        return {**design.data_facts(self.data), "columns": list(self.roles.read), **self.design.facts()}


def prefers(nats: float) -> float:
    """1, 0, or 0.5 for a tie."""
    return 0.5 if abs(nats) <= TIE_NATS else float(nats > 0)
