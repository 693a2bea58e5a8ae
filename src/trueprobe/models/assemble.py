"""From what was read at the blanks to words, ranks and top lists: one product for many requests at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import torch

from trueprobe.models.network import ROWS_AT_ONCE
from trueprobe.models.text import Seam, Text
from trueprobe.types import TIE_NATS, FillBlank, Filled, Token, WhyNot, Word, WordList


@dataclass(frozen=True)
class Asked:
    """The words of a request in this model's pieces; shared by all requests that ask for the same words."""

    words: tuple[str, ...]
    pieces: tuple[tuple[int, ...] | WhyNot, ...]
    texts: tuple[str, ...]  # of each word's first piece, "" where there is none

    def __reduce__(self) -> tuple[type[Asked], tuple[Any, ...]]:
        """Travels without what was worked out from it."""
        return Asked, (self.words, self.pieces, self.texts)

    @cached_property
    def firsts(self) -> np.ndarray:
        """The id of each word's first piece, -1 where there is none."""
        return np.array([-1 if isinstance(p, WhyNot) else p[0] for p in self.pieces], dtype=np.int64)

    @cached_property
    def columns(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def fills(self) -> list[tuple[int, ...]]:
        """The pieces that must already stand in the blank: none, and each longer word's proper beginnings."""
        beginnings = (p[:n] for p in self.pieces if not isinstance(p, WhyNot) for n in range(1, len(p)))
        return list(dict.fromkeys([(), *beginnings]))

    @cached_property
    def _distinct(self) -> dict[tuple[str, ...], np.ndarray]:
        return {}

    def distinct(self, words: tuple[str, ...]) -> np.ndarray:
        """Columns of those words that are one piece, each piece once: an uncased model spells "She" as "she"."""
        if words not in self._distinct:
            pieces = [(self.pieces[self.columns[word]], self.columns[word]) for word in words]
            single = {p: i for p, i in pieces if not isinstance(p, WhyNot) and len(p) == 1}
            self._distinct[words] = np.array(list(single.values()), dtype=np.int64)
        return self._distinct[words]


@dataclass(frozen=True, slots=True)
class Job:
    """A request with what its blank looks like: what stands before it, and the words in pieces."""

    request: FillBlank
    seam: Seam
    left: str  # "" unless the blank is glued to it
    asked: Asked


class Words(Mapping[str, "Word | WhyNot"]):
    """A request's words with their numbers, in arrays; a `Word` is made when one is looked at."""

    __slots__ = ("_logps", "_ranks", "_tied", "asked")

    def __init__(self, asked: Asked, logps: np.ndarray, ranks: np.ndarray, tied: np.ndarray) -> None:
        self.asked, self._logps, self._ranks, self._tied = asked, logps, ranks, tied

    def __getitem__(self, word: str) -> Word | WhyNot:
        at = self.asked.columns[word]
        pieces = self.asked.pieces[at]
        if isinstance(pieces, WhyNot):
            return pieces
        logp = float(self._logps[at])
        if math.isnan(logp):
            return _no_probability(word)
        token = Token(self.asked.texts[at], pieces[0], logp)
        return Word((token,), int(self._ranks[at]), int(self._tied[at]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.asked.columns)

    def __len__(self) -> int:
        return len(self.asked.columns)

    def mass(self, words: tuple[str, ...]) -> float:
        """Summed probability of these words' distinct pieces."""
        return float(np.nansum(np.exp(self._logps[self.asked.distinct(words)].astype(np.float64))))

    def logps(self, words: tuple[str, ...]) -> np.ndarray:
        """Of these words' pieces; NaN where a word has no number."""
        return self._logps if words is self.asked.words else self._logps[[self.asked.columns[word] for word in words]]


class LogProbabilities(Protocol):
    """From `blank` readings [n <= ROWS_AT_ONCE, any] to natural log-probabilities [n, vocabulary or `ids`]."""

    @property
    def size(self) -> int: ...
    def log_probabilities(self, readings: np.ndarray, ids: torch.Tensor | None = None) -> torch.Tensor: ...


class Blanks:
    """Turns `blank` readings of one model into `Filled`."""

    def __init__(self, text: Text, vocabulary: int, read_readout: Callable[[], LogProbabilities]) -> None:
        self.text, self.vocabulary, self._read_readout = text, vocabulary, read_readout
        self.asked = lru_cache(maxsize=10_000)(self._asked)
        self.listed = lru_cache(maxsize=64)(self._list_pieces)

    @cached_property
    def readout(self) -> LogProbabilities:
        return self._read_readout()

    def _asked(self, words: tuple[str, ...], seam: Seam, left: str, several: bool) -> Asked:
        pieces = []
        for word in words:
            ids = self.text.word(word, seam, left)
            if not isinstance(ids, WhyNot) and len(ids) > 1 and not several:
                ids = WhyNot("multi_piece", f"{word!r} is {len(ids)} pieces")
            if not isinstance(ids, WhyNot) and max(ids) >= self.vocabulary:
                ids = WhyNot("unknown_piece", f"{word!r} is beyond the network's vocabulary")
            pieces.append(ids)
        texts = tuple("" if isinstance(ids, WhyNot) else self.text.piece_text(ids[0]) for ids in pieces)
        return Asked(words, tuple(pieces), texts)

    def _list_pieces(self, words: WordList, seam: Seam, left: str) -> tuple[int, ...]:
        """The members this model can say in one piece."""
        asked = self._asked(words.words, seam, left, several=False)
        return tuple(dict.fromkeys(p[0] for p in asked.pieces if not isinstance(p, WhyNot)))

    def fill(self, jobs: Sequence[Job], readings: np.ndarray) -> list[Filled]:
        """One answer per job from its row of `readings` [jobs, hidden + 1]; a word of several pieces gets none here."""
        answers: dict[int, Filled] = {}
        by_list: dict[tuple[WordList | None, Seam, str], list[int]] = {}
        for i, job in enumerate(jobs):
            within = job.request.within
            by_list.setdefault((within, job.seam, job.left) if within else (None, "space", ""), []).append(i)
        for (within, seam, left), members in by_list.items():
            listed = None if within is None else self.listed(within, seam, left)
            for start in range(0, len(members), ROWS_AT_ONCE):
                chunk = members[start : start + ROWS_AT_ONCE]
                answers.update(zip(chunk, self._fill([jobs[i] for i in chunk], readings[chunk], listed), strict=True))
        return [answers[i] for i in range(len(jobs))]

    def _fill(self, jobs: list[Job], readings: np.ndarray, listed: tuple[int, ...] | None) -> Iterator[Filled]:
        ids = None if listed is None else torch.tensor(listed, dtype=torch.long)
        logps = self.readout.log_probabilities(readings, ids).numpy()  # [jobs, list]
        column_of = None if listed is None else {piece: column for column, piece in enumerate(listed)}
        ordered = np.sort(logps, axis=1) if any(job.request.words for job in jobs) else logps
        for job, row, ascending in zip(jobs, logps, ordered, strict=True):
            words = self._words(job, row, ascending, column_of)
            best = torch.topk(torch.from_numpy(row), min(job.request.top, len(row)))
            pieces = best.indices.tolist() if listed is None else [listed[column] for column in best.indices.tolist()]
            best_first = zip(pieces, best.values.tolist(), strict=True)
            top = tuple(Token(self.text.piece_text(p), p, v) for p, v in best_first if math.isfinite(v))
            yield Filled(words, top, len(row))

    def _words(self, job: Job, row: np.ndarray, ascending: np.ndarray, column_of: dict[int, int] | None) -> Words:
        asked = job.asked if column_of is None else only_members(job, column_of)
        at = (
            asked.firsts
            if column_of is None
            else np.array([column_of.get(p, -1) for p in asked.firsts.tolist()], np.int64)
        )
        padded = np.append(row, np.float32(np.nan))  # where -1 points: a list may have no member of one piece at all
        logps = padded[at]
        ranks = len(row) - np.searchsorted(ascending, logps, side="right") + 1
        above = np.searchsorted(ascending, logps + np.float32(TIE_NATS), side="right")
        tied = above - np.searchsorted(ascending, logps - np.float32(TIE_NATS), side="left") - 1
        return Words(asked, np.where(np.isfinite(logps), logps, np.float32(np.nan)), ranks, tied)


def only_members(job: Job, column_of: dict[int, int]) -> Asked:
    """Words outside the list get no number; a longer member (left to right) gets one, but no rank."""
    asked, listed = job.asked, job.request.within.words if job.request.within else ()
    pieces = tuple(
        p
        if isinstance(p, WhyNot) or (p[0] in column_of if len(p) == 1 else w in listed)
        else WhyNot("not_in_list", repr(w))
        for w, p in zip(asked.words, asked.pieces, strict=True)
    )
    return Asked(asked.words, pieces, asked.texts)


def joined_pieces(text: Text, word: str, pieces: tuple[int, ...], logps: Sequence[float]) -> Word | WhyNot:
    """A word of several pieces, each with its own log-probability given those before it."""
    if not all(map(math.isfinite, logps)):
        return _no_probability(word)
    return Word(tuple(Token(text.piece_text(p), p, float(v)) for p, v in zip(pieces, logps, strict=True)), None, 0)


def _no_probability(word: str) -> WhyNot:
    """Its logit overflowed, or the network itself sets it to minus infinity."""
    return WhyNot("not_finite", f"the network gives {word!r} no finite log-probability")
