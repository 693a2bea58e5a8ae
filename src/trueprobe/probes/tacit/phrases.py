"""Properties as people listed them, put into words: "does live in woods" becomes "lives in woods".

A property becomes a verb phrase that can follow "A bear …"; several are joined as "has fur, is big, and has claws".
What no rule here can make such a phrase of is not asked, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
