"""The file behind the distractors probe: sets of linked pairs, phrases for attractors, fillers, wordings.

The shipped `paper.toml` holds the four sets of Pandia & Ettinger, `languages.toml` one made for trueprobe; a user's
file needs no code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from trueprobe.errors import nearest
from trueprobe.probes.distractors import sentences
from trueprobe.probes.distractors.sentences import MOST, POSITIONS, SETTINGS, TYPES, DistractorCase, Join
from trueprobe.probes.templates import BLANK, ONE_BLANK, Article, MaterialFile, Strict, fields, repeated, with_article

_FACT = ("background", "a_background")
_THINGS = (*_FACT, "target", "a_target")
_COUNTS = tuple(range(MOST + 1))
_CONDITIONS: dict[str, tuple[str | int, ...]] = {
    "position": POSITIONS,
    "setting": SETTINGS,
    "type": TYPES,
    "attractors": _COUNTS,
    "filler": _COUNTS,
    "key": _COUNTS,
}


def _ends_in_question(text: str) -> str:
    left, _, right = text.partition(BLANK)
    if not left.endswith(" ") or re.search(r"[\w{}]", right):
        raise ValueError(f"must end in a space, the blank {BLANK} and punctuation: causal models read no more")
    return text


Phrase = Annotated[str, Field(min_length=1)]
Plain = Annotated[Phrase, fields()]
Combined = Annotated[str, fields(once=("fact", "own"))]


class Pair(Strict):
    background: Plain
    target: Annotated[Plain, Field(pattern=r"^\S+$")]  # one word
    name: str = ""  # of the entity in the base context; the first name if empty
    article: Article | None = None  # of the background, where it is not the a or an of its first letter: an, der, l'
    target_article: Article | None = None  # the same of the target

    @cached_property
    def slots(self) -> tuple[Mapping[str, str], ...]:
        """What fills its slots at each place of a sentence."""
        slots = {"background": self.background, "a_background": with_article(self.background, self.article)}
        slots |= {"target": self.target, "a_target": with_article(self.target, self.target_article)}
        return tuple({f"{slot}{place}": text for slot, text in slots.items()} for place in _COUNTS)


class Attractor(Strict):
    """How one type of attractor is phrased: of other entities, and of the key entity itself (`own`)."""

    other: Annotated[str, fields(*_THINGS)] = ""  # the phrase of the fact if empty
    own: Annotated[Phrase, fields(once=("list",))]  # what else the key entity does, with a {list} of attractors
    own_one: Annotated[str, fields(once=("list",))] = ""  # with one attractor, where the grammar differs
    each: Annotated[Phrase, fields(*_THINGS)]  # one member of that list: the {background}
    series: Join = "oxford"  # how the list is joined
    after: Combined = ""  # the wording's if empty
    between: Combined = ""  # the wording's if empty


class SetWording(Strict):
    fact: Annotated[Phrase, fields(*_FACT)]  # what the key entity does: lives in {background}, or {a_background}
    filled: Annotated[str, fields(*_FACT)] = ""  # the fact behind fillers, if it reads differently
    # names {key}; ends in the blank ___ and punctuation
    ask: Annotated[Phrase, fields(once=("key",)), ONE_BLANK, AfterValidator(_ends_in_question)]
    B: Attractor  # like the background
    T: Attractor  # like the target
    after: Annotated[Combined, Field(min_length=1)] = "{fact} and {own}"
    between: Annotated[Combined, Field(min_length=1)] = "{own} and {fact}"
    # others' clauses between key entity and fact
    knows: Annotated[Phrase, fields(once=("clauses", "fact"))] = "knows that {clauses} and he himself {fact}"
    clauses: Join = "oxford"  # how the fact and the others' clauses are joined
    fillers: Join = "plain"  # how fillers and fact are joined
    spaced: bool = False  # commas and full stops are set apart

    @model_validator(mode="after")
    def _name_things(self) -> SetWording:
        """A phrase that names no attractor would be the same for all."""
        backgrounds = {"fact": self.fact, "filled": self.filled or self.fact, "B.each": self.B.each}
        backgrounds["B.other"] = self.B.other or self.fact
        targets = {"T.each": self.T.each, "T.other": self.T.other}
        for thing, phrases in (("background", backgrounds), ("target", targets)):
            for key, text in phrases.items():
                if not re.search(rf"\{{(a_)?{thing}\}}", text):
                    raise ValueError(f"{key}: must name {{{thing}}} or {{a_{thing}}}")
        return self


class ItemSet(Strict):
    pairs: tuple[Pair, ...] = Field(min_length=MOST + 1)  # four at least
    fillers: tuple[Plain, Plain, Plain]  # facts about the first entity; the file's if left out
    unrelated_fillers: tuple[Plain, Plain, Plain]  # beside unrelated attractors; `fillers` if left out
    wordings: dict[str, SetWording] = Field(min_length=1)  # the same names in every set; the first is the default

    @model_validator(mode="before")
    @classmethod
    def _like(cls, data: Any) -> Any:
        """`like = "paper"`: what a wording does not set, it takes from that one."""
        wordings = data.get("wordings") if isinstance(data, Mapping) else None
        if not isinstance(wordings, Mapping):
            return data
        whole: dict[str, Any] = {}
        for name, wording in wordings.items():
            whole[name] = dict(wording) if isinstance(wording, Mapping) else wording
            if isinstance(wording, Mapping) and "like" in wording:
                model = whole[name].pop("like")
                if not isinstance(model, str) or model == name or model not in whole:
                    hint = nearest(str(model), [earlier for earlier in whole if earlier != name])
                    raise ValueError(f"wordings.{name}.like: no earlier wording {model!r}{hint}")
                whole[name] = _merged(whole[model], whole[name])
        return {**data, "wordings": whole}

    @field_validator("pairs")
    @classmethod
    def _distinct(cls, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        for key in ("background", "target"):
            twice = repeated(getattr(pair, key).lower() for pair in pairs)
            if twice:
                raise ValueError(f"the {key} {twice!r} stands there twice")
        return pairs


def _merged(model: Any, changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(model)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], dict(value)) if both else value
    return merged


class Oddity(Strict):
    """Where the sentences of a wording do not follow its rule. `defect`: a slip, made only when asked for."""

    wording: str
    where: dict[str, str | int | tuple[str | int, ...]]  # set, position, setting, type, attractors, filler, key
    replace: tuple[tuple[Phrase, str], ...] = ()  # pairs of texts; slots numbered by mention: {name1}, {background2}
    position: str = ""  # the whole sentence reads as in this position
    lower_case: bool = False
    defect: bool = False  # made only with faithful=true

    @field_validator("where")
    @classmethod
    def _known(cls, where: dict[str, Any]) -> dict[str, tuple[str | int, ...]]:
        listed = {key: tuple(value) if isinstance(value, (list, tuple)) else (value,) for key, value in where.items()}
        for key, values in listed.items():
            if key != "set" and key not in _CONDITIONS:
                raise ValueError(f"no condition '{key}'{nearest(key, ['set', *_CONDITIONS])}")
            for value in values:
                if key != "set" and value not in _CONDITIONS[key]:
                    raise ValueError(f"{key}: no {value!r}; choose from: {', '.join(map(str, _CONDITIONS[key]))}")
        return listed

    def meets(self, wording: str, case: DistractorCase) -> bool:
        return wording == self.wording and all(getattr(case, key) in value for key, value in self.where.items())  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class DistractorSentence:
    """A context and a question with a blank, as templates with numbered slots."""

    context: str
    left: str
    right: str
    lower_case: bool = False

    def filled(self, slots: Mapping[str, str]) -> DistractorSentence:
        context, left = self.context.format_map(slots), self.left.format_map(slots)
        if self.lower_case:
            context, left = context.lower(), left.lower()
        return DistractorSentence(context, left, self.right)

    @property
    def text(self) -> str:
        return f"{self.context} {self.left}{BLANK}{self.right}"


class DistractorMaterial(MaterialFile):
    folder = Path(__file__).parent / "data"
    names: tuple[Plain, ...] = Field(min_length=MOST + 1)  # of entities, four at least
    unrelated: tuple[Plain, ...] = Field(min_length=MOST)  # what unrelated attractors do, three at least
    # drawn where the key entity is a later one; `unrelated` if left out
    later_fillers: tuple[Plain, ...] = Field(min_length=MOST)
    sets: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")], ItemSet] = Field(min_length=1)
    oddities: tuple[Oddity, ...] = ()  # optional: sentences that break their wording's rule

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, data: Any) -> Any:
        """Fillers of the whole file hold for every set that has none."""
        if not isinstance(data, Mapping) or not isinstance(data.get("sets"), Mapping):
            return data
        data = dict(data)
        shared = {key: data.pop(key) for key in ("fillers", "unrelated_fillers") if key in data}
        if "fillers" in shared:
            shared.setdefault("unrelated_fillers", shared["fillers"])
        if "unrelated" in data:
            data.setdefault("later_fillers", data["unrelated"])
        sets = {name: {**shared, **s} if isinstance(s, Mapping) else s for name, s in data["sets"].items()}
        return {**data, "sets": sets}

    @model_validator(mode="after")
    def _agree(self) -> DistractorMaterial:
        for key in ("names", "unrelated", "later_fillers"):
            twice = repeated(getattr(self, key))
            if twice:
                raise ValueError(f"{key}: {twice!r} stands there twice")
        for name, items in self.sets.items():
            self._check_set(name, items)
        if set(self.wordings) & {"best", "all"}:
            raise ValueError("sets: no wording may be called 'best' or 'all'")
        for i, oddity in enumerate(self.oddities):
            self._check_oddity(f"oddities.{i}", oddity)
        return self

    def _check_set(self, name: str, items: ItemSet) -> None:
        if name == "all":
            raise ValueError("sets.all: 'all' means every set and names none")
        missing = set(self.wordings) ^ set(items.wordings)
        if missing:
            raise ValueError(f"sets.{name}.wordings: every set needs the same wordings; not in all: {min(missing)}")
        for i, pair in enumerate(items.pairs):
            if pair.name and pair.name not in self.names:
                raise ValueError(f"sets.{name}.pairs.{i}.name: {pair.name!r} is none of the names")

    def _check_oddity(self, where: str, oddity: Oddity) -> None:
        if oddity.wording not in self.wordings:
            raise ValueError(f"{where}.wording: no '{oddity.wording}'{nearest(oddity.wording, self.wordings)}")
        for name in oddity.where.get("set", ()):  # type: ignore[union-attr]
            if name not in self.sets:
                raise ValueError(f"{where}.where.set: no '{name}'{nearest(str(name), list(self.sets))}")
        if oddity.position and oddity.position not in POSITIONS:
            raise ValueError(f"{where}.position: no '{oddity.position}'{nearest(oddity.position, list(POSITIONS))}")
        every = (case for name in self.sets for position in POSITIONS for case in sentences.cases(name, position))
        cases = [case for case in every if oddity.meets(oddity.wording, case)]
        if not cases:
            raise ValueError(f"{where}.where: no sentence is meant")
        for case in cases:
            text = self._template(case, oddity.wording, upto=oddity)
            for old, _ in oddity.replace:
                if old not in text:
                    raise ValueError(f"{where}.replace: {old!r} does not occur in {text!r}")

    @cached_property
    def wordings(self) -> list[str]:
        return list(next(iter(self.sets.values())).wordings)

    def sentence(self, case: DistractorCase, wording: str, faithful: bool) -> DistractorSentence:
        words = self.sets[case.set].wordings[wording]
        context, (left, right) = self._template(case, wording, faithful), words.ask.split(BLANK)
        if words.spaced:
            context, left, right = sentences.spaced(context), sentences.spaced(left), f" {right}"
        lower_case = any(oddity.lower_case for oddity in self._oddities(case, wording, faithful))
        return DistractorSentence(
            context, left=left.replace("{key}", f"{{name{case.key}}}"), right=right, lower_case=lower_case
        )

    def _oddities(self, case: DistractorCase, wording: str, faithful: bool) -> list[Oddity]:
        return [o for o in self.oddities if o.meets(wording, case) and (faithful or not o.defect)]

    def _template(self, case: DistractorCase, wording: str, faithful: bool = False, upto: Oddity | None = None) -> str:
        """With the wording's oddities; `upto` one of them, to see what it would change."""
        odd = self._oddities(case, wording, True)
        earlier = odd[: odd.index(upto)] if upto in odd else odd
        earlier = [o for o in earlier if faithful or not o.defect]
        moved = next((o.position for o in earlier if o.position), "")
        if moved:
            return self._template(replace(case, position=moved), wording, faithful)
        text = sentences.context(case, self.sets[case.set], self.sets[case.set].wordings[wording])
        for old, new in (pair for oddity in earlier for pair in oddity.replace):
            text = text.replace(old, new)
        return text
