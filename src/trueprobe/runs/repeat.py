"""A run once more, from its folder: `trueprobe run --from RUN` repeats it exactly, or reports what has changed.

Material or weights that are not those of the run are refused before anything is asked. Other versions and another
machine are reported, and the estimates of both runs are held against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trueprobe.errors import BadInput
from trueprobe.models import examine
from trueprobe.paths import ANOTHER_OUT
from trueprobe.permissions import NONE, Permissions
from trueprobe.runs import execute
from trueprobe.runs.folder import Run, load_run
from trueprobe.runs.plan import RunPlan, make_plan
from trueprobe.runs.schema import MANIFEST, StudyDescription, damage
from trueprobe.runs.study import Study
from trueprobe.statistics.rows import Estimate
from trueprobe.types import Card, Progress

Key = tuple[object, ...]
_SUFFIX = "-again"


@dataclass(frozen=True)
class RunChange:
    """Something that is not as it was when the run was made; empty where it was not recorded."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class Repeated:
    original: Run
    again: Run
    changes: tuple[RunChange, ...]
    same_bytes: bool  # every table
    n_estimates: int  # that the two runs have together
    n_differing: int  # of these: other values, or in one of them alone
    largest: float  # distance of two values; NaN where none differ

    @property
    def exact(self) -> bool:
        return self.n_differing == 0


def repeat(
    folder: str | Path,
    out: Path | None = None,
    models: tuple[str, ...] = (),
    store: Path | None = None,
    progress: Progress | None = None,
    *,
    device: str | None = None,
    batch_tokens: int | None = None,
    permissions: Permissions = NONE,
) -> Repeated:
    """`models`: where they are now, if not where they were. `permissions`: for the folder; by default none."""
    original = load_run(folder)
    original.refuse_unfinished()
    target = out or Path(f"{Path(folder)}{_SUFFIX}")
    if target.resolve() == Path(folder).resolve():
        raise BadInput(f"{target} is the run itself; {ANOTHER_OUT}")
    plan = make_plan(study_again(original, models, device, batch_tokens), permissions)
    refuse_other(original, plan, [examine(source, plan.options).outline.card for source in plan.sources])
    return compared(original, execute.run_plan(plan, target, store, progress))


def study_again(
    run: Run, models: tuple[str, ...] = (), device: str | None = None, batch_tokens: int | None = None
) -> Study:
    """With the paths of the machine that ran it, where they are known."""
    described = run.study
    probes = [
        {"name": entry.file or entry.name, "label": entry.label, "settings": entry.settings}
        for entry in described.probes
    ]
    fields = {name: getattr(described, name) for name in StudyDescription.model_fields if name in Study.model_fields}
    here = {"probes": probes, "models": models or described.models, "batch_tokens": batch_tokens}
    with damage(run.folder / MANIFEST):
        return Study.model_validate({**fields, **here, **({"device": device} if device else {})})


def refuse_other(original: Run, plan: RunPlan, cards: Iterable[Card]) -> None:
    """Material and weights make a run what it is."""
    before = {entry.label: entry.material_id for entry in original.study.probes}
    for entry in plan.description.probes:
        if entry.material_id != before[entry.label]:
            raise BadInput(f"{original.folder} cannot be repeated: the material of {entry.label} has changed since")
    weights = {card.name: card.compute_id for card in original.manifest.cards}
    for card in cards:
        if card.name not in weights:
            raise BadInput(f"{original.folder} cannot be repeated: it has no model '{card.name}'")
        if card.compute_id != weights[card.name]:
            raise BadInput(f"{original.folder} cannot be repeated: the weights of {card.name} have changed")


# ---------------------------------------------------------------- what became of it


def compared(original: Run, again: Run) -> Repeated:
    one, other = (_values(run) for run in (original, again))
    distances = [_distance(one.get(key, math.inf), other.get(key, math.inf)) for key in {**one, **other}]
    differing = [distance for distance in distances if distance]
    finite = [distance for distance in differing if math.isfinite(distance)]
    same_bytes = original.manifest.checksums == again.manifest.checksums
    largest = max(finite, default=math.nan)
    return Repeated(
        original, again, tuple(_changes(original, again)), same_bytes, len(distances), len(differing), largest
    )


def _values(run: Run) -> dict[Key, float]:
    return {
        (row.probe, row.model, row.measure, row.level, row.step, *sorted(row.conditions.items())): row.value
        for row in run.rows(Estimate)
    }


def _distance(one: float, other: float) -> float:
    """0 where both are the same, or not known; infinite where one of them is not there."""
    if math.isnan(one) and math.isnan(other):
        return 0.0
    return math.inf if math.isnan(one) or math.isnan(other) else abs(one - other)


def _changes(original: Run, again: Run) -> Iterator[RunChange]:
    machines = [{name: str(value) for name, value in run.manifest.machine} for run in (original, again)]
    yield from _between(original.manifest.versions, again.manifest.versions)
    yield from _between(*machines)


def _between(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[RunChange]:
    for what in {**before, **now}:
        if before.get(what) != now.get(what):
            yield RunChange(what, before.get(what, ""), now.get(what, ""))
