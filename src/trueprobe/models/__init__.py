"""Models: one file per backend; here a SPEC becomes checkpoints, and checkpoints become opened models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueprobe.assets import NotHere
from trueprobe.errors import BadInput
from trueprobe.models.checkpoint import (
    Options,
    Source,
    files_are_finite,
    opening,
    read_config,
    refuse_pickles,
    refuse_unknown_device,
    weight_hashes,
)
from trueprobe.models.config_file import refuse_adapter, refuse_special_files
from trueprobe.models.contract import (
    AnswerModel,
    Backend,
    Model,
    Outline,
    RowModel,
    Traits,
    Unfinished,
    Unopened,
    backend,
    backends,
)
from trueprobe.models.specs import distinctly_named, sources, unpacked
from trueprobe.permissions import ServerAccess

__all__ = [
    "AnswerModel",
    "Backend",
    "Checkpoint",
    "Model",
    "Options",
    "Outline",
    "RowModel",
    "Source",
    "Traits",
    "Unfinished",
    "Unopened",
    "backend",
    "examine",
    "find",
    "open_model",
    "open_source",
    "preflight",
    "ready",
    "refuse_twins",
    "refuse_unknown_device",
    "weight_hashes",
]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was examined and can be opened."""

    source: Source
    options: Options
    outline: Outline

    @property
    def location(self) -> str:
        return self.source.location

    def open(self) -> Model:
        return self.outline.model() if self.outline.model is not None else ready(self.source, self.options)


def examine(source: Source, options: Options) -> Unopened:
    """Refuses what can be refused without building the network: formats, heads, weights that are not finite, devices.

    What only a forward pass shows (a causal model that sees ahead) and pickled weights that are not finite are refused
    when the model is opened. A server is tried out."""
    if source.server:
        return _examine_served(source, options)
    opener, config = preflight(source, options)
    refuse_unknown_device(options)
    with opening(source):
        if not files_are_finite(source, options):
            # the file may hold tensors that the network never uses (GPT-2's masked_bias): only loading it decides
            open_source(source, options)
        return Checkpoint(source, options, opener.outline(source, config, options))


def _examine_served(source: Source, options: Options) -> Unopened:
    from trueprobe.models.served.model import examine_served

    return examine_served(source, options.servers)


def open_source(source: Source, options: Options) -> Model:
    """With its weights in memory."""
    if source.server:
        return _examine_served(source, options).open()
    model = ready(source, options)
    if model.contract == "rows":
        model.open()
    return model


def ready(source: Source, options: Options) -> Model:
    """To be asked; weights are read into memory when a row must be computed."""
    opener, config = preflight(source, options)
    with opening(source):
        return opener.open_model(source, config, options)


def preflight(source: Source, options: Options) -> tuple[Backend, Any]:
    """The backend and config of a checkpoint; no weight is read."""
    if source.server:
        raise BadInput(f"{source.title} is served: it has no weights here")
    refuse_special_files(source.path)
    if not source.is_gguf:
        refuse_adapter(source.folder, source.title)
    with opening(source):
        refuse_pickles(source, options)
        config = read_config(source)
        for one in backends():
            if one.accepts(source, config):
                return one, config
    raise BadInput(
        f"{source.title}: '{config.model_type}' is neither a masked nor a causal language model that transformers knows"
    )


def open_model(spec: str, options: Options | None = None) -> Model:
    """One checkpoint, opened. A family has several: see `find`. The SPEC is the caller's own: its server gets the API
    key."""
    options = replace(options or Options(), servers=ServerAccess.WITH_KEY)
    members = find([spec], options)
    if len(members) > 1:
        raise BadInput(f"'{spec}' names {len(members)} checkpoints; open them one by one")
    return open_source(members[0], options)


def find(specs: Sequence[str], options: Options | None = None, compare_weights: bool = True) -> list[Source]:
    """All checkpoints the SPECs name, each with a name of its own; a family's members must differ in weights, which
    `refuse_twins` can check later. A .gguf file is unpacked into the cache when it is first named."""
    checkpoints: list[Source] = []
    missing: list[str] = []
    for spec in specs:
        try:
            members = sources(spec, bool(options and options.allow_pickle))
        except NotHere as error:  # all that is to be fetched is reported at once
            missing += error.missing
            continue
        if compare_weights and len(members) > 1:
            refuse_twins(members, list(map(weight_hashes, members)))
        checkpoints += members
    if missing:
        raise NotHere(*dict.fromkeys(missing))
    checkpoints = distinctly_named(checkpoints)
    names = [source.name for source in checkpoints]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"two models are called '{twice[0]}'; name one of them: --model 'other=PATH'")
    return [unpacked(source) for source in checkpoints]


def refuse_twins(checkpoints: Sequence[Source], hashes: Sequence[tuple[bytes, ...]]) -> None:
    """`hashes` are those of each checkpoint's weight files; members of a family must differ in them, where there
    are any: a served one has none here."""
    first: dict[tuple[str, tuple[bytes, ...]], Source] = {}
    for source, content in zip(checkpoints, hashes, strict=True):
        twin = first.setdefault((source.family, content), source)
        if twin is not source and source.family and content:
            raise BadInput(f"family '{source.family}': {twin.path} and {source.path} have equal weights")
