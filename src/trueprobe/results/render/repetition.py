"""What became of a run that was repeated, in a terminal and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from trueprobe.results.render.json import plain
from trueprobe.results.text import repetition as words
from trueprobe.runs.repeat import Repeated


def show(repeated: Repeated, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    for line in words.lines(repeated):
        console.print(Text(line), soft_wrap=True)


def as_json(repeated: Repeated) -> str:
    counts = {"n_estimates": repeated.n_estimates, "n_differing": repeated.n_differing, "largest": repeated.largest}
    made = {"folder": str(repeated.again.folder), "exact": repeated.exact, "same_bytes": repeated.same_bytes}
    changes = [asdict(change) for change in repeated.changes]
    return json.dumps(plain({**made, **counts, "changes": changes}), indent=1, ensure_ascii=False)
