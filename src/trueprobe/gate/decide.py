"""A run held to rules: every number passes, fails, or stays undecided, by its 95 % interval and not by its value.

A number passes where its whole interval lies on the right side of the bound, fails where the whole of it lies on the
wrong side, and is undecided otherwise. A number that decides nothing (gate, coverage, nothing scored, no interval)
cannot be decided. Against a baseline the interval is that of the difference: paired by item where both runs asked the
same; else from the two intervals (Zou & Donner 2008, "MOVER"), which takes them as independent and so is the wider one
where the same items are behind both.

Intervals are not corrected for the number of rules. A gate passes only where all numbers pass, so the chance that it
passes a number on the wrong side stays at most 2.5 %, however many rules there are (Berger 1982); the chance that any
of many numbers fails by bad luck grows with their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from trueprobe.errors import BadInput
from trueprobe.gate.rules import EACH, Bound, Operator, Rule, Undecided
from trueprobe.gate.targets import Row, Target, targets
from trueprobe.results.view import ReportSource, counted
from trueprobe.runs import signature
from trueprobe.runs.folder import Run
from trueprobe.statistics.rows import Estimate
from trueprobe.types import Card, Conditions, Verdict

_NO_DIFFERENCE = (Verdict.NOTHING_SCORED, Verdict.LOW_COVERAGE, Verdict.TOO_FEW_GROUPS)  # of two sides together


class Obstacle(StrEnum):
    """Why a number cannot be decided."""

    NONE = ""
    NO_VERDICT = "no_verdict"  # its verdict says why
    NOT_COUNTED = "not_counted"  # the measure is not counted for this model
    NO_VERDICT_IN_BASELINE = "no_verdict_in_baseline"  # the verdict is the baseline's
    NOT_IN_BASELINE = "not_in_baseline"
    NO_VERDICT_TOGETHER = "no_verdict_together"  # the verdict is of the difference, on the items both scored


class Pairing(StrEnum):
    """How a difference from the baseline was made."""

    NONE = ""  # the number itself is held to the rule
    SAME_WEIGHTS = "same_weights"  # and the same number: there is no difference
    BY_ITEM = "by_item"
    INTERVALS = "intervals"  # of two independent numbers


@dataclass(frozen=True)
class Amount:
    """What is held against the bound: a number, or how far it lies above the baseline's."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict | None = None  # of a number that decides nothing
    obstacle: Obstacle = Obstacle.NONE
    pairing: Pairing = Pairing.NONE
    unequal: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # parts of the two signatures, where allowed

    @classmethod
    def of(cls, row: Row) -> Amount:
        inconclusive = row.verdict.inconclusive or math.isnan(row.low) or math.isnan(row.high)
        why = (row.verdict, Obstacle.NO_VERDICT) if inconclusive else (None, Obstacle.NONE)
        return cls(row.value, row.low, row.high, *why)


def counterpart(source: ReportSource, before: ReportSource, rule: Rule, target: Target) -> Target:
    """The model of the same name; else, of two runs with one family each, the other one."""
    alone = [one.families[0].name for one in (source, before) if len(one.families) == 1]
    theirs = {*(family.name for family in before.families), *(card.name for card in before.run.cards)}
    if len(alone) == 2 and target.name == alone[0] and target.name not in theirs:
        return targets(before, replace(rule, model=alone[1], step=None))[0]
    return targets(before, replace(rule, model=target.name))[0]


@dataclass(frozen=True)
class ComparedNumber:
    """One of two numbers that are compared."""

    source: ReportSource
    target: Target
    row: Row

    @property
    def cards(self) -> tuple[Card, ...]:
        """The checkpoints that the number is counted from; of a pair of models, all of the run."""
        family = self.target.family
        if family is None:
            return tuple(self.source.run.cards)
        if not isinstance(self.row, Estimate) or family.n_seeds == 1:
            return family.checkpoints
        names = {row.model for row in counted(family.seed_rows(_alike(self.source, self.row)))}
        return tuple(card for card in family.checkpoints if card.name in names)

    @property
    def weights(self) -> list[tuple[str, str]]:
        return sorted((card.compute_id, card.start_text) for card in self.cards)

    @property
    def asked(self) -> list[tuple[object, ...]]:
        """What was asked: items are the same where this is."""
        entries = [entry for entry in self.source.run.manifest.study.probes if entry.label == self.row.probe]
        return [(entry.name, entry.settings, entry.material_id) for entry in entries]

    @property
    def kinds(self) -> set[str]:
        """Of model that were asked."""
        return {card.kind for card in self.cards}


