"""A study: which probes, which models, which settings; from a TOML file, or from names and flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueprobe import probes
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files as material

STUDIES = Path(__file__).parent.parent / "studies"


class ProbeRun(BaseModel):
    """A probe with its settings; `label` distinguishes two runs of one probe."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    label: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$")
    settings: dict[str, Any] = {}

    def model_post_init(self, context: Any) -> None:
        if not self.label:
            object.__setattr__(self, "label", probes.label_of(self.name))


class Study(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str = ""
    probes: tuple[ProbeRun, ...] = Field(min_length=1)
    models: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int | None = Field(default=None, ge=1)
    allow_pickle: bool = False
    intervals: Literal["crossed", "multibootstrap"] = Field(
        default="crossed", description="over seeds and items: crossed variances with a t quantile, or Sellam et al.'s"
    )


def shipped() -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def read_study(named: str, allow_code: bool = False, allow_pickle: bool = False) -> Study:
    """A TOML file, or a shipped study by its name. Code at a path that the file names, and pickles that it asks for,
    are run only where the user allows it too, and nothing of them is loaded before."""
    path = STUDIES / f"{named}.toml" if named in shipped() else Path(named).expanduser()
    if not path.is_file():
        known = [*probes.names(), *shipped()]
        raise BadInput(f"no probe or study named '{named}'{nearest(named, known)}")
    data = material.toml_of(path)
    code = _code_of(data)
    if code and not allow_code:
        raise BadInput(f"{path} names the probe {code[0]}, whose code would be run; if you trust it: --allow-code")
    study = material.validated(data, Study, path)
    if study.allow_pickle and not allow_pickle:
        raise BadInput(f"{path} asks for pickled weights, which can run code; if you trust its models: --allow-pickle")
    return study


def _code_of(data: Mapping[str, Any]) -> list[str]:
    """The paths of probes that a study names, whatever else is wrong with it."""
    entries = data.get("probes")
    named = [entry.get("name") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in named if isinstance(name, str) and probes.is_path(name)]


class Changes(TypedDict, total=False):
    """What else than probes and models a run may change of a study; None changes nothing."""

    limit: int | None
    device: str | None
    dtype: str | None
    batch_tokens: int | None
    allow_pickle: bool | None
    allow_code: bool  # no part of the study: whether its file may name probes by their paths


def make_study(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    **changes: Unpack[Changes],
) -> Study:
    """Probes by names, files or folders, or a study by its file or shipped name, with what is changed about it."""
    allow_code, allow_pickle = bool(changes.pop("allow_code", False)), bool(changes.get("allow_pickle"))
    named = [] if isinstance(what, Study) else _with_folders([what] if isinstance(what, str) else what)
    wrong = [name for name in named if not probes.is_probe(name)]
    if len(named) > 1 and wrong:
        raise BadInput(f"no probe named '{wrong[0]}'{nearest(wrong[0], probes.names())}")
    entries = [{"name": name, "settings": _settings_of(name, named, settings or {})} for name in named]
    data: dict[str, Any] = {"probes": entries}
    if wrong or isinstance(what, Study):
        if settings:
            raise BadInput("--set belongs to a probe; a study has its settings in its file")
        data = (what if isinstance(what, Study) else read_study(wrong[0], allow_code, allow_pickle)).model_dump()
    if models:
        data["models"] = [models] if isinstance(models, str) else list(models)
    data |= {key: value for key, value in changes.items() if value is not None}
    try:
        return Study.model_validate(data)
    except ValidationError as error:
        raise BadInput(material.explain(error, Study)) from error


def _with_folders(named: Sequence[str]) -> list[str]:
    """Each folder as the files of probes in it; the name of a probe or a study is none."""
    names = {*probes.names(), *shipped()}
    folders = {
        name for name in named if name not in names and not probes.is_path(name) and material.path_of(name).is_dir()
    }
    return [one for name in named for one in (probes.files_in(name) if name in folders else [name])]


def _settings_of(name: str, named: Sequence[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of several probes each takes the settings it has; one that none of them has stays, and is refused later."""
    fields = {other: probes.find(other).Settings.model_fields for other in named if probes.is_probe(other)}
    taken = {key for key in settings if any(key in known for known in fields.values())}
    return {key: value for key, value in settings.items() if key in fields.get(name, {}) or key not in taken}
