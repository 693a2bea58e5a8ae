"""Tacit assumptions (Weir, Poliak & Van Durme 2020), from the concept to properties: everyone knows that a bear has …?

A sentence begins with a concept and a relation (is, is a, has, has a, is made of); the gold answers are the single
words people gave. Counted is how high they stand: average precision over the vocabulary and over the words people gave
for that relation, and whether likelier means named by more people. Not shown: that another completion is wrong; people
name what strikes them, not all that is true, and "has arrived" is good English too. Departure from the paper: its
evaluation sets could not be rebuilt to the last prompt; ours are the concepts that start with no vowel and have a gold
word in the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.tacit import report, sampling
from trueprobe.probes.tacit.common import NormProbe, NormSettings, as_asked, gold_columns, tied, top_columns
from trueprobe.probes.tacit.measures import TOP, ProductionMeasures
from trueprobe.probes.tacit.norms import Concept
from trueprobe.probes.tacit.phrases import RELATIONS, completion, spoken
from trueprobe.probes.templates import BLANK, starts_with_vowel, with_article
from trueprobe.statistics.ranking import average_precision, ranks_within, spearman
from trueprobe.types import Answer, Card, FillBlank, Filled, Item, Observation, Request, WhyNot, Word


class ProductionSettings(NormSettings):
    concepts: Literal["auto", "paper", "all"] = Field(
        default="auto", description="paper: all that start with no vowel; auto: paper for CSLB, else all"
    )
    alternatives: Literal["each", "label"] = Field(
        default="each",
        description="frequency of a word, for ρ, where norms list alternatives of a property: the number of people who "
        "gave this alternative (each), or the frequency of the whole property (label)",
    )
    draw_seed: int = Field(
        default=0, ge=0, description="random seed of the completions that are drawn, as many as people gave"
    )


class TacitProduction(NormProbe[ProductionSettings]):
    name = "tacit_production"
    short = "which properties does a model name, and do people name them?"
    question = (
        "Asked to complete a sentence about a thing, does a model give the properties that people name for it, and the "
        "ones most people name first?"
    )
    does_not_show = (
        "That another completion is wrong: people name what strikes them, not all that is true. Completions of several "
        "words are not asked for. The starter norms are authored, not elicited."
    )
    Settings = ProductionSettings

    def __init__(self, settings: ProductionSettings) -> None:
        super().__init__(settings)
        self.wordings = self.chosen_wordings(list(self.prompts.production))
        self.gold = self._gold()
        self.relations = tuple(r for r in RELATIONS if any(relation == r for _, relation in self.gold))
        self.narrow()

    def _gold(self) -> dict[tuple[str, str], dict[str, float]]:
        """Single-word completions with how many people gave them, by concept and relation, most frequent first.

        All forms of a property count. Of all concepts of the norms, asked about or not: what people gave for the others
        are completions too."""
        gold: dict[tuple[str, str], dict[str, float]] = {}
        each = self.settings.alternatives == "each"
        for concept in self.norms.concepts:
            numbers = concept.people_by_form() if each else concept.totals_by_form()
            for form, people in numbers.items():
                if done := completion(form):
                    relation, word = done
                    gold.setdefault((concept.name, relation), {})[word] = people
        return {key: dict(sorted(words.items(), key=_frequent_first)) for key, words in gold.items()}

    def papers_concepts(self) -> tuple[Concept, ...]:
        """All that start with no vowel: those of retrieval must be one piece as well, but here they are not asked for.

        Which of them have a sentence depends on the vocabulary: of CSLB, no rule gives all five of the paper's sets."""
        return tuple(concept for concept in self.norms.concepts if not starts_with_vowel(concept.name))

    def narrow(self) -> None:
        """The words people gave for each relation, of any concept, that ranks can be counted for."""
        words = {r: sorted({w for (_, o), gold in self.gold.items() if o == r for w in gold}) for r in RELATIONS}
        self.completions = {relation: self.listed(completions) for relation, completions in words.items()}
        self.column = {r: {word: i for i, word in enumerate(words)} for r, words in self.completions.items()}

    # ------------------------------------------------------------ items

    def items(self) -> list[Item]:
        return [
            self._item(wording, concept.name, relation)
            for wording in self.wordings
            for relation in self.relations
            for concept in self.concepts
            if (concept.name, relation) in self.gold
        ]

    def _item(self, wording: str, concept: str, relation: str) -> Item:
        named = spoken(concept)
        prompt = self.prompts.production[wording].format(concept=with_article(named), relation=relation)
        alone = f"A{with_article(named)[1:]} {relation} {BLANK}."
        return Item(
            id=f"{wording}/{relation}/{concept}",
            text=prompt,
            conditions={"wording": wording, "relation": relation},
            groups=(concept,),
            fields={"concept": concept, "alone": alone},
        )

    # ------------------------------------------------------------ asking

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """The sentence, and the same without what stands before it."""
        relation = str(item.conditions["relation"])
        why = self.refuse(tuple(self.gold[item.fields["concept"], relation]), card)
        if why is not None:
            return why
        return tuple(
            self._request(text, self.completions[relation], card) for text in (item.text, item.fields["alone"])
        )

    def _request(self, text: str, words: tuple[str, ...], card: Card) -> FillBlank:
        left, right = as_asked(text, card).split(BLANK)
        return FillBlank(left, right, words=words, within=self.vocabulary, top=TOP)

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        asked, alone = (answer for answer in answers if isinstance(answer, Filled))
        relation = str(item.conditions["relation"])
        frequencies = self.gold[item.fields["concept"], relation]
        in_list = {word: asked.words[word] for word in self.listed(tuple(frequencies))}
        gold = {word: answer for word, answer in in_list.items() if isinstance(answer, Word)}
        if not gold:
            return [Observation(item.id, why_not=next(why for why in in_list.values() if isinstance(why, WhyNot)))]
        words = self.completions[relation]
        logps = np.asarray(asked.logps(words), dtype=float)
        columns, given = [self.column[relation][word] for word in gold], [frequencies[word] for word in gold]
        values = {
            **gold_columns(asked, gold, len(frequencies)),
            **_precisions(gold, alone, ranks_within(logps)[columns]),
            "tied": tied(gold.values()),
            "spearman": spearman(given, logps[columns]),
            **sampling.sampled(logps, columns, given, sampling.seed_of(self.settings.draw_seed, item.id)),
            "gold_over_others_nats": _over_others(logps, columns),
            "mass_outside": 1 - asked.mass(words),
            "prompt": as_asked(item.text, card),
            **_answer(asked, gold),
            **top_columns(asked),
        }
        return [Observation(item.id, values)]

    # ------------------------------------------------------------ declarations

    @property
    def measure_set(self) -> ProductionMeasures:
        frequencies = self.norms.has_frequencies
        return ProductionMeasures(
            self.wordings, relations=self.relations, frequencies=frequencies, vocabulary=self.vocabulary_facts()
        )

    @property
    def summary(self) -> Summary:
        return report.production_summary(self.displayed_wording, self.notes())

    @property
    def primary(self) -> tuple[Primary, ...]:
        return report.production_primary(self.displayed_wording)

    @property
    def page(self) -> ReportSpec:
        return report.production(self.displayed_wording)

    def planted(self, item: Item, request: Request, strength: float) -> Mapping[str, float]:
        return dict.fromkeys(self.gold[item.fields["concept"], str(item.conditions["relation"])], strength)

    def facts(self) -> dict[str, Any]:
        sizes = {relation: len(self.completions[relation]) for relation in self.relations}
        prompts = {relation: self._sentences(relation) for relation in self.relations}
        return {**super().facts(), "wordings": list(self.wordings), "completions": sizes, "prompts_of": prompts}

    def count_of(self, what: str, conditions: Mapping[str, str]) -> float:
        return self._sentences(conditions["relation"]) if what == "prompts" else math.nan

    def _sentences(self, relation: str) -> int:
        """Those of a wording that can be scored: with a gold word in the vocabulary."""
        return sum(bool(self.listed(tuple(self.gold.get((c.name, relation), ())))) for c in self.concepts)


