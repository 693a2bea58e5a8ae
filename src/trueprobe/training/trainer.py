"""One training of one seed: steps, checkpoints along the way, and a state from which it goes on after a stop.

Nothing is drawn while training but dropout, and that from (seed, step): a stopped training ends with the same weights.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trueprobe.paths import write_folder, write_whole
from trueprobe.training import networks
from trueprobe.training.examples import Examples, Masks, Special, Step, batches, collate, draw_masks, draw_told

TELL_SECONDS = 1.0


@dataclass(frozen=True)
class Recipe:
    """What every seed of a setup shares."""

    kind: str
    tokens: int
    checkpoints: int
    batch_tokens: int = 2048
    learning_rate: float = 1e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.0
    masking: str = "static"
    mask_rate: float = 0.15  # of a masked model's tokens
    told_rate: float = 1.0  # of a causal model's
    data_seed: int = 0


@dataclass(frozen=True)
class Told:
    """Where a training stands."""

    seed: int
    step: int
    steps: int
    loss: float
    tokens_per_second: float
    seconds_left: float
    held_out: dict[str, Any] | None = None


def held_out(network: Any, examples: Examples, masks: Masks, special: Special, batch: int) -> dict[str, Any]:
    """Loss per told token in nats, share told right, share of next sentences told right."""
    loss, right, tokens, next_right, pairs = 0.0, 0, 0, 0, 0
    network.eval()
    with torch.inference_mode():
        for rows in batches(examples, batch, None):
            seen = networks.run(network, _batch(network, examples, masks, rows, special), counted=True)
            loss += seen.token_loss
            right, tokens = right + seen.right, tokens + seen.tokens
            next_right, pairs = next_right + seen.next_right, pairs + seen.pairs
    network.train()
    found = {"loss": loss / tokens, "accuracy": right / tokens, "tokens": tokens}
    return found | ({"next_accuracy": next_right / pairs, "pairs": pairs} if pairs else {})


def _batch(network: Any, examples: Examples, masks: Masks, rows: np.ndarray, special: Special) -> Step:
    return collate(examples, masks, rows, special, causal=network.config.model_type != "bert")


class Training:
    def __init__(
        self,
        recipe: Recipe,
        seed: int,
        network: Any,
        out: Path,
        train: Examples,
        special: Special,
        save_seconds: float = 60.0,
    ) -> None:
        self.save_seconds = save_seconds
        self.recipe, self.seed, self.network, self.out = recipe, seed, network, out
        self.train, self.special = train, special
        per_pass = len(batches(train, recipe.batch_tokens, None))
        self.per_pass = per_pass
        self.steps = max(1, math.ceil(recipe.tokens * per_pass / len(train.ids)))
        marks = np.linspace(0, self.steps, recipe.checkpoints + 1)[1:]
        self.marks = sorted({max(1, round(mark)) for mark in marks} | {self.steps})
        self.step, self.tokens, self.seconds, self.loss = 0, 0, 0.0, math.nan
        self.history: list[dict[str, Any]] = []
        self.optimizer = optimizer(network, recipe.learning_rate, recipe.weight_decay)

    @property
    def state_file(self) -> Path:
        return self.out / "state.safetensors"

    def go(
        self, save: Callable[[Path], None], measure: Callable[[], dict[str, Any]], tell: Callable[[Told], None]
    ) -> None:
        """Train to the end. `save` writes a checkpoint folder, `measure` looks at held-out text."""
        self._resume()
        self.network.train()
        kept = told = time.monotonic()
        for rows, masks in self.batches_to_come():
            began = time.monotonic()
            self.learn(rows, masks)
            now = time.monotonic()
            self.seconds += now - began
            if self.step in self.marks:
                self.history.append({"step": self.step, "train_loss": self.loss, **measure()})
                write_folder(self.out / f"step_{self.step}", save)
            if self.step in self.marks or now - told > TELL_SECONDS:
                tell(self._told())
                told = now
            if now - kept > self.save_seconds and self.step < self.steps:
                self._keep()
                kept = now

    def batches_to_come(self) -> Iterator[tuple[np.ndarray, Masks]]:
        """The batches still to come: each pass over the text in an order of its own, drawn from the seed."""
        masks = self._masks(0)
        for turn in range(self.step // self.per_pass, -(-self.steps // self.per_pass)):
            if turn and self.recipe.masking == "dynamic":
                masks = self._masks(turn)
            order = np.random.default_rng([self.seed, 3, turn])
            begin = turn * self.per_pass
            plan = batches(self.train, self.recipe.batch_tokens, order)
            for rows in plan[max(self.step - begin, 0) : self.steps - begin]:
                yield rows, masks

    def _masks(self, turn: int) -> Masks:
        if self.recipe.kind == "causal":
            return draw_told(self.train, self.recipe.told_rate, self.recipe.data_seed, turn)
        return draw_masks(self.train, self.special, self.recipe.mask_rate, self.recipe.data_seed, turn)

    def learn(self, rows: np.ndarray, masks: Masks) -> None:
        torch.manual_seed(self.seed * 1_000_003 + self.step)  # for dropout
        batch = _batch(self.network, self.train, masks, rows, self.special)
        outcome = networks.run(self.network, batch)
        self.optimizer.zero_grad(set_to_none=True)
        outcome.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * slope(self.step, self.steps, self.recipe.warmup)
        self.optimizer.step()
        self.step += 1
        self.tokens += int(batch.attention.sum())
        loss = outcome.token_loss / outcome.tokens
        self.loss = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss

    def _told(self) -> Told:
        left = (self.steps - self.step) * self.seconds / self.step
        found = self.history[-1] if self.history and self.history[-1]["step"] == self.step else None
        return Told(self.seed, self.step, self.steps, self.loss, self.tokens / self.seconds, left, found)

    def _keep(self) -> None:
        from safetensors.torch import save_file

        tensors = {}
        for name, weight in self.network.named_parameters():
            tensors[f"weight.{name}"] = weight.detach()
            for part in ("exp_avg", "exp_avg_sq"):
                if weight in self.optimizer.state:
                    tensors[f"{part}.{name}"] = self.optimizer.state[weight][part]
        told = {"step": self.step, "tokens": self.tokens, "seconds": self.seconds, "loss": self.loss}
        metadata = {"training": json.dumps({**told, "history": self.history})}
        write_whole(self.state_file, lambda path: save_file(tensors, path, metadata))

    def _resume(self) -> None:
        from safetensors import safe_open

        if not self.state_file.exists():
            return
        with safe_open(self.state_file, "pt") as state:
            told = json.loads(state.metadata()["training"])
            for name, weight in self.network.named_parameters():
                weight.data.copy_(state.get_tensor(f"weight.{name}"))
                if f"exp_avg.{name}" in state.keys():  # noqa: SIM118
                    moments = {part: state.get_tensor(f"{part}.{name}") for part in ("exp_avg", "exp_avg_sq")}
                    self.optimizer.state[weight] = {"step": torch.tensor(float(told["step"])), **moments}
        self.step, self.tokens, self.seconds = told["step"], told["tokens"], told["seconds"]
        self.loss, self.history = told["loss"], told["history"]


def slope(step: int, steps: int, warmup: float) -> float:
    """What share of the learning rate a step has: up in a line, then down in a line to nothing."""
    rise = max(1, round(warmup * steps))
    return min((step + 1) / rise, (steps - step) / max(1, steps - rise))


def optimizer(network: Any, learning_rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """Biases and norms do not decay."""
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)
