"""One line of `trueprobe check`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A check that does not apply is `skipped`, with the reason as its detail; it does not count as failed."""

    name: str
    passed: bool
    detail: str = ""
    skipped: bool = False

    @property
    def word(self) -> str:
        return "skip" if self.skipped else "ok" if self.passed else "FAIL"


def skipped(name: str, reason: str) -> Check:
    return Check(name, True, reason, skipped=True)
