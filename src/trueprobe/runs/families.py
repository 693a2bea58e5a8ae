"""A family at its last step: the checkpoints that stand for it, and the rows of tables that are about it.

A family of several seeds has rows of its own (`level` = family). Checkpoints of one seed at several steps are steps,
not seeds: the last of them stands for the family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from trueprobe.statistics.rows import grouped
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


def asks(only: Mapping[str, Sequence[str]] | None, label: str, card: Card) -> bool:
    """Whether this model is asked this probe; `only`: of a study."""
    alone = only or {}
    mine = alone.get(card.family, alone.get(card.name))
    return label in mine if mine is not None else not any(label in labels for labels in alone.values())


def families(cards: Sequence[Card]) -> tuple[Family, ...]:
    """In the order of the run's models."""
    return tuple(Family(name, tuple(those)) for name, those in grouped(cards, lambda card: card.family).items())
