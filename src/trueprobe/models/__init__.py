"""Who is asked: one file per backend, found by its name; here a SPEC becomes opened models."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trueprobe.assets import NotHere
from trueprobe.errors import BadInput
from trueprobe.models.checkpoint import Options, Source, read_config, refuse_pickles, sources, weight_hashes
from trueprobe.models.rows import Batch, Read
from trueprobe.types import Answer, Card, Request, WhyNot


@cache
def backends() -> list[Any]:
    """The files here that have accepts(source, config) and open_model(...), in the order in which they are tried."""
    files = (path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
    modules = [importlib.import_module(f"trueprobe.models.{name}") for name in sorted(files)]
    return sorted((m for m in modules if hasattr(m, "accepts")), key=lambda module: module.TRIED)


class Model(Protocol):
    """What the engine needs of a backend. Everything that crosses is picklable."""

    card: Card
    row_exact: bool  # a row's bits do not depend on what is computed beside it
    shares_prefixes: bool  # rows may be computed as trees
    tree_limit: int  # the longest row in a tree; asked only where prefixes are shared
    exact_lengths: bool  # rows must not be filled up
    batch_tokens: int
    max_lanes: int

    def reads(self, request: Request) -> tuple[Read, ...] | WhyNot: ...
    def forward(self, batch: Batch) -> list[np.ndarray]: ...
    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]: ...


def open_source(source: Source, options: Options) -> Any:
    backend, config = preflight(source, options)
    return backend.open_model(source, config, options)


def preflight(source: Source, options: Options) -> tuple[Any, Any]:
    """The backend and config of a checkpoint; what can be wrong before loading is told here."""
    refuse_pickles(source, options)
    config = read_config(source)
    for backend in backends():
        if backend.accepts(source, config):
            return backend, config
    raise BadInput(
        f"{source.said}: '{config.model_type}' is neither a masked nor a causal language model that transformers knows"
    )


def open_model(spec: str, options: Options | None = None) -> Any:
    """One checkpoint, opened. A family has several: see `find`."""
    found = find([spec], options)
    if len(found) > 1:
        raise BadInput(f"'{spec}' names {len(found)} checkpoints; open them one by one")
    return open_source(found[0], options or Options())


def find(specs: Sequence[str], options: Options | None = None) -> list[Source]:
    """All checkpoints the SPECs name, each with a name of its own; a family's members must differ in weights."""
    found: list[Source] = []
    missing: list[str] = []
    for spec in specs:
        try:
            members = sources(spec, bool(options and options.allow_pickle))
        except NotHere as error:  # all that is to be fetched is told at once
            missing += error.missing
            continue
        _refuse_twins(members)
        found += members
    if missing:
        raise NotHere(*dict.fromkeys(missing))
    names = [source.name for source in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"two models are called '{twice[0]}'; name one of them: --model 'other=PATH'")
    return found


def _refuse_twins(members: list[Source]) -> None:
    if len(members) < 2:
        return
    seen: dict[tuple[bytes, ...], Source] = {}
    for source in members:
        key = weight_hashes(source)
        if key in seen:
            raise BadInput(f"family '{source.family}': {seen[key].path} and {source.path} have equal weights")
        seen[key] = source
