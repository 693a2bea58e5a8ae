"""The public contract tests: what every backend and every probe must hold. Behind `trueprobe check`."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.engine import AnswerStore, Engine
from trueprobe.probes import Probe, make, spread
from trueprobe.statistics.claims import claims
from trueprobe.statistics.estimates import estimates
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import (
    Answer,
    Card,
    EmbedText,
    FillBlank,
    Filled,
    Follows,
    FollowsText,
    Item,
    Request,
    Scored,
    ScoreText,
    Token,
    Vector,
    WhyNot,
    Word,
)

NEAR = 1e-4


@dataclass(frozen=True)
class Check:
    name: str
    passed: bool
    detail: str = ""


# ---------------------------------------------------------------- models


def check_model(model: Any, batch_tokens: int | None = None) -> Iterator[Check]:
    requests = sample_requests(model.card.kind)
    engine = _fresh(model, batch_tokens)
    answers = engine.answer(requests)
    refused = [a for a in answers if isinstance(a, WhyNot)]
    yield Check("asks and answers", len(refused) < len(requests), f"{len(requests) - len(refused)} of {len(requests)}")

    lost = sum(why.code == "not_finite" for why in refused)
    yield Check("answers are finite", not lost, f"{lost} of {len(requests)} are not" if lost else "")

    again = engine.answer(requests)
    computed = engine.counts.happened["rows_computed"]
    yield Check("kept answers need no forward pass", computed == 0, f"{computed:.0f} rows computed again")
    yield Check("repeatable to the bit", worst(answers, again) == 0)

    exact = 0.0 if model.row_exact else NEAR
    order = random.Random(0).sample(range(len(requests)), len(requests))
    shuffled = _fresh(model, batch_tokens).answer([requests[i] for i in order])
    off = worst([answers[i] for i in order], shuffled)
    yield Check("any order" + (" to the bit" if not exact else ""), off <= exact, f"largest change {off:.1e} nats")

    half = order[: len(order) // 2]
    off = worst([answers[i] for i in half], _fresh(model, batch_tokens).answer([requests[i] for i in half]))
    yield Check("any subset" + (" to the bit" if not exact else ""), off <= exact, f"largest change {off:.1e} nats")

    few = order[:12]
    alone = [_fresh(model, 1).answer([requests[i]])[0] for i in few]
    off = worst([answers[i] for i in few], alone)
    yield Check("a batch of one agrees", off <= NEAR, f"largest change {off:.1e} nats")

    if "lm" in model.card.heads:
        whole = FillBlank("The ", top=model.card.vocab_size)
        filled = _fresh(model, batch_tokens).answer([whole])[0]
        total = sum(math.exp(token.logp) for token in filled.top) if isinstance(filled, Filled) else math.nan
        yield Check("probabilities sum to one", abs(total - 1) < 1e-3, f"{total:.6f}")
    yield _specials_are_text(model)
    if model.card.kind == "causal":
        early, late = (
            _fresh(model, None).answer([ScoreText(f"The man met the {who}.")])[0] for who in ("bus", "nurse")
        )
        both = isinstance(early, Scored) and isinstance(late, Scored)
        off = float(abs(_numbers(early)[0] - _numbers(late)[0])) if both else math.nan
        yield Check("a token sees nothing behind it", off <= NEAR, f"largest change {off:.1e} nats")


def sample_requests(kind: str) -> list[Request]:
    """All four kinds, short and long, with shared beginnings."""
    jobs = ("nurse", "driver", "engineer", "school bus driver", "hairdresser")
    right = " works here, and nobody minds." if kind == "masked" else ""
    words = ("woman", "man", "hairdresser", "She")
    found: list[Request] = []
    for job in jobs:
        for who in ("man", "woman", "person"):
            found.append(FillBlank("The ", right, f"The {who} worked as a {job}.", "pair", words, top=5))
            found.append(FillBlank("The ", right, f"The {who} met a {job}.", "space", words, pieces="left_to_right"))
        found.append(ScoreText(f"The {job} was unbelievably late."))
        found.append(ScoreText(f"So was the {job}.", given="The bus was late.", masking="rest_of_word"))
        found.append(FollowsText("The bus was late.", f"So was the {job}."))
        found += [EmbedText(f"The {job} is here.", "mean", layer) for layer in (-1, 1)]
        found.append(EmbedText(f"The {job} is here.", "word", span=(4, 4 + len(job))))
    found.append(ScoreText(" ".join(f"The {job} met the {other}." for job in jobs for other in jobs)))
    return found


def _fresh(model: Any, batch_tokens: int | None) -> Engine:
    return Engine(model, AnswerStore(":memory:"), batch_tokens=batch_tokens)


def worst(a: Sequence[Answer | WhyNot], b: Sequence[Answer | WhyNot]) -> float:
    """The largest difference between two lists of answers; infinite where they differ in kind."""
    return max((_apart(x, y) for x, y in zip(a, b, strict=True)), default=0.0)


def _apart(a: Any, b: Any) -> float:
    if type(a) is not type(b):
        return math.inf
    if isinstance(a, WhyNot):
        return 0.0 if a == b else math.inf
    x, y = _numbers(a), _numbers(b)
    return float(np.max(np.abs(x - y), initial=0.0)) if x.shape == y.shape else math.inf


def _numbers(answer: Any) -> np.ndarray:
    if isinstance(answer, Follows):
        return np.array([answer.log_is_next])
    if isinstance(answer, Vector):
        return np.asarray(answer.values)
    if isinstance(answer, Scored):
        return np.array([token.logp for token in answer.tokens])
    assert isinstance(answer, Filled)
    words = [word for word in answer.words.values() if isinstance(word, Word)]
    # near ties may swap places in a top list, so only its probabilities are compared
    return np.array([word.logp for word in words] + [token.logp for token in answer.top])


def _specials_are_text(model: Any) -> Check:
    tokenizer = model.text.tokenizer
    text = "Say " + " ".join(tokenizer.all_special_tokens[:6]) + " aloud"
    reads = model.reads(ScoreText(text) if "lm" in model.card.heads else EmbedText(text, "mean"))
    if isinstance(reads, WhyNot):
        return Check("special tokens in a text stay text", False, reads.detail)
    row = reads[0].row.ids
    own = model.text.pieces(text).ids
    hidden = {
        i
        for i in own
        if i in tokenizer.all_special_ids
        and i != tokenizer.unk_token_id
        and len(tokenizer.convert_ids_to_tokens(i)) > 1
    }
    return Check("special tokens in a text stay text", not hidden and len(row) > 0, f"{len(own)} pieces")


# ---------------------------------------------------------------- probes


def check_probe(name: str, settings: Mapping[str, Any] | None = None) -> Iterator[Check]:
    probe = make(name, settings)
    items = probe.items()
    yield Check("has items", len(items) > 0, f"{len(items):,}")
    yield Check("item ids are distinct", len({item.id for item in items}) == len(items))
    yield Check("the same items each time", list(items) == list(make(name, settings).items()))
    yield Check("every item names its groups", all(len(item.groups) == len(probe.factors) for item in items))

    some = spread(items, 400)
    for kind in ("masked", "causal"):
        card = stand_in(kind)
        asked = [probe.ask(item, card) for item in some]
        yield Check(f"asks a {kind} model", any(not isinstance(ask, WhyNot) for ask in asked))
        frames = {s: planted_frame(probe, some, card, s) for s in (-2.0, 0.0, 2.0)}
        undocumented = sorted(set(frames[2.0].columns) - set(probe.columns()) - _structure(probe, some))
        yield Check(f"documented columns, {kind}", not undocumented, ", ".join(undocumented[:3]))
        yield _countable(probe, frames[2.0], card)
        down, none, up = (headline_value(probe, frames[s]) for s in (-2.0, 0.0, 2.0))
        neutral = probe.headline.neutral or 0.0
        detail = f"{down:.3f} < {none:.3f} < {up:.3f}, neutral {neutral:g}"
        yield Check(f"a planted effect moves {probe.headline.name} its way, {kind}", down < none < up, detail)
        yield Check(f"opposite effects lie on opposite sides, {kind}", down < neutral < up, detail)


def _countable(probe: Probe, frame: pd.DataFrame, card: Card) -> Check:
    """Every declared measure and claim can be computed from the documented columns."""
    resampling = Resampling.of(frame[[f"group_{name}" for name in probe.factors]], resamples=20)
    measures = [measure for measure in probe.measures() if card.kind in measure.kinds]
    found = estimates(probe.name, "planted", frame, measures, resampling)
    held = claims("planted", card.kind, frame, probe.claims(), resampling)
    unknown = [e.measure for e in found if e.n_items == 0]
    detail = f"{len(found):,} measures, {len(held)} claims" + (f"; nothing scored for {unknown[0]}" if unknown else "")
    return Check(f"declared measures and claims can be counted, {card.kind}", bool(found), detail)


def stand_in(kind: Any) -> Card:
    return Card(
        "stand-in", "stand-in", {}, kind, "none", frozenset({"lm"}), 512, 100, "[CLS]", "none", "float32", "0", "0"
    )


def planted_frame(probe: Probe, items: Sequence[Item], card: Card, strength: float) -> pd.DataFrame:
    """The observations of a made-up model with a known effect of `strength` nats."""
    rows = []
    for item in items:
        ask = probe.ask(item, card)
        if isinstance(ask, WhyNot):
            continue
        answers = [planted_answer(request, probe.planted(item, request, strength)) for request in ask]
        for seen in probe.observe(item, card, answers):
            own = zip(probe.factors, seen.groups or item.groups, strict=True)
            groups = {f"group_{name}": group for name, group in own}
            rows.append({"item": item.id, "part": seen.part, **item.conditions, **groups, **seen.values})
    return pd.DataFrame(rows)


def planted_answer(request: Request, nats: Mapping[str, float], others: int = 40) -> Answer:
    """All asked words and some others equally likely, but for the planted log-odds.

    The words of a text to score have theirs each; whether a sentence follows is planted under the whole sentence."""
    if isinstance(request, ScoreText):
        return _planted_score(request.text.split(), nats, others)
    if isinstance(request, FollowsText):
        return Follows(-math.log1p(math.exp(-nats.get(request.second, 0.0))))
    if isinstance(request, EmbedText):
        return Vector(np.array(list(nats.values()), dtype=np.float32), (0,))
    if not isinstance(request, FillBlank):
        raise NotImplementedError(f"no planted answers for {type(request).__name__} yet")
    logits = {word.lower(): nats.get(word, 0.0) for word in request.words}
    logits |= {f"other{i}": 0.0 for i in range(others)}
    norm = math.log(sum(map(math.exp, logits.values())))
    ids = {word: i for i, word in enumerate(logits)}
    tokens = {word: Token(" " + word, ids[word], logit - norm) for word, logit in logits.items()}
    ranked = sorted(tokens.values(), key=lambda token: (-token.logp, token.text))
    rank = {token.id: i for i, token in enumerate(ranked, 1)}
    words = {w: Word((tokens[w.lower()],), rank[ids[w.lower()]], 0) for w in request.words}
    return Filled(words, tuple(ranked[: request.top]), len(logits))


def _planted_score(words: Sequence[str], nats: Mapping[str, float], others: int) -> Scored:
    """One token per word, each against `others`, between two special tokens."""
    tokens = []
    for word in words:
        odds = nats.get(word, 0.0)
        tokens.append(Token(" " + word, 2 + zlib.crc32(word.encode()), odds - math.log(math.exp(odds) + others)))
    return Scored(tuple(tokens), (0, *(token.id for token in tokens), 1), tuple(range(1, len(tokens) + 1)))


def headline_value(probe: Probe, frame: pd.DataFrame) -> float:
    groups = frame[[f"group_{name}" for name in probe.factors]]
    resampling = Resampling.of(groups, resamples=0)
    return estimates(probe.name, "planted", frame, [probe.headline], resampling)[0].value


def _structure(probe: Probe, items: Sequence[Item]) -> set[str]:
    return {"item", "part", *items[0].conditions, *(f"group_{name}" for name in probe.factors)}
