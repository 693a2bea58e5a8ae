"""What a release needs: one version everywhere, lower bounds that are tried, a citation that is complete."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import trueprobe
from trueprobe.results.view.methods import bibliography

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def bounds() -> dict[str, str]:
    """`torch>=2.13` -> {"torch": "2.13"}."""
    return dict(re.split(r"[><=,]+", line)[:2] for line in PROJECT["dependencies"])


def as_numbers(version: str) -> list[int]:
    """Without zeros at the end: 3.1.0 is 3.1."""
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("post")[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def test_the_lowest_versions_are_those_that_the_metadata_allow():
    lowest = pins("constraints-lowest.txt")
    assert {name: as_numbers(low) for name, low in bounds().items()} == {n: as_numbers(v) for n, v in lowest.items()}


def test_every_dependency_is_pinned_at_or_above_its_bound():
    pinned = pins("constraints.txt")
    assert {name: as_numbers(pinned[name]) >= as_numbers(low) for name, low in bounds().items()} == dict.fromkeys(
        bounds(), True
    )


def test_the_citation_is_of_this_version_with_its_licences_and_the_four_papers():
    assert CITATION["version"] == trueprobe.__version__
    assert CITATION["license"] == PROJECT["license"].split(" AND ")
    assert len(CITATION["references"]) == 4
    known = bibliography()
    for paper in CITATION["references"]:
        entry = known[paper["title"]]
        assert str(paper["year"]) in entry
        assert all(f"{a['family-names']}, {a['given-names']}" in entry for a in paper["authors"])


def test_the_workflow_runs_what_the_makefile_has_on_every_interpreter_that_is_allowed():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = {step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step}
    assert commands == {"make fast", "make test", "make lowest", "make wheel"}
    assert all(re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE) for command in commands)
    first = PROJECT["requires-python"].removeprefix(">=")
    assert WORKFLOW["jobs"]["fast"]["strategy"]["matrix"]["python"][0] == first
