"""Observations, tables and cards of models in the answer store, so that a repeated run counts nothing again.

A key names all that a result depends on (docs/decisions/0017-warm-runs.md): the code and versions of trueprobe and of
its libraries, the model's card, the probe with its settings, material, items and measures, and of tables the checksums
of the observations they were counted from. What is stored has a checksum; without it, or damaged, it is counted again.

Models whose files were examined before get their cards from the store, without reading any tokenizer. Their key covers
every file that a card is made from: weights, config, tokenizer and pooling by their contents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import trueprobe
from trueprobe.engine import AnswerStore, derived_key, library_versions
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
from trueprobe.runs.plan import PlannedProbe
from trueprobe.types import Card, Item

_CODE = ("probes/**/*", "statistics/**/*.py", "runs/**/*.py", "engine/*.py", "models/*.py", "*.py")
_COUNTS_WITH = ("numpy", "scipy", "pandas", "pyarrow", "tokenizers")
_NAMES = "names"


@dataclass(frozen=True)
class ResultCache:
    """Groups of files in the store, each under the key of what they were made from; all of a group or none."""

    store: AnswerStore

    def get(self, key: str) -> dict[str, bytes] | None:
        names = self.store.derived(derived_key(key, _NAMES))
        if names is None:
            return None
        contents = {name: self.store.derived(derived_key(key, "file", name)) for name in json.loads(names)}
        whole = {name: content for name, content in contents.items() if content is not None}
        return whole if len(whole) == len(contents) else None

    def put(self, key: str, contents: Mapping[str, bytes]) -> None:
        """The names last: what was interrupted is not there."""
        for name, content in contents.items():
            self.store.put_derived(derived_key(key, "file", name), content)
        self.store.put_derived(derived_key(key, _NAMES), json.dumps(list(contents)).encode())


# ---------------------------------------------------------------- keys


def key_of(what: str, *parts: object) -> str:
    """`what` is made from `parts`, by this code and these libraries."""
    return derived_key(what, code_id(), library_versions(), *map(_text, parts)).hex()


@cache
def code_id() -> str:
    """The version of trueprobe and of what it counts with, and a hash of its files: an edited checkout counts again."""
    digest = hashlib.sha256(" ".join([trueprobe.__version__, *map(version, _COUNTS_WITH)]).encode())
    root = Path(trueprobe.__file__).parent
    for path in sorted(path for pattern in _CODE for path in root.glob(pattern)):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"{path.relative_to(root)} {path.stat().st_size} ".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def card_text(card: Card) -> str:
    return json.dumps({**asdict(card), "heads": sorted(card.heads)}, sort_keys=True)


def probe_text(planned: PlannedProbe) -> str:
    """The questions: the probe, its settings and material, what models decided of it, and its items."""
    probe = planned.probe
    settings = probe.settings.model_dump_json()
    return _text((probe.name, settings, probe.material_id, planned.decided, _items_id(planned.items)))


def counting_text(planned: PlannedProbe) -> str:
    """What is counted of the answers, and how."""
    probe = planned.probe
    how = (probe.factors, probe.drawn_within, probe.terms, probe.corrected_over, probe.flips, probe.diagnostic)
    return _text((tuple(probe.measures()), tuple(probe.claims()), how, probe.summary, probe.primary))


def _items_id(items: Sequence[Item]) -> str:
    digest = hashlib.sha256()
    for item in items:
        content = (item.id, item.text, item.causal_text, item.flags, dict(item.conditions), item.groups)
        digest.update(repr(content).encode())
    return digest.hexdigest()


def _text(value: object) -> str:
    """Equal for equal declarations in every process: functions by their names, never by an address."""
    if isinstance(value, str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _text(getattr(value, field.name)) for field in fields(value)}
        return f"{_name(type(value))}{named}"
    if isinstance(value, Mapping):
        return repr({key: _text(part) for key, part in value.items()})
    if isinstance(value, (tuple, list)):
        return repr([_text(part) for part in value])
    if isinstance(value, partial):
        return _text((value.func, value.args, value.keywords))
    return _name(value) if callable(value) else repr(value)


def _name(value: Any) -> str:
    of = value if hasattr(value, "__qualname__") else type(value)
    return f"{of.__module__}.{of.__qualname__}"


# ---------------------------------------------------------------- cards of models that were examined before


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
    return {
        name: plain[name]
        for name in ("name", "title", "family", "labels", "start", "as_encoder", "chat", "system", "prefill")
    }


def _files(source: Source) -> Iterator[tuple[str, str]]:
    yield "weights", " ".join(digest.hex() for digest in weight_hashes(source))
    if source.chat not in ("", "auto", "none"):
        yield "chat", _content(Path(source.chat))
    for folder in filter(None, (source.folder, source.tokenizer)):
        for path in sorted([*folder.glob("*"), *folder.glob("*/config.json")]):
            if path.is_file() and path.suffix not in (".safetensors", ".gguf", ".bin"):
                yield str(path.relative_to(folder)), _content(path)


def _content(path: Path) -> str:
    stat = path.stat()
    if stat.st_size > _LARGE:
        return f"{stat.st_size} {stat.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()
