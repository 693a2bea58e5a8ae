"""The one place that assigns a verdict: to estimates, claims, differences, disagreements, and on a report's list.

A `Case` is what a verdict depends on, of any number; `judge` corrects p within families of like questions (Holm) and
applies one rule (docs/decisions/0008-verdicts.md); `judge_list` controls the false discovery rate over the primary
numbers of a report (docs/decisions/0015-primary-numbers.md). A verdict follows from the interval: a checkpoint earns
HOLDS_FOR_CHECKPOINT at best; a family HOLDS where its interval over seeds and items excludes the reference; it FLIPS
where seeds, each by its own interval, lie on both sides. How often each verdict is wrong: docs/reference/coverage.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from trueprobe.statistics.rows import Agreement, ClaimResult, Difference, Estimate, VariantDifference, changed, grouped
from trueprobe.types import AT, LEAST_COVERED, LEVELS, Direction, Outcome, Reason, Verdict

FEWEST_GROUPS = 6  # with five, no exact test of a share can reach 0.05
FEWEST_SEEDS = 3  # two seeds cannot show what others would give
ALPHA = 0.05
NOT_JUDGED = Verdict.DESCRIPTIVE  # of a value that is shown without an interval: published, or a part of a bar
POOLED = "all"  # a condition's value in the row over all its values


class Share(NamedTuple):
    """A share of items with its 95 % interval; NaN where it is not known."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


UNKNOWN = Share()


class PartNumber(NamedTuple):
    """A seed or a wording behind a number, by its own interval."""

    name: str
    value: float
    p: float


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a verdict depends on."""

    value: float
    low: float
    high: float
    p: float  # of the interval, against `reference`
    reference: float | None  # the neutral point, or a claim's threshold
    groups: int
    seeds: int | None = None  # of the smaller side; None where single checkpoints are behind it
    direction: Direction | None = None  # where a claim has the number; None for a number that nobody claimed
    trivial: bool = False  # a claim that random answers fulfil too
    p_apart: float = math.nan  # of a claim of equivalence, whose p is that of being alike: that it is beyond the margin
    sensitive: bool = True  # the effect that a claim presupposes is there, as that which a margin refers to
    passes: bool = True  # the gate
    covered: Share = UNKNOWN  # items with a countable answer, of the part, seed or side that has fewest
    untied: Share = UNKNOWN  # scored items that are no tie
    seed_values: tuple[PartNumber, ...] = ()
    wordings: tuple[PartNumber, ...] = ()  # of a number that pools them
    kinds: tuple[PartNumber, ...] = ()  # the same of a number that pools several kinds of items
    together: Hashable = None  # cases that ask one thing many times share it, and their p is corrected together


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    reason: Reason = Reason.NONE
    p_corrected: float = math.nan
    above: str = ""  # where a number flips or is mixed: how many seeds, or which parts, are clearly above the reference
    below: str = ""


def judge(cases: Sequence[Case]) -> list[Judgement]:
    """Each by itself, after Holm's correction over those that share `together`."""
    ps = np.array([case.p for case in cases], dtype=float)
    for asked, members in grouped(range(len(cases)), lambda i: cases[i].together).items():
        if asked is not None:
            ps[members] = holm(ps[members])
    return [_judged(case, float(p)) for case, p in zip(cases, ps, strict=True)]


def together(key: Hashable, conditions: Mapping[str, object], over: Iterable[str]) -> Hashable:
    """The family of like questions that a number belongs to: all that differ from it only in the conditions `over`.
    A number that pools one of these conditions stands alone."""
    asked = {name: conditions[name] for name in (*over, LEVELS, AT) if name in conditions}
    if not asked or POOLED in asked.values():
        return None
    return key, frozenset((name, str(value)) for name, value in conditions.items() if name not in asked)


# ---------------------------------------------------------------- the rule


