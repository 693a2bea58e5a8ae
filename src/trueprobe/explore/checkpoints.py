"""The models that can be asked: known from the start, opened when they are first asked, then kept open.

Everything that opens, asks or caches happens in the worker's thread: SQLite is bound to the thread that opened it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trueprobe.engine import AnswerStore, Engine, library_versions
from trueprobe.errors import BadInput, nearest
from trueprobe.models import Options, Unopened, examine, find
from trueprobe.models.specs import sources
from trueprobe.runs.families import Family, families
from trueprobe.types import Card


@dataclass(frozen=True)
class NamedModels:
    """What the SPECs name, examined and not opened."""

    checkpoints: Mapping[str, Unopened]  # by name
    specs: Mapping[str, str]  # by the name of a checkpoint: how the user named it

    @classmethod
    def of(cls, specs: Sequence[str], options: Options) -> NamedModels:
        checkpoints = [examine(source, options) for source in find(specs, options)]
        named = {source.name: spec for spec in specs for source in sources(spec, options.allow_pickle)}
        return cls({one.outline.card.name: one for one in checkpoints}, named)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        return families([one.outline.card for one in self.checkpoints.values()])

    def cards(self, names: Sequence[str]) -> list[Card]:
        """The checkpoints that stand for families, at their last step; of all families without names."""
        known = {family.name: family for family in self.families}
        for name in names:
            if name not in known:
                raise BadInput(f"no model '{name}' here{nearest(name, list(known))}")
        return [card for name, family in known.items() if not names or name in names for card in family.checkpoints]


class Engines:
    """One engine for each checkpoint, all on one store. Of the worker's thread alone."""

    def __init__(self, selected: NamedModels, store: Path | None) -> None:
        self.selected, self._path = selected, store
        self._store: AnswerStore | None = None
        self._engines: dict[str, Engine] = {}

    def is_open(self, name: str) -> bool:
        return name in self._engines

    def __getitem__(self, name: str) -> Engine:
        if self._store is None:
            self._store = AnswerStore(self._path, library_versions())
        if name not in self._engines:
            self._engines[name] = Engine(self.selected.checkpoints[name].open(), self._store)
        return self._engines[name]

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
