"""Commands in a process of their own that can be killed, without a new interpreter that imports torch each time."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Surroundings:
    """Of a command: where its output goes, and what the machine allows it."""

    stderr: Path | str = os.devnull
    stdout: Path | str = os.devnull
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    most_bytes: int | None = None  # that a file may have
    cards: Path | None = None  # of assets, instead of the shipped ones
    prepare: Callable[[], object] | None = None  # called before the command


def start(arguments: list[str], stderr: Path | None = None, cwd: Path | None = None) -> BaseProcess:
    """`trueprobe ARGUMENTS`, with its errors in a file where one is named."""
    return start_in(arguments, Surroundings(stderr or os.devnull, cwd=cwd))


def start_in(arguments: list[str], surroundings: Surroundings) -> BaseProcess:
    process = _SERVER.Process(target=_command, args=(arguments, surroundings))
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


def _command(arguments: list[str], around: Surroundings) -> None:
    from trueprobe.assets import catalogue
    from trueprobe.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where tests run in the background or without a
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # terminal, and both are ignored
    os.environ.clear()
    os.environ.update(around.environment)
    for stream, path in ((sys.stdout, around.stdout), (sys.stderr, around.stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream.fileno())
    if around.cwd is not None:
        os.chdir(around.cwd)
    if around.cards is not None:
        catalogue.CARDS = around.cards
    if around.most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (around.most_bytes, around.most_bytes))
    if around.prepare is not None:
        around.prepare()
    sys.argv = ["trueprobe", *arguments]
    main()
