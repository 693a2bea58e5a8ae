"""Tacit assumptions (Weir, Poliak & Van Durme 2020), from properties to concepts: what has fur and is big?

The list of properties grows from one to ten, most frequent first; asked is the rank of the concept within a vocabulary
that all models share. Positive `concept_over_others_nats`: the concept is likelier than the other concepts are given
its own properties; over all concepts, a model that does not look at the properties has exactly zero. Not shown: that a
wrong answer is a mistake: other concepts may fit the same clues, and `fits_all` counts them. Departures from the paper:
causal models are asked left to right, and `article=own` can keep concepts that start with a vowel.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.tacit import material, multiverse, report
from trueprobe.probes.tacit.common import NormProbe, NormSettings, as_asked, top_words
from trueprobe.probes.tacit.material import with_blank_article
from trueprobe.probes.tacit.measures import MOST, NAMES_CONCEPT, TOP, RetrievalMeasures
from trueprobe.probes.tacit.norms import CATEGORIES, Concept, Property
from trueprobe.probes.tacit.phrases import joined, names
from trueprobe.probes.templates import BLANK, article_for, starts_with_vowel
from trueprobe.statistics.multiverse import Question
from trueprobe.statistics.ranking import reciprocal_rank
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import (
    TIE_NATS,
    Answer,
    Card,
    FillBlank,
    Filled,
    Item,
    Observation,
    Request,
    WhyNot,
    Word,
    WordList,
)


class RetrievalSettings(NormSettings):
    article: Literal["a", "own"] = Field(
        default="a",
        description="a: concepts that start with a vowel are left out, as in the paper; own: each word is scored under "
        "its own article, a or an",
    )
    analyses: Literal["all", "growth"] = Field(
        default="all",
        description="all: growing lists, categories, selections by frequency against chance; growth: the first only",
    )
    random_sets: int = Field(default=5, ge=0, description="of ten properties drawn for each concept")
    random_orders: int = Field(default=5, ge=1, description="of each drawn set")


@dataclass(frozen=True, slots=True)
class Selection:
    """Some properties of a concept in the order of the prompt."""

    selection: str
    order: str
    properties: tuple[Property, ...]
    drawn: str = ""


class TacitRetrieval(NormProbe[RetrievalSettings]):
    name = "tacit_retrieval"
    short = "is a thing found from the properties people name for it?"
    question = (
        "Given properties that people name for a thing, does a model find the thing, and how many properties does it "
        "need?"
    )
    does_not_show = (
        "That a wrong answer is a mistake: other things may fit the same properties. Nor what a model knows beyond "
        "single words in one kind of sentence. The starter norms are authored, not elicited."
    )
    Settings = RetrievalSettings

    def __init__(self, settings: RetrievalSettings) -> None:
        super().__init__(settings)
        self.wordings = self.chosen_wordings(list(self.prompts.retrieval))
        self.left_out = [c.name for c in self.concepts if settings.article == "a" and starts_with_vowel(c.name)]
        self.concepts = tuple(c for c in self.concepts if c.name not in set(self.left_out))
        self.naming = {concept.name: _naming(concept) for concept in self.concepts}
        self.narrow()

    def papers_concepts(self) -> tuple[Concept, ...]:
        return material.papers_concepts(self.norms, self.settings.folders)

    # ------------------------------------------------------------ items

    def items(self) -> list[Item]:
        return [
            self._item(wording, concept, chosen, n)
            for wording in self.wordings
            for concept in self.concepts
            for chosen in self._choices(concept)
            for n in range(1, len(chosen.properties) + 1)
        ]

    @property
    def order(self) -> str:
        return "decreasing" if self.norms.has_frequencies else "listed"

    @property
    def first(self) -> str:
        return "top" if self.norms.has_frequencies else "listed"

    def _choices(self, concept: Concept) -> Iterator[Selection]:
        every = concept.properties
        yield Selection(self.first, self.order, every[:MOST])
        if self.settings.analyses == "growth":
            return
        if self.norms.has_frequencies and len(every) >= MOST:
            yield Selection("top", "increasing", every[:MOST][::-1])
            yield Selection("bottom", "decreasing", every[-MOST:])
            yield Selection("bottom", "increasing", every[-MOST:][::-1])
        if len(every) >= MOST:
            yield from self._random(concept)
        for category in CATEGORIES:
            of_category = tuple(p for p in every if p.category == category)[:MOST]
            if of_category:
                yield Selection(category, self.order, of_category)

    def _random(self, concept: Concept) -> Iterator[Selection]:
        """The same for every run of a `resample_seed`, whatever other concepts there are."""
        for i in range(self.settings.random_sets):
            rng = random.Random(f"{self.settings.resample_seed} {concept.name} {i}")
            some = rng.sample(concept.properties, MOST)
            for j in range(self.settings.random_orders):
                yield Selection("random", order="random", properties=tuple(rng.sample(some, MOST)), drawn=f"/{i}.{j}")

    def _item(self, wording: str, concept: Concept, chosen: Selection, n: int) -> Item:
        properties = chosen.properties[:n]
        clues = joined([p.phrase for p in properties])
        labels = tuple(p.label for p in properties)
        template = with_blank_article(self.prompts.retrieval[wording].masked, self._article(concept.name))
        return Item(
            id=f"{wording}/{chosen.selection}/{chosen.order}/{concept.name}{chosen.drawn}/{n}",
            text=template.format(properties=clues),
            conditions={"wording": wording, "selection": chosen.selection, "order": chosen.order, "properties": n},
            groups=(concept.name,),
            fields={"concept": concept.name, "clues": clues, "labels": labels},
            flags=() if self.naming[concept.name].isdisjoint(labels) else (NAMES_CONCEPT,),
        )

    def _article(self, word: str) -> str:
        return article_for(word) if self.settings.article == "own" else "a"

    # ------------------------------------------------------------ asking

    def narrow(self) -> None:
        """The concepts a rank can be counted for are asked together, since others' probabilities are compared."""
        single = [c.name for c in self.concepts if " " not in c.name and "_" not in c.name]
        self.names = self.listed(single)
        words = self.vocabulary or WordList("concepts", self.names)
        self.names_of = {a: tuple(n for n in self.names if article_for(n) == a) for a in ("a", "an")}
        self.words_of = {
            a: WordList(f"{words.name}, {a}", tuple(w for w in words.words if article_for(w) == a)) for a in ("a", "an")
        }

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """One prompt; with `article=own` two, each for the words that have its article."""
        concept = item.fields["concept"]
        why = self.refuse((concept,), card)
        if why is not None or concept not in self.names:
            return why or WhyNot("multi_piece", f"{concept!r} is not one word")
        if self.settings.article == "a":
            return (self._request(item, card, "a", self.names, self.vocabulary, TOP),)
        article = self._article(concept)
        other = "an" if article == "a" else "a"
        names, words = self.names_of, self.words_of
        return (
            self._request(item, card, article, names[article], words[article], TOP),
            self._request(item, card, other, names[other], words[other], len(words[other].words)),
        )

    def _request(
        self, item: Item, card: Card, article: str, words: tuple[str, ...], within: WordList | None, top: int
    ) -> FillBlank:
        left, right = self._prompt(item, card, article).split(BLANK)
        return FillBlank(left, right, words=words, within=within, top=top)

    def _prompt(self, item: Item, card: Card, article: str) -> str:
        wording = self.prompts.retrieval[str(item.conditions["wording"])]
        template = as_asked(wording.masked if card.kind == "masked" else wording.causal, card)
        return with_blank_article(template, article).format(properties=item.fields["clues"])

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        asked, *others = (answer for answer in answers if isinstance(answer, Filled))
        concept = item.fields["concept"]
        article, word = self._article(concept), asked.words[concept]
        if isinstance(word, WhyNot):
            return [Observation(item.id, why_not=word)]
        values = _ranked(word, asked, others)
        logps = np.asarray(asked.logps(self.names_of[article] if others else self.names))
        values["concept_over_others_nats"] = _over_others(word.logp, logps)
        values["prompt"] = self._prompt(item, card, article)
        return [Observation(item.id, values | self._instead(item, values["answer"]))]

    def _instead(self, item: Item, answer: str) -> dict[str, Any]:
        """Which of the clues the first-ranked word satisfies, and how many concepts fit them all, by the norms."""
        labels = item.fields["labels"]
        fitting = self.norms.fitting(labels)
        right = answer == item.fields["concept"]
        instead = self.norms.by_name.get(answer)
        shared = sum(label in instead.labels for label in labels) / len(labels) if instead else math.nan
        return {
            "fits_all": len(fitting),
            "fits_only": float(len(fitting) == 1),
            "instead_known": math.nan if right else float(instead is not None),
            "instead_satisfies": math.nan if right else shared,
            "instead_fits_all": math.nan if right or not instead else float(answer in fitting),
            NAMES_CONCEPT: float(NAMES_CONCEPT in item.flags),
            "order_at": f"{item.conditions['order']} {item.conditions['properties']}",
        }

    # ------------------------------------------------------------ declarations

    @property
    def measure_set(self) -> RetrievalMeasures:
        frequencies, everything = self.norms.has_frequencies, self.settings.analyses == "all"
        random_sets = self.settings.random_sets > 0
        return RetrievalMeasures(
            self.wordings,
            frequencies=frequencies,
            everything=everything,
            random=random_sets,
            vocabulary=self.vocabulary_facts(),
            most=self.most,
        )

    @cached_property
    def most(self) -> int:
        """The longest list, up to ten, that enough concepts have for an interval; of fewer concepts, all of them."""
        lengths = sorted((len(concept.properties) for concept in self.concepts), reverse=True)
        return max(2, min(MOST, lengths[:FEWEST_GROUPS][-1]))

    def multiverse(self, card: Card) -> list[Question]:
        return [multiverse.question(self, card)]

    @property
    def summary(self) -> Summary:
        left_out = f"{len(self.left_out)} concepts that start with a vowel are left out (article=own keeps them)"
        notes = (*self.notes(), *((left_out,) if self.left_out else ()), *self._naming_note())
        examples: dict[str, Any] = {"selection": self.first, "order": self.order, "wording": self.wordings[0]}
        examples |= {"properties": (1, 3, 8), "group_concept": self.names[:1]}
        return report.retrieval_summary(self.displayed_wording, notes, examples, self.most)

    def _naming_note(self) -> tuple[str, ...]:
        counts = [len(labels) for labels in self.naming.values() if labels]
        note = f"{sum(counts)} properties of {len(counts)} concepts name the concept itself (column {NAMES_CONCEPT})"
        return (note,) if counts else ()

    @property
    def primary(self) -> tuple[Primary, ...]:
        return report.retrieval_primary(self.displayed_wording, self.most)

    @property
    def page(self) -> ReportSpec:
        return report.retrieval(self.displayed_wording, next(iter(self.names), ""))

    def planted(self, item: Item, request: Request, strength: float) -> Mapping[str, float]:
        return {item.fields["concept"]: strength}

    def facts(self) -> dict[str, Any]:
        naming = {name: sorted(labels) for name, labels in self.naming.items() if labels}
        facts = {"left_out_for_their_article": self.left_out, "properties_that_name_the_concept": naming}
        return {**super().facts(), "wordings": list(self.wordings), **facts}

    def count_of(self, what: str, conditions: Mapping[str, str]) -> float:
        if what == "concepts_per_property":
            return self.norms.concepts_per_property().get(conditions["selection"], math.nan)
        asked = [i for i in self.items() if conditions.items() <= i.conditions.items()]
        return {"prompts": len(asked), "concepts": len({item.groups for item in asked})}.get(what, math.nan)


