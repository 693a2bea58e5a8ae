"""Runs probes on the checkpoints of a dose as ordinary runs, and collects what each measure came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.runs import Run, Study, load_run, make_plan, make_study, run_plan
from trueprobe.runs.study import ProbeRun
from trueprobe.sensitivity.pointing import COUNTED, Counted
from trueprobe.sensitivity.rows import MeasuredRow
from trueprobe.statistics.rows import Estimate
from trueprobe.types import Progress

FAMILY = -1  # the seed of a row about all of them


@dataclass(frozen=True, kw_only=True)
class Dose:
    """One dose of one assignment, and the nats of each seed."""

    assignment: int
    dose: float
    nats: Mapping[int, float]

    def of(self, seed: int) -> float:
        return self.nats[seed] if seed != FAMILY else sum(self.nats.values()) / len(self.nats)


def is_complete(folder: Path) -> bool:
    return (folder / "manifest.json").is_file() and load_run(folder).complete


def ask(
    probes: Mapping[str, Mapping[str, Any]],
    spec: str,
    folder: Path,
    store: Path | None,
    progress: Progress,
    limit: int | None = None,
) -> Run:
    """As `trueprobe run` would, with each probe's settings."""
    entries = tuple(ProbeRun(name=name, settings=dict(settings)) for name, settings in probes.items())
    study, permissions = make_study(Study(title="sensitivity", probes=entries, limit=limit), models=[spec])
    return run_plan(make_plan(study, permissions), folder, store, progress)


def rows_of(probe: str, estimates: Sequence[Estimate], at: Dose) -> Iterator[MeasuredRow]:
    for counted in COUNTED[probe]:
        matching = [one for one in estimates if counted.is_of(one.measure, one.conditions)]
        alone = len({one.model for one in matching if one.level == "checkpoint"}) == 1
        for one in matching:
            yield _row(one, probe, counted, at, FAMILY if one.level == "family" else int(one.model_seed or 0))
            if alone and one.level == "checkpoint":  # a single checkpoint stands for its family
                yield _row(one, probe, counted, at, FAMILY)


def named(counted: Counted) -> str:
    """`stereotype_margin k=10`, `effect_size representation=cls`: with what distinguishes it from others."""
    conditions = [f"{name}={value}" for name, value in counted.at.items() if name in ("k", "representation")]
    return " ".join([counted.measure, *conditions])


def _row(one: Estimate, probe: str, counted: Counted, at: Dose, seed: int) -> MeasuredRow:
    return MeasuredRow(
        probe=probe,
        measure=named(counted),
        level="family" if seed == FAMILY else "checkpoint",
        assignment=at.assignment,
        seed=seed,
        dose=at.dose,
        manipulation=at.of(seed),
        value=one.value,
        low=one.low,
        high=one.high,
        neutral=0.0 if one.neutral is None else one.neutral,
        verdict=one.verdict_alone,
        n_items=one.n_items,
        n_groups=one.n_groups,
        n_seeds=one.n_seeds,
    )
