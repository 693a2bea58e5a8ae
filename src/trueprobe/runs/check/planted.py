"""A made-up model with a known effect: what a probe must find in its answers."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from trueprobe.probes import Probe
from trueprobe.runs.records import observations_frame
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import (
    GROUP,
    Answer,
    Card,
    EmbedText,
    Filled,
    Follows,
    FollowsText,
    Item,
    Kind,
    Observation,
    Request,
    Scored,
    ScoreText,
    Token,
    Vector,
    WhyNot,
    Word,
)


def stand_in(kind: Kind) -> Card:
    return Card(
        "stand-in", "stand-in", {}, kind, "none", frozenset({"lm"}), 512, 100, "[CLS]", "none", "float32", "0", "0"
    )


def planted_frame(probe: Probe, items: Sequence[Item], card: Card, strength: float) -> pd.DataFrame:
    """The observations of a made-up model with a known effect of `strength` nats, as a run writes them."""
    return observations_frame(
        probe, {item.id: item for item in items}, planted_observations(probe, items, card, strength), card
    )


def planted_observations(probe: Probe, items: Sequence[Item], card: Card, strength: float) -> list[Observation]:
    return [observation for item in items for observation in _observed(probe, item, card, strength)]


def _observed(probe: Probe, item: Item, card: Card, strength: float) -> Sequence[Observation]:
    ask = probe.ask(item, card)
    if isinstance(ask, WhyNot):
        return ()
    answers = [planted_answer(request, probe.planted(item, request, strength)) for request in ask]
    return probe.observe(item, card, answers)


def planted_answer(request: Request, nats: Mapping[str, float], others: int = 40) -> Answer:
    """All requested words and some others equally likely, but for the planted log-odds.

    The words of a text to score have theirs each; whether a sentence follows is planted under the whole sentence."""
    if isinstance(request, ScoreText):
        return _planted_score(request.text.split(), nats, others)
    if isinstance(request, FollowsText):
        return Follows(-math.log1p(math.exp(-nats.get(request.second, 0.0))))
    if isinstance(request, EmbedText):
        return Vector(np.array(list(nats.values()), dtype=np.float32), (0,))
    return _planted_fill(request.words, request.top, tuple(nats.items()), others)


@lru_cache(maxsize=1024)  # many items plant the same in the same words
def _planted_fill(requested: tuple[str, ...], top: int, nats: tuple[tuple[str, float], ...], others: int) -> Filled:
    planted = dict(nats)
    logits = {word.lower(): planted.get(word, 0.0) for word in requested}
    logits |= {f"other{i}": 0.0 for i in range(others)}
    norm = math.log(sum(map(math.exp, logits.values())))
    ids = {word: i for i, word in enumerate(logits)}
    tokens = {word: Token(" " + word, ids[word], logit - norm) for word, logit in logits.items()}
    ranked = sorted(tokens.values(), key=lambda token: (-token.logp, token.text))
    rank = {token.id: i for i, token in enumerate(ranked, 1)}
    words = {w: Word((tokens[w.lower()],), rank[ids[w.lower()]], 0) for w in requested}
    return Filled(words, tuple(ranked[:top]), len(logits))


def _planted_score(words: Sequence[str], nats: Mapping[str, float], others: int) -> Scored:
    """One token per word, each against `others`, between two special tokens."""
    tokens = []
    for word in words:
        odds = nats.get(word, 0.0)
        tokens.append(Token(" " + word, 2 + zlib.crc32(word.encode()), odds - math.log(math.exp(odds) + others)))
    return Scored(tuple(tokens), (0, *(token.id for token in tokens), 1), tuple(range(1, len(tokens) + 1)))


def planted_data(probe: Probe, frame: pd.DataFrame, card: Card, resamples: int) -> CheckpointData:
    resampling = Resampling.of(frame[[GROUP + name for name in probe.factors]], resamples=resamples)
    return CheckpointData("planted", card.kind, frame, resampling)


def headline_value(probe: Probe, frame: pd.DataFrame) -> float:
    data = planted_data(probe, frame, stand_in("masked"), resamples=0)
    return estimate(probe.name, [data], [probe.headline])[0].value
