"""How much of a bare forward and backward pass a training step keeps, as tokens per second over tokens per second.

    python bench/pretrain.py [--causal] [--size L4-H128] [--batch-tokens 2048]

The text is random words in sentences of natural lengths, so nothing has to be fetched. Both sides run turn by turn in
one process on one thread, because the machine's speed drifts. The bare side repeats one full batch without padding,
with the output layer at the same share of positions, and does nothing else: no batches made, no norm, no update.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from trueprobe.training import corpus, networks
from trueprobe.training.examples import Special, Step, make_pairs, make_runs
from trueprobe.training.recipe import PretrainRecipe, Size
from trueprobe.training.trainer import Training

VOCAB, LONGEST, ROUNDS, STEPS = 8000, 128, 8, 12


def text(documents: int = 400) -> corpus.Tokens:
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 80, documents)
    lengths = np.clip(rng.lognormal(3.1, 0.5, counts.sum()), 4, 110).astype(int)
    ids = rng.integers(10, VOCAB, lengths.sum()).astype(np.int32)
    return corpus.Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([[0], np.cumsum(counts)]))


class Words:
    """As much of a tokenizer as a network needs."""

    pad_token_id, bos_token_id = 0, 1

    def __len__(self) -> int:
        return VOCAB


def bare(network: torch.nn.Module, batch: Step) -> None:
    networks.run(network, batch).loss.backward()
    network.zero_grad(set_to_none=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--size", default="L4-H128")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    kind = "causal" if asked.causal else "masked"
    special = Special(1, 2, 3, 0, np.arange(10, VOCAB, dtype=np.int32))
    examples = (make_runs if asked.causal else make_pairs)(text(), special, LONGEST, 0.5, 0)
    network = networks.new_network(kind, Size.parse(asked.size), Words(), LONGEST, 0.0, 0)
    recipe = PretrainRecipe(
        kind=kind,
        corpus=(),
        tokens=10 * len(examples.ids),
        out=Path(),
        checkpoints=1,
        batch_tokens=asked.batch_tokens,
    )
    rng = np.random.default_rng(0)
    shape = (asked.batch_tokens // 64, 64)
    predicted = int(np.prod(shape) * (1 if asked.causal else recipe.mask_rate))
    full = Step(
        ids=rng.integers(10, VOCAB, shape),
        attention=np.ones(shape, np.int64),
        segments=np.zeros(shape, np.int64),
        at=np.sort(rng.permutation(np.prod(shape))[:predicted]),
        labels=rng.integers(10, VOCAB, predicted),
        follows=np.zeros(shape[0], np.int64),
    )
    with tempfile.TemporaryDirectory() as folder:
        training = Training(recipe, 0, network, Path(folder), examples, special)
        batches = training.batches_to_come()
        ratios = []
        for turn in range(ROUNDS + 1):
            began, before = time.perf_counter(), training.tokens
            for _ in range(STEPS):
                training.learn(*next(batches))
            ours = (training.tokens - before) / (time.perf_counter() - began)
            began = time.perf_counter()
            for _ in range(STEPS):
                bare(network, full)
            plain = STEPS * np.prod(shape) / (time.perf_counter() - began)
            if turn:  # the first warms up
                ratios.append(ours / plain)
                print(f"training {ours:8,.0f} tokens/s   bare {plain:8,.0f} tokens/s   ratio {ours / plain:.2f}")
    print(f"{kind} {asked.size}: ratio {np.median(ratios):.2f} (median of {ROUNDS})")


if __name__ == "__main__":
    main()
