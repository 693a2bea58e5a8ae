"""Sentence encoders as sentence-transformers saves them: a network without a language-model head, and a pooling.

They are asked for vectors only. Pool `own` is the vector the encoder was made for: pooled as in its `1_Pooling`, and of
length one where its modules normalise. Other pools work as for a masked model. With `?as=encoder` any network that
reads in both directions is one (a fine-tuned classifier, BERT without its head); its own vector is that of the first
position.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe.errors import BadInput, reading
from trueprobe.models import checkpoint
from trueprobe.models.checkpoint import Options, Source, read_tokenizer
from trueprobe.models.contract import backend
from trueprobe.models.framing import Refused
from trueprobe.models.hugging import BothWays, Described, NetworkBackend, describe
from trueprobe.models.masked import is_masked
from trueprobe.models.rows import Read
from trueprobe.models.text import Text
from trueprobe.models.weights import Shape, Weights
from trueprobe.types import Answer, Card, EmbedText, Pool, Request, Vector

MODULES = "modules.json"  # of sentence-transformers
_KNOWN = {"Transformer", "Pooling", "Normalize"}


@dataclass(frozen=True)
class Pooling:
    """How this encoder makes one vector of a sentence; `pool` is None where we cannot follow it."""

    pool: Pool | None = None
    normalise: bool = False
    modules: str = "none"  # as the files name them
    max_tokens: int | None = None


FIRST_POSITION = Pooling("cls")  # what a classifier reads


@backend("encoder", order=1)  # before masked, which would take it for a masked model that lost its head
class EncoderBackend(NetworkBackend):
    def accepts(self, source: Source, config: Any) -> bool:
        if source.as_encoder and not is_masked(config):
            raise BadInput(f"{source.title}: as=encoder is for networks that read in both directions, as BERT does")
        return source.as_encoder or (source.folder / MODULES).is_file()

    def described(self, source: Source, config: Any, options: Options) -> Described:
        from transformers import AutoModel

        pooling = read_pooling(source)
        model, missing = checkpoint.outline(source, AutoModel, options)
        lacks = sorted(key for key in missing if "pooler" not in key)  # BERT's pooler is not asked
        if lacks:
            raise BadInput(f"{source.title} lacks trained weights (missing: {', '.join(lacks[:2])} …)")
        described = describe("encoder", source, options, Text(read_tokenizer(source)), model, set())
        longest = min(described.card.max_tokens, pooling.max_tokens or described.card.max_tokens)
        return replace(described, card=replace(described.card, max_tokens=longest))

    def model(self, described: Described, source: Source, config: Any, options: Options) -> Encoder:
        from transformers import AutoModel

        shape, weights = Shape.of(described.model, options), Weights(source, AutoModel, options)
        return Encoder(described.card, described.text, shape, weights, read_pooling(source))


def read_pooling(source: Source) -> Pooling:
    if not (source.folder / MODULES).is_file():
        return FIRST_POSITION
    modules = _json(source, MODULES)
    try:
        kinds = {module["type"].split(".")[-1]: module["path"] for module in modules}
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{source.title}: modules.json must be a list of modules with type and path") from error
    pooling = _json(source, str(Path(kinds.get("Pooling", "1_Pooling")) / "config.json"))
    modes = sorted(key for key, on in pooling.items() if key.startswith("pooling_mode_") and on is True)
    pools: dict[str, Pool] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    pool = pools.get(modes[0]) if len(modes) == 1 and set(kinds) <= _KNOWN else None
    limits = source.folder / "sentence_bert_config.json"
    most = _json(source, limits.name).get("max_seq_length") if limits.is_file() else None
    named = ", ".join([*modes, *sorted(set(kinds) - _KNOWN)])
    return Pooling(pool, "Normalize" in kinds, named, most if isinstance(most, int) else None)


def _json(source: Source, name: str) -> Any:
    with reading(f"{source.title}: no usable {name}"):
        return json.loads((source.folder / name).read_text(encoding="utf-8"))


class Encoder(BothWays):
    kind = "encoder"
    _trial = "vector"

    def __init__(self, card: Card, text: Text, shape: Shape, weights: Weights, pooling: Pooling) -> None:
        super().__init__(card, text, shape, weights)
        self.pooling = pooling

    def _reads(self, request: Request) -> Sequence[Read]:
        if not isinstance(request, EmbedText):
            raise Refused("no_head", "an encoder has no language-model head; it gives vectors only")
        return [self._vector_read(request)]

    def _vector_read(self, request: EmbedText) -> Read:
        if request.pool == "own":
            if self.pooling.pool is None:
                raise Refused("no_head", f"the encoder's pooling is not known here: {self.pooling.modules}")
            request = replace(request, pool=self.pooling.pool)
        return super()._vector_read(request)

    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]:
        answers = super().assemble(requests, readings)
        for i, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            if isinstance(request, EmbedText) and request.pool == "own" and self.pooling.normalise:
                assert isinstance(answer, Vector)
                answers[i] = Vector(answer.values / max(float(np.linalg.norm(answer.values)), 1e-12), answer.positions)
        return answers
