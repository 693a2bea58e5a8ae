"""From what was read at the blanks to words, ranks and top lists: one product for many requests at once.

What is read at a blank is the vector that enters the output embedding; `Readout` makes logits and log-probabilities of
the vocabulary from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Protocol

import numpy as np
import torch

from trueprobe.models.text import Seam, Text
from trueprobe.types import TIE_NATS, FillBlank, Filled, Token, WhyNot, Word, WordList

ROWS_AT_ONCE = 64  # of a vocabulary product: fixed, so that a row's bits do not depend on its neighbours


class Readout:
    """From the vector that enters the output embedding to logits: one product, a scale, a soft cap."""

    def __init__(self, model: Any) -> None:
        output = model.get_output_embeddings()
        self.weight = output.weight.float() if output is not None else torch.zeros(0, 0)
        bias = getattr(output, "bias", None)
        self.bias = torch.zeros(len(self.weight), device=self.weight.device) if bias is None else bias.float()
        config = model.config
        self.scale = float(getattr(config, "logit_scale", None) or 1.0) / float(
            getattr(config, "logits_scaling", None) or 1.0
        )
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.linear = True
        self.size = len(self.weight)

    def logits(self, vectors: torch.Tensor, ids: torch.Tensor | None = None) -> torch.Tensor:
        """[n, hidden] -> [n, vocabulary], or only the columns `ids`."""
        if not self.linear:
            return vectors if ids is None else vectors[:, ids]
        weight, bias = (self.weight, self.bias) if ids is None else (self.weight[ids], self.bias[ids])
        logits = torch.addmm(bias, vectors, weight.T) * self.scale
        return torch.tanh(logits / self.cap) * self.cap if self.cap else logits

    def log_probabilities(self, readings: np.ndarray, ids: tuple[int, ...] | None = None) -> torch.Tensor:
        """From `blank` readings [n <= ROWS_AT_ONCE, hidden + 1] to natural log-probabilities, on the model's device."""
        full = torch.zeros(ROWS_AT_ONCE, readings.shape[1])
        full[: len(readings)] = torch.from_numpy(readings)
        full = full.to(self.weight.device)
        chosen = None if ids is None else torch.tensor(ids, dtype=torch.long, device=full.device)
        with torch.inference_mode():
            return (self.logits(full[:, :-1], chosen) - full[:, -1:])[: len(readings)]


# ---------------------------------------------------------------- from vectors to log-probabilities


@dataclass(frozen=True)
class AskedWords:
    """The words of a request in this model's pieces; shared by all requests that ask for the same words."""

    words: tuple[str, ...]
    pieces: tuple[tuple[int, ...] | WhyNot, ...]
    texts: tuple[str, ...]  # of each word's first piece, "" where there is none

    def __reduce__(self) -> tuple[type[AskedWords], tuple[Any, ...]]:
        """Travels without what was worked out from it."""
        return AskedWords, (self.words, self.pieces, self.texts)

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
    def longer(self) -> dict[str, tuple[int, ...]]:
        """Words of several pieces."""
        pairs = zip(self.words, self.pieces, strict=True)
        return {word: pieces for word, pieces in pairs if not isinstance(pieces, WhyNot) and len(pieces) > 1}

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
class FillJob:
    """A request with what its blank looks like: what stands before it, and the words in pieces."""

    request: FillBlank
    seam: Seam
    left: str  # "" unless the blank is glued to it
    asked: AskedWords


class Words(Mapping[str, "Word | WhyNot"]):
    """A request's words with their numbers, in arrays; a `Word` is made when one is looked at."""

    __slots__ = ("_logps", "_ranks", "_tied", "asked")

    def __init__(self, asked: AskedWords, logps: np.ndarray, ranks: np.ndarray, tied: np.ndarray) -> None:
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
    def log_probabilities(self, readings: np.ndarray, ids: tuple[int, ...] | None = None) -> torch.Tensor: ...