def _judged(case: Case, p: float) -> Judgement:
    stopped = obstacle(case)
    if stopped is not None:
        return Judgement(stopped, p_corrected=p)
    for parts, reason in ((case.seed_values, Reason.SEEDS_APART), (case.wordings, Reason.WORDINGS_APART)):
        sides = _both_sides(parts, case.reference)
        if sides is not None:
            return Judgement(Verdict.FLIPS, reason, p, *(_named(side, reason) for side in sides))
    mixed = _both_sides(case.kinds, case.reference)
    if mixed is not None:  # opposite effects: their mean is an effect of none of them
        return Judgement(Verdict.MIXED, Reason.NONE, p, *(_named(side, Reason.NONE) for side in mixed))
    if case.seeds is not None and case.seeds < FEWEST_SEEDS:
        return Judgement(Verdict.UNDECIDED, Reason.TOO_FEW_SEEDS, p)
    clear = p < ALPHA
    if case.direction is Direction.ALIKE:
        otherwise = Verdict.OPPOSITE if case.p_apart < ALPHA else Verdict.UNDECIDED
        reason = Reason.NONE if clear else Reason.INTERVAL_INCLUDES_NEUTRAL
        return Judgement(Verdict.ALIKE if clear else otherwise, reason, p)
    verdict = _clear_verdict(case) if clear else _unclear_verdict(case.direction)
    if clear or verdict is not Verdict.UNDECIDED:
        return Judgement(verdict, p_corrected=p)
    uncorrected = Reason.NOT_AFTER_CORRECTION if case.p < ALPHA else Reason.INTERVAL_INCLUDES_NEUTRAL
    return Judgement(verdict, uncorrected, p)


def obstacle(case: Case) -> Verdict | None:
    """What stands in the way of any conclusion: a missing skill, value, coverage, interval or reference."""
    if not case.passes:
        return Verdict.FAILS_GATE
    if math.isnan(case.value):
        return Verdict.NOTHING_SCORED
    coverage = of_coverage(case.covered, case.untied)
    if coverage is Verdict.LOW_COVERAGE:
        return coverage
    if case.groups < FEWEST_GROUPS:
        return Verdict.TOO_FEW_GROUPS
    if math.isnan(case.low):
        return Verdict.NO_INTERVAL
    if not case.sensitive:
        return Verdict.INSENSITIVE
    if case.low == case.high == case.reference and case.direction is not Direction.ALIKE:
        return Verdict.NO_VARIATION
    return coverage or (Verdict.DESCRIPTIVE if case.reference is None else None)


def of_coverage(*shares: Share) -> Verdict | None:
    """A number must rest on most of its items: LOW_COVERAGE where certainly fewer have a countable answer,
    BORDERLINE_COVERAGE where that cannot be said. A share that is not known stands in the way of nothing."""
    if any(share.high < LEAST_COVERED for share in shares):
        return Verdict.LOW_COVERAGE
    return Verdict.BORDERLINE_COVERAGE if any(share.low <= LEAST_COVERED for share in shares) else None


def _clear_verdict(case: Case) -> Verdict:
    """Of a number that differs from its reference."""
    if case.direction is None:
        return Verdict.HOLDS_FOR_CHECKPOINT if case.seeds is None else Verdict.HOLDS
    assert case.reference is not None
    above = case.value > case.reference
    published = {
        Direction.ABOVE: above,
        Direction.NOT_BELOW: above,
        Direction.BELOW: not above,
        Direction.NOT_EQUAL: True,
        Direction.EQUAL: False,
    }[case.direction]
    if not published:
        return Verdict.OPPOSITE
    return Verdict.NOT_CONTRADICTED if case.trivial or case.direction in _ONLY_CONTRADICTED else Verdict.AS_PUBLISHED


def _unclear_verdict(direction: Direction | None) -> Verdict:
    return Verdict.NOT_CONTRADICTED if direction in _ONLY_CONTRADICTED else Verdict.UNDECIDED


_ONLY_CONTRADICTED = (Direction.NOT_BELOW, Direction.EQUAL)  # no evidence against them is no evidence for them


