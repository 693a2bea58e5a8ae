"""Models of a run whose files were examined before: their cards from the answer store, without reading any tokenizer.

The key covers every file that a card is made from: weights, config, tokenizer and pooling by their contents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from trueprobe.engine import AnswerStore, derived_key
from trueprobe.errors import FailedRun
from trueprobe.models import (
    Checkpoint,
    Model,
    Options,
    Outline,
    Source,
    Unopened,
    examine,
    refuse_unknown_device,
    weight_hashes,
)
from trueprobe.plugins import MODELS, installed
from trueprobe.runs.cache import card_text, key_of
from trueprobe.types import Card

_CARD = TypeAdapter(Card)
_LARGE = 64 * 2**20  # beyond, a file that is no weight is identified by its size and time


class StoredCheckpoint(Checkpoint):
    """A checkpoint that was examined in an earlier run and has not changed since."""

    def open(self) -> Model:
        checkpoint = examine(self.source, self.options)
        if checkpoint.outline.card != self.outline.card:
            raise FailedRun(f"{self.source.title}: its files changed since they were examined; run again")
        return checkpoint.open()


def examined(source: Source, options: Options, store: AnswerStore) -> Unopened:
    """As `examine`, which is called where the store has no card of this checkpoint."""
    from_files = not installed(MODELS) and weight_hashes(source)
    if not from_files:  # its card may be made from something else
        return examine(source, options)
    if options.device not in ("auto", "cpu"):
        refuse_unknown_device(options)
    key = derived_key(key_of("card", _described(source), options.dtype, options.allow_pickle, list(_files(source))))
    stored = store.derived(key)
    if stored is not None:
        content = json.loads(stored)
        card = _CARD.validate_python(content["card"])
        words = _Words(source, options, store, card.tokenizer_id)
        return StoredCheckpoint(source, options, Outline(card, words, content["weight_bytes"]))
    checkpoint = examine(source, options)
    if not isinstance(checkpoint, Checkpoint):
        return checkpoint
    outline = checkpoint.outline
    content = {"card": json.loads(card_text(outline.card)), "weight_bytes": outline.weight_bytes}
    store.put_derived(key, json.dumps(content).encode())
    words = _Words(source, options, store, outline.card.tokenizer_id, outline)
    return replace(checkpoint, outline=replace(outline, whole_words=words))


@dataclass(frozen=True)
class _Words:
    """The words that a tokenizer has as one piece: looked for once per tokenizer."""

    source: Source
    options: Options
    store: AnswerStore
    tokenizer_id: str
    outline: Outline | None = None

    def __call__(self) -> frozenset[str] | None:
        key = derived_key(key_of("words", self.tokenizer_id))
        stored = self.store.derived(key)
        if stored is not None:
            return frozenset(json.loads(stored))
        words = (self.outline or examine(self.source, self.options).outline).whole_words()
        if words is not None:
            self.store.put_derived(key, json.dumps(sorted(words)).encode())
        return words


def _described(source: Source) -> dict[str, object]:
    """Without its place: a folder that was moved is the same checkpoint."""
    plain = asdict(source)
    return {name: plain[name] for name in ("name", "title", "family", "labels", "start", "as_encoder")}


def _files(source: Source) -> Iterator[tuple[str, str]]:
    yield "weights", " ".join(digest.hex() for digest in weight_hashes(source))
    for folder in filter(None, (source.folder, source.tokenizer)):
        for path in sorted([*folder.glob("*"), *folder.glob("*/config.json")]):
            if path.is_file() and path.suffix not in (".safetensors", ".gguf", ".bin"):
                yield str(path.relative_to(folder)), _content(path)


def _content(path: Path) -> str:
    stat = path.stat()
    if stat.st_size > _LARGE:
        return f"{stat.st_size} {stat.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()
