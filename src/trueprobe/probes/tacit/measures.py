"""What the probes of tacit assumptions count: ranks of concepts, precision of properties, and the paper's claims.

Reciprocal ranks and average precisions lie between 0 and 1 and have no neutral value. Positive
`concept_over_others_nats` or `gold_over_others_nats`: what people named is likelier than what they named of other
concepts; the first is exactly zero for a model that does not look at the properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from trueprobe.probes.measure_sets import ALL, ColumnMean, Conditions, combinations, mean_measures, with_all
from trueprobe.probes.published import NETWORKS
from trueprobe.probes.tacit import sampling
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Gate, Lead, Margin, Measure
from trueprobe.statistics.ranking import commonest_share
from trueprobe.types import Direction, Unit

MOST = 10
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NOT_VISUAL = ("functional", "encyclopaedic")
LENGTHS = tuple(range(1, MOST + 1))
SHORT = tuple(range(1, 6))  # as many properties of each category as nearly every concept has
HALF = 0.5  # MRR: the concept is ranked first by most prompts
DOUBLED = 1.5  # what is this many times as much or more is nearer to double than to the same
LEAST_GOLD = 0.1  # of the prompts; a model that puts people's words among its ten less often has no precision to lose
STRONG = 0.5  # a rank correlation below this is a low one; the paper's highest is .389

NAMES_CONCEPT = "names_concept"  # column, and flag of an item
TOP = 10  # likeliest words that are recorded
_LEADER, *_OTHERS = (
    NETWORKS[name].size for name in ("roberta-large", "roberta-base", "bert-base-cased", "bert-large-cased")
)
_ROBERTA_BASE, _, _BERT_LARGE = _OTHERS
OVERLAPPING = ("is made of", "is a")  # relations with which models and people name the same most often
Rows = Mapping[str, tuple[str | int | float, ...]]  # conditions and columns, and their values

COMMON_COLUMNS = {
    "prompt": "as this model read it: a causal model reads nothing after the blank",
    "answer": "the likeliest word of the vocabulary",
    "top_words": f"the {TOP} likeliest words of the vocabulary",
    "top_probabilities": "their probabilities, over the model's whole vocabulary",
}

RETRIEVAL_COLUMNS = {
    "rank": "of the concept within the vocabulary, 1 is best",
    "tied_words": "how many other words lie within 1e-4 nats of it",
    "tied": "1 if they are as many as its rank or more, so that the rank says little",
    "reciprocal_rank": "1 / rank",
    "ranked_first": "1 if the rank is 1",
    "probability": "of the concept, over the model's whole vocabulary; never renormalised",
    "log_probability": "its logarithm",
    "concept_over_others_nats": "log-probability of the concept minus the mean of the other concepts'",
    "fits_all": "how many concepts have all the clues by the norms, the concept itself included",
    "fits_only": "1 if it is the concept alone",
    "instead_known": "where another word was ranked first: 1 if it is a concept of the norms",
    "instead_satisfies": "the share of the clues that this word has by the norms",
    "instead_fits_all": "1 if it has all of them",
    NAMES_CONCEPT: "1 if a clue holds the concept's own word: A ___ has an arrow head",
    "order_at": "order and number of properties in one",
}
_RETRIEVED = (
    ColumnMean("reciprocal_rank", "reciprocal_rank", Unit.SCORE),
    ColumnMean("probability", "probability", Unit.PROBABILITY),
    ColumnMean("ranked_first", "ranked_first", Unit.SHARE),
    ColumnMean("concept_over_others", "concept_over_others_nats", unit=Unit.NATS, neutral=0.0),
    ColumnMean("instead_known", "instead_known", Unit.SHARE),
    ColumnMean("instead_satisfies", "instead_satisfies", Unit.SHARE),
    ColumnMean("instead_fits_all", "instead_fits_all", Unit.SHARE),
    ColumnMean("fits_all", "fits_all", Unit.COUNT),
    ColumnMean("fits_only", "fits_only", Unit.SHARE),
)


def middle_of(most: int) -> int:
    """The number of properties behind which the paper's gain flattens, or half of a shorter list."""
    return 5 if most > 5 else (most + 1) // 2


