"""Sentences with distractors, put together from phrases: who did what, what else is mentioned, and where.

Slots are numbered in the order in which entities are mentioned: {name0} and {background0} are the first one's.
Templates are written with natural punctuation; "spaced" sets commas and full stops apart, as released data has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trueprobe.probes.distractors.material import Attractor, ItemSet, SetWording

Join = Literal["and", "plain", "oxford"]  # a and b and c | a, b and c | a, b, and c
POSITIONS = ("after", "between", "key_later")  # of the attractors, relative to the fact; key_later: of the key entity
SETTINGS = ("multiple", "single")  # attractors belong to other entities, or to the key entity
TYPES = ("T", "B", "unrelated")  # like the target, like the background, like neither
MOST = 3  # attractors, and fillers
_NUMBERED = re.compile(r"\{((?:a_)?(?:background|target)|phrase)\}")


@dataclass(frozen=True, slots=True)
class DistractorCase:
    """Everything that decides how a sentence reads, but for the words themselves."""

    set: str
    position: str
    setting: str
    type: str
    attractors: int
    filler: int
    key: int = 0  # the place of the entity in question; only key_later asks about a later one

    @classmethod
    def plain(cls, set_name: str, attractors: int = 0) -> DistractorCase:
        """The fact, and behind it this many attractors about other entities."""
        return cls(set_name, position="after", setting="multiple", type="T", attractors=attractors, filler=0)


def cases(set_name: str, position: str) -> Iterator[DistractorCase]:
    """Every case of a position, in the order in which items are listed."""
    kinds = [(s, t) for s in SETTINGS for t in TYPES]
    if position == "between":
        kinds = [(s, t) for s in SETTINGS for t in ("T", "B")]
    elif position == "key_later":
        kinds = [("multiple", "B")]
    for setting, kind in kinds:
        for attractors in range(MOST + 1):
            keys = range(1, attractors + 1) if position == "key_later" and attractors else (0,)
            for filler in range(MOST + 1):
                yield from (
                    DistractorCase(
                        set_name, position, setting=setting, type=kind, attractors=attractors, filler=filler, key=key
                    )
                    for key in keys
                )


def joined(parts: Sequence[str], how: Join) -> str:
    if how == "and" or len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + (", and " if how == "oxford" else " and ") + parts[-1]


def numbered(text: str, place: int) -> str:
    """{background} of the entity, or of the attractor, at that place."""
    return _NUMBERED.sub(rf"{{\g<1>{place}}}", text)


def spaced(text: str) -> str:
    return re.sub(r"(?<=[^ ])([,.])(?= |$)", r" \1", text)


def context(case: DistractorCase, items: ItemSet, wording: SetWording) -> str:
    """The text before the question, as a template with numbered slots."""
    if case.position == "between":
        body = joined([_between(case, wording), *items.fillers[: case.filler]], "plain")
    else:
        body = _after(case, items, wording)
    return f"{{name0}} {body}."


def _after(case: DistractorCase, items: ItemSet, wording: SetWording) -> str:
    fact = joined([*_fillers(case, items), _fact(case, wording)], _filler_join(case, wording))
    if not case.attractors:
        return fact
    if case.setting == "multiple" or case.type == "unrelated":
        return joined([fact, *_clauses(case, wording)], "oxford" if case.type == "unrelated" else wording.clauses)
    kind = _kind(case, wording)
    return (kind.after or wording.after).replace("{own}", _listed(case, kind)).replace("{fact}", fact)


def _between(case: DistractorCase, wording: SetWording) -> str:
    fact = _fact(case, wording)
    if not case.attractors:
        return fact
    if case.setting == "multiple":
        clauses = joined(_clauses(case, wording), wording.clauses)
        return wording.knows.replace("{clauses}", clauses).replace("{fact}", fact)
    kind = _kind(case, wording)
    return (kind.between or wording.between).replace("{own}", _listed(case, kind)).replace("{fact}", fact)


def _fact(case: DistractorCase, wording: SetWording) -> str:
    behind = case.filler and case.position != "between"
    return numbered((wording.filled if behind else "") or wording.fact, 0)


def _fillers(case: DistractorCase, items: ItemSet) -> list[str]:
    if case.position == "key_later" and case.attractors:
        return [f"{{filler{i}}}" for i in range(case.filler)]  # drawn again for each list of attractors
    fillers = items.unrelated_fillers if case.type == "unrelated" and case.attractors else items.fillers
    return list(fillers[: case.filler])


def _filler_join(case: DistractorCase, wording: SetWording) -> Join:
    related_after = case.type != "unrelated" and case.position == "after"
    return wording.fillers if related_after or not case.attractors else "plain"


def _kind(case: DistractorCase, wording: SetWording) -> Attractor:
    return wording.T if case.type == "T" else wording.B


def _clauses(case: DistractorCase, wording: SetWording) -> list[str]:
    """What others do, or for unrelated attractors of a single entity, what else it does."""
    does = "{phrase}" if case.type == "unrelated" else _kind(case, wording).other or wording.fact
    who = "{{name{0}}} " if case.setting == "multiple" else ""
    return [who.format(i) + numbered(does, i) for i in range(1, case.attractors + 1)]


def _listed(case: DistractorCase, kind: Attractor) -> str:
    listed = joined([numbered(kind.each, i) for i in range(1, case.attractors + 1)], kind.series)
    phrase = kind.own_one if case.attractors == 1 and kind.own_one else kind.own
    return phrase.replace("{list}", listed)
