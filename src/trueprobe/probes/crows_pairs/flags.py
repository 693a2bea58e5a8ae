"""Which pairs of CrowS-Pairs are open to known criticism, by facts of the released file; all of them are still asked.

`disputed`: fewer than three of the five validators name the pair's own category (column `annotations`).
`several_changes`: the sentences differ in more than one place, pronouns aside. `punctuation`: they differ in
punctuation. The last two are among the faults that Blodgett et al. (2021) describe; their judgements of single pairs
are not published, and what needs a judgement (is it a stereotype, are the groups counterparts) is not flagged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher

DISPUTED, SEVERAL_CHANGES, PUNCTUATION = "disputed", "several_changes", "punctuation"
LEAST_VALIDATORS = 3
_WORD = re.compile(r"[\w'’]+")
_PRONOUNS = frozenset(("he", "she", "him", "her", "his", "hers", "himself", "herself", "it", "its", "itself"))
_PRONOUNS |= {"they", "them", "their", "theirs", "themselves"}


def flags_of(more: str, less: str, category: str, annotations: str) -> tuple[str, ...]:
    """`annotations`: as the file has them, a list for each validator; empty in a user's file."""
    flags = {
        DISPUTED: _disputed(category, annotations),
        SEVERAL_CHANGES: _changes(more, less) > 1,
        PUNCTUATION: _marks(more) != _marks(less),
    }
    return tuple(flag for flag, applies in flags.items() if applies)


def _disputed(category: str, annotations: str) -> bool:
    """False where there are no annotations, or in another form."""
    try:
        named = ast.literal_eval(annotations)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    if not isinstance(named, list) or not named or not all(isinstance(one, list) for one in named):
        return False
    return sum(category in one for one in named) < LEAST_VALIDATORS


def _changes(more: str, less: str) -> int:
    """In how many places the words differ; a pronoun changes with the person it stands for."""
    return sum(not changed <= _PRONOUNS for changed in _changed(_words(more), _words(less)))


def _changed(one: list[str], other: list[str]) -> Iterator[set[str]]:
    for what, *ends in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if what != "equal":
            yield {*one[ends[0] : ends[1]], *other[ends[2] : ends[3]]}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _marks(text: str) -> list[str]:
    return _WORD.sub(" ", text).split()