def _frequent_first(entry: tuple[str, float]) -> float:
    return 0.0 if math.isnan(entry[1]) else -entry[1]


def _precisions(gold: Mapping[str, Word], alone: Filled, within: np.ndarray) -> dict[str, float]:
    """Average precision over the vocabulary, over the completions (from the ranks `within` them), without context."""
    whole = average_precision(_ranks(gold.values()))
    completions = average_precision(within)
    without = average_precision(_ranks(alone.words[word] for word in gold))
    return {
        "ap_vocabulary": whole,
        "ap_completions": completions,
        "ap_gain": completions - whole,
        "ap_without_context": without,
        "ap_change": without - whole,
        "ap_fall": whole - without,
    }


def _answer(asked: Filled, gold: Mapping[str, Word]) -> dict[str, Any]:
    """The likeliest word, and whether people gave it."""
    if not asked.top:
        return {"answer": "", "answer_code": math.nan, "answer_is_gold": 0.0}
    first = asked.top[0]
    is_gold = first.id in {word.pieces[0].id for word in gold.values()}
    return {"answer": first.text.strip(), "answer_code": first.id, "answer_is_gold": float(is_gold)}


def _ranks(words: Iterable[Word | WhyNot]) -> list[int]:
    return [word.rank for word in words if isinstance(word, Word) and word.rank is not None]


def _over_others(logps: np.ndarray, gold: Sequence[int]) -> float:
    """Mean log-probability of the gold words minus that of the other completions."""
    others = np.delete(logps, gold)
    others = others[~np.isnan(others)]
    return float(np.nanmean(logps[gold]) - others.mean()) if len(others) else math.nan


PROBE = TacitProduction
