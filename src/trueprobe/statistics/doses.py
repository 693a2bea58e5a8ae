"""Dose–response: how a measure moves with a known association that was trained into a model at several doses.

Dose 0 had the same training without the association, so everything is counted from there: what training alone moves
cancels. `manipulation` is how much was planted, in nats on held-out frames; `value` is what the measure says. A
positive difference means that the measure is larger than at dose 0. Of categories that were not planted, the same
numbers are the measure's specificity. The doses of one checkpoint are no independent models: only assignments and
seeds are drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import scipy  # type: ignore[import-untyped]

from trueprobe.errors import BadInput
from trueprobe.statistics.resampling import Groups, Resampling
from trueprobe.statistics.spread import Samples, Spread
from trueprobe.statistics.verdict import holm
from trueprobe.types import Verdict

_RESAMPLES = 2000  # of the seeds


@dataclass(frozen=True, kw_only=True)
class DoseRow:
    """One checkpoint at one dose."""

    assignment: int  # which random assignment of the association
    seed: int  # of (pre-)training
    dose: float  # from 0, the model trained without the association, to 1
    manipulation: float  # nats on held-out frames, at this dose
    value: float  # of the measure
    verdict: Verdict | None = None  # the checkpoint's own, as if this number were the only one; limits need it
    low: float = math.nan  # of its interval; a checkpoint's limit needs both ends
    high: float = math.nan


@dataclass(frozen=True, kw_only=True)
class FamilyRow:
    """The family (all seeds of one assignment) at one dose."""

    assignment: int
    dose: float
    manipulation: float  # mean over seeds
    value: float
    low: float
    high: float
    verdict: Verdict

    @property
    def seed(self) -> int:
        return 0


Row = DoseRow | FamilyRow


# ---------------------------------------------------------------- assignments × seeds × doses


@dataclass(frozen=True)
class DoseDesign:
    """Numbers in [assignments, seeds, doses]; the first dose is 0."""

    doses: np.ndarray
    rows: np.ndarray  # of objects

    @classmethod
    def of(cls, rows: Sequence[Row]) -> DoseDesign:
        doses = sorted({row.dose for row in rows if not math.isnan(row.dose)})
        if len(doses) < 2 or doses[0] != 0:
            raise BadInput(f"a dose–response needs dose 0 and at least one more; there are {doses or 'none'}")
        cells = {(row.assignment, row.seed, row.dose): row for row in rows}
        assignments, seeds = sorted({row.assignment for row in rows}), sorted({row.seed for row in rows})
        wanted = [(a, s, dose) for a in assignments for s in seeds for dose in doses]
        for row in rows:
            if math.isnan(row.dose + row.manipulation):
                raise BadInput(f"{_name(row)}: dose or manipulation is not a number")
        if len(cells) < len(rows):
            twice = Counter((row.assignment, row.seed, row.dose) for row in rows).most_common(1)[0][0]
            raise BadInput("assignment {}, seed {}, dose {} is given twice".format(*twice))
        for key in wanted:
            if key not in cells:
                raise BadInput("assignment {}, seed {} was not measured at dose {}".format(*key))
        table = np.empty(len(wanted), dtype=object)
        table[:] = [cells[key] for key in wanted]
        return cls(np.array(doses), table.reshape(len(assignments), len(seeds), len(doses)))

    def column(self, name: str) -> np.ndarray:
        numbers: np.ndarray = np.vectorize(lambda row: float(getattr(row, name)), otypes=[float])(self.rows)
        return numbers

    @cached_property
    def manipulations(self) -> np.ndarray:
        """More than at dose 0."""
        return _from_first(self.column("manipulation"))

    @cached_property
    def differences(self) -> np.ndarray:
        """Of values from that at dose 0."""
        return _from_first(self.column("value"))

    @cached_property
    def weights(self) -> np.ndarray:
        """[1 + R, seeds]: how often each is drawn; the same seeds for all assignments."""
        names = pd.DataFrame({"seed": np.arange(self.rows.shape[1]).astype(str)})
        return Resampling.of(names, _RESAMPLES).weights.astype(float)

    def spread(self, numbers: np.ndarray) -> Spread:
        """[assignments, seeds]: how their mean moves with others of both; so few do not show a skew."""
        assignments, seeds = numbers.shape
        mean = float(numbers.mean())
        if seeds == 1:
            error = float(numbers.std(ddof=1)) / math.sqrt(assignments) if assignments > 1 else math.nan
            return Spread(mean, error, df=max(1, assignments - 1))
        samples = Samples(numbers @ self.weights.T / seeds)
        drawn = samples.over_seeds(Groups(seeds))[0] if assignments > 1 else samples.over_items(0, Groups(seeds))
        return replace(drawn, skew=0.0)


def _name(row: Row) -> str:
    return f"assignment {row.assignment}, seed {row.seed}, dose {row.dose:g}"


def _from_first(numbers: np.ndarray) -> np.ndarray:
    differences: np.ndarray = numbers - numbers[..., :1]
    return differences


def mean_of(numbers: np.ndarray) -> np.ndarray:
    """Over assignments and seeds."""
    means: np.ndarray = numbers.mean(axis=(0, 1))
    return means


def isotonic(numbers: np.ndarray) -> np.ndarray:
    """The nearest curve that never falls."""
    fitted: np.ndarray = scipy.optimize.isotonic_regression(numbers).x
    return fitted


# ---------------------------------------------------------------- dose–response


@dataclass(frozen=True, kw_only=True)
class DoseEffect:
    """One dose against dose 0, over assignments and seeds."""

    dose: float
    manipulation: float
    difference: float
    low: float  # 95 %, over other assignments and other seeds
    high: float
    p: float


@dataclass(frozen=True, kw_only=True)
class DoseResponse:
    """`doses` without dose 0. Is there a trend, and is there a step against it?"""

    doses: tuple[DoseEffect, ...]
    trend: float  # the measure's change per nat (least squares)
    trend_low: float
    trend_high: float
    trend_p: float
    reversal_p: float  # of the clearest step against the trend, corrected (Holm) for the number of steps


def dose_response(rows: Sequence[Row]) -> DoseResponse:
    """Of planted categories; of others it is their specificity: how far they move with what they are not about."""
    design = DoseDesign.of(rows)
    _no_missing(rows)
    x = mean_of(design.manipulations)
    trend = design.spread(design.differences @ _least_squares(x))
    low, high = trend.interval()
    steps = [design.spread(step) for step in np.moveaxis(np.diff(design.differences, axis=2), 2, 0)]
    against = [step.p(0.0) if step.value * trend.value < 0 else 1.0 for step in steps]
    return DoseResponse(
        doses=tuple(_effect(design, i) for i in range(1, len(x))),
        trend=trend.value,
        trend_low=low,
        trend_high=high,
        trend_p=trend.p(0.0),
        reversal_p=float(holm(np.array(against)).min()),
    )


def _effect(design: DoseDesign, i: int) -> DoseEffect:
    moves = design.spread(design.differences[..., i])
    low, high = moves.interval()
    manipulation = float(design.manipulations[..., i].mean())
    dose = float(design.doses[i])
    return DoseEffect(dose=dose, manipulation=manipulation, difference=moves.value, low=low, high=high, p=moves.p(0.0))


def _least_squares(x: np.ndarray) -> np.ndarray:
    """Weights of the values, whose sum is the slope; NaN where nothing was planted."""
    off = x - x.mean()
    squares = float(off @ off)
    weights: np.ndarray = off / (squares or math.nan)
    return weights


def _no_missing(rows: Sequence[Row]) -> None:
    for row in rows:
        if math.isnan(row.value):
            raise BadInput(f"{_name(row)}: the measure has no value")
