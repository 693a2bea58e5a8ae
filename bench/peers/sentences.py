"""Whole sentences and words of several pieces: CrowS-Pairs and StereoSet, of masked models."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from bench.peers.blanks import LOOP_ROWS
from bench.peers.method import MINICONS, ONE_BY_ONE, Method, Numbers, Questions, batches, work_of
from bench.peers.ours import Ours, first_items
from bench.peers.standins import AT_ONCE, StandIn
from trueprobe.probes import make
from trueprobe.types import FillBlank, Item, Word

_OTHERWISE = "of words of several pieces it masks the later ones, too: compared on the others"
SENTENCES_AT_ONCE = 3  # minicons computes all rows of these at once, one per token: about as many as AT_ONCE


def crows_pairs(standin: StandIn, size: int) -> Questions:
    pairs = Pairs(standin, size)
    methods = [
        Method(MINICONS, partial(pairs.by_minicons, standin.minicons)),
        Method(ONE_BY_ONE, pairs.one_by_one, asks="only tokens that both sentences share", most_rows=LOOP_ROWS),
    ]
    lengths = [len(ids) for ids in pairs.ids]
    work = work_of(lengths, SENTENCES_AT_ONCE, [n - 2 for n in lengths])
    return pairs.ours.questions(pairs.by_trueprobe, methods, work)


def stereoset(standin: StandIn, size: int) -> Questions:
    clusters = Clusters(standin, size, task="intrasentence")
    methods = [
        Method(MINICONS, partial(clusters.by_minicons, standin.minicons), asks=_OTHERWISE),
        Method(ONE_BY_ONE, clusters.one_by_one, most_rows=LOOP_ROWS),
    ]
    pieces = [(len(left) + len(word) + len(right), len(word)) for left, word, right in clusters.filled]
    work = work_of([n for n, _ in pieces], AT_ONCE, [n for _, n in pieces])
    return clusters.ours.questions(clusters.by_trueprobe, methods, work)


class Sentences:
    """Items of one probe, asked of a masked model."""

    probe = ""

    def __init__(self, standin: StandIn, size: int, **settings: str) -> None:
        self.standin, self.asked = standin, make(self.probe, settings)
        self.items = first_items(standin, self.asked, size, self.keeps)
        self.requests: list[Any] = [r for item in self.items for r in self.asked.ask(item, standin.model.card)]
        self.ours = Ours(standin, self.requests)

    def keeps(self, item: Item) -> bool:
        """Whether peers can be asked the very same ids."""
        return True

    def piece_ids(self, text: str) -> list[int]:
        ids: list[int] = self.standin.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def alone(self, ids: Sequence[int], place: int) -> float:
        """Log-probability of the token at `place` when it is masked: one row, every position through the head."""
        row = torch.tensor([[*ids[:place], self.standin.tokenizer.mask_token_id, *ids[place + 1 :]]])
        return float(self.standin.network(row).logits.log_softmax(-1)[0, place, ids[place]])


class Pairs(Sentences):
    """Numbers: of each sentence the sum over all its tokens, and over those that both of its pair share."""

    probe = "crows_pairs"

    @cached_property
    def ids(self) -> list[list[int]]:
        return [self.standin.tokenizer(request.text)["input_ids"] for request in self.requests]

    def by_trueprobe(self) -> Numbers:
        answers = self.ours.answers()
        shared = []
        for i, item in enumerate(self.items):
            (observed,) = self.asked.observe(item, self.standin.model.card, answers[2 * i : 2 * i + 2])
            shared += [observed.values.get(side, np.nan) for side in ("more_nats", "less_nats")]
        return {"sentences": np.array([answer.logp for answer in answers]), "shared": np.array(shared)}

    def by_minicons(self, scorer: Any) -> Numbers:
        sums: list[float] = []
        for some in batches([request.text for request in self.requests], SENTENCES_AT_ONCE):
            # it tokenises texts by a method that transformers 5 has no more, and takes them tokenised
            encoded = self.standin.tokenizer(list(some), padding=True, return_tensors="pt")
            sums += scorer.sequence_score(encoded, reduction=lambda scores: scores.double().sum().item())
        return {"sentences": np.array(sums)}

    @torch.no_grad()
    def one_by_one(self) -> Numbers:
        """As Nangia et al.: what both sentences share is masked token by token."""
        sums: list[float] = []
        for item, pair in zip(self.items, batches(self.ids, 2), strict=True):
            swapped = item.conditions["direction"] != "stereo"  # alignment depends on which comes first
            first, second = reversed(pair) if swapped else pair
            blocks = SequenceMatcher(None, first, second).get_matching_blocks()
            places = [(block.a + i, block.b + i) for block in blocks for i in range(block.size)][1:-1]
            one, other = ([self.alone(ids, p[i]) for p in places] for i, ids in enumerate((first, second)))
            both = [sum(one), sum(other)] if places else [np.nan, np.nan]
            sums += reversed(both) if swapped else both
        return {"shared": np.array(sums)}


class Clusters(Sentences):
    """Numbers: of each word the logarithm of its pieces' mean probability, and of words of one piece alone."""

    probe = "stereoset"

    def keeps(self, item: Item) -> bool:
        (request,) = self.asked.ask(item, self.standin.model.card)
        parts = self._parts(request)
        return all(
            self.piece_ids(f"{request.left} {word} {request.right}") == [*left, *pieces, *right]
            for word, (left, pieces, right) in zip(request.words, parts, strict=True)
        )

    def _parts(self, request: FillBlank) -> list[tuple[list[int], list[int], list[int]]]:
        left, right = self.piece_ids(request.left), self.piece_ids(request.right)
        return [(left, self.piece_ids(word), right) for word in request.words]

    @cached_property
    def filled(self) -> list[tuple[list[int], list[int], list[int]]]:
        return [part for request in self.requests for part in self._parts(request)]

    def _numbers(self, logps: Sequence[Sequence[float]]) -> Numbers:
        """From those of each word's pieces."""
        scores = [np.log(np.mean(np.exp(word))) for word in logps]
        return {"scores": np.array(scores), "one piece": np.array([w[0] if len(w) == 1 else np.nan for w in logps])}

    def by_trueprobe(self) -> Numbers:
        logps = []
        for request, answer in zip(self.requests, self.ours.answers(), strict=True):
            words: list[Word] = [answer.words[word] for word in request.words]
            logps += [[piece.logp for piece in word.pieces] for word in words]
        return self._numbers(logps)

    def by_minicons(self, scorer: Any) -> Numbers:
        """Its `conditional_score`, whose tokenising fails with transformers 5, in its two steps."""
        texts = [f"{request.left} {word} {request.right}" for request in self.requests for word in request.words]
        sums: list[float] = []
        for some in batches(list(zip(texts, self.filled, strict=True)), AT_ONCE):
            encoded = self.standin.tokenizer([text for text, _ in some], padding=True, return_tensors="pt")
            starts = [1 + len(left) for _, (left, _, _) in some]
            ends = [start + len(word) for start, (_, (_, word, _)) in zip(starts, some, strict=True)]
            masked = scorer.get_masked_tensors(encoded, "within_word_l2r", starts, ends)
            sums += [sum(scores) for scores in scorer.compute_stats(masked)]
        one_piece = [len(word) == 1 for _, word, _ in self.filled]
        return {"one piece": np.where(one_piece, np.array(sums), np.nan)}

    @torch.no_grad()
    def one_by_one(self) -> Numbers:
        """As Nadeem et al.: a word's pieces from left to right, each behind those before it, in a row of its own."""
        start, end = self.standin.tokenizer.cls_token_id, self.standin.tokenizer.sep_token_id
        return self._numbers(
            [
                [self.alone([start, *left, *word[: i + 1], *right, end], 1 + len(left) + i) for i in range(len(word))]
                for left, word, right in self.filled
            ]
        )
