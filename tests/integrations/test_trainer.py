"""`ProbeCallback` in a real Trainer: what it measures is what the saved checkpoint answers, and the training is the
same without it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import TrainerCallback

import trueprobe
from integrations.train import train
from trueprobe.errors import BadInput
from trueprobe.statistics.rows import Estimate

pytestmark = pytest.mark.slow


class Tracker(TrainerCallback):
    """What a tracker that `report_to` names is given."""

    def __init__(self) -> None:
        self.logged: dict[int, dict[str, float]] = {}

    def on_log(self, args, state, control, logs=None, **kwargs):
        of_probes = {name: value for name, value in logs.items() if name.startswith("trueprobe/")}
        if of_probes:
            self.logged[state.global_step] = of_probes


def numbers(run) -> list[tuple]:
    return [(r.measure, str(r.conditions), r.value, r.low, r.high) for r in run.rows(Estimate)]


@pytest.fixture(scope="module", params=["bert", "gpt2"])
def trained(request, checkpoint, tmp_path_factory):
    folder, tracker = tmp_path_factory.mktemp("trained"), Tracker()
    callback = trueprobe.ProbeCallback("pairs", every=2, out=folder / "probes")
    trainer = train(checkpoint(request.param), folder / "with", callback, tracker)
    return folder, trainer, tracker, checkpoint(request.param)


def test_what_is_measured_is_what_the_saved_checkpoint_answers(trained):
    folder, *_ = trained
    for step in (2, 6):
        saved = trueprobe.run(
            "pairs", f"saved={folder}/with/checkpoint-{step}", folder / f"run{step}", store=":memory:"
        )
        measured = trueprobe.load_run(folder / "probes" / f"step-{step}")
        assert numbers(measured) == numbers(saved)
    assert numbers(trueprobe.load_run(folder / "probes" / "step-2")) != numbers(measured)


def test_the_training_is_the_same_without_it(trained):
    folder, trainer, _, checkpoint = trained
    plain = train(checkpoint, folder / "without")
    pairs = zip(trainer.model.state_dict().values(), plain.model.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert all(weight.requires_grad for weight in trainer.model.parameters())
    assert not any(module._forward_hooks for module in trainer.model.modules())


def test_the_curve_has_every_step_with_its_interval(trained):
    folder, *_ = trained
    curve = trueprobe.load_run(folder / "probes" / "curve")
    assert [(card.family, dict(card.labels)) for card in curve.cards] == [("training", {"step": n}) for n in (2, 4, 6)]
    rows = [r for r in curve.rows(Estimate) if r.measure == "difference" and set(r.conditions.values()) & {"all"}]
    assert {row.step for row in rows} == {2, 4, 6}
    assert all(row.low <= row.value <= row.high for row in rows)


def test_whatever_the_trainer_reports_to_gets_findings_with_their_intervals(trained):
    folder, _, tracker, _ = trained
    assert sorted(tracker.logged) == [2, 4, 6]
    flat = trueprobe.findings_dict(trueprobe.load_run(folder / "probes" / "step-6"))
    assert tracker.logged[6] == {f"trueprobe/{name}": value for name, value in flat.items()}
    # MLflow's file store makes a path of a name: none may be a folder of another
    assert not {name for name in flat if any(other.startswith(f"{name}/") for other in flat)}
    assert {"trueprobe/pairs/accuracy", "trueprobe/pairs/accuracy_low", "trueprobe/pairs/accuracy_high"} <= set(
        tracker.logged[6]
    )


def test_a_resumed_training_goes_on_with_its_curve(checkpoint, tmp_path):
    """Step 4 was measured behind the last checkpoint that was kept, so it is measured again."""
    out, start = tmp_path / "probes", checkpoint("bert")
    train(start, tmp_path / "t", trueprobe.ProbeCallback("pairs", every=2, out=out), steps=4)
    before = numbers(trueprobe.load_run(out / "step-2"))
    with pytest.raises(BadInput, match="measurements of another training"):
        train(start, tmp_path / "other", trueprobe.ProbeCallback("pairs", every=2, out=out))
    train(start, tmp_path / "t", trueprobe.ProbeCallback("pairs", every=2, out=out), resume=True)
    curve = trueprobe.load_run(out / "curve")
    assert [card.labels["step"] for card in curve.cards] == [2, 4, 6]
    assert numbers(trueprobe.load_run(out / "step-2")) == before


def test_a_measurement_that_takes_too_long_is_left_out_and_the_training_goes_on(checkpoint, tmp_path, caplog):
    callback = trueprobe.ProbeCallback("pairs", every=3, out=tmp_path / "probes", seconds=1e-9)
    with caplog.at_level(logging.WARNING, logger="trueprobe"):
        trainer = train(checkpoint("bert"), tmp_path / "t", callback)
    assert trainer.state.global_step == 6
    assert "step 3 was not measured: took more than 1e-09 s; lower limit" in caplog.text
    assert not list((tmp_path / "probes").glob("step-*"))


def test_with_two_processes_one_measures_and_the_numbers_are_its_checkpoints(checkpoint, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    script = [sys.executable, str(Path(__file__).with_name("train.py")), str(checkpoint("bert")), str(tmp_path)]
    ranks = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
    started = [subprocess.Popen(script, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for env in ranks]
    ended = [(one.communicate(timeout=300)[1].decode()[-2000:], one.returncode) for one in started]
    assert [code for _, code in ended] == [0, 0], ended
    saved = trueprobe.run("pairs", f"saved={tmp_path}/trained/checkpoint-6", tmp_path / "run", store=":memory:")
    assert numbers(trueprobe.load_run(tmp_path / "probes" / "step-6")) == numbers(saved)
    assert [card.labels["step"] for card in trueprobe.load_run(tmp_path / "probes" / "curve").cards] == [2, 4, 6]
