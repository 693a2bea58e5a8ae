"""Runs that compute in workers: whoever is killed, the folder equals that of a run in one process, byte for byte."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from test_kill import cached, contents

import processes
import trueprobe
from trueprobe.engine import AnswerStore, Compute, executor
from trueprobe.errors import BadInput
from trueprobe.runs import Shard, execute, make_study, plan_run, run_shard

pytestmark = pytest.mark.slow
LIMIT, TOKENS = 120, 64


@pytest.fixture(scope="module")
def models(checkpoint) -> tuple[str, ...]:
    return str(checkpoint("bert")), str(checkpoint("gpt2"))


def run(folder: Path, models, compute: Compute, name: str = "run") -> Path:
    folder.mkdir(exist_ok=True)
    out, store = folder / name, folder / "answers.sqlite"
    return trueprobe.run(
        "counteracts", models, out, store=store, limit=LIMIT, batch_tokens=TOKENS, compute=compute
    ).folder


@pytest.fixture(scope="module")
def alone(models, tmp_path_factory):
    """By the number of threads, the folder of a run in this process."""
    import torch

    folders = {n: run(tmp_path_factory.mktemp("alone"), models, Compute(threads=n)) for n in (2, 1)}
    assert torch.get_num_threads() == 1
    return folders


@pytest.fixture
def killed(monkeypatch):
    """Kills one worker, chosen at random, at random batches; the list says who it was."""
    rng, killed, pools, batches = random.Random(0), [], [], 0
    true_put, at = AnswerStore.put, {3, 11}

    def remembered(compute):
        made = executor(compute)
        pools.append(made.pool)
        return made

    def put(*arguments, **more):
        nonlocal batches
        true_put(*arguments, **more)
        batches += 1
        if batches in at and pools[0].pids:
            killed.append(rng.choice(pools[0].pids))
            os.kill(killed[-1], signal.SIGKILL)

    monkeypatch.setattr(execute, "executor", remembered)
    monkeypatch.setattr(AnswerStore, "put", put)
    return killed


def test_two_workers_give_the_same_bytes_whoever_is_killed(models, alone, killed, tmp_path):
    folder = run(tmp_path / "two", models, Compute(workers=2, threads=1))
    assert killed
    assert contents(folder) == contents(alone[1])


def test_two_ray_nodes_give_the_same_bytes_whoever_is_killed(models, alone, killed, tmp_path, monkeypatch):
    """Two simulated nodes of one Ray cluster, each with room for one worker of two threads."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'trueprobe[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    try:
        compute = Compute(on="ray", ray_address=cluster.address, threads=2)
        folder = run(tmp_path / "ray", models, compute)
        assert killed
        assert contents(folder) == contents(alone[2])
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()


def children(pid: int) -> list[int]:
    """Processes whose parent it is, other than those that are dead and not yet waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


def gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def until(condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_ctrl_c_and_a_killed_driver_end_the_workers_and_the_run_goes_on(models, alone, tmp_path):
    store = tmp_path / "answers.sqlite"
    named = [part for model in models for part in ("--model", model)]
    options = ["--limit", str(LIMIT), "--batch-tokens", str(TOKENS), "--workers", "1", "--threads", "1"]
    command = ["run", "counteracts", *named, *options, "--out", str(tmp_path / "run"), "--store", str(store)]
    before = 0
    for how in (signal.SIGINT, signal.SIGKILL):
        driver = processes.start(command, tmp_path / "errors")
        until(lambda: cached(store) > before + 3 or not driver.is_alive())  # noqa: B023
        workers = children(driver.pid)
        assert workers
        os.kill(driver.pid, how)
        driver.join()
        until(lambda: gone(workers))  # noqa: B023
        assert driver.exitcode == (130 if how is signal.SIGINT else -9)
        before = cached(store)
    assert before > 3
    folder = trueprobe.run(
        "counteracts", models, tmp_path / "run", store=store, limit=LIMIT, batch_tokens=TOKENS
    ).folder
    assert contents(folder) == contents(alone[1])


# ---------------------------------------------------------------- shards


@pytest.mark.parametrize(("n", "of_all"), [(1, 1), (3, 2), (25, 10), (2, 5), (7, 3)])
def test_shards_share_out_every_model_once(n, of_all):
    parts = [Shard(i, of_all).parts(n) for i in range(1, of_all + 1)]
    for model in range(n):
        numbers = sorted((p.number, p.of_all) for shard in parts if (p := shard.get(model)))
        assert numbers == [(i, len(numbers)) for i in range(len(numbers))]
    loads = [sum(1 / part.of_all for part in shard.values()) for shard in parts]
    assert max(loads) - min(loads) <= 0.5


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_a_shard_that_cannot_be_is_refused(text):
    with pytest.raises(BadInput, match="--shard is I/N"):
        Shard.parse(text)


def test_after_merging_its_shards_a_run_computes_nothing(models, alone, tmp_path):
    """Three shards of two models: the first model's batches are shared between shards 1 and 3."""
    from trueprobe.engine.upkeep import merge

    study, _ = make_study("counteracts", models, limit=LIMIT, batch_tokens=TOKENS)
    stores = [tmp_path / f"{i}.sqlite" for i in (1, 2, 3)]
    done = [run_shard(plan_run(study), Shard(i, 3), store) for i, store in enumerate(stores, start=1)]
    assert [[one.model for one in shard.models] for shard in done] == [["bert"], ["gpt2"], ["bert"]]
    assert all(one.computed == one.rows > 0 for shard in done for one in shard.models)
    assert [one.differing for one in merge([*stores, stores[0]], tmp_path / "all.sqlite")] == [0] * 4
    merged = execute.run(study, out=tmp_path / "run", store=tmp_path / "all.sqlite")
    timing = json.loads((merged.folder / "timing.json").read_text())["models"]
    assert [one["rows_computed"] for one in timing.values()] == [0, 0]
    assert contents(merged.folder) == contents(alone[1])
