"""The last layer where it is asked: keys and values of all positions, everything else at the positions that are read.

A blank is read at one position of 20, and behind the last layer no position looks at another. So of the last layer

    hidden [slots, width, n] -> query, key, value -> attention -> output product -> feed-forward -> [slots, width, n]

only keys and values are needed of all positions; queries, attention and all that follows are needed of those that are
read. Keys and values are 2 of the 12 n × n products of BERT's layer: with one position of 20 read, a fifth remains.

A layer mixes positions in its attention alone. So its own code runs on the few positions, and only the attention's
`forward` is exchanged: queries of the few, keys and values of all, by plain product and softmax (with one query torch's
fused attention gives other bits with another number of threads). Architectures are listed by name; the others compute
the whole layer.

In one pass, with reads at columns 3 of slot 0 and 1 and 4 of slot 2:

1. `at(spots)`: the hooks are armed. All layers but the last run as always.
2. `_narrow`, before the last layer: remembers its input, hands it the input at the spots only.
3. `_attend`, in place of the attention's `forward`: queries of the spots, keys and values of what was remembered.
4. `_widen`, behind the last layer: puts the new states back into their columns; all others stay as they were before
   the layer, and nobody reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from trueprobe.models.rows import SAFE_ROWS


@dataclass(frozen=True)
class Parts:
    """Where an architecture has what is needed, as dotted names."""

    layers: str  # from the body
    attention: str  # from a layer: what mixes positions
    head_size: str  # a number, from the attention
    products: tuple[str, ...]  # of query, key and value; or one of all three
    fused: Literal["", "thirds", "heads"] = ""  # how one product lies: side by side, or so within each head
    output: str = ""  # the product behind the heads, where it is in the attention
    output_norm: str = ""  # of the sum with the attention's input, where it is in the attention
    norm: str = ""  # from a layer: what the attention's input went through


_BERT = Parts("encoder.layer", "attention.self", "attention_head_size", ("query", "key", "value"))
_OPT = Parts(
    "decoder.layers",
    "self_attn",
    "head_dim",
    ("q_proj", "k_proj", "v_proj"),
    "",
    "out_proj",
    norm="self_attn_layer_norm",
)
_LLAMA = replace(_OPT, layers="layers", output="o_proj", norm="input_layernorm")
PARTS = {
    "albert": replace(
        _BERT,
        layers="encoder.albert_layer_groups.-1.albert_layers",
        attention="attention",
        output="dense",
        output_norm="LayerNorm",
    ),
    "bert": _BERT,
    "camembert": _BERT,
    "distilbert": Parts(
        "transformer.layer", "attention", "attention_head_size", ("q_lin", "k_lin", "v_lin"), output="out_lin"
    ),
    "electra": _BERT,
    "gemma": _LLAMA,
    "gemma2": _LLAMA,
    "gpt2": Parts("h", "attn", "head_dim", ("c_attn",), "thirds", "c_proj", norm="ln_1"),
    "gpt_neox": Parts(
        "layers", "attention", "head_size", ("query_key_value",), "heads", "dense", norm="input_layernorm"
    ),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "mpnet": Parts("encoder.layer", "attention.attn", "attention_head_size", ("q", "k", "v"), output="o"),
    "opt": _OPT,
    "qwen2": _LLAMA,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
}


@dataclass(frozen=True)
class Spots:
    """Positions of a batch, as a table with a row per slot in which short rows are padded with column 0.

    The attention runs on the table, everything else on its cells as one text, padded to a number of positions with
    which a product's bits depend neither on their number nor on that of the threads."""

    table: torch.Tensor  # [slots, most spots of a slot] columns
    slots: torch.Tensor  # [cells and padding]
    columns: torch.Tensor  # the same
    chosen: torch.Tensor  # [spots] cells that are asked for

    @classmethod
    def of(cls, wanted: Sequence[tuple[int, int]], slots: int, device: torch.device | None = None) -> Spots:
        """[(0, 3), (2, 1), (2, 4)] in 4 slots -> table [[3, 0], [0, 0], [1, 4], [0, 0]], cells 0, 4 and 5."""
        slot, column = np.array(sorted(set(wanted)), dtype=np.int64).T  # [0, 2, 2], [3, 1, 4]
        depth = np.arange(len(slot)) - np.searchsorted(slot, slot)  # its place within its slot: [0, 0, 1]
        table = np.zeros((slots, int(depth.max()) + 1), dtype=np.int64)
        table[slot, depth] = column
        # 4 × 2 cells are 8, a multiple of SAFE_ROWS; in 3 slots they would be 6, and slot 0, column 0 is added twice
        padding = np.zeros(-table.size % SAFE_ROWS, dtype=np.int64)
        arrays = (
            table,
            np.concatenate([np.repeat(np.arange(slots), table.shape[1]), padding]),  # slots: 0 0 1 1 2 2 3 3
            np.concatenate([table.ravel(), padding]),  # columns: 3 0 0 0 1 4 0 0
            slot * table.shape[1] + depth,  # which cells are read: 0, 4 and 5
        )
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def taken(self, states: torch.Tensor) -> torch.Tensor:
        """[slots, width, n] -> [1, cells, n]"""
        return states[self.slots, self.columns][None]

    def as_table(self, cells: torch.Tensor) -> torch.Tensor:
        """[1, cells, n] -> [slots, most, n]"""
        return cells[0, : self.table.numel()].view(*self.table.shape, -1)

    def as_cells(self, table: torch.Tensor) -> torch.Tensor:
        """[slots, most, n] -> [1, cells, n]"""
        flat = table.flatten(0, 1)
        return torch.nn.functional.pad(flat, (0, 0, 0, len(self.slots) - len(flat)))[None]

    def put(self, cells: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """The states with the cells that are asked for in their places."""
        return states.index_put((self.slots[self.chosen], self.columns[self.chosen]), cells[0, self.chosen])


class LastLayer:
    """Hooks that do nothing outside `at`."""

    def __init__(self, model: Any, parts: Parts) -> None:
        self.parts = parts
        self.layer = _part(model.base_model, parts.layers)[-1]
        self.attention = _part(self.layer, parts.attention)
        self.calls = 0  # of this pass; ALBERT calls one layer several times
        self.calls_per_pass = 1
        self._spots: Spots | None = None
        self._full: torch.Tensor | None = None  # the layer's input, while it runs on a part of it
        self.layer.register_forward_pre_hook(self._narrow)
        self.layer.register_forward_hook(self._widen)

    @classmethod
    def of(cls, model: Any) -> LastLayer | None:
        parts = PARTS.get(model.config.model_type)
        if parts is not None and not getattr(model.config, "do_layer_norm_before", True):
            parts = replace(parts, norm="")  # OPT-350m normalises behind its attention
        return None if parts is None else cls(model, parts)

    @contextmanager
    def at(self, spots: Spots) -> Iterator[None]:
        """For one pass: the states are right at these positions and mean nothing elsewhere."""
        self._spots, self.calls = spots, 0
        try:
            yield
        finally:
            self._spots = None
            self._leave()

    def _leave(self) -> None:
        self._full = None
        self.attention.__dict__.pop("forward", None)  # that of its class again

    def _narrow(self, layer: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        self.calls += 1
        if self._spots is None or self.calls < self.calls_per_pass:
            return None
        self._full, self.attention.forward = args[0], self._attend
        return (self._spots.taken(self._full), *args[1:])

    def _widen(self, layer: Any, args: Any, output: Any) -> Any:
        """In the shape that the network's code behind the layer expects."""
        if self._full is None or self._spots is None:
            return None
        whole = self._spots.put(output[0] if isinstance(output, tuple) else output, self._full)
        self._leave()
        return (whole, *output[1:]) if isinstance(output, tuple) else whole

    def _attend(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_bias: torch.Tensor | None = None,
        **more: Any,
    ) -> tuple[torch.Tensor, None]:
        """The attention's `forward` while the layer runs on a part of its input."""
        assert self._full is not None
        assert self._spots is not None
        columns = self._spots.table  # [slots, few]
        # query [slots, heads, few, size]; key and value [slots, key heads, width, size]
        query, key, value = self._projected(hidden_states, self._full, self._spots)
        # rotary positions: a query is turned by the position it has in its row, not by its place among the few
        if more.get("position_embeddings") is not None:
            cos, sin = more["position_embeddings"]
            query, key = _rotated(query, _take(cos, columns), _take(sin, columns)), _rotated(key, cos, sin)
        shared = query.shape[1] // key.shape[1]  # query heads per key head: 8 heads and 2 key heads share 4 to 1
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
        # softmax(query · key / √size + biases) · value, scores being [slots, heads, few, width]
        scores = query @ key.transpose(-1, -2) * getattr(self.attention, "scaling", query.shape[-1] ** -0.5)
        if cap := getattr(self.attention, "attn_logit_softcapping", None):
            scores = torch.tanh(scores / cap) * cap
        if position_bias is not None:
            scores = scores + _of_queries(position_bias, columns)
        scores = self._masked(scores, attention_mask, columns)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
        # heads side by side again, and as one text of cells, the form in which the rest of the layer runs on them
        context = self._spots.as_cells((weights @ value).transpose(1, 2).flatten(2))
        return self._behind(context, hidden_states), None

    def _projected(self, cells: torch.Tensor, full: torch.Tensor, spots: Spots) -> tuple[torch.Tensor, ...]:
        """Query of the few positions, key and value of all: [slots, heads, positions, head size].

        One product for all three (GPT-2, Pythia) is computed for all positions; its queries of the few are taken."""
        parts, attention = self.parts, self.attention
        if parts.norm:
            full = _part(self.layer, parts.norm)(full)
        size = getattr(attention, parts.head_size)
        products = [getattr(attention, name) for name in parts.products]
        if not parts.fused:
            query, key, value = products
            return tuple(_heads(x, size) for x in (spots.as_table(query(cells)), key(full), value(full)))
        together = products[0](full)
        if parts.fused == "thirds":
            query, key, value = (_heads(third, size) for third in together.chunk(3, dim=-1))
        else:
            query, key, value = _heads(together, 3 * size).chunk(3, dim=-1)
        return torch.take_along_dim(query, spots.table[:, None, :, None], dim=2), key, value

    def _masked(self, scores: torch.Tensor, mask: torch.Tensor | None, columns: torch.Tensor) -> torch.Tensor:
        """A line of the mask states what its query sees; of the whole mask the lines of the spots are taken."""
        if mask is None:  # nothing is padded: all is seen, or in a causal model all up to the query's own column
            if not getattr(self.attention, "is_causal", False):  # MPNet has no such form
                return scores
            mask = torch.arange(scores.shape[-1], device=scores.device) <= columns[:, None, :, None]
        elif mask.shape[-2] > 1:  # a line for each query; with one line for all (padding alone) nothing is taken
            mask = _of_queries(mask, columns)
        if mask.dtype == torch.bool:
            return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores + mask

    def _behind(self, context: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        if self.parts.output:
            context = getattr(self.attention, self.parts.output)(context)
        return getattr(self.attention, self.parts.output_norm)(states + context) if self.parts.output_norm else context


def _part(module: Any, path: str) -> Any:
    """`a.-1.b` is module.a[-1].b"""
    for name in path.split("."):
        module = module[int(name)] if name.lstrip("-").isdigit() else getattr(module, name)
    return module


def _take(states: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """[slots or 1, width, n] -> [slots, few, n]"""
    return torch.take_along_dim(states, columns[:, :, None], dim=1)


def _of_queries(table: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """[slots or 1, heads or 1, width, width] -> [slots, heads or 1, few, width]"""
    return torch.take_along_dim(table, columns[:, None, :, None], dim=2)


def _heads(states: torch.Tensor, size: int) -> torch.Tensor:
    """[slots, positions, heads × size] -> [slots, heads, positions, size]"""
    return states.view(*states.shape[:2], -1, size).transpose(1, 2)


def _rotated(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions in the first dimensions of each head; cos and sin are [slots or 1, positions, dimensions]."""
    turning, still = states[..., : cos.shape[-1]], states[..., cos.shape[-1] :]
    first, second = turning.chunk(2, dim=-1)
    across = torch.cat((-second, first), dim=-1)
    return torch.cat((turning * cos[:, None] + across * sin[:, None], still), dim=-1)
