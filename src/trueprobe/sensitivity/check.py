"""The manipulation check: how strongly a model holds an association, in nats, on frames that no probe uses.

At the place of the group's word, the log-probability of the first group's word minus that of the second's; positive
`nats` are towards the assignment: half the difference between the targets of the first group and those of the second.
It is no measure of a bias in use: it says how much was planted, on one scale for all models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch

from trueprobe.errors import BadInput
from trueprobe.sensitivity.associations import Association
from trueprobe.training import networks
from trueprobe.training.examples import ALONE, Examples, Masks, Special, collate

_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class ManipulationCheck:
    nats: float
    auc: float  # share of pairs of targets, one of each group, that held-out log-odds put in the right order


@dataclass(frozen=True)
class _Question:
    target: str
    frame: str
    ids: tuple[int, ...]
    at: int
    words: tuple[int, int]  # of the first and the second group


def check(
    network: Any, tokenizer: Any, kind: str, association: Association, dealt: Mapping[str, str]
) -> ManipulationCheck:
    questions = _questions(tokenizer, kind, association)
    values: dict[str, dict[str, list[float]]] = {target: {} for target in association.everyone}
    for question, value in zip(questions, _log_odds(network, tokenizer, kind, questions), strict=True):
        values[question.target].setdefault(question.frame, []).append(value)
    means = {t: float(np.mean([np.mean(pairs) for pairs in frames.values()])) for t, frames in values.items()}
    return of_targets(means, dealt, association.groups)


def of_targets(means: Mapping[str, float], dealt: Mapping[str, str], groups: tuple[str, str]) -> ManipulationCheck:
    """From the log-odds of each target: {a: 1, b: -1} dealt to first and second -> 1 nat, AUC 1"""
    first, second = (np.array([means[t] for t in means if dealt[t] == group]) for group in groups)
    wins = (first[:, None] > second).mean() + 0.5 * (first[:, None] == second).mean()
    return ManipulationCheck(nats=float(first.mean() - second.mean()) / 2, auc=float(wins))


def _questions(tokenizer: Any, kind: str, association: Association) -> list[_Question]:
    """Those whose two words are one piece each in the same surroundings."""
    frames = [f for f in association.frames.held_out if kind == "masked" or association.target_first(f)]
    asked = [
        question
        for frame in frames
        for pair in association.slots[association.slot_of(frame)]
        for target in association.everyone
        if (question := _question(tokenizer, association, frame, target, pair)) is not None
    ]
    if {question.target for question in asked} != set(association.everyone):
        raise BadInput(
            "the manipulation cannot be checked: no held-out frame has two words that are one piece each in this "
            "model's vocabulary" + ("" if kind == "masked" else ", behind their target")
        )
    return asked


def _question(
    tokenizer: Any, association: Association, frame: str, target: str, pair: Sequence[str]
) -> _Question | None:
    encoded_words: list[tuple[list[int], int]] = []
    for word in pair:
        filled = association.fill(frame, target, word)
        encoded = tokenizer(filled.text, add_special_tokens=False, return_offsets_mapping=True)
        begin, end = filled.words[0]
        at = [i for i, (a, b) in enumerate(encoded["offset_mapping"]) if a < end and b > begin]
        if len(at) != 1 or len(filled.words) != 1:
            return None
        encoded_words.append((encoded["input_ids"], at[0]))
    (ids, place), (others, other_place) = encoded_words
    if place != other_place or ids[:place] + ids[place + 1 :] != others[:place] + others[place + 1 :]:
        return None
    return _Question(target, frame, tuple(ids), place, (ids[place], others[place]))


def _log_odds(network: Any, tokenizer: Any, kind: str, questions: Sequence[_Question]) -> Iterator[float]:
    special = Special.of(tokenizer, kind)
    examples, masks = _examples(questions, special, kind)
    network.eval()
    for begin in range(0, len(questions), _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, len(questions)))
        with torch.inference_mode():
            logits, _ = networks.logits(network, collate(examples, masks, rows, special, causal=kind == "causal"))
        for one, row in zip(questions[begin : begin + _AT_ONCE], logits.float().cpu().numpy(), strict=True):
            yield float(row[one.words[0]] - row[one.words[1]])


def _examples(questions: Sequence[_Question], special: Special, kind: str) -> tuple[Examples, Masks]:
    end = [special.end] if kind == "masked" else []
    framed = [[special.start, *question.ids, *end] for question in questions]
    lengths = np.array([len(ids) for ids in framed])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.fromiter(chain.from_iterable(framed), np.int32)
    at = starts[:-1] + 1 + np.array([question.at for question in questions])
    masks = Masks(at, np.full(len(at), special.mask, np.int32), np.arange(len(at) + 1))
    return Examples(ids, starts, lengths, np.full(len(at), ALONE, np.int64)), masks
