"""Questions of the page, asked of one checkpoint after the other; each yields what is sent as soon as it is there.

Masses are summed as `counteracts` sums them over the whole list, tokens aligned as `crows_pairs` aligns them.

Models are named at the start, opened when they are first asked, and stay open. Everything that opens, asks or caches
happens in one thread (`server.AskingThread`): SQLite is bound to the thread that opened it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe.engine import AnswerStore, Engine, library_versions
from trueprobe.errors import BadInput, nearest
from trueprobe.explore.guard import BlankQuestion, Prompt, TwoSentences
from trueprobe.models import Options, Unopened, examine, find
from trueprobe.models.specs import sources
from trueprobe.probes.counteracts.coverage import unlisted
from trueprobe.probes.counteracts.probe import case_forms
from trueprobe.probes.counteracts.suggestions import LISTS, word_lists
from trueprobe.probes.crows_pairs.tokens import shared_positions
from trueprobe.runs.families import Family, families
from trueprobe.scoring import around_blank, joined_as
from trueprobe.types import Answer, Card, FillBlank, Filled, Join, Request, Scored, ScoreText, Token, WhyNot, Word


@dataclass(frozen=True)
class NamedModels:
    """What the SPECs name, examined and not opened."""

    checkpoints: Mapping[str, Unopened]  # by name
    specs: Mapping[str, str]  # by the name of a checkpoint: how the user named it

    @classmethod
    def of(cls, specs: Sequence[str], options: Options) -> NamedModels:
        checkpoints = [examine(source, options) for source in find(specs, options)]
        named = {source.name: spec for spec in specs for source in sources(spec, options.allow_pickle)}
        return cls({one.outline.card.name: one for one in checkpoints}, named)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        return families([one.outline.card for one in self.checkpoints.values()])

    def cards(self, names: Sequence[str]) -> list[Card]:
        """The checkpoints that stand for families, at their last step; of all families without names."""
        by_name = {family.name: family for family in self.families}
        for name in names:
            if name not in by_name:
                raise BadInput(f"no model '{name}' here{nearest(name, list(by_name))}")
        return [card for name, family in by_name.items() if not names or name in names for card in family.checkpoints]


class Engines:
    """One engine for each checkpoint, all on one store. Of the worker's thread alone."""

    def __init__(self, selected: NamedModels, store: Path | None) -> None:
        self.selected, self._path = selected, store
        self._store: AnswerStore | None = None
        self._engines: dict[str, Engine] = {}

    def is_open(self, name: str) -> bool:
        return name in self._engines

    def __getitem__(self, name: str) -> Engine:
        if self._store is None:
            self._store = AnswerStore(self._path, library_versions())
        if name not in self._engines:
            self._engines[name] = Engine(self.selected.checkpoints[name].open(), self._store)
        return self._engines[name]

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


# ---------------------------------------------------------------- the models that can be asked


FORMS = len(tuple(case_forms(["word"])))
Part = dict[str, Any]  # one line of the answer, as JSON


@dataclass(frozen=True)
class WordGroup:
    name: str
    words: tuple[str, ...]

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """In the order in which `counteracts` sums them: the last bit depends on it."""
        return tuple(case_forms(self.words))

    @cached_property
    def lower(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self.words)


@cache
def shipped_groups(name: str) -> tuple[WordGroup, WordGroup]:
    if name not in LISTS:
        raise BadInput(f"no word lists '{name}'{nearest(name, LISTS)}")
    first, second = (WordGroup(group, words) for group, words in word_lists(name).items())
    return first, second


def groups_of(asked: BlankQuestion) -> tuple[WordGroup, WordGroup]:
    if asked.lists:
        return shipped_groups(asked.lists)
    both = {word.lower() for word in asked.first} & {word.lower() for word in asked.second}
    if both:
        raise BadInput(f"'{min(both)}' is in both lists")
    first, second = (tuple(dict.fromkeys(words)) for words in (asked.first, asked.second))
    return WordGroup("first", first), WordGroup("second", second)


def _opening(engines: Engines, card: Card) -> Iterator[Part]:
    if not engines.is_open(card.name):
        yield {"opening": card.name}


# ---------------------------------------------------------------- blanks


def fill(asked: BlankQuestion, engines: Engines) -> Iterator[Part]:
    """A line for each checkpoint, with a reading for each prompt."""
    groups = groups_of(asked)
    for prompt in asked.prompts:
        around_blank(prompt.text)
    for card in engines.selected.cards(asked.models):
        yield from _opening(engines, card)
        requests = [_request(prompt, groups, asked.top, card) for prompt in asked.prompts]
        answered = iter(engines[card.name].answer([one for one in requests if not isinstance(one, WhyNot)]))
        answers = [one if isinstance(one, WhyNot) else next(answered) for one in requests]
        yield {"model": card.name, "readings": [_reading(answer, groups) for answer in answers]}


