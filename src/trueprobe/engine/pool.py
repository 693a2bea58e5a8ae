"""Workers and who computes what: jobs go where their model is open, and a job whose worker died goes to another one.

There is no loop: whatever changes (a job comes, a worker answers or dies) hands out what can be handed out. A worker
has one job and the next one waiting. A model in use keeps a worker; workers with nothing to do help the model with
most jobs waiting.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from trueprobe.engine.worker import Broken, Done, Hello, Job, Setup, Ticket, versions
from trueprobe.errors import BadInput, FailedRun

MOST_ATTEMPTS = 3  # of one job, and of starting workers before any of them is ready
_AHEAD = 2  # jobs that a worker has at once: one in work, one waiting

Message = Hello | Done | Broken
Report = Callable[[Message], None]  # called from any thread, for every message of one worker, `Broken` last


class Started(Protocol):
    """A worker that was started; jobs are done in the order in which they are sent."""

    def send(self, job: Job) -> None: ...
    def stop(self) -> None:
        """At once; a second time does nothing."""
        ...


class Transport(Protocol):
    """What differs between processes and Ray actors."""

    @property
    def setup(self) -> Setup: ...

    def start(self, slot: int, report: Report) -> Started: ...


class GivenUp(Exception):
    """No worker could do a job."""


@dataclass(eq=False)
class _Waiting:
    job: Job
    future: Future[Any] = field(default_factory=Future)
    attempts: int = 0


@dataclass(eq=False)
class _Worker:
    slot: int
    started: Started | None = None
    hello: Hello | None = None
    ticket: Ticket | None = None  # of the model it has open, or opens for the last job it was sent
    jobs: deque[_Waiting] = field(default_factory=deque)


class Pool:
    def __init__(self, transport: Transport, size: int) -> None:
        self.size, self.threads = size, transport.setup.threads
        self._transport, self._versions = transport, versions()
        self._lock = threading.RLock()
        self._queues: dict[Ticket, deque[_Waiting]] = {}
        self._anywhere: deque[_Waiting] = deque()  # jobs that need no open model
        self._in_use: Counter[Ticket] = Counter()
        self._failed_starts = 0
        self._refusal: BaseException | None = None  # set once; from then on every job gets it
        self._workers: list[_Worker] = []
        with self._lock:
            for slot in range(size):
                self._start(slot)

    @property
    def pids(self) -> list[int]:
        """Of the workers that are ready."""
        with self._lock:
            return [worker.hello.pid for worker in self._workers if worker.hello]

    def submit(self, job: Job) -> Future[Any]:
        waiting = _Waiting(job)
        with self._lock:
            if self._refusal:
                waiting.future.set_exception(self._refusal)
            else:
                self._enqueue(waiting)
                self._hand_out()
        return waiting.future

    def use(self, ticket: Ticket) -> None:
        """From now on one worker at least keeps this model open, as long as there are as many workers as models."""
        with self._lock:
            self._in_use[ticket] += 1

    def release(self, ticket: Ticket) -> None:
        with self._lock:
            del self._in_use[ticket]
            self._hand_out()

    def close(self) -> None:
        self._refuse(FailedRun("the workers were stopped"))

    # ------------------------------------------------------------ what workers report

    def _start(self, slot: int) -> None:
        worker = _Worker(slot)
        self._workers.append(worker)
        worker.started = self._transport.start(slot, lambda message: self._heard(worker, message))

    def _heard(self, worker: _Worker, message: Message) -> None:
        with self._lock:
            if worker not in self._workers or self._refusal:
                return
            if isinstance(message, Hello):
                self._welcome(worker, message)
            elif isinstance(message, Done):
                self._finish(worker.jobs.popleft(), message)
            else:
                self._replace(worker, message)
            self._hand_out()

    def _welcome(self, worker: _Worker, hello: Hello) -> None:
        differing = [name for name, ours in self._versions.items() if hello.versions.get(name) != ours]
        if differing:
            theirs = ", ".join(f"{name} {hello.versions.get(name, 'missing')}" for name in differing)
            ours = ", ".join(f"{name} {self._versions[name]}" for name in differing)
            self._refuse(BadInput(f"the worker on {hello.where} has {theirs}, this process {ours}; install the same"))
            return
        worker.hello, self._failed_starts = hello, 0

    def _finish(self, waiting: _Waiting, done: Done) -> None:
        if done.error is not None:
            waiting.future.set_exception(done.error)
        else:
            waiting.future.set_result(done.value)

    def _replace(self, worker: _Worker, broken: Broken) -> None:
        """The job it was at counts as tried; those behind it do not."""
        self._workers.remove(worker)
        if worker.started:
            worker.started.stop()
        if worker.hello is None:
            self._failed_starts += 1
            if self._failed_starts >= MOST_ATTEMPTS:
                self._refuse(FailedRun(f"no worker could be started: {broken.reason}"))
                return
        if worker.jobs:
            worker.jobs[0].attempts += 1
        for waiting in reversed(worker.jobs):
            if waiting.attempts >= MOST_ATTEMPTS:
                waiting.future.set_exception(GivenUp(f"tried {MOST_ATTEMPTS} times, {broken.reason}"))
            else:
                self._enqueue(waiting, first=True)
        self._start(worker.slot)

    def _refuse(self, error: BaseException) -> None:
        with self._lock:
            if self._refusal:
                return
            self._refusal = error
            queued = [*self._anywhere, *(one for each in self._queues.values() for one in each)]
            sent = [one for worker in self._workers for one in worker.jobs]
            for worker in self._workers:
                if worker.started:
                    worker.started.stop()
        for waiting in (*queued, *sent):
            waiting.future.set_exception(error)

    # ------------------------------------------------------------ who gets what

    def _enqueue(self, waiting: _Waiting, first: bool = False) -> None:
        job = waiting.job
        line = self._queues.setdefault(job.ticket, deque()) if job.needs_model else self._anywhere
        if first:
            line.appendleft(waiting)
        else:
            line.append(waiting)

    def _hand_out(self) -> None:
        if self._refusal:
            return
        for at_most in range(1, _AHEAD + 1):  # everybody gets one before anybody gets a second
            for worker in self._workers:
                if worker.hello and len(worker.jobs) < at_most and (waiting := self._next_for(worker)):
                    self._send(worker, waiting)

    def _send(self, worker: _Worker, waiting: _Waiting) -> None:
        if waiting.job.needs_model:
            worker.ticket = waiting.job.ticket
        worker.jobs.append(waiting)
        assert worker.started is not None
        worker.started.send(waiting.job)

    def _next_for(self, worker: _Worker) -> _Waiting | None:
        if self._anywhere:
            return self._anywhere.popleft()
        waiting = {ticket: line for ticket, line in self._queues.items() if line}
        if worker.ticket in waiting:
            return waiting[worker.ticket].popleft()
        if worker.jobs or not waiting:
            return None
        open_elsewhere = {other.ticket for other in self._workers if other is not worker}
        unopened = [ticket for ticket in waiting if ticket not in open_elsewhere]
        keeps = worker.ticket in self._in_use and worker.ticket not in open_elsewhere
        if keeps and (not unopened or self._somebody_is_free()):
            return None
        chosen = unopened[0] if unopened else max(waiting, key=lambda ticket: len(waiting[ticket]))
        return waiting[chosen].popleft()

    def _somebody_is_free(self) -> bool:
        """Is there a worker, ready or starting, that keeps no model that others would have to open again?"""
        held = Counter(worker.ticket for worker in self._workers)
        return any(
            worker.ticket is None or worker.ticket not in self._in_use or held[worker.ticket] > 1
            for worker in self._workers
        )
