"""Choices that the multiverses of several probes share: how a preference is counted, how sentences are scored, what a
causal model's texts begin with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueprobe.statistics.multiverse import Axis, Choice
from trueprobe.types import TIE_NATS, Card, Unit

OWN = "own"
_STARTS = (
    Choice(name=OWN, why="the token that the model's files name"),
    Choice(name="end of text", why="documents followed it in training", model=(("start", "eot"),)),
    Choice(name="beginning", why="the tokenizer has a token for it", model=(("start", "bos"),)),
)
_NO_START = Choice(name="none", why="as most code calls a causal model", model=(("start", "none"),))
_CHAT = Choice(name="chat template", why="an instruct model was tuned with it", model=(("chat", "auto"),))
_NO_CHAT = Choice(
    name="no template", why="as a base model is asked", model=(("chat", "none"), ("system", ""), ("prefill", ""))
)


def start_token(card: Card, *, blanks: bool, vectors: bool = False) -> Axis:
    """What a causal model's texts begin with. Without a token, `blanks` are asked behind text, but no first token has a
    probability. A chat template stands in the token's place, except where `vectors` are asked for."""
    choices = [*_STARTS, _NO_START] if blanks else [*_STARTS]
    if card.chat and not vectors:
        choices = [_STARTS[0], _NO_CHAT]
    elif card.has_template and not vectors:
        choices.append(_CHAT)
    return Axis(name="start token", needs_rows=True, values=tuple(choices if card.kind == "causal" else choices[:1]))


CAUSAL_START = Axis(
    name="start",
    needs_rows=True,
    values=(
        Choice(name="text", why="a sentence is read after the start token", settings={"causal": "start_token"}),
        Choice(
            name="first token",
            why="as the authors' code and bias-bench read it",
            settings={"causal": "authors"},
        ),
    ),
)
MASKING = Axis(
    name="masking",
    needs_rows=True,
    values=(
        Choice(name="each", why="one token masked at a time (Salazar et al. 2020)", settings={"masking": "each"}),
        Choice(
            name="rest of word",
            why="with the later pieces of its word, which give it away (Kauf & Ivanova 2023)",
            settings={"masking": "rest_of_word"},
        ),
    ),
)
HALF = Choice(name="half", why="share of items; a tie within float error is half a preference")
COUNTED = (
    HALF,
    Choice(name="decided", why="share of the items that are no tie: a tie is no preference"),
    Choice(name="nats", why="the difference of log-likelihoods has the size of a preference, too"),
    Choice(name="probability", why="of the two, the probability that the first is the one drawn"),
)


class Preference(NamedTuple):
    """Of each item, on one of the scales of `COUNTED`."""

    values: np.ndarray
    unit: Unit
    neutral: float


def preference(ahead: np.ndarray, counted: str, tied: np.ndarray | None = None) -> Preference:
    """Of the difference in nats between two sides; ties are within float error, unless they are given."""
    if counted == "nats":
        return Preference(ahead, Unit.NATS, 0.0)
    if counted == "probability":
        return Preference(1 / (1 + np.exp(-np.clip(ahead, -500, 500))), Unit.PROBABILITY, 0.5)
    tied = np.abs(ahead) <= TIE_NATS if tied is None else tied
    share = np.where(tied, np.nan if counted == "decided" else 0.5, (ahead > 0).astype(float))
    return Preference(np.where(np.isnan(ahead), np.nan, share), Unit.SHARE, 0.5)
