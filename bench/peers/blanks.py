"""A blank and a list of words: CounterActs and distractors, of masked and causal models.

minicons reads one text without segments, so for all methods the sentence before the blank is joined by a space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from bench.peers.method import LM_EVAL, MINICONS, ONE_BY_ONE, Method, Numbers, Questions, batches, work_of
from bench.peers.ours import Ours, first_requests, rows_of
from bench.peers.standins import AT_ONCE, StandIn
from trueprobe.probes import make
from trueprobe.types import FillBlank, Request

BLANK = "blank"  # stands for the blank in minicons' prompts
LOOP_ROWS = 400  # at most: a batch of one costs as much per row at any size


def questions(standin: StandIn, size: int, probe: str) -> Questions:
    blanks = Blanks(standin, first_requests(standin, make(probe), size, _as_one_text))
    methods = [
        Method(MINICONS, partial(blanks.by_minicons, standin.minicons)),
        Method(ONE_BY_ONE, blanks.one_by_one, most_rows=LOOP_ROWS),
    ]
    if standin.kind == "causal":
        harness = partial(blanks.by_lm_eval, standin.lm_eval)
        methods.append(Method(LM_EVAL, harness, asks="words of one piece, no top ten"))
    work = work_of([len(row.ids) for row in blanks.ours.rows], AT_ONCE)
    return blanks.ours.questions(blanks.by_trueprobe, methods, work)


def _as_one_text(request: Request) -> Request:
    assert isinstance(request, FillBlank)
    return replace(request, join="space")


class Blanks:
    """The same blanks, asked in four ways. Numbers: each request's words, then its top ten where those are asked."""

    def __init__(self, standin: StandIn, requests: Sequence[Any]) -> None:
        self.standin = standin
        mask = standin.tokenizer.mask_token
        same = zip(requests, rows_of(standin, requests), strict=True)
        # a peer's tokenizer must read its text as the very ids that trueprobe asks
        self.requests: list[FillBlank] = [r for r, row in same if self._ids(self.text(r, mask)) == list(row.ids)]
        if len(self.requests) < 0.9 * len(requests):
            raise AssertionError(f"{len(requests) - len(self.requests)} of {len(requests)} texts have other ids")
        self.ours = Ours(standin, self.requests)
        words = {word for request in self.requests for word in request.words}
        known = {word: standin.piece(word) for word in words}
        # of each request's words: ids, -1 for a word of several pieces
        self.pieces = [np.array([known[word] for word in request.words]) for request in self.requests]

    def text(self, request: FillBlank, blank: str) -> str:
        before = f"{request.before} " if request.before else ""
        if self.standin.kind == "causal":
            return f"{self.standin.tokenizer.bos_token}{before}{request.left}".rstrip(" ")
        return f"{before}{request.left}{blank}{request.right}"

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.standin.tokenizer(text)["input_ids"]
        return ids

    def _numbers(self, words: Sequence[np.ndarray], top: Sequence[Sequence[float]]) -> Numbers:
        return {"words": np.concatenate(words), **({"top": np.array(top)} if self.requests[0].top else {})}

    def _read(self, tables: Iterator[torch.Tensor]) -> Numbers:
        """From log-probabilities of the whole vocabulary, one row per request."""
        words: list[np.ndarray] = []
        top: list[list[float]] = []
        for table in tables:
            for row in table:
                pieces = self.pieces[len(words)]
                words.append(np.where(pieces < 0, np.nan, row.numpy()[pieces]))
                top.append(row.topk(self.requests[0].top).values.tolist())
        return self._numbers(words, top)

    # ------------------------------------------------------------ four ways to ask

    def by_trueprobe(self) -> Numbers:
        answers = self.ours.answers()
        words = [answer.logps(request.words) for answer, request in zip(answers, self.requests, strict=True)]
        return self._numbers(words, [[token.logp for token in answer.top] for answer in answers])

    def by_minicons(self, scorer: Any) -> Numbers:
        """Words are read from its table: its `query` sorts the table of the whole batch for each row of it."""
        texts = [self.text(request, BLANK) for request in self.requests]
        if self.standin.kind == "causal":
            return self._read(scorer.next_word_distribution(list(some)) for some in batches(texts, AT_ONCE))
        prompts = [(text, BLANK) for text in texts]
        return self._read(scorer.cloze_distribution(list(some)) for some in batches(prompts, AT_ONCE))

    @torch.no_grad()
    def one_by_one(self) -> Numbers:
        return self._read(
            self._alone(self.text(request, self.standin.tokenizer.mask_token)) for request in self.requests
        )

    def _alone(self, text: str) -> torch.Tensor:
        """Every position through the head, of which one is read."""
        encoded = self.standin.tokenizer(text, return_tensors="pt")
        logps = self.standin.network(**encoded).logits.log_softmax(-1)[0]
        if self.standin.kind == "causal":
            return logps[-1:]
        return logps[encoded["input_ids"][0] == self.standin.tokenizer.mask_token_id]

    def by_lm_eval(self, harness: Any) -> Numbers:
        from lm_eval.api.instance import Instance

        texts = [(self.text(request, ""), request) for request in self.requests]
        asked = [
            Instance("loglikelihood", {}, (text, f" {word}"), 0)
            for (text, request), pieces in zip(texts, self.pieces, strict=True)
            for word, piece in zip(request.words, pieces, strict=True)
            if piece >= 0
        ]
        flat = np.concatenate(self.pieces)
        words = np.full(len(flat), np.nan)
        words[flat >= 0] = [logp for logp, _ in harness.loglikelihood(asked, disable_tqdm=True)]
        return {"words": words}
