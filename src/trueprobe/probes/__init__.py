"""Probes: one package each, found by name, or one file of the user's, found by its path.

The contract is in `base`, what a probe displays in `display`; `loading` finds probes, `files`, `templates` and
`tables` read what they are made of, `published` the papers' numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trueprobe.errors import BadInput, nearest
from trueprobe.paths import gc_pause
from trueprobe.probes.base import Probe, Released, Settings
from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Summary, Table
from trueprobe.probes.files import explain
from trueprobe.probes.limit import spread
from trueprobe.probes.loading import assessment_of, files_in, find, is_name, is_path, is_probe, names

__all__ = [
    "Figure",
    "ItemTable",
    "Probe",
    "Released",
    "ReportSpec",
    "Settings",
    "Summary",
    "Table",
    "assessment_of",
    "files_in",
    "find",
    "is_name",
    "is_path",
    "is_probe",
    "make",
    "make_again",
    "names",
    "spread",
]


@gc_pause()
def make(name: str, settings: Mapping[str, Any] | None = None, allow_code: bool = False) -> Probe:
    """A probe from raw settings; an unknown key or value is refused with the nearest right one. `allow_code`: as for
    `find`."""
    probe = find(name, allow_code)
    values = dict(settings or {})
    keys = list(probe.Settings.model_fields)
    for key in values:
        if key not in keys:
            raise BadInput(f"{name} has no setting '{key}'{nearest(key, keys)}")
    try:
        return probe(probe.Settings.model_validate(values))
    except ValidationError as error:
        raise BadInput(f"{name}, setting {explain(error, probe.Settings)}") from error


def make_again(entry: Mapping[str, Any], allow_code: bool = False) -> Probe:
    """The probe of a run, by its entry in the manifest; refused where its files have changed."""
    probe = make(entry.get("file") or entry["name"], entry["settings"], allow_code)
    if probe.material_id != entry["material_id"]:
        raise BadInput(f"the material of {entry['label']} has changed since the run; run it again")
    return probe
