"""Commands in a process of their own that can be killed, without a new interpreter that imports torch each time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

# children are copies of a process that has imported everything and started nothing
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "trueprobe.cli",
        "trueprobe.runs.execute",
        "trueprobe.runs.tables",
        "transformers.models.bert.modeling_bert",
        "transformers.models.gpt2.modeling_gpt2",
        "scipy.stats",
        "pandas",
    ]
)


def start(arguments: list[str], stderr: Path | None = None, cwd: Path | None = None) -> BaseProcess:
    """`trueprobe ARGUMENTS`, with its errors in a file where one is named."""
    environment = dict(os.environ)
    process = _SERVER.Process(target=_command, args=(arguments, str(stderr or os.devnull), cwd, environment))
    process.start()
    return process


def kill_when(condition: Callable[[], bool], arguments: list[str]) -> None:
    """Kill -9 as soon as the condition holds; it must hold before the command ends."""
    process = start(arguments)
    deadline = time.monotonic() + 120
    while not condition() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert process.is_alive(), "the command ended before it could be killed"
    process.kill()
    process.join()


def _command(arguments: list[str], stderr: str, cwd: Path | None, environment: dict[str, str]) -> None:
    from trueprobe.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    for stream, path in ((sys.stdout, os.devnull), (sys.stderr, stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream.fileno())
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = ["trueprobe", *arguments]
    main()
