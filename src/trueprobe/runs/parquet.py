"""A parquet file from frames that come one after the other, so that a long table is never held whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 4096
Row = TypeVar("Row")


def portions(rows: Iterable[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    """At least one, which is empty where there are no rows."""
    coming = iter(rows)
    portion = list(islice(coming, size))
    yield portion
    while len(portion) == size and (portion := list(islice(coming, size))):
        yield portion


def write_frames(path: Path, frames: Iterable[pd.DataFrame], last: Sequence[str] = ()) -> None:
    """At least one frame, each a row group. A column that a frame lacks is null there; `last` columns stand behind
    those that a later frame adds."""
    import pyarrow as pa
    from pyarrow import parquet

    coming = iter(frames)
    first, second = next(coming), next(coming, None)
    if second is None:
        first.to_parquet(path, index=False)
        return
    # types are known when all frames are: a column may be empty in the first
    parts = list(_written(path, chain((first, second), coming)))
    schema = _common(_typed(parts), last)
    with parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
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


def _written(path: Path, frames: Iterable[pd.DataFrame]) -> Iterator[_Part]:
    for number, frame in enumerate(frames):
        part = path.with_name(f"{path.name}.{number}")
        frame.to_parquet(part, index=False)
        yield _Part(part, frozenset(frame.columns[~frame.isna().all()]))


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
