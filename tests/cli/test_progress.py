"""What a person sees while something takes seconds; nothing off a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import types

import pytest

from trueprobe.cli.progress import LineProgress, python_progress, terminal_progress


def on_a_terminal(*command: str) -> str:
    """What a Python command writes to stderr, there being a terminal 100 columns wide."""
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    written = b""
    while True:
        try:
            more = os.read(main, 4096)
        except OSError:  # the other end has closed
            break
        if not more:
            break
        written += more
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode(errors="replace"))


def test_off_a_terminal_a_line_comes_now_and_then(capfd, monkeypatch):
    """None in the first half minute, then at growing intervals: some dozens in ten hours."""
    clock = [0.0]
    monkeypatch.setattr("trueprobe.cli.progress.monotonic", lambda: clock[0])
    with terminal_progress().task("bert", 36_000, "rows") as task:
        for second in range(1, 36_001):
            clock[0] = float(second)
            task.advance(1, "5 saved")
    out, lines = capfd.readouterr()
    written = lines.splitlines()
    assert out == ""
    assert written[0] == "bert: 30/36,000 (0%) rows 5 saved"
    assert 24 <= len(written) <= 60


def test_work_of_unknown_amount_and_several_tasks_share_the_lines(capfd, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("trueprobe.cli.progress.monotonic", lambda: clock[0])
    progress = terminal_progress()
    with progress.task("outer", 2, "models") as outer, progress.task("cleaning") as inner:
        clock[0] = 31.0
        inner.reach(7)
        outer.advance()
    assert capfd.readouterr().err == "cleaning: 7\n"


def test_off_a_terminal_a_short_command_shows_nothing(capfd):
    progress = terminal_progress()
    assert type(progress) is LineProgress
    with progress.task("bert", 10, "rows") as task, progress.task("opening"):
        task.advance(10, "5 saved")
        task.reach(10, 10)
    assert capfd.readouterr() == ("", "")


class Handle:
    """What IPython returns for an output that can be replaced."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def update(self, content, raw):
        self.lines.append(content["text/plain"])


@pytest.fixture
def output(monkeypatch):
    """The replaceable outputs of a notebook's cell, and a clock that stands still."""
    handle = Handle()

    def display(content, raw, display_id):
        assert not handle.lines
        handle.update(content, raw)
        return handle

    for name in ("ipykernel", "IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(display=display))
    monkeypatch.setattr("trueprobe.cli.progress.monotonic", lambda: 100.0)
    return handle


def test_in_a_notebook_one_line_is_replaced_and_is_empty_in_the_end(output, capfd):
    progress = python_progress()
    with progress.task("bert", 40, "rows") as task:
        with progress.task("opening"):
            pass
        task.advance(10)
    assert output.lines == ["bert …", "opening …", "bert …", ""]
    assert capfd.readouterr() == ("", "")


def test_in_a_notebook_a_line_is_replaced_a_few_times_a_second(output, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("trueprobe.cli.progress.monotonic", lambda: clock[0])
    with python_progress().task("bert", 8000, "rows") as task:
        for _ in range(8):
            clock[0] += 0.125
            task.advance(1000, "5 saved")
    assert len(output.lines) == 1 + 4 + 1
    assert output.lines[1] == "bert: 2,000/8,000 (25%) rows 5 saved"


def test_from_python_outside_a_notebook_progress_is_that_of_the_commands():
    assert type(python_progress()) is type(terminal_progress())


@pytest.mark.slow
def test_bytes_are_shown_as_sizes_and_work_of_unknown_amount_by_its_title():
    text = on_a_terminal(
        "-c",
        "import time\nfrom trueprobe.cli.progress import terminal_progress\nprogress = terminal_progress()\n"
        "with progress.task('toy.whl', 12_000_000, 'bytes') as task:\n    task.reach(3_000_000); time.sleep(0.3)\n"
        "with progress.task('cleaning'):\n    time.sleep(0.3)\n",
    )
    assert re.search(r"toy\.whl .* 3\.0/12\.0 MB", text)
    assert "cleaning" in text


@pytest.mark.slow
def test_two_tasks_are_shown_at_once_and_a_failed_one_leaves_the_terminal_clean():
    text = on_a_terminal(
        "-c",
        "import time\nfrom trueprobe.cli.progress import terminal_progress\nprogress = terminal_progress()\n"
        "try:\n    with progress.task('outer', 2, 'models'), progress.task('inner', 5, 'rows') as inner:\n"
        "        inner.advance(2, 'noted'); time.sleep(0.3); raise KeyError\n"
        "except KeyError:\n    pass\n"
        "with progress.task('afterwards'):\n    time.sleep(0.3)\n",
    )
    assert re.search(r"outer .* 0/2 models", text)
    assert re.search(r"inner .* 2/5 rows +noted", text)
    assert "afterwards" in text


@pytest.mark.slow
def test_on_a_terminal_rows_saved_speed_and_time_left_are_shown(checkpoint, tmp_path):
    options = ["--limit", "200", "--batch-tokens", "64", "--out", str(tmp_path / "r"), "--store", str(tmp_path / "s")]
    text = on_a_terminal("-m", "trueprobe", "run", "counteracts", "--model", str(checkpoint("bert")), *options)
    assert "opening bert" in text
    assert re.search(r"(\d+)/\1 rows +\d+ saved, [\d,]+/s \d:\d\d:\d\d", text)
