"""The contract of executors: whatever computes, the same rows have the same bits and answers; and what a pool does with
workers that die, fail, or do not belong to the run."""

from __future__ import annotations

import shutil
from collections import Counter

import numpy as np
import pytest

import poisoned
import zoo
from trueprobe.engine import AnswerStore, BatchTask, Compute, Engine, Local, executor
from trueprobe.engine.compute import Spawned
from trueprobe.engine.plan import plan
from trueprobe.engine.pool import Pool
from trueprobe.engine.pooled import Pooled
from trueprobe.engine.worker import Setup
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Options, examine, find
from trueprobe.runs.check import sample_requests
from trueprobe.types import FillBlank, Filled, ScoreText, WhyNot

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["local", "workers", "ray"])
def computing(request):
    if request.param == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'trueprobe[ray]'")
    made = executor(
        {
            "local": Compute(threads=1),
            "workers": Compute(workers=2, threads=1),
            "ray": Compute(on="ray", workers=2, threads=1),
        }[request.param]
    )
    yield made
    made.close()
    if request.param == "ray":
        import ray

        ray.shutdown()


def opened_by(executor, folder):
    (checkpoint,) = executor.examine(find([str(folder)]), Options(), lambda source: examine(source, Options()))
    return checkpoint, checkpoint.open()


def tasks_of(model, requests, batch_tokens=64):
    wanted = {}
    for reads in map(model.reads, requests):
        for read in () if isinstance(reads, WhyNot) else reads:
            wanted.setdefault(read.row, {})[read.what] = read
    wanted = {row: tuple(reads.values()) for row, reads in wanted.items()}
    return [BatchTask.of(batch, wanted) for batch in plan(wanted, model, batch_tokens)]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_every_executor_gives_the_bits_and_answers_of_this_process(name, computing, checkpoint, opened):
    here = opened(name)
    known, model = opened_by(computing, checkpoint(name))
    requests = sample_requests(here.card.kind)
    assert model.card.compute_id == here.card.compute_id
    assert known.outline.whole_words() == here.text.whole_words
    assert computing.reads(model, requests) == [here.reads(request) for request in requests]

    tasks = tasks_of(here, requests)
    assert [t.plan for t in tasks] == [t.plan for t in tasks_of(model, requests)]
    computed = dict(computing.readings(model, tasks))
    assert Counter(computed.keys()) == Counter(tasks)  # each once
    for task, readings in Local().readings(here, tasks):
        assert all(map(np.array_equal, readings, computed[task]))

    values = {
        read: value for task, readings in computed.items() for read, value in zip(task.reads, readings, strict=True)
    }
    asked = [(r, [values[read] for read in here.reads(r)]) for r in requests if not isinstance(here.reads(r), WhyNot)]
    pairs = zip(
        computing.assemble(model, *zip(*asked, strict=True)), here.assemble(*zip(*asked, strict=True)), strict=True
    )
    for theirs, ours in pairs:
        if isinstance(ours, Filled):
            words = tuple(ours.words)
            assert theirs.mass(words) == ours.mass(words)
            assert np.array_equal(theirs.logps(words), ours.logps(words), equal_nan=True)
            assert (dict(theirs.words), theirs.top, theirs.list_size) == (dict(ours.words), ours.top, ours.list_size)
        else:
            assert repr(theirs) == repr(ours)
    computing.release(known)


@pytest.fixture(scope="module")
def harmed():
    """One worker; what happens to it is decided by a file in the folder of the model."""
    computing = Pooled(Pool(Spawned(Setup(1, poisoned.as_marked)), 1))
    yield computing
    computing.close()


@pytest.fixture
def copy(checkpoint, tmp_path):
    return shutil.copytree(checkpoint("bert"), tmp_path / "bert")