@dataclass(frozen=True)
class RetrievalMeasures:
    wordings: tuple[str, ...]
    frequencies: bool  # do the norms have any?
    everything: bool  # or growing lists only
    random: bool
    vocabulary: Conditions  # reported with every number
    most: int = MOST  # properties that enough concepts have

    @property
    def _curves(self) -> list[tuple[str, str]]:
        """Selections of properties, each with their order."""
        order = "decreasing" if self.frequencies else "listed"
        curves = [("top", order)] if self.frequencies else [("listed", order)]
        if self.everything:
            more = [("top", "increasing"), ("bottom", "decreasing"), ("bottom", "increasing")]
            curves += more if self.frequencies else []
            curves += [("random", "random")] if self.random else []
            curves += [(category, order) for category in ("visual", *NOT_VISUAL)]
        return curves

    def columns(self) -> dict[str, str]:
        return RETRIEVAL_COLUMNS | COMMON_COLUMNS

    def measures(self) -> Iterator[Measure]:
        for wording, conditions in combinations(wording=with_all(self.wordings)):
            for selection, order in self._curves:
                for at, _ in combinations(selection=(selection,), order=(order,), properties=LENGTHS):
                    yield from mean_measures(_RETRIEVED, {**wording, **at}, {**conditions, **at, **self.vocabulary})

    def claims(self) -> Iterator[Claim]:
        """What the paper reports, over all wordings of a run."""
        yield from self._claims_of_growth()
        if self.everything:
            least = "visual properties help least (functional and encyclopaedic minus visual, 1 to 5 properties)"
            by: Rows = {"order": (self._curves[0][1],), "properties": SHORT}
            visual: Rows = {"selection": ("visual",), **by}
            yield self._claim("visual_helps_least", least, {**by, "selection": NOT_VISUAL}, visual)
            yield from self._claims_of_categories(by)
        if self.everything and self.frequencies and self.most == MOST:
            yield from self._claims_of_frequency()

    def _claim(self, name: str, statement: str, plus: Rows, minus: Rows | None = None) -> Claim:
        return Claim(
            name,
            statement,
            paper="B",
            column="reciprocal_rank",
            plus=plus,
            minus=minus,
            conditions=self.vocabulary,
            unit=Unit.SCORE,
        )

    def _alike(self, claim: Claim) -> Claim:
        """Within a fifth of what the longest list gains over one property."""
        margin = Margin(plus=self._grown(self.most), minus=self._grown(1))
        return replace(claim, direction=Direction.ALIKE, margin=margin)

    def _grown(self, *lengths: int) -> Rows:
        selection, order = self._curves[0]
        return {"selection": (selection,), "order": (order,), "properties": lengths}

    def _claims_of_categories(self, by: Rows) -> Iterator[Claim]:
        """The paper's figure 3a, on one category at a time."""
        functional, encyclopaedic = ({**by, "selection": (category,)} for category in NOT_VISUAL)
        same = "RoBERTa-large does as well with encyclopaedic properties as with functional ones, 1 to 5 properties"
        claim = self._claim("categories_alike", same, encyclopaedic, functional)
        yield replace(self._alike(claim), networks=(_LEADER,))
        better = "BERT does better with encyclopaedic properties than with functional ones, 1 to 5 properties"
        claim = self._claim("bert_encyclopaedic_better", better, encyclopaedic, functional)
        yield replace(claim, architectures=("bert",))

    def _claims_of_growth(self) -> Iterator[Claim]:
        grown, most, middle = self._grown, self.most, middle_of(self.most)
        lengths, longest = grown(*LENGTHS[:most]), NUMBERS[most]
        helps = f"{longest} properties find the concept better than one"
        yield self._claim("properties_help", helps, grown(most), grown(1))
        flattens = f"the gain flattens after four or five properties (MRR of {middle} minus the mean of 1 and {most})"
        yield self._claim("gain_flattens", flattens, grown(middle), grown(1, most))
        over = f"over one to {longest} properties"
        larger = f"the larger of two models of one architecture finds the concept better, {over}"
        yield replace(self._claim("larger_finds_more", larger, lengths), between=LARGER)
        other = f"RoBERTa finds the concept better than BERT of the same size, {over}"
        yield replace(self._claim("roberta_finds_more", other, lengths), between=("roberta", "bert"))
        same = f"RoBERTa-base and BERT-large find the concept equally well, {over}"
        claim = self._alike(self._claim("interchangeable", same, lengths))
        yield replace(claim, between=Lead(_ROBERTA_BASE, (_BERT_LARGE,)))
        if most == MOST:
            half = f"ten properties give a mean reciprocal rank above {HALF}"
            yield replace(self._claim("ten_reach_half", half, grown(MOST)), threshold=HALF)
            yield from self._claims_of_the_largest(grown(4), grown(MOST))

    def _claims_of_the_largest(self, four: Rows, ten: Rows) -> Iterator[Claim]:
        """Of RoBERTa-large: the paper's Results, on figure 2."""
        ranked, likely = (
            f"RoBERTa-large {does} with four properties than any other model with ten (Results, on figure 2)"
            for does in ("finds the concept better", "gives the concept more probability")
        )
        beats = replace(self._claim("four_beat_ten", ranked, four, ten), between=Lead(_LEADER, tuple(_OTHERS)))
        yield beats
        yield replace(
            beats, name="four_beat_ten_probability", statement=likely, column="probability", unit=Unit.PROBABILITY
        )
        double = (
            "with ten properties RoBERTa-large gives the concept double the probability that RoBERTa-base gives it "
            f"(Results, on figure 2; the first minus {DOUBLED} times the second)"
        )
        claim = replace(self._claim("double_probability", double, ten), column="probability", unit=Unit.PROBABILITY)
        yield replace(claim, between=Lead(_LEADER, (_OTHERS[0],)), times=DOUBLED)

    def _claims_of_frequency(self) -> Iterator[Claim]:
        orders = ("decreasing", "increasing")
        top, bottom = ({"selection": (s,), "order": orders, "properties": LENGTHS} for s in ("top", "bottom"))
        if self.random:
            chance: Rows = {"selection": ("random",), "order": ("random",), "properties": LENGTHS}
            yield self._claim("top_above_random", "the most frequent properties beat random ones", top, chance)
            yield self._claim("random_above_bottom", "random properties beat the least frequent ones", chance, bottom)
            for order in orders:  # "regardless of ordering"
                beat, beaten = ({**rows, "order": (order,)} for rows in (top, bottom))
                most = f"the most frequent properties, in {order} order, beat random ones"
                yield self._claim(f"top_above_random_{order}", most, beat, chance)
                rarest = f"random properties beat the least frequent ones in {order} order"
                yield self._claim(f"random_above_bottom_{order}", rarest, chance, beaten)
        both = {"selection": ("top", "bottom")}
        early = "most frequent first is better while lists are short (1 to 3 properties)"
        sides = ({**both, "order": (o,), "properties": (1, 2, 3)} for o in orders)
        yield self._claim("frequent_first_helps_early", early, *sides)
        late = "the two orders converge (half of their difference with 1 property minus that with 10)"
        ends = (("decreasing 1", "increasing 10"), ("increasing 1", "decreasing 10"))
        yield self._claim("orders_converge", late, *({**both, "order_at": end} for end in ends))

    @property
    def headline(self) -> Measure:
        column = ("concept_over_others_nats",)
        return Measure("concept_over_others", means, column, conditions=self.vocabulary, unit=Unit.NATS, neutral=0.0)