def _naming(concept: Concept) -> frozenset[str]:
    """The labels of properties that give the concept away."""
    return frozenset(listed.label for listed in concept.properties if names(listed.phrase, concept.name))


def _ranked(word: Word, asked: Filled, others: Sequence[Filled]) -> dict[str, Any]:
    """Under `article=own` the words of the other article are ranked with the rest, each by its own prompt."""
    assert word.rank is not None
    rank, tied, tokens = word.rank, word.tied, list(zip(top_words(asked), asked.top, strict=True))
    for other in others:
        gaps = [token.logp - word.logp for token in other.top]
        rank += sum(gap > 0 for gap in gaps)
        tied += sum(abs(gap) <= TIE_NATS for gap in gaps)
        tokens += zip(top_words(other)[:TOP], other.top, strict=False)
        tokens = sorted(tokens, key=lambda token: -token[1].logp)[:TOP]
    return {
        "rank": rank,
        "tied_words": tied,
        "tied": float(tied >= rank),
        "reciprocal_rank": reciprocal_rank(rank),
        "ranked_first": float(rank == 1),
        "probability": math.exp(word.logp),
        "log_probability": word.logp,
        "answer": tokens[0][0],
        "top_words": [text for text, _ in tokens],
        "top_probabilities": [math.exp(token.logp) for _, token in tokens],
    }


def _over_others(logp: float, logps: np.ndarray) -> float:
    """Log-probability minus the mean of the other concepts'; under `article=own`, of those with the same article."""
    scored = logps[~np.isnan(logps)].astype(float)
    return float(logp - (scored.sum() - logp) / (len(scored) - 1)) if len(scored) > 1 else math.nan


PROBE = TacitRetrieval
