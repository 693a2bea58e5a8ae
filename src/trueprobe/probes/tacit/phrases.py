"""Properties as people listed them, put into words: "does live in woods" becomes "lives in woods".

A property becomes a verb phrase that can follow "A bear …"; several are joined as "has fur, is big, and has claws".
What no rule here can make such a phrase of is not asked, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MOST_WORDS = 6  # of a free answer
RELATIONS = ("is", "is a", "has", "has a", "is made of")  # of the production task; "is an animal" fits none of them

_COMPLETED = re.compile(rf"({'|'.join(sorted(RELATIONS, key=len, reverse=True))}) ([A-Za-z]+)")
_STANDS = {"is", "has", "can", "was", "cannot", "may", "must", "will", "would", "does"}
_PASSIVE = {"associated", "caught", "cooked", "driven", "drunk", "eaten", "found", "grown", "hunted", "kept", "known"}
_PASSIVE |= {"made", "played", "related", "ridden", "seen", "served", "sold", "used", "worn"}
_LINKS = {"a", "an", "as", "at", "by", "for", "from", "in", "into", "of", "on", "over", "the", "to", "under", "with"}
_IRREGULAR = {"have": "has", "be": "is", "do": "does", "go": "goes"}
_BEGINNINGS = (  # how people begin a free answer, and how its verb phrase begins
    (re.compile(r"^(it is|it's|its|it was) (?!own\b)"), "is "),
    (re.compile(r"^(it has|it's got|has got|they have|have) "), "has "),
    (re.compile(r"^(it can|they can|can) "), "can "),
    (re.compile(r"^(it does|they do) not "), "does not "),
    (re.compile(r"^it (?=[a-z]+s\b)"), ""),
)


def third_person(verb: str) -> str:
    """eat → eats, fly → flies, catch → catches"""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def verb_phrase(label: str) -> str | None:
    """A listed property as a verb phrase: "does eat" → "eats", "made of metal" → "is made of metal", "flies" as it is.

    None where it begins in no way that a verb phrase begins."""
    third = re.fullmatch(r"[a-z]+[^sui\W]s", label.partition(" ")[0])  # eats, not grass, focus, this
    return _known_phrase(label) or (label if third else None)


def _known_phrase(label: str) -> str | None:
    """By words that nothing but a verb phrase begins with: in a free answer "wings feathers" is none."""
    first, _, rest = label.partition(" ")
    if not rest:
        return None
    if first == "does" and not rest.startswith("not "):
        verb, _, more = rest.partition(" ")
        return f"{third_person(verb)} {more}".strip()
    if first in _STANDS:
        return label
    if first in ("a", "an") or (first in _PASSIVE and rest.split()[0] in _LINKS):
        return f"is {label}"
    return None


def free_phrase(answer: str, bare: Mapping[str, str]) -> str | None:
    """A free answer ("its big", "they have wings", "wing") as a verb phrase; a bare word by its entry in `bare`.

    Longer answers tend to be whole definitions, or several answers in one."""
    answer = " ".join(answer.split()).strip(" .,;!")
    words = answer.split()
    if len(words) > MOST_WORDS or not all(re.fullmatch(r"[a-z'-]+", word) for word in words):
        return None
    if len(words) < 2:
        return bare.get(answer)
    for begins, verb in _BEGINNINGS:
        if begins.match(answer):
            return begins.sub(verb, answer)
    return _known_phrase(answer)


def bare_words(phrases: Iterable[str], things: Iterable[str]) -> dict[str, str]:
    """The phrases that the single words of these phrases stand for: wing → "has wings", big → "is big", fly → "flies".

    Only words of two things at least; materials and the names of `things` could mean anything. Where phrases differ,
    the most frequent one wins, then the alphabetically first."""
    counts: dict[str, Counter[str]] = {}
    for phrase in phrases:
        relation, word = completion(phrase) or ("", phrase)
        if " " not in word and relation != "is made of":
            for form in {word, *_base_forms(word)} - set(things):
                counts.setdefault(form, Counter())[phrase] += 1
    best = {word: min(listed, key=lambda p: (-listed[p], p)) for word, listed in counts.items()}
    return {word: phrase for word, phrase in best.items() if counts[word][phrase] > 1}


def _base_forms(word: str) -> list[str]:
    """What a lemmatised listing may have instead: wings → wing, flies → fly."""
    if word.endswith("ies"):
        return [word[:-3] + "y"]
    if word.endswith(("ches", "shes", "sses", "xes")):
        return [word[:-2]]
    return [word[:-1]] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else []


def completion(phrase: str) -> tuple[str, str] | None:
    """The relation and the single word that completes it: "has a tail" → ("has a", "tail")."""
    match = _COMPLETED.fullmatch(phrase)
    return (match[1], match[2]) if match and match[2] not in ("a", "an", "not", "no") else None


def spoken(concept: str) -> str:
    """A concept as it stands in a sentence: bat_(animal) → bat, french_horn → french horn"""
    return re.sub(r"[_ ]*\(.*\)$", "", concept).replace("_", " ")


def names(phrase: str, concept: str) -> bool:
    """Does it hold the word itself, or its plural? "has an arrow head" names an arrow."""
    return bool(re.search(rf"\b{re.escape(spoken(concept))}(s|es)?\b", phrase, re.IGNORECASE))


def joined(phrases: Sequence[str]) -> str:
    """has fur | has fur and is big | has fur, is big, and has claws"""
    if len(phrases) < 3:
        return " and ".join(phrases)
    return f"{', '.join(phrases[:-1])}, and {phrases[-1]}"


# ---------------------------------------------------------------- the alternatives of a CSLB property
#
# How many people gave each: the norms join what people wrote under one label. norms.dat names the people. Its column
# `participant list` has one group of participant numbers per alternative, in the order of the alternatives:
#
#     is loud; does make a loud noise; is noisy      p 1 4 9 / 2 6 / 4      3, 2 and 1 people
#
# Participant 4 gave two of them, so the label's total (pf) can be smaller than the sum. Numbers identify people across
# all labels of a concept. Files without that column may state numbers, `is loud (16); is noisy (1)`, or have an entry
# for each person. Otherwise there is only the label's total.


Participants = frozenset[int]

_NUMBER = "[0-9]{1,9}"
_STATED = re.compile(  # is loud (16)
    rf"(?P<text>.+?) *(\((?P<round>{_NUMBER})\)|\[(?P<square>{_NUMBER})\]|: *(?P<plain>{_NUMBER}))"
)


@dataclass(frozen=True, slots=True)
class Alternatives:
    texts: tuple[str, ...]  # each once, in the order of the file
    people: Mapping[str, int] = field(default_factory=dict)  # how many gave each; empty: not counted
    participants: Mapping[str, Participants] = field(default_factory=dict)  # who gave each; empty: not named
    uses_total: bool = False  # the label's total stands for numbers that are missing or do not match

    def who_gave(self, texts: Iterable[str]) -> Participants:
        return Participants().union(*(self.participants[text] for text in texts))

    def how_many_gave(self, texts: Iterable[str]) -> int:
        """Distinct people; where nobody is named, the sum."""
        return len(self.who_gave(texts)) if self.participants else sum(self.people[text] for text in texts)


def read_alternatives(cell: str, label: str, total: float, participant_list: str | None) -> Alternatives:
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
