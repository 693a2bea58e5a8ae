"""What a run's observations come to: estimates, claims, and the tables about seeds and wordings, as files.

Everything is read from the run folder, so counting anew needs no model. Checkpoints of one family at one training
step are counted together; steps are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import pandas as pd

from trueprobe import reliability
from trueprobe.probes import Probe
from trueprobe.reliability import disagreement, flips, signs, wordings
from trueprobe.reliability.seed_claims import claims_over_seeds
from trueprobe.store import RunFolder
from trueprobe.types import Card, Estimate


@dataclass(frozen=True)
class Setup:
    """Checkpoints that differ in their seed only."""

    family: str
    step: int | None
    cards: tuple[Card, ...]


def setups(cards: Sequence[Card]) -> list[Setup]:
    """The families of a run, each training step by itself, in the order in which they were asked."""
    together: dict[tuple[str, int | None], list[Card]] = {}
    for card in cards:
        together.setdefault((card.family, card.labels.get("step")), []).append(card)
    return [Setup(family, step, tuple(members)) for (family, step), members in together.items()]


class Counting:
    """One run's tables. `method`: how intervals over seeds are made."""

    def __init__(self, folder: RunFolder, cards: Sequence[Card], method: reliability.Method = "crossed") -> None:
        self.folder, self.setups, self.method = folder, setups(cards), method
        self.found: dict[str, list[reliability.Found]] = {}
        self.diagnostics: dict[str, str] = {}
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.answers: list[flips.Answers] = []

    def add(self, label: str, probe: Probe) -> None:
        """Count one probe for all models."""
        self.found[label] = []
        for setup in self.setups:
            members = self._members(label, probe, setup)
            measures = [measure for measure in probe.measures() if setup.cards[0].kind in measure.kinds]
            found = reliability.find(label, members, measures, self.method)
            self.found[label] += found
            rows = [_flat(row) for row in reliability.judged(found, probe.corrected_over)]
            self._more("estimates", rows)
            claimed = reliability.claimed(members, probe.claims())
            self._more("claims", [{"probe": label, **row} for row in claimed])
            self._more("variance", wordings.variance(found))
            self._more("signs", signs.significant(found))
            if probe.flips is not None and len(members) > 1:
                answers = flips.Answers.of(label, members, probe.flips)
                self.answers.append(answers)
                self._more("flips", answers.distribution())
                self._more("flipping_items", answers.most_flipping())
                self._more("flip_reasons", answers.by_size())
        if probe.diagnostic:
            self.diagnostics[label] = probe.diagnostic

    def write(self) -> None:
        """Every table as parquet and CSV; tables that this run has nothing for are not written."""
        self._more("flip_reasons", list(chain.from_iterable(flips.subsampled(self.answers))))
        self._more("claims", claims_over_seeds(self.found, self.diagnostics))
        self._more("disagreements", disagreement.between(self.found, self.diagnostics))
        for name, rows in self.tables.items():
            if rows or name in ("estimates", "claims"):
                frame = pd.DataFrame(rows)
                whole = [column for column in ("model_seed", "step") if column in frame]
                frame = frame.astype(dict.fromkeys(whole, "Int64"))
                self.folder.table(f"{name}.parquet", frame)
                self.folder.csv(f"{name}.csv", frame)

    def _members(self, label: str, probe: Probe, setup: Setup) -> list[reliability.Member]:
        frames = [self.folder.read(f"observations/{label}/{card.name}.parquet") for card in setup.cards]
        columns = [f"group_{factor}" for factor in probe.factors]
        groups = [frame[columns].set_axis(list(probe.factors), axis=1) for frame in frames]
        drawn = reliability.Resampling.shared(groups, probe.settings.resample_seed)
        return [
            reliability.Member(card.name, card.kind, frame, resampling, card.family, card.labels)
            for card, frame, resampling in zip(setup.cards, frames, drawn, strict=True)
        ]

    def _more(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.tables.setdefault(name, []).extend(rows)


def _flat(row: Estimate) -> dict[str, Any]:
    fields = asdict(row)
    conditions = {key: str(value) for key, value in fields.pop("conditions").items()}
    first = {key: fields.pop(key) for key in ("probe", "model", "measure")}
    return {**first, **conditions, **fields}
