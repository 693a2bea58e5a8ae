"""A network that is in memory already, as a Trainer has it: asked as it stands, and left as it was.

What is asked is a copy of its modules that shares all weights and buffers. Hooks, evaluation mode and a patched
`forward` are the copy's alone, and no weight is held twice.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from trueprobe.errors import BadInput
from trueprobe.models.causal import Causal
from trueprobe.models.checkpoint import Options, Source, read_tokenizer
from trueprobe.models.contract import Model, Outline
from trueprobe.models.hugging import describe, start_ids
from trueprobe.models.masked import Masked, is_masked
from trueprobe.models.network import Network
from trueprobe.models.text import Text
from trueprobe.models.weights import Shape, Weights


@dataclass(frozen=True)
class InMemory:
    """Ready to be asked; of an earlier step, whose weights are gone, only its card."""

    outline: Outline
    location: str = ""

    def open(self) -> Model:
        if self.outline.model is None:
            raise BadInput(f"{self.outline.card.name}: its answers are gone, and so are its weights")
        return self.outline.model()


def in_memory(model: Any, folder: Path, name: str, labels: Mapping[str, int]) -> InMemory:
    """`folder` has its config and tokenizer, and no weights."""
    shared = _sharing_weights(model)
    weight = next(shared.parameters())
    options = Options(device=str(weight.device), dtype=str(weight.dtype).removeprefix("torch."))
    step = "".join(f"-{label.removeprefix('model_')}{number}" for label, number in labels.items())
    source = Source(f"{name}{step}", f"{name}{step}", folder, name, dict(labels))
    kind = _kind(shared)
    heads = {"lm", "next_sentence"} if "PreTraining" in type(shared).__name__ else {"lm"}
    described = describe(kind, source, options, Text(read_tokenizer(source)), shared, heads)
    card = replace(described.card, compute_id=_digest(shared, described.card.compute_id))
    text, shape, weights = described.text, Shape.of(shared, options), _Loaded(source, None, options)
    weights.shared = shared

    def opened() -> Model:
        if kind == "causal":
            return Causal(card, text, shape, weights, start_ids(text))
        return Masked(card, text, shape, weights)

    return InMemory(Outline(card, lambda: text.whole_words, 0, opened))


class _Loaded(Weights):
    shared: Any

    @cached_property
    def network(self) -> Network:
        return Network.watching(self.shared)

    def readout(self, traits: Any) -> Any:
        return self.network.readout


def _sharing_weights(model: Any) -> Any:
    """Without hooks and without what a Trainer put in place of `forward`, as for mixed precision."""
    tensors: dict[int, Any] = {id(one): one for one in model.buffers()}
    tensors |= {id(one): torch.nn.Parameter(one.data, requires_grad=False) for one in model.parameters()}
    if any(one.device.type == "meta" or not one.numel() for one in tensors.values()):
        raise BadInput("the weights of this model are spread over processes; trueprobe needs all of them in one")
    patched = model.__dict__.pop("forward", None)  # a closure over the model, which would be copied with it
    try:
        shared = copy.deepcopy(model, tensors)
    finally:
        if patched is not None:
            model.forward = patched
    for module in shared.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
        module._backward_hooks.clear()
    return shared.eval()


def _kind(model: Any) -> Any:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    if not hasattr(model, "config") or model.get_output_embeddings() is None:
        raise BadInput(f"{type(model).__name__} has no language-model head; masked and causal models have one")
    if is_masked(model.config):
        return "masked"
    if type(model.config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return "causal"
    raise BadInput(f"{type(model).__name__} is neither a masked nor a causal language model that transformers knows")


def _digest(model: Any, config: str) -> str:
    """Of sums over each weight: training moves them, and gigabytes need not leave the device."""
    with torch.inference_mode():
        sums = [torch.stack([w.double().sum(), w.double().square().sum()]) for w in model.parameters()]
        numbers = torch.stack(sums).cpu().numpy()
    return hashlib.sha256(config.encode() + numbers.tobytes()).hexdigest()
