"""Which items a limit takes: conditions in turn, and of each condition items from its whole length."""

from __future__ import annotations

from collections.abc import Sequence

from trueprobe.statistics.rows import grouped
from trueprobe.types import Item


def spread(items: Sequence[Item], limit: int | None) -> list[Item]:
    """The first `limit` items when conditions take turns: the same ones each time, in their order."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[i] for i in sorted(in_turns(items)[:limit])]


def in_turns(items: Sequence[Item]) -> list[int]:
    """The places of the items, in the order in which a growing limit takes them."""
    turns = grouped(range(len(items)), lambda i: tuple(items[i].conditions.values()))
    queues = [_evenly(queue) for queue in turns.values()]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def _evenly(queue: list[int]) -> list[int]:
    """The queue in an order whose every beginning is spread over the whole (van der Corput)."""
    bits = max(1, (len(queue) - 1).bit_length())
    order = (int(f"{i:0{bits}b}"[::-1], 2) for i in range(1 << bits))
    return [queue[i] for i in order if i < len(queue)]
