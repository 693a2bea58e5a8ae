"""Sentence encoders as sentence-transformers saves them: a network without a language-model head, and its own pooling.

They are asked for vectors only. `own` is the vector the encoder was made for: pooled as its `1_Pooling` says, and of
length one where its modules say so. Other pools work as for a masked model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe.errors import BadInput
from trueprobe.models.checkpoint import Options, Source, load
from trueprobe.models.hugging import HuggingFaceModel, Ids, Refused, opened
from trueprobe.models.network import Network, same
from trueprobe.models.rows import Batch, Read, Row
from trueprobe.models.text import Text
from trueprobe.types import Answer, Card, EmbedText, Pool, Request, Vector

TRIED = 0  # before masked: the network alone would be taken for a masked model that lost its head
_KNOWN = {"Transformer", "Pooling", "Normalize"}


def accepts(source: Source, config: Any) -> bool:
    return (source.folder / "modules.json").is_file()


@dataclass(frozen=True)
class Own:
    """How this encoder makes one vector of a sentence; `pool` is None where we cannot follow it."""

    pool: Pool | None
    normalise: bool
    said: str
    max_tokens: int | None


def open_model(source: Source, config: Any, options: Options) -> Encoder:
    from transformers import AutoModel

    own = read_own(source)
    model, missing = load(source, AutoModel, options)
    lacks = sorted(key for key in missing if "pooler" not in key)  # BERT's pooler is not asked
    if lacks:
        raise BadInput(f"{source.said} lacks trained weights (missing: {', '.join(lacks[:2])} …)")
    bare = opened(Encoder, source, config, options, model, set())
    most = min(bare.card.max_tokens, own.max_tokens or bare.card.max_tokens)
    return Encoder(replace(bare.card, max_tokens=most), bare.text, bare.network, own)


def read_own(source: Source) -> Own:
    modules = _json(source, "modules.json")
    try:
        kinds = {module["type"].split(".")[-1]: module["path"] for module in modules}
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{source.said}: modules.json must be a list of modules with type and path") from error
    pooling = _json(source, str(Path(kinds.get("Pooling", "1_Pooling")) / "config.json"))
    modes = sorted(key for key, on in pooling.items() if key.startswith("pooling_mode_") and on is True)
    pools: dict[str, Pool] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    pool = pools.get(modes[0]) if len(modes) == 1 and set(kinds) <= _KNOWN else None
    limits = source.folder / "sentence_bert_config.json"
    most = _json(source, limits.name).get("max_seq_length") if limits.is_file() else None
    said = ", ".join([*modes, *sorted(set(kinds) - _KNOWN)])
    return Own(pool, "Normalize" in kinds, said, most if isinstance(most, int) else None)


def _json(source: Source, name: str) -> Any:
    try:
        return json.loads((source.folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{source.said}: no usable {name} ({error})") from error


class Encoder(HuggingFaceModel):
    kind = "encoder"
    shares_prefixes = False
    tree_limit = 0

    def __init__(self, card: Card, text: Text, network: Network, own: Own | None = None) -> None:
        super().__init__(card, text, network)
        self.own = own or Own(None, False, "none", None)

    @property
    def row_exact(self) -> bool:
        return self.network.model.device.type == "cpu"

    @cached_property
    def exact_lengths(self) -> bool:
        """Does filling up a row change its vector?"""
        ids = (1, 2, 3)
        read = Read(Row(ids, (0,) * 3), "vector", (0,))
        alone, padded = np.array([ids]), np.array([[*ids, 0, 0]])
        one, other = (
            self.forward(Batch(row, np.zeros_like(row), np.arange(row.shape[1])[None] < 3, (read,), (0,), ((0,),)))[0]
            for row in (alone, padded)
        )
        return not same(one, other)

    def _reads(self, request: Request) -> Sequence[Read]:
        if not isinstance(request, EmbedText):
            raise Refused("no_head", "an encoder has no language-model head; it gives vectors only")
        return [self._vector_read(request)]

    def _vector_read(self, request: EmbedText) -> Read:
        if request.pool == "own":
            if self.own.pool is None:
                raise Refused("no_head", f"the encoder's own pooling is not known here: {self.own.said}")
            request = replace(request, pool=self.own.pool)
        return super()._vector_read(request)

    def _embed_row(self, request: EmbedText, ids: Ids) -> tuple[Row, int]:
        if not request.specials:
            return self._row(ids, (0,) * len(ids)), 0
        return self._row(*self.text.one.wrap(ids)), len(self.text.one.before)

    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]:
        answers = super().assemble(requests, readings)
        for i, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            if isinstance(request, EmbedText) and request.pool == "own" and self.own.normalise:
                assert isinstance(answer, Vector)
                answers[i] = Vector(answer.values / max(float(np.linalg.norm(answer.values)), 1e-12), answer.positions)
        return answers
