"""What is shown while rows are computed: rows, rows saved, rows per second, time left. Silent off a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Quiet:
    """The shape of a progress display; this one shows nothing."""

    def start(self, title: str, rows: int, saved: int) -> None: ...
    def advance(self, rows: int) -> None: ...
    def stop(self) -> None: ...
    def waiting(self, for_what: str) -> AbstractContextManager[object]:
        """While something takes seconds that cannot be counted."""
        return nullcontext()


class Bar(Quiet):
    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._rows = 0
        self._began = 0.0

    def start(self, title: str, rows: int, saved: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("rows, {task.fields[saved]} saved, {task.fields[speed]}/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._rows, self._began = 0, time.monotonic()
        self._task = self._progress.add_task(title, total=rows, saved=f"{saved:,}", speed="–")
        self._progress.start()

    def advance(self, rows: int) -> None:
        self._rows += rows
        speed = self._rows / max(time.monotonic() - self._began, 1e-6)
        self._progress.update(self._task, advance=rows, speed=f"{speed:,.0f}")

    def waiting(self, for_what: str) -> AbstractContextManager[object]:
        from rich.console import Console

        return Console(stderr=True).status(for_what)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def on_terminal() -> Quiet:
    return Bar() if sys.stderr.isatty() else Quiet()
