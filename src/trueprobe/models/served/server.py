"""What a kind of server can do: log-probabilities of the next token, and of the tokens of a text.

Ids are sent, never text. Whole distributions are normalised here: llama.cpp sums 49,152 probabilities in float32 and
misses 1 by 1.5e-4. Replies are validated: ids are integers, counts are positive, lists that are read are there. Their
log-probabilities may still be NaN or infinite: an answer that means nothing is counted, not refused (`Wrong`). What is
not finite, not normalised or not what was asked for is never passed on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from trueprobe.models.served.client import BadReply, Client

Ids = tuple[int, ...]
Scoring = Literal["text", "token", "none"]  # a text's tokens in one call, each behind those before it, not at all
LARGEST_MISS = 1e-3  # nats, of a sum of probabilities from 1
_NO_PROBABILITY = -9999.0  # what OpenAI's format has for minus infinity
Id = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Tokens = Annotated[int, Field(ge=3, le=1_000_000_000)]  # how many a prompt may have


class Reply(BaseModel):
    """What else a reply holds is not read. Strict: "5" and 5.0 are no ids."""

    model_config = ConfigDict(strict=True, frozen=True)


class Model(Reply):
    """An entry of the list of models; what only one kind of server has is validated by that kind."""

    model_config = ConfigDict(extra="allow")

    id: str
    owned_by: Any = None


class Models(Reply):
    data: list[Model]


class Tokenized(Reply):
    tokens: list[Id]


class Usage(Reply):
    prompt_tokens: int | None = None


class Wrong(Exception):
    """An answer that means nothing: NaN, or probabilities that do not sum to 1."""


@dataclass(frozen=True)
class Listing:
    """Log-probabilities of the next token."""

    logps: np.ndarray  # float32 [vocabulary]; NaN where none is listed

    @property
    def bound(self) -> float:
        """No token that is not listed is more probable: not than the last one listed, nor than what is left of 1."""
        listed = self.logps[np.isfinite(self.logps)].astype(np.float64)
        left = 1.0 - np.exp(listed).sum()
        return float(min(listed.min(), np.log(left) if left > 0 else -np.inf, 0.0)) if len(listed) else 0.0


@dataclass(frozen=True)
class TokenScores:
    """Of the tokens of a text, at the positions asked for."""

    logps: list[float]
    ranks: list[int] | None  # None where the server does not give them


@dataclass(frozen=True)
class About:
    """What a server reports of itself."""

    kind: str  # vLLM, llama.cpp, OpenAI-compatible
    version: str  # "" where it reports none
    model: str
    vocabulary: int
    max_tokens: int  # of a prompt
    parallel: int  # calls it works on at once
    file: str = ""  # the path of the weights on its machine
    facts: Mapping[str, Any] = field(default_factory=dict)  # of weights and options, as far as it reports them


class Server(ABC):
    """`about` is read when it is first needed and may refuse with `BadInput`."""

    lists_all = True  # can the whole vocabulary be listed?
    scoring: Scoring = "text"
    advice = ""  # what to change where it gives too little

    def __init__(self, client: Client, about: About) -> None:
        self.client, self.about = client, about

    @abstractmethod
    def next(self, ids: Ids) -> Listing:
        """Behind `ids`: of the whole vocabulary, or of as many of the likeliest as the server lists."""

    def score(self, ids: Ids, positions: Sequence[int]) -> TokenScores:
        """Of `ids[p]` for each of the positions, given what stands before it; where `scoring` is "text"."""
        raise NotImplementedError

    def token_ids(self, text: str) -> Ids | None:
        """As the server cuts a text; None where it has no way to ask."""
        return None


def whole(pairs: Mapping[int, float], vocabulary: int) -> Listing:
    """A distribution over the whole vocabulary, normalised."""
    if len(pairs) != vocabulary or not all(0 <= piece < vocabulary for piece in pairs):
        raise BadReply(f"the server lists {len(pairs):,} tokens of the {vocabulary:,} that were asked for")
    logps = _array(pairs, vocabulary)
    logps[logps <= _NO_PROBABILITY] = -np.inf
    top = logps.max()
    norm = top + np.log(np.exp(logps - top).sum()) if np.isfinite(top) else top
    if not abs(norm) < LARGEST_MISS:
        raise Wrong(f"the probabilities of all tokens sum to {np.exp(min(norm, 700.0)):.4g}, not 1")
    return Listing((logps - norm).astype(np.float32))


def likeliest(pairs: Mapping[int, float], vocabulary: int) -> Listing:
    """Only some tokens, none of which is less probable than one that is not listed."""
    logps = _array(pairs, vocabulary)
    total = np.exp(logps[np.isfinite(logps)]).sum()
    if total > 1 + LARGEST_MISS:
        raise Wrong(f"the probabilities of {len(pairs):,} tokens sum to {total:.4g}, more than 1")
    return Listing(logps.astype(np.float32))


def _array(pairs: Mapping[int, float], vocabulary: int) -> np.ndarray:
    logps = np.full(vocabulary, np.nan)
    logps[list(pairs)] = list(pairs.values())
    listed = logps[list(pairs)]
    if not np.isfinite(listed).all() or (listed > LARGEST_MISS).any():
        raise Wrong("the server gives log-probabilities that are NaN, infinite or above 0")
    return logps


def at(listing: Listing, piece: int) -> tuple[float, int]:
    """A token's log-probability and rank in a whole distribution."""
    logp = listing.logps[piece]
    return float(logp), int((listing.logps > logp).sum()) + 1


def checked(logps: Sequence[float | None]) -> list[float]:
    """Log-probabilities of a text's tokens."""
    numbers = [logp for logp in logps if logp is not None and _NO_PROBABILITY < logp <= LARGEST_MISS]
    if len(numbers) < len(logps):
        raise Wrong("the server gives log-probabilities that are NaN, infinite or above 0")
    return numbers


def refuse_other_length(read: int | None, ids: Ids) -> None:
    """A server that cuts a prompt, adds to it or reads ids as text answers another question."""
    if read is not None and read != len(ids):
        raise BadReply(f"the server read {read} tokens where {len(ids)} were sent")
