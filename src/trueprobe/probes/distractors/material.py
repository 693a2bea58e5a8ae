"""The file behind the distractors probe: sets of linked pairs, phrases for attractors, fillers, wordings.

The shipped `paper.toml` holds the four sets of Pandia & Ettinger, `languages.toml` one of our own; a user's file needs
no code. What is written wrongly is told with its key path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from string import Formatter
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from trueprobe.errors import nearest
from trueprobe.probes import files as material
from trueprobe.probes.counteracts.material import BLANK, FileCard, article_for
from trueprobe.probes.distractors import sentences
from trueprobe.probes.distractors.sentences import MOST, POSITIONS, SETTINGS, TYPES, Case, Join

_THINGS = frozenset({"background", "a_background", "target", "a_target"})
_FACT = frozenset({"background", "a_background"})
_WHERE: dict[str, tuple[str | int, ...]] = {
    "position": POSITIONS,
    "setting": SETTINGS,
    "type": TYPES,
    "attractors": tuple(range(MOST + 1)),
    "filler": tuple(range(MOST + 1)),
    "key": tuple(range(MOST + 1)),
}


def _with(fields: Iterable[str], needed: Iterable[str] = ()) -> AfterValidator:
    """A template that names only these fields, and each of the needed ones once."""
    known, once = frozenset(fields) | frozenset(needed), tuple(needed)

    def check(text: str) -> str:
        named = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None]
        for name, spec, conversion in named:
            if name not in known or spec or conversion:
                there = ", ".join(f"{{{field}}}" for field in sorted(known)) or "none"
                raise ValueError(f"no field {{{name}}} here, or more than its name; there are: {there}")
        for field in once:
            if text and text.count(f"{{{field}}}") != 1:
                raise ValueError(f"must hold {{{field}}} once")
        return text

    return AfterValidator(check)


def _asks(text: str) -> str:
    if re.findall("_{2,}", text) != [BLANK]:
        raise ValueError(f"must hold the blank {BLANK} exactly once")
    left, right = text.split(BLANK)
    if not left.endswith(" ") or re.search(r"[\w{}]", right):
        raise ValueError(f"must end in a space, the blank {BLANK} and punctuation: causal models see no more")
    return text


Phrase = Annotated[str, Field(min_length=1)]
Plain = Annotated[Phrase, _with(())]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pair(_Strict):
    background: Plain
    target: Annotated[Plain, Field(pattern=r"^\S+$")]
    name: str = ""  # of the entity in the base context; the first name if empty
    article: str | None = Field(default=None, pattern="^an?$")

    def slots(self, place: int) -> dict[str, str]:
        articled = f"{self.article or article_for(self.background)} {self.background}"
        slots = {"background": self.background, "a_background": articled, "target": self.target}
        slots["a_target"] = f"{article_for(self.target)} {self.target}"
        return {f"{slot}{place}": text for slot, text in slots.items()}


class Attractor(_Strict):
    """How one type of attractor is said: by other entities, and by the key entity itself."""

    other: Annotated[str, _with(_THINGS)] = ""  # the fact's own phrase if empty
    own: Annotated[Phrase, _with((), ("list",))]
    own_one: Annotated[str, _with((), ("list",))] = ""  # with one attractor, where the grammar differs
    each: Annotated[Phrase, _with(_THINGS)]
    series: Join = "oxford"
    after: Annotated[str, _with((), ("fact", "own"))] = ""
    between: Annotated[str, _with((), ("fact", "own"))] = ""


class Wording(_Strict):
    fact: Annotated[Phrase, _with(_FACT)]
    filled: Annotated[str, _with(_FACT)] = ""  # the fact behind fillers, if it reads differently
    ask: Annotated[Phrase, _with((), ("key",)), AfterValidator(_asks)]
    B: Attractor
    T: Attractor
    after: Annotated[Phrase, _with((), ("fact", "own"))] = "{fact} and {own}"
    between: Annotated[Phrase, _with((), ("fact", "own"))] = "{own} and {fact}"
    knows: Annotated[Phrase, _with((), ("clauses", "fact"))] = "knows that {clauses} and he himself {fact}"
    clauses: Join = "oxford"
    fillers: Join = "plain"
    spaced: bool = False

    @model_validator(mode="after")
    def _name_things(self) -> Wording:
        """A phrase that names no attractor would say the same of all."""
        named = {"fact": self.fact, "filled": self.filled or self.fact, "B.each": self.B.each}
        named["B.other"] = self.B.other or self.fact
        for key, text in named.items():
            if not re.search(r"\{(a_)?background\}", text):
                raise ValueError(f"{key}: must name {{background}} or {{a_background}}")
        for key, text in (("T.each", self.T.each), ("T.other", self.T.other)):
            if not re.search(r"\{(a_)?target\}", text):
                raise ValueError(f"{key}: must name {{target}} or {{a_target}}")
        return self


class ItemSet(_Strict):
    pairs: tuple[Pair, ...] = Field(min_length=MOST + 1)
    fillers: tuple[Plain, Plain, Plain]
    unrelated_fillers: tuple[Plain, Plain, Plain]
    wordings: dict[str, Wording] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _like(cls, data: Any) -> Any:
        """`like = "paper"`: what a wording does not say, it takes from that one."""
        wordings = data.get("wordings") if isinstance(data, Mapping) else None
        if not isinstance(wordings, Mapping):
            return data
        whole: dict[str, Any] = {}
        for name, wording in wordings.items():
            whole[name] = dict(wording) if isinstance(wording, Mapping) else wording
            if isinstance(wording, Mapping) and "like" in wording:
                model = whole[name].pop("like")
                if model == name or model not in whole:
                    hint = nearest(str(model), [earlier for earlier in whole if earlier != name])
                    raise ValueError(f"wordings.{name}.like: no earlier wording {model!r}{hint}")
                whole[name] = _merged(whole[model], whole[name])
        return {**data, "wordings": whole}

    @field_validator("pairs")
    @classmethod
    def _distinct(cls, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        for key in ("background", "target"):
            words = [getattr(pair, key).lower() for pair in pairs]
            if len(set(words)) < len(words):
                raise ValueError(f"the {key} {max(words, key=words.count)!r} stands there twice")
        return pairs


def _merged(model: Any, own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(model)
    for key, value in own.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], dict(value)) if both else value
    return merged


class Oddity(_Strict):
    """Where the sentences of a wording do not follow its own rule. `defect`: a slip, made only when asked for."""

    wording: str
    where: dict[str, str | int | tuple[str | int, ...]]
    replace: tuple[tuple[Phrase, str], ...] = ()
    position: str = ""  # the whole sentence reads as in this position
    lower_case: bool = False
    defect: bool = False

    @field_validator("where")
    @classmethod
    def _known(cls, where: dict[str, Any]) -> dict[str, tuple[str | int, ...]]:
        found = {key: tuple(value) if isinstance(value, (list, tuple)) else (value,) for key, value in where.items()}
        for key, values in found.items():
            if key != "set" and key not in _WHERE:
                raise ValueError(f"no condition '{key}'{nearest(key, ['set', *_WHERE])}")
            wrong = [value for value in values if key != "set" and value not in _WHERE[key]]
            if wrong:
                raise ValueError(f"{key}: no {wrong[0]!r}; choose from: {', '.join(map(str, _WHERE[key]))}")
        return found

    def meets(self, wording: str, case: Case) -> bool:
        return wording == self.wording and all(getattr(case, key) in value for key, value in self.where.items())  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A context and a question with a blank, as templates with numbered slots."""

    context: str
    left: str
    right: str
    lower_case: bool = False

    def filled(self, slots: Mapping[str, str]) -> Sentence:
        context, left = self.context.format_map(slots), self.left.format_map(slots)
        return (
            Sentence(context.lower(), left.lower(), self.right)
            if self.lower_case
            else Sentence(context, left, self.right)
        )


