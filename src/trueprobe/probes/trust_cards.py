"""Detection limits that ship: what each measure of a probe would have noticed, in models in which it was planted.

`sensitivity/PROBE.csv` in the folder of the probe has one measured limit per row, with what it holds for. A limit is
about models of that kind, with at least as many seeds and items; larger models were not planted.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from trueprobe.errors import BadInput, reading
from trueprobe.probes import files
from trueprobe.statistics.detection import Limit, LimitKind, NoLimit


@dataclass(frozen=True, kw_only=True)
class TrustCard:
    """One detection limit of one measure."""

    probe: str
    measure: str  # with the conditions that pick its row: `stereotype_margin k=10`
    model: str  # in which it was planted
    kind: str  # of that model: masked or causal
    level: str  # family or checkpoint: whose verdict the limit is about
    items: int
    limit: Limit

    @property
    def name(self) -> str:
        return self.measure.split()[0]

    @property
    def at(self) -> dict[str, str]:
        """`stereotype_margin k=10` -> {"k": "10"}"""
        return dict(part.split("=", 1) for part in self.measure.split()[1:])


def trust_cards(probe: str, root: Path = files.ROOT) -> tuple[TrustCard, ...]:
    """None where no limit of this probe was measured."""
    return tuple(card for path in sorted(root.glob(f"*/sensitivity/{probe}.csv")) for card in read_cards(path, probe))


def read_cards(path: Path, probe: str) -> list[TrustCard]:
    """Columns: those of `detection.csv` of a sensitivity analysis, with `model` and `kind`; others are left out."""
    with reading(f"{path}: no table of detection limits"), path.open(encoding="utf-8", newline="") as lines:
        cards = [_card(row) for row in csv.DictReader(lines)]
    for number, card in enumerate(cards, start=2):
        if card.probe != probe:
            raise BadInput(f"{path}, line {number}: about '{card.probe}', not '{probe}'")
    return cards


def _card(row: dict[str, str]) -> TrustCard:
    return TrustCard(
        probe=row["probe"],
        measure=row["measure"],
        model=row["model"],
        kind=row["kind"],
        level=row["level"],
        items=int(row["n_items"]),
        limit=Limit(
            kind=LimitKind(row["limit"]),
            nats=float(row["nats"]),
            low=float(row["low"]),
            high=float(row["high"]),
            why=NoLimit(row["why"]) if row["why"] else None,
            assignments=int(row["assignments"]),
            seeds=int(row["seeds"]),
            alpha=float(row["alpha"]),
        ),
    )