def test_a_batch_that_kills_its_worker_is_tried_three_times_and_reported_with_its_texts(copy, opened, harmed):
    store, here = AnswerStore(":memory:", "v"), opened("bert")
    bad, good = ScoreText("The nurse was late."), ScoreText("The man is here.")
    (copy / "kills").write_text(repr(here.reads(bad)[0].row.ids))
    _, model = opened_by(harmed, copy)
    engine = Engine(model, store, batch_tokens=16, executor=harmed)
    with pytest.raises(FailedRun, match=r"tried 3 times.*SIGKILL.*The nurse was late.*goes on"):
        engine.answer([good, bad])
    # the run can go on: what does not need the batch is asked of a new worker
    (answer,) = Engine(model, store, batch_tokens=16, executor=harmed).answer([good])
    assert answer == Engine(here, AnswerStore(":memory:"), batch_tokens=16).answer([good])[0]


def test_a_worker_that_failed_is_replaced_and_its_batch_computed_again(copy, opened, harmed):
    (copy / "fails_once").touch()
    _, model = opened_by(harmed, copy)
    before = harmed.pool.pids
    request = FillBlank("The ", " works here.", words=("man", "woman"))
    (answer,) = Engine(model, AnswerStore(":memory:"), executor=harmed).answer([request])
    assert dict(answer.words) == dict(Engine(opened("bert"), AnswerStore(":memory:")).answer([request])[0].words)
    assert harmed.pool.pids != before


def test_memory_that_runs_out_halves_the_batch_in_the_worker(copy, opened, harmed):
    (copy / "little_memory").touch()
    _, model = opened_by(harmed, copy)
    model.recall(opened("bert").traits)
    before = harmed.pool.pids
    requests = [ScoreText(f"The {who} is here.") for who in ("man", "woman", "nurse", "driver", "bus")]
    answers = Engine(model, AnswerStore(":memory:"), executor=harmed).answer(requests)
    here = Engine(opened("bert"), AnswerStore(":memory:")).answer(requests)
    assert [a.logp for a in answers] == pytest.approx([a.logp for a in here], abs=1e-4)
    assert harmed.pool.pids == before


def test_a_worker_with_other_weights_is_refused(copy, tmp_path, harmed):
    known, _ = opened_by(harmed, copy)
    zoo.save("bert", tmp_path / "other", model_seed=7)
    shutil.copy(tmp_path / "other" / "model.safetensors", copy / "model.safetensors")
    with pytest.raises(BadInput, match="other weights or another config than the run began with"):
        known.open().reads(ScoreText("The man is here."))


def test_members_of_a_family_with_equal_weights_are_refused_by_workers_too(copy, tmp_path, harmed):
    for seed in (1, 2):
        shutil.copytree(copy, tmp_path / "family" / f"seed_{seed}")
    with pytest.raises(BadInput, match="equal weights"):
        harmed.examine(find([f"twins={tmp_path}/family/seed_*"], compare_weights=False), Options(), None)


def test_workers_that_cannot_start_end_the_run(checkpoint, monkeypatch):
    monkeypatch.setattr("trueprobe.engine.compute._CODE", "import sys; sys.exit(3) # {}")
    computing = executor(Compute(workers=1))
    with pytest.raises(FailedRun, match="no worker could be started: its worker ended with exit code 3"):
        opened_by(computing, checkpoint("bert"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ray_address": "auto"}, "--ray-address goes with --on ray"),
        ({"gpus_per_worker": 1}, "--gpus-per-worker goes with"),
        ({"workers": -1}, "cannot be negative"),
        ({"on": "slurm"}, "--on slurm; choose from: local, ray"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(BadInput, match=message):
        Compute(**options)


def test_each_worker_sees_its_own_gpus(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert Spawned(Setup(1), 2)._gpus(1) == {"CUDA_VISIBLE_DEVICES": "2,3"}
    assert [Spawned(Setup(1), 0.5)._gpus(slot)["CUDA_VISIBLE_DEVICES"] for slot in range(4)] == ["0", "0", "1", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert Spawned(Setup(1), 1)._gpus(1) == {"CUDA_VISIBLE_DEVICES": "6"}
    assert Spawned(Setup(1))._gpus(1) == {}
