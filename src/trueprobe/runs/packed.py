"""A parquet file that a stranger made: how large its table would be, before it is read.

Repetitions are packed to almost nothing: 700 bytes can hold a hundred thousand times a text of a megabyte.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from trueprobe.errors import BadInput
from trueprobe.paths import unpacked_limit

if TYPE_CHECKING:
    import pyarrow as pa

_CELL = 8  # bytes


def refuse_bomb(content: bytes, where: str) -> None:
    from pyarrow import parquet

    opened = parquet.ParquetFile(io.BytesIO(content))
    if odd := next((field for field in opened.schema_arrow if not _expected(field.type)), None):
        raise BadInput(f"{where} is damaged: the column {odd.name!r} holds {odd.type}")
    metadata, most = opened.metadata, unpacked_limit(len(content))
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(metadata.num_columns)]
    cells = max(metadata.num_rows * metadata.num_columns, sum(chunk.num_values for chunk in chunks))
    _refuse_larger(max(_CELL * cells, sum(chunk.total_uncompressed_size for chunk in chunks)), most, where)
    columns = [metadata.schema.column(j) for j in range(metadata.num_columns)]
    if texts := [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]:
        # as places in a list of the distinct texts, which is all that the file itself holds
        distinct = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts).read(columns=texts)
        _refuse_larger(sum(map(_size, distinct.columns)), most, where)


def _expected(of: pa.DataType) -> bool:
    """Plain values, and lists of them as `top_tokens` has."""
    from pyarrow import types

    plain = of.value_type if types.is_list(of) else of
    return not (types.is_nested(plain) or types.is_fixed_size_binary(plain))


def _size(column: pa.ChunkedArray) -> int:
    """Of its texts, also those in lists, each written out."""
    from pyarrow import compute, types

    parts = [part.flatten() if types.is_list(part.type) else part for part in column.chunks]
    sizes = (compute.binary_length(part.dictionary).take(part.indices) for part in parts)
    return sum(compute.sum(size).as_py() or 0 for size in sizes)


def _refuse_larger(size: int, most: int, where: str) -> None:
    if size > most:
        raise BadInput(
            f"{where} unpacks to {size:,} bytes, more than {most:,}: no run leaves so much in so small a file"
        )
