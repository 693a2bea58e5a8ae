"""What counting alone achieves on the same held-out tokens: a unigram and a trigram model."""

from __future__ import annotations

import numpy as np

from trueprobe.training.examples import Examples, Masks


def unigram_and_trigram(
    train: Examples, held_out: Examples, masks: Masks, vocab_size: int, rounds: int = 30
) -> dict[str, float]:
    """Loss per token in nats at the tokens a model is asked for. The trigram model reads the two true tokens before
    each, and mixes uniform, unigram, bigram and trigram shares by weights fitted on half of the held-out tokens and
    measured on the other half, and the other way round."""
    at = masks.at
    words = held_out.ids.astype(np.int64)
    a, b, c = words[np.maximum(at - 2, 0)], words[at - 1], words[at]
    ids, v = train.ids.astype(np.int64), vocab_size
    ones = np.bincount(ids, minlength=v)
    two = _Counts(ids[:-1] * v + ids[1:])
    three = _Counts((ids[:-2] * v + ids[1:-1]) * v + ids[2:])
    shares = np.stack(
        [
            np.full(len(at), 1 / v),
            ones[c] / ones.sum(),
            two.of(b * v + c) / np.maximum(ones[b], 1),
            three.of((a * v + b) * v + c) / np.maximum(two.of(a * v + b), 1),
        ]
    )
    half = np.arange(len(at)) % 2 == 0
    smooth = (ones[c] + 1) / (ones.sum() + v)
    mixed = np.empty(len(at))
    for fit, measured in ((half, ~half), (~half, half)):
        mixed[measured] = _weights(shares[:, fit], rounds) @ shares[:, measured]
    return {"unigram_loss": float(-np.log(smooth).mean()), "trigram_loss": float(-np.log(mixed).mean())}


class _Counts:
    def __init__(self, keys: np.ndarray) -> None:
        self.keys, self.counts = np.unique(keys, return_counts=True)

    def of(self, keys: np.ndarray) -> np.ndarray:
        index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[index] == keys, self.counts[index], 0)


def _weights(shares: np.ndarray, rounds: int) -> np.ndarray:
    """The mixture under which these tokens are likeliest, by expectation and maximisation."""
    weights = np.full(len(shares), 1 / len(shares))
    for _ in range(rounds):
        shared = weights[:, None] * shares
        weights = (shared / shared.sum(0)).mean(1)
    return weights
