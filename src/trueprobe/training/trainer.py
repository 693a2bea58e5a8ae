"""Training of one seed: steps, checkpoints along the way, and a state from which it goes on after a stop.

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

from trueprobe.errors import reading
from trueprobe.paths import write_whole
from trueprobe.training import networks
from trueprobe.training.examples import Examples, Masks, Special, Step, batches, collate, draw_masks, draw_targets
from trueprobe.training.recipe import PretrainRecipe, Recipe

REPORT_SECONDS = 1.0
_STATE = ("step", "tokens", "seconds", "loss", "history")


@dataclass(frozen=True)
class Status:
    """Where the training of a seed stands; `held_out` where it was measured just now."""

    seed: int
    step: int
    steps: int
    loss: float
    tokens_per_second: float
    held_out: dict[str, Any] | None = None


def held_out(network: Any, examples: Examples, masks: Masks, special: Special, batch: int) -> dict[str, Any]:
    """Loss per predicted token in nats, share of tokens and of next sentences predicted correctly."""
    loss, right, tokens, next_right, pairs = 0.0, 0, 0, 0, 0
    network.eval()
    with torch.inference_mode():
        for rows in batches(examples, batch, None):
            outcome = networks.run(network, _batch(network, examples, masks, rows, special), counted=True)
            loss += outcome.token_loss
            right, tokens = right + outcome.right, tokens + outcome.tokens
            next_right, pairs = next_right + outcome.next_right, pairs + outcome.pairs
    network.train()
    values = {"loss": loss / tokens, "accuracy": right / tokens, "tokens": tokens}
    return values | ({"next_accuracy": next_right / pairs, "pairs": pairs} if pairs else {})


def _batch(network: Any, examples: Examples, masks: Masks, rows: np.ndarray, special: Special) -> Step:
    return collate(examples, masks, rows, special, causal=network.config.model_type != "bert")


class Training:
    def __init__(
        self,
        recipe: PretrainRecipe,
        seed: int,
        network: Any,
        out: Path,
        train: Examples,
        special: Special,
    ) -> None:
        self.recipe, self.seed, self.network, self.out = recipe, seed, network, out
        self.train, self.special = train, special
        per_pass = len(batches(train, recipe.batch_tokens, None))
        self.per_pass = per_pass
        self.steps = max(1, math.ceil(recipe.tokens * per_pass / len(train.ids)))
        marks = np.linspace(0, self.steps, recipe.checkpoints + 1)[1:]
        self.marks = sorted({max(1, round(mark)) for mark in marks} | {self.steps})
        self.step, self.tokens, self.seconds, self.loss = 0, 0, 0.0, math.nan
        self.history: list[dict[str, Any]] = []
        self.optimizer = optimizer(network, recipe.learning_rate, recipe)

    @property
    def state_file(self) -> Path:
        return self.out / "state.safetensors"

    def go(
        self, save: Callable[[Path], None], measure: Callable[[], dict[str, Any]], report: Callable[[Status], None]
    ) -> None:
        """Train to the end. `save` writes a checkpoint folder, `measure` reads held-out text."""
        self._resume()
        self.network.train()
        saved = reported = time.monotonic()
        for rows, masks in self.batches_to_come():
            began = time.monotonic()
            self.learn(rows, masks)
            now = time.monotonic()
            self.seconds += now - began
            if self.step in self.marks:
                self.history.append({"step": self.step, "train_loss": self.loss, **measure()})
                write_whole(self.out / f"step_{self.step}", save)
            if self.step in self.marks or now - reported > REPORT_SECONDS:
                report(self._status())
                reported = now
            if now - saved > self.recipe.save_seconds and self.step < self.steps:
                self._save_state()
                saved = now

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
            return draw_targets(self.train, self.recipe.loss_rate, self.recipe.data_seed, turn)
        return draw_masks(self.train, self.special, self.recipe.mask_rate, self.recipe.data_seed, turn)

    def learn(self, rows: np.ndarray, masks: Masks) -> None:
        torch.manual_seed(self.seed * 1_000_003 + self.step)  # for dropout
        batch = _batch(self.network, self.train, masks, rows, self.special)
        outcome = networks.run(self.network, batch, precision=self.recipe.precision)
        rate = self.recipe.learning_rate * slope(self.step, self.steps, self.recipe.warmup)
        update(self.network, self.optimizer, outcome.loss, rate, self.recipe.clip)
        self.step += 1
        self.tokens += int(batch.attention.sum())
        loss = outcome.token_loss / outcome.tokens
        self.loss = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss

    def _status(self) -> Status:
        measured = self.history[-1] if self.history and self.history[-1]["step"] == self.step else None
        return Status(self.seed, self.step, self.steps, self.loss, self.tokens / self.seconds, measured)

    def _save_state(self) -> None:
        from safetensors.torch import save_file

        tensors = {}
        for name, weight in self.network.named_parameters():
            tensors[f"weight.{name}"] = weight.detach()
            for part in ("exp_avg", "exp_avg_sq"):
                if weight in self.optimizer.state:
                    tensors[f"{part}.{name}"] = self.optimizer.state[weight][part]
        state = {name: getattr(self, name) for name in _STATE}
        metadata = {"training": json.dumps(state)}
        write_whole(self.state_file, lambda path: save_file(tensors, path, metadata))

    def _resume(self) -> None:
        from safetensors import safe_open

        if not self.state_file.exists():
            return
        with (
            reading(f"{self.state_file} is damaged; remove it to begin anew"),
            safe_open(self.state_file, "pt") as state,
        ):
            values = json.loads(state.metadata()["training"])
            for name, weight in self.network.named_parameters():
                weight.data.copy_(state.get_tensor(f"weight.{name}"))
                if f"exp_avg.{name}" in state.keys():  # noqa: SIM118
                    moments = {part: state.get_tensor(f"{part}.{name}") for part in ("exp_avg", "exp_avg_sq")}
                    self.optimizer.state[weight] = {"step": torch.tensor(float(values["step"])), **moments}
            for name in _STATE:
                setattr(self, name, values[name])


def slope(step: int, steps: int, warmup: float) -> float:
    """What share of the learning rate a step has: up in a line, then down in a line to zero."""
    rise = max(1, round(warmup * steps))
    return min((step + 1) / rise, (steps - step) / max(1, steps - rise))


def update(network: Any, optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float, clip: float) -> None:
    """One step of the optimizer at this learning rate; a group may have a multiple of it."""
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("times", 1.0)
    optimizer.step()


def optimizer(network: Any, learning_rate: float, recipe: Recipe) -> torch.optim.Optimizer:
    """Biases and norms do not decay."""
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": recipe.weight_decay},
        {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)
