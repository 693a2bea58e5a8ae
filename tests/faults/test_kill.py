"""Kill -9 at any moment and run again: the folder equals that of an undisturbed run, byte for byte."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def command(folder: Path, models: tuple[Path, ...], out: str) -> list[str]:
    options = ["--limit", "600", "--batch-tokens", "64", "--out", str(folder / out)]
    named = [part for model in models for part in ("--model", str(model))]
    return [sys.executable, "-m", "trueprobe", "run", "counteracts", *named, *options]


def run(folder: Path, out: str, store: str, *models: Path) -> None:
    subprocess.run([*command(folder, models, out), "--store", str(folder / store)], check=True, capture_output=True)


def cached(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.Error:
        return 0


def kill_when(condition, folder: Path, *models: Path) -> None:
    process = subprocess.Popen(
        [*command(folder, models, "killed"), "--store", str(folder / "killed.sqlite")],
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


def test_a_killed_run_resumes_to_the_same_bytes(checkpoint, tmp_path):
    """Killed when its folder is begun, in its first answers, and within the second model."""
    models = checkpoint("bert"), checkpoint("gpt2")
    run(tmp_path, "undisturbed", "undisturbed.sqlite", *models)
    store, first = tmp_path / "killed.sqlite", tmp_path / "killed" / "observations" / "counteracts" / "bert.parquet"
    kill_when(lambda: (tmp_path / "killed" / "manifest.json").exists(), tmp_path, *models)
    kill_when(lambda: cached(store) > 3, tmp_path, *models)
    kill_when(first.exists, tmp_path, *models)
    run(tmp_path, "killed", "killed.sqlite", *models)
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


def test_a_run_killed_while_it_writes_its_tables_resumes_to_the_same_bytes(checkpoint, tmp_path):
    model = checkpoint("bert")
    run(tmp_path, "undisturbed", "killed.sqlite", model)
    folder = tmp_path / "killed"
    kill_when(lambda: any((folder / "observations").rglob("*")), tmp_path, model)
    assert not (folder / "estimates" / "counteracts.csv").exists() or not (folder / "timing.json").exists()
    run(tmp_path, "killed", "killed.sqlite", model)
    assert contents(folder) == contents(tmp_path / "undisturbed")


def test_a_second_run_of_the_same_questions_gives_the_same_bytes(checkpoint, tmp_path):
    run(tmp_path, "first", "one.sqlite", checkpoint("gpt2"))
    run(tmp_path, "second", "one.sqlite", checkpoint("gpt2"))
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def page(folder: Path) -> tuple[str, str]:
    """The report of a folder: what people read before any probe, and everything."""
    subprocess.run([sys.executable, "-m", "trueprobe", "report", str(folder)], check=True, capture_output=True)
    text = (folder / "report.html").read_text(encoding="utf-8")
    return re.sub(r"<[^>]+>", " ", text[text.index("<main>") : text.index('<section id="probe-')]), text


def test_the_report_of_a_killed_run_says_what_is_missing_until_the_run_is_finished(checkpoint, tmp_path):
    models, folder = (checkpoint("bert"), checkpoint("gpt2")), tmp_path / "killed"
    kill_when((folder / "observations/counteracts/bert.parquet").exists, tmp_path, *models)
    assert [path.stem for path in folder.glob("observations/*/*.parquet")] == ["bert"]
    answer, text = page(folder)
    assert "This run was interrupted. Run the same command into the same folder to finish it." in answer
    assert "Nothing is counted yet: figures, numbers and findings are missing." in answer
    assert "Models named: bert, gpt2. Answers in the folder: bert." in answer
    assert "Asked: bert (masked)." in answer
    assert "All 600 answers could be scored." in answer
    assert answer.count("gpt2") == 1  # named, and nothing else is reported of whom nobody asked yet
    assert not re.search(r'<li class="(good|bad|open)"|class="badge', text)  # no verdict
    assert "<figure" not in text
    assert "All numbers were made with" not in text  # no paragraph for a paper
    assert list((folder / "figures").iterdir()) == []
    run(tmp_path, "killed", "killed.sqlite", *models)
    answer, text = page(folder)
    assert "interrupted" not in text
    assert "Nothing is counted yet" not in text
    assert "gpt2 (causal)" in answer
    assert "All 1,200 answers could be scored." in answer
    assert "<figure" in text
    assert "All numbers were made with" in text
