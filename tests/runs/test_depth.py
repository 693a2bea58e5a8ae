"""From the command to the network a reader follows ten calls, in every portion of what is asked."""

from __future__ import annotations

import traceback
from pathlib import Path

import trueprobe
from trueprobe.cli import app
from trueprobe.models.hugging import HuggingFaceModel
from trueprobe.runs import portions

MOST_FRAMES = 10  # of trueprobe, from the command's body to the backend's `forward`, both counted
PACKAGE = Path(trueprobe.__file__).parent


def test_from_the_command_to_the_forward_pass_are_ten_frames(checkpoint, tmp_path, monkeypatch):
    stacks, forward = [], HuggingFaceModel.forward

    def recorded(model, batch):
        stacks.append(traceback.extract_stack())
        return forward(model, batch)

    monkeypatch.setattr(HuggingFaceModel, "forward", recorded)
    monkeypatch.setattr(portions, "PLANNED_TOGETHER", 5)  # the later portions are computed while files are open
    out, store = str(tmp_path / "run"), str(tmp_path / "store")
    command = ["run", "counteracts", "--model", str(checkpoint("bert")), "--limit", "12", "--out", out]
    app([*command, "--store", store, "--json"], standalone_mode=False)
    assert len(stacks) > 2
    for stack in stacks:
        calls = [f"{Path(frame.filename).relative_to(PACKAGE)}:{frame.name}" for frame in stack if is_ours(frame)]
        command_body = calls.index("cli/run.py:run")
        assert len([*calls[command_body:], "forward"]) <= MOST_FRAMES, calls


def is_ours(frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename).is_relative_to(PACKAGE)
