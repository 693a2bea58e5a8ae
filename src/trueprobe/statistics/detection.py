"""Would a measure notice an effect that is there? Its detection limit, false alarms and sign errors.

The limit is the smallest manipulation, in nats on held-out frames, at which the right verdict has a chance of 80 %:
where the monotone mean dose–response (`doses`) reaches the distance from neutral that the verdict's own interval
detects with that power. It is about models of the kind that was trained, with as many seeds and items; not others,
and not about effects of another kind than the planted one. Chosen by simulation
(docs/decisions/0024-detection-limits.md, docs/reference/detection.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.errors import BadInput
from trueprobe.statistics.doses import (
    DoseDesign,
    DoseEffect,
    DoseResponse,
    DoseRow,
    FamilyRow,
    Row,
    dose_response,
    isotonic,
    mean_of,
)
from trueprobe.statistics.exact import binomial_interval
from trueprobe.statistics.spread import ALPHA, POWER
from trueprobe.statistics.verdict import UNKNOWN, Share
from trueprobe.types import Direction, Outcome, Verdict

__all__ = [
    "DoseEffect",
    "DoseResponse",
    "DoseRow",
    "FamilyRow",
    "Limit",
    "LimitKind",
    "NoLimit",
    "detection_limit",
    "dose_response",
    "false_alarms",
    "sign_errors",
]

FEWEST_RELABELLINGS = 200
_STEPS = 8  # of the curve, between two doses
_DECIDED = (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT, Verdict.AS_PUBLISHED, Verdict.OPPOSITE)
_SIGNS = {Direction.ABOVE: 1, Direction.BELOW: -1}


# ---------------------------------------------------------------- the detection limit


class LimitKind(StrEnum):
    """Where the chance of the right verdict reaches the power."""

    AT = "at"
    AT_MOST = "at_most"  # already at the smallest dose
    ABOVE = "above"  # not even at the largest
    NONE = "none"  # there is no limit


class NoLimit(StrEnum):
    """Why there is none."""

    NO_MANIPULATION = "no_manipulation"  # the training did not plant anything
    WRONG_SIGN = "wrong_sign"  # the measure moves against what was planted


@dataclass(frozen=True, kw_only=True)
class Limit:
    """In nats more than at dose 0. An interval reaches to infinity where the largest dose may not suffice;
    with one assignment there is none, as seeds alone do not show how far another association would move the limit."""

    kind: LimitKind
    nats: float = math.nan  # the limit; the smallest dose of AT_MOST, the largest of ABOVE
    low: float = math.nan  # 95 %, over other assignments and other seeds
    high: float = math.nan
    why: NoLimit | None = None
    assignments: int = 0
    seeds: int = 0  # with which it was measured, and for which a family's limit holds
    power: float = POWER
    alpha: float = ALPHA  # of the verdict


def detection_limit(
    rows: Sequence[Row],
    expected: Direction,
    power: float = POWER,
    *,
    neutral: float = 0.0,
    checkpoints: Sequence[DoseRow] = (),
) -> Limit:
    """Of a checkpoint's verdict from `DoseRow`s; of a family's from `FamilyRow`s, with the checkpoints behind them.

    rows: every assignment (and seed) at every dose, each with its interval at α = 0.05 and the verdict by it
    expected: ABOVE where the measure must rise with what was planted, BELOW where it must fall
    neutral: what the verdict holds the value against
    checkpoints: those of the families; without them the limit's interval knows nothing of other seeds
    """
    if expected not in _SIGNS:
        raise BadInput(f"a dose–response is expected 'above' or 'below', not '{expected}'")
    judged, design = DoseDesign.of(rows), DoseDesign.of(checkpoints or rows)
    if judged.doses.tolist() != design.doses.tolist() or len(judged.rows) != len(design.rows):
        raise BadInput("families and their checkpoints differ in doses or assignments")
    size = {"assignments": len(design.rows), "seeds": design.rows.shape[1]}
    curve = _Curve(design, judged, _SIGNS[expected], neutral, power)
    why = curve.why_none()
    if why is not None:
        return Limit(kind=LimitKind.NONE, why=why, power=power, **size)
    kind, nats = curve.limit()
    low, high = curve.ends()
    return Limit(kind=kind, nats=nats, low=low, high=high, power=power, **size)


@dataclass(frozen=True)
class _Curve:
    """How far the response lies beyond what is detectable, over the manipulation; where negative, it is not."""

    design: DoseDesign  # of checkpoints, whose values move the curve
    judged: DoseDesign  # of what the limit is about, with intervals and verdicts
    sign: int
    neutral: float
    power: float

    def why_none(self) -> NoLimit | None:
        nats = self.design.manipulations[..., -1]
        planted = self.design.spread(nats)
        if planted.value <= 0 or (planted.interval()[0] <= 0 and not (nats > 0).all()):
            return NoLimit.NO_MANIPULATION
        moved = self.design.spread(self.sign * self.design.differences[..., -1])
        return NoLimit.WRONG_SIGN if moved.interval()[1] < 0 else None

    def limit(self) -> tuple[LimitKind, float]:
        nats = _crossing(self.nats, self.beyond)
        smallest, largest = float(self.nats[_STEPS]), float(self.nats[-1])
        if nats > largest:
            return LimitKind.ABOVE, largest
        return (LimitKind.AT, nats) if nats > smallest else (LimitKind.AT_MOST, smallest)

    def ends(self) -> tuple[float, float]:
        """Where the upper and where the lower end of the curve reach 0: no point between them can be excluded."""
        if len(self.design.rows) < 2:
            return math.nan, math.nan
        off = self._fine(self._off)
        bands = [self.design.spread(off[..., i]).interval() for i in range(off.shape[2])]
        lower, upper = (self.beyond + np.array(ends) for ends in zip(*bands, strict=True))
        if np.isnan(lower[1:]).any():
            return math.nan, math.nan
        low, high = (_crossing(self.nats, np.maximum.accumulate(ends)) for ends in (upper, lower))
        return min(low, float(self.nats[-1])), high

    @cached_property
    def nats(self) -> np.ndarray:
        """Of the curve's points, between the doses too."""
        return self._fine(isotonic(mean_of(self.design.manipulations)))

    @cached_property
    def beyond(self) -> np.ndarray:
        """Of the curve's points; −∞ up to the last dose that lacks a value or at which too few could be decided."""
        curve = self._fine(self._margin)
        lacking = np.isnan(self.design.differences).any(axis=(0, 1))
        barred = np.flatnonzero(lacking | (self._open.mean(axis=(0, 1)) < self.power))
        if len(barred):
            curve[: barred[-1] * _STEPS + 1] = -math.inf
        return curve

    @cached_property
    def _margin(self) -> np.ndarray:
        """Of the doses."""
        return isotonic(isotonic(mean_of(self._response)) - mean_of(self._detectable))

    @cached_property
    def _response(self) -> np.ndarray:
        signed: np.ndarray = self.sign * np.nan_to_num(self.design.differences)  # NaN at doses that are left out anyway
        return signed

    @cached_property
    def _detectable(self) -> np.ndarray:
        """[assignments, seeds or 1, doses]: the distance from neutral that is detected with this power: the reach of
        the interval, and z of what the number moves by. That is what the interval knows, items and seeds of a family,
        and what it does not: other assignments, and of a checkpoint other seeds."""
        power, level = (_normal(q) for q in (self.power, 1 - ALPHA / 2))
        response = self._response.mean(axis=1, keepdims=True) if self._of_families else self._response
        units = response.reshape(-1, response.shape[-1])
        beyond = units.var(axis=0, ddof=1) if len(units) > 1 else 0.0
        scaled: np.ndarray = self._reach + power * np.sqrt((self._reach / level) ** 2 + beyond)
        return scaled

    @cached_property
    def _reach(self) -> np.ndarray:
        """From the value to the end on neutral's side. Scaled so that its mean is the root mean square: few seeds make
        most errors too small, and their squares are not."""
        end = self.judged.column("low" if self.sign > 0 else "high")
        reach = np.where(self._open, self.sign * (self.judged.column("value") - end), 0.0)
        known = np.maximum(1, self._open.sum(axis=(0, 1)))
        typical, mean = np.sqrt((reach**2).sum(axis=(0, 1)) / known), reach.sum(axis=(0, 1)) / known
        scale = np.divide(typical, mean, out=np.ones_like(mean), where=mean > 0)
        scaled: np.ndarray = np.where(self._open, reach, mean) * scale
        return scaled

    @property
    def _of_families(self) -> bool:
        return bool(self.judged.rows.shape[1] < self.design.rows.shape[1])

    @cached_property
    def _reach_by_seeds(self) -> np.ndarray:
        """[assignments, seeds, doses]: how much of a family's reach is due to each seed, as reach² holds t² times the
        variance of the seeds' mean; zero in the mean."""
        if not self._of_families:
            return np.zeros(self.design.rows.shape)
        seeds = self.design.rows.shape[1]
        values = np.nan_to_num(self.design.column("value"))
        squares = (values - values.mean(axis=1, keepdims=True)) ** 2 * seeds / (seeds - 1)
        t = float(scipy.special.stdtrit(seeds - 1, 1 - ALPHA / 2))
        due = t**2 / (2 * seeds) * (squares - squares.mean(axis=1, keepdims=True))
        parts: np.ndarray = np.divide(due, self._reach, out=np.zeros_like(due), where=self._reach > 0)
        return parts * (1 + _normal(self.power) / _normal(1 - ALPHA / 2))

    @cached_property
    def _open(self) -> np.ndarray:
        """[assignments, seeds or 1, doses]: decided, or undecided for no other reason than a value near neutral."""
        verdicts = [row.verdict for row in self.judged.rows.flat]
        decided = np.array([verdict in _DECIDED for verdict in verdicts])
        undecided = np.array([verdict is Verdict.UNDECIDED for verdict in verdicts])
        low, high = (self.judged.column(name).ravel() for name in ("low", "high"))
        near = undecided & (low <= self.neutral) & (high >= self.neutral)
        reached: np.ndarray = (decided | near).reshape(self.judged.rows.shape)
        return reached

    @cached_property
    def _off(self) -> np.ndarray:
        """[assignments, seeds, doses]: how far the margin of each lies from the mean, at the same manipulation."""
        nats = self.design.manipulations
        slope = _slope(isotonic(mean_of(nats)), self._margin)
        margin = self._response - self._detectable - self._reach_by_seeds - slope * nats
        off: np.ndarray = margin - mean_of(margin)
        return off

    def _fine(self, at_doses: np.ndarray) -> np.ndarray:
        """Weights between two doses move on a line, and so, nearly, does all that is counted."""
        points = np.arange((at_doses.shape[-1] - 1) * _STEPS + 1) / _STEPS
        below = np.minimum(points.astype(int), at_doses.shape[-1] - 2)
        part = points - below
        fine: np.ndarray = at_doses[..., below] * (1 - part) + at_doses[..., below + 1] * part
        return fine


