"""Models that harm the worker that computes them; workers open them in place of the true ones."""

from __future__ import annotations

import os
import signal

from trueprobe.engine.worker import ready


class Poisoned:
    """A file in the model's folder names the harm; everything but `forward` is the model's own."""

    def __init__(self, model, folder):
        self._model, self._folder = model, folder

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, batch):
        self._harm(batch)
        return self._model.forward(batch)

    def _harm(self, batch):
        kills, fails, memory = (self._folder / name for name in ("kills", "fails_once", "little_memory"))
        if kills.exists() and any(repr(read.row.ids) == kills.read_text() for read in batch.reads):
            os.kill(os.getpid(), signal.SIGKILL)
        if fails.exists():
            fails.unlink()
            raise KeyError("an error that nobody expects")
        if memory.exists() and len(batch.ids) > 2:
            raise RuntimeError("CUDA out of memory")


def as_marked(source, options):
    return Poisoned(ready(source, options), source.path)
