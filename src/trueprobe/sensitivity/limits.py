"""From what was measured at every dose to detection limits, one row for each measure and level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueprobe.sensitivity.rows import DetectionRow, MeasuredRow
from trueprobe.statistics.detection import (
    DoseRow,
    FamilyRow,
    Limit,
    detection_limit,
    dose_response,
    false_alarms,
    sign_errors,
)
from trueprobe.statistics.verdict import UNKNOWN
from trueprobe.types import Direction, Outcome

_UP = Direction.ABOVE  # every measure that is pointed at an association rises with it
LEVELS = ("family", "checkpoint")


def detection(measured: Sequence[MeasuredRow], relabelled: Sequence[MeasuredRow]) -> list[DetectionRow]:
    detected = []
    for probe, measure in dict.fromkeys((row.probe, row.measure) for row in measured):
        mine, null = (
            [row for row in rows if (row.probe, row.measure) == (probe, measure)] for rows in (measured, relabelled)
        )
        detected += [_row(mine, null, level) for level in LEVELS]
    return detected


def _row(measured: Sequence[MeasuredRow], relabelled: Sequence[MeasuredRow], level: str) -> DetectionRow:
    rows = [row for row in measured if row.level == level]
    null = [row.verdict for row in relabelled if row.level == level]
    first, neutral = rows[0], rows[0].neutral
    dose_rows = list(map(_dose_row, (row for row in measured if row.level == "checkpoint")))
    judged = [_family_row(row) for row in rows] if level == "family" else dose_rows
    limit = _limit(judged, dose_rows, neutral, level)
    known = not any(math.isnan(row.value) for row in dose_rows)
    response = dose_response(dose_rows) if known else None
    alarms = false_alarms(null, fewest=1) if null else UNKNOWN
    return DetectionRow(
        probe=first.probe,
        measure=first.measure,
        level=level,
        limit=limit.kind,
        nats=limit.nats,
        low=limit.low,
        high=limit.high,
        why=limit.why.value if limit.why else "",
        held_from=_held_from(rows, neutral),
        assignments=limit.assignments,
        seeds=limit.seeds if level == "family" else 1,
        n_items=min(row.n_items for row in rows),
        alpha=limit.alpha,
        neutral=neutral,
        at_null=_mean(rows, 0, "value"),
        at_full=_mean(rows, 1, "value"),
        full_nats=_mean(rows, 1, "manipulation") - _mean(rows, 0, "manipulation"),
        trend_p=response.trend_p if response else math.nan,
        reversal_p=response.reversal_p if response else math.nan,
        sign_errors=sign_errors(judged, _UP, neutral).value,
        false_alarms=alarms.value,
        false_alarms_high=alarms.high,
        relabellings=len(null),
    )


def _limit(judged: Sequence[DoseRow | FamilyRow], checkpoints: Sequence[DoseRow], neutral: float, level: str) -> Limit:
    behind = checkpoints if level == "family" else ()
    return detection_limit(judged, _UP, neutral=neutral, checkpoints=behind)


def _held_from(rows: Sequence[MeasuredRow], neutral: float) -> float:
    """Of the doses from which on each number was decided, above neutral: the smallest."""
    nats, start = math.nan, _mean(rows, 0, "manipulation")
    for dose in sorted({row.dose for row in rows}, reverse=True):
        here = [row for row in rows if row.dose == dose]
        if not all(row.verdict.outcome is Outcome.GOOD and row.value > neutral for row in here):
            break
        nats = _mean(rows, dose, "manipulation") - start
    return nats


def _mean(rows: Sequence[MeasuredRow], dose: float, name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows if row.dose == dose]))


def _dose_row(row: MeasuredRow) -> DoseRow:
    return DoseRow(
        assignment=row.assignment,
        seed=row.seed,
        dose=row.dose,
        manipulation=row.manipulation,
        value=row.value,
        verdict=row.verdict,
        low=row.low,
        high=row.high,
    )


def _family_row(row: MeasuredRow) -> FamilyRow:
    return FamilyRow(
        assignment=row.assignment,
        dose=row.dose,
        manipulation=row.manipulation,
        value=row.value,
        low=row.low,
        high=row.high,
        verdict=row.verdict,
    )
