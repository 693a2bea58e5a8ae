"""A parquet file written frame by frame, so that a long table is never held whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trueprobe.paths import PARTIAL, as_failed_run, write_whole

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
