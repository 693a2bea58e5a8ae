"""The training card next to the weights: what was trained on what, how far it got, and what that is worth: what
counting alone achieves on the same held-out tokens. And the same in a line for the screen.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueprobe.errors import reading
from trueprobe.paths import write_text
from trueprobe.statistics.means import wilson
from trueprobe.training.examples import Examples, Masks

if TYPE_CHECKING:
    from trueprobe.training.trainer import Status, Training


def write(
    folder: Path, setup: dict[str, Any], training: Training, corpus: dict[str, Any], tokens_before: int = 0
) -> None:
    """README.md to read, training.json for programs; the second is written last: where it is, all is there."""
    parameters = sum(weight.numel() for weight in training.network.parameters())
    card = {
        "self_trained": True,
        "model_seed": training.seed,
        "parameters": parameters,
        "steps": training.steps,
        "tokens": training.tokens,
        "tokens_before": tokens_before,  # that the model it continues has read, as far as is known
        "seconds": round(training.seconds, 1),
        "tokens_per_second": round(training.tokens / training.seconds),
        "setup": setup,
        "corpus": corpus,
        "history": training.history,
    }
    write_text(folder / "README.md", text(card))
    write_text(folder / "training.json", json.dumps(card, indent=1) + "\n")


def tokens_read(folder: Path) -> int:
    """By a model of trueprobe, in all its trainings; nothing is known of other folders."""
    file = folder / "training.json"
    if not file.is_file():
        return 0
    with reading(f"{file} is damaged"):
        return all_tokens(json.loads(file.read_text(encoding="utf-8")))


def all_tokens(card: dict[str, Any]) -> int:
    """Of this training and of those that it continues; older cards do not name these."""
    return int(card["tokens"]) + int(card.get("tokens_before", 0))


def text(card: dict[str, Any]) -> str:
    setup, recipe, corpus, last = card["setup"], card["setup"]["recipe"], card["corpus"], card["history"][-1]
    start = f"continued from {setup['start_from']['name']}" if setup["start_from"] else f"size {setup['size']}"
    named = Counter(f"{file['name']} (sha256 {file['sha256'][:12]}…)" for file in setup["corpus"])
    files = ", ".join(name if times == 1 else f"{times} times {name}" for name, times in named.items())
    alone = f"; of {setup['single']:.0%} of them each sentence alone" if setup.get("single") else ""
    masks = f", {recipe['masking']} masks on {recipe['mask_rate']:.0%} of the tokens" if "next_accuracy" in last else ""
    read = f"{card['tokens']:,} tokens"
    if card.get("tokens_before"):
        read += f" after {card['tokens_before']:,} of the model it continues"
    lines = [
        "# A self-trained language model",
        "",
        "Trained by `trueprobe pretrain` to study how results change with the training seed.",
        "",
        f"- {recipe['kind']}, {start}, {card['parameters']:,} parameters, model seed {card['model_seed']}",
        f"- text: {files}; {corpus['documents']:,} documents, {corpus['held_out_documents']:,} more held out{alone}",
        f"- {card['steps']:,} steps, {read}{masks}, {card['tokens_per_second']:,} tokens per second",
        "",
        "Held-out text:",
        "",
        "| | loss (nats per token) | predicted correctly |",
        "|---|---|---|",
        f"| this model | {last['loss']:.3f} | {last['accuracy']:.1%} of {last['tokens']:,} |",
        f"| trigram counts, from the left | {corpus['trigram_loss']:.3f} | |",
        f"| unigram counts | {corpus['unigram_loss']:.3f} | |",
    ]
    if "next_accuracy" in last:
        low, high = wilson(last["next_accuracy"], last["pairs"])
        lines += [
            "",
            f"Next sentence predicted correctly: {last['next_accuracy']:.1%} of {last['pairs']:,} pairs "
            f"(95 % interval {low:.1%} to {high:.1%}; always the commoner answer: {corpus['next_chance']:.1%}).",
        ]
    return "\n".join(lines) + "\n"


def measurement(status: Status) -> str:
    """A held-out measurement in at most 90 columns."""
    values = status.held_out or {}
    pairs = f", next {values['next_accuracy']:.1%}" if "next_accuracy" in values else ""
    right = f"held-out loss {values['loss']:.3f}, right {values['accuracy']:.1%}{pairs}"
    return (
        f"seed {status.seed} step {status.step:,}/{status.steps:,}: {right}; {status.tokens_per_second:,.0f} tokens/s"
    )


def summary(folder: Path) -> str:
    """The end of a training that is done, next to what counting alone achieves."""
    with reading(f"{folder}/training.json is damaged"):
        card = json.loads((folder / "training.json").read_text(encoding="utf-8"))
        last, corpus = card["history"][-1], card["corpus"]
        counted = f"trigram {corpus['trigram_loss']:.3f}, unigram {corpus['unigram_loss']:.3f}"
        return f"held-out loss {last['loss']:.3f} ({counted}), {last['accuracy']:.1%} right"


# ---------------------------------------------------------------- what counting alone achieves


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
