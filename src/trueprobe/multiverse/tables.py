"""What `multiverse` leaves in a run folder: three tables, next to the run's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueprobe.multiverse.count import FamilyMultiverse
from trueprobe.paths import write_bytes
from trueprobe.runs.schema import TABLES, frame_of


def write_tables(folder: Path, results: Sequence[FamilyMultiverse]) -> None:
    """Those of an earlier call are replaced."""
    _write(folder, "multiverse", [one.whole for one in results])
    _write(folder, "specifications", [row for one in results for row in one.specifications])
    _write(folder, "axis_shares", [row for one in results for row in one.axes])


def _write(folder: Path, name: str, rows: Sequence[Any]) -> None:
    write_bytes(folder / f"{name}.parquet", frame_of(rows, TABLES[name]).to_parquet(None, index=False))