def _both_sides(
    parts: Sequence[PartNumber], reference: float | None
) -> tuple[list[PartNumber], list[PartNumber]] | None:
    """Those clearly above and clearly below, corrected (Holm) for their number; None unless there are both."""
    if reference is None or len({part.value > reference for part in parts if part.value != reference}) < 2:
        return None
    corrected = zip(parts, holm(np.array([part.p for part in parts])), strict=True)
    clear = [part for part, p in corrected if p < ALPHA and part.value != reference]
    above, below = ([part for part in clear if (part.value > reference) is side] for side in (True, False))
    return (above, below) if above and below else None


def _named(side: Sequence[PartNumber], reason: Reason) -> str:
    return str(len(side)) if reason is Reason.SEEDS_APART else ", ".join(part.name for part in side)


# ---------------------------------------------------------------- the list of a report

Judged = Estimate | ClaimResult | Difference | VariantDifference  # rows that have a verdict
J = TypeVar("J", bound=Judged)
# no value of such a number could make it a finding
_OFF_LIST = {*(one for one in Verdict if one.outcome is Outcome.NONE), Verdict.BORDERLINE_COVERAGE}
_DECIDED_ALONE = (Verdict.FLIPS, Verdict.MIXED, Verdict.NOT_CONTRADICTED)


def judge_list(rows: Sequence[J], primary: Sequence[bool], tests: int = 0) -> list[J]:
    """The rows with the verdicts of a list that is read together, with so many joint `tests` that have no p yet.

        verdict_alone   by the rule above, as if this row were the only one
        primary         declared beforehand as one of the numbers that the list is about
        listed          primary, and its number could have made it a finding: only these are corrected
        verdict         on the list; what everything that is shown reads

    Among the findings of the list at most one in twenty is expected to be false, and of a list without any effect one
    in twenty has a finding (Benjamini & Hochberg 1995). Rows that could never be a finding, whatever their number, are
    not on the list, so that their p raises no other row's threshold. FLIPS, MIXED and NOT_CONTRADICTED were decided on
    the same data: they stay, with p = 1, as joint tests have. Undecided rows keep their p, corrected
    over the list alone. Rows that are not primary are exploratory, or MIXED."""
    listed = [i for i, row in enumerate(rows) if primary[i] and can_be_finding(row)]
    ps = np.array([*(p_corrected_from(rows[i]) for i in listed), *[1.0] * tests], dtype=float)
    corrected = dict(zip(listed, benjamini_hochberg(ps).tolist(), strict=False))
    judged = (_on_list(row, corrected.get(i), primary[i]) for i, row in enumerate(rows))
    return [changed(row, n_list=len(ps)) if i in corrected else row for i, row in enumerate(judged)]


def judge_joint(p: float, n_list: int) -> tuple[Verdict, float]:
    """Of a joint test on a list of so many, whose other members were corrected as if its p were 1: with its own
    corrected by Bonferroni, 5 % of the list's findings are still expected to be false. It is about these seeds."""
    if math.isnan(p):
        return Verdict.TOO_FEW_GROUPS, p
    corrected = min(1.0, p * n_list)
    return (Verdict.HOLDS_FOR_CHECKPOINT if corrected < ALPHA else Verdict.UNDECIDED), corrected


def can_be_finding(row: Judged) -> bool:
    """Whether any value of this row's number could make it a finding."""
    if row.verdict_alone in _OFF_LIST:
        return False
    if isinstance(row, ClaimResult):  # its p is not corrected, so only too few seeds leave a clear one undecided
        return row.verdict_alone is not Verdict.UNDECIDED or not row.p < ALPHA
    seeds = _seeds(row)
    return seeds is None or seeds >= FEWEST_SEEDS


def p_of(row: Judged) -> float:
    """Of the interval, not corrected."""
    return row.p_interval if isinstance(row, Estimate) else row.p


