"""Where a run computes: in this process, in workers on this machine, or on a Ray cluster.

Workers on this machine are new processes, which share nothing with this one but a pipe.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Literal, get_args

from trueprobe.engine.executor import Executor, Local
from trueprobe.engine.pool import Pool, Report, Transport
from trueprobe.engine.pooled import Pooled
from trueprobe.engine.worker import Broken, Job, Setup
from trueprobe.errors import BadInput, nearest

On = Literal["local", "ray"]


@dataclass(frozen=True)
class Compute:
    """`Compute()` is this process, `Compute(workers=4)` four processes, `Compute(on="ray")` a Ray cluster."""

    workers: int = 0  # 0: none; with Ray as many as it has CPUs (or GPUs) for
    on: On = "local"
    ray_address: str = ""  # "auto" or ray://HOST:PORT; "" starts Ray here
    gpus_per_worker: float = 0
    threads: int = 0  # of each process; 0: all of this process, divided among its workers

    def __post_init__(self) -> None:
        if self.on not in get_args(On):
            raise BadInput(f"--on {self.on}{nearest(self.on, get_args(On))}")
        if min(self.workers, self.gpus_per_worker, self.threads) < 0:
            raise BadInput("--workers, --gpus-per-worker and --threads cannot be negative")
        if self.ray_address and self.on != "ray":
            raise BadInput("--ray-address goes with --on ray")
        if self.gpus_per_worker and not self.workers and self.on != "ray":
            raise BadInput("--gpus-per-worker goes with --workers N or --on ray")


def executor(compute: Compute) -> Executor:
    if compute.on == "ray":
        from trueprobe.engine.on_ray import ray_actors

        return Pooled(Pool(*ray_actors(compute.workers, compute.gpus_per_worker, compute.threads, compute.ray_address)))
    if compute.workers:
        return Pooled(Pool(_spawned(compute), compute.workers))
    if compute.threads:
        import torch

        torch.set_num_threads(compute.threads)
    return Local()


def _spawned(compute: Compute) -> Transport:
    _refuse_missing_gpus(compute)
    threads = compute.threads or max(1, _threads_here() // compute.workers)
    return Spawned(Setup(threads), compute.gpus_per_worker)


def _threads_here() -> int:
    """What torch would take for itself."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return int(chosen) if chosen.isdigit() and int(chosen) else cores()


def cores() -> int:
    """That this process may use; all of the machine where the system does not report it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_missing_gpus(compute: Compute) -> None:
    if not compute.gpus_per_worker:
        return
    import torch

    needed, here = compute.workers * compute.gpus_per_worker, torch.cuda.device_count()
    if needed > here:
        raise BadInput(f"{compute.workers} workers need {needed:g} GPUs; this machine has {here}")


# ---------------------------------------------------------------- workers on this machine


_CODE = "from trueprobe.engine.worker import serve; serve({})"


@dataclass(frozen=True)
class SpawnedWorker:
    process: subprocess.Popen[bytes]
    connection: Connection

    def send(self, message: Setup | Job) -> None:
        with suppress(OSError):  # it died: whoever listens to it reports that
            self.connection.send(message)

    def stop(self) -> None:
        self.process.kill()


@dataclass(frozen=True)
class Spawned:
    """Starts workers; each computes with its share of threads, and of GPUs where it shall have some."""

    setup: Setup
    gpus_per_worker: float = 0

    def start(self, slot: int, report: Report) -> SpawnedWorker:
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            process = subprocess.Popen(
                # -P: not a module of the current folder, which may be a stranger's
                [sys.executable, "-P", "-c", _CODE.format(theirs.fileno())],
                env=self._environment(slot),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        worker = SpawnedWorker(process, ours)
        threading.Thread(target=_listen, args=(worker, report), daemon=True).start()
        worker.send(self.setup)
        return worker

    def _environment(self, slot: int) -> dict[str, str]:
        threads = str(self.setup.threads)
        chosen = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": threads}
        return {**os.environ, **chosen, "MKL_NUM_THREADS": threads, **self._gpus(slot)}

    def _gpus(self, slot: int) -> dict[str, str]:
        """Worker 1 with two GPUs -> {"CUDA_VISIBLE_DEVICES": "2,3"}; with half of one, 0 and 1 share the first."""
        if not self.gpus_per_worker:
            return {}
        first = math.floor(slot * self.gpus_per_worker)
        shared = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        devices = [str(first + i) for i in range(math.ceil(self.gpus_per_worker))]
        return {"CUDA_VISIBLE_DEVICES": ",".join(shared[int(d)] if shared != [""] else d for d in devices)}


def _listen(worker: SpawnedWorker, report: Report) -> None:
    try:
        while True:
            report(worker.connection.recv())
    except (EOFError, OSError):
        report(Broken(_reason(worker.process.wait())))


def _reason(code: int) -> str:
    if code >= 0:
        return f"its worker ended with exit code {code}"
    memory = "; perhaps for want of memory: fewer --workers or --batch-tokens" if -code == signal.SIGKILL else ""
    return f"its worker was killed ({signal.Signals(-code).name}{memory})"
