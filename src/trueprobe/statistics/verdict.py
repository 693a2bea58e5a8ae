"""Which word a number earns, by one rule (docs/decisions/0008-verdicts.md), and why, in words.

A checkpoint can earn `holds for this checkpoint` at best. A family `holds` where its interval over seeds and items
excludes neutral after correction and its seeds agree; it `flips` where seeds, each by its own interval, lie on both
sides of neutral beyond noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueprobe.statistics.correction import holm
from trueprobe.statistics.spread import Components
from trueprobe.types import MOST_TIED, Estimate

HOLDS, HOLDS_HERE, FLIPS, UNDECIDED = "holds", "holds for this checkpoint", "flips", "undecided"
NOT_APPLICABLE, DESCRIPTIVE, FAILS = "not applicable", "descriptive", "fails the gate"
LOW_COVERAGE = "low coverage"
FEWEST_GROUPS = 5  # below this an interval over groups says nothing
FEWEST_SEEDS = 3  # two trainings cannot tell what others would say
OUT_OF_LINE = 0.1  # this part of the seeds may lie on the other side by chance: none of fewer than ten
LEVEL = 0.05


def usable(passes: bool, tied: float) -> bool:
    """Whether a number says anything: the gate is passed, and most items are no ties."""
    return passes and tied <= MOST_TIED


@dataclass(frozen=True)
class Found:
    """An estimate before its verdict, with what the verdict needs besides."""

    estimate: Estimate  # its p is the one reported
    p: float  # the interval's own
    se: float = math.nan
    df: float = math.inf
    seed_values: tuple[float, ...] = ()  # of a family
    seed_ps: tuple[float, ...] = ()
    parts: Components | None = None  # of a family's variance
    tested: bool = False  # the p that is reported is of the measure's own test
    passes: bool = True  # the gate
    tied: float = 0.0  # share of the scored items; of a family, of the seed that has most

    @property
    def usable(self) -> bool:
        return usable(self.passes, self.tied)


def judged(found: Sequence[Found], corrected_over: Iterable[str] = ()) -> list[Estimate]:
    """All of one probe and one set of models: p-values corrected, and a verdict for each row."""
    over = tuple(corrected_over)
    shown = _corrected(found, [one.estimate.p for one in found], over)
    own = _corrected(found, [one.p for one in found], over)
    wordings = _wordings_apart(found)
    rows = []
    for i, one in enumerate(found):
        word, why = _verdict(one, own[i], wordings.get(i, ""))
        rows.append(replace(one.estimate, p_corrected=float(shown[i]), verdict=word, reason=why))
    return rows


def _verdict(one: Found, corrected: float, wordings_apart: str) -> tuple[str, str]:
    e = one.estimate
    if not one.passes:
        return FAILS, "the model cannot do what this number takes for granted"
    if one.tied > MOST_TIED and not math.isnan(e.value):
        return LOW_COVERAGE, f"ties among the scored items: {100 * one.tied:.0f} %"
    missing = _not_applicable(e)
    if missing:
        return NOT_APPLICABLE, missing
    if e.neutral is None:
        return DESCRIPTIVE, "no neutral point to hold it against"
    apart = _seeds_apart(one) or wordings_apart
    if apart:
        return FLIPS, apart
    if not one.p < LEVEL:
        return UNDECIDED, "the interval includes neutral"
    if not corrected < LEVEL:
        return UNDECIDED, "not after correction for the number of categories"
    if e.level == "checkpoint":
        return HOLDS_HERE, "one training: what another seed would say cannot be known"
    if e.n_seeds < FEWEST_SEEDS:
        return UNDECIDED, f"{e.n_seeds} trainings: whether others agree cannot be known"
    against = sum((value - e.neutral) * (e.value - e.neutral) <= 0 for value in one.seed_values)
    if against > OUT_OF_LINE * e.n_seeds:
        return UNDECIDED, f"{against} of {e.n_seeds} seeds lie on the other side of neutral"
    return HOLDS, f"{e.n_seeds - against} of {e.n_seeds} seeds agree"


def _not_applicable(e: Estimate) -> str:
    if math.isnan(e.value):
        return "nothing scored"
    if e.n_groups < FEWEST_GROUPS:
        return f"{e.n_groups} groups, fewer than {FEWEST_GROUPS}"
    if math.isnan(e.low):
        return "too little was scored in too many resamples" if e.level == "checkpoint" else "too few seeds scored"
    if e.low == e.high == e.neutral:
        return "nothing was there to measure"
    return ""


def _seeds_apart(one: Found) -> str:
    """Seeds that lie on both sides, each by its own interval, corrected for their number."""
    sides = _both_sides(one.seed_values, one.seed_ps, one.estimate.neutral)
    return f"seeds disagree beyond noise: {len(sides[0])} above neutral, {len(sides[1])} below" if sides else ""


def _both_sides(
    values: Sequence[float], ps: Sequence[float], neutral: float | None
) -> tuple[list[int], list[int]] | None:
    if neutral is None or len(values) < 2:
        return None
    clear = holm(np.array(ps)) < LEVEL
    above = [i for i, value in enumerate(values) if clear[i] and value > neutral]
    below = [i for i, value in enumerate(values) if clear[i] and value < neutral]
    return (above, below) if above and below else None


def _wordings_apart(found: Sequence[Found]) -> dict[int, str]:
    """The rows that pool wordings (wording=all), where single wordings lie on both sides beyond noise."""
    parts = _together(found, lambda e: {k: v for k, v in e.conditions.items() if k != "wording"}, "wording")
    apart: dict[int, str] = {}
    for members in parts.values():
        pooled = [i for i in members if found[i].estimate.conditions["wording"] == "all"]
        single = [i for i in members if i not in pooled]
        values = [found[i].estimate.value for i in single]
        sides = _both_sides(values, [found[i].p for i in single], found[members[0]].estimate.neutral)
        if sides:
            names = [
                ", ".join(str(found[single[i]].estimate.conditions["wording"]) for i in side) + end
                for side, end in zip(sides, (" above neutral", " below"), strict=True)
            ]
            apart |= dict.fromkeys(pooled, f"wordings disagree beyond noise: {'; '.join(names)}")
    return apart


def _corrected(found: Sequence[Found], ps: Sequence[float], over: tuple[str, ...]) -> np.ndarray:
    """Holm, over the values of the conditions `over` with all else equal; a pooled row (`all`) stands alone."""
    corrected = np.array(ps, dtype=float)

    def rest(e: Estimate) -> dict:
        return {key: value for key, value in e.conditions.items() if key not in over}

    for members in _together(found, rest, *over).values():
        several = [i for i in members if "all" not in [found[i].estimate.conditions.get(name) for name in over]]
        corrected[several] = holm(np.array([ps[i] for i in several]))
    return corrected


def _together(found: Sequence[Found], rest: Callable[[Estimate], dict], *having: str) -> dict[tuple, list[int]]:
    """Rows that differ only in the conditions `having`, of which each has at least one."""
    parts: dict[tuple, list[int]] = {}
    for i, one in enumerate(found):
        e = one.estimate
        if any(name in e.conditions for name in having):
            key = (e.model, e.level, e.step, e.measure, *sorted((k, str(v)) for k, v in rest(e).items()))
            parts.setdefault(key, []).append(i)
    return parts
