"""Where a run computes: in this process, in workers on this machine, or on a Ray cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from trueprobe.engine.executor import Executor, Local
from trueprobe.engine.pool import Pool, Transport
from trueprobe.engine.pooled import Pooled
from trueprobe.engine.worker import Setup
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
    from trueprobe.engine.spawned import Spawned

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
