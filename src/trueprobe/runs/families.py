"""A family at its last step: the checkpoints that stand for it, and the rows of tables that are about it.

A family of several seeds has rows of its own (`level` = family). Checkpoints of one seed at several steps are steps,
not seeds: the last of them stands for the family.

Also the list of a run: which of its numbers are judged together, and the verdicts they have there. A probe declares at
most three primary numbers; where it declares none, all that its summary shows is primary. The list is every primary
number of every family at its last step, or of each family by itself where the study says so
(docs/decisions/0015-primary-numbers.md). It is made when a run is counted, and no report changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from trueprobe.probes.display import Primary, Summary, matches, row_names
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference
from trueprobe.statistics.verdict import Judged, judge_list
from trueprobe.types import Card


class ModelRow(Protocol):
    """A row of a table about a checkpoint or a family."""

    @property
    def model(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def step(self) -> int | None: ...


class AtStep(Protocol):
    @property
    def step(self) -> int | None: ...


R = TypeVar("R", bound=ModelRow)
S = TypeVar("S", bound=AtStep)


@dataclass(frozen=True)
class Family:
    name: str
    cards: tuple[Card, ...]

    @cached_property
    def steps(self) -> list[int]:
        return sorted({card.labels["step"] for card in self.cards if "step" in card.labels})

    @cached_property
    def last_step(self) -> int | None:
        return max(self.steps, default=None)

    @cached_property
    def checkpoints(self) -> tuple[Card, ...]:
        """Those of the last step: they differ in their seed only."""
        return tuple(card for card in self.cards if card.labels.get("step") == self.last_step)

    @property
    def n_seeds(self) -> int:
        return len(self.checkpoints)

    def has(self, row: ModelRow) -> bool:
        """Whether the row stands for the family: its own at the last step, or its only checkpoint's."""
        if self.n_seeds == 1:
            return row.level == "checkpoint" and row.model == self.checkpoints[0].name
        return row.level == "family" and row.model == self.name and row.step == self.last_step

    def rows(self, rows: Iterable[R]) -> list[R]:
        return [row for row in rows if self.has(row)]

    def seed_rows(self, rows: Iterable[R]) -> list[R]:
        """Of several seeds, the rows of each checkpoint at the last step."""
        names = {card.name for card in self.checkpoints} if self.n_seeds > 1 else set()
        return [row for row in rows if row.level == "checkpoint" and row.model in names]


def at_last_step(rows: Iterable[S], of: Iterable[Family], family_of: Callable[[S], str]) -> list[S]:
    """Of each family the rows of its last step, its own and its checkpoints'; rows of no family stay."""
    last = {family.name: family.last_step for family in of}
    return [row for row in rows if row.step == last.get(family_of(row), row.step)]


def families(cards: Sequence[Card]) -> tuple[Family, ...]:
    """In the order of the run's models."""
    members: dict[str, list[Card]] = {}
    for card in cards:
        members.setdefault(card.family, []).append(card)
    return tuple(Family(name, tuple(those)) for name, those in members.items())


# ---------------------------------------------------------------- which numbers are on the list of a run


class Declares(Protocol):
    """A probe, or its declaration in a run folder."""

    @property
    def primary(self) -> tuple[Primary, ...] | None: ...
    @property
    def summary(self) -> Summary: ...


def is_primary(row: Judged, declared: Declares | None) -> bool:
    """What several probes together claim has no declaration, and is on the list."""
    if declared is None:
        return True
    if declared.primary is None:
        return isinstance(row, ClaimResult) or _in_summary(row, declared.summary)
    return any(_is(row, primary) for primary in declared.primary)


def _is(row: Judged, primary: Primary) -> bool:
    if isinstance(row, ClaimResult):
        where = {key: value for key, value in primary.where.items() if key in row.conditions}
        return row.claim in primary.claims and matches(where, row.conditions.get)
    return row.measure == primary.measure and matches(primary.where, row.conditions.get)


def _in_summary(row: Estimate | VariantDifference | Difference, summary: Summary) -> bool:
    at = [summary.where, {**summary.where, **summary.fallback}]
    named = row_names(row.conditions, summary.row_conditions) is not None
    return named and row.measure in summary.measures and any(matches(one, row.conditions.get) for one in at)


def _label(row: Judged) -> str:
    return row.first_label if isinstance(row, VariantDifference) else row.probe


def on_run_list(
    rows: Sequence[Judged], declared: Mapping[str, Declares], families: Sequence[Family], each_model: bool = False
) -> list[Judged]:
    """The rows of all tables of a run, with the verdicts of its list; with `each_model`, of a list for each family."""

    def list_of(row: Judged) -> str | None:
        """The list that a primary row is on; None for any other."""
        if not is_primary(row, declared.get(_label(row))):
            return None
        if isinstance(row, ClaimResult) and row.level == "pair":
            return row.model if each_model else ""
        standing = [family.name for family in families if not isinstance(row, Difference) and family.has(row)]
        return (standing[0] if each_model else "") if standing else None

    lists: dict[str | None, list[int]] = {}
    for i, row in enumerate(rows):
        lists.setdefault(list_of(row), []).append(i)
    judged = list(rows)
    for name, members in lists.items():
        with_verdicts = judge_list([rows[i] for i in members], [name is not None] * len(members))
        for i, row in zip(members, with_verdicts, strict=True):
            judged[i] = row
    return judged
