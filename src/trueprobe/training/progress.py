"""Where trainings stand: a bar per seed on a terminal, a line per held-out measurement elsewhere."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from trueprobe.training.trainer import Told


class Lines:
    """For logs: a line when something was measured."""

    def waiting(self, for_what: str) -> None:
        print(f"{for_what} …", file=sys.stderr, flush=True)

    def told(self, told: Told) -> None:
        if told.held_out:
            print(line(told), file=sys.stderr, flush=True)

    def stop(self) -> None: ...


class Bars(Lines):
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[said]}")]
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._tasks: dict[int, Any] = {}

    def told(self, told: Told) -> None:
        if not self._tasks:
            self._progress.start()
        if told.seed not in self._tasks:
            self._tasks[told.seed] = self._progress.add_task(f"seed {told.seed}", total=told.steps, said="")
        left = timedelta(seconds=round(told.seconds_left))
        said = f"loss {told.loss:.2f}, {told.tokens_per_second:,.0f} tokens/s, {left} left"
        self._progress.update(self._tasks[told.seed], completed=told.step, said=said)
        if told.held_out:
            self._progress.console.print(line(told))

    def stop(self) -> None:
        self._progress.stop()


def line(told: Told) -> str:
    """At most 80 columns."""
    found = told.held_out or {}
    pairs = f", next {found['next_accuracy']:.1%}" if "next_accuracy" in found else ""
    right = f"held-out loss {found['loss']:.3f}, right {found['accuracy']:.1%}{pairs}"
    return f"seed {told.seed} step {told.step:,}/{told.steps:,}: {right}; {told.tokens_per_second:,.0f} tokens/s"


def on_terminal() -> Lines:
    return Bars() if sys.stderr.isatty() else Lines()


def outcome(folder: Path) -> str:
    card = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    last, told = card["history"][-1], card["corpus"]
    return (
        f"held-out loss {last['loss']:.3f} (trigram {told['trigram_loss']:.3f}, unigram {told['unigram_loss']:.3f}), "
        f"{last['accuracy']:.1%} right"
    )
