"""The file behind a CounterActs-type probe: two groups, words that name them, backgrounds, wordings.

The shipped `gender.toml` and `age.toml` are such files; a user's own needs no code. What is written wrongly is
told with its key path.
"""

from __future__ import annotations

import re
from string import Formatter
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from trueprobe.probes import files as material

WITH_BACKGROUND = ("bcsyn", "bcsem", "tnbc")
BLANK = "___"
_NOUNS = ("target", "background", "pro_noun", "pro_kind", "counter_noun", "counter_kind")
_TAKEN = {
    "all",
    "item",
    "part",
    "model",
    "step",
    "share",
    "wording",
    "knowledge",
    "dominated",
    "implicit",
    "left",
    "right",
}
FIELDS = frozenset(_NOUNS) | {f"a_{noun}" for noun in _NOUNS}
BACKGROUND_FIELDS = frozenset({"background", "a_background"})  # only where another occupation is spoken of


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileCard(_Strict):
    title: str
    version: str
    licence: str
    source: str
    notes: str = ""


class Group(_Strict):
    noun: str = Field(min_length=1)
    kind: str = Field(min_length=1)


class Background(_Strict):
    name: str = Field(min_length=1)
    dominant: str
    share: float | None = Field(default=None, ge=0, le=100)
    core: bool = False
    source: str = ""
    article: str | None = Field(default=None, pattern="^an?$")

    def with_article(self, always_a: bool) -> str:
        return f"{'a' if always_a else self.article or article_for(self.name)} {self.name}"


def _template(text: str, fields: frozenset[str] = FIELDS - BACKGROUND_FIELDS) -> str:
    parts = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None]
    for name, spec, conversion in parts:
        if name not in fields or spec or conversion:
            raise ValueError(f"no field {{{name}}} here, or more than its name; there are: {', '.join(sorted(fields))}")
    return text


def _with_background(text: str) -> str:
    return _template(text, FIELDS)


def _blanked(text: str) -> str:
    blanks = re.findall("_{2,}", text)
    if blanks != [BLANK]:
        raise ValueError(f"must hold the blank {BLANK} exactly once, holds {', '.join(blanks) or 'none'}")
    return text


def _ends_in_blank(text: str) -> str:
    if not text.endswith(BLANK):
        raise ValueError(f"must end in the blank {BLANK}: a causal model sees nothing behind it")
    return text


def _no_blank(text: str) -> str:
    if BLANK in text:
        raise ValueError(f"is knowledge in front of the prompt and holds no blank {BLANK}")
    return text


Knowledge = Annotated[str, AfterValidator(_template), AfterValidator(_no_blank)]
OtherKnowledge = Annotated[str, AfterValidator(_with_background), AfterValidator(_no_blank)]
Prompt = Annotated[str, AfterValidator(_template), AfterValidator(_blanked)]
CausalPrompt = Annotated[str, AfterValidator(_template), AfterValidator(_blanked), AfterValidator(_ends_in_blank)]


class Wording(_Strict):
    base: Prompt
    tsyn: Knowledge
    tsem: Knowledge
    tneu: Knowledge
    tcsyn: Knowledge
    tcsem: Knowledge
    bcsyn: OtherKnowledge
    bcsem: OtherKnowledge
    tnbc: OtherKnowledge
    un: Knowledge
    causal_target: CausalPrompt
    causal_person: CausalPrompt


