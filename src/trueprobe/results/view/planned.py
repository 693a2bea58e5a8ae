"""A run held against the plan it followed: what is not as planned, decided once for all renderers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from trueprobe.results.view.multiverse import curves
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.binding import BindingPlan, PlannedStudy
from trueprobe.runs.primary import listed
from trueprobe.runs.schema import StudyDescription


class Departure(StrEnum):
    EDITED = "edited"  # the plan in the folder is not the one that was hashed
    MODELS = "models"
    SEEDS = "seeds"
    PROBES = "probes"
    SETTINGS = "settings"
    ITEMS = "items"
    METHOD = "method"
    LIST = "list"
    JOINT = "joint"  # the test of other ways of counting, which the plan puts on the list


@dataclass(frozen=True)
class Deviation:
    what: Departure
    planned: str
    run: str
    where: str = ""  # a probe's label, a family, or the setting's name


@dataclass(frozen=True)
class PlanCheck:
    hash: str
    date: str
    deviations: tuple[Deviation, ...]


def check(source: ReportSource) -> PlanCheck | None:
    """None where the run followed no plan."""
    study = source.run.manifest.study
    plan = study.plan
    if plan is None or plan.study is None:
        return None
    edited = [] if plan.intact else [Deviation(Departure.EDITED, plan.hash, plan.digest)]
    parts = (_of_study(plan.study, study), _of_answers(plan, source), _of_list(plan, source), _of_joint(source))
    deviations = (*edited, *chain(*parts))
    return PlanCheck(plan.hash, plan.date, deviations)


def _of_study(planned: PlannedStudy, study: StudyDescription) -> Iterator[Deviation]:
    if planned.models != study.models:
        yield Deviation(Departure.MODELS, ", ".join(planned.models), ", ".join(study.models))
    labels = [entry.label for entry in planned.probes], [entry.label for entry in study.probes]
    if labels[0] != labels[1]:
        yield Deviation(Departure.PROBES, ", ".join(labels[0]), ", ".join(labels[1]))
    for name in ("limit", "per_group", "axes", "dtype", "intervals", "verdicts_over"):
        before, now = getattr(planned, name), getattr(study, name)
        if before != now:
            yield Deviation(Departure.METHOD, _text(before), _text(now), name)
    settings = {entry.label: entry.settings for entry in study.probes}
    for entry in planned.probes:
        for name, value in entry.settings.items():
            now = settings.get(entry.label, {}).get(name, value)
            if _text(now) != _text(value):
                yield Deviation(Departure.SETTINGS, _text(value), _text(now), f"{entry.label}, {name}")


def _of_answers(plan: BindingPlan, source: ReportSource) -> Iterator[Deviation]:
    seeds = {family.name: family.n_seeds for family in source.families}
    for family, many in plan.seeds.items():
        if family in seeds and seeds[family] != many:
            yield Deviation(Departure.SEEDS, str(many), str(seeds[family]), family)
    for label, many in plan.items.items():
        if label in source.labels and source.declaration(label).n_items != many:
            yield Deviation(Departure.ITEMS, str(many), str(source.declaration(label).n_items), label)


def _of_list(plan: BindingPlan, source: ReportSource) -> Iterator[Deviation]:
    """As the probes of this run declare it: a version with other primary numbers judges over another list."""
    now = tuple(line for label in source.labels for line in listed(label, source.declaration(label)))
    if source.labels and now != plan.list:
        yield Deviation(Departure.LIST, "; ".join(plan.list), "; ".join(now))


def _of_joint(source: ReportSource) -> Iterator[Deviation]:
    axes = source.run.manifest.study.axes
    if axes and not any(one.whole.n_list for one in curves(source.run)):
        yield Deviation(Departure.JOINT, ", ".join(axes), "")


def _text(value: object) -> str:
    """As a setting is written on the command line."""
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return "none" if value is None else str(value)
