"""Writing a run folder: every file whole or not at all, by one process at a time, each table with its checksum.

A parquet file is written frame by frame, so that a long table is never held whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from trueprobe.errors import BadInput
from trueprobe.paths import ANOTHER_OUT, LOCK, locked, write_bytes, write_text, write_whole
from trueprobe.runs.folder import DECLARATIONS, TIMING, Run, Timing, load_run, observations_file, usable_name
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
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from trueprobe.paths import PARTIAL, as_failed_run

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 4096
Row = TypeVar("Row")


def chunks(rows: Sequence[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    """At least one, which is empty where there are no rows."""
    for start in range(0, max(len(rows), 1), size):
        yield list(rows[start : start + size])


class ParquetFile:
    """`write` each frame, then `close`: the file is there, whole; or `abandon`: it stays as it was before.

    Each frame becomes a row group. A column that a frame lacks is null there; `last` columns stand behind those that a
    later frame adds. A column's type is known when all frames are, since it may be empty in the first: until then each
    frame lies in a file of its own, in a hidden folder next to `path`.
    """

    def __init__(
        self,
        path: Path,
        last: Sequence[str] = (),
        check: Callable[[pd.DataFrame], object] = lambda frame: None,  # of each frame, before it is written
        closed: Callable[[], object] = lambda: None,  # when the file is there
    ) -> None:
        self.path, self._last, self._check, self._closed = path, last, check, closed
        self._parts: list[_Part] = []
        with as_failed_run(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=PARTIAL, dir=path.parent))

    @property
    def begun(self) -> bool:
        return bool(self._parts)

    def write(self, frame: pd.DataFrame) -> None:
        self._check(frame)
        part = self._folder / str(len(self._parts))
        with as_failed_run(self.path):
            frame.to_parquet(part, index=False)
        self._parts.append(_Part(part, frozenset(frame.columns[~frame.isna().all()])))

    def close(self) -> None:
        try:
            write_whole(self.path, self._join)
        finally:
            self.abandon()
        self._closed()

    def abandon(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def write_all(self, frames: Iterable[pd.DataFrame]) -> None:
        try:
            for frame in frames:
                self.write(frame)
        except BaseException:
            self.abandon()
            raise
        self.close()

    def _join(self, target: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if len(self._parts) == 1:
            os.replace(self._parts[0].path, target)
            return
        schema = _common(_typed(self._parts), self._last)
        with parquet.ParquetWriter(target, schema) as writer:
            for part in self._parts:
                table = parquet.read_table(part.path)
                columns = [
                    table[name].cast(schema.field(name).type) if name in part.filled else _nulls(table, schema, name)
                    for name in schema.names
                ]
                writer.write_table(pa.table(columns, schema=schema))


@dataclass(frozen=True)
class _Part:
    path: Path
    filled: frozenset[str]  # columns that hold something: only these have a type


def _typed(parts: Sequence[_Part]) -> list[pa.Schema]:
    """Of each part; a column that is empty there has the type of the parts in which it is not."""
    import pyarrow as pa
    from pyarrow import parquet

    somewhere = frozenset[str]().union(*(part.filled for part in parts))
    schemas = []
    for part in parts:
        whole = parquet.read_schema(part.path)
        fields = [
            pa.field(field.name, pa.null()) if field.name in somewhere - part.filled else field for field in whole
        ]
        schemas.append(pa.schema(fields, metadata=whole.metadata))
    return schemas


def _common(schemas: Sequence[pa.Schema], last: Sequence[str]) -> pa.Schema:
    """One type for each column, and pandas' notes of what a frame of these has."""
    import pyarrow as pa

    every = pa.unify_schemas(schemas, promote_options="permissive")
    ordered = sorted(every.names, key=lambda name: name in last)  # stable: else as they came
    wanted = pa.schema([every.field(name) for name in ordered], metadata=schemas[0].metadata)
    notes = pa.Schema.from_pandas(wanted.empty_table().to_pandas(), preserve_index=False)
    return wanted.with_metadata(notes.metadata)


def _nulls(table: pa.Table, schema: pa.Schema, name: str) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(len(table), schema.field(name).type)


# ---------------------------------------------------------------- a parquet file, frame by frame


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
            if held.name == card.name and held.start_text != card.start_text:
                raise BadInput(
                    f"{self.folder} holds a run of {card.name} in which texts start with '{held.start_text}', not "
                    f"'{card.start_text}'; {ANOTHER_OUT}"
                )
            if held.name == card.name and held.compute_id != card.compute_id:
                raise BadInput(f"{self.folder} holds a run with different weights of {card.name}; {ANOTHER_OUT}")

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
            write_bytes(self.folder / name, content)

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
        write_bytes(self.folder / name, content)
        self._checksums[name] = hashlib.sha256(content).hexdigest()
