"""What a person sees while rows are computed; nothing off a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from trueprobe.engine.progress import Bar, Quiet, Steps, on_terminal


def test_off_a_terminal_nothing_is_shown(capfd):
    shown = on_terminal()
    assert type(shown) is Quiet
    shown.start("bert", 10, 5)
    shown.advance(10)
    with shown.waiting("opening"):
        shown.stop()
    assert capfd.readouterr() == ("", "")


def test_steps_are_silent_off_a_terminal(capfd):
    with Steps() as shown:
        shown("downloading", 1, 2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_steps_show_what_is_done_and_how_much_of_it_on_a_terminal():
    code = (
        "import time\nfrom trueprobe.engine.progress import Steps\nwith Steps() as shown:\n"
        "    shown('toy.whl', 3_000_000, 12_000_000); time.sleep(0.3)\n"
        "    shown('cleaning', 0, 0); time.sleep(0.3)\n"
    )
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(main, 4096)
        except OSError:  # the other end has closed
            break
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert re.search(r"toy\.whl .* 3\.0/12\.0 MB", text)
    assert "cleaning" in text


@pytest.mark.slow
def test_on_a_terminal_rows_saved_speed_and_time_left_are_shown(checkpoint, tmp_path):
    model = checkpoint("bert")
    options = ["--limit", "200", "--batch-tokens", "64", "--out", str(tmp_path / "r"), "--store", str(tmp_path / "s")]
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "trueprobe", "run", "counteracts", "--model", str(model), *options]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            more = os.read(main, 4096)
        except OSError:  # the other end has closed
            break
        if not more:
            break
        shown += more
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode(errors="replace"))
    assert "opening bert" in text
    assert re.search(r"(\d+)/\1 rows, \d+ saved, [\d,]+/s \d:\d\d:\d\d", text)


def test_a_bar_that_never_started_can_be_stopped():
    Bar().stop()
