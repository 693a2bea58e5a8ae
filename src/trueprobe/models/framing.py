"""Requests to rows of ids, and what was read of them back to answers: all that needs a tokenizer and no network.

`masked.py`, `causal.py` and `encoder.py` decide how rows are framed; a network or a server computes what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Protocol

import numpy as np

from trueprobe.models.assemble import ROWS_AT_ONCE, Blanks, FillJob, LogProbabilities
from trueprobe.models.rows import Read, Row
from trueprobe.models.text import Pieces, Seam, Text, seam_after
from trueprobe.types import (
    Answer,
    Card,
    Code,
    EmbedText,
    FillBlank,
    Filled,
    Follows,
    FollowsText,
    Kind,
    Request,
    Scored,
    ScoreText,
    Token,
    Vector,
    WhyNot,
)

Ids = tuple[int, ...]


class Refused(Exception):
    """Inside a backend: this request cannot be asked of this model. Becomes a `WhyNot`."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.why_not = WhyNot(code, detail)


class NetworkFacts(Protocol):
    """What framing needs of a network, here or behind a server, without its weights."""

    @property
    def uses_segments(self) -> bool: ...
    @property
    def known_pieces(self) -> int: ...
    @property
    def layers(self) -> int: ...


class Framing:
    """Shared by `Masked`, `Causal` and `Encoder`, and by served models."""

    kind: ClassVar[Kind]

    def __init__(self, card: Card, text: Text, shape: NetworkFacts) -> None:
        self.card, self.text, self.shape = card, text, shape

    # ------------------------------------------------------------ requests to reads

    def reads(self, request: Request) -> tuple[Read, ...] | WhyNot:
        """The one place where text becomes rows of ids."""
        try:
            return tuple(self._reads(request))
        except Refused as refused:
            return refused.why_not

    def _reads(self, request: Request) -> Sequence[Read]:
        if isinstance(request, FillBlank):
            job = self.job(request)
            return self._blank_reads(request, self._left(request), job.asked.fills)
        if isinstance(request, ScoreText):
            reads, row_ids, positions, *_ = self._scored(request)
            ranks = [replace(read, kind="rank") for read in reads] if request.ranks else []
            ends = self._word_ends(row_ids, positions) if request.word_starts else {}
            blanks: list[Read] = []
            for begin, first, stop in self._windows(positions[-1] + 1, request.stride) if ends else ():
                row = self._row(row_ids[begin:stop])
                blanks += (Read(row, "blank", (end - begin,)) for end in ends if first <= end < stop)
            return [*reads, *ranks, *blanks]
        if isinstance(request, FollowsText):
            return [self._follows_read(request)]
        return [self._vector_read(request)]

    def _windows(self, length: int, stride: int) -> Iterator[tuple[int, int, int]]:
        """(begin, first that is scored, stop) of the windows of a text of so many tokens. A stride of 3 for a model of
        5: (0, 0, 5), (3, 5, 8), (6, 8, 11), so what is scored has at least 5 - 3 tokens before it, as far as there are
        any."""
        begin, first, most = 0, 0, self.card.max_tokens
        if not stride:
            most = length
        while first < length:
            yield begin, first, min(begin + most, length)
            begin, first = begin + stride, begin + most

    def _row(self, ids: Ids, segments: Ids | None = None) -> Row:
        if not ids:
            raise Refused("empty_text", "nothing to read")
        if len(ids) > self.card.max_tokens:
            raise Refused("too_long", f"{len(ids)} tokens, the model reads {self.card.max_tokens}")
        if max(ids) >= self.shape.known_pieces:
            lost = self.text.piece_text(max(ids))
            raise Refused("unknown_piece", f"the tokenizer knows {lost!r}, the network has no embedding for it")
        keep = segments is not None and self.shape.uses_segments
        return Row(ids, segments if keep and segments is not None else (0,) * len(ids))

    def _pieces(self, text: str, unknown: bool = False) -> Pieces:
        """A text with an unknown piece would get the answer to many other texts, so it is refused unless asked for."""
        pieces = self.text.pieces(text)
        if pieces.lost and not (unknown and pieces.unknown):
            raise Refused("unknown_piece", f"the tokenizer cannot spell {pieces.lost!r} in {text!r}")
        return pieces

    def _running(self, before: str | None, join: str) -> bool:
        """Is the preceding sentence part of one running text? A causal model has no pair format of its own."""
        return bool(before) and (join == "space" or (join == "pair" and self.kind == "causal"))

    def _left(self, request: FillBlank) -> str:
        running = self._running(request.before, request.join)
        return f"{request.before} {request.left}" if running else request.left

    def _lead(self, request: ScoreText) -> str:
        """What the text goes on, in one running text."""
        return f"{request.given} " if self._running(request.given, request.join) else ""

    def job(self, request: FillBlank) -> FillJob:
        """The request's words in pieces, as they stand in its blank."""
        left = self._left(request)
        seam: Seam = "start" if request.word_start == "never" else seam_after(left)
        glued_to = left if seam == "glued" else ""
        several = request.pieces == "left_to_right"
        return FillJob(request, seam, glued_to, self._blanks.asked(request.words, seam, glued_to, several))

    def listed(self, job: FillJob) -> Ids:
        """The pieces that ranks refer to, where the request has a list."""
        within = job.request.within
        return () if within is None else self._blanks.listed(within, job.seam, job.left)

    def _scored(self, request: ScoreText) -> tuple[list[Read], Ids, tuple[int, ...], list[int], Pieces, int]:
        running = self._running(request.given, request.join)
        whole = f"{self._lead(request)}{request.text}"
        start = len(whole) - len(request.text)
        if running:
            request = replace(request, given=None)
        pieces = self._pieces(whole, request.unknown)
        chosen = [i for i, span in enumerate(pieces.spans) if span[1] > start and _touches(span, request.spans, start)]
        if not chosen:
            raise Refused("no_span" if request.spans else "empty_text", repr(request.text))
        chosen = [i for i in chosen if i >= self._unscored(request)]
        if not chosen:
            raise Refused("no_start", "no start token stands before the text, so its first token has no probability")
        reads, row_ids, positions = self._score_reads(request, whole, chosen)
        return reads, row_ids, positions, chosen, pieces, start

    def _vector_read(self, request: EmbedText) -> Read:
        if request.pool == "own":
            raise Refused("no_head", "the checkpoint brings no pooling of its own")
        deepest = self.shape.layers
        if not -deepest - 1 <= request.layer <= deepest:
            raise Refused("no_layer", f"layer {request.layer}; the model has 0 (embeddings) to {deepest}")
        pieces = self._pieces(request.text)
        row, start = self._embed_row(request, pieces.ids)
        of_text = range(start, start + len(pieces.ids))
        if request.pool == "word":
            if request.span is None:
                raise Refused("no_span", "pool='word' needs a span")
            positions = tuple(
                p for p, span in zip(of_text, pieces.spans, strict=True) if _touches(span, (request.span,), 0)
            )
        else:
            all_of_row = range(len(row.ids))
            positions = tuple(
                {"cls": all_of_row[:1], "mean": all_of_row, "first": of_text[:1], "last": of_text[-1:]}[request.pool]
            )
        if not positions:
            raise Refused("no_span", f"no piece of {request.text!r} to read")
        layer = request.layer if request.layer >= -1 else request.layer + deepest + 1
        return Read(row, "vector", positions, layer=layer)

    def _unscored(self, request: ScoreText) -> int:
        """How many of the text's first tokens are read and not scored."""
        return 0

    def _word_ends(self, row_ids: Ids, positions: Sequence[int]) -> dict[int, int]:
        """Of a text read from left to right: where a word, or the text, ends, and which of its tokens that is."""
        if self.kind != "causal" or not self.text.word_starts:
            raise Refused("no_head", "not a causal model whose pieces mark where words begin")
        starts, following = set(self.text.word_starts), [*positions[1:], None]
        pairs = enumerate(zip(positions, following, strict=True))
        return {at: i for i, (at, behind) in pairs if behind is None or row_ids[behind] in starts}

    def _word_next(self, readings: Sequence[np.ndarray]) -> list[float]:
        """From `blank` readings: the log-probability of all pieces together that begin a word."""
        starts = tuple(piece for piece in self.text.word_starts if piece < self.vocabulary)
        readout, sums = self._blanks.readout, list[float]()
        for first in range(0, len(readings), ROWS_AT_ONCE):
            some = np.stack(readings[first : first + ROWS_AT_ONCE])
            sums += readout.log_probabilities(some, starts).logsumexp(-1).tolist()
        return sums

    # framed by the two kinds of model
    def _blank_reads(self, request: FillBlank, left: str, fills: list[Ids]) -> list[Read]:
        raise NotImplementedError

    def _score_reads(
        self, request: ScoreText, whole: str, chosen: list[int]
    ) -> tuple[list[Read], Ids, tuple[int, ...]]:
        raise NotImplementedError

    def _follows_read(self, request: FollowsText) -> Read:
        raise NotImplementedError

    def _embed_row(self, request: EmbedText, ids: Ids) -> tuple[Row, int]:
        raise NotImplementedError

    # ------------------------------------------------------------ what others need to know of the tokenizer

    def special_tokens(self) -> Mapping[str, int]:
        return self.text.specials

    def token_ids(self, text: str) -> Ids:
        return self.text.pieces(text).ids

    # ------------------------------------------------------------ readings to answers

    @cached_property
    def _blanks(self) -> Blanks:
        return Blanks(self.text, self.vocabulary, self.read_readout)

    @property
    def vocabulary(self) -> int:
        """How many pieces have a probability."""
        raise NotImplementedError

    def read_readout(self) -> LogProbabilities:
        """From `blank` readings to probabilities; asked for when the first answer is put together."""
        raise NotImplementedError

    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]:
        """Answers to many requests at once, from the readings of each one's `reads`."""
        answers: list[Any] = [None] * len(requests)
        blanks = [i for i, request in enumerate(requests) if isinstance(request, FillBlank)]
        for i, filled in zip(
            blanks, self._filled([requests[i] for i in blanks], [readings[i] for i in blanks]), strict=True
        ):
            answers[i] = filled
        for i, request in enumerate(requests):
            if isinstance(request, ScoreText):
                answers[i] = self._score(request, readings[i])
            elif isinstance(request, FollowsText):
                answers[i] = Follows(float(readings[i][0][0]))
            elif isinstance(request, EmbedText):
                answers[i] = Vector(readings[i][0], self._vector_read(request).positions)
        return answers

    def _filled(self, requests: list[Any], readings: list[Sequence[np.ndarray]]) -> list[Filled]:
        if not requests:
            return []
        jobs = [self.job(request) for request in requests]
        answers = self._blanks.fill(jobs, np.stack([values[0] for values in readings]))
        several = [i for i, values in enumerate(readings) if len(values) > 1]
        longer = self._blanks.longer_words([jobs[i] for i in several], [readings[i] for i in several])
        for i, words in zip(several, longer, strict=True):
            single = answers[i].words
            by_word = {word: words[word] for word in words if not isinstance(single[word], WhyNot)}
            answers[i] = replace(answers[i], words={**single, **by_word})
        return answers

    def _score(self, request: ScoreText, readings: Sequence[np.ndarray]) -> Scored:
        reads, row_ids, positions, chosen, pieces, start = self._scored(request)
        n = len(reads)
        logps = np.concatenate(readings[:n])
        ranks = map(int, np.concatenate(readings[n : 2 * n])) if request.ranks else repeat(None, len(chosen))
        word_next: dict[int, float] = {}
        if request.word_starts:
            ends = self._word_ends(row_ids, positions)
            word_next = dict(zip(ends.values(), self._word_next(readings[n + n * request.ranks :]), strict=True))
        tokens = []
        for nth, (i, logp, rank) in enumerate(zip(chosen, logps, ranks, strict=True)):
            span = (max(pieces.spans[i][0] - start, 0), pieces.spans[i][1] - start)
            piece = self.text.piece_text(pieces.ids[i])
            known = i not in pieces.unknown
            tokens.append(Token(piece, pieces.ids[i], float(logp), True, span, rank, word_next.get(nth), known))
        return Scored(tuple(tokens), row_ids, positions)


def _touches(span: tuple[int, int], spans: tuple[tuple[int, int], ...] | None, offset: int) -> bool:
    return spans is None or any(span[0] < stop + offset and start + offset < span[1] for start, stop in spans)
