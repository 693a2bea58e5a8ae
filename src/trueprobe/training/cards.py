"""The training card beside the weights: what was trained on what, how far it got, and what that is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueprobe.paths import write_text
from trueprobe.statistics.means import wilson
from trueprobe.training.trainer import Training


def write(folder: Path, setup: dict[str, Any], training: Training, told: dict[str, Any]) -> None:
    """README.md to read, training.json for programs; the second is written last and says that all is there."""
    parameters = sum(weight.numel() for weight in training.network.parameters())
    card = {
        "self_trained": True,
        "model_seed": training.seed,
        "parameters": parameters,
        "steps": training.steps,
        "tokens": training.tokens,
        "seconds": round(training.seconds, 1),
        "tokens_per_second": round(training.tokens / training.seconds),
        "setup": setup,
        "corpus": told,
        "history": training.history,
    }
    write_text(folder / "README.md", text(card))
    write_text(folder / "training.json", json.dumps(card, indent=1) + "\n")


def text(card: dict[str, Any]) -> str:
    setup, recipe, told, last = card["setup"], card["setup"]["recipe"], card["corpus"], card["history"][-1]
    start = f"continued from {setup['start_from']['name']}" if setup["start_from"] else f"size {setup['size']}"
    files = ", ".join(f"{file['name']} (sha256 {file['sha256'][:12]}…)" for file in setup["corpus"])
    masks = f", {recipe['masking']} masks on {recipe['mask_rate']:.0%} of the tokens" if "next_accuracy" in last else ""
    lines = [
        "# A self-trained language model",
        "",
        "Trained by `trueprobe pretrain` to study how results change with the training seed.",
        "",
        f"- {recipe['kind']}, {start}, {card['parameters']:,} parameters, model seed {card['model_seed']}",
        f"- text: {files}; {told['documents']:,} documents, {told['held_out_documents']:,} more held out",
        f"- {card['steps']:,} steps, {card['tokens']:,} tokens{masks}, {card['tokens_per_second']:,} tokens per second",
        "",
        "Held-out text:",
        "",
        "| | loss (nats per token) | told right |",
        "|---|---|---|",
        f"| this model | {last['loss']:.3f} | {last['accuracy']:.1%} of {last['tokens']:,} |",
        f"| trigram counts, from the left | {told['trigram_loss']:.3f} | |",
        f"| unigram counts | {told['unigram_loss']:.3f} | |",
    ]
    if "next_accuracy" in last:
        low, high = wilson(last["next_accuracy"], last["pairs"])
        lines += [
            "",
            f"Next sentence told right: {last['next_accuracy']:.1%} of {last['pairs']:,} pairs "
            f"(95 % interval {low:.1%} to {high:.1%}; always the commoner answer: {told['next_chance']:.1%}).",
        ]
    return "\n".join(lines) + "\n"
