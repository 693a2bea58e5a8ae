"""What is counted of CrowS-Pairs at every combination of conditions; ties in three ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueprobe.probes.pair_measures import PREFERS, neutral, of_preference, wins, wins_of_decided
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.types import Unit


def measures(where: Mapping[str, Any], conditions: Mapping[str, Any], **more: Any) -> Iterator[Measure]:
    """Neighbours with the same function share their matrix product."""
    at: dict[str, Any] = {"where": where, "conditions": conditions, **more}
    for name, function in (("wins_of_all", wins), ("wins_of_decided", wins_of_decided)):
        yield Measure(name, function, (PREFERS,), unit=Unit.SHARE, **at)
    yield neutral(**at)
    yield Measure("prefers_stereotype", means, (PREFERS,), unit=Unit.SHARE, neutral=0.5, **at)
    yield from of_preference(**at)