def p_corrected_from(row: Judged) -> float:
    """Of a row on a list: the p that the correction of the list starts from."""
    return 1.0 if row.verdict_alone in _DECIDED_ALONE else p_of(row)


def _on_list(row: J, p: float | None, primary: bool) -> J:
    alone = row.verdict_alone
    if alone in _OFF_LIST or (alone is Verdict.MIXED and p is None):
        return changed(row, verdict=alone)
    if p is None:
        return changed(row, verdict=Verdict.UNDECIDED if primary else _exploratory(row))
    if alone in _DECIDED_ALONE:
        return changed(row, verdict=alone, p_list=p)
    if p < ALPHA:
        reason = {"reason": Reason.NONE} if isinstance(row, Estimate) else {}
        return changed(row, verdict=_if_clear(row), p_list=p, **reason)
    unclear = changed(row, verdict=_unclear_verdict(row.direction if isinstance(row, ClaimResult) else None), p_list=p)
    missed = isinstance(row, Estimate) and p_of(row) < ALPHA
    return changed(unclear, reason=Reason.NOT_ON_LIST) if missed else unclear


def _if_clear(row: Judged) -> Verdict:
    """Of a row whose p is small enough. A claim's own p is not corrected, so its verdict alone says which way."""
    if isinstance(row, ClaimResult):
        return row.verdict_alone
    return Verdict.HOLDS_FOR_CHECKPOINT if _seeds(row) is None else Verdict.HOLDS


def _exploratory(row: Judged) -> Verdict:
    """By the interval alone, without any correction: of such numbers 5 % exclude their reference by chance."""
    return Verdict.SUGGESTIVE if p_of(row) < ALPHA else Verdict.EXPLORATORY


def _seeds(row: Estimate | Difference | VariantDifference) -> int | None:
    """Behind a family's number, or that of the smaller of two; None where single checkpoints are behind it."""
    if isinstance(row, Difference):
        return None if row.n_seeds_a == row.n_seeds_b == 1 else min(row.n_seeds_a, row.n_seeds_b)
    return None if row.level == "checkpoint" else row.n_seeds


# ---------------------------------------------------------------- two diagnostics, fine-tuned checkpoints


def judge_agreement(difference: float, judgement: Judgement) -> Agreement:
    """Of two diagnostics on one category, by the judgement on their difference."""
    if judgement.verdict in _OFF_LIST:
        return Agreement.UNKNOWN
    if judgement.verdict not in (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT):
        return Agreement.UNDECIDED
    return Agreement.FIRST_ABOVE if difference > 0 else Agreement.FIRST_BELOW


def judge_equality(ps: Sequence[float | None]) -> list[Verdict]:
    """Of fine-tuned checkpoints, by the p of their being equally good, all read together; None where there is none."""
    corrected = benjamini_hochberg(np.array([math.nan if p is None else p for p in ps], dtype=float))
    verdicts = (Verdict.OPPOSITE if p < ALPHA else Verdict.NOT_CONTRADICTED for p in corrected.tolist())
    return [Verdict.NO_INTERVAL if math.isnan(p) else verdict for p, verdict in zip(corrected, verdicts, strict=True)]


# ---------------------------------------------------------------- p-values of a whole family of tests
# NaN is no test, and stays NaN.


def holm(p: np.ndarray) -> np.ndarray:
    """Holm 1979: below α, at most α is the chance of even one false finding among all of them."""
    return _stepwise(p, lambda n: np.arange(n, 0, -1), np.maximum.accumulate)


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Benjamini & Hochberg 1995: taking all below α, about α of those taken are false, for independent tests."""
    return _stepwise(p, lambda n: n / np.arange(1, n + 1), lambda q: np.minimum.accumulate(q[::-1])[::-1])


def _stepwise(
    p: np.ndarray, factors: Callable[[int], np.ndarray], accumulate: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    corrected = np.full(p.shape, np.nan)
    corrected[order] = np.minimum(accumulate(p[order] * factors(len(order))), 1.0) if len(order) else []
    return corrected
