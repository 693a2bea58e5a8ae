"""The design of a user's file: which columns are conditions, which names the group, and what is counted where; and what
the probes of such files share.

Every condition is counted over all items, at each of its values, and, where conditions cross, at each combination. What
is counted is one share with a neutral value, and other quantities.
"""

from __future__ import annotations

import dataclasses
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import Field, field_validator

from trueprobe.errors import BadInput
from trueprobe.probes import design_pages, files, tables
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.display import MOST_PRIMARY, Primary, ReportSpec, Summary
from trueprobe.probes.files import Dataset
from trueprobe.probes.measure_sets import ALL, NEAR_TIE_NATS, Conditions
from trueprobe.probes.tables import DataRow, DataTable
from trueprobe.statistics import contrasts
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Flips, Function, Measure
from trueprobe.statistics.rows import Estimate
from trueprobe.types import CONDITION, CONTRAST, GROUP, LEVELS, NAMED_BY, Kind, Unit

EXAMPLE = "example"
AUTO, NONE = "auto", "none"
ITEM = "item"  # a usual name of what is resampled together, and never a condition
FILE = "file"  # the condition that a row's file is, unless a column has that name
MOST_VALUES = 20  # of a column that is taken for a condition without being named
MOST_CELLS = 64  # combinations of conditions that are counted
EMPTY = "(empty)"  # the value of a condition where the file has none
ENDINGS = (".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz")
# what tables and figures name themselves
TAKEN = {field.name for field in dataclasses.fields(Estimate)} | {"item", "text", "causal_text", "part", "why_not"}
TAKEN |= {"why_not_detail", "model_seed", "seed", "scoring", "side"}


