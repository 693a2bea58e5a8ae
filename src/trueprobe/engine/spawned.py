"""Workers on this machine: new processes, which share nothing with this one but a pipe."""

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

from trueprobe.engine.pool import Report
from trueprobe.engine.worker import Broken, Job, Setup

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
