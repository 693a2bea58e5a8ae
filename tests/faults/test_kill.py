"""Kill -9 at any moment and run again: the folder equals that of an undisturbed run, byte for byte."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import processes
import trueprobe
from trueprobe.results.render import files

pytestmark = pytest.mark.slow
LIMIT = 600


@pytest.fixture(scope="module")
def models(checkpoint) -> tuple[str, ...]:
    return str(checkpoint("bert")), str(checkpoint("gpt2"))


@pytest.fixture(scope="module")
def undisturbed(models, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    return run(folder / "run", folder / "answers.sqlite", models)


def run(out: Path, store: Path, models: tuple[str, ...]) -> Path:
    return trueprobe.run("counteracts", models, out, store=store, limit=LIMIT, batch_tokens=64).folder


def kill_when(condition, folder: Path, models: tuple[str, ...]) -> None:
    options = ["--limit", str(LIMIT), "--batch-tokens", "64"]
    options += ["--out", str(folder / "killed"), "--store", str(folder / "killed.sqlite")]
    named = [part for model in models for part in ("--model", model)]
    processes.kill_when(condition, ["run", "counteracts", *named, *options])


def cached(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.Error:
        return 0


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def page(folder: Path) -> tuple[str, str]:
    """The report of a folder: what people read before any probe, and everything."""
    text = files.write(trueprobe.load_run(folder), files.ReportFormat.HTML).read_text(encoding="utf-8")
    return re.sub(r"<[^>]+>", " ", text[text.index("<main>") : text.index('<section id="probe-')]), text


def test_a_killed_run_resumes_to_the_same_bytes(models, undisturbed, tmp_path):
    """Killed when its folder is begun, in its first answers, and within the second model."""
    store, first = tmp_path / "killed.sqlite", tmp_path / "killed" / "observations" / "counteracts" / "bert.parquet"
    kill_when((tmp_path / "killed" / "manifest.json").exists, tmp_path, models)
    kill_when(lambda: cached(store) > 3, tmp_path, models)
    kill_when(first.exists, tmp_path, models)
    run(tmp_path / "killed", store, models)
    assert contents(tmp_path / "killed") == contents(undisturbed)


def test_a_run_killed_while_it_writes_its_tables_resumes_to_the_same_bytes(models, undisturbed, tmp_path):
    folder, store = tmp_path / "killed", tmp_path / "killed.sqlite"
    run(tmp_path / "before", store, models)
    kill_when(lambda: any((folder / "observations").rglob("*")), tmp_path, models)
    assert not (folder / "estimates" / "counteracts.csv").exists() or not (folder / "timing.json").exists()
    run(folder, store, models)
    assert contents(folder) == contents(undisturbed) == contents(tmp_path / "before")


def test_the_report_of_a_killed_run_says_what_is_missing_until_the_run_is_finished(models, tmp_path):
    folder = tmp_path / "killed"
    kill_when((folder / "observations/counteracts/bert.parquet").exists, tmp_path, models)
    assert [path.stem for path in folder.glob("observations/*/*.parquet")] == ["bert"]
    answer, text = page(folder)
    assert "This run was interrupted. Run the same command into the same folder to finish it." in answer
    assert "There are no numbers, figures and findings yet." in answer
    assert "Models of the study: bert, gpt2. With answers so far: bert." in answer
    assert "Models: bert (masked)." in answer
    assert "All 600 answers could be scored." in text
    assert "all 600 answers scored" in answer
    assert answer.count("gpt2") == 1  # named, and nothing else is reported of whom nobody asked yet
    assert not re.search(r'<td class="num (good|bad|open)|class="sign', text)  # no verdict
    assert "<figure" not in text
    assert "All numbers were made with" not in text  # no paragraph for a paper
    assert not (folder / "figures").exists()
    run(folder, tmp_path / "killed.sqlite", models)
    answer, text = page(folder)
    assert "interrupted" not in text
    assert "There are no numbers" not in text
    assert "gpt2 (causal)" in answer
    assert "All 1,200 answers could be scored" in text
    assert "all 1,200 answers scored" in answer
    assert "<figure" in text
    assert "All numbers were made with" in text
