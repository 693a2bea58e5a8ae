"""Backends: each recognises the checkpoints it can open, and opens them.

A shipped one is a class in a file of this package, registered where it is written: `@backend("masked", order=2)`.
Another distribution brings one by the entry point `trueprobe.models`, as a class or as a module with its functions.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, TypeVar, cast

from trueprobe.errors import BadInput
from trueprobe.models.checkpoint import Options, Source
from trueprobe.models.contract import Model, Outline
from trueprobe.plugins import MODELS, installed, load, version


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