def _normal(quantile: float) -> float:
    return float(scipy.special.ndtri(quantile))


def _slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of a curve at its points, from their neighbours; 0 where x stands still."""
    run, rise = (np.append(one[1:], one[-1]) - np.insert(one[:-1], 0, one[0]) for one in (x, y))
    slopes: np.ndarray = np.divide(rise, run, out=np.zeros_like(run), where=run > 0)
    return slopes


def _crossing(x: np.ndarray, curve: np.ndarray) -> float:
    """The first x at which a curve that never falls is at least 0; infinite where there is none."""
    reached = np.flatnonzero(curve >= 0)
    if not len(reached):
        return math.inf
    i = int(reached[0])
    if i == 0 or not math.isfinite(curve[i - 1]):
        return float(x[i])
    part = -curve[i - 1] / (curve[i] - curve[i - 1])
    return float(x[i - 1] + part * (x[i] - x[i - 1]))


# ---------------------------------------------------------------- errors


def false_alarms(verdicts: Sequence[Verdict], fewest: int = FEWEST_RELABELLINGS) -> Share:
    """Share decided, of verdicts at dose 0 about associations that were drawn again and never trained; with the exact
    interval of independent draws. Verdicts that could not be reached for another reason do not count."""
    if len(verdicts) < fewest:
        raise BadInput(f"false alarms need at least {fewest} relabellings, not {len(verdicts)}")
    prevented = (Verdict.BORDERLINE_COVERAGE, *(verdict for verdict in Verdict if verdict.outcome is Outcome.NONE))
    return _share([verdict in _DECIDED for verdict in verdicts if verdict not in prevented])


def sign_errors(rows: Sequence[Row], expected: Direction, neutral: float = 0.0) -> Share:
    """Share of the decided verdicts above dose 0 that lie on the other side of neutral than expected."""
    if expected not in _SIGNS:
        raise BadInput(f"a sign is expected 'above' or 'below', not '{expected}'")
    decided = [row for row in rows if row.dose > 0 and row.verdict in _DECIDED]
    return _share([_SIGNS[expected] * (row.value - neutral) < 0 for row in decided])


def _share(which: Sequence[bool]) -> Share:
    yes, n = sum(map(int, which)), len(which)
    return Share(yes / n, *binomial_interval(yes, n)) if n else UNKNOWN
