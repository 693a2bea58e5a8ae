"""What the probes of a user's file share: one share with a neutral value, and other quantities, at every condition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from trueprobe.probes import design, files
from trueprobe.probes.base import Probe
from trueprobe.probes.design import Design, DesignSettings, Roles
from trueprobe.probes.display import Figure, ItemTable, Primary, ReportSpec, Summary
from trueprobe.probes.measure_sets import ALL
from trueprobe.probes.pair_measures import NEAR_TIE_NATS
from trueprobe.probes.tables import DataTable
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Flips, Function, Measure
from trueprobe.types import TIE_NATS, Kind, Unit, WhyNot

D = TypeVar("D", bound=DesignSettings)
NO_HEAD = WhyNot("no_head", "an encoder gives no word a probability")


class DesignQuantity(NamedTuple):
    """A function of one observation column."""

    name: str  # of the measure
    function: Function
    column: str
    unit: Unit = Unit.SHARE
    neutral: float | None = None
    of_coverage: bool = False
    where: Mapping[str, Any] = {}


class DesignProbe(Probe[D]):
    """The first of `quantities` is the headline, and its only primary number is that over all items."""

    example: ClassVar[str]  # the shipped file
    difference: ClassVar[str]  # column: by how much, in nats
    prefers: ClassVar[str]  # column: 1 for the right side, 0 for the wrong one, 0.5 for a tie
    axis: ClassVar[str]  # what the headline is a share of, for figures
    template: ClassVar[
        str
    ]  # what the headline means, as `Primary` has it; `{}` is empty, or `only` below the neutral value
    factors = ("group",)

    def __init__(self, settings: D) -> None:
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
    def _quantities(self) -> Sequence[DesignQuantity]: ...

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
                yield Measure(
                    name,
                    function,
                    (column,),
                    where={**where, **only},
                    conditions=at,
                    unit=unit,
                    neutral=neutral,
                    **more,
                )

    @property
    def headline(self) -> Measure:
        first = self._quantities()[0]
        return Measure(first.name, means, (first.column,), conditions={}, unit=first.unit, neutral=first.neutral)

    @property
    def primary(self) -> tuple[Primary, ...]:
        where = dict.fromkeys(self.design.conditions, ALL)
        above, below = (self.template.format(only) for only in ("", "only "))
        return (Primary(self.headline.name, where, above=above, below=below),)

    def _summary(self, measures: Mapping[str, str], note: str, **declared: Any) -> Summary:
        """`measures` with their titles; rows are named by the file's conditions."""
        rows = _row_names(self.design)
        return Summary(
            rows=rows,
            row_title=" · ".join(rows),
            measures=tuple(measures),
            where=_pooled(self.design),
            titles=tuple(measures.values()),
            notes=(note, *_notes(self.design)),
            **declared,
        )

    @property
    def page(self) -> ReportSpec:
        return _page(self.design, self.headline.name, self.difference, self.axis)

    @property
    def material_id(self) -> str:
        return files.content_id([data.sha256 for data in self.data])

    def facts(self) -> Mapping[str, Any]:
        """The files, and what their columns were taken for."""
        return {**design.data_facts(self.data), "columns": list(self.roles.read), **self.design.facts()}


def prefers(nats: float) -> float:
    """1, 0, or 0.5 for a tie."""
    return 0.5 if abs(nats) <= TIE_NATS else float(nats > 0)


# ---------------------------------------------------------------- what is displayed


_MOST_ROW_CONDITIONS = 2  # that name a row of the printed table; with more, the first alone


def _row_names(design: Design) -> tuple[str, ...]:
    """The conditions that name the rows of the summary."""
    return design.conditions if len(design.conditions) <= _MOST_ROW_CONDITIONS else design.conditions[:1]


def _pooled(design: Design) -> dict[str, str]:
    """Where the summary's rows are: over all values of the conditions that do not name them."""
    return {name: ALL for name in design.conditions if name not in _row_names(design)}


def _notes(design: Design) -> tuple[str, ...]:
    ignored = ", ".join(design.ignored)
    return (f"columns that are no condition: {ignored}",) if ignored else ()


def _page(design: Design, share: str, difference: str, what: str) -> ReportSpec:
    """`share` is a measure, `difference` an observation column, `what` stands on the axis. The tables that every run
    has are enough: the summary and the means over seeds."""
    return ReportSpec([*_figures(design, share, what)], items=ItemTable((difference,), difference, side=difference))


def _figures(design: Design, share: str, what: str) -> Iterator[Figure]:
    for name in design.conditions:
        others = {other: ALL for other in design.conditions if other != name}
        yield Figure(
            f"by_{name}",
            title=f"Share of items whose {what}, by {name}",
            caption="The line is the neutral value; small dots are seeds.",
            measures=(share,),
            x=name,
            kind="dots",
            panels=("model",),
            where=others,
            y_title=what,
        )
    if len(design.conditions) == _MOST_ROW_CONDITIONS and design.cells:
        yield _crossed(design, share, what)


def _crossed(design: Design, share: str, what: str) -> Figure:
    first, second = design.conditions
    return Figure(
        "crossed",
        title=f"Share of items whose {what}, by {first} and {second}",
        caption="Each combination; the line is the neutral value.",
        measures=(share,),
        x=first,
        kind="dots",
        series=second,
        panels=("model",),
        where=design.values,
        y_title=what,
    )
