"""Regular expressions of a tokenizer that could take for ever: judged by their shape, and tried where it is not plain.

The engine that the package tokenizers uses goes back and tries again: (a+)+$ takes twice as long for each more letter.
It gives up after ten million steps, but from every place of a text anew. A pattern is plain where a match from one
place takes at most the square of the text's length: in a sequence at most two repetitions without a small bound, and
nothing with a choice in it is repeated.

    \\p{L}+| ?[^\\s\\p{L}]+[\\r\\n]*     plain
    (?:a|aa)+, (a+)+, .*.*.*x           tried, in a process that is ended when its time is over

A pattern that is tried may still hide from the texts that it is tried with.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trueprobe.errors import BadInput

SECONDS = 10.0  # for all patterns of a tokenizer that are not plain
MOST_TRIED = 50
MOST_REPETITIONS, MOST_CHOICES, FEW = 2, 8, 8
_SENTENCE = 'She opened the door, and 23 people (or more) said: "No!" It\'s naïve\t\n  — '
_IN_CLASS = r"(?:\\.|\[:\^?\w+:\]|[^\[\]\\])"
_ATOM = re.compile(rf"\\[pP]\{{[^}}]*\}}|\\x\{{[^}}]*\}}|\\.|\[{_IN_CLASS}+\]|[^\[\\]", re.DOTALL)
_QUANTIFIER = re.compile(r"[*+?][?+]?|\{(\d*)(,?)(\d*)\}")  # behind braces a + is one more repetition
_GROUP = re.compile(r"\((?:\?(?:[im-]*:|<?[=!]|>|[im-]+\)|<\w+>))?")
_CALL = re.compile(r"\\[gkKRX1-9]|\(\?[^im:<=!>-]|\(\?[im-]*[^im:<=!>)-]")  # what its shape does not show
# patterns, each with its texts; it prints a line for each that is begun
_TRIAL = """
import json, sys
from tokenizers import Regex, pre_tokenizers
for pattern, texts in json.load(sys.stdin):
    print(flush=True)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    for text in texts:
        split.pre_tokenize_str(text)
"""


@dataclass(frozen=True)
class _Cost:
    """Of a match from one place: its repetitions without a small bound, and its places with a choice."""

    repetitions: int = 0
    choices: int = 0

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(self.repetitions + other.repetitions, self.choices + other.choices)

    def or_(self, other: _Cost) -> _Cost:
        return _Cost(max(self.repetitions, other.repetitions), max(self.choices, other.choices))


class _NotPlainError(Exception):
    pass


def refuse_slow_patterns(state: dict[str, Any], title: str) -> None:
    """`state`: what tokenizer.json holds."""
    odd = [pattern for pattern in dict.fromkeys(_patterns(state)) if not is_plain(pattern)]
    if len(odd) > MOST_TRIED:
        raise BadInput(f"{title}: {len(odd)} patterns of its tokenizer may take long; at most {MOST_TRIED} are tried")
    if odd and (slow := _slow(odd)) is not None:
        raise BadInput(
            f"{title}: a pattern of its tokenizer takes more than {SECONDS:g} seconds or ten million steps for a short "
            f"text: {slow[:100]!r}"
        )


def is_plain(pattern: str) -> bool:
    if _CALL.search(pattern):
        return False
    try:
        cost, end = _alternatives(pattern, 0)
    except _NotPlainError:
        return False
    return end == len(pattern) and cost.repetitions <= MOST_REPETITIONS and cost.choices <= MOST_CHOICES


def _patterns(state: Any) -> Iterator[str]:
    waiting = [state.get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]
    while waiting:
        step = waiting.pop()
        if isinstance(step, dict):
            waiting += step.values()
            if isinstance(step.get("Regex"), str):
                yield step["Regex"]
        elif isinstance(step, list):
            waiting += step


def _alternatives(pattern: str, at: int) -> tuple[_Cost, int]:
    """Up to the end of the pattern, or of the group; several count as one more choice."""
    cost, several = _Cost(), False
    while True:
        branch, at = _sequence(pattern, at)
        cost = cost.or_(branch)
        if pattern[at : at + 1] != "|":
            return (cost + _Cost(choices=1) if several and at < len(pattern) else cost), at
        several, at = True, at + 1


def _sequence(pattern: str, at: int) -> tuple[_Cost, int]:
    cost = _Cost()
    while at < len(pattern) and pattern[at] not in "|)":
        if pattern[at] == "(":
            opening = _GROUP.match(pattern, at)
            at = opening.end() if opening else at + 1
            if opening and opening[0].endswith(")"):  # (?i) alone
                continue
            inner, at = _alternatives(pattern, at)
            if pattern[at : at + 1] != ")":
                raise _NotPlainError
            at += 1
        else:
            atom = _ATOM.match(pattern, at)
            if atom is None:  # a class within a class
                raise _NotPlainError
            inner, at = _Cost(), atom.end()
        while quantifier := _QUANTIFIER.match(pattern, at):
            inner, at = _repeated(inner, quantifier), quantifier.end()
        cost += inner
    return cost, at


def _repeated(inner: _Cost, quantifier: re.Match[str]) -> _Cost:
    low, comma, high = quantifier.groups()
    if quantifier[0][0] == "?":
        return inner + _Cost(choices=1)
    least, most = int(low or 0), int(high or (low if low and not comma else 10**6) or 0)
    if quantifier[0][0] in "*+" or most > FEW:
        if inner != _Cost():
            raise _NotPlainError
        return _Cost(repetitions=1)
    return _Cost(inner.repetitions * most, inner.choices * most + (most - least))


def _slow(patterns: list[str]) -> str | None:
    """The first that does not come to an end."""
    tried = json.dumps([(pattern, list(_texts(pattern))) for pattern in patterns])
    command = [sys.executable, "-I", "-c", _TRIAL]
    try:
        done = subprocess.run(command, input=tried.encode(), capture_output=True, timeout=SECONDS, check=False)
        begun = done.stdout if done.returncode else None
    except subprocess.TimeoutExpired as late:
        begun = late.stdout or b"\n"
    return None if begun is None else patterns[max(0, begun.count(b"\n") - 1)]


def _texts(pattern: str) -> Iterator[str]:
    """Sentences, and what the pattern itself names, each of them many times with another end."""
    literal = re.findall(r"\w{1,20}", re.sub(r"\\.|\{[^}]*\}", " ", pattern))
    units = dict.fromkeys(["a", "ab", "A", "1", " ", "\n", "=", "-", "é", *literal, *(text[0] for text in literal)])
    yield _SENTENCE * 4
    for unit in list(units)[:50]:
        yield unit * 40
        yield unit * (200 // len(unit) + 1) + "\x00!"
        yield unit + _SENTENCE * 2