def _alike(source: ReportSource, row: Estimate) -> list[Estimate]:
    same = (row.measure, row.conditions)
    return [one for one in source.estimates(row.probe) if (one.measure, one.conditions) == same]


def unequal(one: ComparedNumber, other: ComparedNumber) -> dict[str, tuple[str, str]]:
    """In what the two numbers were made otherwise; without signatures, as the manifests have it."""
    if one.row.signature and other.row.signature:
        ignored = signature.of_the_models(one.cards, other.cards)
        return signature.differing(one.row.signature, other.row.signature, ignored)
    return {} if one.asked == other.asked else {"settings or material": ("these", "others")}


def difference(one: ComparedNumber, before: ReportSource, theirs: Target, allow_unequal: bool = False) -> Amount:
    """The number minus that of the baseline; refused where they were made otherwise, unless the user allows it."""
    rows = [row for row in theirs.rows if row.conditions == one.row.conditions and isinstance(row, type(one.row))]
    this = Amount.of(one.row)
    if this.obstacle is not Obstacle.NONE:
        return Amount(verdict=this.verdict, obstacle=this.obstacle)
    if not rows:
        return Amount(obstacle=Obstacle.NOT_IN_BASELINE)
    other, that = ComparedNumber(before, theirs, rows[0]), Amount.of(rows[0])
    if that.obstacle is not Obstacle.NONE:
        return Amount(verdict=that.verdict, obstacle=Obstacle.NO_VERDICT_IN_BASELINE)
    differences = unequal(one, other)
    if differences and not allow_unequal:
        raise BadInput(
            f"{one.row.probe} of {one.target.name} and of the baseline have different signatures "
            f"({signature.described(differences)}); run the baseline again, or compare them with --allow-unequal"
        )
    return replace(_difference(one, other, this, that), unequal=differences)


def _difference(one: ComparedNumber, other: ComparedNumber, this: Amount, that: Amount) -> Amount:
    if one.row.value == other.row.value and one.weights == other.weights:
        return Amount(0.0, 0.0, 0.0, pairing=Pairing.SAME_WEIGHTS)
    if isinstance(one.row, Estimate) and one.asked == other.asked and one.kinds == other.kinds:
        return _by_item(one, other, one.row)
    return apart(this, that)


def _by_item(one: ComparedNumber, other: ComparedNumber, row: Estimate) -> Amount:
    from trueprobe.runs.compare import between_runs  # statistics, which a gate without a baseline does not need

    wanted = [(row.measure, dict(row.conditions))]
    (made,) = between_runs(one.source.run, other.source.run, row.probe, (one.cards, other.cards), wanted)
    inconclusive = made.verdict in _NO_DIFFERENCE or math.isnan(made.low)
    if inconclusive:
        return Amount(verdict=made.verdict, obstacle=Obstacle.NO_VERDICT_TOGETHER)
    return Amount(made.difference, made.low, made.high, pairing=Pairing.BY_ITEM)


def apart(one: Amount, other: Amount) -> Amount:
    """The difference of two independent numbers, from their intervals (Zou & Donner 2008)."""
    value = one.value - other.value
    low = value - math.hypot(one.value - one.low, other.high - other.value)
    high = value + math.hypot(one.high - one.value, other.value - other.low)
    return Amount(value, low, high, pairing=Pairing.INTERVALS)


# ---------------------------------------------------------------- every rule, for every model


class Decision(StrEnum):
    PASSES = "passes"
    FAILS = "fails"
    UNDECIDED = "undecided"
    CANNOT = "cannot_be_decided"


