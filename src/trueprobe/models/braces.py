"""Brace ranges in a SPEC, as shells write them: `seed_{0..4}`, `step{1000,2000}`, `checkpoint-{500..2000..500}`."""

from __future__ import annotations

import re

from trueprobe.errors import BadInput

_BRACES = re.compile(r"\{(?:(\d+)\.\.(\d+)(?:\.\.(\d+))?|([^{}]*,[^{}]*))\}")
MOST = 10_000  # members


def listed(pattern: str) -> list[str]:
    """Split at the commas outside braces, and each part with its braces written out.

    `a{0..1},b` -> [`a0`, `a1`, `b`]"""
    return [one for part in re.split(r",(?![^{}]*\})", pattern) for one in expanded(part.strip())]


def expanded(pattern: str) -> list[str]:
    """Every combination, the last braces first to change; a range keeps the width of its first number: {08..10}."""
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    values = match[4].split(",") if match[4] is not None else _range(pattern, *match.groups()[:3])
    behind = expanded(pattern[match.end() :])
    if len(values) * len(behind) > MOST:
        raise BadInput(f"'{pattern}' names more than {MOST:,} checkpoints")
    return [pattern[: match.start()] + value.strip() + rest for value in values for rest in behind]


def _range(pattern: str, first: str, last: str, by: str | None) -> list[str]:
    """Both ends included, downwards too."""
    start, stop, step = int(first), int(last), int(by or 1)
    if step < 1 or abs(stop - start) // step >= MOST:
        raise BadInput(f"'{pattern}': a range goes by 1 or more and has at most {MOST:,} values")
    numbers = range(start, stop + 1, step) if start <= stop else range(start, stop - 1, -step)
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}d}" for number in numbers]