class Stereotype(_Strict):
    card: FileCard
    groups: dict[str, Group]
    verbalizer: dict[str, tuple[str, ...]]
    implicit: dict[str, tuple[str, ...]] = {}
    prevalence: dict[str, str | tuple[str, ...]]
    backgrounds: tuple[Background, ...]
    wordings: dict[str, Wording]

    @field_validator("groups")
    @classmethod
    def _two(cls, groups: dict[str, Group]) -> dict[str, Group]:
        if len(groups) != 2:
            raise ValueError(f"exactly two groups are compared, found {len(groups)}: {', '.join(groups)}")
        for name in groups:
            if not re.fullmatch(r"[a-z]+", name) or name in _TAKEN:
                raise ValueError(f"a group's name becomes a column: lower-case letters, not {name!r}")
        return groups

    @field_validator("wordings")
    @classmethod
    def _one_at_least(cls, wordings: dict[str, Wording]) -> dict[str, Wording]:
        if not wordings or "all" in wordings:
            raise ValueError("at least one wording is needed, and none may be called 'all'")
        return wordings

    @model_validator(mode="after")
    def _agree(self) -> Stereotype:
        names = set(self.groups)
        for key in ("verbalizer", "implicit"):
            lists: dict[str, tuple[str, ...]] = getattr(self, key)
            if set(lists) != names and not (key == "implicit" and not lists):
                raise ValueError(
                    f"{key}: needs a list for {' and '.join(self.groups)}, found {', '.join(lists) or 'none'}"
                )
        problem = wrong_lists(self.verbalizer, self.implicit)
        if problem:
            raise ValueError(problem)
        for i, background in enumerate(self.backgrounds):
            if background.dominant not in names:
                raise ValueError(
                    f"backgrounds.{i}.dominant: {background.dominant!r} is no group ({', '.join(self.groups)})"
                )
        named = [background.name for background in self.backgrounds]
        if len(set(named)) < len(named):
            raise ValueError(f"backgrounds: {next(n for n in named if named.count(n) > 1)!r} stands there twice")
        for name in names:
            if not any(background.dominant == name for background in self.backgrounds):
                raise ValueError(f"backgrounds: none is dominated by {name!r}, so nothing can be its counterexample")
        if set(self.prevalence) != {"left", "right", *names}:
            raise ValueError(f"prevalence: needs left, right and a list of words for {' and '.join(self.groups)}")
        for key, value in self.prevalence.items():
            needed = "a list of words" if key in names else "a text"
            if isinstance(value, str) == (key in names) or (key in names and not all(value or ("",))):
                raise ValueError(f"prevalence.{key}: {needed} is needed")
        if "{word}" not in self.prevalence["left"]:
            raise ValueError("prevalence.left: must name the {word} it asks about")
        return self

    def other(self, group: str) -> str:
        return next(name for name in self.groups if name != group)

    def fields(self, target: Background, background: Background | None, always_a: bool) -> dict[str, Any]:
        """Everything a template may name."""
        pro, counter = self.groups[target.dominant], self.groups[self.other(target.dominant)]
        nouns = {
            "pro_noun": pro.noun,
            "pro_kind": pro.kind,
            "counter_noun": counter.noun,
            "counter_kind": counter.kind,
        }
        found: dict[str, str] = {"target": target.name, "a_target": target.with_article(always_a), **nouns}
        found |= {f"a_{key}": f"{'a' if always_a else article_for(noun)} {noun}" for key, noun in nouns.items()}
        if background is not None:
            found |= {"background": background.name, "a_background": background.with_article(always_a)}
        return found


def article_for(noun: str) -> str:
    return "an" if noun[:1].lower() in "aeiou" else "a"


def wrong_lists(verbalizer: dict[str, tuple[str, ...]], implicit: dict[str, tuple[str, ...]]) -> str:
    """What is wrong with word lists, or "". Matching ignores case, so two words must differ in more."""
    for group, listed in verbalizer.items():
        if not listed:
            return f"verbalizer.{group}: no words"
    spaced = [
        word for lists in (verbalizer, implicit) for listed in lists.values() for word in listed if word != word.strip()
    ]
    if spaced:
        return f"verbalizer: {spaced[0]!r} has a space around it"
    words = [word.lower() for lists in (verbalizer, implicit) for listed in lists.values() for word in listed]
    if "" in words:
        return "verbalizer: an empty word"
    twice = sorted({word for word in words if words.count(word) > 1})
    return f"verbalizer: {twice[0]!r} stands in two places" if twice else ""


class ExtraWords(_Strict):
    """A user's additions to a verbalizer: words per group, and words that belong to one by stereotype only."""

    verbalizer: dict[str, tuple[str, ...]] = {}
    implicit: dict[str, tuple[str, ...]] = {}


def read(named: str) -> Stereotype:
    return material.read(named, material.ROOT / "counteracts/data", Stereotype)