PRODUCTION_COLUMNS = {
    "gold": "the words people completed the sentence with, of those in the vocabulary; most frequent first",
    "gold_ranks": "their ranks within the vocabulary",
    "gold_probabilities": "their probabilities, over the model's whole vocabulary",
    "gold_left_out": "how many more are not in the vocabulary",
    "tied": "1 if at least as many words as its rank lie within 1e-4 nats of the likeliest gold word",
    "ap_vocabulary": "average precision over the vocabulary",
    "ap_completions": "average precision over the words people gave for this relation, of any concept",
    "ap_gain": "ap_completions minus ap_vocabulary",
    "ap_without_context": "ap_vocabulary of the sentence alone, without `Everyone knows that`",
    "ap_change": "ap_without_context minus ap_vocabulary (the paper's table 2)",
    "ap_fall": "the same with the other sign: by how much precision falls without `Everyone knows that`",
    "spearman": "rank correlation of production frequency and probability among the gold words; two at least",
    "gold_over_others_nats": "mean log-probability of the gold words minus that of the relation's other completions",
    "answer_is_gold": "1 if the likeliest word of the vocabulary is one that people gave",
    "answer_code": "the likeliest word as the model's own number for its piece",
    "mass_outside": "probability of everything but the words people gave for this relation",
    "any_gold": "1 if a gold word is among the likeliest ten",
}
_PRODUCED = (
    ColumnMean("map_vocabulary", "ap_vocabulary", Unit.SCORE),
    ColumnMean("map_completions", "ap_completions", Unit.SCORE),
    ColumnMean("spearman", "spearman", unit=Unit.CORRELATION, neutral=0.0),
    ColumnMean("map_without_context", "ap_without_context", Unit.SCORE),
    ColumnMean("change_without_context", "ap_change", unit=Unit.RATIO, neutral=0.0),
    ColumnMean("gold_over_others", "gold_over_others_nats", Unit.NATS),
    ColumnMean("answer_is_gold", "answer_is_gold", Unit.SHARE),
    ColumnMean("any_gold", "any_gold", Unit.SHARE),
    ColumnMean("mass_outside", "mass_outside", Unit.SHARE),
)


