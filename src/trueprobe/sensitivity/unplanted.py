"""Specificity and forgetting: how far numbers move that are not about what was planted, from the null to the full dose.

The published probes are run as they are. Their stereotypes are independent of an association that is dealt at random,
so a number that moves with it shows that planting changed more than it should. Not shown by the difference: what both
trainings did alike. `before` shows that: the language-model score of StereoSet and the stereotypes of the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trueprobe import assets
from trueprobe.runs import Run
from trueprobe.sensitivity.pointing import Counted
from trueprobe.sensitivity.rows import UnplantedRow
from trueprobe.statistics.doses import DoseRow, dose_response
from trueprobe.statistics.rows import Estimate
from trueprobe.statistics.verdict import Case, judge

Settings = Mapping[str, Any]
Key = tuple[str, ...]  # the measure, and the conditions that name it
BySeed = Mapping[tuple[int, Key], Estimate]


@dataclass(frozen=True, kw_only=True)
class UnplantedControl:
    """A published probe, and which of its numbers are compared."""

    probe: str
    counted: tuple[Counted, ...]
    named_by: tuple[str, ...]  # conditions, all values of which are compared
    asset: str = ""  # its items, where they are fetched; else the small sample
    limit: int | None = None
    settings: Settings = field(default_factory=dict)

    @property
    def here(self) -> Settings:
        if not self.asset:
            return self.settings
        return {**self.settings, "data": self.asset if assets.cached(self.asset) else "sample"}


CONTROLS = (
    UnplantedControl(
        probe="crows_pairs",
        counted=(Counted(measure="prefers_stereotype", at={"direction": "all"}),),
        named_by=("category",),
        asset="crows-pairs",
        limit=180,
    ),
    UnplantedControl(
        probe="stereoset",
        counted=(
            Counted(measure="lms", at={"task": "both", "category": "all"}),
            Counted(measure="ss", at={"task": "both"}),
        ),
        named_by=("category",),
        asset="stereoset-dev",
        limit=180,
    ),
    UnplantedControl(
        probe="seat",
        counted=(Counted(measure="effect_size", at={"wording": "all"}),),
        named_by=("test", "representation"),
        settings={"tests": "sent-weat6,sent-weat7,sent-weat8", "clusters": False, "partitions": 1000},
    ),
)


def compared(
    control: UnplantedControl, before: Run, null: Run, full: Mapping[int, Run], seeds: Sequence[int]
) -> Iterator[UnplantedRow]:
    """Every number of a control; `full` by assignment. A number that some checkpoint lacks is left out."""
    starts, nulls = _by_number(control, before), _by_seed(control, null)
    fulls = {assignment: _by_seed(control, run) for assignment, run in full.items()}
    for key in starts:
        cells = [values.get((seed, key)) for values in (nulls, *fulls.values()) for seed in seeds]
        known = [one for one in cells if one is not None and not math.isnan(one.value)]
        if len(known) == len(cells):
            yield _row(control, key, starts[key], _dose_rows(key, nulls, fulls, seeds), known)


def judged(rows: Sequence[UnplantedRow]) -> list[UnplantedRow]:
    """Whether each number moves, corrected for their number."""
    cases = [
        Case(
            value=row.difference,
            low=row.low,
            high=row.high,
            p=row.p,
            reference=0.0,
            groups=row.n_groups,
            seeds=row.n_seeds,
            together="unplanted",
        )
        for row in rows
    ]
    return [replace(row, verdict=one.verdict) for row, one in zip(rows, judge(cases), strict=True)]


def _counted(control: UnplantedControl, one: Estimate) -> bool:
    return any(counted.is_of(one.measure, one.conditions) for counted in control.counted)


def _key(control: UnplantedControl, one: Estimate) -> Key:
    return (one.measure, *(str(one.conditions[name]) for name in control.named_by))


def _by_number(control: UnplantedControl, run: Run) -> dict[Key, float]:
    """Means over checkpoints."""
    by_number: dict[Key, list[float]] = {}
    for one in run.estimates_of(control.probe):
        if one.level == "checkpoint" and _counted(control, one):
            by_number.setdefault(_key(control, one), []).append(one.value)
    return {key: sum(values) / len(values) for key, values in by_number.items()}


def _by_seed(control: UnplantedControl, run: Run) -> dict[tuple[int, Key], Estimate]:
    rows = [one for one in run.estimates_of(control.probe) if one.level == "checkpoint" and _counted(control, one)]
    return {(int(one.model_seed or 0), _key(control, one)): one for one in rows}


def _dose_rows(
    key: Key,
    nulls: BySeed,
    fulls: Mapping[int, BySeed],
    seeds: Sequence[int],
) -> list[DoseRow]:
    return [
        DoseRow(assignment=a, seed=s, dose=dose, manipulation=dose, value=at[s, key].value)
        for a, full in fulls.items()
        for s in seeds
        for dose, at in ((0.0, nulls), (1.0, full))
    ]


def _row(
    control: UnplantedControl, key: Key, before: float, rows: Sequence[DoseRow], known: Sequence[Estimate]
) -> UnplantedRow:
    (moved,) = dose_response(rows).doses
    at = {dose: [row.value for row in rows if row.dose == dose] for dose in (0.0, 1.0)}
    return UnplantedRow(
        probe=control.probe,
        measure=" ".join(key),
        before=before,
        at_null=sum(at[0.0]) / len(at[0.0]),
        at_full=sum(at[1.0]) / len(at[1.0]),
        difference=moved.difference,
        low=moved.low,
        high=moved.high,
        p=moved.p,
        n_items=min(one.n_items for one in known),
        n_groups=min(one.n_groups for one in known),
        n_seeds=len({row.seed for row in rows}),
    )
