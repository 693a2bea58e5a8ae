"""How many items a limit must leave: by hand, and as the limit itself spreads them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trueprobe import probes
from trueprobe.runs.study import items_needed
from trueprobe.statistics import Claim
from trueprobe.types import Item


def probe_of(*plus):
    claims = [Claim(f"c{n}", f"claim {n}", "A", "v", part) for n, part in enumerate(plus)]
    return SimpleNamespace(claims=lambda: claims, measures=list)


def items_of(**groups: int) -> list[Item]:
    return [Item(f"{at}{n}", "…", {"at": at}, (f"g{n}",)) for at, many in groups.items() for n in range(many)]


def test_needed_items_take_turns_until_each_condition_has_six_groups():
    assert items_needed(probe_of({"at": ("x",)}, {"at": ("y",)}), items_of(x=9, y=9)) == 12
    assert items_needed(probe_of({"at": ("x",)}), items_of(x=9, y=9)) == 11
    assert items_needed(probe_of({"at": ("x",)}), items_of(x=9, y=2)) == 8  # y is used up after two turns


def test_needed_items_are_none_where_there_are_never_six_groups():
    assert items_needed(probe_of({"at": ("x",)}), items_of(x=5)) == 0


def test_the_crossed_factor_with_fewest_groups_counts():
    items = [Item(f"{n}", "…", {"at": "x"}, (f"a{n}", f"b{n // 3}")) for n in range(30)]
    asked = probes.spread(items, needed := items_needed(probe_of({"at": ("x",)}), items))
    assert len({item.groups[1] for item in asked}) == 6
    assert len({item.groups[1] for item in probes.spread(items, needed - 1)}) == 5


@pytest.mark.parametrize("name", ["counteracts", "tacit_production"])
def test_one_item_less_leaves_a_claim_without_an_interval(name):
    probe = probes.make(name, {})
    items = probe.items()
    needed = items_needed(probe, items)

    def fewest(limit):
        """Groups of the condition that claims compare, in the rarest value that a claim is about."""
        key = {"counteracts": "knowledge", "tacit_production": "relation"}[name]
        asked = probes.spread(items, limit)
        values = {str(item.conditions[key]) for item in items}  # a claim is about each
        return min(len({i.groups[0] for i in asked if str(i.conditions[key]) == value}) for value in values)

    assert fewest(needed) >= 6 > fewest(needed - 1)
