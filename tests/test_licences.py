"""Every shipped file that is no code has one licence, its text ships too, and the wheel's metadata name them all."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import trueprobe
from trueprobe.training import nursery

PACKAGE = Path(trueprobe.__file__).parent
ROOT = PACKAGE.parents[1]
ENTRIES = tomllib.loads((PACKAGE / "licences.toml").read_text(encoding="utf-8"))["files"]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEXTS = {"MIT": "LICENSE", "CC-BY-SA-3.0": "LICENSES/CC-BY-SA-3.0.txt", "Apache-2.0": "LICENSES/Apache-2.0.txt"}
BEGINNINGS = {"MIT": "MIT License", "CC-BY-SA-3.0": "Attribution-ShareAlike 3.0", "Apache-2.0": "Apache License"}


def parts(expression: str) -> set[str]:
    return set(expression.split(" AND "))


def shipped() -> list[str]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    return sorted(path.relative_to(PACKAGE).as_posix() for path in files)


def entries_of(name: str) -> list[dict]:
    return [entry for entry in ENTRIES if any(fnmatch(name, pattern) for pattern in entry["paths"])]


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_file_has_one_licence(name):
    assert len(entries_of(name)) == 1


@pytest.mark.parametrize("pattern", [pattern for entry in ENTRIES for pattern in entry["paths"]])
def test_every_entry_is_about_a_file(pattern):
    assert any(fnmatch(name, pattern) for name in shipped())


def test_the_metadata_name_every_licence_and_its_text_ships():
    project = METADATA["project"]
    used = set.union(*(parts(entry["licence"]) for entry in ENTRIES))
    assert parts(project["license"]) == used == set(TEXTS)
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for name, file in TEXTS.items():
        assert any(fnmatch(file, pattern) for pattern in project["license-files"])
        assert BEGINNINGS[name] in (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(name)} \({re.escape(file)}\)$", notice, re.MULTILINE)
    assert "NOTICE" in project["license-files"]
    assert f"Licence of the whole: {project['license']}." in notice


def test_weights_name_their_licence_beside_them():
    beside = (PACKAGE / "training" / "nursery" / "weights" / "LICENCE.md").read_text(encoding="utf-8")
    for model in nursery.catalogue():
        (entry,) = entries_of(f"training/nursery/weights/{model['model']}/x")
        assert parts(entry["licence"]) == set(model["licence"].replace("CC BY-SA 3.0", "CC-BY-SA-3.0").split(" and "))
        assert f"`{model['model']}`" in beside
