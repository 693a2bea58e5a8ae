"""Writing a run folder: every file whole or not at all, by one process at a time, each table with its checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from trueprobe.errors import BadInput
from trueprobe.paths import ANOTHER_OUT, LOCK, locked, write_text, write_whole
from trueprobe.runs.folder import DECLARATIONS, TIMING, Run, Timing, load_run, observations_file, usable_name
from trueprobe.runs.parquet import ParquetFile
from trueprobe.runs.schema import (
    FORMAT,
    ITEM_COLUMNS,
    LOCAL,
    MANIFEST,
    OBSERVATION_COLUMNS,
    PROBES,
    TABLES,
    LocalPaths,
    Manifest,
    ProbeDeclaration,
    StudyDescription,
    frame_of,
    refuse_other_columns,
)
from trueprobe.runs.study import portable, portable_declaration
from trueprobe.types import Card

if TYPE_CHECKING:
    import pandas as pd


class RunFolder:
    """Writes a run folder. One process at a time; a folder that holds another study is never touched."""

    def __init__(self, folder: Path, study: StudyDescription) -> None:
        self.folder, self.study = folder, study
        self._checksums: dict[str, str] = {}
        self.tables: list[str] = []  # files that were written

    @cached_property
    def _held(self) -> Run | None:
        """The run that the folder holds before this one writes to it."""
        return load_run(self.folder) if (self.folder / MANIFEST).exists() else None

    def refuse_other_runs(self) -> None:
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file; name a folder")
        held = self._held
        if held is not None:
            study = self.study if held.local else portable(self.study)
            changed = [key for key in StudyDescription.model_fields if getattr(held.study, key) != getattr(study, key)]
            if changed:
                raise BadInput(f"{folder} holds a different run (different {', '.join(changed)}); {ANOTHER_OUT}")
        elif folder.exists() and any(folder.iterdir()) and not (folder / LOCK).exists():
            raise BadInput(f"{folder} is not empty and not a run folder; {ANOTHER_OUT}")

    def refuse_other_weights(self, card: Card) -> None:
        """A model that was trained on since is another run too, and so is one whose texts start differently."""
        for held in self._held.manifest.cards if self._held else ():
            if held.name == card.name and held.compute_id != card.compute_id:
                raise BadInput(f"{self.folder} holds a run with different weights of {card.name}; {ANOTHER_OUT}")
            if held.name == card.name and held.start_text != card.start_text:
                raise BadInput(
                    f"{self.folder} holds a run of {card.name} in which texts start with '{held.start_text}', not "
                    f"'{card.start_text}'; {ANOTHER_OUT}"
                )

    def writing(self) -> AbstractContextManager[None]:
        return locked(self.folder, "run", ANOTHER_OUT)

    def manifest(self, **fields: Any) -> None:
        """What there is so far; `complete` at the end, with the checksums of all that was written."""
        checksums = dict(sorted(self._checksums.items())) if fields.get("complete") else {}
        content = {"format": FORMAT, "complete": False, "study": portable(self.study), "checksums": checksums, **fields}
        self._json(MANIFEST, Manifest(**content))

    def local(self, sources: dict[str, str]) -> None:
        self._json(LOCAL, LocalPaths(study=self.study, sources=sources))

    def declarations(self, declared: dict[str, ProbeDeclaration]) -> None:
        passed_on = {label: portable_declaration(declaration) for label, declaration in declared.items()}
        self._summed(PROBES, DECLARATIONS.dump_json(passed_on, indent=1))

    def timing(self, content: Timing) -> None:
        self._json(TIMING, content)

    def items(self, label: str, frames: Iterable[pd.DataFrame]) -> None:
        file = self._frames_file(f"items/{usable_name(label)}.parquet", ITEM_COLUMNS, (), f"the items of {label}")
        file.write_all(frames)

    def observations(self, label: str, model: str, frames: Iterable[pd.DataFrame], declared: Sequence[str]) -> None:
        self.observations_file(label, model, declared).write_all(frames)

    def observations_file(self, label: str, model: str, declared: Sequence[str]) -> ParquetFile:
        """To be written frame by frame."""
        name = observations_file(label, model)
        return self._frames_file(name, OBSERVATION_COLUMNS, declared, f"the observations of {label}")

    def cached_observations(self, label: str, model: str, content: bytes) -> None:
        """As an earlier run wrote them."""
        self._summed(observations_file(label, model), content)

    def checksum(self, name: str) -> str:
        return self._checksums[name]

    def observed(self, label: str, model: str) -> pd.DataFrame:
        """What this run wrote before."""
        import pandas as pd

        return pd.read_parquet(self.folder / f"observations/{label}/{model}.parquet")

    def rows(self, name: str, rows: Sequence[Any], file: str = "", **given: Sequence[Any]) -> None:
        """A table as parquet and CSV. `given`: columns that take the place of the rows' fields."""
        frame = frame_of(rows, TABLES[name], **given)
        self.table(f"{file or name}.parquet", frame.to_parquet(None, index=False))
        self.table(f"{file or name}.csv", frame.to_csv(None, index=False).encode())

    def table(self, name: str, content: bytes) -> None:
        """A table's file as it is; parquet has a checksum, the CSV next to it is a copy for people."""
        self.tables.append(name)
        if name.endswith(".parquet"):
            self._summed(name, content)
        else:
            write_whole(self.folder / name, lambda path: path.write_bytes(content))

    def content(self, name: str) -> bytes:
        """Of a file that this run wrote."""
        return (self.folder / name).read_bytes()

    def _json(self, name: str, content: BaseModel) -> None:
        write_text(self.folder / name, content.model_dump_json(indent=1) + "\n")

    def _frames_file(self, name: str, fixed: Iterable[str], declared: Sequence[str], where: str) -> ParquetFile:
        check = partial(refuse_other_columns, fixed=fixed, declared=declared, where=where)
        return ParquetFile(self.folder / name, declared, check, partial(self._sum, name))

    def _sum(self, name: str) -> None:
        with (self.folder / name).open("rb") as file:
            self._checksums[name] = hashlib.file_digest(file, "sha256").hexdigest()

    def _summed(self, name: str, content: bytes) -> None:
        """A file whose checksum the manifest will have."""
        write_whole(self.folder / name, lambda path: path.write_bytes(content))
        self._checksums[name] = hashlib.sha256(content).hexdigest()
