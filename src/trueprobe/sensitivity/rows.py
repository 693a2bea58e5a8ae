"""What sensitivity measures, as rows: one frozen class for each table of its folder."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

from trueprobe.errors import BadInput, reading
from trueprobe.paths import write_csv
from trueprobe.statistics.detection import LimitKind
from trueprobe.statistics.rows import column
from trueprobe.types import Direction, Verdict

PLANTED, MEASURED, RELABELLED, UNPLANTED = "planted.csv", "measured.csv", "relabelled.csv", "unplanted.csv"
REMOVED, REMOVAL_CLAIMS = "removed.csv", "removal_claims.csv"
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
    verdict: Verdict = column("the conclusion from this number alone")
    n_items: int = column("scored items behind it")
    n_groups: int = column("independent groups of items")
    n_seeds: int = column("seeds behind it")


@dataclass(frozen=True, kw_only=True)
class DetectionRow:
    """What a measure would have seen: its detection limit, dose–response, sign errors and false alarms."""

    probe: str = column("the probe")
    measure: str = column("the measure, with the conditions it was counted at")
    level: str = column("checkpoint or family: whose verdict the limit is about")
    limit: LimitKind = column("at; at_most: already at the smallest dose; above: not at the largest; none")
    nats: float = column("the limit: nats planted beyond dose 0, at which 80 % of the verdicts are right")
    low: float = column("lower end of its 95 % interval, over assignments and seeds")
    high: float = column("upper end")
    why: str = column("why there is no limit")
    held_from: float = column(
        "nats beyond dose 0 from which on all verdicts behind it were right; empty: not at dose 1"
    )
    assignments: int = column("random assignments behind it")
    seeds: int = column("seeds for which it holds")
    n_items: int = column("scored items for which it holds, of the row that has fewest")
    alpha: float = column("of the verdict")
    neutral: float = column("the value at which the number shows nothing")
    at_null: float = column("mean value at dose 0")
    at_full: float = column("mean value at dose 1")
    full_nats: float = column("nats planted at dose 1 beyond dose 0")
    trend_p: float = column("of a trend over the doses")
    reversal_p: float = column("of the clearest step against it, corrected (Holm)")
    sign_errors: float = column("share of the decided verdicts above dose 0 on the wrong side")
    false_alarms: float = column("share of relabelled null verdicts that were decided")
    false_alarms_high: float = column("upper end of its 95 % interval")
    relabellings: int = column("how many verdicts that is of")


@dataclass(frozen=True, kw_only=True)
class UnplantedRow:
    """A number about something that was not planted: how far it moves from dose 0 to dose 1."""

    probe: str = column("the probe, as it is published")
    measure: str = column("the measure, with its category or test")
    before: float = column("mean value of the models before either training")
    at_null: float = column("mean value at dose 0")
    at_full: float = column("mean value at dose 1")
    difference: float = column("dose 1 minus dose 0")
    low: float = column("lower end of its 95 % interval, over assignments and seeds")
    high: float = column("upper end")
    p: float = column("against no difference, not corrected")
    verdict: Verdict = column("whether it moves, corrected (Holm) over this table", Verdict.DESCRIPTIVE)
    n_items: int = column("scored items behind it")
    n_groups: int = column("independent groups of items")
    n_seeds: int = column("seeds behind it")


@dataclass(frozen=True, kw_only=True)
class RemovedRow:
    """What is left of a planted association after counterexamples."""

    assignment: int = column("which random assignment of the association")
    seed: int = column("seed of pre-training, or of continued training")
    arm: str = column("the counterexamples: syntax, meaning, or neutral sentences")
    prompts: str = column("what it is measured on: prompts of the syntax, of the meaning, or other frames")
    targets: str = column("those with counterexamples (trained), or the others")
    before: float = column("nats planted")
    after: float = column("nats that are left")


@dataclass(frozen=True, kw_only=True)
class RemovalClaimRow:
    """Do two kinds of counterexamples remove as much, about the targets that have them?"""

    first: str = column("counterexamples")
    second: str = column("the others that they are compared with")
    prompts: str = column("what is measured")
    direction: Direction = column("above: the first remove more; alike: equivalence is tested")
    before: float = column("nats planted, on these prompts")
    value: float = column("nats that the first remove more than the second")
    low: float = column("lower end of the 95 % interval over assignments and seeds; of equivalence 90 %")
    high: float = column("upper end")
    margin: float = column("of equivalence: a fifth of the nats planted")
    p: float = column("of the direction, or of equivalence")
    verdict: Verdict = column("on the claim")
    assignments: int = column("random assignments behind it")
    seeds: int = column("seeds behind it")


def write(path: Path, rows: Sequence[Any], kind: type[Any]) -> None:
    write_csv(path, [one.name for one in fields(kind)], map(asdict, rows))


def read(path: Path, kind: type[Row]) -> list[Row]:
    hints = get_type_hints(kind)
    with reading(f"{path} is damaged"), path.open(encoding="utf-8", newline="") as stream:
        listed = list(csv.DictReader(stream))
        return [kind(**{name: _value(text, hints[name]) for name, text in row.items()}) for row in listed]


def read_json(path: Path, kind: type[Row]) -> Row:
    with reading(f"{path} is damaged"):
        return TypeAdapter(kind).validate_json(path.read_bytes())


def _value(text: str, kind: type[Any]) -> Any:
    if issubclass(kind, StrEnum | str | int | float):
        return kind(text)
    raise BadInput(f"no column of type {kind}")
