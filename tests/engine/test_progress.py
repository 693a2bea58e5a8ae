"""What a person sees while rows are computed; nothing off a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from trueprobe.engine.progress import Bar, Quiet, on_terminal


def test_off_a_terminal_nothing_is_shown(capfd):
    shown = on_terminal()
    assert type(shown) is Quiet
    shown.start("bert", 10, 5)
    shown.advance(10)
    with shown.waiting("opening"):
        shown.stop()
    assert capfd.readouterr() == ("", "")


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