class DesignSettings(Settings):
    data: str = Field(
        default=EXAMPLE,
        description="your CSV, TSV or JSON lines file, a folder of them, example, or planted: about nursery-planted",
    )
    conditions: tuple[str, ...] = Field(
        default=(AUTO,),
        description=f"columns, separated by commas; auto: all further ones with 2 to {MOST_VALUES} values; or none",
    )
    group: str = Field(
        default=AUTO, description="column of what is resampled together; auto: group, else item, else each row alone"
    )
    contrast: tuple[str, ...] = Field(
        default=(),
        max_length=MOST_PRIMARY - 1,
        description="differences between the values of up to three conditions, and their interactions, decided on "
        'beforehand: "attractor × number", also written with x, * or a colon; two at most, with a comma between them',
    )

    @field_validator("conditions", "contrast", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


@dataclass(frozen=True)
class Roles:
    """What the columns of a file are for; those a probe reads itself are `read`."""

    read: tuple[str, ...]
    observed: tuple[str, ...]  # columns of the observations, whose names no condition may have
    ids: tuple[str, ...] = ("id",)  # together they name a row, where the file has them all
    conditions: tuple[str, ...] = ()  # that a published format has, however many values


@dataclass(frozen=True)
class DesignRow:
    id: str
    conditions: Mapping[str, str]
    groups: tuple[str, ...]
    data: DataRow


@dataclass(frozen=True)
class FileDesign:
    conditions: tuple[str, ...]
    rows: tuple[DesignRow, ...]
    group: str  # the column of what is resampled together; empty where each row is by itself
    ignored: tuple[str, ...]  # columns that are nothing of it
    empty_lines: int

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Of each condition, in the order of the file."""
        return {name: tuple(dict.fromkeys(row.conditions[name] for row in self.rows)) for name in self.conditions}

    @cached_property
    def cells(self) -> tuple[Conditions, ...]:
        """Combinations of several conditions, unless they are too many or one condition names them already."""
        cells = dict.fromkeys(tuple(row.conditions.items()) for row in self.rows)
        most_values = max(map(len, self.values.values()), default=0)
        return tuple(map(dict, cells)) if most_values < len(cells) <= MOST_CELLS else ()

    def combinations(self) -> Iterator[tuple[Conditions, Conditions]]:
        """`where` and `conditions` of the measures: all, each value of each condition, each combination."""
        pooled: Conditions = dict.fromkeys(self.conditions, ALL)
        several = {name: values for name, values in self.values.items() if len(values) > 1}
        alone: list[Conditions] = [{name: value} for name, values in several.items() for value in values]
        for where in [Conditions(), *alone, *self.cells]:
            yield where, {**pooled, **where}

    def crossed(self, names: Sequence[str]) -> Iterator[tuple[Conditions, Conditions]]:
        """The same of each combination of the values of some conditions, over all values of the others."""
        pooled: Conditions = dict.fromkeys(self.conditions, ALL)
        for values in product(*(self.values[name] for name in names)):
            where = Conditions(zip(names, values, strict=True))
            if any(where.items() <= row.conditions.items() for row in self.rows):
                yield where, {**pooled, **where}

    def facts(self) -> dict[str, Any]:
        return {
            "items": len(self.rows),
            "groups": len({row.groups for row in self.rows}),
            "group_column": self.group,
            "conditions": {name: dict(Counter(row.conditions[name] for row in self.rows)) for name in self.conditions},
            "columns_ignored": list(self.ignored),
            "empty_lines": self.empty_lines,
        }


# ---------------------------------------------------------------- reading


def read_data(name: str, example: str) -> list[Dataset]:
    """The shipped example, the file about nursery-planted, a file, or every file of a folder."""
    if name == EXAMPLE:
        return [files.sample_dataset(example)]
    if name == files.PLANTED:
        return [files.planted_dataset(f"{Path(example).parent}/{name}.csv")]
    path = files.path_of(name)
    if not path.is_dir():
        return [files.read_data_file(name, (EXAMPLE, files.PLANTED))]
    inside = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS))
    if not inside:
        raise BadInput(f"{name}: no file in it ends in {', '.join(ENDINGS[:3])}")
    return [files.read_data_file(str(file), ()) for file in inside]


def read_table(data: Sequence[Dataset]) -> DataTable:
    table = tables.joined([tables.read(one.path, one.text) for one in data])
    if not table.rows:
        raise BadInput(f"{table.place}: no rows")
    return table


def design_of(table: DataTable, settings: DesignSettings, roles: Roles) -> FileDesign:
    group = _group(table, settings, roles)
    ids = roles.ids if set(roles.ids) <= set(table.columns) else ()
    free = [column for column in table.columns if column and column not in (*roles.read, *ids, group)]
    columns = _conditions(table, settings, roles, free)
    named = {_plain(column): column for column in columns}
    if len(named) < len(columns):
        raise BadInput(f"{table.place}: two conditions would both be called '{_plain(columns[-1])}'")
    _refuse_taken(named, table, roles)
    rows = tuple(_row(row, number, ids, group, named) for number, row in enumerate(table.rows))
    _refuse_twins(rows)
    return FileDesign(
        tuple(named),
        rows=rows,
        group=group,
        ignored=tuple(column for column in free if column not in columns),
        empty_lines=len(table.empty_lines),
    )


def _group(table: DataTable, settings: DesignSettings, roles: Roles) -> str:
    if settings.group != AUTO:
        return table.column(settings.group)
    usual = (name for name in ("group", ITEM) if name in table.columns and name not in (*roles.read, *roles.ids))
    return next(usual, "")


def _conditions(table: DataTable, settings: DesignSettings, roles: Roles, free: Sequence[str]) -> list[str]:
    """Where there is none, all items have the file's name as their one condition."""
    if settings.conditions == (NONE,):
        return [FILE]
    if settings.conditions == (AUTO,):
        conditions = [column for column in roles.conditions if column in free or column in roles.ids]
        likely, most = (
            (conditions, len(table.rows)) if conditions else ([*(c for c in free if c != ITEM), FILE], MOST_VALUES)
        )
        return [column for column in dict.fromkeys(likely) if _varies(table, column, most)] or [FILE]
    for column in settings.conditions:
        if column != FILE and table.column(column) in (*roles.read, settings.group):
            raise BadInput(f"the column '{column}' is read for something else and cannot be a condition")
    return list(dict.fromkeys(settings.conditions))


def _varies(table: DataTable, column: str, most: int) -> bool:
    """Values that come back: 2 to `most` of them, and two rows for each on average."""
    cells = [_cell(row, column) for row in table.rows]
    if any(isinstance(cell, (list, dict)) for cell in cells):
        return False
    return 2 <= len(set(map(_value, cells))) <= min(most, len(cells) // 2)


def _cell(row: DataRow, column: str) -> Any:
    """A short row has none; the file's name is a column of every row."""
    return row.cells.get(column, row.path.stem if column == FILE else None)


def _plain(column: str) -> str:
    """A name for tables and figures: `type of verb` -> `type_of_verb`."""
    return re.sub(r"\W+", "_", column).strip("_")


def _value(cell: Any) -> str:
    return tables.text_of(cell).strip() or EMPTY


def _refuse_taken(named: Mapping[str, str], table: DataTable, roles: Roles) -> None:
    for name, column in named.items():
        if not name or name in TAKEN or name in roles.observed or name.startswith((CONDITION, GROUP)):
            raise BadInput(
                f"{table.place}: a condition cannot be called '{column}', tables use that name; rename the column, or "
                "leave it out: --set conditions=A,B"
            )


def _row(row: DataRow, number: int, ids: Sequence[str], group: str, named: Mapping[str, str]) -> DesignRow:
    name = "/".join(row.text(column) for column in ids) or str(number)
    conditions = {}
    for condition, column in named.items():
        conditions[condition] = _value(_cell(row, column))
        if conditions[condition] == ALL:
            raise BadInput(f"{row.place}: {column} is '{ALL}', the name of all values together; call it otherwise")
    return DesignRow(name, conditions=conditions, groups=(row.text(group) if group else name,), data=row)


def _refuse_twins(rows: Sequence[DesignRow]) -> None:
    first: dict[str, DesignRow] = {}
    for row in rows:
        other = first.setdefault(row.id, row)
        if other is not row:
            raise BadInput(f"{row.data.place}: the id '{row.id}' is that of {other.data.place} too")


def data_facts(data: Sequence[Dataset]) -> dict[str, Any]:
    """Which files, as a run records them."""
    return {"data": [dict(one.card) for one in data], "sha256": [one.sha256 for one in data]}


# ---------------------------------------------------------------- the probes of a user's file


D = TypeVar("D", bound=DesignSettings)


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
    figure: ClassVar[str] = "Share of items whose {}"  # their title, with the axis
    template: ClassVar[str]  # what the headline means; `{}` is empty, or `only` below the neutral value
    factors = ("group",)

    def __init__(self, settings: D) -> None:
        super().__init__(settings)
        self.data = read_data(settings.data, self.example)
        table = read_table(self.data)
        self.roles = self._roles(table)
        self.design: FileDesign = design_of(table, settings, self.roles)
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
        yield from self._at(self.design.combinations(), self._quantities(), kind, scoring)
        for contrast in self.settings.contrast:
            cells = self.design.crossed(contrasts.factors_of(contrast, self.design.conditions))
            yield from contrasts.contrasts(contrast, list(self._at(cells, self._contrasted, kind, scoring)))

    @property
    def _contrasted(self) -> tuple[DesignQuantity, ...]:
        """The one in nats, whose contrasts are primary, and the headline."""
        every = self._quantities()
        amounts = [one for one in every if one.column == self.difference and one.function is means]
        return (*amounts, *(every[0:1] if every[0] not in amounts else ()))

    def _at(
        self,
        combinations: Iterable[tuple[Conditions, Conditions]],
        quantities: Sequence[DesignQuantity],
        kind: Kind,
        scoring: str,
    ) -> Iterator[Measure]:
        for where, conditions in combinations:
            at = {"scoring": scoring, **conditions}
            for name, function, column, unit, neutral, of_coverage, only in quantities:
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
        return (Primary(self.headline.name, where, above=above, below=below), *self._declared_contrasts)

    @cached_property
    def _declared_contrasts(self) -> tuple[Primary, ...]:
        """The highest term of each, with every pair of values."""
        measure, declared = self._contrasted[0], {}
        for contrast in self.settings.contrast:
            factors = contrasts.factors_of(contrast, self.design.conditions)
            made = contrasts.contrasts(contrast, list(self._at(self.design.crossed(factors), [measure], "causal", "")))
            whole = contrasts.TIMES.join(factors)
            for at in (one.reported for one in made if one.reported[CONTRAST] == whole):
                where = {name: at[name] for name in NAMED_BY}
                text = f"in {{models}}, {at[CONTRAST]}, {at[LEVELS]}, comes to {{value}}"
                named = measure.name + contrasts.SUFFIX
                declared[tuple(where.values())] = Primary(named, where, above=text, below=text)
        return tuple(declared.values())

    def _summary(self, measures: Mapping[str, str], note: str, **declared: Any) -> Summary:
        """`measures` with their titles; rows are named by the file's conditions."""
        rows = design_pages.row_names(self.design)
        return Summary(
            rows=rows,
            row_title=" · ".join(rows),
            measures=tuple(measures),
            where=design_pages.pooled(self.design),
            titles=tuple(measures.values()),
            notes=(note, *design_pages.notes(self.design)),
            **declared,
        )

    @property
    def page(self) -> ReportSpec:
        names = [one.name + contrasts.SUFFIX for one in self._contrasted] if self.settings.contrast else []
        title = self.figure.format(self.axis)
        return design_pages.page_of(self.design, self.headline.name, self.difference, self.axis, title, names)

    @property
    def material_id(self) -> str:
        return files.content_id([data.sha256 for data in self.data])

    def facts(self) -> Mapping[str, Any]:
        """The files, and what their columns were taken for."""
        return {**data_facts(self.data), "columns": list(self.roles.read), **self.design.facts()}
