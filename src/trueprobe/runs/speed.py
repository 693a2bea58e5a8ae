"""The progress of several models in one display: a line for each, and one for all with their speed together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from trueprobe.types import Progress, Task

_COUNTED = ("rows", "requests")


@dataclass
class Together:
    """A `Progress` for engines, which may run in several threads."""

    progress: Progress
    every: Task | None = None  # the line of all models, where there are several
    began: float = field(default_factory=lambda: time.monotonic())
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def task(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        with self.progress.task(title, total, unit) as task:
            yield _Counted(task, self) if unit in _COUNTED and self.every else task

    def add(self, amount: int) -> None:
        with self.lock:
            self.done += amount
            rate = self.done / max(time.monotonic() - self.began, 1e-6)
            if self.every:
                self.every.advance(0, f"{rate:,.0f}/s in all")

    def model_done(self) -> None:
        with self.lock:
            if self.every:
                self.every.advance(1)


@dataclass(frozen=True)
class _Counted:
    task: Task
    together: Together

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.task.advance(amount, note)
        self.together.add(amount)

    def reach(self, amount: int, total: int | None = None, note: str = "") -> None:
        self.task.reach(amount, total, note)


@contextmanager
def together(progress: Progress, models: int) -> Iterator[Together]:
    if models < 2:
        yield Together(progress)
        return
    with progress.task("all models", models, "models") as every:
        yield Together(progress, every)
