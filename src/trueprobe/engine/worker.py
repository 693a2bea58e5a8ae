"""One worker: opens models and computes what it is sent, one job after the other. It never touches the store.

A spawned worker is a process with one pipe (`serve`); a Ray actor calls `Worker.run` itself. A worker keeps the model
it opened last.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any

from trueprobe import __version__
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Model, Options, RowModel, Source, Traits, examine, ready, weight_hashes
from trueprobe.models.rows import ROWS_VERSION
from trueprobe.types import Card

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
Opener = Callable[[Source, Options], Model]


@dataclass(frozen=True)
class Setup:
    """What every worker is started with."""

    threads: int
    opener: Opener = ready


@dataclass(frozen=True)
class Ticket:
    """Names a model to a worker. `compute_id` is "" until the model was examined."""

    source: Source
    options: Options
    compute_id: str = ""

    def __hash__(self) -> int:
        return hash((self.source.name, self.compute_id))  # labels of a source are a dict

    @classmethod
    def of(cls, source: Source, options: Options, compute_id: str = "") -> Ticket:
        """With absolute paths: a worker may have another current folder."""
        tokenizer = source.tokenizer and source.tokenizer.absolute()
        original = source.original and source.original.absolute()
        source = replace(source, path=source.path.absolute(), tokenizer=tokenizer, original=original)
        return cls(source, options, compute_id)


@dataclass(frozen=True)
class Job:
    """A function that can be sent, of the open model, or of the ticket where none has to be open."""

    work: Callable[[Any], Any]
    ticket: Ticket
    needs_model: bool = True
    traits: Traits | None = None  # of the model, where they are known: no worker tries them again


@dataclass(frozen=True)
class Planning:
    """What a plan needs to know of a model next to its traits."""

    trial_id: str
    row_exact: bool
    tree_limit: int
    batch_tokens: int
    max_rows: int


@dataclass(frozen=True)
class ExaminedCheckpoint:
    """What a worker finds out about a checkpoint without its weights."""

    card: Card
    weights: tuple[bytes, ...]  # hashes of their files
    planning: Planning | None  # None: the model answers whole requests


@dataclass(frozen=True)
class Hello:
    """What a worker reports of itself before it gets work."""

    where: str
    pid: int
    versions: dict[str, str]


@dataclass(frozen=True)
class Done:
    """The value of a job, or what the user did wrong."""

    value: Any = None
    error: BadInput | FailedRun | None = None


@dataclass(frozen=True)
class Broken:
    """A worker that must be replaced: it died, or failed in a way that may have damaged it."""

    reason: str


def versions() -> dict[str, str]:
    """What must be the same in all processes of a run."""
    ours = {"trueprobe": f"{__version__} (rows {ROWS_VERSION})"}
    return ours | {name: version(name) for name in _LIBRARIES}


class Worker:
    def __init__(self, setup: Setup) -> None:
        import torch

        torch.set_num_threads(setup.threads)
        self._setup = setup
        self._ticket: Ticket | None = None
        self._model: Any = None

    def hello(self) -> Hello:
        return Hello(socket.gethostname(), os.getpid(), versions())

    def run(self, job: Job) -> Done | Broken:
        try:
            return Done(self._run(job))
        except (BadInput, FailedRun) as error:
            return Done(error=error)
        except Exception as error:
            return Broken("".join(traceback.format_exception_only(error)).strip())

    def _run(self, job: Job) -> Any:
        if not job.needs_model:
            return job.work(job.ticket)
        model = self._open(job.ticket)
        if job.traits is not None:
            model.recall(job.traits)
        return job.work(model)

    def _open(self, ticket: Ticket) -> Any:
        if ticket != self._ticket:
            self._model = self._ticket = None  # before another one is opened: two may not fit
            opened = self._setup.opener(ticket.source, ticket.options)
            _refuse_other_weights(opened.card, ticket)
            self._model, self._ticket = opened, ticket
        return self._model


def traits_of(model: RowModel) -> Traits:
    model.open()
    return model.traits


def whole_words(ticket: Ticket) -> frozenset[str] | None:
    return examine(ticket.source, ticket.options).outline.whole_words()


def examined(ticket: Ticket) -> ExaminedCheckpoint:
    checkpoint = examine(ticket.source, ticket.options)
    return ExaminedCheckpoint(checkpoint.outline.card, weight_hashes(ticket.source), _planning(checkpoint.open()))


def _planning(model: Model) -> Planning | None:
    if model.contract == "answers":
        return None
    return Planning(model.trial_id, model.row_exact, model.tree_limit, model.batch_tokens, model.max_rows)


def _refuse_other_weights(card: Card, ticket: Ticket) -> None:
    if card.compute_id != ticket.compute_id:
        raise BadInput(
            f"{ticket.source.path} on {socket.gethostname()} holds other weights or another config than the run began "
            f"with ({card.compute_id[:12]}, not {ticket.compute_id[:12]}); start again when the files are in place"
        )


# ---------------------------------------------------------------- a spawned process


def serve(descriptor: int) -> None:
    """Reads `Setup`, then jobs, from a pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; the driver ends us
    connection = Connection(descriptor)
    setup = connection.recv()
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, jobs), daemon=True).start()
    worker = Worker(setup)
    connection.send(worker.hello())
    while True:
        connection.send(worker.run(jobs.get()))


def _receive(connection: Connection, jobs: queue.SimpleQueue[Job]) -> None:
    """In a separate thread, so that the driver never waits for a full pipe; without a driver, nothing goes on."""
    try:
        while True:
            jobs.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
