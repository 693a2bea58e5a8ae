"""What every backend must hold: the same answers in any batch, order and subset, and text that stays text."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueprobe.engine import AnswerStore, Engine
from trueprobe.engine.plan import BatchPlan, pack, plan
from trueprobe.models import Model, RowModel
from trueprobe.models.rows import Read, Row
from trueprobe.runs.check.probe import Check, skipped
from trueprobe.types import (
    Answer,
    EmbedText,
    FillBlank,
    Filled,
    Follows,
    FollowsText,
    NoProgress,
    Progress,
    Request,
    Scored,
    ScoreText,
    Task,
    Vector,
    WhyNot,
    Word,
)

NEAR = 1e-4
_ONE_BY_ONE = 12
_WIDTHS = (6, 14, 30, 52, 104)
_ODD = ("☃", "Ж", "ب", "字", "🙂", "Ü")  # no two are one character once normalised
_NEEDS_ROWS = "the model answers whole requests; its batches and tokens cannot be inspected"


def check_model(model: Model, batch_tokens: int | None = None, progress: Progress | None = None) -> Iterator[Check]:
    requests = sample_requests(model.card.kind)
    progress, total = progress or NoProgress(), 2 * len(requests) + len(requests) // 2 + _ONE_BY_ONE
    with progress.task(f"checking {model.card.name}", total, "texts") as task:
        yield from _checks(_Asking(model, batch_tokens, progress, task), requests)


@dataclass(frozen=True)
class _Asking:
    """Asks one model, each time with a fresh store, and moves the task on."""

    model: Model
    batch_tokens: int | None
    progress: Progress
    task: Task

    def engine(self, batch_tokens: int | None = None) -> Engine:
        return Engine(self.model, AnswerStore(":memory:"), self.progress, batch_tokens or self.batch_tokens)

    def answer(self, requests: Sequence[Request], batch_tokens: int | None = None) -> list[Answer | WhyNot]:
        answers = self.engine(batch_tokens).answer(requests)
        self.task.advance(len(requests))
        return answers


def _checks(asking: _Asking, requests: Sequence[Request]) -> Iterator[Check]:
    model, engine = asking.model, asking.engine()
    answers = engine.answer(requests)
    asking.task.advance(len(requests))
    yield from _answered(answers)
    yield from _repeated(engine, requests, answers)
    yield from _rearranged(asking, requests, answers)
    if model.contract == "rows" and "lm" in model.card.heads:
        change = max(_beside_a_hidden_state(model, width) for width in _WIDTHS)
        yield Check("a blank next to a hidden state agrees", change <= NEAR, f"largest change {change:.1e}")
    if "lm" in model.card.heads:
        yield _sums_to_one(model, asking.batch_tokens)
    yield _specials_are_text(model)
    yield _loses_no_character(model)
    if model.card.kind == "causal":
        yield _sees_nothing_behind(model)
        yield _starts_alone(model)


def _answered(answers: Sequence[Answer | WhyNot]) -> Iterator[Check]:
    refused = [answer for answer in answers if isinstance(answer, WhyNot)]
    yield Check("asks and answers", len(refused) < len(answers), f"{len(answers) - len(refused)} of {len(answers)}")
    lost = sum(why.code == "not_finite" for why in refused)
    yield Check("answers are finite", not lost, f"{lost} of {len(answers)} are not" if lost else "")


def _repeated(engine: Engine, requests: Sequence[Request], answers: Sequence[Answer | WhyNot]) -> Iterator[Check]:
    again = engine.answer(requests)
    computed, unit = engine.counts.computed, "rows" if engine.model.contract == "rows" else "requests"
    yield Check("cached answers need no forward pass", computed == 0, f"{computed:.0f} {unit} computed again")
    yield Check("repeatable to the bit", worst(answers, again) == 0)


def _rearranged(asking: _Asking, requests: Sequence[Request], answers: Sequence[Answer | WhyNot]) -> Iterator[Check]:
    """Other orders, subsets and batches."""
    model = asking.model

    def change(chosen: Sequence[int], one_by_one: bool = False) -> float:
        some = [requests[i] for i in chosen]
        again = [asking.answer([one], 1)[0] for one in some] if one_by_one else asking.answer(some)
        return worst([answers[i] for i in chosen], again)

    exact = model.contract == "rows" and model.row_exact
    most, to_the_bit = (0.0, " to the bit") if exact else (NEAR, "")
    order = random.Random(0).sample(range(len(requests)), len(requests))
    yield _close("any order" + to_the_bit, change(order), most)
    yield _close("any subset" + to_the_bit, change(order[: len(order) // 2]), most)
    yield _close("a batch of one agrees", change(order[:_ONE_BY_ONE], one_by_one=True), NEAR)
    if model.contract == "rows" and model.row_exact:
        wide = [width for width in _WIDTHS if _alone_and_among_many_differ(model, width)]
        yield Check(
            "few rows have the bits of many", not wide, f"not {', '.join(map(str, wide))} tokens" if wide else ""
        )


def _alone_and_among_many_differ(model: RowModel, width: int) -> bool:
    """Does a row in the smallest batch of its width have other bits than in a full one?"""
    kind: Literal["blank", "vector"] = "blank" if "lm" in model.card.heads else "vector"
    rows = _random_rows(model, max(1, model.batch_tokens // width), width)
    wanted = {row: (Read(row, kind, (1,)),) for row in rows}
    few, many = (_computed(model, plan(some, model)[0], wanted) for some in (rows[:1], rows))
    return any(not np.array_equal(few[read], many[read], equal_nan=True) for read in few.keys() & many.keys())


def _beside_a_hidden_state(model: RowModel, width: int) -> float:
    """How far a blank's vector and norm move where a hidden state of the same batch needs the whole last layer; of
    values above one, the relative change."""
    blanks = {
        row: (Read(row, "blank", (i % len(row.ids),)),)
        for i, row in enumerate(_random_rows(model, 8, width, ragged=True))
    }
    both = {row: (*reads, Read(row, "vector", (0,))) for row, reads in blanks.items()}
    batch = plan(blanks, model)[0]
    alone, together = (_computed(model, batch, wanted) for wanted in (blanks, both))
    return max(float(np.max(np.abs(alone[r] - together[r]) / np.maximum(np.abs(alone[r]), 1))) for r in alone)


def _computed(model: RowModel, planned: BatchPlan, wanted: Mapping[Row, tuple[Read, ...]]) -> dict[Read, np.ndarray]:
    batch = pack(planned, wanted)
    return dict(zip(batch.reads, model.forward(batch), strict=True))


def _random_rows(model: RowModel, count: int, width: int, ragged: bool = False) -> list[Row]:
    """`ragged`: every second one is a token shorter."""
    width = min(width, model.card.max_tokens)
    ids = np.random.default_rng(width).integers(0, model.card.vocab_size, (count, width))
    lengths = [width - (i % 2 if ragged else 0) for i in range(count)]
    return [Row(tuple(map(int, row[:length])), (0,) * length) for row, length in zip(ids, lengths, strict=True)]


def _close(name: str, change: float, most: float) -> Check:
    return Check(name, change <= most, f"largest change {change:.1e} nats")


def _sums_to_one(model: Model, batch_tokens: int | None) -> Check:
    name = "probabilities sum to one"
    (filled,) = _fresh(model, batch_tokens).answer([FillBlank("The ", top=model.card.vocab_size)])
    if isinstance(filled, Filled) and len(filled.top) < filled.list_size and model.contract == "answers":
        return skipped(name, f"the model lists {len(filled.top)} of {filled.list_size} tokens")
    total = sum(math.exp(token.logp) for token in filled.top) if isinstance(filled, Filled) else math.nan
    return Check(name, abs(total - 1) < 1e-3, f"{total:.6f}")


def _specials_are_text(model: Model) -> Check:
    name = "special tokens in a text stay text"
    if model.contract == "answers":
        return skipped(name, _NEEDS_ROWS)
    text = "Say " + " ".join([*model.special_tokens()][:6]) + " aloud"
    reads = _reads(model, text)
    if isinstance(reads, WhyNot) and reads.code != "unknown_piece":
        return Check(name, False, reads.detail)
    ids = model.token_ids(text)
    turned = set(ids) & set(model.special_tokens().values())
    return Check(name, not turned and len(ids) > 0, f"{len(ids)} pieces")


def _loses_no_character(model: Model) -> Check:
    """Texts that differ in one character are different rows, or refused: else all of them have one answer."""
    name = "characters that no piece covers are refused"
    if model.contract == "answers":
        return skipped(name, _NEEDS_ROWS)
    read = [_reads(model, f"The nurse met {character} there.") for character in ("", *_ODD)]
    rows = [reads[-1].row for reads in read if not isinstance(reads, WhyNot)]
    refused = len(read) - len(rows)
    return Check(name, len(set(rows)) == len(rows), f"{refused} of {len(_ODD)} refused")


def _reads(model: RowModel, text: str) -> tuple[Read, ...] | WhyNot:
    return model.reads(ScoreText(text) if "lm" in model.card.heads else EmbedText(text, "mean"))


def _sees_nothing_behind(model: Model) -> Check:
    texts = [ScoreText(f"The man met the {who}.") for who in ("bus", "nurse")]
    early, late = (_fresh(model, None).answer([text])[0] for text in texts)
    both = isinstance(early, Scored) and isinstance(late, Scored)
    return _close(
        "a token sees nothing behind it", float(abs(_numbers(early)[0] - _numbers(late)[0])) if both else math.nan, NEAR
    )


def _starts_alone(model: Model) -> Check:
    """Where the start token stands before the first token alone, that token is as likely, and the others are not."""
    name, text = "a start token before the first token alone", "The man met the nurse."
    whole, alone = _fresh(model, None).answer([ScoreText(text), ScoreText(text, start="first_token")])
    if isinstance(alone, WhyNot):
        return skipped(name, alone.detail)
    first, *others = np.abs(_numbers(whole) - _numbers(alone))
    return Check(name, bool(first <= NEAR < max(others)), f"largest change of the others {max(others):.1e} nats")


def sample_requests(kind: str) -> list[Request]:
    """All four kinds, short and long, with shared beginnings."""
    jobs = ("nurse", "driver", "engineer", "school bus driver", "hairdresser")
    right = " works here, and nobody minds." if kind == "masked" else ""
    words = ("woman", "man", "hairdresser", "She")
    requests: list[Request] = []
    for job in jobs:
        for who in ("man", "woman", "person"):
            requests.append(FillBlank("The ", right, f"The {who} worked as a {job}.", "pair", words, top=5))
            requests.append(FillBlank("The ", right, f"The {who} met a {job}.", "space", words, pieces="left_to_right"))
        requests.append(ScoreText(f"The {job} was unbelievably late."))
        requests.append(ScoreText(f"So was the {job}.", given="The bus was late.", masking="rest_of_word"))
        requests.append(FollowsText("The bus was late.", f"So was the {job}."))
        requests += [EmbedText(f"The {job} is here.", "mean", layer) for layer in (-1, 1)]
        requests.append(EmbedText(f"The {job} is here.", "word", span=(4, 4 + len(job))))
    requests.append(ScoreText(" ".join(f"The {job} met the {other}." for job in jobs for other in jobs)))
    return requests


def _fresh(model: Model, batch_tokens: int | None) -> Engine:
    return Engine(model, AnswerStore(":memory:"), batch_tokens=batch_tokens)


def worst(a: Sequence[Answer | WhyNot], b: Sequence[Answer | WhyNot]) -> float:
    """The largest difference between two lists of answers; infinite where they differ in kind."""
    return max((_apart(x, y) for x, y in zip(a, b, strict=True)), default=0.0)


def _apart(a: Answer | WhyNot, b: Answer | WhyNot) -> float:
    if type(a) is not type(b):
        return math.inf
    if isinstance(a, WhyNot):
        return 0.0 if a == b else math.inf
    x, y = _numbers(a), _numbers(b)
    return float(np.max(np.abs(x - y), initial=0.0)) if x.shape == y.shape else math.inf


def _numbers(answer: Answer | WhyNot) -> np.ndarray:
    if isinstance(answer, Follows):
        return np.array([answer.log_is_next])
    if isinstance(answer, Vector):
        return np.asarray(answer.values)
    if isinstance(answer, Scored):
        return np.array([token.logp for token in answer.tokens])
    assert isinstance(answer, Filled)
    words = [word for word in answer.words.values() if isinstance(word, Word)]
    # near ties may swap ranks in a top list, so only its probabilities are compared
    return np.array([word.logp for word in words] + [token.logp for token in answer.top])
