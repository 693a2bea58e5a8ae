"""Stand-ins for BERT and GPT-2: their shapes, random weights, and tokenizers of fetched assets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
)

from trueprobe import assets
from trueprobe.models import RowModel, open_model

Kind = Literal["masked", "causal"]
TOKENIZERS = {"masked": "all-minilm-l6-v2", "causal": "smollm2-135m"}  # BERT's uncased pieces; byte-level BPE
AT_ONCE = 32  # rows in a peer's batch
START = "<|endoftext|>"  # of causal texts; SmolLM2's own BOS opens a turn of a chat


@dataclass(frozen=True)
class StandIn:
    """One checkpoint folder, opened once by trueprobe and once as anybody opens it; peers share the latter."""

    kind: Kind
    folder: Path

    @cached_property
    def model(self) -> RowModel:
        return open_model(str(self.folder))

    @cached_property
    def network(self) -> Any:
        auto_class = AutoModelForMaskedLM if self.kind == "masked" else AutoModelForCausalLM
        return auto_class.from_pretrained(self.folder, dtype=torch.float32).eval()

    @cached_property
    def tokenizer(self) -> Any:
        return AutoTokenizer.from_pretrained(self.folder)

    @cached_property
    def minicons(self) -> Any:
        from minicons import scorer

        kind = scorer.MaskedLMScorer if self.kind == "masked" else scorer.IncrementalLMScorer
        return kind(self.network, "cpu", tokenizer=self.tokenizer)

    @cached_property
    def minicons_vectors(self) -> Any:
        from minicons import cwe

        return cwe.CWE(str(self.folder))

    @cached_property
    def lm_eval(self) -> Any:
        from lm_eval.models.huggingface import HFLM

        return HFLM(self.network, tokenizer=self.tokenizer, batch_size=AT_ONCE)

    def piece(self, word: str) -> int:
        """The id of a word-initial form of one piece, else -1."""
        ids = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        return ids[0] if len(ids) == 1 and ids[0] != self.tokenizer.unk_token_id else -1


def build(kind: Kind, folder: Path, small: bool) -> StandIn:
    """`small`: two narrow layers, to try that everything runs and agrees; their speeds mean nothing."""
    tokenizer = AutoTokenizer.from_pretrained(assets.path_of(TOKENIZERS[kind]))
    torch.manual_seed(0)
    if kind == "masked":
        narrow = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
        network = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **(narrow if small else {})))
    else:
        tokenizer.bos_token = tokenizer.eos_token = tokenizer.pad_token = START
        narrow = {"n_embd": 64, "n_layer": 2, "n_head": 2} if small else {}
        start = tokenizer.bos_token_id
        config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=start, eos_token_id=start, **narrow)
        network = GPT2LMHeadModel(config)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return StandIn(kind, folder)