def _request(prompt: Prompt, groups: tuple[WordGroup, WordGroup], top: int, card: Card) -> Request | WhyNot:
    words = tuple(dict.fromkeys(form for group in groups for form in group.forms))
    join: Join = prompt.join or joined_as(card)
    left, right = around_blank(prompt.text)
    if card.kind == "causal":
        left, right = around_blank(prompt.causal) if prompt.causal else (left, right)
        right, join = right if re.search(r"\w", right) else "", "space" if join == "pair" else join
    return FillBlank(left, right=right, before=prompt.before or None, join=join, words=words, top=top)


def _reading(answer: Answer | WhyNot, groups: tuple[WordGroup, WordGroup]) -> Part:
    """Without a number where the model has nearly none of a group's words as one piece: zero would be no answer."""
    if isinstance(answer, WhyNot):
        return {"why": answer.code, "detail": answer.detail}
    assert isinstance(answer, Filled)
    top = [[token.text.strip() or token.text, math.exp(token.logp), _side(token, groups)] for token in answer.top]
    left_out = [_left_out(answer, group) for group in groups]
    counted = {g.name: len(g.words) - len(out) for g, out in zip(groups, left_out, strict=True) if g.words}
    why = unlisted(counted, {group.name: group.words for group in groups})
    if why is not None:
        return {"why": why.code, "detail": why.detail, "top": top}
    first, second = (answer.mass(group.forms) for group in groups)
    numbers = {"first": first, "second": second, "margin": first - second, "best": _best(answer, groups[0])}
    return {**numbers, "left_out": left_out, "top": top}


def _side(token: Token, groups: tuple[WordGroup, WordGroup]) -> int:
    """1 or 2 for a word of a group, else 0."""
    word = token.text.strip().lower()
    return next((i for i, group in enumerate(groups, 1) if word in group.lower), 0)


def _best(filled: Filled, group: WordGroup) -> Part | None:
    """The likeliest word of the group, with its rank in the vocabulary."""
    logps = np.asarray(filled.logps(group.forms), dtype=float)
    if not len(logps) or np.isnan(logps).all():
        return None
    form = group.forms[int(np.nanargmax(logps))]
    word = filled.words[form]
    assert isinstance(word, Word)
    return {"word": form, "rank": word.rank, "of": filled.list_size, "logp": word.logp}


def _left_out(filled: Filled, group: WordGroup) -> list[str]:
    """Words that this vocabulary does not have as one piece, in any case."""
    logps = np.asarray(filled.logps(group.forms), dtype=float).reshape(-1, FORMS)
    lacking = np.isnan(logps).all(axis=1)
    return [word for word, lacks in zip(group.words, lacking, strict=True) if lacks]


# ---------------------------------------------------------------- two sentences


def compare(asked: TwoSentences, engines: Engines) -> Iterator[Part]:
    """A line for each checkpoint, with both sentences token by token."""
    for text in (asked.first, asked.second):
        if not text.strip():
            raise BadInput("two sentences are needed")
    for card in engines.selected.cards(asked.models):
        yield from _opening(engines, card)
        masking = asked.masking if card.kind == "masked" else "each"
        requests = [ScoreText(text, masking=masking, ranks=True) for text in (asked.first, asked.second)]
        yield {"model": card.name, **_compared(engines[card.name].answer(requests))}


def _compared(answers: Sequence[Answer | WhyNot]) -> Part:
    for answer in answers:
        if isinstance(answer, WhyNot):
            return {"why": answer.code, "detail": answer.detail}
    first, second = (answer for answer in answers if isinstance(answer, Scored))
    shared = shared_positions(first, second)
    sides = [_side_of(scored, positions) for scored, positions in zip((first, second), shared, strict=True)]
    return {"sides": sides, "shared": [_sum_shared(side) for side in sides], "whole": [first.logp, second.logp]}


def _side_of(scored: Scored, shared: set[int]) -> list[Part]:
    return [
        {"text": token.text, "logp": token.logp, "rank": token.rank, "span": token.span, "shared": position in shared}
        for token, position in zip(scored.tokens, scored.positions, strict=True)
    ]


def _sum_shared(side: Sequence[Part]) -> float:
    logps: list[float] = [token["logp"] for token in side if token["shared"]]
    return sum(logps)
