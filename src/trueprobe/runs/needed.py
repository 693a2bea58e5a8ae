"""How many items `--limit` must leave so that what a probe reports first can have an interval.

The smallest limit with which every mean of a claim has the groups that an interval needs; of a probe that claims
nothing, every number of its summary. Less may be scored, so a run with it can still have too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from trueprobe.probes.base import Probe, in_turns
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import Item

Conditions = dict[str, tuple[str, ...]]  # condition = one of these values


def items_needed(probe: Probe, items: Sequence[Item]) -> int:
    """Of all its `items`; parts that never have enough groups are left out."""
    members: dict[tuple[str | int, ...], list[_Groups]] = {}  # by the values of the conditions: few, of many items
    parts, needed = [_Groups(part) for part in _parts(probe)], 0
    for taken, item in enumerate((items[i] for i in in_turns(items)), 1):
        place = tuple(item.conditions.values())
        if place not in members:
            members[place] = [part for part in parts if part.holds(item)]
        for part in members[place]:
            if not part.enough and part.add(item).enough:
                needed = taken
    return needed


@dataclass(frozen=True)
class _Groups:
    """The items of a part, taken one after the other: by each crossed factor the groups so far."""

    where: Conditions
    names: dict[int, set[str]] = field(default_factory=dict)

    def holds(self, item: Item) -> bool:
        """By the conditions that the item has; conditions of answers count for all."""
        return all(str(item.conditions[key]) in values for key, values in self.where.items() if key in item.conditions)

    def add(self, item: Item) -> _Groups:
        for factor, name in enumerate(item.groups):
            if name:
                self.names.setdefault(factor, set()).add(name)
        return self

    @property
    def enough(self) -> bool:
        """Independent units: of the crossed factors that apply, the one with fewest groups."""
        return bool(self.names) and min(map(len, self.names.values())) >= FEWEST_GROUPS


def _parts(probe: Probe) -> list[Conditions]:
    """The conditions of each mean that is compared or displayed first, each once."""
    every = list(_of_claims(probe)) or list(_of_summary(probe))
    return [dict(part) for part in dict.fromkeys(tuple(sorted(part.items())) for part in every)]


def _of_claims(probe: Probe) -> Iterator[Conditions]:
    for claim in probe.claims():
        yield from ({key: _several(value) for key, value in part.items()} for part in claim.parts)


def _of_summary(probe: Probe) -> Iterator[Conditions]:
    for measure in probe.measures():
        if measure.name in probe.summary.measures:
            yield {key: _several(value) for key, value in measure.where.items()}


def _several(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple | list) else (str(value),)
