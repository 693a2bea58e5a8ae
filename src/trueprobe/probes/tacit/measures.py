"""What the probes of tacit assumptions count: ranks of concepts, precision of properties, and the paper's claims.

Reciprocal ranks and average precisions lie between 0 and 1 and have no neutral value. Positive
`concept_over_others_nats` or `gold_over_others_nats`: what people said is likelier than what they said of other
concepts; the first is exactly zero for a model that does not look at the properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Measure
from trueprobe.statistics.retrieval import commonest_share

MOST = 10
NOT_VISUAL = ("functional", "encyclopaedic")
LENGTHS = tuple(range(1, MOST + 1))
SHORT = tuple(range(1, 6))  # as many properties of each category as nearly every concept has
STRONG = 0.5  # a rank correlation below this is a low one; the paper's highest is .389

Conditions = Mapping[str, str | int]

RETRIEVAL_COLUMNS = {
    "rank": "of the concept within the vocabulary, 1 is best",
    "tied_words": "how many other words lie within 1e-4 nats of it",
    "tied": "1 if they are as many as its rank or more, so that the rank says little",
    "reciprocal_rank": "1 / rank",
    "ranked_first": "1 if the rank is 1",
    "probability": "of the concept, over the model's whole vocabulary; never renormalised",
    "log_probability": "its logarithm",
    "concept_over_others_nats": "log-probability of the concept less the mean of the other concepts'",
    "fits_all": "how many concepts have all the clues by the norms, the concept itself included",
    "fits_only": "1 if it is the concept alone",
    "instead_known": "where another word was ranked first: 1 if it is a concept of the norms",
    "instead_satisfies": "the share of the clues that this word has by the norms",
    "instead_fits_all": "1 if it has all of them",
    "order_at": "order and number of properties in one",
}
_RETRIEVED: tuple[tuple[str, str, str, float | None], ...] = (
    ("reciprocal_rank", "reciprocal_rank", "ratio", None),
    ("probability", "probability", "probability", None),
    ("ranked_first", "ranked_first", "share", None),
    ("concept_over_others", "concept_over_others_nats", "nats", 0.0),
    ("instead_known", "instead_known", "share", None),
    ("instead_satisfies", "instead_satisfies", "share", None),
    ("instead_fits_all", "instead_fits_all", "share", None),
    ("fits_all", "fits_all", "concepts", None),
    ("fits_only", "fits_only", "share", None),
)


@dataclass(frozen=True)
class RetrievalCounting:
    wordings: tuple[str, ...]
    frequencies: bool  # do the norms have any?
    everything: bool  # or growing lists only
    random: bool
    vocabulary: Conditions  # stated with every number

    @property
    def _curves(self) -> list[tuple[str, str]]:
        order = "decreasing" if self.frequencies else "listed"
        curves = [("top", order)] if self.frequencies else [("listed", order)]
        if self.everything:
            more = [("top", "increasing"), ("bottom", "decreasing"), ("bottom", "increasing")]
            curves += more if self.frequencies else []
            curves += [("random", "random")] if self.random else []
            curves += [(category, order) for category in ("visual", *NOT_VISUAL)]
        return curves

    def measures(self) -> Iterator[Measure]:
        for wording in (*self.wordings, "all") if len(self.wordings) > 1 else self.wordings:
            chosen = {} if wording == "all" else {"wording": wording}
            for (selection, order), n in product(self._curves, LENGTHS):
                told: Conditions = {"selection": selection, "order": order, "properties": n}
                where, shown = {**chosen, **told}, {"wording": wording, **told, **self.vocabulary}
                for name, column, unit, neutral in _RETRIEVED:
                    yield Measure(name, means, (column,), where, shown, unit, neutral)

    def claims(self) -> Iterator[Claim]:
        """What the paper found, over all wordings of a run."""
        first, order = self._curves[0]

        def claim(name: str, says: str, plus: Mapping, minus: Mapping | None) -> Claim:
            return Claim(name, says, "B", "reciprocal_rank", plus, minus, conditions=self.vocabulary, unit="ratio")

        def grown(*lengths: int) -> dict:
            return {"selection": (first,), "order": (order,), "properties": lengths}

        yield claim("properties_help", "ten properties find the concept better than one", grown(10), grown(1))
        flattens = "the gain flattens after four or five properties: MRR with 5, less the mean of 1 and 10"
        yield claim("gain_flattens", flattens, grown(5), grown(1, 10))
        larger = "the larger of two models of one architecture finds the concept better, over one to ten properties"
        more = grown(*LENGTHS)
        yield replace(claim("larger_finds_more", larger, more, None), between=LARGER)
        other = "RoBERTa finds the concept better than BERT of the same size, over one to ten properties"
        yield replace(claim("roberta_finds_more", other, more, None), between=("roberta", "bert"))
        if not self.everything:
            return
        least = "visual properties help least: functional and encyclopaedic ones less visual ones, 1 to 5 properties"
        by = {"order": (order,), "properties": SHORT}
        yield claim("visual_helps_least", least, {"selection": NOT_VISUAL, **by}, {"selection": ("visual",), **by})
        if not self.frequencies:
            return
        orders = ("decreasing", "increasing")
        top, bottom = ({"selection": (s,), "order": orders, "properties": LENGTHS} for s in ("top", "bottom"))
        if self.random:
            chance = {"selection": ("random",), "order": ("random",), "properties": LENGTHS}
            yield claim("top_above_random", "the most frequent properties beat random ones", top, chance)
            yield claim("random_above_bottom", "random properties beat the least frequent ones", chance, bottom)
        both = {"selection": ("top", "bottom")}
        early = "most frequent first is better while lists are short (1 to 3 properties)"
        sides = ({**both, "order": (o,), "properties": (1, 2, 3)} for o in orders)
        yield claim("frequent_first_helps_early", early, *sides)
        late = "the two orders converge: their difference with 1 property less that with 10, halved"
        ends = (("decreasing 1", "increasing 10"), ("increasing 1", "decreasing 10"))
        yield claim("orders_converge", late, *({**both, "order_at": end} for end in ends))

    @property
    def headline(self) -> Measure:
        column = ("concept_over_others_nats",)
        return Measure("concept_over_others", means, column, {}, dict(self.vocabulary), "nats", 0.0)


PRODUCTION_COLUMNS = {
    "gold": "the words people completed the sentence with, of those in the vocabulary; most frequent first",
    "gold_ranks": "their ranks within the vocabulary",
    "gold_probabilities": "their probabilities, over the model's whole vocabulary",
    "gold_left_out": "how many more are not in the vocabulary",
    "tied": "1 if at least as many words as its rank lie within 1e-4 nats of the likeliest gold word",
    "ap_vocabulary": "average precision over the vocabulary",
    "ap_completions": "average precision over the words people gave for this relation, of any concept",
    "ap_gain": "ap_completions less ap_vocabulary",
    "ap_without_context": "ap_vocabulary of the sentence alone, without `Everyone knows that`",
    "ap_change": "ap_without_context less ap_vocabulary (the paper's table 2)",
    "spearman": "rank correlation of production frequency and probability among the gold words; two at least",
    "gold_over_others_nats": "mean log-probability of the gold words less that of the relation's other completions",
    "answer_is_gold": "1 if the likeliest word of the vocabulary is one that people gave",
    "answer_code": "the likeliest word as the model's own number for its piece",
    "mass_outside": "probability of everything but the words people gave for this relation",
    "any_gold": "1 if a gold word is among the likeliest ten",
}
_PRODUCED: tuple[tuple[str, str, str, float | None], ...] = (
    ("map_vocabulary", "ap_vocabulary", "ratio", None),
    ("map_completions", "ap_completions", "ratio", None),
    ("spearman", "spearman", "correlation", 0.0),
    ("map_without_context", "ap_without_context", "ratio", None),
    ("change_without_context", "ap_change", "ratio", 0.0),
    ("gold_over_others", "gold_over_others_nats", "nats", None),
    ("answer_is_gold", "answer_is_gold", "share", None),
    ("any_gold", "any_gold", "share", None),
    ("mass_outside", "mass_outside", "share", None),
)


@dataclass(frozen=True)
class ProductionCounting:
    wordings: tuple[str, ...]
    relations: tuple[str, ...]
    frequencies: bool
    vocabulary: Conditions

    def measures(self) -> Iterator[Measure]:
        for wording in (*self.wordings, "all") if len(self.wordings) > 1 else self.wordings:
            chosen = {} if wording == "all" else {"wording": wording}
            for relation in (*self.relations, "all"):
                where = chosen if relation == "all" else {**chosen, "relation": relation}
                shown = {"wording": wording, "relation": relation, **self.vocabulary}
                for name, column, unit, neutral in _PRODUCED:
                    if name != "spearman" or self.frequencies:
                        yield Measure(name, means, (column,), where, shown, unit, neutral)
                if relation != "all":
                    yield Measure("regardless_of_concept", commonest_share, ("answer_code",), where, shown, "share")

    def claims(self) -> Iterator[Claim]:
        shown = self.vocabulary
        narrower = "precision rises when only words people gave for the relation are ranked"
        each = {"relation": self.relations}
        yield Claim("completions_above_vocabulary", narrower, "B", "ap_gain", each, conditions=shown, unit="ratio")
        if self.frequencies:
            low = "probability within the gold words correlates little with how many people gave them"
            yield Claim(
                "low_correlation",
                low,
                "B",
                "spearman",
                each,
                None,
                "below",
                STRONG,
                conditions=shown,
                unit="correlation",
            )
        for relation in (r for r in ("is", "has") if r in self.relations):
            helps = f"after '{relation}', precision falls without `Everyone knows that` (all four models of table 2)"
            at = {"relation": (relation,)}
            yield Claim(
                f"context_helps_{relation}", helps, "B", "ap_change", at, None, "below", conditions=shown, unit="ratio"
            )

    @property
    def headline(self) -> Measure:
        return Measure("gold_over_others", means, ("gold_over_others_nats",), {}, dict(self.vocabulary), "nats")


PRINCE_COLUMNS = {
    "rank": "of the concept within the vocabulary (concept_from_properties)",
    "reciprocal_rank": "1 / rank",
    "probability": "of the concept, over the model's whole vocabulary",
    "gold": "Prince's words for this relation, of those in the vocabulary (properties_from_concept)",
    "gold_ranks": "their ranks within the vocabulary",
    "gold_probabilities": "their probabilities",
    "gold_left_out": "how many more are not in the vocabulary",
    "ap_vocabulary": "average precision over the vocabulary",
    "any_gold": "1 if one of them is among the likeliest ten",
    "tied": "1 if at least as many words as its rank lie within 1e-4 nats of the likeliest asked word",
    "own_over_other_nats": "log-probability of the concept (or the mean of its properties') less the other concept's",
}
_PRINCE: dict[str, tuple[tuple[str, str, str, float | None], ...]] = {
    "concept_from_properties": (
        ("reciprocal_rank", "reciprocal_rank", "ratio", None),
        ("probability", "probability", "probability", None),
        ("own_over_other", "own_over_other_nats", "nats", 0.0),
    ),
    "properties_from_concept": (
        ("map_vocabulary", "ap_vocabulary", "ratio", None),
        ("any_gold", "any_gold", "share", None),
        ("own_over_other", "own_over_other_nats", "nats", 0.0),
    ),
}


def prince_measures(concepts: tuple[str, ...], vocabulary: Conditions) -> Iterator[Measure]:
    """Of each concept and of all: few sentences, so no verdict is to be had of them."""
    for (direction, counted), concept in product(_PRINCE.items(), (*concepts, "all")):
        where = {"direction": direction} | ({} if concept == "all" else {"concept": concept})
        shown = {"direction": direction, "concept": concept, **vocabulary}
        for name, column, unit, neutral in counted:
            yield Measure(name, means, (column,), where, shown, unit, neutral)


def prince_headline(vocabulary: Conditions) -> Measure:
    return Measure("own_over_other", means, ("own_over_other_nats",), {}, dict(vocabulary), "nats", 0.0)
