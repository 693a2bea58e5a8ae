"""Tacit assumptions (Weir, Poliak & Van Durme 2020), from the concept to properties: everyone knows that a bear has …?

A sentence begins with a concept and a relation (is, is a, has, has a, is made of); the gold answers are the single
words people gave. Counted is how high they stand: average precision over the vocabulary and over the words people gave
for that relation, and whether likelier means named by more people. Not shown: that another completion is wrong; people
name what strikes them, not all that is true, and "has arrived" is good English too. Departure from the paper: its
evaluation sets could not be rebuilt to the last prompt; ours are those with a gold word in the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trueprobe.probes.counteracts.material import BLANK, article_for
from trueprobe.probes.display import ReportSpec, Summary
from trueprobe.probes.tacit import report
from trueprobe.probes.tacit.common import TOP, NormSettings, OfNorms, columns_with, tied, top_words
from trueprobe.probes.tacit.measures import PRODUCTION_COLUMNS, ProductionCounting
from trueprobe.probes.tacit.phrases import RELATIONS, completion
from trueprobe.statistics.measure import Claim, Measure
from trueprobe.statistics.retrieval import average_precision, ranks_within, spearman
from trueprobe.types import Answer, Card, FillBlank, Filled, Item, Observation, Request, WhyNot, Word


class TacitProduction(OfNorms):
    name = "tacit_production"
    question = (
        "Asked to complete a sentence about a thing, does a model give the properties that people name for it, and the "
        "ones most people name first?"
    )
    does_not_show = (
        "That another completion is wrong: people name what strikes them, not all that is true. Completions of several "
        "words are not asked for. The starter norms are authored, not elicited."
    )
    Settings = NormSettings

    def __init__(self, settings: NormSettings) -> None:
        super().__init__(settings)
        self.wordings = self.chosen_wordings(list(self.prompts.production))
        self.gold = self._gold()
        self.relations = tuple(r for r in RELATIONS if any(relation == r for _, relation in self.gold))
        self.narrow()

    def _gold(self) -> dict[tuple[str, str], dict[str, float]]:
        """Single-word completions with their frequency, by concept and relation, most frequent first.

        All forms of a property count; where two properties give one word, the more frequent one does."""
        gold: dict[tuple[str, str], dict[str, float]] = {}
        for concept in self.concepts:
            for listed in concept.properties:
                for found in dict.fromkeys(filter(None, map(completion, listed.forms))):
                    gold.setdefault((concept.name, found[0]), {}).setdefault(found[1], listed.frequency)
        return gold

    def narrow(self) -> None:
        """The words people gave for each relation, of any concept, that ranks can be counted for."""
        given = {r: sorted({w for (_, o), words in self.gold.items() if o == r for w in words}) for r in RELATIONS}
        self.completions = {relation: self.listed(words) for relation, words in given.items()}
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
        named = concept.replace("_", " ")
        prompt = self.prompts.production[wording].format(concept=f"{article_for(named)} {named}", relation=relation)
        alone = f"{article_for(named).capitalize()} {named} {relation} {BLANK}."
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
        if card.kind == "encoder":
            return WhyNot("no_head", "an encoder fills no blanks")
        gold = self.gold[item.fields["concept"], str(item.conditions["relation"])]
        if not self.listed(tuple(gold)):
            return WhyNot("not_in_list", f"none of {', '.join(gold)} is in the vocabulary"[:200])
        words = self.completions[str(item.conditions["relation"])]
        return tuple(self._request(text, words, card) for text in (item.text, item.fields["alone"]))

    def _request(self, text: str, words: tuple[str, ...], card: Card) -> FillBlank:
        left, right = _as_asked(text, card).split(BLANK)
        return FillBlank(left, right, words=words, within=self.vocabulary, top=TOP)

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        asked, alone = answers
        assert isinstance(asked, Filled)
        assert isinstance(alone, Filled)
        relation = str(item.conditions["relation"])
        given = self.gold[item.fields["concept"], relation]
        found = {word: asked.words[word] for word in self.listed(tuple(given))}
        gold = {word: value for word, value in found.items() if isinstance(value, Word)}
        if not gold:
            return [Observation(item.id, why_not=next(v for v in found.values() if isinstance(v, WhyNot)))]
        words = self.completions[relation]
        logps = np.asarray(asked.logps(words), dtype=float)
        columns = [self.column[relation][word] for word in gold]
        ranks = _ranks(gold.values())
        precision = average_precision(ranks)
        within = average_precision(ranks_within(logps)[columns])
        without = average_precision(_ranks(alone.words[word] for word in gold))
        values: dict[str, Any] = {
            "gold": list(gold),
            "gold_ranks": ranks,
            "gold_probabilities": [math.exp(value.logp) for value in gold.values()],
            "gold_left_out": len(given) - len(gold),
            "tied": tied(gold.values()),
            "ap_vocabulary": precision,
            "ap_completions": within,
            "ap_gain": within - precision,
            "ap_without_context": without,
            "ap_change": without - precision,
            "spearman": spearman([given[word] for word in gold], logps[columns]),
            "gold_over_others_nats": _over_others(logps, columns),
            "mass_outside": 1 - asked.mass(words),
            "prompt": _as_asked(item.text, card),
            **answered(asked, gold),
        }
        return [Observation(item.id, values)]

    # ------------------------------------------------------------ counting

    @property
    def _counting(self) -> ProductionCounting:
        return ProductionCounting(self.wordings, self.relations, self.norms.has_frequencies, self.shown())

    def columns(self) -> dict[str, str]:
        return columns_with(PRODUCTION_COLUMNS)

    def measures(self) -> list[Measure]:
        return list(self._counting.measures())

    def claims(self) -> list[Claim]:
        return list(self._counting.claims())

    @property
    def headline(self) -> Measure:
        return self._counting.headline

    @property
    def summary(self) -> Summary:
        measures = (
            "map_vocabulary",
            "map_completions",
            "spearman",
            "change_without_context",
            "regardless_of_concept",
            "mass_outside",
        )
        titles = ("mAP", "completions", "ρ", "no context", "same", "outside")
        wording = "all" if len(self.wordings) > 1 else self.wordings[0]
        legend = (
            "mAP: over the vocabulary; completions: over the words people gave for the relation; ρ: with production "
            "frequency; no context: change of mAP without `Everyone knows that`; same: share of concepts that get the "
            "commonest answer; outside: probability of all but the words people gave for the relation"
        )
        intervals = ("map_vocabulary",)
        notes = (legend, *self.notes())
        return Summary("relation", "relation", measures, {"wording": wording}, titles, intervals=intervals, notes=notes)

    @property
    def report(self) -> ReportSpec:
        return report.production("all" if len(self.wordings) > 1 else self.wordings[0])

    def planted(self, item: Item, request: Request, strength: float) -> Mapping[str, float]:
        return dict.fromkeys(self.gold[item.fields["concept"], str(item.conditions["relation"])], strength)

    def facts(self) -> dict[str, Any]:
        sizes = {relation: len(self.completions[relation]) for relation in self.relations}
        prompts = {r: sum(o == r for _, o in self.gold) for r in self.relations}
        return {**super().facts(), "wordings": list(self.wordings), "completions": sizes, "prompts_of": prompts}


def _as_asked(text: str, card: Card) -> str:
    return text if card.kind == "masked" else text.split(BLANK)[0] + BLANK


def answered(asked: Filled, gold: Mapping[str, Word]) -> dict[str, Any]:
    """The likeliest words, and whether people gave them."""
    top = top_words(asked)
    ids = {word.pieces[0].id for word in gold.values()}
    return {
        "answer": top[0] if top else "",
        "answer_code": asked.top[0].id if top else math.nan,
        "answer_is_gold": float(bool(top) and asked.top[0].id in ids),
        "any_gold": float(any(token.id in ids for token in asked.top)),
        "top_words": top,
        "top_probabilities": [math.exp(token.logp) for token in asked.top],
    }


def _ranks(words: Iterable[Word | WhyNot]) -> list[int]:
    return [word.rank for word in words if isinstance(word, Word) and word.rank is not None]


def _over_others(logps: np.ndarray, gold: Sequence[int]) -> float:
    """Mean log-probability of the gold words less that of the other completions."""
    others = np.delete(logps, gold)
    others = others[~np.isnan(others)]
    return float(np.nanmean(logps[gold]) - others.mean()) if len(others) else math.nan


PROBE = TacitProduction
