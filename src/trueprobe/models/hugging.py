"""What masked and causal transformers have in common: how their network is run, and what describes a checkpoint."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from trueprobe.errors import BadInput
from trueprobe.models.assemble import LogProbabilities
from trueprobe.models.chat import Chat, chat_of, has_template
from trueprobe.models.checkpoint import Options, Source, Start, fingerprint, read_config
from trueprobe.models.contract import Backend, Model, Outline, Traits
from trueprobe.models.framing import Framing, Ids
from trueprobe.models.network import Network, longest_row
from trueprobe.models.rows import ROWS_VERSION, SAFE_ROWS, Batch, Read, Row
from trueprobe.models.text import Text
from trueprobe.models.weights import Shape, Weights, machine
from trueprobe.types import Card, EmbedText, Kind

TRIAL_WIDTH = SAFE_ROWS
_TRIED_ROWS = (2, 3, 24)
_TOKENS_BY_WIDTH, _TOKENS_BEYOND = ((128, 2048), (256, 1024), (768, 768)), 512  # larger batches fall out of the caches
_ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<|end▁of▁sentence|>")
_INSTRUCT = re.compile(r"(?<![a-z])(instruct|chat|it|sft|dpo)(?![a-z])", re.IGNORECASE)  # in a model's name
_TURN = re.compile(r"im_(start|end|sep)|turn|header_id|eot_id|role|user|assistant|system|INST", re.IGNORECASE)


class HuggingFaceModel(Framing):
    """Shared by `Masked`, `Causal` and `Encoder`: a framing whose rows a transformers network computes."""

    _trial: ClassVar[Literal["blank", "vector"]] = "blank"  # what is read where the network is tried out
    contract: ClassVar[Literal["rows"]] = "rows"
    shape: Shape

    def __init__(self, card: Card, text: Text, shape: Shape, weights: Weights) -> None:
        super().__init__(card, text, shape)
        self.weights = weights
        self._traits: Traits | None = None

    # ------------------------------------------------------------ the network, and what trials on it show

    @property
    def network(self) -> Network:
        return self.weights.network

    @property
    def opened(self) -> bool:
        return self.weights.opened

    def open(self) -> None:
        self.network  # noqa: B018  (opened when first asked for)

    @property
    def trial_id(self) -> str:
        return f"{ROWS_VERSION} {self.card.compute_id} {self.kind} {machine(self.shape.device)}"

    @property
    def traits(self) -> Traits:
        self._traits = self._traits or self._try()
        return self._traits

    def recall(self, traits: Traits) -> None:
        self._traits = traits

    def _try(self) -> Traits:
        raise NotImplementedError

    # ------------------------------------------------------------ for framing

    @property
    def vocabulary(self) -> int:
        return self.traits.vocabulary

    def read_readout(self) -> LogProbabilities:
        return self.weights.readout(self.traits)

    # ------------------------------------------------------------ forward, and what shapes suit it

    @cached_property
    def batch_tokens(self) -> int:
        """By hidden size, as measured on a CPU; a GPU takes 64 times as many."""
        tokens = next((tokens for widest, tokens in _TOKENS_BY_WIDTH if self.card.width <= widest), _TOKENS_BEYOND)
        return tokens if self.shape.on_cpu else min(64 * tokens, 65536)

    @cached_property
    def max_rows(self) -> int:
        """So that the logits of one position per row stay within 64 MB."""
        return max(8, 16_000_000 // self.card.vocab_size)

    def _try_small_batches(self) -> int:
        """Do few rows have the bits they have among more? Products of a multiple of eight tokens see to that. Tried on
        one width here, on several by `check model`."""
        *few, all_rows = (self.forward(self._trial_batch(slots)) for slots in _TRIED_ROWS)
        return SAFE_ROWS if all(all(map(np.array_equal, some, all_rows)) for some in few) else 0

    def _trial_batch(self, slots: int) -> Batch:
        """Different rows, each of which is read."""
        ids = np.arange(slots * TRIAL_WIDTH).reshape(slots, TRIAL_WIDTH) % self.shape.known_pieces
        reads = tuple(Read(Row(tuple(map(int, row)), (0,) * len(row)), self._trial, (1,)) for row in ids)
        slots_read, columns = tuple(range(len(reads))), ((1,),) * len(reads)
        return Batch(ids, np.zeros_like(ids), np.ones_like(ids, dtype=bool), reads, slots_read, columns)

    def forward(self, batch: Batch) -> list[np.ndarray]:
        return self.network.read(batch)


class BothWays(HuggingFaceModel):
    """A network whose tokens see all others, a masked model or an encoder: rows share no beginning."""

    tree_limit = 0

    @property
    def row_exact(self) -> bool:
        """On a CPU a row in a fixed shape has the same bits whatever stands next to it."""
        return self.shape.on_cpu

    def _try(self) -> Traits:
        has_head = self._trial == "blank"
        size, linear = (self.network.readout.size, self.network.readout.linear) if has_head else (0, False)
        if self.card.max_tokens < TRIAL_WIDTH:  # too short to try: never padded, always in full batches
            return Traits(size, linear, False, True, 0)
        return Traits(size, linear, False, self.network.padding_matters(self._trial), self._try_small_batches())

    def _embed_row(self, request: EmbedText, ids: Ids) -> tuple[Row, int]:
        if not request.specials:
            return self._row(ids, (0,) * len(ids)), 0
        return self._row(*self.text.one.wrap(ids)), len(self.text.one.before)


@dataclass(frozen=True)
class Described:
    """A checkpoint's card and tokenizer."""

    card: Card
    text: Text
    model: Any  # transformers' network without its weights

    def outline(self, model: Callable[[], Model]) -> Outline:
        weights = sum(weight.numel() * weight.element_size() for weight in self.model.parameters())
        return Outline(self.card, lambda: self.text.whole_words, weights, model)


