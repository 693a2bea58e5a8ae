"""A study made ready to run: probes with checked settings and their items, checkpoints, and what identifies the run.

Files are read; no network is built and nothing is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from trueprobe import probes
from trueprobe.errors import BadInput, nearest
from trueprobe.models import Options, Source, find
from trueprobe.permissions import Permissions
from trueprobe.probes import Probe
from trueprobe.runs import replay
from trueprobe.runs.allocation import per_group
from trueprobe.runs.families import asks
from trueprobe.runs.schema import StudyDescription, StudyEntry
from trueprobe.runs.study import Changes, ProbeRun, Study, items_needed, make_study
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import Card, Item


@dataclass(frozen=True)
class PlannedProbe:
    """One probe with its items, ready for any model; without items as long as trials have to settle them."""

    label: str
    probe: Probe
    items: list[Item]
    items_needed: int = 0  # where a limit left some out: how many its findings need
    n_whole: int = 0  # items without a limit
    decided: str = ""  # what the models of the run decided of it: a hash of their trials, of their common words
    weights: Mapping[str, float] = field(default_factory=dict)  # by item, of a balanced sample


@dataclass(frozen=True)
class RunPlan:
    study: Study
    probes: tuple[PlannedProbe, ...]
    sources: tuple[Source, ...]
    replays: tuple[str, ...]  # SPECs of released outputs
    options: Options
    description: StudyDescription  # what makes this run this run: a folder holds one of them

    def asked(self, probes: Sequence[PlannedProbe], card: Card) -> list[PlannedProbe]:
        """Those that this model is asked."""
        return [planned for planned in probes if asks(self.study.only, planned.label, card)]

    @property
    def default_name(self) -> str:
        later = ("per_group", "axes", "plan", "only")
        joined_later = {name for name in later if not getattr(self.description, name)}
        digest = hashlib.sha256(self.description.model_dump_json(exclude=joined_later).encode()).hexdigest()
        return f"{'-'.join(planned.label for planned in self.probes)}-{digest[:8]}"


def plan_run(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    **changes: Unpack[Changes],
) -> RunPlan:
    """From what the caller names: see `make_study`."""
    return make_plan(*make_study(what, models, settings, **changes))


def make_plan(study: Study, permissions: Permissions) -> RunPlan:
    _refuse_incomplete(study)
    replays = tuple(spec for spec in study.models if spec.startswith(replay.PREFIX))
    planned = tuple(_planned(_with_results(entry, replays, permissions), study, permissions) for entry in study.probes)
    options = Options(study.device, study.dtype, permissions.pickle, permissions.servers)
    reading = [one.label for one in planned if one.probe.results_setting]
    if reading and len(replays) < len(study.models):
        raise BadInput(f"{reading[0]} reads results and runs no model: --model replay:FILE, or a folder of them")
    sources = tuple(find([spec for spec in study.models if spec not in replays], options, compare_weights=False))
    return RunPlan(study, planned, sources, replays, options, _describe(study, planned))


def plan_in_memory(
    what: str | Sequence[str], name: str, settings: Mapping[str, Any] | None = None, **changes: Unpack[Changes]
) -> RunPlan:
    """Of models that are in memory: no file is looked for. Trials, which all models of a run are put to before any is
    asked, are avoided by the probe's settings for that."""
    study, permissions = make_study(what, [name], settings, **changes)
    planned = tuple(_planned(_without_trials(entry, permissions), study, permissions) for entry in study.probes)
    for one in planned:
        if one.probe.results_setting or not one.items:
            raise BadInput(f"{one.label}: its items depend on all models of a run, and a model in memory is run alone")
    return RunPlan(study, planned, (), (), Options(), _describe(study, planned))


def _without_trials(entry: ProbeRun, permissions: Permissions) -> ProbeRun:
    usual = probes.find(entry.name, permissions.code).without_trials
    return entry.model_copy(update={"settings": {**usual, **entry.settings}})


def with_items(label: str, probe: Probe, study: Study) -> PlannedProbe:
    every = probe.items()
    if study.per_group is not None:
        drawn, weights = per_group(every, study.per_group)
        named = f"per group {study.per_group} "
        return PlannedProbe(label, probe, drawn, n_whole=len(every), decided=named, weights=weights)
    needed = 0 if study.limit is None else items_needed(probe, every)
    return PlannedProbe(label, probe, probes.spread(every, study.limit), needed, len(every))


def short_of_items(plan: RunPlan) -> list[str]:
    """A line for each probe of which a limit leaves too few items for some finding. Not for one whose items are known
    only when trials have settled them."""
    limit = plan.study.limit
    if limit is None:
        return []
    known = (one for one in plan.probes if one.items or one.probe.without_trials)
    each = [one if one.items else with_items(one.label, one.probe, plan.study) for one in known]
    return [
        f"{one.label}: --limit {limit} is too small to judge every finding: those with fewer than {FEWEST_GROUPS} "
        f"groups of items cannot be judged; all need --limit {one.items_needed} or more"
        for one in each
        if len(one.items) < one.items_needed
    ]


def _refuse_incomplete(study: Study) -> None:
    if not study.models:
        raise BadInput(
            "no model given: --model nursery, a folder, a .gguf file or a hub id; see: trueprobe list models"
        )
    labels = [probe.label for probe in study.probes]
    if len(set(labels)) < len(labels):
        raise BadInput(f"two probes are labelled '{max(labels, key=labels.count)}'; give each its own label")
    for model, alone in (study.only or {}).items():
        for label in alone:
            if label not in labels:
                raise BadInput(f"only.{model}: no probe is labelled '{label}'{nearest(label, labels)}")


def _planned(entry: ProbeRun, study: Study, permissions: Permissions) -> PlannedProbe:
    probe = probes.make(entry.name, entry.settings, permissions.code)
    return PlannedProbe(entry.label, probe, []) if probe.trials() else with_items(entry.label, probe, study)


def _with_results(entry: ProbeRun, replays: Sequence[str], permissions: Permissions) -> ProbeRun:
    """The items of a probe that reads results are those of the results to replay, unless it names others."""
    setting = probes.find(entry.name, permissions.code).results_setting
    if not setting or setting in entry.settings or not replays:
        return entry
    named = ",".join(spec.removeprefix(replay.PREFIX) for spec in replays)
    return entry.model_copy(update={"settings": {**entry.settings, setting: named}})


def _describe(study: Study, planned: tuple[PlannedProbe, ...]) -> StudyDescription:
    """Settings with their defaults filled in, models as they were named."""
    return StudyDescription(
        title=study.title,
        probes=tuple(map(_entry, planned)),
        models=study.models,
        limit=study.limit,
        per_group=study.per_group,
        axes=study.axes,
        plan=study.plan,
        dtype=study.dtype,
        intervals=study.intervals,
        verdicts_over=study.verdicts_over,
        only=study.only,
    )


def _entry(planned: PlannedProbe) -> StudyEntry:
    probe = planned.probe
    settings = probe.settings.model_dump(mode="json")
    material_id = probe.material_id
    return StudyEntry(label=planned.label, name=probe.name, settings=settings, material_id=material_id, file=probe.file)
