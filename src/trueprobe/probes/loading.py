"""Finds probes: shipped packages by their name, a user's probe by the path of its .py file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.files import ROOT, path_of

_TEXTS = ("name", "question", "does_not_show", "paper")


@cache
def _modules() -> dict[str, str]:
    """Probe name -> module, as each package declares in `PROBES`."""
    modules: dict[str, str] = {}
    for package in sorted(path.parent.name for path in ROOT.glob("*/__init__.py")):
        declared = importlib.import_module(f"trueprobe.probes.{package}").PROBES
        modules |= {name: f"trueprobe.probes.{package}.{module}" for name, module in declared.items()}
    return modules


def names() -> list[str]:
    return sorted(_modules())


def is_probe(name: str) -> bool:
    """A shipped probe's name, or the path of a Python file; whether that holds a probe is known when it is loaded."""
    return name in names() or name.endswith(".py")


def find(name: str) -> type[Probe]:
    """The class of a shipped probe, or of the probe in a .py file."""
    if name.endswith(".py"):
        return _from_file(name)
    if name not in names():
        raise BadInput(f"no probe named '{name}'{nearest(name, names())}")
    probe: type[Probe] = importlib.import_module(_modules()[name]).PROBE
    return probe


def label_of(name: str) -> str:
    """What a run calls a probe that has no label: its name, also where it was named by its file."""
    return find(name).name if name.endswith(".py") else name


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

    def material_id(self: Any) -> str:
        """An edited file is another run, whatever the class counts as its material."""
        return hashlib.sha256((digest + super(loaded, self).material_id).encode()).hexdigest()

    loaded: Any = type(probe.__name__, (probe,), {"file": name, "material_id": property(material_id)})
    return cast(type[Probe], loaded)


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
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", probe.name):
        return f"the name '{probe.name}' becomes a file name: letters, digits, _ . and - only"
    return f"the name '{probe.name}' is a shipped probe's" if probe.name in names() else ""
