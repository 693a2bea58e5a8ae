"""Kill -9 at any moment and run again: the folder equals that of an undisturbed run, byte for byte."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def command(folder: Path, model: Path, out: str) -> list[str]:
    options = ["--limit", "600", "--batch-tokens", "64", "--out", str(folder / out)]
    return [sys.executable, "-m", "trueprobe", "run", "counteracts", "--model", str(model), *options]


def run(folder: Path, model: Path, out: str, store: str) -> None:
    subprocess.run([*command(folder, model, out), "--store", str(folder / store)], check=True, capture_output=True)


def kept(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.Error:
        return 0


def kill_when(condition, folder: Path, model: Path) -> None:
    process = subprocess.Popen(
        [*command(folder, model, "killed"), "--store", str(folder / "killed.sqlite")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, "the run ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_killed_run_resumes_to_the_same_bytes(name, checkpoint, tmp_path):
    model = checkpoint(name)
    run(tmp_path, model, "undisturbed", "undisturbed.sqlite")
    store = tmp_path / "killed.sqlite"
    kill_when(lambda: (tmp_path / "killed" / "manifest.json").exists(), tmp_path, model)
    kill_when(lambda: kept(store) > 3, tmp_path, model)
    before = kept(store)
    kill_when(lambda: kept(store) > before + 150, tmp_path, model)
    run(tmp_path, model, "killed", "killed.sqlite")
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


def test_a_run_killed_while_it_writes_its_tables_resumes_to_the_same_bytes(checkpoint, tmp_path):
    model = checkpoint("bert")
    run(tmp_path, model, "undisturbed", "killed.sqlite")
    folder = tmp_path / "killed"
    kill_when(lambda: any((folder / "observations").rglob("*")), tmp_path, model)
    assert not (folder / "estimates.csv").exists() or not (folder / "timing.json").exists()
    run(tmp_path, model, "killed", "killed.sqlite")
    assert contents(folder) == contents(tmp_path / "undisturbed")


def test_a_second_run_of_the_same_questions_gives_the_same_bytes(checkpoint, tmp_path):
    run(tmp_path, checkpoint("gpt2"), "first", "one.sqlite")
    run(tmp_path, checkpoint("gpt2"), "second", "one.sqlite")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
