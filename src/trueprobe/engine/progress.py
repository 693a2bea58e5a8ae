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


class Steps:
    """A bar for work that is told as (what, bytes done, bytes in all); silent off a terminal."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Steps:
        return self

    def __call__(self, what: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if self._progress is None:
            self._progress = self._started()
        if what not in self._tasks:
            for before in self._tasks.values():
                self._progress.update(before, visible=False)
            self._tasks[what] = self._progress.add_task(what, total=total or None)
        self._progress.update(self._tasks[what], completed=done)

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _started(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), DownloadColumn(), TimeRemainingColumn()]
        shown = Progress(*columns, console=Console(stderr=True), transient=True)
        shown.start()
        return shown


def on_terminal() -> Quiet:
    return Bar() if sys.stderr.isatty() else Quiet()
