"""What the three probes of tacit assumptions share: norms, wordings, and the words within which ranks are counted."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import Field

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.base import MeasureSetProbe, Settings
from trueprobe.probes.measure_sets import Conditions, with_all
from trueprobe.probes.tacit import material, norms
from trueprobe.probes.tacit.norms import Concept
from trueprobe.probes.templates import BLANK
from trueprobe.types import Card, Filled, WhyNot, Word, WordList

PAPER = "Weir, Poliak & Van Durme, Probing Neural Language Models for Human Tacit Assumptions"
TOP = 10
COMMON, AUTHORS = "common", "paper"  # vocabularies that are no file


class TacitSettings(Settings):
    material: str = Field(default="prompts", description="the shipped prompts, or your own TOML file")
    wording: str = Field(default="", description="a wording of the prompts, or all; the paper's if empty")
    vocabulary: str = Field(
        default=COMMON,
        description="ranks are counted within the words that all models of the study have as one piece (common), those "
        "that are one piece in both bert-base-cased and RoBERTa, whatever is asked (paper), or your own list: a file, "
        "one word per line",
    )
    bert_cased: str = Field(default="", description="a folder with bert-base-cased's tokenizer, if not fetched")
    roberta: str = Field(default="", description="a folder with RoBERTa's tokenizer, if not fetched")

    @property
    def folders(self) -> dict[str, str]:
        """The user's copies of the paper's tokenizers."""
        return {"bert_cased": self.bert_cased, "roberta": self.roberta}

    def word_list(self) -> WordList | None:
        """None where it depends on the models of the study."""
        if self.vocabulary == COMMON:
            return None
        if self.vocabulary == AUTHORS:
            return material.papers_words(self.folders)
        return material.word_list(self.vocabulary)


class NormSettings(TacitSettings):
    data: str = Field(default=norms.STARTER, description="property norms: starter (authored), or your own file")
    concepts: Literal["auto", "paper", "all"] = Field(
        default="auto",
        description="paper: one piece in bert-base-cased and in RoBERTa, no vowel; auto: paper for CSLB, else all",
    )


T = TypeVar("T", bound=TacitSettings)
N = TypeVar("N", bound=NormSettings)


class TacitProbe(MeasureSetProbe[T]):
    paper = PAPER
    factors = ("concept",)

    def __init__(self, settings: T) -> None:
        super().__init__(settings)
        self.prompts = material.Prompts.read(settings.material)
        self.shares_vocabulary = settings.vocabulary == COMMON
        self.vocabulary = settings.word_list()
        self._listed = frozenset(self.vocabulary.words) if self.vocabulary else frozenset()

    def with_vocabulary(self, words: WordList) -> Self:
        probe = copy.copy(self)
        probe.vocabulary, probe._listed = words, frozenset(words.words)
        probe.narrow()
        return probe

    def narrow(self) -> None:
        """Works out what depends on the vocabulary."""

    def chosen_wordings(self, choices: Sequence[str]) -> tuple[str, ...]:
        wording = self.settings.wording or choices[0]
        if wording not in (*choices, "all"):
            raise BadInput(f"{self.name}, setting wording: no wording '{wording}'{nearest(wording, [*choices, 'all'])}")
        return tuple(choices) if wording == "all" else (wording,)

    def listed(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those that ranks can be counted for."""
        return tuple(word for word in words if self.vocabulary is None or word in self._listed)

    def refuse(self, words: Sequence[str], card: Card) -> WhyNot | None:
        """Before a model is asked: without one of the words in the vocabulary there is no rank."""
        if card.kind == "encoder":
            return WhyNot("no_head", "an encoder fills no blanks")
        if not self.listed(words):
            which = repr(words[0]) + " is not" if len(words) == 1 else f"none of {', '.join(words)} is"
            return WhyNot("not_in_list", f"{which} in the vocabulary"[:200])
        return None

    def vocabulary_facts(self) -> Conditions:
        """Reported with every number: the vocabulary it refers to."""
        words = self.vocabulary
        if words is None:
            return {"vocabulary": "whole"}
        return {"vocabulary": words.name, "vocabulary_size": len(words.words), "vocabulary_sha256": words.sha256}

    def vocabulary_note(self) -> str:
        name, size = "whole", ""
        if self.vocabulary is not None:
            name = self.vocabulary.name
            size = f", {len(self.vocabulary.words):,} words, sha256 {self.vocabulary.sha256[:12]}…"
        return f"ranks within the vocabulary '{name}'{size}; probabilities over each model's whole one"

    @property
    def material_id(self) -> str:
        return files.content_id([self.prompts.model_dump(mode="json", by_alias=True), *self.read_hashes()])

    def read_hashes(self) -> list[str]:
        return [] if self.shares_vocabulary or self.vocabulary is None else [self.vocabulary.sha256]

    def facts(self) -> dict[str, Any]:
        return {"prompts": self.prompts.card.model_dump(), "vocabulary": self.vocabulary_facts()}


