"""Finds probes: shipped packages and installed ones by their name, a user's probe by the path of its .py file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from trueprobe.errors import BadInput, nearest
from trueprobe.plugins import PROBES, installed, load, version
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.display import Assessment
from trueprobe.probes.files import ROOT, path_of, toml_of

_TEXTS = ("name", "question", "does_not_show", "paper")
_SUFFIX = ".py"


@cache
def _modules() -> dict[str, str]:
    """Probe name -> module, as each package declares in `PROBES`."""
    modules: dict[str, str] = {}
    for package in sorted(path.parent.name for path in ROOT.glob("*/__init__.py")):
        declared = importlib.import_module(f"trueprobe.probes.{package}").PROBES
        modules |= {name: f"trueprobe.probes.{package}.{module}" for name, module in declared.items()}
    return modules


def is_name(text: str) -> bool:
    """What a probe may be called; never a path."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", text) is not None and not text.endswith(_SUFFIX)


def names() -> list[str]:
    """Of the shipped probes, and of those that other distributions bring."""
    return sorted({*_modules(), *installed(PROBES)})


def is_path(name: str) -> bool:
    """The path of a Python file, whose code is run when it is loaded; everything else is a registered name."""
    return name.endswith(_SUFFIX)


def is_probe(name: str) -> bool:
    """A probe's name, or the path of a Python file; whether that holds a probe shows when it is loaded."""
    return is_path(name) or name in names()


def find(name: str, allow_code: bool = False) -> type[Probe]:
    """The class of a shipped or installed probe, or of the probe in a .py file.

    Every probe is found here, whoever names it: a command, a study or a run folder. `allow_code`: the user named the
    path in this command, or allows the code of whoever did."""
    if name in _modules():
        shipped: type[Probe] = importlib.import_module(_modules()[name]).PROBE
        return shipped
    if name in installed(PROBES):
        return _from_distribution(installed(PROBES)[name])
    if not is_path(name):
        raise BadInput(f"no probe named '{name}'{nearest(name, names())}")
    if not allow_code:
        raise BadInput(f"the probe {name} is a file, whose code would be run; if you trust it: --allow-code")
    return _from_file(name)


def assessment_of(name: str) -> Assessment | None:
    """What the makers of a shipped probe think of it (assessment.toml of its package); other probes have none."""
    return _assessments().get(name)


@cache
def _assessments() -> dict[str, Assessment]:
    tables = (toml_of(path) for path in sorted(ROOT.glob("*/assessment.toml")))
    return {name: Assessment(**texts) for table in tables for name, texts in table.items()}


def files_in(folder: str) -> list[str]:
    """The files of a folder that hold a probe each: not tests, nor what begins with an underscore or a dot."""
    paths = sorted(path for path in path_of(folder).glob("*.py") if not path.name.startswith(("_", ".", "test_")))
    files = [str(path) for path in paths if path.name != "conftest.py"]
    if not files:
        raise BadInput(f"no probe in the folder '{folder}': none of its files is named NAME.py")
    return files


# ---------------------------------------------------------------- an installed distribution


def _from_distribution(point: EntryPoint) -> type[Probe]:
    probe = load(point)
    problem = _problem(probe)
    if not problem and probe.name != point.name:
        problem = f"the entry point is called '{point.name}', the probe '{probe.name}'"
    if problem:
        raise BadInput(f"{version(point)}, {point.value}: {problem}")
    return _identified(probe, version(point), "")


@cache
def _identified(probe: Any, code: str, file: str) -> type[Probe]:
    """Other code is another run, whatever the class counts as its material."""

    def material_id(self: Any) -> str:
        return hashlib.sha256((code + super(loaded, self).material_id).encode()).hexdigest()

    loaded: Any = type(probe.__name__, (probe,), {"file": file, "material_id": property(material_id)})
    return cast(type[Probe], loaded)


# ---------------------------------------------------------------- a user's file


def _from_file(name: str) -> type[Probe]:
    path = path_of(name)
    try:
        source = path.read_bytes()
    except OSError as error:
        raise BadInput(f"no probe '{name}': {error.strerror or error}") from error
    return _loaded(name, path.resolve(), source)


@cache
def _loaded(name: str, path: Path, source: bytes) -> type[Probe]:
    digest = hashlib.sha256(source).hexdigest()
    probe: Any = getattr(_imported(f"trueprobe_probe_{digest[:16]}", path, source), "PROBE", None)
    problem = _problem(probe)
    if problem:
        raise BadInput(f"{name}: {problem}")
    return _identified(probe, digest, name)


def _imported(module_name: str, path: Path, source: bytes) -> ModuleType:
    """From the bytes that were hashed: Python's own cache takes an edit within one second for none."""
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # pydantic and dataclasses look annotations up there
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise BadInput(f"{path}{_line(error, path)}: cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _line(error: BaseException, path: Path) -> str:
    """Where in the file an import failed."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines else ""


def _problem(probe: Any) -> str:
    """Why this is no probe that can be run, or ""."""
    if probe is None:
        return "no PROBE in it; the last line of a probe's file is: PROBE = ClassName"
    if not (inspect.isclass(probe) and issubclass(probe, Probe)):
        return f"PROBE is {probe!r}, not a subclass of trueprobe.probes.Probe"
    missing = sorted(probe.__abstractmethods__) + [key for key in (*_TEXTS, "factors") if not getattr(probe, key, None)]
    if missing:
        return f"{probe.__name__} lacks {', '.join(missing)}"
    if not (inspect.isclass(probe.Settings) and issubclass(probe.Settings, Settings)):
        return f"{probe.__name__}.Settings is not a subclass of trueprobe.probes.Settings"
    if not is_name(probe.name):
        return f"the name '{probe.name}' becomes a file name: letters, digits, _ . and - only, and no .py at its end"
    return f"the name '{probe.name}' is a shipped probe's" if probe.name in _modules() else ""
