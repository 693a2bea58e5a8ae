"""How much longer a tokenizer may make a text before it cuts it into pieces, by what its tokenizer.json declares.

Six rules that each write a hundred letters for one turn a word into a terabyte. Loading the file is enough, since
tokens that it adds are normalised then, so the declaration is judged before the tokenizer is made. A rule's factor is
the length of what it writes over the least that it replaces; rules of which one can rewrite what the other wrote
multiply:

    a -> bb, b -> ccc, x -> yyyy: 2 * 3 and 4, so at most 6 times as long
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trueprobe.errors import BadInput

MOST_TIMES, MOST_RULES = 100, 2000
_PARTS = (("normalizer", "pre_tokenizer"), ("decoder",))  # that one text passes through
_MANY = 10**12
_LISTS = ("normalizers", "pretokenizers", "decoders")  # of a Sequence
# the most characters that one becomes: U+FDFA in 18, a byte's sign for each byte of UTF-8, spaces around a sign; once
# is what Unicode does to a text, and doing it again changes nothing unless a rule wrote other signs in between
_UNICODE = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Precompiled": 18, "ByteLevel": 4, "BertNormalizer": 3}
_ATOM = r"(?:\\[sSdDwWnrt]|\\[pP]\{\w+\}|\[[^\[\]\\]+\]|[^()\[\]{}|?*+^$\\])(?:\+|\{[1-9]\d*(?:,\d*)?\})?"
_CONSUMING = re.compile(f"(?:{_ATOM})+")  # patterns of which it is plain that no match is empty


@dataclass(frozen=True)
class LengtheningRule:
    times: int
    replaces: frozenset[str] | None  # characters, one of which it needs; None: any
    writes: frozenset[str] | None


def refuse_lengthening(state: dict[str, Any], title: str) -> None:
    """`state`: what tokenizer.json holds."""
    for parts in _PARTS:
        steps = [step for part in parts for step in _steps(state.get(part))]
        if len(steps) > MOST_RULES:
            raise BadInput(
                f"{title}: the {parts[0]} of its tokenizer has {len(steps):,} rules, more than {MOST_RULES:,}"
            )
        if (times := most_times(steps)) > MOST_TIMES:
            raise BadInput(
                f"{title}: the {parts[0]} of its tokenizer may make a text {_times_text(times)} times as long, "
                f"more than {MOST_TIMES} times"
            )


def most_times(steps: list[dict[str, Any]]) -> int:
    """The largest product of rules of which each can rewrite what the one before it wrote."""
    rules, unicode = list[LengtheningRule](), 0
    for step in steps:
        rule = _rule(step, first=not unicode)
        unicode += step.get("type") in _UNICODE
        rules.append(rule)
    reached: list[int] = []  # by the end of each rule
    for i, rule in enumerate(rules):
        before = (many for earlier, many in zip(rules[:i], reached, strict=True) if _feeds(earlier, rule))
        reached.append(min(_MANY, rule.times * max(before, default=1)))
    return max(reached, default=1)


def _steps(part: Any) -> Iterator[dict[str, Any]]:
    """One after the other, out of sequences of sequences."""
    waiting = [part]
    while waiting:
        step = waiting.pop()
        if not isinstance(step, dict):
            continue
        inner = next((step[name] for name in _LISTS if isinstance(step.get(name), list)), None)
        if inner is None:
            yield step
        else:
            waiting += reversed(inner)


def _rule(step: dict[str, Any], first: bool) -> LengtheningRule:
    kind = step.get("type")
    if kind == "Replace":
        return _replacing(step.get("pattern"), str(step.get("content", "")))
    times = 1 if first else _UNICODE.get(str(kind), 1)
    if kind == "Precompiled":
        longest = _longest(str(step.get("precompiled_charsmap") or ""))
        times = longest if longest > _UNICODE["Precompiled"] else times
    return LengtheningRule(times, None, None)


def _replacing(pattern: Any, content: str) -> LengtheningRule:
    text = pattern.get("String") if isinstance(pattern, dict) else None
    if isinstance(text, str) and text:
        return LengtheningRule(max(1, -(-len(content) // len(text))), frozenset(text), frozenset(content))
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    empty = not (isinstance(regex, str) and _CONSUMING.fullmatch(regex))  # a match may be empty: more is written
    return LengtheningRule(max(1, len(content) + empty), None, frozenset(content))


def _feeds(earlier: LengtheningRule, later: LengtheningRule) -> bool:
    return earlier.writes is None or later.replaces is None or not earlier.writes.isdisjoint(later.replaces)


def _longest(charsmap: str) -> int:
    """What SentencePiece writes for one character: a trie, with its size in front, and texts that each end in a
    zero."""
    content = base64.b64decode(charsmap)
    texts = content[4 + int.from_bytes(content[:4], "little") :]
    ends = [-1, *(end.start() for end in re.finditer(b"\0", texts)), len(texts)]
    return max((len(texts[a + 1 : b].decode("utf-8", "replace")) for a, b in pairwise(ends)), default=0)


def _times_text(times: int) -> str:
    return f"{times:,}" if times < _MANY else f"{_MANY:,} or more"
