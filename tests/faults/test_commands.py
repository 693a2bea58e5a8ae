"""Every command that writes: killed, stopped, beside itself, on a full disk, in a folder that cannot be written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from at_risk import COMMANDS
from trueprobe.training import nursery

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("FAULTS", "20"))  # `make faults` has 100
FIRST_SECONDS = 2.0
every = pytest.mark.parametrize("name", list(COMMANDS))


def no_traceback(text: str) -> bool:
    return "Traceback" not in text and 0 < len(text.splitlines()) < 12


def killed(trial, seconds: float) -> bool:
    """False where it ended by itself before."""
    process = trial.start()
    process.join(seconds)
    alive = process.is_alive()
    process.kill()
    process.join()
    return alive


@every
def test_killed_at_random_moments_it_goes_on_to_the_same_result(name, trial):
    whole, broken = trial(name, "whole"), trial(name, "broken")
    began = time.monotonic()
    assert whole.finish()[0] == COMMANDS[name].code
    longest, rng, kills = time.monotonic() - began, random.Random(name), 0
    for _ in range(20 * KILLS):  # where it ends by itself, the next one is killed earlier, in a new folder
        if kills == max(1, KILLS // len(COMMANDS)):
            break
        if killed(broken, longest * rng.random()):
            kills += 1
        else:
            longest *= 0.7
            broken.clear()
    assert kills == max(1, KILLS // len(COMMANDS))
    codes, texts = zip(broken.finish(), whole.finish(), strict=True)  # also of what is done already
    assert codes == (COMMANDS[name].code,) * 2
    assert not any("Traceback" in text for text in texts), texts
    assert broken.left() == whole.left()
    assert not list((broken.here).rglob("*.part"))


@every
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_as_ctrl_c_does(name, number, trial):
    """At a random moment; what ended before the signal came is whole."""
    one = trial(name)
    process = one.start()
    process.join(FIRST_SECONDS * random.Random(f"{name} {number}").random())
    if process.is_alive():
        os.kill(process.pid, number)
    process.join()
    text = (one.here / "stderr").read_text() if (one.here / "stderr").exists() else ""
    if process.exitcode == 128 + number:
        assert text.splitlines()[-1].startswith("trueprobe: stopped")  # the advice is known once modules are imported
    else:
        assert process.exitcode in (COMMANDS[name].code, -number), text  # -15: before `main` was reached
    assert "Traceback" not in text
    assert one.finish()[0] == COMMANDS[name].code


@every
def test_several_at_once_leave_what_one_leaves(name, trial):
    alone, together, code = trial(name, "alone"), trial(name, "together"), COMMANDS[name].code
    assert alone.finish()[0] == code
    files = [together.here / f"stderr{n}" for n in range(3)]
    running = [together.start(stderr=file) for file in files]
    for process in running:
        process.join()
    codes, texts = [process.exitcode for process in running], [file.read_text() for file in files]
    refused = [text for ended, text in zip(codes, texts, strict=True) if ended != code]
    assert code in codes, texts
    assert COMMANDS[name].alone or not refused
    assert all("another" in text and no_traceback(text) for text in refused), texts
    assert together.finish()[0] == code
    assert together.left() == alone.left()


@every
def test_on_a_full_disk_it_says_so_and_goes_on_when_there_is_room(name, trial):
    whole, full = trial(name, "whole"), trial(name, "full")
    out = full.here / "stdout"  # `reproduce --all` lists there what failed, and goes on
    code, text = full.finish(most_bytes=COMMANDS[name].room, stdout=out)
    text += out.read_text() if name == "reproduce" else ""
    assert (code, "Traceback" in text) == (1, False), text
    assert name == "reproduce" or no_traceback(text), text
    assert "cannot write" in text or "answer store" in text or "failed" in text
    assert (full.finish()[0], whole.finish()[0]) == (COMMANDS[name].code,) * 2
    assert full.left() == whole.left()


@pytest.mark.parametrize("name", [name for name, one in COMMANDS.items() if not one.before])
def test_where_nothing_can_be_written_it_says_so(name, trial):
    one = trial(name)
    environment = {**one.surroundings.environment, "XDG_CACHE_HOME": "/proc/none"}
    process = replace(one, out="/proc/none").start(environment=environment)
    process.join()
    text = (one.here / "stderr").read_text()
    assert (process.exitcode, no_traceback(text)) == (1, True), text
    assert "cannot write /proc/none" in text or "answer store /proc/none" in text


@every
def test_without_a_home_and_without_output_it_does_not_fall_over(name, trial):
    one = trial(name)
    environment = {key: value for key, value in one.surroundings.environment.items() if key != "XDG_CACHE_HOME"}
    code, text = one.finish(environment={**environment, "HOME": "/proc/none"}, stdout="/dev/full")
    assert code in (1, 2)
    assert no_traceback(text), text


def test_a_signal_while_libraries_are_imported_is_one_line(tmp_path, made):
    for seconds in (0.05, 0.6, 1.5):
        here = tmp_path / str(seconds)  # with what is cached a run takes little more than a second
        here.mkdir()
        command = [sys.executable, "-m", "trueprobe", *COMMANDS["run"].arguments(made, here)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(here / "cache")}
        around = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "env": environment}
        process = subprocess.Popen(command, text=True, **around)
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        _, text = process.communicate(timeout=120)
        assert process.returncode in (143, -15)
        assert "Traceback" not in text
        assert text == "" or text.splitlines()[-1].startswith("trueprobe: stopped")


def test_four_processes_that_unpack_the_shipped_model_at_once_all_get_it(tmp_path):
    code = "from trueprobe.training import nursery; print(nursery.shipped('mini')[0].folder)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0] * 4, outputs
    assert len({out for out, _ in outputs}) == 1
    assert sorted(path.suffix for path in (tmp_path / "trueprobe/models").iterdir()) == [""]
    assert nursery.names("mini")
