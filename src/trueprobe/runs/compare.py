"""Two models or families of one run, paired by item: `trueprobe compare DIR --a MODEL --b MODEL`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pandas as pd

from trueprobe import probes
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import Probe
from trueprobe.results.select import SILENT, row_names, titles, where_told
from trueprobe.runs.folder import Run
from trueprobe.statistics import paired
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.verdict import FEWEST_SEEDS


@dataclass(frozen=True)
class Comparison:
    """`table`: every measure of every probe. `told`: the rows each probe's summary shows."""

    a: str
    b: str
    table: pd.DataFrame
    told: pd.DataFrame
    precision: float | None = None
    apart: tuple[str, ...] = ()  # probes that ask the two kinds of model for different things
    steps: tuple[int | None, int | None] = (None, None)  # of either side: the last training step it was asked at

    @property
    def seeds(self) -> tuple[int, int]:
        """Of either side."""
        return int(self.table["n_seeds_a"].max()), int(self.table["n_seeds_b"].max())

    @property
    def too_few_seeds(self) -> bool:
        """Families that cannot show anything; two single checkpoints speak for themselves."""
        return max(self.seeds) > 1 and min(self.seeds) < FEWEST_SEEDS

    @property
    def file(self) -> str:
        return f"comparisons/{self.a}_vs_{self.b}".replace(" ", "_")


def compare(run: Run, a: str, b: str, precision: float | None = None, progress: Any = None) -> Comparison:
    """`a` less `b`. A family is all its seeds, at their last training step; `precision` is the half-width wanted."""
    cards = [_cards(run, name) for name in (a, b)]
    both = {card["name"] for card in cards[0]} & {card["name"] for card in cards[1]}
    if both:
        raise BadInput(f"{sorted(both)[0]} is on both sides; --a and --b must have no checkpoint in common")
    kinds = {card["kind"] for side in cards for card in side}
    tables, told, apart = [], [], []
    for entry in run.manifest["study"]["probes"]:
        probe = probes.make_again(entry)
        measures = [measure for measure in probe.measures() if kinds <= set(measure.kinds)]
        if not measures:
            apart.append(entry["label"])
            continue
        with progress.waiting(f"comparing {entry['label']}") if progress else nullcontext():
            first, second = (_members(run, entry["label"], probe, side) for side in cards)
            sides = paired.Sides.of(first, second, probe.factors)
            rows = paired.compare(sides, measures, probe.corrected_over, precision)
        table = pd.DataFrame(rows)
        table.insert(0, "probe", entry["label"])
        tables.append(table)
        told.append(_told(table, run.told[entry["label"]]["summary"]))
    if not tables:
        raise BadInput(f"{a} and {b} are not asked alike by {' or '.join(apart)}, so there is nothing to compare")
    table, told_rows = (pd.concat(found, ignore_index=True) for found in (tables, told))
    steps = (cards[0][0]["labels"].get("step"), cards[1][0]["labels"].get("step"))
    return Comparison(a, b, table, told_rows, precision, tuple(apart), steps)


def _cards(run: Run, name: str) -> list[dict[str, Any]]:
    cards = run.manifest["cards"]
    mine = [card for card in cards if card["name"] == name] or [card for card in cards if card["family"] == name]
    if not mine:
        known = dict.fromkeys([*(card["family"] for card in cards), *(card["name"] for card in cards)])
        raise BadInput(f"{run.folder} has no model or family '{name}'{nearest(name, list(known))}")
    last = max((card["labels"].get("step", -1) for card in mine), default=-1)
    return [card for card in mine if card["labels"].get("step", -1) == last]


def _members(run: Run, label: str, probe: Probe, cards: Sequence[dict[str, Any]]) -> list[CheckpointData]:
    seed = probe.settings.resample_seed
    return [
        paired.to_pair(c["name"], c["kind"], run.observed(label, c["name"]), seed, c["family"], c["labels"])
        for c in cards
    ]


def _told(table: pd.DataFrame, summary: Mapping[str, Any]) -> pd.DataFrame:
    """What the summary of a run shows; over all listed words where too few are in the top k."""
    rows = where_told(table[table["measure"].isin(summary["measures"])], summary["where"])
    rows = rows[~rows["verdict"].isin(SILENT)]
    return rows.assign(row=row_names(rows, summary), title=rows["measure"].map(titles(summary)))
