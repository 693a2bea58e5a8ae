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

    metadata, most = parquet.ParquetFile(io.BytesIO(content)).metadata, unpacked_limit(len(content))
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(metadata.num_columns)]
    cells = max(metadata.num_rows * metadata.num_columns, sum(chunk.num_values for chunk in chunks))
    _refuse_larger(max(_CELL * cells, sum(chunk.total_uncompressed_size for chunk in chunks)), most, where)
    columns = [metadata.schema.column(j) for j in range(metadata.num_columns)]
    if any(column.max_repetition_level > 1 for column in columns):
        raise BadInput(f"{where} is damaged: a column holds lists of lists")
    if texts := [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]:
        # as places in a list of the distinct texts, which is all that the file itself holds
        distinct = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts).read(columns=texts)
        _refuse_larger(sum(map(_size, distinct.columns)), most, where)


def _size(column: pa.ChunkedArray) -> int:
    """Of its texts, each written out; a column may hold lists of them."""
    from pyarrow import compute, types

    parts = (part.flatten() if types.is_list(part.type) else part for part in column.chunks)
    sizes = (compute.binary_length(part.dictionary).take(part.indices) for part in parts)
    return sum(compute.sum(size).as_py() or 0 for size in sizes)


def _refuse_larger(size: int, most: int, where: str) -> None:
    if size > most:
        raise BadInput(
            f"{where} unpacks to {size:,} bytes, more than {most:,}: no run leaves so much in so small a file"
        )