class Blanks:
    """Turns `blank` readings of one model into `Filled`."""

    def __init__(self, text: Text, vocabulary: int, read_readout: Callable[[], LogProbabilities]) -> None:
        self.text, self.vocabulary, self._read_readout = text, vocabulary, read_readout
        self.asked = lru_cache(maxsize=10_000)(self._asked)
        self.listed = lru_cache(maxsize=64)(self._list_pieces)

    @cached_property
    def readout(self) -> LogProbabilities:
        return self._read_readout()

    def _asked(self, words: tuple[str, ...], seam: Seam, left: str, several: bool) -> AskedWords:
        pieces = []
        for word in words:
            ids = self.text.word(word, seam, left)
            if not isinstance(ids, WhyNot) and len(ids) > 1 and not several:
                ids = WhyNot("multi_piece", f"{word!r} is {len(ids)} pieces")
            if not isinstance(ids, WhyNot) and max(ids) >= self.vocabulary:
                ids = WhyNot("unknown_piece", f"{word!r} is beyond the network's vocabulary")
            pieces.append(ids)
        texts = tuple("" if isinstance(ids, WhyNot) else self.text.piece_text(ids[0]) for ids in pieces)
        return AskedWords(words, tuple(pieces), texts)

    def _list_pieces(self, words: WordList, seam: Seam, left: str) -> tuple[int, ...]:
        """The members this model can say in one piece."""
        asked = self._asked(words.words, seam, left, several=False)
        return tuple(dict.fromkeys(p[0] for p in asked.pieces if not isinstance(p, WhyNot)))

    def fill(self, jobs: Sequence[FillJob], readings: np.ndarray) -> list[Filled]:
        """One answer per job from its row of `readings` [jobs, hidden + 1]; a word of several pieces gets none here."""
        answers: dict[int, Filled] = {}
        alike: dict[tuple[WordList | None, Seam, str, int], list[int]] = {}
        for i, job in enumerate(jobs):
            within, top = job.request.within, job.request.top
            alike.setdefault((within, job.seam, job.left, top) if within else (None, "space", "", top), []).append(i)
        for (within, seam, left, top), members in alike.items():
            listed = None if within is None else self.listed(within, seam, left)
            for start in range(0, len(members), ROWS_AT_ONCE):
                chunk = members[start : start + ROWS_AT_ONCE]
                filled = self._fill([jobs[i] for i in chunk], readings[chunk], listed, top)
                answers.update(zip(chunk, filled, strict=True))
        return [answers[i] for i in range(len(jobs))]

    def _fill(
        self, jobs: list[FillJob], readings: np.ndarray, listed: tuple[int, ...] | None, top: int
    ) -> Iterator[Filled]:
        """The vocabulary's numbers stay on the device; words with their ranks and the best `top` come back together."""
        column_of = None if listed is None else {piece: column for column, piece in enumerate(listed)}
        asked = [job.asked if column_of is None else only_members(job, column_of) for job in jobs]
        logps = self.readout.log_probabilities(readings, listed)  # [jobs, list]
        size = logps.shape[1]
        at = np.full((len(jobs), max(len(each.words) for each in asked)), -1, dtype=np.int64)
        for row, each in zip(at, asked, strict=True):
            firsts = each.firsts.tolist()
            row[: len(firsts)] = firsts if column_of is None else [column_of.get(piece, -1) for piece in firsts]
        best = torch.topk(logps, min(top, size))
        numbers = [*_ranked(logps, torch.from_numpy(at).to(logps.device)), best.values, best.indices.float()]
        words, ranks, tied, values, columns = np.split(
            torch.cat(numbers, dim=1).cpu().numpy(), np.cumsum([number.shape[1] for number in numbers])[:-1], axis=1
        )
        for i, each in enumerate(asked):
            n = len(each.words)
            pieces = columns[i].astype(int).tolist() if listed is None else [listed[int(c)] for c in columns[i]]
            best_first = zip(pieces, values[i].tolist(), strict=True)
            tokens = tuple(Token(self.text.piece_text(p), p, v) for p, v in best_first if math.isfinite(v))
            yield Filled(Words(each, words[i, :n], ranks[i, :n], tied[i, :n]), tokens, size)

    def longer_words(
        self, jobs: Sequence[FillJob], readings: Sequence[Sequence[np.ndarray]]
    ) -> list[dict[str, Word | WhyNot]]:
        """Of each job its words of several pieces: each piece at its own row, behind the pieces before it."""
        longer = [job.asked.longer for job in jobs]
        numbers = []
        for job, words, values in zip(jobs, longer, readings, strict=True):
            fills = {fill: i for i, fill in enumerate(job.asked.fills)}
            for pieces in words.values():
                rows = np.stack([values[fills[pieces[:n]]] for n in range(len(pieces))])
                numbers.append(self.readout.log_probabilities(rows, pieces).diagonal())  # of [rows, pieces]
        logps = iter(torch.cat(numbers).tolist() if numbers else [])
        return [{w: _joined(self.text, w, p, [*islice(logps, len(p))]) for w, p in words.items()} for words in longer]


def _ranked(logps: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of the columns `at` [rows, n] their numbers, ranks (1 is best) and how many others are within a tie, as float32
    (exact up to 16 million); NaN, and no meaning, where `at` is -1 or a number is not finite."""
    if not at.shape[1]:
        return logps[:, :0], logps[:, :0], logps[:, :0]
    padded = torch.cat([logps, logps.new_full((len(logps), 1), torch.nan)], dim=1)  # a list may have no column at all
    values = padded.gather(1, at % padded.shape[1])
    ascending = _ascending(logps)
    ranks = logps.shape[1] - torch.searchsorted(ascending, values, right=True) + 1
    above = torch.searchsorted(ascending, values + TIE_NATS, right=True)
    tied = above - torch.searchsorted(ascending, values - TIE_NATS) - 1
    return torch.where(values.isfinite(), values, torch.nan), ranks.float(), tied.float()


def _ascending(table: torch.Tensor) -> torch.Tensor:
    """Each row sorted; on a CPU by numpy, which takes a quarter of torch's time."""
    if table.device.type == "cpu":
        return torch.from_numpy(np.sort(table.numpy(), axis=1))
    return torch.sort(table, dim=1).values


def only_members(job: FillJob, column_of: dict[int, int]) -> AskedWords:
    """Words outside the list get no number; a longer member (left to right) gets one, but no rank."""
    asked, listed = job.asked, job.request.within.words if job.request.within else ()
    pieces = tuple(
        p
        if isinstance(p, WhyNot) or (p[0] in column_of if len(p) == 1 else w in listed)
        else WhyNot("not_in_list", repr(w))
        for w, p in zip(asked.words, asked.pieces, strict=True)
    )
    return AskedWords(asked.words, pieces, asked.texts)


def _joined(text: Text, word: str, pieces: tuple[int, ...], logps: Sequence[float]) -> Word | WhyNot:
    """A word of several pieces, each with its own log-probability given those before it."""
    if not all(map(math.isfinite, logps)):
        return _no_probability(word)
    return Word(tuple(Token(text.piece_text(p), p, float(v)) for p, v in zip(pieces, logps, strict=True)), None, 0)


def _no_probability(word: str) -> WhyNot:
    """Its logit overflowed, or the network itself sets it to minus infinity."""
    return WhyNot("not_finite", f"the network gives {word!r} no finite log-probability")
