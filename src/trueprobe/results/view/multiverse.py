"""What `multiverse` found in a run, for renderers: only what was counted from the observations the run has now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueprobe.runs.folder import Run
from trueprobe.statistics.multiverse import AxisShare, Multiverse, Specification


class Flip(NamedTuple):
    """A choice under which most ways of counting lie on the other side than most of all."""

    axis: str
    choice: str
    other_side: float  # share of its ways


class ValueRange(NamedTuple):
    unit: str
    neutral: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Curve:
    """One question of one model or family in all ways."""

    whole: Multiverse
    specifications: tuple[Specification, ...]  # by z
    axes: tuple[AxisShare, ...]  # the one that explains most first

    @property
    def of_run(self) -> Specification | None:
        return next((one for one in self.specifications if one.of_run), None)

    @property
    def drawn(self) -> tuple[Specification, ...]:
        return tuple(one for one in self.specifications if np.isfinite(one.z))

    @property
    def ranges(self) -> tuple[ValueRange, ...]:
        """Of the numbers that have the same unit and neutral point."""
        values: dict[tuple[str, float], list[float]] = {}
        for one in self.drawn:
            values.setdefault((one.unit, one.neutral), []).append(one.value)
        return tuple(ValueRange(*key, min(several), max(several)) for key, several in values.items())

    @property
    def flips(self) -> tuple[Flip, ...]:
        side = 1 if sum(one.z > 0 for one in self.drawn) >= sum(one.z < 0 for one in self.drawn) else -1
        return tuple(sorted(self._flips(side), key=lambda flip: -flip.other_side))

    def _flips(self, side: int) -> Iterator[Flip]:
        for axis in self.axes:
            by_choice: dict[str, list[bool]] = {}
            for one in self.drawn:
                by_choice.setdefault(one.conditions[axis.axis], []).append(one.z * side < 0)
            for choice, other in by_choice.items():
                if sum(other) * 2 > len(other):
                    yield Flip(axis.axis, choice, sum(other) / len(other))


def curves(run: Run) -> tuple[Curve, ...]:
    """In the order in which they were counted."""
    return tuple(Curve(whole, *_parts(run, whole)) for whole in run.rows(Multiverse) if _is_current(run, whole))


def _is_current(run: Run, whole: Multiverse) -> bool:
    cards = [card for card in run.cards if whole.model in (card.family, card.name)]
    models = [card.name for card in cards if card.labels.get("step") == whole.step]
    return whole.probe in run.probes and whole.source == run.observed_sum(whole.probe, models)


def _parts(run: Run, whole: Multiverse) -> tuple[tuple[Specification, ...], tuple[AxisShare, ...]]:
    def same(row: Specification | AxisShare) -> bool:
        about = (row.probe, row.model, row.step, row.question)
        return about == (whole.probe, whole.model, whole.step, whole.question)

    specifications = sorted(filter(same, run.rows(Specification)), key=lambda row: (np.isnan(row.z), row.z))
    return tuple(specifications), tuple(sorted(filter(same, run.rows(AxisShare)), key=lambda row: -row.unique))