@dataclass(frozen=True)
class ProductionMeasures:
    wordings: tuple[str, ...]
    relations: tuple[str, ...]
    frequencies: bool
    vocabulary: Conditions

    def columns(self) -> dict[str, str]:
        return PRODUCTION_COLUMNS | sampling.COLUMNS | COMMON_COLUMNS

    def measures(self) -> Iterator[Measure]:
        quantities = [quantity for quantity in _PRODUCED if quantity.name != "spearman" or self.frequencies]
        quantities += sampling.MEASURES if self.frequencies else ()
        for where, at in combinations(wording=with_all(self.wordings), relation=(*self.relations, ALL)):
            conditions = {**at, **self.vocabulary}
            yield from mean_measures(quantities, where, conditions)
            if at["relation"] != ALL:
                yield Measure(
                    "regardless_of_concept",
                    commonest_share,
                    ("answer_code",),
                    where=where,
                    conditions=conditions,
                    unit=Unit.SHARE,
                )

    def claims(self) -> Iterator[Claim]:
        narrower = "precision rises when only words people gave for the relation are ranked"
        claim = self._claim("completions_above_vocabulary", narrower, "ap_gain")
        yield replace(claim, trivial=True)  # a rank among fewer words is never a worse one
        if self.frequencies:
            low = "probability within the gold words correlates little with how many people gave them"
            claim = self._claim("low_correlation", low, "spearman", direction=Direction.BELOW)
            yield replace(claim, threshold=STRONG, unit=Unit.CORRELATION, trivial=True)
        for relation in (r for r in ("is", "has") if r in self.relations):
            helps = f"after '{relation}', precision falls without `Everyone knows that` (all four models of table 2)"
            claim = self._claim(f"context_helps_{relation}", helps, "ap_fall", relation)
            yield replace(claim, gate=Gate("any_gold", LEAST_GOLD, {"relation": relation}))
        yield from self._claims_of_overlap()

    def _claims_of_overlap(self) -> Iterator[Claim]:
        """The paper's Results on its table 1."""
        best = "RoBERTa-large names what people name more often than each other model"
        claim = self._claim("roberta_large_names_most", best, "ap_vocabulary")
        yield replace(claim, between=Lead(_LEADER, tuple(_OTHERS)), unit=Unit.SCORE)
        rest = tuple(relation for relation in self.relations if relation not in OVERLAPPING)
        if rest and len(self.relations) == len(rest) + len(OVERLAPPING):
            most = "models and people overlap most after 'is made of' and 'is a' (these minus the others)"
            claim = replace(self._claim("overlap_highest", most, "ap_vocabulary"), gate=Gate("any_gold", LEAST_GOLD))
            yield replace(claim, plus={"relation": OVERLAPPING}, minus={"relation": rest}, unit=Unit.SCORE)

    def _claim(
        self, name: str, statement: str, column: str, relation: str = ALL, direction: Direction = Direction.ABOVE
    ) -> Claim:
        """Over all sentences where no relation is named, each counted once, as in the estimates of relation `all`."""
        plus = {} if relation == ALL else {"relation": (relation,)}
        conditions = self.vocabulary
        return Claim(
            name,
            statement,
            paper="B",
            column=column,
            plus=plus,
            direction=direction,
            conditions=conditions,
            unit=Unit.RATIO,
        )

    @property
    def headline(self) -> Measure:
        return Measure(
            "gold_over_others", means, ("gold_over_others_nats",), conditions=self.vocabulary, unit=Unit.NATS
        )


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
    "own_over_other_nats": "log-probability of the concept (or the mean of its properties') minus the other concept's",
}
_OWN_OVER_OTHER = ColumnMean("own_over_other", "own_over_other_nats", unit=Unit.NATS, neutral=0.0)
_PRINCE = {
    "concept_from_properties": (
        ColumnMean("reciprocal_rank", "reciprocal_rank", Unit.SCORE),
        ColumnMean("probability", "probability", Unit.PROBABILITY),
        _OWN_OVER_OTHER,
    ),
    "properties_from_concept": (
        ColumnMean("map_vocabulary", "ap_vocabulary", Unit.SCORE),
        ColumnMean("any_gold", "any_gold", Unit.SHARE),
        _OWN_OVER_OTHER,
    ),
}


@dataclass(frozen=True)
class PrinceMeasures:
    """Of each concept and of all: few sentences, so no verdict is to be had of them."""

    concepts: tuple[str, ...]
    vocabulary: Conditions

    def columns(self) -> dict[str, str]:
        return PRINCE_COLUMNS | COMMON_COLUMNS

    def measures(self) -> Iterator[Measure]:
        for where, at in combinations(direction=_PRINCE, concept=(*self.concepts, ALL)):
            yield from mean_measures(_PRINCE[str(at["direction"])], where, {**at, **self.vocabulary})

    def claims(self) -> tuple[Claim, ...]:
        return ()

    @property
    def headline(self) -> Measure:
        (measure,) = mean_measures([_OWN_OVER_OTHER], {}, self.vocabulary)
        return measure
