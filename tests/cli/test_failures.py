"""The last net of `main`: what nobody foresaw, output that cannot be written, a terminal without Unicode."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trueprobe.cli
from trueprobe.cli import main
from trueprobe.errors import BadInput, FailedRun


@pytest.fixture
def ends(monkeypatch, capsys):
    """ends(error, *arguments) is the exit code and what was printed as an error."""

    def run(error: BaseException, *arguments: str) -> tuple[object, str]:
        def throws() -> None:
            raise error

        monkeypatch.setattr(trueprobe.cli, "app", throws)
        monkeypatch.setattr(trueprobe.cli, "stop_on_signals", lambda: None)
        monkeypatch.setattr(sys, "argv", ["trueprobe", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err

    return run


def test_what_nobody_foresaw_is_a_short_message_with_how_to_report_it(ends):
    code, text = ends(KeyError("x"), "list", "probes")
    assert code == 70
    assert text.startswith("trueprobe: unexpected error, KeyError: no 'x'")
    assert "--debug" in text
    assert "report" in text
    assert "Traceback" not in text


@pytest.mark.parametrize("where", [("--debug", "list"), ("list", "--debug")])
def test_the_traceback_is_there_with_debug(ends, where):
    code, text = ends(KeyError("x"), *where)
    assert (code, "Traceback" in text) == (70, True)
    assert sys.argv == ["trueprobe", "list"]  # typer does not see it
    assert "Traceback" in ends(BadInput("mine"), *where)[1]


def test_what_is_done_is_reported_on_request_only(checkpoint, tmp_path):
    """On stderr, so that what is printed stays what it is."""
    (tmp_path / "text.txt").write_text("The nurse.\n")
    asked = ["score", tmp_path / "text.txt", "--model", checkpoint("gpt2"), "--store", tmp_path / "store"]
    asked += ["--out", tmp_path / "out.csv"]
    printed = set()
    for before, behind in (((), ()), (("--verbose",), ()), ((), ("--verbose",))):
        command = [sys.executable, "-m", "trueprobe", *before, *map(str, asked), *behind]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        printed.add(done.stdout)
        cached = f"trueprobe: answers are cached in {tmp_path / 'store'}" in done.stderr.splitlines()
        assert cached == bool(before or behind)
    assert len(printed) == 1
    assert "gpt2: 1 rows, of which 1 are cached; 0 batches to compute" in done.stderr
    (tmp_path / "store").unlink()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"opened {checkpoint('gpt2').resolve()} on cpu, float32" in done.stderr


def test_a_message_commands_no_terminal(ends):
    _, text = ends(BadInput("no model '\x1b[2J\x9b31m'\n  on its own line"))
    assert text == "trueprobe: no model '\\x1b[2J\\x9b31m'\n  on its own line\n"


def test_behind_two_dashes_it_is_an_argument(ends):
    assert "Traceback" not in ends(KeyError("x"), "list", "--", "--debug")[1]


@pytest.mark.parametrize(("error", "code"), [(BadInput("x" * 1000), 2), (FailedRun("x" * 1000), 1), (MemoryError(), 1)])
def test_messages_are_short(ends, error, code):
    ended, text = ends(error)
    assert ended == code
    assert len(text) < 420


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "trueprobe", *arguments]


def test_output_that_cannot_be_written_is_reported():
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command("list", "probes"), stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "trueprobe: cannot write the output: No space left on device\n")


def test_in_ascii_json_stays_json():
    printed = {}
    for encoding in ("ascii", "utf-8"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        ended = subprocess.run(command("list", "probes", "--json"), env=environment, capture_output=True, check=True)
        printed[encoding] = ended.stdout.decode(encoding)
    assert json.loads(printed["ascii"]) == json.loads(printed["utf-8"])
    assert printed["ascii"] != printed["utf-8"]


@pytest.mark.parametrize("columns", ["52", "72"])
def test_columns_is_respected(columns, tmp_path):
    environment = {**os.environ, "COLUMNS": columns}
    for asked in (
        "list probes",
        "list probes seat",
        "list models",
        "list assets",
        "--help",
    ):
        printed = subprocess.run(command(*asked.split()), env=environment, capture_output=True, text=True, check=True)
        assert max(map(len, printed.stdout.splitlines())) <= int(columns), asked


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"XDG_CACHE_HOME": __file__}, "cannot write .*Not a directory"),
        ({"XDG_CACHE_HOME": "/proc/none"}, "cannot write /proc/none"),
    ],
)
def test_a_cache_folder_that_is_none_is_named(environment, message, tmp_path):
    asked = command("run", "counteracts", "--model", "mini", "--limit", "2", "--out", str(tmp_path / "run"))
    ended = subprocess.run(asked, env={**os.environ, **environment}, capture_output=True, text=True)
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert re.search(message, ended.stderr), ended.stderr


def test_listing_needs_no_cache_folder():
    ended = subprocess.run(
        command("list", "assets"), env={**os.environ, "XDG_CACHE_HOME": str(Path(__file__))}, capture_output=True
    )
    assert ended.returncode == 0
