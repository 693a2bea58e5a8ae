"""Where rows are computed. The engine plans batches and writes the store; an executor computes.

`Local` does so in this process, `Pooled` (pool.py) in workers: spawned processes or Ray actors. All give the same
bytes, as long as each process computes with the same number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trueprobe.engine.plan import BatchPlan, pack, reads_of
from trueprobe.errors import FailedRun
from trueprobe.models import Options, RowModel, Source, Unopened, refuse_twins, weight_hashes
from trueprobe.models.rows import Read, Row
from trueprobe.signals import raise_pending_signal
from trueprobe.types import Answer, Request, WhyNot

Reads = tuple[Read, ...] | WhyNot
Readings = list[np.ndarray]
Examine = Callable[[Source], Unopened]


@dataclass(frozen=True)
class BatchTask:
    """One batch of a plan with all that is read of it, row by row."""

    plan: BatchPlan
    reads: tuple[Read, ...]

    @classmethod
    def of(cls, plan: BatchPlan, wanted: Mapping[Row, Sequence[Read]]) -> BatchTask:
        return cls(plan, tuple(read for row in plan.rows for read in reads_of(wanted[row], plan.by_head)))

    @property
    def rows(self) -> list[Row]:
        return self.plan.rows


class BatchFailed(Exception):
    """A batch that no worker could compute; the engine reports it with its texts."""

    def __init__(self, reason: str, task: BatchTask) -> None:
        super().__init__(reason)
        self.reason, self.task = reason, task


class Executor(Protocol):
    """The contract of executors. Nothing here touches the store."""

    @property
    def models_at_once(self) -> int:
        """How many models compute at the same time, each in a separate thread where there are several."""
        ...

    @property
    def threads(self) -> int | None:
        """That each worker computes with; last bits depend on it. None where this process computes."""
        ...

    def examine(self, sources: Sequence[Source], options: Options, here: Examine) -> list[Unopened]:
        """Refuses what can be refused without a network, and members of a family with equal weights. `here` is how a
        checkpoint is examined in this process."""
        ...

    def reads(self, model: RowModel, requests: Sequence[Request]) -> list[Reads]: ...
    def readings(self, model: RowModel, tasks: Sequence[BatchTask]) -> Iterator[tuple[BatchTask, Readings]]:
        """Each task once, as soon as it is computed, in any order; one reading for each of its reads, in order."""
        ...

    def assemble(self, model: RowModel, requests: Sequence[Request], readings: Sequence[Readings]) -> list[Answer]: ...

    def release(self, model: Unopened) -> None:
        """It computes nothing more for now."""
        ...

    def close(self) -> None:
        """Ends what it started; whoever still waits for a result gets an error."""
        ...


class Local:
    """In this process, one model at a time."""

    models_at_once = 1
    threads = None

    def examine(self, sources: Sequence[Source], options: Options, here: Examine) -> list[Unopened]:
        members = [source for source in sources if source.family]
        refuse_twins(members, list(map(weight_hashes, members)))
        return list(map(here, sources))

    def reads(self, model: RowModel, requests: Sequence[Request]) -> list[Reads]:
        return [model.reads(request) for request in requests]

    def readings(self, model: RowModel, tasks: Sequence[BatchTask]) -> Iterator[tuple[BatchTask, Readings]]:
        for task in tasks:
            raise_pending_signal()
            yield task, compute(model, task)

    def assemble(self, model: RowModel, requests: Sequence[Request], readings: Sequence[Readings]) -> list[Answer]:
        return model.assemble(requests, readings)

    def release(self, model: Unopened) -> None: ...
    def close(self) -> None: ...


def compute(model: RowModel, task: BatchTask) -> Readings:
    """The same in every executor: the readings of one batch, in the order of its reads.

    Out of memory halves the batch and goes on. Reads stand in the order of slots, so halves keep it."""
    wanted: dict[Row, list[Read]] = {row: [] for row in task.rows}
    for read in task.reads:
        wanted[read.row].append(read)
    left, readings = [pack(task.plan, wanted)], Readings()
    while left:
        batch = left.pop()
        try:
            readings += model.forward(batch)
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error):
                raise
            if len(batch.ids) == 1:
                raise FailedRun(f"no memory for one text of {batch.ids.shape[1]} tokens") from error
        else:
            continue
        left += reversed(batch.halves())  # here, where the error no longer holds what was being computed
    return readings


def _out_of_memory(error: BaseException) -> bool:
    import torch

    text = str(error).lower()
    memory = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return memory or "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text
