"""How much was planned and done for one call of the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeVar

from trueprobe.types import WhyNot

Count = TypeVar("Count", int, float)
NOT_FINITE = WhyNot("not_finite", "the network's answer is NaN, infinite, or too large for float32 to normalise")


@dataclass(frozen=True)
class Counts:
    """`planned` is the same for every run of the same questions; `happened` depends on what was cached before."""

    planned: dict[str, int] = field(default_factory=dict)
    happened: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_cached(cls, planned: dict[str, int], seconds: float) -> Counts:
        """Where everything planned was there before, and nothing was computed."""
        if "rows" in planned:
            return cls(planned, {"rows_computed": 0, "rows_cached_before": planned["rows"], "seconds": seconds})
        cached = planned["distinct_requests"]
        return cls(planned, {"requests_asked": 0, "requests_cached_before": cached, "seconds": seconds})

    def __add__(self, other: Counts) -> Counts:
        """Of two calls: what both had to do with counts in each."""
        return Counts(_sums(self.planned, other.planned), _sums(self.happened, other.happened))

    @property
    def computed(self) -> float:
        """Rows, or whole requests, that the model computed now."""
        return self.happened.get("rows_computed", self.happened.get("requests_asked", 0))


def _sums(one: dict[str, Count], other: dict[str, Count]) -> dict[str, Count]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}


@dataclass
class Speed:
    """The note next to a bar: `1,204 saved, 88/s`."""

    saved: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0

    def after(self, more: int) -> str:
        self.done += more
        return f"{self.saved:,} saved, {self.done / max(time.monotonic() - self.began, 1e-6):,.0f}/s"
