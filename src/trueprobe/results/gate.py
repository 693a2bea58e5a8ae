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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trueprobe.errors import BadInput
from trueprobe.results.amounts import Amount, Obstacle, Side, counterpart, difference
from trueprobe.results.rules import EACH, Bound, Operator, Rule
from trueprobe.results.source import Source
from trueprobe.results.targets import targets
from trueprobe.runs.folder import Run
from trueprobe.types import Conditions, Undecided


class Decision(StrEnum):
    PASSES = "passes"
    FAILS = "fails"
    UNDECIDED = "undecided"
    CANNOT = "cannot_be_decided"


@dataclass(frozen=True)
class Check:
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
class Gate:
    """All checks of a run, and what they come to."""

    checks: tuple[Check, ...]
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
) -> Gate:
    """Every rule, for every model it is about. With a baseline no number of a rule may have got worse either; numbers
    whose signatures differ are held against each other only where the user allows it."""
    if not rules:
        raise BadInput("a gate needs a rule: --rule 'PROBE: MEASURE < 0.02' or --rules FILE")
    for one in filter(None, (run, baseline)):
        if not one.complete:
            raise BadInput(f"{one.folder} is not finished; run it again into the same folder before a gate reads it")
    source, before = Source(run), Source(baseline) if baseline else None
    checks = [check for rule in rules if not rule.bound.of_baseline for check in _checks(source, rule)]
    relative = relative_rules(rules, before is not None)
    if relative and before is None:
        raise BadInput(f"'{relative[0].text()}' needs a baseline: --against RUN")
    if before is not None:
        checks += [check for rule in relative for check in _relative_checks(source, before, rule, allow_unequal)]
    return Gate(tuple(checks), undecided, str(run.folder), str(baseline.folder) if baseline else "")


def relative_rules(rules: Sequence[Rule], against: bool) -> list[Rule]:
    """Those that name the baseline; against one, the numbers of all other rules may not have got worse at all."""
    named = [rule for rule in rules if rule.bound.of_baseline]
    if not against:
        return named
    held = {rule.number.text() for rule in named}
    implied = {rule.number.text(): rule for rule in rules if not rule.bound.of_baseline}
    return [*named, *(_not_worse(rule) for number, rule in implied.items() if number not in held)]


def _not_worse(rule: Rule) -> Rule:
    return replace(rule, operator=rule.operator.lenient, bound=Bound(0.0, of_baseline=True))


def _checks(source: Source, rule: Rule) -> Iterator[Check]:
    for target in targets(source, rule):
        if not target.rows:
            yield _without_number(rule, target.name)
        for row in target.rows:
            yield Check(rule, target.name, row.conditions, Amount.of(row), row.unit, row.n_seeds, row.signature)


def _without_number(rule: Rule, model: str) -> Check:
    where = {key: values[0] for key, values in rule.where.items() if len(values) == 1}
    return Check(rule, model, where, Amount(obstacle=Obstacle.NOT_COUNTED))


def _relative_checks(source: Source, before: Source, rule: Rule, allow_unequal: bool) -> Iterator[Check]:
    for target in targets(source, rule):
        if not target.rows:
            yield _without_number(rule, target.name)
            continue
        other = counterpart(source, before, rule, target)
        for row in target.rows:
            amount = difference(Side(source, target, row), before, other, allow_unequal)
            yield Check(rule, target.name, row.conditions, amount, row.unit, row.n_seeds, row.signature)