class Distractors(_Strict):
    card: FileCard
    names: tuple[Plain, ...] = Field(min_length=MOST + 1)
    unrelated: tuple[Plain, ...] = Field(min_length=MOST)
    later_fillers: tuple[Plain, ...] = Field(min_length=MOST)  # drawn where the key entity is a later one
    sets: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")], ItemSet] = Field(min_length=1)
    oddities: tuple[Oddity, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, data: Any) -> Any:
        """Fillers given once hold for every set that has none of its own."""
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
    def _agree(self) -> Distractors:
        for key in ("names", "unrelated", "later_fillers"):
            if len(set(getattr(self, key))) < len(getattr(self, key)):
                raise ValueError(f"{key}: {max(getattr(self, key), key=getattr(self, key).count)!r} stands there twice")
        for name, items in self.sets.items():
            if name == "all":
                raise ValueError("sets.all: 'all' means every set and names none")
            missing = set(self.wordings) ^ set(items.wordings)
            if missing:
                raise ValueError(f"sets.{name}.wordings: every set needs the same wordings; not in all: {min(missing)}")
            for i, pair in enumerate(items.pairs):
                if pair.name and pair.name not in self.names:
                    raise ValueError(f"sets.{name}.pairs.{i}.name: {pair.name!r} is none of the names")
        if set(self.wordings) & {"best", "all"}:
            raise ValueError("sets: no wording may be called 'best' or 'all'")
        for i, oddity in enumerate(self.oddities):
            self._check(f"oddities.{i}", oddity)
        return self

    def _check(self, where: str, oddity: Oddity) -> None:
        if oddity.wording not in self.wordings:
            raise ValueError(f"{where}.wording: no '{oddity.wording}'{nearest(oddity.wording, self.wordings)}")
        named = oddity.where.get("set", ())
        for wrong in (name for name in named if name not in self.sets):  # type: ignore[union-attr]
            raise ValueError(f"{where}.where.set: no '{wrong}'{nearest(str(wrong), list(self.sets))}")
        if oddity.position and oddity.position not in POSITIONS:
            raise ValueError(f"{where}.position: no '{oddity.position}'{nearest(oddity.position, list(POSITIONS))}")
        met = [c for name in self.sets for p in POSITIONS for c in sentences.cases(name, p)]
        met = [case for case in met if oddity.meets(oddity.wording, case)]
        if not met:
            raise ValueError(f"{where}.where: no sentence is meant")
        for case in met:
            text = self._template(case, oddity.wording, upto=oddity)
            for old, _ in oddity.replace:
                if old not in text:
                    raise ValueError(f"{where}.replace: {old!r} does not occur in {text!r}")

    @cached_property
    def wordings(self) -> list[str]:
        return list(next(iter(self.sets.values())).wordings)

    def sentence(self, case: Case, wording: str, faithful: bool) -> Sentence:
        words = self.sets[case.set].wordings[wording]
        context, (left, right) = self._template(case, wording, faithful), words.ask.split(BLANK)
        if words.spaced:
            context, left, right = sentences.spaced(context), sentences.spaced(left), f" {right}"
        odd = [o for o in self.oddities if o.meets(wording, case) and (faithful or not o.defect)]
        key = f"{{name{case.key}}}"
        return Sentence(context, left.replace("{key}", key), right, any(o.lower_case for o in odd))

    def _template(self, case: Case, wording: str, faithful: bool = False, upto: Oddity | None = None) -> str:
        """With the wording's oddities; `upto` one of them, to see what it would change."""
        odd = [o for o in self.oddities if o.meets(wording, case)]
        earlier = odd[: odd.index(upto)] if upto in odd else odd
        earlier = [o for o in earlier if faithful or not o.defect]
        moved = next((o.position for o in earlier if o.position), "")
        if moved:
            return self._template(replace(case, position=moved), wording, faithful)
        text = sentences.context(case, self.sets[case.set], self.sets[case.set].wordings[wording])
        for old, new in (pair for oddity in earlier for pair in oddity.replace):
            text = text.replace(old, new)
        return text


def read(named: str) -> Distractors:
    return material.read(named, material.ROOT / "distractors/data", Distractors)
