"""The rules of a gate: which number of a run lies on which side of a bound. From a line of text, or a TOML file.

`counteracts: stereotype_margin[knowledge=base] < 0.02`: the probe's label, a measure or a claim, the conditions it is
counted at, `@model` where not every family is meant, an operator and a bound. A bound is a number in the unit of the
run's tables, or `baseline`, `baseline + 0.005`: the same number of another run, with a tolerance.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from trueprobe.errors import BadInput

EACH = "*"  # a condition's value: every one is held to the rule
_BASELINE, _STEP = "baseline", "step"
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s\[\]=,|@:<>"]+')
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BOUND = re.compile(rf"(?P<baseline>{_BASELINE})(?:\s*(?P<sign>[+-])\s*(?P<off>{_NUMBER}))?|(?P<number>{_NUMBER})")


class Operator(StrEnum):
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="

    @property
    def wants_less(self) -> bool:
        """Smaller numbers are the better ones."""
        return self in (Operator.BELOW, Operator.AT_MOST)

    @property
    def strict(self) -> bool:
        """The bound itself is on the wrong side."""
        return self in (Operator.BELOW, Operator.ABOVE)

    @property
    def lenient(self) -> Operator:
        """To the same side, with the bound."""
        return Operator.AT_MOST if self.wants_less else Operator.AT_LEAST


class Undecided(StrEnum):
    """What a gate makes of numbers that neither pass nor fail."""

    FAIL = "fail"
    PASS = "pass"  # what cannot be decided at all still fails
    IGNORE = "ignore"  # that passes too


class NumberKind(StrEnum):
    EITHER = "either"  # a measure, else a claim of that name
    MEASURE = "measure"
    CLAIM = "claim"


@dataclass(frozen=True)
class Bound:
    """A number; of a baseline, how far above it the bound lies."""

    value: float
    of_baseline: bool = False

    def text(self) -> str:
        if not self.of_baseline:
            return _short(self.value)
        return _BASELINE + (f" {'+' if self.value > 0 else '-'} {_short(abs(self.value))}" if self.value else "")


def _short(value: float) -> str:
    return repr(value).removesuffix(".0")


@dataclass(frozen=True)
class Rule:
    probe: str  # its label
    name: str  # of the measure or claim
    operator: Operator
    bound: Bound
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # one of these values; (EACH,) for every one
    model: str = ""  # a family, a checkpoint or a pair of models; empty for every family
    step: int | None = None  # of a family; its last by default
    kind: NumberKind = NumberKind.EITHER

    @property
    def number(self) -> Rule:
        """The rule without its bound: what is held to it."""
        return replace(self, bound=Bound(0.0), operator=self.operator.lenient)

    def text(self) -> str:
        """As `parse` reads it."""
        pairs = (f"{_quoted(key)}={'|'.join(map(_quoted, values))}" for key, values in self.where.items())
        where = f"[{', '.join(pairs)}]" if self.where else ""
        step = f"[{_STEP}={self.step}]" if self.step is not None else ""
        model = f"@{_quoted(self.model)}{step}" if self.model else ""
        return f"{_quoted(self.probe)}: {_quoted(self.name)}{where}{model} {self.operator} {self.bound.text()}"


def _quoted(word: str) -> str:
    return word if _WORD.fullmatch(word) and not word.startswith('"') else json.dumps(word, ensure_ascii=False)


# ---------------------------------------------------------------- a line of text


@dataclass
class _Reader:
    """What of the text is read, and where the reader stands."""

    text: str
    at: int = 0

    def wrong(self, expected: str, at: int | None = None) -> BadInput:
        """With a caret below the character that is wrong."""
        at = self.at if at is None else at
        line, rest = self.text.replace("\n", " "), self.text[at:].split()
        instead = f"not '{rest[0][:40]}'" if rest else "but it ends"
        return BadInput(
            f"rule, character {at + 1}: expected {expected}, {instead}\n  {line}\n  {' ' * at}^\n"
            "  a rule is PROBE: MEASURE[CONDITION=VALUE, …]@MODEL < BOUND"
        )

    def skip(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def takes(self, sign: str) -> bool:
        self.skip()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def needs(self, *signs: str) -> str:
        for sign in signs:
            if self.takes(sign):
                return sign
        raise self.wrong(" or ".join(f"'{sign}'" for sign in signs))

    def word(self, what: str) -> str:
        self.skip()
        match = _WORD.match(self.text, self.at)
        if not match:
            raise self.wrong(what)
        word = match[0]
        if word.startswith('"'):
            try:
                word = json.loads(word, strict=False)
            except ValueError as error:
                raise self.wrong(f"{what} in quotation marks, as in JSON") from error
        self.at = match.end()
        return word


def parse(text: str) -> Rule:
    reader = _Reader(text)
    probe = reader.word("the label of a probe")
    reader.needs(":")
    name = reader.word("a measure or a claim")
    where = dict(_conditions(reader)) if reader.takes("[") else {}
    model = reader.word("a family or a checkpoint") if reader.takes("@") else ""
    step = _step(reader) if model and reader.takes("[") else None
    operator = Operator(reader.needs("<=", ">=", "<", ">"))
    return Rule(probe, name, operator, _bound(reader), where, model, step)


def _conditions(reader: _Reader) -> list[tuple[str, tuple[str, ...]]]:
    pairs: dict[str, tuple[str, ...]] = {}
    while True:
        reader.skip()
        at = reader.at
        key = reader.word("a condition")
        if key in pairs:
            raise reader.wrong(f"'{key}' once", at)
        reader.needs("=")
        values = [reader.word("a value")]
        while reader.takes("|"):
            values.append(reader.word("a value"))
        pairs[key] = tuple(values)
        if reader.needs(",", "]") == "]":
            return list(pairs.items())


def _step(reader: _Reader) -> int:
    reader.needs(_STEP)
    reader.needs("=")
    reader.skip()
    at, word = reader.at, reader.word("a training step")
    if not word.isdecimal():
        raise reader.wrong("a training step", at)
    reader.needs("]")
    return int(word)


def _bound(reader: _Reader) -> Bound:
    reader.skip()
    bound = bound_of(reader.text[reader.at :])
    if bound is None:
        raise reader.wrong(f"a number, or '{_BASELINE}' with '+' or '-' a number")
    return bound


def bound_of(text: str) -> Bound | None:
    """None where it is none."""
    match = _BOUND.fullmatch(text.strip())
    if not match:
        return None
    off = float(match["off"] or 0) * (-1 if match["sign"] == "-" else 1)
    bound = Bound(off + 0.0, True) if match[_BASELINE] else Bound(float(match["number"]))
    return bound if math.isfinite(bound.value) else None


# ---------------------------------------------------------------- a file


def _bound_in_file(value: object) -> Bound:
    """As in a line: a number, or a text."""
    bound = bound_of(str(value))
    if bound is None:
        raise ValueError(f"value is a number or '{_BASELINE} + 0.005', not {value!r}")
    return bound


class RuleEntry(BaseModel):
    """One `[[rule]]` of a file: the parts of a line as keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    probe: str
    measure: str = ""
    claim: str = ""
    where: dict[str, str | int | list[str | int]] = {}
    operator: Literal["<", "<=", ">", ">="]
    value: Annotated[Bound, BeforeValidator(_bound_in_file)]
    model: str = ""
    step: int | None = None

    @model_validator(mode="after")
    def _check(self) -> RuleEntry:
        if bool(self.measure) == bool(self.claim):
            raise ValueError("a rule needs either a measure or a claim")
        if [] in self.where.values():
            raise ValueError("a condition needs at least one value")
        if self.step is not None and not self.model:
            raise ValueError("a step needs a model; name it")
        return self

    def rule(self) -> Rule:
        where = {key: tuple(map(str, v if isinstance(v, list) else [v])) for key, v in self.where.items()}
        kind = NumberKind.CLAIM if self.claim else NumberKind.MEASURE
        name, operator = self.measure or self.claim, Operator(self.operator)
        return Rule(self.probe, name, operator, self.value, where, self.model, self.step, kind)


class RuleFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    undecided: Undecided = Undecided.FAIL
    rule: tuple[RuleEntry, ...]

    @model_validator(mode="after")
    def _check(self) -> RuleFile:
        """Not a field's least length, which counts only the entries that are right."""
        if not self.rule:
            raise ValueError("a file of rules needs at least one [[rule]]")
        return self
