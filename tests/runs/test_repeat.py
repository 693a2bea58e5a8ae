"""`run --from RUN`: the same numbers again, or what has changed."""

from __future__ import annotations

import json
import subprocess

import pytest
from typer.testing import CliRunner

import made_runs
import trueprobe
import zoo
from made_runs import card, estimate
from trueprobe.cli import app
from trueprobe.engine import AnswerStore
from trueprobe.errors import BadInput
from trueprobe.models import Options
from trueprobe.results.render import repetition
from trueprobe.runs import load_run, machine
from trueprobe.runs.repeat import RunChange, compared, repeat

LINES = ["sent_more,sent_less,stereo_antistereo,bias_type"]
LINES += [f"He {verb} it.,She {verb} it.,stereo,gender" for verb in ("saw", "had", "made", "took", "gave", "left")]


@pytest.fixture
def done(tmp_path):
    (tmp_path / "pairs.csv").write_text("\n".join(LINES))
    zoo.save("bert", tmp_path / "bert")
    settings = {"data": str(tmp_path / "pairs.csv"), "rounding": "authors", "resample_seed": 3}
    made = trueprobe.run(
        "crows_pairs", str(tmp_path / "bert"), tmp_path / "run", settings=settings, store=tmp_path / "s"
    )
    return made.folder


def command(*arguments):
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def test_a_repeated_run_has_the_same_bytes_without_any_cached_answer(done, tmp_path):
    result = command("--from", done, "--store", tmp_path / "other", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["exact"], told["same_bytes"], told["changes"]) == (True, True, [])
    assert told["n_estimates"] == len(load_run(done).estimates) > 0
    again = load_run(f"{done}-again").manifest
    assert again.study == load_run(done).manifest.study
    assert again.machine.processor
    assert again.machine.device == "cpu"
    assert again.machine.threads == 1


def test_other_material_and_other_weights_are_refused_before_anything_is_asked(done, tmp_path):
    zoo.save("bert", tmp_path / "bert", model_seed=5)
    with pytest.raises(BadInput, match="cannot be repeated: the weights of bert have changed"):
        repeat(done)
    (tmp_path / "pairs.csv").write_text("\n".join(LINES[:-1]))
    with pytest.raises(BadInput, match="cannot be repeated: the material of crows_pairs has changed"):
        repeat(done)
    assert not (tmp_path / "run-again").exists()


def test_what_is_the_runs_own_cannot_be_changed(done):
    for more in (["crows_pairs"], ["--limit", "3"], ["--set", "data=sample"], ["--dtype", "bfloat16"]):
        assert "cannot be combined with --from" in str(command(*more, "--from", done).exception)
    assert "is the run itself" in str(command("--from", done, "--out", done).exception)
    assert "name a probe or a study" in str(command().exception)


def two_runs(folder, one, other, versions=({"trueprobe": "1"}, {"trueprobe": "1"})):
    for name, rows in (("one", one), ("other", other)):
        made_runs.write(folder / name, [card("solo")], [estimate("solo", m, value) for m, value in rows.items()])
    runs = [load_run(folder / name) for name in ("one", "other")]
    for run, known in zip(runs, versions, strict=True):
        object.__setattr__(
            run, "__dict__", {**run.__dict__, "manifest": run.manifest.model_copy(update={"versions": known})}
        )
    return runs


def test_what_differs_is_counted_and_what_has_changed_is_named(tmp_path):
    values = {"a": 0.5, "b": 0.25, "c": float("nan")}
    assert compared(*two_runs(tmp_path / "same", values, values)).exact
    moved = {**values, "b": 0.28, "d": 1.0}
    made = compared(
        *two_runs(tmp_path / "moved", values, moved, ({"numpy": "1", "torch": "2"}, {"numpy": "2", "torch": "2"}))
    )
    assert (made.exact, made.same_bytes, made.n_estimates, made.n_differing) == (False, False, 4, 2)
    assert made.largest == pytest.approx(0.03)
    assert made.changes == (RunChange("numpy", "1", "2"),)
    assert list(repetition.lines(made))[1:] == [
        "2 of 4 estimates differ, by at most 0.03",
        "changed: numpy, 1 then, 2 now",
    ]
    gone = compared(*two_runs(tmp_path / "gone", values, {"a": 0.5, "b": 0.25}))
    assert list(repetition.lines(gone))[1] == "1 of 3 estimates differ"


# ---------------------------------------------------------------- the machine


def test_the_commit_is_that_of_a_checkout_that_tracks_the_package(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")

    def git(*arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", "-C", tmp_path, *author, *arguments], check=True, capture_output=True, text=True)

    assert machine._checked_out(package) == ""
    git("init", "-q")
    assert machine._checked_out(package) == ""  # in somebody's repository, and not part of it
    git("add", ".")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD").stdout.strip()
    assert machine._checked_out(package) == commit
    (package / "__init__.py").write_text("changed = 1")
    assert machine._checked_out(package) == f"{commit}+changes"


def test_the_machine_is_recorded():
    known = machine.machine(Options(), AnswerStore(":memory:"))
    assert known.processor
    assert known.threads == 1  # as tests have it
    assert known.device == "cpu" or known.device.startswith("cuda (")
