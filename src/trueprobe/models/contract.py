"""What the engine and a run need of a model: one of two contracts, and what is known before it is opened.

A `RowModel` turns requests into rows of ids, computes batches of them and puts answers together from the readings; the
engine decides what is computed together and caches readings. An `AnswerModel` answers whole requests, as a served
model does; the engine asks each distinct request once and caches its answer. Everything that crosses is picklable.

A backend recognises the checkpoints it can open, and opens them. A shipped one is a class in a file of this package,
registered where it is written: `@backend("masked", order=2)`. Another distribution brings one by the entry point
`trueprobe.models`, as a class or as a module with its functions.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Literal, Protocol, TypeVar, cast

import numpy as np

from trueprobe.errors import BadInput, FailedRun
from trueprobe.models.checkpoint import Options, Source
from trueprobe.models.rows import Batch, Read
from trueprobe.plugins import MODELS, installed, load, version
from trueprobe.types import Answer, Card, Request, WhyNot


@dataclass(frozen=True)
class Traits:
    """What only trials on the opened network show."""

    vocabulary: int  # logits at one position
    linear: bool  # is a logit one product with what enters the output embedding?
    shares_prefixes: bool  # rows may be computed as trees
    exact_lengths: bool  # rows must not be padded
    # a batch that is not full is filled up until its tokens are a multiple of this, twice it at least, or with 0 until
    # it is full; 1 where a row's bits may depend on its batch
    token_multiple: int


class RowModel(Protocol):
    """Attributes may be properties: some are tried on the network when first asked for.

    Nothing but `open`, `forward` and traits that are not known yet needs the network's weights."""

    @property
    def contract(self) -> Literal["rows"]: ...
    @property
    def card(self) -> Card: ...
    @property
    def row_exact(self) -> bool:
        """Do a row's bits not depend on what is computed beside it?"""
        ...

    @property
    def tree_limit(self) -> int:
        """The longest row in a tree; asked only where prefixes are shared."""
        ...

    @property
    def batch_tokens(self) -> int: ...
    @property
    def max_rows(self) -> int:
        """The most rows in one batch."""
        ...

    @property
    def opened(self) -> bool:
        """Are the weights in memory?"""
        ...

    @property
    def trial_id(self) -> str:
        """Names all that the traits depend on beside the libraries: weights, kind, device, threads."""
        ...

    @property
    def traits(self) -> Traits:
        """Opens the network where they are not known."""
        ...

    def recall(self, traits: Traits) -> None:
        """What an earlier opening of the same `trial_id` found; it is not tried again."""
        ...

    def open(self) -> None:
        """Weights into memory, once; refuses those that could not be asked."""
        ...

    def reads(self, request: Request) -> tuple[Read, ...] | WhyNot: ...
    def forward(self, batch: Batch) -> list[np.ndarray]: ...
    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]: ...

    def special_tokens(self) -> Mapping[str, int]:
        """Special tokens and their ids; no text may turn into one of them."""
        ...

    def token_ids(self, text: str) -> tuple[int, ...]:
        """The text's own tokens, without special tokens around them."""
        ...


class AnswerModel(Protocol):
    """`card.compute_id` must name everything an answer depends on: weights, server, version, options."""

    @property
    def contract(self) -> Literal["answers"]: ...
    @property
    def card(self) -> Card: ...
    def answer(self, requests: Sequence[Request]) -> Sequence[Answer | WhyNot]:
        """One answer per request, in order. `Unfinished` where some could not be had."""
        ...


class Unfinished(FailedRun):
    """Some requests of a call failed; the engine caches the answers to the others before the run ends."""

    def __init__(self, reason: str, answers: Mapping[Request, Answer | WhyNot]) -> None:
        super().__init__(reason)
        self.answers = answers


Model = RowModel | AnswerModel


@dataclass(frozen=True)
class Outline:
    """What config, tokenizer and weight names say of a model; no weight was read for it."""

    card: Card
    whole_words: Callable[[], frozenset[str] | None]  # that are one token after a space; None where nobody knows
    weight_bytes: int  # in memory, once opened
    model: Callable[[], Model] | None = None  # ready to be asked, from what was read for this; None: by `open_model`


class Unopened(Protocol):
    """A model of a run before its network is built."""

    @property
    def outline(self) -> Outline: ...
    @property
    def location(self) -> str:
        """Where it lies, for the manifest."""
        ...

    def open(self) -> Model: ...


# ---------------------------------------------------------------- backends


class Backend(ABC):
    """`config` is transformers' config of the checkpoint. What is opened has one of two contracts: the row contract
    (`reads`, `forward`, `assemble`: see `RowModel`) or `answer` alone (`AnswerModel`)."""

    @abstractmethod
    def accepts(self, source: Source, config: Any) -> bool:
        """Is this checkpoint for this backend?"""

    @abstractmethod
    def outline(self, source: Source, config: Any, options: Options) -> Outline:
        """Card, vocabulary and size of the weights, of which none is read. `BadInput` with what is missing."""

    @abstractmethod
    def open_model(self, source: Source, config: Any, options: Options) -> Model:
        """With the same card. A `RowModel` reads its weights when it must compute."""


_METHODS = [name for name in vars(Backend) if name in Backend.__abstractmethods__]
_Registered = TypeVar("_Registered", bound=type[Backend])
_registered: dict[str, tuple[int, type[Backend]]] = {}


def backend(name: str, order: int) -> Callable[[_Registered], _Registered]:
    """Registers a class of this package; the lowest `order` is tried first, and the first that accepts opens."""

    def register(kind: _Registered) -> _Registered:
        _registered[name] = (order, kind)
        return kind

    return register


def backends() -> Iterator[Backend]:
    """Those of other distributions first: each accepts only what is its own."""
    for point in installed(MODELS).values():
        yield _from_distribution(point)
    yield from _shipped()


@cache
def _shipped() -> tuple[Backend, ...]:
    package = importlib.import_module(__package__ or "")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not module.ispkg:
            importlib.import_module(module.name)
    return tuple(kind() for _, kind in sorted(_registered.values(), key=lambda entry: entry[0]))


def _from_distribution(point: EntryPoint) -> Backend:
    loaded = load(point)
    abstract = loaded.__abstractmethods__ if inspect.isabstract(loaded) else ()
    lacks = [name for name in _METHODS if name in abstract or not callable(getattr(loaded, name, None))]
    if lacks:
        raise BadInput(f"the backend '{point.name}' of {version(point)} lacks {', '.join(lacks)}")
    return cast(Backend, loaded() if inspect.isclass(loaded) else loaded)
