"""Workers as Ray actors: on this machine, or on a cluster whose nodes see checkpoints at the same paths."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import chdir
from dataclasses import dataclass
from typing import Any

from trueprobe.engine.pool import Message, Report
from trueprobe.engine.worker import Broken, Job, Setup, Worker
from trueprobe.errors import BadInput, FailedRun

Inbox = queue.SimpleQueue[tuple[Report, Message]]


@dataclass(frozen=True)
class RayWorker:
    actor: Any
    report: Report
    inbox: Inbox

    def send(self, job: Job) -> None:
        self.hear(self.actor.run.remote(job))

    def hear(self, reference: Any) -> None:
        reference.future().add_done_callback(self._done)

    def stop(self) -> None:
        import ray

        ray.kill(self.actor)

    def _done(self, future: Any) -> None:
        """Called by the thread of Ray that all its calls need. Every call to an actor that died fails; the first one
        is enough."""
        error = future.exception()
        self.inbox.put((self.report, future.result() if error is None else Broken(_reason(error))))


class RayActors:
    """Starts actors; Ray restarts none of them, the pool does. What they report is passed on by a separate thread,
    since whoever hears it calls Ray again."""

    def __init__(self, setup: Setup, gpus_per_worker: float = 0) -> None:
        self.setup, self.gpus_per_worker = setup, gpus_per_worker
        self._inbox: Inbox = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(self._inbox,), daemon=True).start()

    def start(self, slot: int, report: Report) -> RayWorker:
        import ray

        options = {"num_cpus": self.setup.threads, "num_gpus": self.gpus_per_worker, "max_restarts": 0}
        remote: Any = ray.remote(Worker)
        worker = RayWorker(
            remote.options(scheduling_strategy="SPREAD", **options).remote(self.setup), report, self._inbox
        )
        worker.hear(worker.actor.hello.remote())
        return worker


def _pass_on(inbox: Inbox) -> None:
    while True:
        report, message = inbox.get()
        report(message)


def ray_actors(workers: int, gpus_per_worker: float, threads: int, address: str) -> tuple[RayActors, int]:
    """Connects to Ray, or starts it here, and gives the number of actors."""
    try:
        import ray
    except ImportError as error:
        raise BadInput("--on ray needs Ray: pip install 'trueprobe[ray]'") from error
    if not ray.is_initialized():
        try:
            with chdir(os.sep):  # Ray's workers import from its current folder first, which may be a stranger's
                ray.init(
                    address=address or "local", log_to_driver=False, logging_level="ERROR", include_dashboard=False
                )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BadInput(f"no Ray cluster at '{address}': {str(error).strip().splitlines()[0]}") from error
    has = ray.cluster_resources()
    threads = threads or 1
    fitting = int(has.get("CPU", 0) // threads)
    if gpus_per_worker:
        fitting = min(fitting, int(has.get("GPU", 0) / gpus_per_worker))
    if max(workers, 1) > fitting:
        each = f"{threads} CPUs" + (f" and {gpus_per_worker:g} GPUs" if gpus_per_worker else "")
        raise BadInput(
            f"{max(workers, 1)} workers of {each} each do not fit the Ray cluster, which has "
            f"{has.get('CPU', 0):g} CPUs and {has.get('GPU', 0):g} GPUs"
        )
    return RayActors(Setup(threads), gpus_per_worker), workers or fitting


def _reason(error: BaseException) -> str:
    if isinstance(error, (BadInput, FailedRun)):
        return str(error)
    return f"its Ray actor died ({str(error).strip().splitlines()[0]})"
