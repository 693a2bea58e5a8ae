"""Which numbers of a run a rule is about: of which models, at which conditions.

Families have the family's numbers at their last training step, single checkpoints those of the checkpoint. A condition
that a rule does not name is where the probe's summary has it, else pooled; what is still several numbers is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trueprobe.errors import BadInput, nearest
from trueprobe.gate.rules import EACH, Bound, NumberKind, Rule
from trueprobe.probes.display import Where
from trueprobe.results.numbers import bounds
from trueprobe.results.view import ReportSource, grouped
from trueprobe.results.view import where as rows_where
from trueprobe.runs.families import Family
from trueprobe.statistics.rows import ClaimResult, Estimate

Row = Estimate | ClaimResult
_POOLED = "all"  # a condition's value in the row over all its values


@dataclass(frozen=True)
class Target:
    """A model that a rule is about, with the rows of the number; a pair of models is no family."""

    name: str
    rows: tuple[Row, ...]
    family: Family | None = None


def targets(source: ReportSource, rule: Rule) -> list[Target]:
    """The models that a rule is about, each with the rows that it chooses."""
    rows = _candidates(source, rule)
    models = _models(source, rule, rows)
    fixed = source.declaration(rule.probe).summary.where if rule.probe in source.labels else {}
    of_models = [row for model in models for row in model.rows]
    chosen = {id(row) for row in _selected(source, rule, of_models or rows, fixed)}
    made = [replace(model, rows=tuple(row for row in model.rows if id(row) in chosen)) for model in models]
    for model in made:
        _refuse_several(rule, model.rows)
        _refuse_out_of_reach(rule, model.rows)
    return made


def _candidates(source: ReportSource, rule: Rule) -> Sequence[Row]:
    """The rows of the measure, or else of the claim, at whatever conditions."""
    claims = [claim for claim in source.claims if claim.probe == rule.probe]
    probes = list(dict.fromkeys((*source.labels, *(claim.probe for claim in source.claims))))
    if rule.probe not in probes:
        raise _unknown(source, rule, "probe", rule.probe, probes)
    by_claim = grouped(claims, lambda claim: claim.claim)
    by_measure = grouped(source.estimates(rule.probe), lambda row: row.measure)
    named: dict[str, Sequence[Row]] = {}
    if rule.kind is not NumberKind.MEASURE:
        named.update(by_claim)
    if rule.kind is not NumberKind.CLAIM:
        named.update(by_measure)
    if rule.name not in named:
        what = "measure or claim" if rule.kind is NumberKind.EITHER else rule.kind.value
        raise _unknown(source, rule, what, rule.name, list(named))
    return named[rule.name]


def _unknown(source: ReportSource, rule: Rule, what: str, wrong: str, right: Sequence[str]) -> BadInput:
    return BadInput(f"rule '{rule.text()}': {source.run.folder} has no {what} '{wrong}'{nearest(wrong, right)}")


def _models(source: ReportSource, rule: Rule, rows: Sequence[Row]) -> list[Target]:
    """The one that is named; else every family, or every pair where the number is of pairs alone."""
    families = {family.name: _target(family, rows) for family in source.families}
    names = dict.fromkeys(row.model for row in _of_pair(rows))
    pairs = {name: Target(name, _of_pair(rows, name)) for name in names}
    if not rule.model:
        return list((pairs if rows and len(_of_pair(rows)) == len(rows) else families).values())
    single = {card.name: _target(Family(card.name, (card,)), rows) for card in source.run.cards}
    every = {**single, **pairs, **families}
    if rule.model not in every:
        raise _unknown(source, rule, "model", rule.model, list(every))
    return [_at_step(source, rule, every[rule.model], rows)]


def _target(family: Family, rows: Sequence[Row]) -> Target:
    return Target(family.name, tuple(family.rows(rows)), family)


def _of_pair(rows: Sequence[Row], name: str = "") -> tuple[Row, ...]:
    return tuple(row for row in rows if row.level == "pair" and row.model == (name or row.model))


def _at_step(source: ReportSource, rule: Rule, target: Target, rows: Sequence[Row]) -> Target:
    if rule.step is None or target.family is None:
        return target
    cards = tuple(card for card in target.family.cards if card.labels.get("step") == rule.step)
    if not cards:
        raise _unknown(source, rule, f"step of {target.name}", str(rule.step), list(map(str, target.family.steps)))
    return _target(Family(target.name, cards), rows)


def _selected(source: ReportSource, rule: Rule, rows: Sequence[Row], fixed: Where) -> list[Row]:
    """The rows at the rule's conditions. A condition that it does not name is where the probe's summary has it, else
    pooled."""
    values = _values(rows)
    for key, wanted in rule.where.items():
        if key not in values:
            raise _unknown(source, rule, "condition", key, list(values))
        for one in wanted:
            if one not in (EACH, *values[key]):
                raise _unknown(source, rule, f"value of {key}", one, [v for v in values[key] if v is not None])
    named = {key: tuple(v for v in values[key] if v) if EACH in v else v for key, v in rule.where.items()}
    chosen = rows_where(rows, named)
    if not chosen:
        raise BadInput(f"rule '{rule.text()}': {source.run.folder} has no number at these conditions")
    for key in values:
        chosen = chosen if key in named else _usual(chosen, key, fixed.get(key))
    return chosen


def _values(rows: Sequence[Row]) -> dict[str, list[str | None]]:
    """Of each condition those that occur; None where a row has no such condition."""
    keys = dict.fromkeys(key for row in rows for key in row.conditions)
    return {key: list(dict.fromkeys(row.conditions.get(key) for row in rows)) for key in keys}


def _usual(rows: list[Row], key: str, fixed: str | tuple[str, ...] | None) -> list[Row]:
    """All rows where there is no usual value."""
    present = {row.conditions.get(key) for row in rows}
    usual = next((value for value in (fixed, _POOLED, None) if value in present), EACH)
    return rows if usual == EACH else [row for row in rows if row.conditions.get(key) == usual]


def _refuse_several(rule: Rule, rows: Sequence[Row]) -> None:
    """A rule must not mean more numbers than it names."""
    for key, values in _values(rows).items():
        if key not in rule.where and len(values) > 1:
            choice = ", ".join(str(value) for value in values)
            raise BadInput(
                f"rule '{rule.text()}' matches several numbers: {key} is {choice}; name one as [{key}={values[0]}], "
                f"or all as [{key}={EACH}]"
            )


def _refuse_out_of_reach(rule: Rule, rows: Sequence[Row]) -> None:
    """A bound that no share can cross, as a percentage is, decides nothing: the rule would always pass, or never."""
    for row in rows:
        if row.unit not in ("share", "probability"):
            continue
        least, most = bounds(row.unit, row.neutral if isinstance(row, Estimate) else 0.0)  # a claim may be a difference
        if rule.bound.of_baseline:
            least, most = least - most, most - least
        if not least <= rule.bound.value <= most:
            meant = Bound(rule.bound.value / 100, rule.bound.of_baseline)
            advice = f": did you mean {meant.text()}?" if least <= meant.value <= most else ""
            what = "the difference from a baseline" if rule.bound.of_baseline else f"a {row.unit}"
            raise BadInput(f"rule '{rule.text()}': {what} is between {least:g} and {most:g}{advice}")
