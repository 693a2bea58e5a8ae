"""`trueprobe sensitivity`: a whole analysis of a small model, what is refused, and going on after a kill."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import toy_association
from cli.test_cli import in_process
from trueprobe.sensitivity import plant, session, trained
from trueprobe.sensitivity.plant import PlantRecipe
from trueprobe.sensitivity.unplanted import CONTROLS

RECIPE = PlantRecipe(steps=20, learning_rate=1e-2, embedding_rate=1.0)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    toy_association.write(folder)
    toy_association.filler(folder)
    for seed in (0, 1, 2):
        toy_association.checkpoint(folder, seed)
    return folder


@pytest.fixture
def short(monkeypatch):
    """Short trainings, which random networks learn little by, and no refusal for that."""
    monkeypatch.setattr(plant, "RECIPES", {("masked", True): RECIPE})
    monkeypatch.setattr(trained, "LEAST_AUC", 0.0)
    monkeypatch.setattr(trained, "LEAST_NATS", -10.0)
    sample = [replace(one, asset="", settings={"data": "sample"}) for one in CONTROLS if one.probe == "crows_pairs"]
    monkeypatch.setattr(session, "CONTROLS", tuple(sample))


def command(toy, out, *more):
    line = ["sensitivity", "--model", f"toy={toy}/seed_*", "--association", f"{toy}/toy.toml"]
    return [*line, "--filler", f"{toy}/neutral.txt", "--doses", "0,0.5,1", "--out", str(out), *more]


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.slow
def test_an_analysis_gives_limits_and_goes_on_where_it_was_stopped(toy, tmp_path, short):
    out = tmp_path / "out"
    line = command(toy, out, "pairs", "--assignments", "2", "--relabellings", "4", "--remove", "all")
    done = in_process(*line, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {row["probe"] for row in result["detection"]} == {"pairs"}
    assert {row["seeds"] for row in result["detection"] if row["level"] == "family"} == {3}
    assert len(rows(out / "planted.csv")) == 2 * 3 * 3  # assignments, seeds, doses
    assert not list(out.rglob("models"))
    assert {row["measure"] for row in rows(out / "unplanted.csv")} >= {"prefers_stereotype all"}
    removed = rows(out / "removed.csv")
    assert len(removed) == 2 * 3 * 3 * 3 * 2  # assignments, seeds, counterexamples, prompts, targets
    claimed = [(row["first"], row["second"], row["direction"]) for row in rows(out / "removal_claims.csv")]
    assert ("syntax", "meaning", "above") in claimed
    assert ("syntax", "meaning", "alike") in claimed
    files = ("detection.csv", "sensitivity.html", "unplanted.csv", "removal_claims.csv")
    before = {path: path.read_bytes() for path in (out / name for name in files)}
    (out / "removed.csv").unlink()
    (out / "unplanted.csv").unlink()
    (out / "assignment_1" / "measured.csv").unlink()
    shutil.rmtree(out / "assignment_1" / "dose_0.5")
    shutil.rmtree(out / "null" / "seed_1")
    assert in_process(*line).returncode == 0
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow
def test_a_model_that_does_not_learn_the_association_has_no_limit(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(
        plant, "RECIPES", {("masked", True): PlantRecipe(steps=1, learning_rate=1e-9, embedding_rate=0)}
    )
    done = in_process(*command(toy, tmp_path / "out", "pairs", "--json"))
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert result["detection"] == []
    assert result["unplantable"]["full_auc"] < plant.LEAST_AUC
    assert "could not be planted" in (tmp_path / "out" / "sensitivity.html").read_text()


@pytest.mark.slow
def test_a_killed_analysis_ends_with_the_same_tables(toy, tmp_path):
    line = command(toy, tmp_path / "killed", "pairs", "--assignments", "1", "--relabellings", "0")
    start = (
        "from trueprobe.sensitivity import plant, session, trained\n"
        "session.CONTROLS = ()\n"
        "recipe = plant.PlantRecipe(steps=20, learning_rate=1e-2, embedding_rate=1.0)\n"
        "plant.RECIPES = {('masked', True): recipe}\n"
        "trained.LEAST_AUC, trained.LEAST_NATS = 0.0, -10.0\n"
        "from trueprobe.cli import main\n"
        "main()\n"
    )

    def started(arguments):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-c", start, *arguments], env={**os.environ}, **quiet)

    for moment in ("null/seed_1", "assignment_0/planted.csv", "assignment_0/dose_0.5/models"):
        process = started(line)
        while process.poll() is None and not (tmp_path / "killed" / moment).exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert started(line).wait() == 0
    assert started([str(tmp_path / "whole") if part == str(tmp_path / "killed") else part for part in line]).wait() == 0
    for name in ("planted.csv", "measured.csv", "detection.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["tacit_retrieval"], "'tacit_retrieval' cannot measure this association"),
        (["--doses", "0.5,1"], "--doses begin at 0"),
        (["--doses", "a"], "--doses are numbers from 0 to 1"),
        (["--association", "gender-ocupation"], "did you mean 'gender-occupation'"),
        (["--filler", "wordnet"], "trueprobe fetch wordnet"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_trained(toy, tmp_path, more, problem):
    done = in_process(*command(toy, tmp_path / "out"), *more)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not list((tmp_path / "out").rglob("*.safetensors"))


def test_a_model_of_another_type_is_refused(toy, tmp_path, checkpoint):
    done = in_process(*command(toy, tmp_path / "out"), "--model", str(checkpoint("roberta")))
    assert done.returncode == 2
    assert "of type 'roberta'; an association is planted in 'bert' and 'gpt2'" in done.stderr


def test_a_folder_of_another_analysis_is_refused(toy, tmp_path):
    (tmp_path / "setup.json").write_text(json.dumps({"model": "other"}))
    done = in_process(*command(toy, tmp_path))
    assert done.returncode == 2
    assert "holds another analysis" in done.stderr
