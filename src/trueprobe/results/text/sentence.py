"""A finding as a sentence, by the template that its probe declares for it: who, and the number with its interval.

{models} {prefers|prefer} the stereotype in {value} of pairs
mini prefers the stereotype in 68 % of pairs [60, 75]       one model: its interval is at the end
a and b prefer the stereotype in 61 % to 68 % of pairs      several: from the least to the most
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trueprobe.results.numbers import NumberFormat, several
from trueprobe.results.text.findings import listed

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.number import Finding, Number

MOST_NAMED = 3  # models in a sentence
MOST_STATED = 22  # words of a statement
_FIELD = re.compile(r"{([^{}]*)}")


def sentence(finding: Finding, families: int) -> str:
    """Without a template, its statement with who and the numbers; `families`: of the run."""
    template = finding.templates[all(map(finding.on_lower_side, finding.numbers))]
    if not template:
        return f"{cut(finding.statement, MOST_STATED)}, {with_number(finding.numbers, families)}"
    numbers, plural = finding.numbers, len(finding.numbers) > 1
    interval = ""

    def field(match: re.Match[str]) -> str:
        nonlocal interval
        name = match[1]
        if "|" in name:
            return name.split("|")[plural]
        if name == "models":
            return who(numbers, families)
        text, interval = _value(numbers) if name == "value" else _distance(numbers)
        return text

    return f"{_FIELD.sub(field, template)} {interval}".rstrip()


def who(numbers: Sequence[Number], families: int) -> str:
    """`a, b and c`, `all 8 models`, `5 of 8 models`."""
    names = list(dict.fromkeys(n.model for n in numbers))
    if len(names) <= MOST_NAMED:
        return listed(names)
    if any(n.level == "pair" for n in numbers):
        return several(len(names), "pair") + " of models"
    return f"all {families} models" if len(names) == families else f"{len(names)} of {families} models"


def with_number(numbers: Sequence[Number], families: int) -> str:
    """`mini −16.2 points [−22.3, −10.5]`."""
    return " ".join(filter(None, (who(numbers, families), *_value(numbers))))


def cut(text: str, most: int) -> str:
    """Before what stands in brackets at its end, else at a word."""
    text = text if len(text.split()) <= most else text.partition(" (")[0]
    words = text.split()
    return text if len(words) <= most else f"{' '.join(words[: most - 1])} …"


def _value(numbers: Sequence[Number]) -> tuple[str, str]:
    """The number with its unit, and its interval."""
    return _range(numbers[0].format, [(n.value, *n.interval) for n in numbers])


def _distance(numbers: Sequence[Number]) -> tuple[str, str]:
    """How far it is from neutral, on the side of the first; the interval is turned with it."""
    form = replace(numbers[0].format, signed=False)
    form = replace(form, suffix=" points") if form.factor == 100 else form
    turned = -1 if numbers[0].value < (numbers[0].neutral or 0.0) else 1
    return _range(form, [_turned(n, turned) for n in numbers])


def _turned(n: Number, by: int) -> tuple[float, float, float]:
    value, low, high = (by * (end - (n.neutral or 0.0)) for end in (n.value, *n.interval))
    return (value, low, high) if by > 0 else (value, high, low)


def _range(form: NumberFormat, values: Sequence[tuple[float, float, float]]) -> tuple[str, str]:
    if len(values) == 1:
        ((value, low, high),) = values
        number, interval = form.parts(value, low, high)
        return number + form.suffix, interval
    ends = dict.fromkeys(form.plain(end(value for value, *_ in values)) for end in (min, max))
    return " to ".join(ends) + form.suffix, ""
