"""Imports go one way, so that a person can read the files in order."""

from __future__ import annotations

import ast
from pathlib import Path

import trueprobe

ROOT = Path(trueprobe.__file__).parent
MAY_USE = {
    "types": set(),
    "places": set(),
    "assets": {"types", "places"},
    "material": {"types", "assets"},
    "measures": {"types"},
    "probes": {"types", "material", "measures"},
    "nursery": {"types", "places", "store", "measures", "assets"},
    "models": {"types", "assets", "nursery"},
    "engine": {"types", "places", "models"},
    "reliability": {"types", "measures"},
    "store": {"types"},
    "replay": {"types", "material", "probes"},
    "reproduce": {"types", "material", "probes", "replay", "study"},
    "counting": {"types", "measures", "probes", "reliability", "store"},
    "compare": {"types", "probes", "reliability", "store", "told", "counting"},
    "study": {"types", "material", "probes", "replay", "models", "engine", "store", "counting"},
    "contracts": {"types", "probes", "engine", "reliability"},
    "verbalizer": {"types", "probes", "models", "engine", "store"},
    "downstream": {"types", "store", "assets", "models", "nursery", "measures"},
    "listing": {"types", "assets", "nursery", "probes", "study"},
    "numbers": set(),
    "told": {"types"},
    "summary_tables": {"types", "store", "told", "numbers"},
    "summary_findings": {"types", "store", "told", "numbers", "summary_tables"},
    "summary": {"types", "store", "told", "summary_tables", "summary_findings"},
    "report": {"types", "store", "told", "numbers"},
    "commands": {"types"},
    "commands_training": None,  # everything, as all that makes up the command line
    "cli": None,
    "__main__": None,
    "__init__": None,
}


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "trueprobe":
            inside = (node.module or "").split(".")[1:]
            yield from [inside[0]] if inside else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("trueprobe."))


def test_imports_go_downward_only():
    wrong = []
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        allowed = MAY_USE[room]
        if allowed is not None:
            wrong += [
                (str(path.relative_to(ROOT)), used)
                for used in imports(path)
                if used not in {*allowed, room, "__version__"}
            ]
    assert wrong == []


def test_no_file_outgrows_one_reading():
    long = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert long == {}
