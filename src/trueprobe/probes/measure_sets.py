"""How probes declare their measures: several quantities at every combination of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Claim, Measure
from trueprobe.types import Unit

ALL = "all"
Conditions = dict[str, str | int]


class MeasureSet(Protocol):
    """Columns, measures and claims of a probe, declared by one object."""

    def columns(self) -> Mapping[str, str]: ...
    def measures(self) -> Iterable[Measure]: ...
    def claims(self) -> Iterable[Claim]: ...
    @property
    def headline(self) -> Measure: ...


class ColumnMean(NamedTuple):
    """The mean of one observation column."""

    name: str  # of the measure
    column: str
    unit: Unit
    neutral: float | None = None
    of_coverage: bool = False
    coverage: str = ""  # see `Measure`


def with_all(values: Sequence[str]) -> tuple[str, ...]:
    """The values, and all of them together where they are several."""
    return (*values, ALL) if len(values) > 1 else tuple(values)


def combinations(**values: Iterable[str | int]) -> Iterator[tuple[Conditions, Conditions]]:
    """`where` and `conditions` of a measure; `all` is reported and restricts nothing.

    `set=["job"], wording=["all"]` -> `{"set": "job"}, {"set": "job", "wording": "all"}`"""
    for chosen in product(*values.values()):
        conditions = dict(zip(values, chosen, strict=True))
        yield {key: value for key, value in conditions.items() if value != ALL}, conditions


def mean_measures(
    quantities: Iterable[ColumnMean], where: Mapping[str, Any], conditions: Mapping[str, str | int], **more: Any
) -> Iterator[Measure]:
    for name, column, unit, neutral, of_coverage, coverage in quantities:
        more |= {"of_coverage": of_coverage, "coverage": coverage}
        yield Measure(name, means, (column,), where=where, conditions=conditions, unit=unit, neutral=neutral, **more)
