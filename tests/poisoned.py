"""Models that harm the worker that computes them; workers open them in place of the true ones."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from trueprobe.engine.worker import ready


class Poisoned:
    """`harm` sees every batch before it is computed; everything else is the model's own."""

    def __init__(self, model, harm):
        self._model, self._harm = model, harm

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, batch):
        self._harm(batch)
        return self._model.forward(batch)


def kills_worker(source, options):
    """A row that starts with the poison of the model's folder kills its worker, each time."""
    poison = eval((source.path / "poison").read_text())

    def harm(batch):
        if any(read.row.ids == poison for read in batch.reads):
            os.kill(os.getpid(), signal.SIGKILL)

    return Poisoned(ready(source, options), harm)


def fails_twice(source, options):
    """The first two batches of all workers fail with an error that nobody expects."""

    def harm(batch):
        for attempt in ("first", "second"):
            try:
                os.close(os.open(Path(source.path) / attempt, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            raise KeyError("device-side assert")

    return Poisoned(ready(source, options), harm)


def little_memory(source, options):
    """There is memory for two slots at a time."""

    def harm(batch):
        if len(batch.ids) > 2:
            raise RuntimeError("CUDA out of memory")

    return Poisoned(ready(source, options), harm)
