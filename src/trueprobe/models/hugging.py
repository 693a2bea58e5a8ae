"""What masked and causal transformers have in common: requests to reads, readings to answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal

import numpy as np

from trueprobe.errors import BadInput
from trueprobe.models.assemble import Blanks, Job
from trueprobe.models.checkpoint import Options, Source, Start, fingerprint, read_config
from trueprobe.models.contract import Outline
from trueprobe.models.network import Network, longest_row
from trueprobe.models.rows import Batch, Read, Row
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
_FEW_ROWS, _TRIAL_WIDTH = 8, 8
_TOKENS_BY_WIDTH, _TOKENS_BEYOND = ((128, 2048), (256, 1024), (768, 768)), 512  # larger batches fall out of the caches
_ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<|end▁of▁sentence|>")
_TURN = re.compile(r"im_(start|end|sep)|turn|header_id|eot_id|role|user|assistant|system|INST", re.IGNORECASE)


class Refused(Exception):
    """Inside a backend: this request cannot be asked of this model. Becomes a `WhyNot`."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.why_not = WhyNot(code, detail)


class HuggingFaceModel:
    """Shared by `Masked`, `Causal` and `Encoder`, which decide how rows are framed."""

    kind: ClassVar[Kind]
    _trial: ClassVar[Literal["blank", "vector"]] = "blank"  # what is read where the network is tried out
    contract: ClassVar[Literal["rows"]] = "rows"

    def __init__(self, card: Card, text: Text, network: Network) -> None:
        self.card, self.text, self.network = card, text, network

    # ------------------------------------------------------------ requests to reads

    def reads(self, request: Request) -> tuple[Read, ...] | WhyNot:
        """The one place where text becomes rows of ids."""
        try:
            return tuple(self._reads(request))
        except Refused as refused:
            return refused.why_not

    def _reads(self, request: Request) -> Sequence[Read]:
        if isinstance(request, FillBlank):
            job = self._job(request)
            return self._blank_reads(request, self._left(request), job.asked.fills)
        if isinstance(request, ScoreText):
            reads = self._scored(request)[0]
            return [*reads, *(replace(read, kind="rank") for read in reads)] if request.ranks else reads
        if isinstance(request, FollowsText):
            return [self._follows_read(request)]
        return [self._vector_read(request)]

    def _row(self, ids: Ids, segments: Ids | None = None) -> Row:
        if not ids:
            raise Refused("empty_text", "nothing to read")
        if len(ids) > self.card.max_tokens:
            raise Refused("too_long", f"{len(ids)} tokens, the model reads {self.card.max_tokens}")
        if max(ids) >= self.network.known_pieces:
            lost = self.text.piece_text(max(ids))
            raise Refused("unknown_piece", f"the tokenizer knows {lost!r}, the network has no embedding for it")
        keep = segments is not None and self.network.uses_segments
        return Row(ids, segments if keep and segments is not None else (0,) * len(ids))

    def _pieces(self, text: str) -> Pieces:
        """A text with an unknown piece would get the answer to many other texts."""
        pieces = self.text.pieces(text)
        if pieces.lost:
            raise Refused("unknown_piece", f"the tokenizer cannot spell {pieces.lost!r} in {text!r}")
        return pieces

    def _running(self, before: str | None, join: str) -> bool:
        """Is the preceding sentence part of one running text? A causal model has no pair format of its own."""
        return bool(before) and (join == "space" or (join == "pair" and self.kind == "causal"))

    def _left(self, request: FillBlank) -> str:
        running = self._running(request.before, request.join)
        return f"{request.before} {request.left}" if running else request.left

    def _job(self, request: FillBlank) -> Job:
        left = self._left(request)
        seam: Seam = "start" if request.word_start == "never" else seam_after(left)
        glued_to = left if seam == "glued" else ""
        several = request.pieces == "left_to_right"
        return Job(request, seam, glued_to, self._blanks.asked(request.words, seam, glued_to, several))

    def _scored(self, request: ScoreText) -> tuple[list[Read], Ids, tuple[int, ...], list[int], Pieces, int]:
        running = self._running(request.given, request.join)
        whole = f"{request.given} {request.text}" if running else request.text
        start = len(whole) - len(request.text)
        if running:
            request = replace(request, given=None)
        pieces = self._pieces(whole)
        chosen = [i for i, span in enumerate(pieces.spans) if span[1] > start and _touches(span, request.spans, start)]
        if not chosen:
            raise Refused("no_span" if request.spans else "empty_text", repr(request.text))
        reads, row_ids, positions = self._score_reads(request, whole, chosen)
        return reads, row_ids, positions, chosen, pieces, start

    def _vector_read(self, request: EmbedText) -> Read:
        if request.pool == "own":
            raise Refused("no_head", "the checkpoint brings no pooling of its own")
        deepest = self.network.layers
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

    # ------------------------------------------------------------ forward, and what shapes suit it

    @property
    def exact_lengths(self) -> bool:
        return self.network.padding_matters

    @cached_property
    def batch_tokens(self) -> int:
        """By hidden size, as measured on a CPU; a GPU takes 64 times as many."""
        width = int(getattr(self.network.config, "hidden_size", 0))
        tokens = next((tokens for widest, tokens in _TOKENS_BY_WIDTH if width <= widest), _TOKENS_BEYOND)
        return tokens if self.network.model.device.type == "cpu" else min(64 * tokens, 65536)

    @cached_property
    def max_rows(self) -> int:
        """So that the logits of one position per row stay within 64 MB."""
        return max(8, 16_000_000 // self.card.vocab_size)

    @cached_property
    def row_multiple(self) -> int:
        """Eight, where eight rows alone have the bits they have among more: matrix products by blocks see to that.
        Tried on one width here, on several by `check model`."""
        few, more = (self.forward(self._trial_batch(slots)) for slots in (_FEW_ROWS, 3 * _FEW_ROWS))
        return _FEW_ROWS if all(map(np.array_equal, few, more)) else self.max_rows

    def _trial_batch(self, slots: int) -> Batch:
        """Different rows, of which the first few are read."""
        ids = np.arange(slots * _TRIAL_WIDTH).reshape(slots, _TRIAL_WIDTH) % self.network.known_pieces
        reads = tuple(Read(Row(tuple(map(int, row)), (0,) * len(row)), self._trial, (1,)) for row in ids[:_FEW_ROWS])
        slots_read, columns = tuple(range(len(reads))), ((1,),) * len(reads)
        return Batch(ids, np.zeros_like(ids), np.ones_like(ids, dtype=bool), reads, slots_read, columns)

    def forward(self, batch: Batch) -> list[np.ndarray]:
        return self.network.read(batch)

    # ------------------------------------------------------------ what others need to know of the tokenizer

    def special_tokens(self) -> Mapping[str, int]:
        return self.text.specials

    def token_ids(self, text: str) -> Ids:
        return self.text.pieces(text).ids

    # ------------------------------------------------------------ readings to answers

    @cached_property
    def _blanks(self) -> Blanks:
        return Blanks(self.text, self.network.readout)

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
        jobs = [self._job(request) for request in requests]
        answers = self._blanks.fill(jobs, np.stack([values[0] for values in readings]))
        several = [i for i, values in enumerate(readings) if len(values) > 1]
        longer = self._blanks.longer_words([jobs[i] for i in several], [readings[i] for i in several])
        for i, words in zip(several, longer, strict=True):
            single = answers[i].words
            known = {word: words[word] for word in words if not isinstance(single[word], WhyNot)}
            answers[i] = replace(answers[i], words={**single, **known})
        return answers

    def _score(self, request: ScoreText, readings: Sequence[np.ndarray]) -> Scored:
        reads, row_ids, positions, chosen, pieces, start = self._scored(request)
        logps = np.concatenate(readings[: len(reads)])
        ranks = map(int, np.concatenate(readings[len(reads) :])) if request.ranks else repeat(None, len(chosen))
        tokens = []
        for i, logp, rank in zip(chosen, logps, ranks, strict=True):
            span = (max(pieces.spans[i][0] - start, 0), pieces.spans[i][1] - start)
            tokens.append(Token(self.text.piece_text(pieces.ids[i]), pieces.ids[i], float(logp), True, span, rank))
        return Scored(tuple(tokens), row_ids, positions)


@dataclass(frozen=True)
class Described:
    """A checkpoint's card and tokenizer."""

    card: Card
    text: Text
    model: Any  # transformers' network; without weights where only the card is wanted

    @property
    def outline(self) -> Outline:
        weights = sum(weight.numel() * weight.element_size() for weight in self.model.parameters())
        return Outline(self.card, lambda: self.text.whole_words, weights)


def describe(kind: Kind, source: Source, options: Options, text: Text, model: Any, heads: set[str]) -> Described:
    """The same whether `model` has its weights or is an outline of them."""
    if kind != "causal" and source.start != "auto":
        raise BadInput(f"{source.title}: start={source.start} is for causal models; this one is {kind}")
    start, config = start_ids(text, source.start), read_config(source)
    card = Card(
        name=source.name,
        family=source.family or source.name,
        labels=dict(source.labels),
        kind=kind,
        architecture=config.model_type,
        heads=frozenset(heads),
        max_tokens=longest_row(model),
        vocab_size=int(getattr(config, "vocab_size", 0)) or len(text.tokenizer),
        start_text=text.tokenizer.convert_ids_to_tokens(start[0]) if start else "",
        source=source.title,
        dtype=options.dtype,
        compute_id=fingerprint(source, config, options),
        tokenizer_id=text.tokenizer_id,
        self_trained=getattr(config, "trained_by", "") == "trueprobe pretrain",
        layers=int(getattr(config, "num_hidden_layers", 0)),
        width=int(getattr(config, "hidden_size", 0)),
    )
    return Described(card, text, model)


def start_ids(text: Text, start: Start = "auto") -> Ids:
    """What a causal model's text starts with. "auto": what the tokenizer itself puts there, else its BOS, else the
    end-of-text token that served as one in training; where that opens or closes a turn of a chat, the next of them."""
    tokenizer, prefix = text.tokenizer, text.one.before
    ends = (*map(text.fast.token_to_id, _ENDS_OF_TEXT), tokenizer.eos_token_id)  # a chat model's EOS ends a turn
    end = next((piece for piece in ends if piece is not None), None)
    choice = {"auto": (*prefix[:1], tokenizer.bos_token_id, end), "bos": (tokenizer.bos_token_id,), "eot": (end,)}
    possible = [piece for piece in choice.get(start, ()) if piece is not None]
    if not possible and start in ("bos", "eot"):
        raise BadInput(f"start={start}: the tokenizer has no such token")
    better = [piece for piece in possible if not _TURN.search(tokenizer.convert_ids_to_tokens(piece))]
    chosen = tuple((better or possible)[:1])
    return prefix if chosen == prefix[:1] else chosen


def _touches(span: tuple[int, int], spans: tuple[tuple[int, int], ...] | None, offset: int) -> bool:
    return spans is None or any(span[0] < stop + offset and start + offset < span[1] for start, stop in spans)
