"""What every probe must hold: distinct ids, documented columns, measures that can be computed, a sign that is right.

The sign is tested on a made-up model with a known effect, which the probe must find in its answers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from trueprobe.probes import Probe, make, spread
from trueprobe.runs.records import observations_frame
from trueprobe.runs.schema import reserved
from trueprobe.statistics.claims import claim_results
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


@dataclass(frozen=True)
class Check:
    """A check that does not apply is `skipped`, with the reason as its detail; it does not count as failed."""

    name: str
    passed: bool
    detail: str = ""
    skipped: bool = False

    @property
    def word(self) -> str:
        return "skip" if self.skipped else "ok" if self.passed else "FAIL"


def skipped(name: str, reason: str) -> Check:
    return Check(name, True, reason, skipped=True)


_STRENGTHS = (-2.0, 0.0, 2.0)  # nats


def check_probe(name: str, settings: Mapping[str, Any] | None = None) -> Iterator[Check]:
    """`name` comes from the caller: the code at a path is run."""
    probe = make(name, settings, allow_code=True)
    items = probe.items()
    yield Check("has items", len(items) > 0, f"{len(items):,}")
    yield Check("item ids are distinct", len({item.id for item in items}) == len(items))
    yield Check("the same items each time", list(items) == list(make(name, settings, allow_code=True).items()))
    yield Check("every item names its groups", all(len(item.groups) == len(probe.factors) for item in items))
    yield from _free_names(probe, items)
    if probe.results_setting:
        yield skipped("asks models", "it reads results computed elsewhere")
        return
    some = spread(items, 400)
    for kind in ("masked", "causal"):
        yield from _asked_of(probe, some, kind)


def _free_names(probe: Probe, items: Sequence[Item]) -> Iterator[Check]:
    """Names that tables and figures have for themselves, and a column that has the name of a condition."""
    conditions = {name for item in items for name in item.conditions}
    names = {"conditions": conditions, "columns": set(probe.columns()), "factors": set(probe.factors)}
    for what, used in names.items():
        taken = reserved(used)
        yield Check(f"no reserved names among {what}", not taken, ", ".join(taken))
    both = sorted(conditions & set(probe.columns()))
    yield Check("no column is named like a condition", not both, ", ".join(both))


def _asked_of(probe: Probe, items: Sequence[Item], kind: Literal["masked", "causal"]) -> Iterator[Check]:
    card = stand_in(kind)
    asks = [probe.ask(item, card) for item in items]
    yield Check(f"asks a {kind} model", any(not isinstance(ask, WhyNot) for ask in asks))
    observed = [planted_observations(probe, items, card, strength) for strength in _STRENGTHS]
    by_id = {item.id: item for item in items}
    frames = [observations_frame(probe, by_id, observations, card) for observations in observed]
    undocumented = sorted({name for o in observed[1] for name in o.values} - set(probe.columns()))
    yield Check(f"documented columns, {kind}", not undocumented, ", ".join(undocumented[:3]))
    yield _countable(probe, frames[-1], card)
    down, none, up = (headline_value(probe, frame) for frame in frames)
    neutral = probe.headline.neutral or 0.0
    detail = f"{down:.3f} < {none:.3f} < {up:.3f}, neutral {neutral:g}"
    yield Check(f"a planted effect moves {probe.headline.name} its way, {kind}", down < none < up, detail)
    yield Check(f"opposite effects lie on opposite sides, {kind}", down < neutral < up, detail)


def _countable(probe: Probe, frame: pd.DataFrame, card: Card) -> Check:
    """Every declared measure and claim can be computed from the documented columns."""
    data = planted_data(probe, frame, card, resamples=20)
    measures = [measure for measure in probe.measures() if card.kind in measure.kinds]
    counted = estimate(probe.name, [data], measures)
    results = claim_results(probe.name, [data], probe.claims())
    unknown = [row.measure for row in counted if row.n_items == 0]
    detail = f"{len(counted):,} measures, {len(results)} claims"
    detail += f"; nothing scored for {unknown[0]}" if unknown else ""
    return Check(f"declared measures and claims can be counted, {card.kind}", bool(counted), detail)


# ---------------------------------------------------------------- a made-up model with a known effect


def stand_in(kind: Kind) -> Card:
    return Card(
        "stand-in", "stand-in", {}, kind, "none", frozenset({"lm"}), 512, 100, "[CLS]", "none", "float32", "0", "0"
    )


def planted_frame(probe: Probe, items: Sequence[Item], card: Card, strength: float) -> pd.DataFrame:
    """The observations of a made-up model with a known effect of `strength` nats, as a run writes them."""
    observations = planted_observations(probe, items, card, strength)
    return observations_frame(probe, {item.id: item for item in items}, observations, card)


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
