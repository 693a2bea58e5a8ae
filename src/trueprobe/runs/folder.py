"""The run folder: everything a run produced, as plain tables, written whole or not at all.

`manifest.json` has the study, the models and the checksum of every table; `local.json` has the paths of the
machine that ran it; `timing.json` alone depends on the clock and on what was cached before. Columns: `runs.schema`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from trueprobe.errors import BadInput, nearest
from trueprobe.paths import content_within, gc_pause
from trueprobe.probes import Probe, make_again
from trueprobe.runs.downstream import DownstreamResult
from trueprobe.runs.packed import refuse_bomb
from trueprobe.runs.schema import (
    FORMAT,
    LOCAL,
    MANIFEST,
    PROBES,
    TABLES,
    Declared,
    LocalPaths,
    Manifest,
    ProbeDeclaration,
    StudyDescription,
    check_items,
    check_observations,
    columns_of,
    damage,
    file_name,
    format_of,
    parsed,
    rows_of,
)
from trueprobe.statistics.rows import Estimate, grouped
from trueprobe.types import Card

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Run", "load_run", "parsed"]
TIMING = "timing.json"
ADDED = ("multiverse", "specifications", "axis_shares")  # to a finished run: no checksum in its manifest
DECLARATIONS = TypeAdapter(dict[str, ProbeDeclaration])
_INTERRUPTED = "; the run was interrupted: run it again into the same folder"
Row = TypeVar("Row")
Schema = TypeVar("Schema", bound=BaseModel)


class Timing(Declared):
    """timing.json: what depends on the clock and on what was cached before."""

    began: float  # seconds since 1970
    seconds: float
    models: dict[str, dict[str, int | float]]  # of each, rows (or requests) computed and cached before
    damaged_answers: int = 0  # of the answer store, computed again for this run


@dataclass(frozen=True)
class Run:
    """A finished (or interrupted) run, read from its folder. Every table is held against its checksum."""

    folder: Path
    allow_code: bool = False  # the user lets the code of probes run that the folder names by their paths

    @cached_property
    def manifest(self) -> Manifest:
        return parsed(self.folder / MANIFEST, Manifest)

    @property
    def complete(self) -> bool:
        return self.manifest.complete

    def refuse_unfinished(self, before: str = "") -> None:
        """`before`: what it is wanted for."""
        if not self.complete:
            why = f"{self.folder} is not finished; run it again into the same folder"
            raise BadInput(" ".join(filter(None, (why, before))))

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """Of the run's models; in an interrupted run, of those whose answers are in the folder."""
        if self.complete:
            return self.manifest.cards
        answered = {path.stem for path in (self.folder / "observations").glob("*/*.parquet")}
        return tuple(card for card in self.manifest.cards if card.name in answered)

    @property
    def probes(self) -> list[str]:
        return [probe.label for probe in self.manifest.study.probes]

    @cached_property
    def local(self) -> LocalPaths | None:
        """Where things lay on the machine that ran it; None in a folder that was passed on without."""
        return self._where_present(LOCAL, LocalPaths)

    def probe(self, label: str) -> Probe:
        """The probe that asked, made again; refused where its files have changed since."""
        self._refuse_unknown(label)
        (entry,) = (entry for entry in self.study.probes if entry.label == label)
        return make_again(entry.model_dump(), self.allow_code)

    @property
    def study(self) -> StudyDescription:
        """With the paths of the machine that ran it, where they are known."""
        return self.local.study if self.local else self.manifest.study

    @property
    def sources(self) -> dict[str, str]:
        """Where each checkpoint was, on the machine that ran it."""
        return self.local.sources if self.local else {}

    @cached_property
    def declarations(self) -> dict[str, ProbeDeclaration]:
        """The declaration of each probe that was begun, in the order of the study."""
        path = self.folder / PROBES
        if not path.exists():
            raise BadInput(f"{self.folder} has no {PROBES}{_INTERRUPTED}")
        with damage(path):
            declared = DECLARATIONS.validate_json(self._bytes(PROBES))
        return {label: declared[label] for label in self.probes if label in declared}

    @cached_property
    def timing(self) -> Timing | None:
        """None where the run is not finished."""
        return self._where_present(TIMING, Timing)

    def _where_present(self, name: str, schema: type[Schema]) -> Schema | None:
        path = self.folder / name
        return parsed(path, schema) if path.exists() else None

    @cached_property
    def downstream(self) -> list[DownstreamResult]:
        """What `downstream --into` left in the folder, finished or not, by task."""
        files = sorted((self.folder / "downstream").glob("*/downstream.json"))
        return sorted((parsed(file, DownstreamResult, self.folder) for file in files), key=lambda result: result.task)

    # ------------------------------------------------------------ tables

    def has_items(self, label: str) -> bool:
        """An interrupted run may have none yet."""
        return self._written(f"items/{label}.parquet")

    def has_observations(self, label: str) -> bool:
        return any(self._written(observations_file(label, card.name)) for card in self.cards)

    def items(self, label: str) -> pd.DataFrame:
        self._refuse_unknown(label)
        name = f"items/{label}.parquet"
        return check_items(self._table(name), f"{self.folder / name}")

    def observations(self, label: str) -> pd.DataFrame:
        """All models' observations of a probe, one below the other."""
        import pandas as pd

        self._refuse_unknown(label)
        names = [observations_file(label, card.name) for card in self.cards]
        tables = [self._observed(label, name) for name in names if self._written(name)]
        if not tables:
            raise BadInput(f"{self.folder} holds no observations of '{label}' yet")
        return pd.concat(tables, ignore_index=True)

    def observed_sum(self, label: str, models: Iterable[str]) -> str:
        """One checksum of these models' observations; what was counted from others is outdated."""
        sums = (self.manifest.checksums.get(observations_file(label, model), "") for model in models)
        return hashlib.sha256("".join(sums).encode()).hexdigest()

    def observed(self, label: str, model: str) -> pd.DataFrame:
        """One model's observations of a probe."""
        return self._observed(label, observations_file(label, model))

    def _observed(self, label: str, name: str) -> pd.DataFrame:
        return check_observations(self._table(name), self.declaration(label), f"{self.folder / name}")

    def declaration(self, label: str) -> ProbeDeclaration:
        """A damaged table may name a probe that nobody declared."""
        if label not in self.declarations:
            raise BadInput(f"{self.folder / PROBES} does not declare the probe '{label}'")
        return self.declarations[label]

    @gc_pause()
    def rows(self, row: type[Row]) -> list[Row]:
        """The typed rows of a table, read once; none where the run has no such table."""
        if row not in self._rows:
            name = next(name for name, declared in TABLES.items() if declared is row)
            files = {file: self._table(file) for file in self._files(name)}
            self._rows[row] = [one for file in files for one in rows_of(files[file], row, f"{self.folder}/{file}")]
        return self._rows[row]

    @cached_property
    def _rows(self) -> dict[type[Any], list[Any]]:
        return {}

    def estimates_of(self, label: str) -> list[Estimate]:
        return self._estimates.get(label, [])

    @cached_property
    def _estimates(self) -> dict[str, list[Estimate]]:
        return grouped(self.rows(Estimate), lambda row: row.probe)

    def estimate_columns(self, label: str, names: Sequence[str]) -> dict[str, list[Any]]:
        """Some columns of a probe's estimates, without a row object for each of them."""
        file = f"estimates/{label}.parquet"
        if file not in self._files("estimates"):
            return {name: [] for name in names}
        return columns_of(self._table(file), Estimate, f"{self.folder}/{file}", names)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Of all probes; `condition_…` columns that a probe does not have are null."""
        return self.table("estimates")

    @cached_property
    def claims(self) -> pd.DataFrame:
        return self.table("claims")

    def table(self, name: str) -> pd.DataFrame:
        """Any table of the run by its name: estimates, claims, variance, flips, signs, disagreements …"""
        import pandas as pd

        if name not in TABLES or not self._files(name):
            here = sorted(name for name in TABLES if self._files(name))
            hint = nearest(name, here) if self.complete else _INTERRUPTED
            raise BadInput(f"{self.folder} has no table '{name}'{hint}")
        return pd.concat([self._table(file) for file in self._files(name)], ignore_index=True)

    def _files(self, name: str) -> list[str]:
        names = [f"{name}/{label}.parquet" for label in self.probes] if name == "estimates" else [f"{name}.parquet"]
        return [file for file in names if self._written(file)]

    def _written(self, name: str) -> bool:
        """By this run: in a finished one, what a run before it left in the folder has no checksum."""
        listed = self.manifest.checksums
        added = name.removesuffix(".parquet") in ADDED
        return (self.folder / name).exists() and (not listed or name in listed or added)

    def _table(self, name: str) -> pd.DataFrame:
        import io

        import pandas as pd

        if not (self.folder / name).exists():
            raise BadInput(f"{self.folder} has no {name}{_INTERRUPTED}")
        with damage(self.folder / name):
            content = self._bytes(name)
            refuse_bomb(content, f"{self.folder / name}")
            return pd.read_parquet(io.BytesIO(content))

    def _bytes(self, name: str) -> bytes:
        content = content_within(self.folder, self.folder / name)
        expected = self.manifest.checksums.get(name)
        if expected is not None and hashlib.sha256(content).hexdigest() != expected:
            raise BadInput(f"{self.folder / name} is not what the run wrote: its checksum differs")
        return content

    def _refuse_unknown(self, label: str) -> None:
        if label not in self.probes:
            raise BadInput(f"{self.folder} has no probe '{label}'{nearest(label, self.probes)}")


def load_run(folder: str | Path, allow_code: bool = False) -> Run:
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise BadInput(f"{folder} is not a run folder: it has no {MANIFEST}")
    written = format_of(path / MANIFEST)
    if written != FORMAT:
        by = "a newer" if written > FORMAT else "an earlier"
        raise BadInput(
            f"{folder} was written by {by} trueprobe (format {written}, this one reads {FORMAT}); "
            "run the study again with another --out: answers are cached, so little is recomputed"
        )
    run = Run(path, allow_code)
    _ = run.manifest  # validated before anything is made of it
    return run


def observations_file(label: str, model: str) -> str:
    return f"observations/{usable_name(label)}/{usable_name(model)}.parquet"


def usable_name(name: str) -> str:
    try:
        return file_name(name)
    except ValueError as error:
        raise BadInput(f"{error}; give it another name") from error
