"""The explorer: killed while it answers, stopped, beside itself, on a full disk; and it answers the same again."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

import processes
from explorers import Served

pytestmark = pytest.mark.slow
KILLS = max(3, int(os.environ.get("FAULTS", "20")) // 6)
SECONDS_TO_START = 120
QUESTION = {
    "prompts": [{"text": f"The ___ met the nurse {n} times."} for n in range(8)],
    "lists": "gender",
}


def started(made: Path, here: Path, name: str = "", **changes):
    """The process, and how it is asked."""
    out, store = here / f"stdout{name}", here / "store.sqlite"
    out.unlink(missing_ok=True)
    arguments = ["explore", "--model", str(made / "bert"), "--no-browser", "--store", str(store)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(here / "cache"), "HF_HUB_OFFLINE": "1"}
    around = {"stdout": out, "stderr": here / f"stderr{name}", "environment": environment, **changes}
    process = processes.start_in(arguments, processes.Surroundings(**around))
    return process, out


def address(process, out: Path) -> Served:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.is_alive():
        first, newline, _ = out.read_text().partition("\n") if out.exists() else ("", "", "")
        if newline:
            url = urlsplit(first)
            return Served(SimpleNamespace(url=first, port=url.port, token=url.path.strip("/")))
        time.sleep(0.01)
    raise AssertionError("no address")


def answer(served: Served):
    return {model: line["readings"] for model, line in served.ask("/api/ask", QUESTION).items()}


def undisturbed(made: Path, here: Path):
    here.mkdir()
    process, out = started(made, here)
    try:
        return answer(address(process, out))
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.join()
        assert process.exitcode == 128 + signal.SIGTERM


def test_killed_at_random_moments_it_gives_the_same_answers_again(made, tmp_path):
    expected, rng, longest = undisturbed(made, tmp_path / "whole"), random.Random(0), 1.0
    here = tmp_path / "broken"
    here.mkdir()
    for _ in range(KILLS):
        process, out = started(made, here)
        if rng.random() < 0.7:  # while it is asked; else while it starts
            served = address(process, out)
            asking = threading.Thread(target=_asked_in_vain, args=(served,))
            asking.start()
            time.sleep(0.2 * rng.random())
            process.kill()
            asking.join()
        else:
            process.join(longest * rng.random())
            process.kill()
        process.join()
    process, out = started(made, here)
    assert answer(address(process, out)) == expected
    process.kill()
    process.join()
    assert not list(here.rglob("*.part"))


def _asked_in_vain(served: Served) -> None:
    with suppress(OSError, HTTPException, AssertionError, ValueError):  # it was killed
        answer(served)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_with_what_was_kept(number, made, tmp_path):
    process, out = started(made, tmp_path)
    answer(address(process, out))
    os.kill(process.pid, number)
    process.join(30)
    text = (tmp_path / "stderr").read_text()
    assert process.exitcode == 128 + number, text
    assert text.splitlines()[-1] == "trueprobe: stopped; answers so far are cached"


def test_several_share_a_store(made, tmp_path):
    expected = undisturbed(made, tmp_path / "whole")
    running = [started(made, tmp_path, str(n)) for n in range(3)]
    served = [address(*one) for one in running]
    assert all(answer(one) == expected for one in served)
    for process, _ in running:
        process.kill()
        process.join()


def test_without_room_for_answers_it_says_so_and_goes_on(made, tmp_path):
    """Not even an empty store fits."""
    process, out = started(made, tmp_path, most_bytes=4_000)
    served = address(process, out)
    for _ in range(2):
        assert "answer store" in served.refusal("/api/ask", QUESTION)
    assert process.is_alive()
    process.kill()
    process.join()
    assert "Traceback" not in (tmp_path / "stderr").read_text()
