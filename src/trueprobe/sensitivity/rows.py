"""What sensitivity measures, as rows: one frozen class for each table of its folder."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from trueprobe.errors import BadInput, reading
from trueprobe.paths import write_whole
from trueprobe.statistics.rows import column

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class PlantedRow:
    """One checkpoint at one dose: how much was planted, and what it cost."""

    assignment: int = column("which random assignment of the association")
    seed: int = column("seed of pre-training, or of continued training")
    dose: float = column("λ: 0 is the null model, 1 the model trained at the full share")
    nats: float = column("the manipulation check: log-odds on held-out frames, towards the assignment")
    auc: float = column("share of pairs of targets in the right order by them")


@dataclass(frozen=True, kw_only=True)
class MeasuredRow:
    """One measure of one checkpoint or family at one dose, as its run folder has it."""

    probe: str = column("the probe")
    measure: str = column("the measure, with the conditions it was counted at")
    level: str = column("checkpoint or family")
    assignment: int = column("which random assignment of the association")
    seed: int = column("of a checkpoint; −1 of a family")
    dose: float = column("λ: 0 is the null model, 1 the model trained at the full share")
    manipulation: float = column("nats planted; of a family the mean over seeds")
    value: float = column("the number")
    low: float = column("lower end of the 95 % interval")
    high: float = column("upper end of the 95 % interval")
    neutral: float = column("the value at which the number shows nothing")
    verdict: str = column("the conclusion from this number alone")
    n_items: int = column("scored items behind it")
    n_groups: int = column("independent groups of items")
    n_seeds: int = column("seeds behind it")


def write(path: Path, rows: Sequence[Any], kind: type[Any]) -> None:
    names = [one.name for one in fields(kind)]

    def put(file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(asdict, rows))

    write_whole(path, put)


def read(path: Path, kind: type[Row]) -> list[Row]:
    hints = get_type_hints(kind)
    with reading(f"{path} is damaged"), path.open(encoding="utf-8", newline="") as stream:
        listed = list(csv.DictReader(stream))
        return [kind(**{name: _value(text, hints[name]) for name, text in row.items()}) for row in listed]


def _value(text: str, kind: type[Any]) -> Any:
    if issubclass(kind, StrEnum | str | int | float):
        return kind(text)
    raise BadInput(f"no column of type {kind}")
