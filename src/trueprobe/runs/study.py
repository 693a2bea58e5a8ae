"""A study: which probes, which models, which settings; from a TOML file, or from names and flags.

How many items `--limit` must leave so that what a probe reports first can have an interval.

The smallest limit with which every mean of a claim has the groups that an interval needs; of a probe that claims
nothing, every number of its summary. Less may be scored, so a run with it can still have too few.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueprobe import probes
from trueprobe.errors import BadInput, nearest
from trueprobe.permissions import Permissions, ServerAccess
from trueprobe.probes import files as material
from trueprobe.probes.base import Probe
from trueprobe.probes.limit import in_turns
from trueprobe.runs.binding import BindingPlan, PlannedStudy
from trueprobe.runs.schema import RUN_FILES, ProbeDeclaration, StudyDescription
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import Item

STUDIES = Path(__file__).parent.parent / "studies"


class ProbeRun(BaseModel):
    """A probe with its settings; `label` distinguishes two runs of one probe. By default it is the probe's name, which
    of a file is known only when its code has run: see `make_study`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    label: str = Field(default="", max_length=100, pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$")
    settings: dict[str, Any] = {}

    def model_post_init(self, context: Any) -> None:
        if not self.label and probes.is_name(self.name):
            object.__setattr__(self, "label", self.name)


class Study(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str = ""
    probes: tuple[ProbeRun, ...] = Field(min_length=1)
    models: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    per_group: int | None = Field(default=None, ge=1, description="so many items of every group and condition")
    axes: tuple[str, ...] = Field(
        default=(),
        description="of other ways of counting, or all: the joint test of `trueprobe multiverse` along these axes is "
        "on the list that verdicts are controlled over",
    )
    plan: BindingPlan | None = Field(default=None, description="written by `trueprobe plan --out`, with a hash")
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int | None = Field(default=None, ge=1)
    intervals: Literal["crossed", "multibootstrap"] = Field(
        default="crossed", description="over seeds and items: crossed variances with a t quantile, or Sellam et al.'s"
    )
    verdicts_over: Literal["run", "model"] = Field(
        default="run",
        description="false discovery rate over the whole run, or for each model by itself",
    )
    only: dict[str, tuple[str, ...]] | None = Field(
        default=None, description="by model: labels of the probes that only it is run on"
    )


def shipped() -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def read_study(named: str) -> Study:
    """A TOML file, or a shipped study by its name, as it stands: nothing that it names is loaded."""
    path = STUDIES / f"{named}.toml" if named in shipped() else Path(named).expanduser()
    if not path.is_file():
        names = [*probes.names(), *shipped()]
        raise BadInput(f"no probe or study named '{named}'{nearest(named, names)}")
    data = material.toml_of(path)
    for key in data:
        if key.startswith("allow_"):
            option = f"--{key.replace('_', '-')}"
            raise BadInput(f"{path} sets {key}, but no file sets a permission; remove the line and use {option}")
    study = material.validated(data, Study, path)
    if study.plan is None:
        return study
    plan = study.plan.model_copy(update={"study": planned_study(study)})
    plan.refuse_edited(str(path))
    return study.model_copy(update={"plan": plan})


def planned_study(study: Study, here: bool = False) -> PlannedStudy:
    """What of a study its plan binds, without the folders of this machine unless `here`."""
    fields = study.model_dump(include=set(PlannedStudy.model_fields))
    return PlannedStudy.model_validate(fields if here else {name: _portable(value) for name, value in fields.items()})


class Changes(TypedDict, total=False):
    """What else than probes and models a run may change of a study; None changes nothing. The last three are no part of
    it: what the caller permits (`trueprobe.permissions`)."""

    limit: int | None
    per_group: int | None
    device: str | None
    dtype: str | None
    batch_tokens: int | None
    allow_code: bool
    allow_pickle: bool
    allow_servers: bool


def make_study(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    **changes: Unpack[Changes],
) -> tuple[Study, Permissions]:
    """Probes by names, files or folders, or a study by its file or shipped name, with what is changed about it; and
    what is permitted of the code, the weights and the servers that it names."""
    allow_code, allow_pickle = changes.pop("allow_code", False), changes.pop("allow_pickle", False)
    allow_servers = changes.pop("allow_servers", False)
    named = [] if isinstance(what, Study) else _with_folders([what] if isinstance(what, str) else what)
    wrong = [name for name in named if not probes.is_probe(name)]
    if len(named) > 1 and wrong:
        raise BadInput(f"no probe named '{wrong[0]}'{nearest(wrong[0], probes.names())}")
    entries = [{"name": name, "settings": _settings_of(name, named, settings or {})} for name in named]
    data: dict[str, Any] = {"probes": entries}
    if wrong or isinstance(what, Study):
        if settings:
            raise BadInput("--set belongs to a probe; a study has its settings in its file")
        data = (what if isinstance(what, Study) else read_study(wrong[0])).model_dump()
    if changes.get("per_group") is not None:
        data["limit"] = None
    if changes.get("limit") is not None:
        data["per_group"] = None
    if models:
        data["models"] = [models] if isinstance(models, str) else list(models)
        data |= _of_these(data)
    if changes.get("limit") is not None and changes.get("per_group") is not None:
        raise BadInput("--limit and --per-group are two ways to choose items; give one")
    data |= {key: value for key, value in changes.items() if value is not None}
    try:
        study = Study.model_validate(data)
    except ValidationError as error:
        raise BadInput(material.explain(error, Study)) from error
    typed = bool(named) and not wrong  # else a file, or whoever made the study, names what the caller did not
    servers = ServerAccess.for_study(typed or bool(models), allow_servers)
    permissions = Permissions(typed or allow_code, allow_pickle, servers)
    labelled = (_labelled(entry, permissions) for entry in study.probes)
    return study.model_copy(update={"probes": tuple(labelled)}), permissions


def _of_these(study: Mapping[str, Any]) -> dict[str, Any]:
    """Without the probes that only models are asked which the caller left out."""
    every = study.get("only") or {}
    here = {model: labels for model, labels in every.items() if model in study["models"]}
    left_out = {label for labels in every.values() for label in labels}
    left_out -= {label for labels in here.values() for label in labels}
    return {"only": here or None, "probes": [entry for entry in study["probes"] if entry.get("label") not in left_out]}


def _labelled(entry: ProbeRun, permissions: Permissions) -> ProbeRun:
    return entry if entry.label else entry.model_copy(update={"label": probes.find(entry.name, permissions.code).name})


def _with_folders(named: Sequence[str]) -> list[str]:
    """Each folder as the files of probes in it; the name of a probe or a study is none."""
    names = {*probes.names(), *shipped()}
    folders = {
        name: material.path_of(name)
        for name in named
        if name not in names and not probes.is_path(name) and material.path_of(name).is_dir()
    }
    for name, path in folders.items():
        # whoever means to repeat a stranger's run must not run the code that lies in it; a broken link is a file, too
        if any(os.path.lexists(path / file) for file in RUN_FILES):
            raise BadInput(f"{name} is a run folder; to repeat the run: trueprobe run --from {name}")
    return [one for name in named for one in (probes.files_in(name) if name in folders else [name])]


def _settings_of(name: str, named: Sequence[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of several probes each takes the settings it has; one that none of them has stays, and is refused later."""
    typed = {other: probes.find(other, allow_code=True) for other in named if probes.is_probe(other)}
    fields = {other: probe.Settings.model_fields for other, probe in typed.items()}
    taken = {key for key in settings if any(key in names for names in fields.values())}
    return {key: value for key, value in settings.items() if key in fields.get(name, {}) or key not in taken}


# ---------------------------------------------------------------- without the machine that runs it


# at the start, or behind `family=`, `replay:`, a comma or an option; a comma within braces does not end it
_PATH = re.compile(r"(?:(?<![^=,&?])|(?<=^replay:))(?:/|~\w*/)(?:\{[^}]*\}|[^,&?])*")


def portable(study: StudyDescription) -> StudyDescription:
    """The study without the folders of the machine it ran on: of a path, its last part."""
    probes = tuple(
        entry.model_copy(update={"settings": _portable(entry.settings), "file": _portable(entry.file)})
        for entry in study.probes
    )
    return study.model_copy(update={"probes": probes, "models": tuple(map(_portable, study.models))})


def portable_declaration(declaration: ProbeDeclaration) -> ProbeDeclaration:
    settings, facts = _portable(declaration.settings), _portable(declaration.facts)
    return declaration.model_copy(update={"settings": settings, "facts": facts})


def _portable(value: Any) -> Any:
    """`fam=/home/me/a,/home/me/b` -> `fam=a,b`; names, hub ids and relative paths stay."""
    if isinstance(value, dict):
        return {key: _portable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_portable(part) for part in value)
    return _PATH.sub(lambda match: Path(match[0]).name, value) if isinstance(value, str) else value


# ---------------------------------------------------------------- how many items a limit must leave


Conditions = dict[str, tuple[str, ...]]  # condition = one of these values


def items_needed(probe: Probe, items: Sequence[Item]) -> int:
    """Of all its `items`; parts that never have enough groups are left out."""
    members: dict[tuple[str | int, ...], list[_Groups]] = {}  # by the values of the conditions: few, of many items
    parts, needed = [_Groups(part) for part in _parts(probe)], 0
    for taken, item in enumerate((items[i] for i in in_turns(items)), 1):
        place = tuple(item.conditions.values())
        if place not in members:
            members[place] = [part for part in parts if part.holds(item)]
        for part in members[place]:
            if not part.enough and part.add(item).enough:
                needed = taken
    return needed


@dataclass(frozen=True)
class _Groups:
    """The items of a part, taken one after the other: by each crossed factor the groups so far."""

    where: Conditions
    names: dict[int, set[str]] = field(default_factory=dict)

    def holds(self, item: Item) -> bool:
        """By the conditions that the item has; conditions of answers count for all."""
        return all(str(item.conditions[key]) in values for key, values in self.where.items() if key in item.conditions)

    def add(self, item: Item) -> _Groups:
        for factor, name in enumerate(item.groups):
            if name:
                self.names.setdefault(factor, set()).add(name)
        return self

    @property
    def enough(self) -> bool:
        """Independent units: of the crossed factors that apply, the one with fewest groups."""
        return bool(self.names) and min(map(len, self.names.values())) >= FEWEST_GROUPS


def _parts(probe: Probe) -> list[Conditions]:
    """The conditions of each mean that is compared or displayed first, each once."""
    of_claims = [part for claim in probe.claims() for part in claim.parts]
    of_summary = (measure.where for measure in probe.measures() if measure.name in probe.summary.measures)
    every = ({key: _several(value) for key, value in part.items()} for part in of_claims or of_summary)
    return [dict(part) for part in dict.fromkeys(tuple(sorted(part.items())) for part in every)]


def _several(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple | list) else (str(value),)
