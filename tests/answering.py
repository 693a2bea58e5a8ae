"""A model that answers whole requests: a made-up served model with four words and no tokenizer to look at."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trueprobe.models import Outline
from trueprobe.types import (
    Answer,
    Card,
    EmbedText,
    FillBlank,
    Filled,
    Follows,
    FollowsText,
    Request,
    Scored,
    ScoreText,
    Token,
    Vector,
    WhyNot,
    Word,
)

CARD = Card(
    name="served",
    family="served",
    labels={},
    kind="causal",
    architecture="made up",
    heads=frozenset({"lm"}),
    max_tokens=40,
    vocab_size=50,
    start_text="",
    source="served:made-up",
    dtype="",
    compute_id="made-up server 1.0",
    tokenizer_id="",
)


@dataclass
class Answering:
    """Answers depend on the text alone; `asked` lists every request that reached the model."""

    card: Card = CARD
    contract = "answers"
    asked: list[Request] = field(default_factory=list)

    def answer(self, requests: Sequence[Request]) -> list[Answer | WhyNot]:
        self.asked += requests
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Answer | WhyNot:
        if isinstance(request, FillBlank):
            return self._filled(request)
        if isinstance(request, ScoreText):
            return self._scored(request)
        if isinstance(request, FollowsText):
            return Follows(-_chance(request.first + request.second))
        if isinstance(request, EmbedText):
            return Vector(np.array([_chance(request.text), 1 / 3], np.float32), (0,))
        raise AssertionError(request)

    def _filled(self, request: FillBlank) -> Filled | WhyNot:
        if request.right:
            return WhyNot("right_context", "it only goes on")
        vocabulary = [*dict.fromkeys((*request.words, *(f"other{i}" for i in range(self.card.vocab_size))))]
        vocabulary = vocabulary[: max(self.card.vocab_size, len(request.words))]
        logits = {word: _chance(f"{request.before} {request.left} {word}") for word in vocabulary}
        norm = math.log(sum(map(math.exp, logits.values())))
        ranked = sorted(logits, key=logits.__getitem__, reverse=True)
        tokens = {word: Token(" " + word, i, logits[word] - norm) for i, word in enumerate(vocabulary)}
        words = {word: Word((tokens[word],), ranked.index(word) + 1, 0) for word in request.words}
        return Filled(words, tuple(tokens[word] for word in ranked[: request.top]), len(vocabulary))

    def _scored(self, request: ScoreText) -> Scored:
        words = request.text.split()
        # what stands before a word decides, and nothing behind it
        front = ["alone"] if request.start == "first_token" else []
        before = [[*(front if i else []), *words[: i + 1]] for i in range(len(words))]
        tokens = tuple(Token(f" {w}", i, -_chance(" ".join(before[i]))) for i, w in enumerate(words))
        return Scored(tokens, tuple(range(len(words))), tuple(range(len(words))))


def _chance(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


@dataclass
class UnopenedAnswering:
    """What a run needs of it before it is opened."""

    model: Answering
    words: frozenset[str] | None = None
    location = "http://127.0.0.1:8000/v1"

    @property
    def outline(self) -> Outline:
        return Outline(self.model.card, lambda: self.words, 0)

    def open(self) -> Answering:
        return self.model
