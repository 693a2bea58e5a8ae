"""What a key below numbers explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trueprobe.results.view.number import Display, Mark, Number
from trueprobe.types import ClaimSource, Outcome


@dataclass(frozen=True)
class Key:
    """What a key below numbers explains: the marks that occur, how many of the numbers are exploratory, and whether any
    is marked for what authors only expected."""

    marks: tuple[Mark, ...]
    n_exploratory: int
    any_expected: bool = False

    @classmethod
    def of(cls, numbers: Iterable[Number | None]) -> Key:
        displayed = [n for n in numbers if n is not None and (n.display is not Display.NOTHING or n.mark)]
        present = {n.mark for n in displayed} - {Mark.NONE}
        exploratory = sum(n.verdict.outcome is Outcome.EXPLORATORY for n in displayed)
        expected = any(n.mark is Mark.HOLDS and n.source is ClaimSource.EXPECTED for n in displayed)
        return cls(tuple(mark for mark in Mark if mark in present), exploratory, expected)
