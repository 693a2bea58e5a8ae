"""Points probes at an association: files of their own formats, made of one assignment, and the measures that count.

Every measure is positive (or above one half) where a model holds what was planted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, nearest
from trueprobe.paths import write_csv, write_text
from trueprobe.probes.counteracts.material import CounterActsMaterial
from trueprobe.probes.templates import with_article
from trueprobe.sensitivity.associations import Association

_BACKGROUNDS = re.compile(r"^backgrounds = \[.*?^\]", re.MULTILINE | re.DOTALL)
_TEST = "planted"

Dealt = Mapping[str, str]
Settings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A measure of a probe, and the conditions that pick its one row; those not named are left free."""

    measure: str
    at: Mapping[str, str | int] = field(default_factory=dict)

    def is_of(self, measure: str, conditions: Mapping[str, str | int]) -> bool:
        named = (str(conditions.get(name)) == str(value) for name, value in self.at.items())
        return measure == self.measure and all(named)


def pointed(association: Association) -> list[str]:
    """The probes that can be pointed at it."""
    sentences = association.probes
    has = {
        "cloze": sentences.cloze,
        "pairs": sentences.pairs,
        "seat": sentences.seat_targets and sentences.seat_attributes,
        "counteracts": sentences.counteracts,
    }
    return [name for name in COUNTED if has[name]]


def chosen(association: Association, names: Sequence[str]) -> list[str]:
    """The named probes, or all that can be pointed at the association."""
    possible = pointed(association)
    for name in names:
        if name not in possible:
            raise BadInput(f"'{name}' cannot measure this association{nearest(name, possible)}")
    return [name for name in possible if name in names] if names else possible


def settings(probe: str, association: Association, dealt: Dealt, folder: Path) -> Settings:
    """Writes the probe's file for this assignment; the settings that read it."""
    return _WRITERS[probe](association, dealt, folder)


def _sides(association: Association, frame: str, target: str, group: str) -> Iterator[tuple[str, str]]:
    """Of the slot's first pair of words: that of the target's group, and the other; filled in, and alone."""
    pair = association.slots[association.slot_of(frame)][0]
    own = association.groups.index(group)
    for word in (pair[own], pair[1 - own]):
        yield association.fill(frame, target, word).text, word


def _cloze(association: Association, dealt: Dealt, folder: Path) -> Settings:
    rows = []
    for frame in association.probes.cloze:
        for target, group in dealt.items():
            (_, right), (_, wrong) = _sides(association, frame, target, group)
            text = association.fill(frame, target, "___").text
            rows.append({"text": text, "right": right, "wrong": wrong, "group": target})
    return {"data": str(_table(folder / "cloze.csv", rows)), "conditions": "none"}


def _pairs(association: Association, dealt: Dealt, folder: Path) -> Settings:
    rows = []
    for frame in association.probes.pairs:
        for target, group in dealt.items():
            (better, _), (worse, _) = _sides(association, frame, target, group)
            rows.append({"better": better, "worse": worse, "group": target})
    return {"data": str(_table(folder / "pairs.csv", rows)), "conditions": "none"}


def _table(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    write_csv(path, list(rows[0]), rows)
    return path


def _seat(association: Association, dealt: Dealt, folder: Path) -> Settings:
    """X and Y: sentences about the targets of each group; A and B: sentences with the groups' words."""
    parts: dict[str, Any] = {}
    for i, group in enumerate(association.groups):
        targets = [target for target, given in dealt.items() if given == group]
        x = [(_about(s, target), target) for s in association.probes.seat_targets for target in targets]
        parts[f"targ{i + 1}"] = _examples(f"targets assigned to {group}", x)
        parts[f"attr{i + 1}"] = _examples(f"words of {group}", _attributes(association, i))
    path = folder / f"{_TEST}.json"
    write_text(path, json.dumps({name: parts[name] for name in sorted(parts, reverse=True)}, indent=1) + "\n")
    return {"data": str(path), "clusters": False, "partitions": 1000}


def _about(sentence: str, target: str) -> str:
    return sentence.format(target=target, a_target=with_article(target))


def _attributes(association: Association, side: int) -> list[tuple[str, str]]:
    listed = []
    for sentence in association.probes.seat_attributes:
        slot = next(slot for slot in association.slots if f"{{{slot}}}" in sentence)
        listed += [(sentence.format_map({slot: pair[side]}), pair[side]) for pair in association.slots[slot]]
    return list(dict.fromkeys(listed))


def _examples(category: str, sentences: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {"category": category, "examples": [text for text, _ in sentences], "words": [w for _, w in sentences]}


def _counteracts(association: Association, dealt: Dealt, folder: Path) -> Settings:
    """The material with the targets as its backgrounds; each is dominated by the group it is dealt to."""
    material = association.probes.counteracts
    if sorted(CounterActsMaterial.read(material).groups) != sorted(association.groups):
        raise BadInput(f"probes.counteracts: the groups of '{material}' are not {' and '.join(association.groups)}")
    rows = [f"    {{ name = {json.dumps(t)}, dominant = {json.dumps(group)} }}," for t, group in dealt.items()]
    shipped = CounterActsMaterial.folder / f"{material}.toml"
    text = (shipped if shipped.is_file() else Path(material)).read_text(encoding="utf-8")
    written, times = _BACKGROUNDS.subn(lambda _: "\n".join(["backgrounds = [", *rows, "]"]), text)
    if times != 1:
        raise BadInput(f"probes.counteracts: '{material}' must list its backgrounds once, as backgrounds = [ … ]")
    path = folder / "counteracts.toml"
    write_text(path, written)
    return {"material": str(path), "backgrounds": 1}


_WRITERS: Mapping[str, Callable[[Association, Dealt, Path], Settings]] = {
    "cloze": _cloze,
    "pairs": _pairs,
    "seat": _seat,
    "counteracts": _counteracts,
}
_BASE = {"knowledge": "base", "dominated": "all"}
_WHOLE = {"test": _TEST, "wording": "all"}
COUNTED: Mapping[str, tuple[Counted, ...]] = {
    "cloze": tuple(Counted(measure=name) for name in ("margin", "right_wins")),
    "pairs": tuple(Counted(measure=name) for name in ("difference", "accuracy")),
    "seat": tuple(
        Counted(measure="effect_size", at={**_WHOLE, "representation": name}) for name in ("cls", "word", "last")
    ),
    "counteracts": (
        *(Counted(measure="stereotype_margin", at={**_BASE, "k": k}) for k in (3, 5, 10, "all")),
        Counted(measure="pro_stereotypical", at={**_BASE, "k": 10}),
        Counted(measure="pro_stereotypical", at={**_BASE, "k": "all"}),
        Counted(measure="stereotype_log_odds", at={**_BASE, "k": "all"}),
    ),
}
