"""What other installed distributions bring, by their entry points: `trueprobe.probes` and `trueprobe.models`.

They are imported when they are named or tried, never because they are listed.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from trueprobe.errors import BadInput

PROBES, MODELS = "trueprobe.probes", "trueprobe.models"


def installed(group: str) -> dict[str, EntryPoint]:
    """By name, sorted; of two distributions with one name, the first on Python's path."""
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    first: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        first.setdefault(point.name, point)
    return dict(sorted(first.items()))


def load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadInput(f"'{point.name}' of {version(point)} cannot be imported ({point.value}): {reason}") from error


def version(point: EntryPoint) -> str:
    """The distribution it comes from: `colours 1.2`."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
