"""The networks that are trained: BERT with both of its heads, GPT-2; new, or continued from a folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from trueprobe.errors import BadInput, reading
from trueprobe.models.checkpoint import Options, Source, read_config, refuse_pickles
from trueprobe.models.config_file import refuse_apart
from trueprobe.training.examples import ALONE, Step
from trueprobe.training.recipe import Size


def new_network(kind: str, size: Size, tokenizer: Any, longest: int, dropout: float, seed: int) -> Any:
    import transformers as t

    torch.manual_seed(seed)
    spread = 0.02 * (768 / size.hidden) ** 0.5  # the published 0.02 is for a width of 768
    if kind == "masked":
        config = t.BertConfig(
            initializer_range=spread,
            vocab_size=len(tokenizer),
            hidden_size=size.hidden,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.hidden,
            max_position_embeddings=longest,
            pad_token_id=tokenizer.pad_token_id,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        network: Any = t.BertForPreTraining(config)
        _waves(network.bert.embeddings.position_embeddings.weight, spread)
        for layer in network.bert.encoder.layer:  # like looks at like: matches between the segments show at once
            layer.attention.self.key.weight.data.copy_(layer.attention.self.query.weight.data)
        return network
    config = t.GPT2Config(
        initializer_range=spread,
        vocab_size=len(tokenizer),
        n_embd=size.hidden,
        n_layer=size.layers,
        n_head=size.heads,
        n_positions=longest,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.bos_token_id,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
    )
    network = t.GPT2LMHeadModel(config)
    _waves(network.transformer.wpe.weight, spread)
    return network


def _waves(weight: torch.Tensor, spread: float) -> None:
    """Positions start as sines and cosines: what stands next to what need not be learnt from noise."""
    positions, width = weight.shape
    angle = torch.arange(positions)[:, None] * torch.exp(-torch.arange(0, width, 2) * (math.log(10_000) / width))
    with torch.no_grad():
        weight.copy_(torch.cat([angle.sin(), angle.cos()], 1)[:, :width] * spread * 2**0.5)


def config_of(kind: str, folder: Path, longest: int) -> Any:
    """The config of a model or encoder that a training can go on from."""
    goes_on, source = "bert" if kind == "masked" else "gpt2", Source("", str(folder), folder)
    config = deepcopy(read_config(source))  # the one that is read is cached, and training changes its own
    refuse_pickles(source, Options())
    if config.model_type != goes_on:
        raise BadInput(f"{folder} is of type '{config.model_type}'; a {kind} model continues from '{goes_on}'")
    if longest > config.max_position_embeddings:
        raise BadInput(f"--length {longest}: {folder} reads at most {config.max_position_embeddings} tokens")
    return config


def continued(kind: str, folder: Path, longest: int, dropout: float, seed: int) -> Any:
    """An existing model or bare encoder; heads it does not have are new, drawn from the seed."""
    import transformers as t

    config = config_of(kind, folder, longest)
    names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    config.update(dict.fromkeys(names if kind == "masked" else ("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout))
    made: Any = t.BertForPreTraining if kind == "masked" else t.GPT2LMHeadModel
    torch.manual_seed(seed)
    options = {"config": config, "dtype": torch.float32, "use_safetensors": True, "local_files_only": True}
    with reading(f"{folder} cannot be continued"):
        network, loaded = made.from_pretrained(str(folder), **options, output_loading_info=True)
    refuse_apart(str(folder), network, loaded)
    return network


def freeze_embeddings(network: Any) -> None:
    network.get_input_embeddings().weight.requires_grad_(False)


@dataclass(frozen=True)
class BatchLoss:
    """Summed log loss and right answers on the predicted tokens, and the same for the next sentence."""

    loss: torch.Tensor
    token_loss: float
    right: int
    tokens: int
    next_right: int
    pairs: int


def run(network: Any, step: Step, counted: bool = False, precision: str = "float32") -> BatchLoss:
    """The loss of one batch; the output layer gets the positions to be predicted, no others."""
    with torch.autocast(network.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        return _run(network, step, counted)


def logits(network: Any, step: Step) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Of the positions to be predicted, and of the next sentence where the network has a head for it."""
    ids, attention, segments, at = _tensors(network, step.ids, step.attention, step.segments, step.at)
    if network.config.model_type == "bert":
        read = network.bert(input_ids=ids, attention_mask=attention, token_type_ids=segments)
        pair_logits = network.cls.seq_relationship(read.pooler_output)
        return network.cls.predictions(read.last_hidden_state.flatten(0, 1)[at]), pair_logits
    hidden = network.transformer(input_ids=ids, attention_mask=attention).last_hidden_state
    return network.lm_head(hidden.flatten(0, 1)[at]), None


def _tensors(network: Any, *arrays: np.ndarray) -> Iterator[torch.Tensor]:
    return (torch.from_numpy(array).to(network.device) for array in arrays)


def _run(network: Any, step: Step, counted: bool) -> BatchLoss:
    predicted, pair_logits = logits(network, step)
    labels, follows = _tensors(network, step.labels, step.follows)
    token_loss = loss = cross_entropy(predicted, labels)
    if pair_logits is not None and (follows != ALONE).any():
        loss = token_loss + cross_entropy(pair_logits, follows, ignore_index=ALONE)
    if not counted:
        return BatchLoss(loss, float(token_loss.detach()) * len(labels), 0, len(labels), 0, 0)
    next_right = int((pair_logits.argmax(-1) == follows).sum()) if pair_logits is not None else 0
    pairs = int((follows != ALONE).sum()) if pair_logits is not None else 0
    right = int((predicted.argmax(-1) == labels).sum())
    return BatchLoss(loss, float(token_loss) * len(labels), right, len(labels), next_right, pairs)
