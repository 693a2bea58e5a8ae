"""Many items are asked a portion at a time: nothing but the progress shows it."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import trueprobe
from trueprobe.runs import portions
from trueprobe.types import NoProgress


class Bars(NoProgress):
    """Titles with their totals, and how far the items came."""

    def __init__(self) -> None:
        self.titles, self.items = [], []

    def task(self, title, total=None, unit=""):
        self.titles.append((title, total, unit))
        return nullcontext(self if unit == "items" else NoProgress())

    def reach(self, amount, total=None, note=""):
        self.items.append(amount)


@pytest.mark.slow
def test_where_there_are_several_portions_all_items_have_a_bar_beside_each_ones_rows(checkpoint, tmp_path, monkeypatch):
    def run(name):
        bars = Bars()
        spec = str(checkpoint("bert"))
        found = trueprobe.run(
            "crows_pairs",
            [spec],
            tmp_path / name,
            settings={"data": "sample"},
            store=tmp_path / f"{name}.sqlite",
            progress=bars,
        )
        return bars, found.observations("crows_pairs")

    whole, alone = run("whole")
    monkeypatch.setattr(portions, "PLANNED_TOGETHER", 5)
    parts, apart = run("parts")
    assert not whole.items
    assert (f"{alone.model[0]}, all", alone.item.nunique(), "items") in parts.titles
    assert parts.items == sorted(parts.items)
    assert parts.items[-1] == alone.item.nunique()
    assert len(parts.items) > 3
    assert alone.equals(apart)