class NormProbe(TacitProbe[N]):
    """With norms: which concepts are asked about, and what the file does not have."""

    wordings: tuple[str, ...]

    def __init__(self, settings: N) -> None:
        super().__init__(settings)
        self.norms = norms.read(settings.data)
        self.concepts = self._concepts()
        if not self.concepts:
            raise BadInput(f"{self.name}: no concept of {self.norms.name} can be used")

    def _concepts(self) -> tuple[Concept, ...]:
        rule = self.settings.concepts
        if rule == "paper" or (rule == "auto" and self.norms.format == "cslb"):
            return self.papers_concepts()
        return self.norms.concepts

    @abstractmethod
    def papers_concepts(self) -> tuple[Concept, ...]:
        """By the rule of the paper's task."""

    @property
    def items_of(self) -> str:
        if self.norms.card:
            return "norms of trueprobe's own, not given by people"
        return "" if self.norms.format == "cslb" else f"the norms {self.norms.name}"

    @property
    def displayed_wording(self) -> str:
        return with_all(self.wordings)[-1]

    def read_hashes(self) -> list[str]:
        return [*super().read_hashes(), self.norms.sha256]

    def notes(self) -> tuple[str, ...]:
        about = self.norms.card.notes if self.norms.card else ""
        lines = [f"norms: {self.norms.name}. {about}".strip(), self.vocabulary_note()]
        lost, rows = self.norms.counts["not_phrased"], self.norms.counts["rows"]
        if lost:
            lines.append(f"left out: {lost:,} of {rows:,} listed properties, which no rule can phrase")
        uncounted = self.norms.counts["forms_not_counted"]
        if uncounted:
            lines.append(
                f"{uncounted:,} of {rows:,} listed properties have no participant list that matches the alternatives: "
                "there each alternative has the frequency of its property"
            )
        if not self.norms.has_frequencies:
            lines.append("these norms have no frequencies: properties stand in the order of the file")
        return tuple(lines)

    def facts(self) -> dict[str, Any]:
        return {
            **super().facts(),
            "norms": {
                "name": self.norms.name,
                "format": self.norms.format,
                "sha256": self.norms.sha256,
                "authored": self.norms.card is not None,
                "has_frequencies": self.norms.has_frequencies,
                "card": self.norms.card.model_dump() if self.norms.card else None,
            },
            "counts": {**self.norms.counts, "concepts_asked": len(self.concepts)},
            "concepts_per_property": self.norms.concepts_per_property(),
        }


def as_asked(text: str, card: Card) -> str:
    """A causal model reads nothing behind the blank."""
    return text if card.kind == "masked" else text.split(BLANK)[0] + BLANK


def tied(words: Iterable[Word]) -> float:
    """1 if the rank of the likeliest could be twice what it is, or more: as many others are equally likely."""
    first = min(words, key=lambda word: word.rank or math.inf)
    return float(first.rank is not None and first.tied >= first.rank)


def top_words(filled: Filled) -> list[str]:
    return [token.text.strip() for token in filled.top]


def top_columns(filled: Filled) -> dict[str, Any]:
    return {"top_words": top_words(filled), "top_probabilities": [math.exp(token.logp) for token in filled.top]}


def gold_columns(asked: Filled, gold: Mapping[str, Word], count: int) -> dict[str, Any]:
    """The words that people gave, of `count` those in the vocabulary, and whether one is among the likeliest."""
    ids = {word.pieces[0].id for word in gold.values()}
    return {
        "gold": list(gold),
        "gold_ranks": [word.rank for word in gold.values() if word.rank is not None],
        "gold_probabilities": [math.exp(word.logp) for word in gold.values()],
        "gold_left_out": count - len(gold),
        "any_gold": float(any(token.id in ids for token in asked.top)),
    }
