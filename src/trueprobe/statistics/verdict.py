"""Which verdict a number earns, by one rule (docs/decisions/0008-verdicts.md), and for which reason.

A checkpoint can earn HOLDS_FOR_CHECKPOINT at best. A family HOLDS where its interval over seeds and items excludes
neutral after correction and its seeds agree; it FLIPS where seeds, each by its own interval, lie on both sides of
neutral beyond noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueprobe.statistics.correction import benjamini_hochberg, holm
from trueprobe.statistics.rows import Estimate, changed
from trueprobe.statistics.spread import Components
from trueprobe.types import LEAST_COVERED, MOST_TIED, Conditions, Reason, Tail, Verdict

FEWEST_GROUPS = 5  # below this an interval over groups shows nothing
FEWEST_SEEDS = 3  # two seeds cannot show what others would give
MOST_AGAINST = 0.1  # this share of the seeds may lie on the other side by chance: none of fewer than ten
ALPHA = 0.05
POOLED = "all"  # a condition's value in the row over all its values


def low_coverage(tied: float, covered: float) -> bool:
    """Mostly ties, or too few items that hold anything to count."""
    return tied > MOST_TIED or covered < LEAST_COVERED


def usable(passes: bool, tied: float, covered: float) -> bool:
    """Whether a number can decide anything: the gate is passed, and there is coverage."""
    return passes and not low_coverage(tied, covered)


@dataclass(frozen=True)
class Unjudged:
    """An estimate before its verdict, with what else the verdict needs."""

    estimate: Estimate  # its p is the one reported
    p: float  # the interval's
    se: float = math.nan
    df: float = math.inf
    seed_values: tuple[float, ...] = ()  # of a family
    seed_ps: tuple[float, ...] = ()
    parts: Components | None = None  # of a family's variance
    tested: bool = False  # the p that is reported is of the measure's own test
    tail: Tail = Tail.UPPER  # of that test
    passes: bool = True  # the gate

    @property
    def usable(self) -> bool:
        return usable(self.passes, self.estimate.tied, self.estimate.covered)


def judge(rows: Sequence[Unjudged], corrected_over: Iterable[str] = ()) -> list[Estimate]:
    """All of one probe and one set of models: p-values corrected, and a verdict for each row."""
    over = tuple(corrected_over)
    reported, by_interval = _corrected(rows, over)
    wordings = _wordings_apart(rows)
    return [
        changed(
            row.estimate,
            p_corrected=float(p),
            p_interval=row.p,
            **_judgement(row, float(by_interval[i]), wordings.get(i)),
        )
        for i, (row, p) in enumerate(zip(rows, reported, strict=True))
    ]


_FINDINGS = (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT, Verdict.AS_PUBLISHED, Verdict.OPPOSITE)


def controlled(verdicts: Sequence[Verdict], ps: Sequence[float]) -> list[Verdict]:
    """Of a list that is read together: about one in twenty of its findings is false, and of a list without any effect
    one in twenty has a finding (Benjamini & Hochberg). What has no p stays as it is."""
    clear = ~(benjamini_hochberg(np.array(ps, dtype=float)) >= ALPHA)
    return [v if c or v not in _FINDINGS else Verdict.UNDECIDED for v, c in zip(verdicts, clear, strict=True)]


def _judgement(row: Unjudged, corrected: float, wordings: dict[str, str] | None) -> dict[str, Any]:
    """The fields of the estimate that the verdict sets."""
    e = row.estimate
    unknown = _unknown(row)
    if unknown is Verdict.TOO_FEW_GROUPS:
        return {"verdict": unknown, "low": math.nan, "high": math.nan}
    if unknown is not None:
        return {"verdict": unknown}
    if e.neutral is None:
        return {"verdict": Verdict.DESCRIPTIVE}
    apart = _both_sides(row.seed_values, row.seed_ps, e.neutral)
    if apart:
        above, below = (str(len(side)) for side in apart)
        return {"verdict": Verdict.FLIPS, "reason": Reason.SEEDS_APART, "above": above, "below": below}
    if wordings:
        return {"verdict": Verdict.FLIPS, "reason": Reason.WORDINGS_APART, **wordings}
    return _directed(row, corrected, e.neutral)


def _directed(row: Unjudged, corrected: float, neutral: float) -> dict[str, Any]:
    e = row.estimate
    if not row.p < ALPHA:
        return {"verdict": Verdict.UNDECIDED, "reason": Reason.INTERVAL_INCLUDES_NEUTRAL}
    if not corrected < ALPHA:
        return {"verdict": Verdict.UNDECIDED, "reason": Reason.NOT_AFTER_CORRECTION}
    if e.level == "checkpoint":
        return {"verdict": Verdict.HOLDS_FOR_CHECKPOINT}
    if e.n_seeds < FEWEST_SEEDS:
        return {"verdict": Verdict.UNDECIDED, "reason": Reason.TOO_FEW_SEEDS}
    against = sum((value - neutral) * (e.value - neutral) <= 0 for value in row.seed_values)
    if against > MOST_AGAINST * e.n_seeds:
        return {"verdict": Verdict.UNDECIDED, "reason": Reason.SEEDS_AGAINST, "n_against": against}
    return {"verdict": Verdict.HOLDS, "n_against": against}


def _unknown(row: Unjudged) -> Verdict | None:
    """The verdict of a number that decides nothing."""
    e = row.estimate
    if not row.passes:
        return Verdict.FAILS_GATE
    if math.isnan(e.value):
        return Verdict.NOTHING_SCORED
    if low_coverage(e.tied, e.covered):
        return Verdict.LOW_COVERAGE
    return without_interval(e.n_groups, e.low, e.high, e.neutral)


def without_interval(groups: int, low: float, high: float, neutral: float | None) -> Verdict | None:
    """The verdict of a value whose interval cannot be had, or is a single point at neutral."""
    if groups < FEWEST_GROUPS:
        return Verdict.TOO_FEW_GROUPS
    if math.isnan(low):
        return Verdict.NO_INTERVAL
    return Verdict.NO_VARIATION if low == high == neutral else None


def _both_sides(
    values: Sequence[float], ps: Sequence[float], neutral: float | None
) -> tuple[list[int], list[int]] | None:
    """Those that lie clearly above and clearly below, corrected for their number; None unless there are both."""
    if neutral is None or len(values) < 2:
        return None
    if not any(value > neutral for value in values) or not any(value < neutral for value in values):
        return None
    clear = holm(np.array(ps)) < ALPHA
    above = [i for i, value in enumerate(values) if clear[i] and value > neutral]
    below = [i for i, value in enumerate(values) if clear[i] and value < neutral]
    return (above, below) if above and below else None


def _wordings_apart(rows: Sequence[Unjudged]) -> dict[int, dict[str, str]]:
    """The rows that pool wordings, where single wordings lie on both sides beyond noise: which above, which below."""
    parts = _together(rows, lambda e: {k: v for k, v in e.conditions.items() if k != "wording"}, "wording")
    apart: dict[int, dict[str, str]] = {}
    for members in parts.values():
        pooled = [i for i in members if rows[i].estimate.conditions["wording"] == POOLED]
        single = [i for i in members if i not in pooled]
        values = [rows[i].estimate.value for i in single]
        sides = _both_sides(values, [rows[i].p for i in single], rows[members[0]].estimate.neutral)
        if sides:
            named = [", ".join(rows[single[i]].estimate.conditions["wording"] for i in side) for side in sides]
            apart |= {i: {"above": named[0], "below": named[1]} for i in pooled}
    return apart


def _corrected(rows: Sequence[Unjudged], over: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The p that is reported and that of the interval: Holm, over the values of the conditions `over` with all else
    equal; a pooled row stands alone."""
    reported, by_interval = np.array([(row.estimate.p, row.p) for row in rows], dtype=float).reshape(-1, 2).T.copy()

    def rest(e: Estimate) -> Conditions:
        return {key: value for key, value in e.conditions.items() if key not in over}

    for members in _together(rows, rest, *over).values():
        several = [i for i in members if POOLED not in [rows[i].estimate.conditions.get(name) for name in over]]
        for ps in (reported, by_interval):
            ps[several] = holm(ps[several])
    return reported, by_interval


def _together(
    rows: Sequence[Unjudged], rest: Callable[[Estimate], Conditions], *having: str
) -> dict[tuple[object, ...], list[int]]:
    """Rows that differ only in the conditions `having`, of which each has at least one."""
    parts: dict[tuple[object, ...], list[int]] = {}
    for i, row in enumerate(rows):
        e = row.estimate
        if any(name in e.conditions for name in having):
            key = (e.model, e.level, e.step, e.measure, *sorted(rest(e).items()))
            parts.setdefault(key, []).append(i)
    return parts
