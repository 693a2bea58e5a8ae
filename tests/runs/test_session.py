"""One display for all models: each has its line, and one line has the speed of all."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from trueprobe.runs import session
from trueprobe.runs.session import together


class Shown:
    """What a display was told, line by line."""

    def __init__(self):
        self.lines = {}

    @contextmanager
    def task(self, title, total=None, unit=""):
        self.lines[title] = line = Line(total, unit)
        yield line


class Line:
    def __init__(self, total, unit):
        self.total, self.unit, self.done, self.note = total, unit, 0, ""

    def advance(self, amount=1, note=""):
        self.done, self.note = self.done + amount, note or self.note

    def reach(self, amount, total=None, note=""):
        self.done = amount


def test_the_speed_is_that_of_all_models(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: clock[0])
    shown = Shown()
    with together(shown, 2) as progress, progress.task("a", 60, "rows") as a, progress.task("b", 40, "rows") as b:
        clock[0] += 2
        a.advance(30, "15/s")
        b.advance(10, "5/s")
        progress.model_done()
    every = shown.lines["all models"]
    assert (every.done, every.total, every.note) == (1, 2, "20/s in all")
    assert [(shown.lines[name].done, shown.lines[name].note) for name in "ab"] == [(30, "15/s"), (10, "5/s")]


@pytest.mark.parametrize("models", [0, 1])
def test_one_model_has_one_line(models):
    shown = Shown()
    with together(shown, models) as progress, progress.task("a", 60, "rows") as a:
        a.advance(30)
        progress.model_done()
    assert list(shown.lines) == ["a"]
