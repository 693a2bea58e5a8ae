"""The file behind a CounterActs probe: two groups, words that name them, backgrounds, wordings.

The shipped `gender.toml` and `age.toml` are such files; a user's file needs no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.templates import (
    BLANK,
    ENDS_IN_BLANK,
    NO_BLANK,
    ONE_BLANK,
    Article,
    MaterialFile,
    Strict,
    fields,
    repeated,
    with_article,
)
from trueprobe.types import Kind

WITH_BACKGROUND = ("bcsyn", "bcsem", "tnbc")
WordLists = dict[str, tuple[str, ...]]  # by group
_NOUNS = ("target", "pro_noun", "pro_kind", "counter_noun", "counter_kind")
_RESERVED = {"all", "item", "part", "model", "step", "share", "wording", "knowledge", "dominated", "implicit"}
_RESERVED |= {"left", "right"}  # keys of `prevalence`
_ABOUT_TARGET = tuple(prefix + noun for noun in _NOUNS for prefix in ("", "a_"))
_ABOUT_BOTH = (*_ABOUT_TARGET, "background", "a_background")  # only where another occupation is spoken of


class Group(Strict):
    noun: str = Field(min_length=1)  # a person of the group: The woman worked as …
    kind: str = Field(min_length=1)  # as a predicate: can be a female
    article: Article | None = None  # of the noun, and of the kind: where they are not a or an
    kind_article: Article | None = None

    def slots(self, side: str, always_a: bool) -> dict[str, str]:
        """What a template may name of it: `pro_noun`, `a_pro_noun` …"""
        nouns = {f"{side}_noun": (self.noun, self.article), f"{side}_kind": (self.kind, self.kind_article)}
        plain = {key: noun for key, (noun, _) in nouns.items()}
        return plain | {
            f"a_{key}": with_article(noun, "a" if always_a else article) for key, (noun, article) in nouns.items()
        }


class Background(Strict):
    name: str = Field(min_length=1)  # an occupation, place, hobby …
    dominant: str  # the group that dominates it
    share: float | None = Field(
        default=None, ge=0, le=100
    )  # percent of the first group, optional: the correlation needs it
    core: bool = False  # belongs to the default set; if none is marked, all do
    source: str = ""  # optional: where its dominant group is known from
    article: Article | None = None  # optional: where it is not the a or an of its first letter: an, der, la, l'


Knowledge = Annotated[str, fields(*_ABOUT_TARGET), NO_BLANK]
OtherKnowledge = Annotated[str, fields(*_ABOUT_BOTH), NO_BLANK]
Prompt = Annotated[str, fields(*_ABOUT_TARGET), ONE_BLANK]
CausalPrompt = Annotated[Prompt, ENDS_IN_BLANK]


class Wording(Strict):
    base: Prompt  # holds the blank ___ once
    tsyn: Knowledge
    tsem: Knowledge
    tneu: Knowledge
    tcsyn: Knowledge
    tcsem: Knowledge
    bcsyn: OtherKnowledge  # these three may name {background}
    bcsem: OtherKnowledge
    tnbc: OtherKnowledge
    un: Knowledge
    causal_target: CausalPrompt  # ends in the blank; follows the base prompt with causal_word in its blank
    causal_person: CausalPrompt  # ends in the blank; stands alone
    causal_word: str = Field(default="target", min_length=1)  # what fills the blank of the base before causal_target

    def around_blank(self, base: str, slots: Mapping[str, str], target_is: bool) -> dict[str, str]:
        """What masked models read on both sides of it, and causal models before theirs."""
        left, right = (part.format_map(slots) for part in base.split(BLANK))
        causal = self.causal_person.removesuffix(BLANK).format_map(slots)
        if target_is:
            causal = f"{left}{self.causal_word}{right} {self.causal_target.removesuffix(BLANK).format_map(slots)}"
        return {"left": left, "right": right, "causal_left": causal}


def read_by(kind: Kind, around: Mapping[str, str]) -> tuple[str, str]:
    """Of what stands around a blank, what this kind of model reads: masked ones both sides."""
    return (around["left"], around["right"]) if kind == "masked" else (around["causal_left"], "")


def stop_apart(sentence: str) -> str:
    """`… as a nurse.` -> `… as a nurse .`"""
    return re.sub(r" ?\.$", " .", sentence)


class CounterActsMaterial(MaterialFile):
    folder = Path(__file__).parent / "data"
    groups: dict[str, Group]  # exactly two; their names become columns
    verbalizer: WordLists  # words that name a group, one piece each for the models asked
    implicit: WordLists = Field(default_factory=dict)  # optional: words that suggest it by stereotype only
    prevalence: dict[str, str | tuple[str, ...]]  # left, right: a text around {word}; by group: the words that answer
    backgrounds: tuple[Background, ...]  # each group dominates at least one
    wordings: dict[str, Wording]  # the first is the default

    @field_validator("groups")
    @classmethod
    def _two_groups(cls, groups: dict[str, Group]) -> dict[str, Group]:
        if len(groups) != 2:
            raise ValueError(f"exactly two groups are compared, not {len(groups)}: {', '.join(groups)}")
        for name in groups:
            if not re.fullmatch(r"[a-z]+", name) or name in _RESERVED:
                raise ValueError(f"a group's name becomes a column: lower-case letters, not {name!r}")
        return groups

    @field_validator("wordings")
    @classmethod
    def _one_at_least(cls, wordings: dict[str, Wording]) -> dict[str, Wording]:
        if not wordings or "all" in wordings:
            raise ValueError("at least one wording is needed, and none may be called 'all'")
        return wordings

    @model_validator(mode="after")
    def _lists_of_both_groups(self) -> CounterActsMaterial:
        for key, lists in (("verbalizer", self.verbalizer), ("implicit", self.implicit)):
            if set(lists) != set(self.groups) and (lists or key == "verbalizer"):
                listed = ", ".join(lists) or "none"
                raise ValueError(f"{key}: needs a list for {' and '.join(self.groups)}, not for {listed}")
        problem = word_list_problem(self.verbalizer, self.implicit)
        if problem:
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _backgrounds_of_both_groups(self) -> CounterActsMaterial:
        for i, background in enumerate(self.backgrounds):
            if background.dominant not in self.groups:
                choice = ", ".join(self.groups)
                raise ValueError(f"backgrounds.{i}.dominant: {background.dominant!r} is no group ({choice})")
        twice = repeated(background.name for background in self.backgrounds)
        if twice:
            raise ValueError(f"backgrounds: {twice!r} stands there twice")
        for group in set(self.groups) - {background.dominant for background in self.backgrounds}:
            raise ValueError(f"backgrounds: none is dominated by {group!r}, so nothing can be its counterexample")
        return self

    @model_validator(mode="after")
    def _prevalence_of_both_groups(self) -> CounterActsMaterial:
        if set(self.prevalence) != {"left", "right", *self.groups}:
            raise ValueError(f"prevalence: needs left, right and a list of words for {' and '.join(self.groups)}")
        for key, value in self.prevalence.items():
            if key in self.groups and (isinstance(value, str) or not all(value or ("",))):
                raise ValueError(f"prevalence.{key}: a list of words is needed")
            if key not in self.groups and not isinstance(value, str):
                raise ValueError(f"prevalence.{key}: a text is needed")
        if "{word}" not in self.prevalence["left"]:
            raise ValueError("prevalence.left: must contain {word}")
        return self

    def other(self, group: str) -> str:
        return next(name for name in self.groups if name != group)

    def fields(self, target: Background, background: Background | None, always_a: bool) -> dict[str, str]:
        """Everything a template may name."""
        pro, counter = self.groups[target.dominant], self.groups[self.other(target.dominant)]
        article = "a" if always_a else None
        values = pro.slots("pro", always_a) | counter.slots("counter", always_a)
        for key, entry in (("target", target), ("background", background)):
            if entry:
                values |= {key: entry.name, f"a_{key}": with_article(entry.name, article or entry.article)}
        return values


def word_list_problem(verbalizer: WordLists, implicit: WordLists) -> str:
    """What is wrong with word lists, or "". Matching ignores case, so two words must differ in more."""
    for group, listed in verbalizer.items():
        if not listed:
            return f"verbalizer.{group}: no words"
    words = [word for lists in (verbalizer, implicit) for listed in lists.values() for word in listed]
    for word in words:
        if word != word.strip():
            return f"verbalizer: {word!r} has a space around it"
    if "" in words:
        return "verbalizer: an empty word"
    twice = repeated(sorted(word.lower() for word in words))
    return f"verbalizer: {twice!r} stands in two places" if twice else ""


class ExtraWords(Strict):
    """A user's additions to a verbalizer: words per group, and words that belong to one by stereotype only."""

    verbalizer: WordLists = Field(default_factory=dict)
    implicit: WordLists = Field(default_factory=dict)


def word_lists(material: CounterActsMaterial, extra_file: str) -> tuple[WordLists, WordLists]:
    """Words that name a group, and words that belong to one by stereotype only, with the user's additions."""
    explicit, implicit = dict(material.verbalizer), dict(material.implicit)
    if not extra_file:
        return explicit, implicit
    extra = files.parse(files.path_of(extra_file), ExtraWords)
    for group in (*extra.verbalizer, *extra.implicit):
        if group not in material.groups:
            raise BadInput(f"{extra_file}: no group '{group}'{nearest(group, list(material.groups))}")
    for group, words in extra.verbalizer.items():
        explicit[group] = _together(explicit.get(group, ()), words)
        named = {word.lower() for word in words}  # a word may be moved from stereotype to name
        implicit[group] = tuple(word for word in implicit.get(group, ()) if word.lower() not in named)
    for group, words in extra.implicit.items():
        implicit[group] = _together(implicit.get(group, ()), words)
    problem = word_list_problem(explicit, implicit)
    if problem:
        raise BadInput(f"{extra_file}: together with the material, {problem}")
    return explicit, implicit


def _together(words: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*words, *more)))