@dataclass(frozen=True)
class RuleCheck:
    """One number of one model, held to one rule."""

    rule: Rule
    model: str
    conditions: Conditions
    amount: Amount
    unit: str = ""
    n_seeds: int = 1
    signature: str = ""

    @property
    def named_rule(self) -> Rule:
        """The rule with the conditions of this number alone, where it names several."""
        where = {key: (self.conditions.get(key, EACH),) for key in self.rule.where}
        return replace(self.rule, where=where, model="", step=None)

    @property
    def decision(self) -> Decision:
        if self.amount.obstacle is not Obstacle.NONE:
            return Decision.CANNOT
        return decide(self.rule.operator, self.rule.bound.value, self.amount.low, self.amount.high)


def decide(operator: Operator, bound: float, low: float, high: float) -> Decision:
    """By the whole interval; a bound that is an end of it is on the right side unless the operator is strict."""
    best, worst, line = (low, high, bound) if operator.wants_less else (-high, -low, -bound)
    if worst < line or (worst == line and not operator.strict):
        return Decision.PASSES
    if best > line or (best == line and operator.strict):
        return Decision.FAILS
    return Decision.UNDECIDED


@dataclass(frozen=True)
class GateResult:
    """All checks of a run, and what they come to."""

    checks: tuple[RuleCheck, ...]
    undecided: Undecided
    folder: str
    baseline: str = ""

    @property
    def passes(self) -> bool:
        return all(self.lets_pass(check.decision) for check in self.checks)

    def lets_pass(self, decision: Decision) -> bool:
        if decision is Decision.UNDECIDED:
            return self.undecided is not Undecided.FAIL
        return decision is Decision.PASSES or (decision is Decision.CANNOT and self.undecided is Undecided.IGNORE)

    @property
    def counts(self) -> dict[Decision, int]:
        """How many numbers have each decision."""
        return {decision: sum(check.decision is decision for check in self.checks) for decision in Decision}


def gate(
    run: Run,
    rules: Sequence[Rule],
    undecided: Undecided = Undecided.FAIL,
    baseline: Run | None = None,
    allow_unequal: bool = False,
) -> GateResult:
    """Every rule, for every model it is about. With a baseline no number of a rule may have got worse either; numbers
    whose signatures differ are held against each other only where the user allows it."""
    if not rules:
        raise BadInput("a gate needs a rule: --rule 'PROBE: MEASURE < 0.02' or --rules FILE")
    for one in filter(None, (run, baseline)):
        one.refuse_unfinished("before a gate reads it")
    source, before = ReportSource(run), ReportSource(baseline) if baseline else None
    relative = relative_rules(rules, before is not None)
    if relative and before is None:
        raise BadInput(f"'{relative[0].text()}' needs a baseline: --against RUN")
    checks = [check for rule in rules if not rule.bound.of_baseline for check in _checks(source, rule)]
    checks += [check for rule in relative for check in _checks(source, rule, before, allow_unequal)]
    return GateResult(tuple(checks), undecided, str(run.folder), str(baseline.folder) if baseline else "")


def relative_rules(rules: Sequence[Rule], against: bool) -> list[Rule]:
    """Those that name the baseline; against one, the numbers of all other rules may not have got worse at all."""
    named = [rule for rule in rules if rule.bound.of_baseline]
    if not against:
        return named
    held = {rule.number.text() for rule in named}
    implied = {rule.number.text(): rule.number for rule in rules if not rule.bound.of_baseline}
    not_worse = Bound(0.0, of_baseline=True)
    return [*named, *(replace(rule, bound=not_worse) for number, rule in implied.items() if number not in held)]


def _checks(
    source: ReportSource, rule: Rule, before: ReportSource | None = None, allow_unequal: bool = False
) -> Iterator[RuleCheck]:
    """Of every model that the rule is about: its numbers, or how far each lies above that of the run `before`."""
    for target in targets(source, rule):
        if not target.rows:
            where = {key: values[0] for key, values in rule.where.items() if len(values) == 1}
            yield RuleCheck(rule, target.name, where, Amount(obstacle=Obstacle.NOT_COUNTED))
        other = counterpart(source, before, rule, target) if before and target.rows else None
        for row in target.rows:
            amount = Amount.of(row)
            if before and other:
                amount = difference(ComparedNumber(source, target, row), before, other, allow_unequal)
            yield RuleCheck(rule, target.name, row.conditions, amount, row.unit, row.n_seeds, row.signature)
