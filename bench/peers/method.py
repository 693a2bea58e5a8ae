"""What is measured: methods that answer one set of questions, and how far their numbers agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueprobe.models.rows import Row

OURS, BARE, MINICONS, LM_EVAL = "trueprobe", "bare pass", "minicons", "lm-eval"
ONE_BY_ONE, BIAS_BENCH = "authors' loop", "bias-bench's way"
SAME_TO = 1e-4  # nats, or what a number's unit is
DRAWN = "p of drawn permutations"
DRAWN_TO = 0.01  # four standard errors of the difference of two shares of 100,000 draws

Numbers = Mapping[str, np.ndarray]  # by what they are; methods give the same ones the same name and order


@dataclass(frozen=True)
class Method:
    name: str
    run: Callable[[], Numbers]  # timed as a whole
    prepare: Callable[[], object] = dict  # before each time, not timed
    asks: str = ""  # where it is something else than trueprobe asks
    most_rows: int | None = None  # left out of larger sizes


@dataclass(frozen=True)
class Questions:
    """One task at one size; the first method is trueprobe."""

    rows: Sequence[Row]  # distinct
    methods: Sequence[Method]
    work: Callable[[], Mapping[str, float]]  # by method, after a run: tokens computed per token of the rows


@dataclass(frozen=True)
class Agreement:
    """Of the numbers that two methods both give."""

    compared: int
    largest: float  # difference
    agrees: bool

    def and_also(self, other: Agreement) -> Agreement:
        """Of two rounds with the same numbers."""
        return Agreement(self.compared, max(self.largest, other.largest), self.agrees and other.agrees)


def agreement(ours: Numbers, theirs: Numbers) -> Agreement | None:
    """None where nothing can be compared. A number that one of them alone has is no agreement."""
    names = [name for name in theirs if name in ours]
    if not names:
        return None
    compared, largest, agrees = 0, 0.0, True
    for name in names:
        missing = np.isnan(ours[name])
        differences = np.abs(ours[name] - theirs[name])[~missing]
        agrees &= bool(np.array_equal(missing, np.isnan(theirs[name])))
        agrees &= bool((differences <= (DRAWN_TO if name == DRAWN else SAME_TO)).all())
        if name != DRAWN:
            compared += differences.size
            largest = max(largest, float(differences.max(initial=0.0)))
    return Agreement(compared, largest, agrees)


def batches(listed: Sequence[Any], at_once: int) -> Iterator[Sequence[Any]]:
    return (listed[start : start + at_once] for start in range(0, len(listed), at_once))


def work_of(lengths: Sequence[int], at_once: int, copies: Sequence[int] | None = None) -> float:
    """Tokens computed per token where neighbours are padded to the longest of `at_once`; each is computed as often as
    `copies` says."""
    counted = list(zip(lengths, copies or [1] * len(lengths), strict=True))
    padded = sum(max(n for n, _ in some) * sum(times for _, times in some) for some in batches(counted, at_once))
    return padded / sum(n * times for n, times in counted)
