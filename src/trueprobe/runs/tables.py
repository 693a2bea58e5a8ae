"""What a run's observations come to: estimates, claims, and the tables about seeds and wordings, as files.

Everything is read from the run folder, so counting anew needs no model. Checkpoints of one family at one training
step are counted together; steps are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, permutations
from typing import Any

import pandas as pd

from trueprobe.probes import Probe
from trueprobe.runs.folder import RunFolder
from trueprobe.statistics import disagreement, flips, signs, wordings
from trueprobe.statistics.between import between, is_about
from trueprobe.statistics.claims import claimed
from trueprobe.statistics.estimates import Member, find
from trueprobe.statistics.interval import Method
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.paired import Sides, to_pair
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.seed_claims import claims_over_seeds
from trueprobe.statistics.variants import variants
from trueprobe.statistics.verdict import Found, judged
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

    def __init__(self, folder: RunFolder, cards: Sequence[Card], method: Method = "crossed") -> None:
        self.folder, self.setups, self.method = folder, setups(cards), method
        self.found: dict[str, list[Found]] = {}
        self.probes: dict[str, Probe] = {}
        self.diagnostics: dict[str, str] = {}
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.answers: list[flips.Answers] = []

    def add(self, label: str, probe: Probe) -> None:
        """Count one probe for all models."""
        self.found[label], self.probes[label] = [], probe
        for setup in self.setups:
            members = self._members([label], setup)[0]
            measures = _measures(probe, setup)
            found = find(label, members, measures, self.method)
            self.found[label] += found
            rows = [_flat(row) for row in judged(found, probe.corrected_over)]
            self._more("estimates", rows)
            claims = claimed(members, probe.claims(), self.method)
            self._more("claims", [{"probe": label, **row} for row in claims])
            self._more("variance", wordings.variance(found))
            self._more("signs", signs.significant(found))
            answers = flips.Answers.of(label, members, probe.flips) if probe.flips is not None else None
            if answers is not None:
                self.answers.append(answers)
                self._more("flips", answers.distribution())
                self._more("flipping_items", answers.most_flipping())
                self._more("flip_reasons", answers.by_size())
        if probe.diagnostic:
            self.diagnostics[label] = probe.diagnostic
        self._between(label, probe)
        for other in (name for name, earlier in self.probes.items() if earlier.name == probe.name and name != label):
            self._variants(other, label)

    def _between(self, label: str, probe: Probe) -> None:
        """Claims about two models, for all pairs of the run that they speak of; of a family its last step."""
        last = list({setup.family: setup for setup in sorted(self.setups, key=lambda s: s.step or 0)}.values())
        seed = probe.settings.resample_seed
        for claim in (claim for claim in probe.claims() if claim.between):
            for first, second in permutations(last, 2):
                if is_about(claim, first.cards[0], second.cards[0]):
                    one, other = (
                        [to_pair(c.name, c.kind, self._seen(label, c), seed, c.family, c.labels) for c in setup.cards]
                        for setup in (first, second)
                    )
                    row = between(Sides.of(one, other, probe.factors), claim)
                    self._more("claims", [{"probe": label, **row}])

    def _variants(self, one: str, other: str) -> None:
        """One probe under two labels: what their settings move, of the numbers that the summary shows."""
        told = self.probes[one].summary.measures
        for setup in self.setups:
            first, second = self._members([one, other], setup)
            counted = [
                [measure for measure in _measures(self.probes[label], setup) if measure.name in told]
                for label in (one, other)
            ]
            rows = variants((first, counted[0]), (second, counted[1]), self.probes[one].corrected_over)
            self._more("variants", [{"first_label": one, "second_label": other, **row} for row in rows])

    def write(self) -> None:
        """Every table as parquet and CSV; tables that this run has nothing for are not written."""
        self._more("flip_reasons", list(chain.from_iterable(flips.subsampled(self.answers))))
        self._more("claims", claims_over_seeds(self.found, self.diagnostics))
        apart = disagreement.between(self.found, self.diagnostics)
        self._more("disagreements", apart)
        self._more("claims", disagreement.claims(apart))
        for name, rows in self.tables.items():
            if rows or name in ("estimates", "claims"):
                frame = pd.DataFrame(rows)
                whole = [column for column in ("model_seed", "step") if column in frame]
                frame = frame.astype(dict.fromkeys(whole, "Int64"))
                self.folder.table(f"{name}.parquet", frame)
                self.folder.csv(f"{name}.csv", frame)

    def _members(self, labels: Sequence[str], setup: Setup) -> list[list[Member]]:
        """The checkpoints' observations under each label, all with the same draws."""
        probe = self.probes[labels[0]]
        asked = [(card, label) for label in labels for card in setup.cards]
        frames = [self._seen(label, card) for card, label in asked]
        columns = [f"group_{factor}" for factor in probe.factors]
        groups = [frame[columns].set_axis(list(probe.factors), axis=1) for frame in frames]
        drawn = Resampling.shared(groups, probe.settings.resample_seed)
        members = [
            Member(card.name, card.kind, frame, resampling, card.family, card.labels)
            for (card, _), frame, resampling in zip(asked, frames, drawn, strict=True)
        ]
        return [members[i : i + len(setup.cards)] for i in range(0, len(members), len(setup.cards))]

    def _seen(self, label: str, card: Card) -> pd.DataFrame:
        return self.folder.read(f"observations/{label}/{card.name}.parquet")

    def _more(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.tables.setdefault(name, []).extend(rows)


def _measures(probe: Probe, setup: Setup) -> list[Measure]:
    return [measure for measure in probe.measures() if setup.cards[0].kind in measure.kinds]


def _flat(row: Estimate) -> dict[str, Any]:
    fields = asdict(row)
    conditions = {key: str(value) for key, value in fields.pop("conditions").items()}
    first = {key: fields.pop(key) for key in ("probe", "model", "measure")}
    return {**first, **conditions, **fields}
