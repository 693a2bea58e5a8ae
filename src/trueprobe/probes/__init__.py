"""Probes: one package each (or one file of the user's), found by name.

The contract is in `base`; `files` reads word lists and templates, `datasets` other people's data, `published` the
papers' numbers.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.base import Probe, Released, Settings, spread
from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Summary, Table
from trueprobe.probes.files import explain

__all__ = [
    "Figure",
    "ItemTable",
    "Probe",
    "Released",
    "ReportSpec",
    "Settings",
    "Summary",
    "Table",
    "find",
    "make",
    "make_again",
    "names",
    "spread",
]


@cache
def _modules() -> dict[str, str]:
    """Probe name -> module, as each package declares in `PROBES`."""
    packages = sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py"))
    modules: dict[str, str] = {}
    for package in packages:
        declared = importlib.import_module(f"trueprobe.probes.{package}").PROBES
        modules |= {name: f"trueprobe.probes.{package}.{module}" for name, module in declared.items()}
    return modules


def names() -> list[str]:
    return sorted(_modules())


def find(name: str) -> type[Probe]:
    if name not in names():
        raise BadInput(f"no probe named '{name}'{nearest(name, names())}")
    return importlib.import_module(_modules()[name]).PROBE


def make(name: str, settings: Mapping[str, Any] | None = None) -> Probe:
    """A probe from raw settings; an unknown key or value is told with the nearest right one."""
    probe = find(name)
    given = dict(settings or {})
    known = list(probe.Settings.model_fields)
    for key in given:
        if key not in known:
            raise BadInput(f"{name} has no setting '{key}'{nearest(key, known)}")
    try:
        return probe(probe.Settings.model_validate(given))
    except ValidationError as error:
        raise BadInput(f"{name}, setting {explain(error, probe.Settings)}") from error


def make_again(entry: Mapping[str, Any]) -> Probe:
    """The probe of a run, by its entry in the manifest; refused where its files say something else by now."""
    probe = make(entry["name"], entry["settings"])
    if probe.material_id != entry["material_id"]:
        raise BadInput(f"the material of {entry['label']} has changed since the run; run it again")
    return probe
