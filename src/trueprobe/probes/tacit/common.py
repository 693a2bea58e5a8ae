"""What the three probes of tacit assumptions share: norms, wordings, and the words within which ranks are counted."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.tacit import material as tacit
from trueprobe.probes.tacit import norms
from trueprobe.probes.tacit.material import Prompts
from trueprobe.probes.tacit.norms import Concept, Norms
from trueprobe.types import Card, Filled, WhyNot, Word, WordList

PAPER = "Weir, Poliak & Van Durme, Probing Neural Language Models for Human Tacit Assumptions"
TOP = 10
COMMON = "common"


class TacitSettings(Settings):
    material: str = Field(default="prompts", description="the shipped prompts, or your own TOML file")
    wording: str = Field(default="", description="a wording of the prompts, or all; the paper's if empty")
    vocabulary: str = Field(
        default=COMMON,
        description="ranks are counted within the words that all models of the study have as one piece (common), or "
        "within your own list: a file, one word per line",
    )


class NormSettings(TacitSettings):
    data: str = Field(default=norms.STARTER, description="property norms: starter (authored), or your own file")
    concepts: Literal["auto", "paper", "all"] = Field(
        default="auto",
        description="paper: one piece in bert-base-cased and in RoBERTa, no vowel; auto: paper for CSLB, else all",
    )
    bert_cased: str = Field(default="", description="a folder with bert-base-cased's tokenizer, if not fetched")
    roberta: str = Field(default="", description="a folder with RoBERTa's tokenizer, if not fetched")


class Tacit(Probe):
    paper = PAPER
    factors = ("concept",)
    settings: TacitSettings

    def __init__(self, settings: TacitSettings) -> None:
        super().__init__(settings)
        self.prompts: Prompts = tacit.prompts(settings.material)
        self.shares_vocabulary = settings.vocabulary == COMMON
        self.vocabulary: WordList | None = None if self.shares_vocabulary else tacit.word_list(settings.vocabulary)
        self._listed = frozenset(self.vocabulary.words) if self.vocabulary else frozenset()

    def with_vocabulary(self, words: WordList) -> Self:
        mine = copy.copy(self)
        mine.vocabulary, mine._listed = words, frozenset(words.words)
        mine.narrow()
        return mine

    def narrow(self) -> None:
        """Works out what depends on the vocabulary."""

    def chosen_wordings(self, known: Sequence[str]) -> tuple[str, ...]:
        wording = self.settings.wording or known[0]
        if wording not in (*known, "all"):
            raise BadInput(f"{self.name}, setting wording: no wording '{wording}'{nearest(wording, [*known, 'all'])}")
        return tuple(known) if wording == "all" else (wording,)

    def listed(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those that ranks can be counted for."""
        return tuple(word for word in words if self.vocabulary is None or word in self._listed)

    def refuse(self, word: str, card: Card) -> WhyNot | None:
        """Before a model is asked: a word outside the list has no rank in it."""
        if card.kind == "encoder":
            return WhyNot("no_head", "an encoder fills no blanks")
        if self.vocabulary is not None and word not in self._listed:
            return WhyNot("not_in_list", f"{word!r} is not in the vocabulary")
        return None

    def shown(self, **conditions: str | int) -> dict[str, str | int]:
        """Conditions as reported, with the vocabulary every number refers to."""
        return {**conditions, **self.vocabulary_facts()}

    def vocabulary_facts(self) -> dict[str, str | int]:
        words = self.vocabulary
        if words is None:
            return {"vocabulary": "whole"}
        return {"vocabulary": words.name, "vocabulary_size": len(words.words), "vocabulary_sha256": words.sha256}

    def vocabulary_note(self) -> str:
        told = self.vocabulary_facts()
        size = (
            f", {told['vocabulary_size']:,} words, sha256 {str(told['vocabulary_sha256'])[:12]}…"
            if self._listed
            else ""
        )
        return f"ranks within the vocabulary '{told['vocabulary']}'{size}; probabilities over each model's whole one"

    @property
    def material_id(self) -> str:
        content = [self.prompts.model_dump(mode="json"), *self.read_hashes()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def read_hashes(self) -> list[str]:
        return [] if self.shares_vocabulary or self.vocabulary is None else [self.vocabulary.sha256]

    def facts(self) -> dict[str, Any]:
        return {"prompts": self.prompts.card.model_dump(), "vocabulary": self.vocabulary_facts()}


class OfNorms(Tacit):
    """With norms: which concepts are asked about, and what the file could not give."""

    settings: NormSettings

    def __init__(self, settings: NormSettings) -> None:
        super().__init__(settings)
        self.norms: Norms = norms.read(settings.data)
        self.concepts = self._concepts()
        if not self.concepts:
            raise BadInput(f"{self.name}: no concept of {self.norms.name} can be asked about")

    def _concepts(self) -> tuple[Concept, ...]:
        rule = self.settings.concepts
        if rule == "paper" or (rule == "auto" and self.norms.format == "cslb"):
            folders = {"bert_cased": self.settings.bert_cased, "roberta": self.settings.roberta}
            return tacit.papers_concepts(self.norms, folders)
        return self.norms.concepts

    def read_hashes(self) -> list[str]:
        return [*super().read_hashes(), self.norms.sha256]

    def notes(self) -> tuple[str, ...]:
        told = self.norms.card.notes if self.norms.card else ""
        lines = [f"norms: {self.norms.name}. {told}".strip(), self.vocabulary_note()]
        lost, rows = self.norms.counts["not_phrased"], self.norms.counts["rows"]
        if lost:
            lines.append(f"not asked: {lost:,} of {rows:,} listed properties, which no rule can phrase")
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


def tied(words: Iterable[Word]) -> float:
    """1 if the rank of the likeliest could be twice what it is, or more: as many others are equally likely."""
    first = min(words, key=lambda word: word.rank or math.inf)
    return float(first.rank is not None and first.tied >= first.rank)


def top_words(filled: Filled) -> list[str]:
    return [token.text.strip() for token in filled.top]


def columns_with(own: Mapping[str, str]) -> dict[str, str]:
    return {
        **own,
        "prompt": "as this model was asked: a causal one sees nothing behind the blank",
        "answer": "the likeliest word of the vocabulary",
        "top_words": f"the {TOP} likeliest words of the vocabulary",
        "top_probabilities": "their probabilities, over the model's whole vocabulary",
    }
