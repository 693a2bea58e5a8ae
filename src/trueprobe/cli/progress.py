"""The one progress display: bars and spinners on a terminal, a line in a notebook, elsewhere a line now and then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.progress import Task as Bar
from rich.text import Text

from trueprobe.errors import printable
from trueprobe.types import Progress, Task

BYTES = "bytes"
FIRST_LINE = 30.0  # seconds
BETWEEN_LINES = 0.2  # seconds, in a notebook


class _Amount(ProgressColumn):
    """`12/40 rows`, `3.1/9.0 MB`, or nothing where the amount of work is not known."""

    def render(self, task: Bar) -> Text:
        if task.total is None:
            return Text("")
        unit = task.fields["unit"]
        return DownloadColumn().render(task) if unit == BYTES else Text(f"{MofNCompleteColumn().render(task)} {unit}")


@dataclass
class _BarTask:
    bars: Bars
    id: TaskID

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.bars.update(self.id, advance=amount, note=printable(note))

    def reach(self, amount: int, total: int | None = None, note: str = "") -> None:
        self.bars.update(self.id, completed=amount, total=total, note=printable(note))


class TerminalProgress:
    """Several tasks may be shown at once; the display disappears with the last of them."""

    def __init__(self) -> None:
        title, note = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[note]}"))
        columns = (SpinnerColumn(), title, BarColumn(bar_width=None), _Amount())
        self._bars = Bars(*columns, note, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._open = 0
        self._lock = threading.Lock()  # models that are asked at the same time have a thread each

    @contextmanager
    def task(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        with self._lock:
            if not self._open:
                self._bars.start()
            self._open += 1
        bar = self._bars.add_task(printable(title), total=total, unit=unit, note="")
        try:
            yield _BarTask(self._bars, bar)
        finally:
            self._bars.refresh()  # how far it came, also where it took less than the time between two drawings
            self._bars.remove_task(bar)
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._bars.stop()


@dataclass
class _Lines:
    """When the next line is due: after half a minute, then at growing intervals, some sixty in a day."""

    due: float
    interval: float = FIRST_LINE

    def print(self, line: str) -> None:
        now = monotonic()
        if now >= self.due:
            self.interval *= 1.1
            self.due = now + self.interval
            print(line, file=sys.stderr, flush=True)


class _Printer(Protocol):
    def print(self, line: str) -> None: ...


@dataclass
class _LineTask:
    lines: _Printer
    title: str
    total: int | None
    unit: str
    done: int = 0

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.reach(self.done + amount, self.total, note)

    def reach(self, amount: int, total: int | None = None, note: str = "") -> None:
        self.done, self.total = amount, self.total if total is None else total
        of = f"/{self.total:,} ({self.done / self.total:.0%})" if self.total else ""
        self.lines.print(printable(" ".join(filter(None, (f"{self.title}: {self.done:,}{of}", self.unit, note)))))


class LineProgress:
    """For output that goes to a file: whoever reads it later sees that work went on. Short commands stay silent."""

    def __init__(self) -> None:
        self._lines = _Lines(monotonic() + FIRST_LINE)

    def task(self, title: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Task]:
        return nullcontext(_LineTask(self._lines, title, total, unit))


@dataclass
class _NotebookLine:
    """One output of the cell, which is replaced."""

    due: float = 0.0
    handle: Any = None  # IPython's

    def print(self, line: str) -> None:
        if monotonic() >= self.due:
            self.replace(line)

    def replace(self, line: str) -> None:
        from IPython.display import display

        self.due = monotonic() + BETWEEN_LINES
        content = {"text/plain": line}
        if self.handle is None:
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)


class NotebookProgress:
    """Plain text, so that it needs no widgets; empty when the last task is done."""

    def __init__(self) -> None:
        self._line = _NotebookLine()
        self._open: list[str] = []

    @contextmanager
    def task(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        self._open.append(title)
        self._line.replace(printable(f"{title} …"))
        try:
            yield _LineTask(self._line, title, total, unit)
        finally:
            self._open.remove(title)
            self._line.replace(printable(f"{self._open[-1]} …") if self._open else "")


def python_progress() -> Progress:
    """For whoever calls trueprobe from Python."""
    return NotebookProgress() if "ipykernel" in sys.modules else terminal_progress()


def terminal_progress() -> Progress:
    return TerminalProgress() if sys.stderr.isatty() else LineProgress()