class NetworkBackend(Backend):
    """A checkpoint that transformers builds: described without its weights, opened with the same card."""

    @abstractmethod
    def described(self, source: Source, config: Any, options: Options) -> Described: ...
    @abstractmethod
    def model(self, described: Described, source: Source, config: Any, options: Options) -> Model: ...

    def outline(self, source: Source, config: Any, options: Options) -> Outline:
        described = self.described(source, config, options)
        return described.outline(lambda: self.model(described, source, config, options))

    def open_model(self, source: Source, config: Any, options: Options) -> Model:
        return self.model(self.described(source, config, options), source, config, options)


def describe(kind: Kind, source: Source, options: Options, text: Text, model: Any, heads: set[str]) -> Described:
    if kind != "causal" and source.start != "auto":
        raise BadInput(f"{source.title}: start={source.start} is for causal models; this one is {kind}")
    if kind != "causal" and source.chat not in ("", "none"):
        raise BadInput(f"{source.title}: chat= is for causal models; this one is {kind}")
    chat = chat_of(source, text)
    start, config = start_ids(text, source.start), read_config(source)
    card = Card(
        name=source.name,
        family=source.family or source.name,
        labels=dict(source.labels),
        kind=kind,
        architecture=config.model_type,
        heads=frozenset(heads),
        max_tokens=longest_row(model),
        vocab_size=int(getattr(config, "vocab_size", 0)) or len(text.tokenizer),
        start_text=start_text(text, start, chat),
        source=source.title,
        dtype=options.dtype,
        compute_id=chat.compute_id(fingerprint(source, config, options))
        if chat
        else fingerprint(source, config, options),
        tokenizer_id=text.tokenizer_id,
        self_trained=getattr(config, "trained_by", "") == "trueprobe pretrain",
        layers=int(getattr(config, "num_hidden_layers", 0)),
        width=int(getattr(config, "hidden_size", 0)),
        parameters=sum(weight.numel() for weight in model.parameters()),
        instruct=_tuned_by(source, text),
        quantised=_quantised(source, config),
        has_template=has_template(text.tokenizer),
        chat=chat.label if chat else "",
    )
    return Described(card, text, model)


def _tuned_by(source: Source, text: Text) -> str:
    """A base model can have a chat template too, so a name says more."""
    if _INSTRUCT.search(source.title) or _INSTRUCT.search((source.original or source.path).name):
        return "name"
    return "template" if has_template(text.tokenizer) else ""


def _quantised(source: Source, config: Any) -> str:
    if source.is_gguf or source.original is not None:
        return "gguf"
    stored = getattr(config, "quantization_config", None) or {}
    return str(stored.get("quant_method", "") if isinstance(stored, dict) else getattr(stored, "quant_method", ""))


def start_text(text: Text, start: Ids, chat: Chat | None) -> str:
    """For the card: the start token, or the template that stands in its place."""
    return f"chat={chat.label}" if chat else text.tokenizer.convert_ids_to_tokens(start[0]) if start else ""


def start_ids(text: Text, start: Start = "auto") -> Ids:
    """What a causal model's text starts with. "auto": what the tokenizer itself puts there, else its BOS, else the
    end-of-text token that served as one in training; where that opens or closes a turn of a chat, the next of them."""
    tokenizer, prefix = text.tokenizer, text.one.before
    ends = (*map(text.fast.token_to_id, _ENDS_OF_TEXT), tokenizer.eos_token_id)  # a chat model's EOS ends a turn
    end = next((piece for piece in ends if piece is not None), None)
    choice = {"auto": (*prefix[:1], tokenizer.bos_token_id, end), "bos": (tokenizer.bos_token_id,), "eot": (end,)}
    possible = [piece for piece in choice.get(start, ()) if piece is not None]
    if not possible and start in ("bos", "eot"):
        raise BadInput(f"start={start}: the tokenizer has no such token")
    better = [piece for piece in possible if not _TURN.search(tokenizer.convert_ids_to_tokens(piece))]
    chosen = tuple((better or possible)[:1])
    return prefix if chosen == prefix[:1] else chosen
