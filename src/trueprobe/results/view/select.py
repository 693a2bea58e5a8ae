"""Which rows of a table are displayed, at which conditions and at which of two depths, and what these are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trueprobe.probes.display import Summary, Where, matches, row_names
from trueprobe.runs.schema import ProbeDeclaration
from trueprobe.statistics.rows import Estimate
from trueprobe.types import Conditions, Verdict


class CountedRow(Protocol):
    """A row with a number that was counted at some conditions."""

    @property
    def conditions(self) -> Conditions: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def measure(self) -> str: ...


class AtConditions(Protocol):
    @property
    def conditions(self) -> Conditions: ...


R = TypeVar("R", bound=AtConditions)
C = TypeVar("C", bound=CountedRow)


def where(rows: Iterable[R], conditions: Where) -> list[R]:
    return [row for row in rows if matches(conditions, row.conditions.get)]


def where_known(rows: Sequence[R], conditions: Where) -> list[R]:
    """The same by those conditions that any of the rows has."""
    known = {key for row in rows for key in row.conditions}
    return where(rows, {key: value for key, value in conditions.items() if key in known})


@dataclass(frozen=True)
class Depth:
    """The conditions a table is displayed at, and those that replace some of them where most numbers say nothing."""

    where: Where
    fallback: Mapping[str, str]

    @classmethod
    def of(cls, where: Where, summary: Summary) -> Depth:
        """A table that does not fix what the fallback replaces has none."""
        return cls(where, summary.fallback if set(summary.fallback) <= set(where) else {})


@dataclass(frozen=True)
class Selected(Generic[C]):
    rows: list[C]
    fell_back: bool = False


def at_depth(rows: Sequence[C], depth: Depth, directed: Iterable[str]) -> Selected[C]:
    """One model's rows; those of the fallback, if there are any, where most of the directed numbers are inconclusive.

    `directed`: the measures with a neutral value."""
    usual = where(rows, depth.where)
    judged = [row for row in usual if row.measure in set(directed)] or usual
    inconclusive = sum(row.verdict.inconclusive for row in judged)
    if not depth.fallback or 2 * inconclusive <= len(judged):
        return Selected(usual)
    deeper = where(rows, {**depth.where, **depth.fallback})
    return Selected(deeper, True) if deeper else Selected(usual)


def of_summary(rows: Sequence[C], summary: Summary) -> list[C]:
    """Of one model's differences: those of the summary's measures, at its depth, with a row in its table."""
    listed = [row for row in rows if row.measure in summary.measures]
    selected = at_depth(listed, Depth.of(summary.where, summary), ()).rows
    return [row for row in selected if row_names(row.conditions, summary.row_conditions) is not None]


def forms_of(rows: Iterable[tuple[str, AtConditions]], named: Sequence[str]) -> tuple[str, ...]:
    """Of families and their rows: the conditions in which families differ because each was asked or scored in its own
    way (a variant, a form, a head). Numbers that differ in one of them share no row, table, figure or finding."""
    values: dict[str, dict[str, set[str]]] = {}
    for family, row in rows:
        for key, value in row.conditions.items():
            values.setdefault(key, {}).setdefault(family, set()).add(value)
    others = {key: by_family for key, by_family in values.items() if key not in named}
    return tuple(
        key
        for key, by_family in others.items()
        if all(len(one) == 1 for one in by_family.values()) and len(set().union(*by_family.values())) > 1
    )


def directed(rows: Iterable[Estimate]) -> set[str]:
    """The measures with a neutral value."""
    return {row.measure for row in rows if row.neutral is not None}


def first_directed(rows: Iterable[Estimate], summary: Summary) -> str | None:
    """The summary's first measure with a neutral value."""
    known = directed(rows)
    return next((measure for measure in summary.measures if measure in known), None)


def leading(rows: Iterable[Estimate], summary: Summary) -> str:
    """The measure that stands for a probe where there is room for one: the one shown with its interval, else the first
    with a neutral value."""
    return next(iter(summary.intervals), None) or first_directed(rows, summary) or summary.measures[0]


def titles(summary: Summary) -> dict[str, str]:
    """Of its measures."""
    return dict(zip(summary.measures, summary.titles, strict=True))


# ---------------------------------------------------------------- names


def label_of(names: Mapping[str, str], condition: str, value: Any) -> str:
    """`k=10` goes before `10`; without either, the value with spaces for underscores."""
    text = str(value)
    if condition in ("model", "family"):
        return text
    plain = text if "___" in text or " " in text else text.replace("_", " ")  # a name, not a prompt
    return names.get(f"{condition}={text}", names.get(text, plain))


def names_of(declaration: ProbeDeclaration) -> dict[str, str]:
    """Of a probe's conditions: the summary's words, or those of its figures."""
    return {**short_names(declaration), **declaration.summary.meanings}


def short_names(declaration: ProbeDeclaration) -> dict[str, str]:
    """Where there is little room: those of its figures, or the summary's words."""
    drawn = {key: text for figure in declaration.figures for key, text in figure.names.items()}
    return {**declaration.summary.meanings, **drawn}
