"""From the vectors that are cached of a blank to logits and log-probabilities over the vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

ROWS_AT_ONCE = 64  # of a vocabulary product: fixed, so that a row's bits do not depend on its neighbours


class Readout:
    """From the vector that enters the output embedding to logits: one product, a scale, a soft cap."""

    def __init__(self, model: Any) -> None:
        output = model.get_output_embeddings()
        self.weight = output.weight.float() if output is not None else torch.zeros(0, 0)
        bias = getattr(output, "bias", None)
        self.bias = torch.zeros(len(self.weight), device=self.weight.device) if bias is None else bias.float()
        config = model.config
        self.scale = float(getattr(config, "logit_scale", None) or 1.0) / float(
            getattr(config, "logits_scaling", None) or 1.0
        )
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.linear = True
        self.size = len(self.weight)

    def logits(self, vectors: torch.Tensor, ids: torch.Tensor | None = None) -> torch.Tensor:
        """[n, hidden] -> [n, vocabulary], or only the columns `ids`."""
        if not self.linear:
            return vectors if ids is None else vectors[:, ids]
        weight, bias = (self.weight, self.bias) if ids is None else (self.weight[ids], self.bias[ids])
        logits = torch.addmm(bias, vectors, weight.T) * self.scale
        return torch.tanh(logits / self.cap) * self.cap if self.cap else logits

    def log_probabilities(self, readings: np.ndarray, ids: tuple[int, ...] | None = None) -> torch.Tensor:
        """From `blank` readings [n <= ROWS_AT_ONCE, hidden + 1] to natural log-probabilities, on the model's device."""
        full = torch.zeros(ROWS_AT_ONCE, readings.shape[1])
        full[: len(readings)] = torch.from_numpy(readings)
        full = full.to(self.weight.device)
        chosen = None if ids is None else torch.tensor(ids, dtype=torch.long, device=full.device)
        with torch.inference_mode():
            return (self.logits(full[:, :-1], chosen) - full[:, -1:])[: len(readings)]
