"""Links out of a run folder, and pipes and devices in the place of files: refused in one line, at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import made_runs
from trueprobe.errors import BadInput
from trueprobe.runs import load_run

SECONDS = 60  # in which a command has ended that blocks on nothing


def command(*arguments, **environment):
    asked = [sys.executable, "-m", "trueprobe", *map(str, arguments)]
    settings = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, env=settings)


@pytest.fixture
def run_folder(tmp_path):
    return made_runs.write(tmp_path / "run", [made_runs.card("solo")], [made_runs.estimate("solo", "ties", 0.5)])


def read_all(folder):
    run = load_run(folder)
    run.items("pairs"), run.observations("pairs"), run.table("estimates"), run.declarations, run.local, run.timing
    return run.downstream


FILES = ["items/pairs.parquet", "observations/pairs/solo.parquet", "estimates/pairs.parquet", "probes.json"]
FILES += ["manifest.json"]


@pytest.mark.parametrize("name", [*FILES, "items", "observations/pairs", "estimates"])
def test_a_link_in_a_run_folder_is_refused_wherever_it_leads(run_folder, tmp_path, name):
    read_all(run_folder)
    outside = tmp_path / "outside"
    shutil.move(run_folder / name, outside)
    (run_folder / name).symlink_to(outside)
    with pytest.raises(BadInput, match=r"is a link, and .* must hold its files itself"):
        read_all(run_folder)


@pytest.mark.parametrize("name", ["comparisons", "downstream/sst2"])
def test_nothing_is_written_through_a_linked_folder(run_folder, tmp_path, name):
    (tmp_path / "outside").mkdir()
    (run_folder / name).parent.mkdir(exist_ok=True)
    (run_folder / name).symlink_to(tmp_path / "outside")
    with pytest.raises(BadInput, match=r"is a link, and .* must hold its files itself; copy the folder"):
        load_run(run_folder)


def test_a_run_folder_may_itself_be_reached_by_a_link(run_folder, tmp_path):
    (tmp_path / "latest").symlink_to(run_folder)
    assert read_all(tmp_path / "latest") == []


def test_results_of_tasks_are_not_read_through_links(run_folder, tmp_path):
    (tmp_path / "outside" / "x").mkdir(parents=True)
    (tmp_path / "outside" / "x" / "downstream.json").write_text("secret")
    (run_folder / "downstream").symlink_to(tmp_path / "outside")
    with pytest.raises(BadInput, match="is a link"):
        read_all(run_folder)


@pytest.mark.parametrize("name", ["items/pairs.parquet", "probes.json", "manifest.json"])
def test_a_pipe_in_a_run_folder_blocks_nothing(run_folder, name):
    (run_folder / name).unlink()
    os.mkfifo(run_folder / name)
    ended = command("report", run_folder, "--format", "markdown")
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("what", ["study", "rules", "table", "store", "norms", "asset", "model", "tokenizer", "gguf"])
def test_a_pipe_in_the_place_of_a_file_blocks_nothing(tmp_path, run_folder, checkpoint, what):
    pipe = tmp_path / {"study": "x.toml", "rules": "x.toml", "table": "x.csv", "gguf": "x.gguf"}.get(what, "x")
    model = checkpoint("gpt2")
    if what in ("model", "tokenizer"):
        folder = tmp_path / "model"
        shutil.copytree(model, folder)
        pipe, model = folder / ("config.json" if what == "model" else "tokenizer.json"), folder
        pipe.unlink()
    os.mkfifo(pipe)
    arguments = {
        "study": ("run", pipe),
        "rules": ("gate", run_folder, "--rules", pipe),
        "table": ("score", pipe, "--model", model, "--out", tmp_path / "out.csv"),
        "store": ("cache", "info", "--store", pipe),
        "norms": ("items", "pairs", "--set", f"data={pipe}"),
        "asset": ("fetch", "crows_pairs", "--from", pipe),
        "model": ("check", "model", model),
        "tokenizer": ("check", "model", model),
        "gguf": ("check", "model", pipe),
    }[what]
    ended = command(*arguments, XDG_CACHE_HOME=tmp_path / "cache")
    assert ended.returncode == 2, ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_pipe_or_device_as_the_store_of_a_run_is_refused(tmp_path, checkpoint):
    (tmp_path / "x.csv").write_text("sentence\nHe ran.\n")
    os.mkfifo(tmp_path / "pipe")
    for store in (tmp_path / "pipe", "/dev/zero"):
        arguments = ("score", tmp_path / "x.csv", "--model", checkpoint("gpt2"), "--store", store)
        ended = command(*arguments, "--out", tmp_path / "out.csv")
        assert ended.returncode == 2, ended.stderr
        assert "is a pipe or a device, not a file" in ended.stderr
