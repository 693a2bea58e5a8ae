"""Prince's tacit assumptions (1978, in Weir, Poliak & Van Durme 2020, figure 4): a person, a country, both ways.

What has parents, siblings, relatives, a home …? And a country has a …? Two concepts and a handful of sentences: this
shows examples, as the paper does, and supports no general statement. Positive `own_over_other_nats`: the concept fits
its own properties better than the other concept does, or its own properties fit it better than the other's do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from trueprobe.probes.display import ReportSpec, Summary
from trueprobe.probes.tacit import report
from trueprobe.probes.tacit.common import TacitProbe, TacitSettings, as_asked, gold_columns, tied, top_columns
from trueprobe.probes.tacit.measures import TOP, PrinceMeasures
from trueprobe.probes.templates import BLANK, with_article
from trueprobe.statistics.ranking import average_precision, reciprocal_rank
from trueprobe.types import Answer, Card, FillBlank, Filled, Item, Observation, Request, WhyNot, Word

RELATIONS = ("has a", "has")


class TacitPrince(TacitProbe[TacitSettings]):
    name = "tacit_prince"
    short = "what Ellen Prince took for granted: does a model, too?"
    question = (
        "What Ellen Prince took for granted of a person and of a country: does a model find the one from her list, and "
        "her list from the other?"
    )
    does_not_show = "Anything beyond these two examples: there are too few sentences for an interval."
    Settings = TacitSettings

    def __init__(self, settings: TacitSettings) -> None:
        super().__init__(settings)
        wordings = [*self.prompts.retrieval, *self.prompts.production]
        chosen = self.chosen_wordings(list(dict.fromkeys(wordings)))
        self.retrieval = {n: w for n, w in self.prompts.retrieval.items() if n in chosen}
        self.production = {n: w for n, w in self.prompts.production.items() if n in chosen}
        self.concepts = tuple(self.prompts.prince)
        self.words = {r: self._all(r) for r in RELATIONS}

    def _all(self, relation: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(w for e in self.prompts.prince.values() for w in e.words(relation)))

    # ------------------------------------------------------------ items

    def items(self) -> list[Item]:
        retrieval = [self._from_properties(n, c) for n, c in product(self.retrieval, self.concepts)]
        return retrieval + [
            self._from_concept(name, concept, relation)
            for name, concept, relation in product(self.production, self.concepts, RELATIONS)
            if self.prompts.prince[concept].words(relation)
        ]

    def _from_properties(self, wording: str, concept: str) -> Item:
        asked, listed = self.retrieval[wording], self.prompts.prince[concept].whole
        masked, causal = (template.format(properties=listed) for template in (asked.masked, asked.causal))
        fields = {"concept": concept, "relation": "", "masked": masked, "causal": causal}
        return self._item("concept_from_properties", wording, concept, "-", fields)

    def _from_concept(self, wording: str, concept: str, relation: str) -> Item:
        text = self.production[wording].format(concept=with_article(concept), relation=relation)
        fields = {"concept": concept, "relation": relation, "masked": text, "causal": text}
        return self._item("properties_from_concept", wording, concept, relation, fields)

    def _item(self, direction: str, wording: str, concept: str, relation: str, fields: Mapping[str, Any]) -> Item:
        conditions = {"direction": direction, "wording": wording, "concept": concept, "relation": relation}
        return Item(
            "/".join(conditions.values()), fields["masked"], conditions=conditions, groups=(concept,), fields=fields
        )

    # ------------------------------------------------------------ asking

    def _asked_for(self, item: Item) -> tuple[str, ...]:
        relation = item.fields["relation"]
        return self.words[relation] if relation else self.concepts

    def _right_words(self, item: Item) -> tuple[str, ...]:
        concept, relation = item.fields["concept"], item.fields["relation"]
        return self.prompts.prince[concept].words(relation) if relation else (concept,)

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        why = self.refuse(self._right_words(item), card)
        if why is not None:
            return why
        left, right = self._prompt(item, card).split(BLANK)
        return (FillBlank(left, right, words=self._asked_for(item), within=self.vocabulary, top=TOP),)

    def _prompt(self, item: Item, card: Card) -> str:
        return as_asked(item.fields["masked" if card.kind == "masked" else "causal"], card)

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        (asked,) = answers
        assert isinstance(asked, Filled)
        right = self._right_words(item)
        scored = {word: answer for word in right if isinstance(answer := asked.words[word], Word)}
        if not scored:
            why = next(answer for word in right if isinstance(answer := asked.words[word], WhyNot))
            return [Observation(item.id, why_not=why)]
        values = self._properties(asked, scored, len(right)) if item.fields["relation"] else self._concept(scored)
        values |= {"own_over_other_nats": self._over_other(item, asked), "prompt": self._prompt(item, card)}
        values |= {"tied": tied(scored.values()), **top_columns(asked)}
        return [Observation(item.id, {**values, "answer": values["top_words"][0]})]

    def _concept(self, scored: Mapping[str, Word]) -> dict[str, Any]:
        (word,) = scored.values()
        assert word.rank is not None
        return {"rank": word.rank, "reciprocal_rank": reciprocal_rank(word.rank), "probability": math.exp(word.logp)}

    def _properties(self, asked: Filled, scored: Mapping[str, Word], count: int) -> dict[str, Any]:
        values = gold_columns(asked, scored, count)
        return {**values, "ap_vocabulary": average_precision(values["gold_ranks"])}

    def _over_other(self, item: Item, asked: Filled) -> float:
        right = self._right_words(item)
        others = tuple(word for word in self._asked_for(item) if word not in right)
        ours, theirs = (np.asarray(asked.logps(words), dtype=float) for words in (right, others))
        ours, theirs = ours[~np.isnan(ours)], theirs[~np.isnan(theirs)]
        return float(ours.mean() - theirs.mean()) if len(ours) and len(theirs) else math.nan

    # ------------------------------------------------------------ declarations

    @property
    def measure_set(self) -> PrinceMeasures:
        return PrinceMeasures(self.concepts, self.vocabulary_facts())

    @property
    def summary(self) -> Summary:
        measures = ("reciprocal_rank", "probability", "map_vocabulary", "any_gold", "own_over_other")
        titles = ("MRR", "probability", "mAP", "in top 10", "own over other")
        note = "two concepts: examples, no verdicts; the words are in the observations (top_words)"
        examples = {"wording": (next(iter(self.retrieval), ""), next(iter(self.production), ""))}
        notes = (note, self.vocabulary_note())
        finding = "its own words over the other concept's, nats"
        rows = ("direction", "concept")
        return Summary(
            rows,
            row_title="asked",
            measures=measures,
            where={},
            titles=titles,
            finding=finding,
            examples=examples,
            notes=notes,
        )

    @property
    def page(self) -> ReportSpec:
        return report.prince()

    def planted(self, item: Item, request: Request, strength: float) -> Mapping[str, float]:
        return dict.fromkeys(self._right_words(item), strength)

    def facts(self) -> dict[str, Any]:
        lists = {n: {"said": e.whole, "has": e.has, "has a": e.has_a} for n, e in self.prompts.prince.items()}
        return {**super().facts(), "prince": lists, "wordings": [*self.retrieval, *self.production]}


PROBE = TacitPrince
