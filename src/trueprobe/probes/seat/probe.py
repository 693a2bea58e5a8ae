"""The Sentence Encoder Association Test (May et al. 2019): which category's sentences lie nearer to which attribute's?

"This is John." against "This is Amy." (X, Y), by their cosines with "This is a career." and "This is a home." (A, B).
Positive `association` is towards A; a positive effect size is X towards A and Y towards B, as the stereotype has it.
Not shown: what a model writes or does. The sentences are deliberately empty, and whether a vector of the model stands
for such a sentence at all is an open question; `clusters` asks how far it does (paper C). Departures: none from the
authors' test; the representation is named, since their first code read the first piece without [CLS], and next to the
test over all templates (`wording` = all) there is one for each: its target sentences against all attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from pydantic import Field, field_validator

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.display import Primary, ReportSpec, Summary, Where
from trueprobe.probes.seat import material, multiverse, report
from trueprobe.probes.seat.material import SIDES, AssociationTest, SeatMaterial, SetSentence
from trueprobe.probes.templates import repeated
from trueprobe.statistics.association import (
    MatchingTest,
    PermutationTest,
    associations,
    coincide,
    effect_size,
    effect_size_ddof0,
    matched,
)
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Columns, Measure, Weights
from trueprobe.statistics.multiverse import Question
from trueprobe.statistics.rows import Tail
from trueprobe.types import Answer, Card, EmbedText, Item, Kind, Observation, Request, Unit, Vector, WhyNot

REPRESENTATIONS = ("cls", "word", "last", "own", "mean", "first_piece")
DEFAULT: Mapping[Kind, tuple[str, ...]] = {"masked": ("cls", "word"), "causal": ("last", "word"), "encoder": ("own",)}
VIGNETTES = "seat-vignettes"
COLUMNS = {
    "side": "X or Y: a target sentence of the first or second category; A or B: an attribute sentence",
    "word": "the word the sentence was made from",
    "wording": "the template it was made with; empty for a bare word and for a sentence of a test file",
    "association": "of a target: its mean cosine with A minus that with B",
    "in_first": "1 for X and A, 0 for Y and B",
    "tied": "1 if its vector is the mean of all of its test's targets (or attributes), within float error",
    "cluster_right": "1 if its k-means cluster, of two, is matched with its category",
}
_MOST_TESTS = 16  # in the printed table, for each representation
_TARGETS, _ATTRIBUTES = {"side": ("X", "Y")}, {"side": ("A", "B")}
_CLUSTERS = {"clusters_targets": _TARGETS, "clusters_attributes": _ATTRIBUTES}


class SeatSettings(Settings):
    material: str = Field(
        default="weat", description="word sets, templates and tests: shipped (weat) or your TOML file"
    )
    data: str = Field(
        default="",
        description="tests as released instead: a JSON file, a folder of them, the asset seat-vignettes, or planted: "
        "about nursery-planted",
    )
    vignettes: bool = Field(default=False, description="besides, the six tests of long prose (asset seat-vignettes)")
    tests: tuple[str, ...] = Field(default=("*",), description="names of tests, with * and ?, separated by commas")
    representation: tuple[str, ...] = Field(
        default=("default",),
        description="default (masked: cls, word; causal: last, word; encoder: own), all, or some of cls, word, last, "
        "own, mean, first_piece, separated by commas",
    )
    wording: Literal["all", "paper"] = Field(
        default="all", description="all: each template by itself too; paper: only all of them together"
    )
    layers: tuple[int, ...] = Field(default=(-1,), description="0 the embeddings, -1 the last; separated by commas")
    ddof: int = Field(default=1, ge=0, le=1, description="of the standard deviation: n − 1, or 0 for n")
    partitions: int = Field(default=100_000, ge=2, description="up to so many are counted out, else so many are drawn")
    strict: bool = Field(default=False, description="count only partitions beyond the observed (the printed formula)")
    two_sided: bool = Field(default=False, description="count partitions as far to either side")
    clusters: bool = Field(default=True, description="k-means of X against Y and of A against B")

    @field_validator("tests", "representation", "layers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(","))
        return value if isinstance(value, (list, tuple)) else (value,)

    @field_validator("representation")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        choices = ("default", "all", *REPRESENTATIONS)
        for name in names:
            if name not in choices:
                raise ValueError(f"no representation '{name}'{nearest(name, choices)}")
            if name in choices[:2] and len(names) > 1:
                raise ValueError(f"'{name}' stands alone")
        return tuple(dict.fromkeys(names))


class Seat(Probe[SeatSettings]):
    name = "seat"
    short = "do vectors of sentences tie groups of people to attributes?"
    question = (
        "Do a model's vectors of sentences about one group lie nearer to sentences of one attribute than those about "
        "another group do?"
    )
    does_not_show = (
        "What a model writes or does. The sentences mean next to nothing, nothing makes a model's vectors stand for "
        "them, and finding no effect is no evidence that there is none (May et al. 2019). Checkpoints that differ only "
        "in their seed, and two representations of one checkpoint, have effects of opposite sign (Aribandi et al. "
        "2021)."
    )
    paper = (
        "May, Wang, Bordia, Bowman & Rudinger, On measuring social biases in sentence encoders; Aribandi, Tay & "
        "Metzler, How reliable are model diagnostics?"
    )
    Settings = SeatSettings
    factors = ("word",)
    drawn_within = ("test", "side")

    def __init__(self, settings: SeatSettings) -> None:
        super().__init__(settings)
        self.material = None if settings.data else SeatMaterial.read(settings.material)
        tests = material.read_tests(settings.data) if self.material is None else self.material.built()
        tests += material.read_tests(VIGNETTES) if settings.vignettes else []
        self.tests = _chosen(tests, settings.tests)

    def representations(self, kind: Kind | None = None) -> tuple[str, ...]:
        """Those asked of a kind of model, or of any."""
        chosen: tuple[str, ...] = self.settings.representation
        if chosen == ("all",):
            return REPRESENTATIONS
        if chosen != ("default",):
            return chosen
        return DEFAULT[kind] if kind else tuple(dict.fromkeys(r for k in get_args(Kind) for r in DEFAULT[k]))

    def items(self) -> list[Item]:
        """One per test, representation and layer; by default a model is asked those of its kind."""
        return [self._item(*combination) for combination in self._combinations()]

    def _combinations(self) -> Iterator[tuple[AssociationTest, str, int]]:
        return product(self.tests.values(), self.representations(), self.settings.layers)

    def _item(self, test: AssociationTest, representation: str, layer: int) -> Item:
        sides = {side: f"{test.titles[side]} ({listed[0].text} …)" for side, listed in test.sets.items()}
        return Item(
            id=f"{test.name}/{representation}/{layer}",
            text=f"{sides['X']} and {sides['Y']}: nearer to {sides['A']} or to {sides['B']}?",
            conditions={"test": test.name, "representation": representation, "layer": layer},
            groups=("",),  # each of its parts has its word
            fields={"test": test},
        )

    # ------------------------------------------------------------ asking

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """Every sentence of the test; one that many tests ask for is computed once. () is not asked of this kind."""
        representation, layer = str(item.conditions["representation"]), int(item.conditions["layer"])
        if representation not in self.representations(card.kind):
            return ()
        if representation == "last" and card.kind != "causal":
            return WhyNot("no_head", "the last position stands for a sentence in causal models only")
        test: AssociationTest = item.fields["test"]
        sentences = [sentence for side in SIDES for sentence in test.sets[side]]
        unmarked = next((sentence for sentence in sentences if sentence.span is None), None)
        if representation == "word" and unmarked is not None:
            return WhyNot("no_span", f"no word is marked in {unmarked.text[:40]!r} …")
        return tuple(_request(sentence, representation, layer) for sentence in sentences)

    # ------------------------------------------------------------ observing

    def unscored(self, item: Item, why: WhyNot) -> list[Observation]:
        """All sentences of the test: without one of them it would be another test."""
        return [_row(item, sentence, {}, why) for pair in self._pairs for sentence in _sides(item, pair)]

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        if not answers:
            return []
        vectors = self.by_side(item.fields["test"], item, answers)
        targets = associations(np.concatenate([vectors["X"], vectors["Y"]]), vectors["A"], vectors["B"])
        by_pair = {"XY": [{"association": float(value)} for value in targets]}
        return [row for pair in self._pairs for row in self._rows(item, pair, vectors, by_pair.get(pair))]

    @property
    def _pairs(self) -> tuple[str, ...]:
        return ("XY", "AB") if self.settings.clusters else ("XY",)

    def by_side(self, test: AssociationTest, item: Item, answers: Sequence[Answer]) -> dict[str, np.ndarray]:
        stacked = np.stack([answer.values for answer in answers if isinstance(answer, Vector)])
        if item.conditions["representation"] == "mean":  # of length one, as bias-bench has them
            stacked = stacked / np.linalg.norm(stacked, axis=1, keepdims=True)
        ends = np.cumsum([len(test.sets[side]) for side in SIDES])
        return dict(zip(SIDES, np.split(stacked, ends[:-1]), strict=True))

    def _rows(
        self, item: Item, pair: str, vectors: Mapping[str, np.ndarray], earlier: Sequence[Mapping[str, float]] | None
    ) -> Iterator[Observation]:
        """Of two sides that stand against each other; `earlier` values of each sentence are added to."""
        sentences = _sides(item, pair)
        first = np.array([side == pair[0] for side, _ in sentences])
        both = np.concatenate([vectors[side] for side in pair])
        right = np.full(len(sentences), np.nan)
        if self.settings.clusters:
            right = matched(both, first, self.settings.resample_seed)
        for i, (sentence, tied) in enumerate(zip(sentences, coincide(both), strict=True)):
            values = {"in_first": float(first[i]), "tied": float(tied), "cluster_right": float(right[i])}
            yield _row(item, sentence, {**(earlier[i] if earlier else {}), **values})

    # ------------------------------------------------------------ counting

    def columns(self) -> dict[str, str]:
        return dict(COLUMNS)

    def measures(self) -> list[Measure]:
        return list(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for test, representation, layer in self._combinations():
            at: dict[str, str | int] = {"test": test.name, "representation": representation, "layer": layer}
            kinds = tuple(kind for kind in get_args(Kind) if representation in self.representations(kind))
            whole = {**at, "wording": "all"}  # bare words too, so that p is corrected over all tests alike
            yield replace(self._effect({**at, **_TARGETS}, whole), kinds=kinds)
            for wording in test.wordings if self.settings.wording == "all" else ():
                one = {**at, "wording": wording}
                yield replace(self._effect({**one, **_TARGETS}, one, test=False), kinds=kinds)
            for name, sides in _CLUSTERS.items() if self.settings.clusters else ():
                columns, where = ("cluster_right", "in_first"), {**at, **sides}
                share = Measure(
                    name, _right, columns, where=where, conditions=whole, unit=Unit.SHARE, neutral=0.5, kinds=kinds
                )
                yield replace(share, test=MatchingTest(), tail=Tail.BOTH)

    def _effect(self, where: Mapping[str, Any], conditions: Mapping[str, str | int], test: bool = True) -> Measure:
        function = effect_size if self.settings.ddof else effect_size_ddof0
        permuted = PermutationTest(self.settings.partitions, self.settings.two_sided, self.settings.strict)
        columns, unit = ("association", "in_first"), Unit.EFFECT_SIZE
        effect = Measure("effect_size", function, columns, where=where, conditions=conditions, unit=unit, neutral=0.0)
        return replace(effect, test=permuted, tail=self._tail) if test else effect

    @property
    def _tail(self) -> Tail:
        return Tail.BOTH if self.settings.two_sided else Tail.UPPER

    @property
    def headline(self) -> Measure:
        """All targets of all tests as if of one: a direction, not a size."""
        return self._effect(_TARGETS, {"test": "all"}, test=False)

    def multiverse(self, card: Card) -> list[Question]:
        return multiverse.questions(self, card)

    @property
    def summary(self) -> Summary:
        tests = list(self.tests)
        if len(tests) > _MOST_TESTS:
            tests = [name for name in tests if name.startswith("sent-weat")] or tests[:_MOST_TESTS]
        clusters, layers = self.settings.clusters, len(self.settings.layers) > 1
        return report.summary(tests, len(self.tests) - len(tests), clusters, layers)

    @property
    def primary(self) -> tuple[Primary, ...]:
        """The three tests of gender in sentences: career, mathematics and science against family and arts."""
        first = tuple(dict.fromkeys(self.representations(kind)[0] for kind in get_args(Kind)))  # of each kind of model
        layers = self.settings.layers
        one = {"layer": str(layers[0])} if len(layers) > 1 else {}
        where: Where = {"wording": "all", "representation": first, **one}
        template = "{{models}} {{ties|tie}} {} to {} and {} to {}, effect size {{by}}".format
        groups = ("men's names", "women's names"), ("men", "women"), ("men", "women")
        return tuple(
            Primary(
                "effect_size",
                where={**where, "test": f"sent-weat{n}"},
                above=template(topic, one, "family" if n == 6 else "arts", other),
                below=template(topic, other, "family" if n == 6 else "arts", one),
            )
            for n, topic, (one, other) in zip((6, 7, 8), ("career", "mathematics", "science"), groups, strict=True)
        )

    @property
    def page(self) -> ReportSpec:
        return report.report(self._tail)

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        """Coordinates: A and B at the two ends of one axis, X and Y shifted along it, the rest by chance."""
        assert isinstance(request, EmbedText)
        ends = {"X": 0.1 * strength, "Y": -0.1 * strength, "A": 1.0, "B": -1.0}
        test: AssociationTest = item.fields["test"]
        side = next(s for s in SIDES if request.text in test.texts[s])
        chance = hashlib.sha256(request.text.encode()).digest()[:8]
        return {"axis": ends[side], **{f"chance {i}": byte / 255 - 0.5 for i, byte in enumerate(chance)}}

    @property
    def material_id(self) -> str:
        return files.content_id(
            [
                (test.name, {side: [(x.text, x.word, x.span, x.wording) for x in test.sets[side]] for side in SIDES})
                for test in self.tests.values()
            ]
        )

    def facts(self) -> dict[str, Any]:
        sizes = {name: {side: len(listed) for side, listed in test.sets.items()} for name, test in self.tests.items()}
        card = self.material.card.model_dump() if self.material else {"title": self.settings.data}
        titles = {name: dict(test.titles) for name, test in self.tests.items()}
        wordings = {name: list(test.wordings) for name, test in self.tests.items() if test.wordings}
        return {"material": card, "tests": titles, "sentences": sizes, "wordings": wordings}


def _chosen(tests: Sequence[AssociationTest], patterns: Sequence[str]) -> dict[str, AssociationTest]:
    names = [test.name for test in tests]
    twice = repeated(names)
    if twice:
        raise BadInput(f"two tests are called '{twice}'; rename one of the files")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInput(f"seat, setting tests: no test '{pattern}'{nearest(pattern, names)}")
    return {test.name: test for test in tests if any(fnmatchcase(test.name, pattern) for pattern in patterns)}


def _sides(item: Item, pair: str) -> list[tuple[str, SetSentence]]:
    test: AssociationTest = item.fields["test"]
    return [(side, sentence) for side in pair for sentence in test.sets[side]]


def _row(
    item: Item, of_side: tuple[str, SetSentence], values: Mapping[str, float], why: WhyNot | None = None
) -> Observation:
    side, sentence = of_side
    named = {"side": side, "word": sentence.word, "wording": sentence.wording}
    return Observation(
        item.id, values={**named, **values}, part=f"{side}/{sentence.text}", why_not=why, groups=(sentence.word,)
    )


def _request(sentence: SetSentence, representation: str, layer: int) -> EmbedText:
    if representation == "word":
        return EmbedText(sentence.text, pool="word", layer=layer, span=sentence.span)
    if representation == "first_piece":
        return EmbedText(sentence.text, "first", layer, specials=False)
    return EmbedText(sentence.text, representation, layer)  # type: ignore[arg-type]


def _right(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """The share matched, with the matching of the sample itself."""
    return means(columns, [quantity[:1] for quantity in quantities], weights)


PROBE = Seat
