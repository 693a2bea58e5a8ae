"""`trueprobe new probe`: what it writes is a probe that holds the contract, with tests that pass."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import trueprobe
from trueprobe.cli import app
from trueprobe.errors import BadInput


def run(*command: object):
    return CliRunner().invoke(app, [str(part) for part in command])


@pytest.fixture
def written(tmp_path):
    result = run("new", "probe", "things_i_know", "--out", tmp_path / "mine")
    assert result.exit_code == 0, result.output
    assert "then: trueprobe check probe" in result.output
    return tmp_path / "mine" / "things_i_know.py"


def test_the_skeleton_holds_the_contract(written):
    result = run("check", "probe", written)
    assert result.exit_code == 0, result.output
    assert "FAIL" not in result.output


@pytest.mark.slow
def test_its_tests_pass(written):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(written.with_name("test_things_i_know.py")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=written.parent)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


def test_it_runs_and_its_folder_is_one_probe(written, checkpoint, tmp_path):
    """The skeleton's words are several pieces of a small vocabulary: counted, with the reason."""
    done = trueprobe.run(str(written.parent), models=[str(checkpoint("bert"))], out=tmp_path / "run", store=":memory:")
    assert done.probes == ["things_i_know"]
    assert len(done.observations("things_i_know")) == 6


def test_it_is_named_and_explained(written):
    text = written.read_text()
    assert "class ThingsIKnow(Probe):" in text
    assert not re.search(r"\$\w", text)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", ["Colours", "1st", "my-probe", "../x", "seat", "test_x", ""])
def test_a_name_that_cannot_be_is_refused(name, tmp_path):
    result = run("new", "probe", name, "--out", tmp_path)
    assert isinstance(result.exception, BadInput)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(written):
    written.write_text("mine")
    result = run("new", "probe", "things_i_know", "--out", written.parent)
    assert isinstance(result.exception, BadInput)
    assert written.read_text() == "mine"
