"""timing.json: what depends on the clock and on what was cached before."""

from __future__ import annotations

from trueprobe.runs.schema import Declared


class Timing(Declared):
    began: float  # seconds since 1970
    seconds: float
    models: dict[str, dict[str, int | float]]  # of each, rows (or requests) computed and cached before
    damaged_answers: int = 0  # of the answer store, computed again for this run
