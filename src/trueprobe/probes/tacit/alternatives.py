"""The alternatives of a CSLB property, and how many people gave each: the norms join what people wrote under one label.

norms.dat names the people. Its column `participant list` has one group of participant numbers per alternative, in the
order of the alternatives:

    is loud; does make a loud noise; is noisy      p 1 4 9 / 2 6 / 4      3, 2 and 1 people

Participant 4 gave two of them, so the label's total (pf) can be smaller than the sum. Numbers identify people across
all labels of a concept. Files without that column may state numbers, `is loud (16); is noisy (1)`, or have an entry for
each person. Otherwise only the label's total is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Participants = frozenset[int]

_NUMBER = "[0-9]{1,9}"
_STATED = re.compile(  # is loud (16)
    rf"(?P<text>.+?) *(\((?P<round>{_NUMBER})\)|\[(?P<square>{_NUMBER})\]|: *(?P<plain>{_NUMBER}))"
)


@dataclass(frozen=True, slots=True)
class Alternatives:
    texts: tuple[str, ...]  # each once, in the order of the file
    people: Mapping[str, int] = field(default_factory=dict)  # how many gave each; empty: not known
    participants: Mapping[str, Participants] = field(default_factory=dict)  # who gave each; empty: not named
    uses_total: bool = False  # the label's total stands for numbers that are missing or do not match

    def who_gave(self, texts: Iterable[str]) -> Participants:
        return Participants().union(*(self.participants[text] for text in texts))

    def how_many_gave(self, texts: Iterable[str]) -> int:
        """Distinct people; where nobody is named, the sum."""
        return len(self.who_gave(texts)) if self.participants else sum(self.people[text] for text in texts)


def read(cell: str, label: str, total: float, participant_list: str | None) -> Alternatives:
    """`participant_list`: the row's cell, with single spaces; None where the file has no such column."""
    entries = [entry for entry in map(_texts_and_numbers, cell.split(";")) if entry]
    unlisted = re.sub(r"(\w)_\w+", r"\1", label)  # is found in forests_woods: the first of the two
    if participant_list is not None:
        texts = [[text for text, _ in entry] for entry in entries]
        return _by_participants(texts or [[unlisted]], _groups(participant_list))
    pairs = [pair for entry in entries for pair in entry]
    return _by_numbers(pairs, total) if pairs else Alternatives((unlisted,))


def _by_participants(entries: Sequence[Sequence[str]], groups: Sequence[Participants]) -> Alternatives:
    """An entry that a comma parts has one group, which gave all its parts."""
    texts = tuple(dict.fromkeys(text for entry in entries for text in entry))
    if len(groups) != len(entries):
        return Alternatives(texts, uses_total=True)
    who = dict.fromkeys(texts, Participants())
    for entry, group in zip(entries, groups, strict=True):
        who |= {text: who[text] | group for text in entry}
    return Alternatives(texts, {text: len(group) for text, group in who.items()}, who)


def _by_numbers(pairs: Sequence[tuple[str, int | None]], total: float) -> Alternatives:
    """Numbers that are stated, or an entry for each of `total` people."""
    people: Counter[str] = Counter()
    for text, number in pairs:
        people[text] += 1 if number is None else number
    stated = any(number is not None for _, number in pairs)
    if stated or people.total() >= total:
        return Alternatives(tuple(people), people)
    return Alternatives(tuple(people), uses_total=len(people) > 1)


def _texts_and_numbers(entry: str) -> list[tuple[str, int | None]]:
    """is loud (16) → ("is loud", 16); usually one, but commas and | separate too."""
    pairs: list[tuple[str, int | None]] = []
    for part in filter(None, re.split(r"\s*[|,]\s*", entry.strip())):
        match = _STATED.fullmatch(part)
        number = match and (match["round"] or match["square"] or match["plain"])
        pairs.append((match["text"], int(number)) if match and number else (part, None))
    return pairs


def _groups(participant_list: str) -> list[Participants]:
    """p 1 4 9 / 2 6 → {1, 4, 9} and {2, 6}; none where a group is empty or has anything but numbers."""
    groups = [group.split() for group in participant_list.removeprefix("p ").split("/")]
    readable = all(groups) and all(re.fullmatch(_NUMBER, number) for group in groups for number in group)
    return [frozenset(map(int, group)) for group in groups] if readable else []
