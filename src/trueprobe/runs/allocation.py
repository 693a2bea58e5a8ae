"""`--per-group N`: so many items of every group and condition, and what each of them stands for.

An item's place in the draw is the hash of its id, so a larger N keeps all items of a smaller one, on every machine. The
group is the probe's first factor: of an occupation with twenty backgrounds, N of the backgrounds. An item's weight is
the number of items of its group and condition for each one drawn; with it a mean is that of the whole dataset's
composition.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueprobe.probes import spread
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.power import Design
from trueprobe.statistics.rows import grouped
from trueprobe.types import Item

Stratum = tuple[str | int, ...]  # a group, and the value of each condition


def stratum(item: Item) -> Stratum:
    return (item.groups[0], *item.conditions.values())


def per_group(items: Sequence[Item], n: int) -> tuple[list[Item], dict[str, float]]:
    """The drawn items in their order, and the weight of each by its id; no weights where they are all 1."""
    weights: dict[int, float] = {}
    for members in grouped(range(len(items)), lambda i: stratum(items[i])).values():
        drawn = sorted(members, key=lambda i: hashed(items[i].id))[:n]
        weights |= dict.fromkeys(drawn, len(members) / len(drawn))
    chosen = sorted(weights)
    by_id = {items[i].id: weights[i] for i in chosen}
    return [items[i] for i in chosen], by_id if set(by_id.values()) - {1.0} else {}


def hashed(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


# ---------------------------------------------------------------- what a choice of items means for a number


@dataclass(frozen=True)
class Choice:
    """Which items a run asks: all, so many of every group and condition, or the first of a limit."""

    per_group: int | None = None
    limit: int | None = None

    def of(self, items: Sequence[Item]) -> list[Item]:
        return per_group(items, self.per_group)[0] if self.per_group else spread(items, self.limit)


ALL = Choice()


def largest_stratum(items: Sequence[Item]) -> int:
    """With so many per group, all items are drawn."""
    return max(Counter(map(stratum, items)).values(), default=0)


def named(items: Sequence[Item]) -> bool:
    """Whether items name the groups they are resampled with; else their answers do."""
    return any(item.groups[0] for item in items)


def crossed(measure: Measure, items: Sequence[Item]) -> bool:
    """Whether its items are resampled by two factors at once."""
    return any(sum(map(bool, item.groups)) > 1 for item in at(measure, items))


def at(measure: Measure, items: Sequence[Item]) -> list[Item]:
    """Those that a measure is about; conditions of answers count for all."""
    return [item for item in items if all(_has(item, key, value) for key, value in measure.where.items())]


def _has(item: Item, key: str, wanted: object) -> bool:
    if key not in item.conditions:
        return True
    allowed = wanted if isinstance(wanted, tuple | list) else (wanted,)
    return str(item.conditions[key]) in set(map(str, allowed))


def design(every: Sequence[Item], chosen: Sequence[Item], choice: Choice, seeds: int) -> Design:
    """Of the items a measure is about. Items per group are weighted back to all of them; those of a limit are not.

    A group of 40 items, 30 and 10 of two conditions, of which 2 each are drawn, counts as 1 / (0.75² / 2 + 0.25² / 2) =
    3.2 items of equal weight."""
    whole, drawn = Counter(map(stratum, every if choice.per_group else chosen)), Counter(map(stratum, chosen))
    sizes, inverse = dict[str, int](), dict[str, float]()
    for (group, *_), many in whole.items():
        sizes[str(group)] = sizes.get(str(group), 0) + many
    for place, many in whole.items():
        group = str(place[0])
        inverse[group] = inverse.get(group, 0.0) + (many / sizes[group]) ** 2 / drawn[place]
    shares = np.array(list(sizes.values())) / sum(sizes.values())
    return Design(seeds, shares, np.array([1 / inverse[name] for name in sizes]))
