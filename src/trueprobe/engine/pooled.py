"""The executor that computes in workers. This process opens no weights and no tokenizer: workers examine checkpoints,
turn requests into rows, compute them, and put answers together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any, Literal

import numpy as np

from trueprobe.engine.executor import BatchFailed, BatchTask, Examine, Local, Readings, Reads, compute
from trueprobe.engine.pool import GivenUp, Pool
from trueprobe.engine.worker import ExaminedCheckpoint, Job, Planning, Ticket, examined, traits_of, whole_words
from trueprobe.errors import FailedRun
from trueprobe.models import Model, Options, Outline, RowModel, Source, Traits, Unopened, refuse_twins
from trueprobe.models.rows import Batch
from trueprobe.types import Answer, Card, Request

_REQUESTS_AT_ONCE = 512  # in one job


class PooledModel:
    """A model that workers have open; the same to the engine as one in this process."""

    contract: Literal["rows"] = "rows"

    def __init__(self, pool: Pool, ticket: Ticket, card: Card, planning: Planning) -> None:
        self.pool, self.ticket, self.card = pool, ticket, card
        self.trial_id, self.row_exact, self.tree_limit = planning.trial_id, planning.row_exact, planning.tree_limit
        self.batch_tokens, self.max_rows = planning.batch_tokens, planning.max_rows
        self._traits: Traits | None = None

    @property
    def opened(self) -> bool:
        return self._traits is not None

    def open(self) -> None:
        """In a worker, which tries the network."""
        self._traits = self._traits or self._result(traits_of)

    @property
    def traits(self) -> Traits:
        self.open()
        assert self._traits is not None
        return self._traits

    def recall(self, traits: Traits) -> None:
        self._traits = traits

    def reads(self, request: Request) -> Reads:
        reads: Reads = self._result(methodcaller("reads", request))
        return reads

    def forward(self, batch: Batch) -> list[np.ndarray]:
        readings: Readings = self._result(methodcaller("forward", batch))
        return readings

    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]:
        answers: list[Answer] = self._result(methodcaller("assemble", requests, readings))
        return answers

    def special_tokens(self) -> Mapping[str, int]:
        tokens: Mapping[str, int] = self._result(methodcaller("special_tokens"))
        return tokens

    def token_ids(self, text: str) -> tuple[int, ...]:
        ids: tuple[int, ...] = self._result(methodcaller("token_ids", text))
        return ids

    def submit(self, work: Callable[[Any], Any]) -> Future[Any]:
        return self.pool.submit(Job(work, self.ticket, traits=self._traits))

    def _result(self, work: Callable[[Any], Any]) -> Any:
        return _results([self.submit(work)])[0]


@dataclass(frozen=True)
class PooledCheckpoint:
    """A checkpoint that a worker examined."""

    pool: Pool
    ticket: Ticket
    card: Card
    planning: Planning

    @property
    def outline(self) -> Outline:
        """Its weights take no memory of this process."""
        return Outline(self.card, self._whole_words, 0)

    @property
    def location(self) -> str:
        return self.ticket.source.location

    def open(self) -> Model:
        self.pool.use(self.ticket)
        return PooledModel(self.pool, self.ticket, self.card, self.planning)

    def _whole_words(self) -> frozenset[str] | None:
        words: frozenset[str] | None = _results([self.pool.submit(Job(whole_words, self.ticket, needs_model=False))])[0]
        return words


class Pooled:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @property
    def models_at_once(self) -> int:
        return self.pool.size

    @property
    def threads(self) -> int:
        return self.pool.threads

    def examine(self, sources: Sequence[Source], options: Options, here: Examine) -> list[Unopened]:
        """A model that answers whole requests is examined and asked from this process: the work is done elsewhere."""
        files = [source for source in sources if not source.server]
        jobs = [self.pool.submit(Job(examined, Ticket.of(source, options), needs_model=False)) for source in files]
        every: dict[str, ExaminedCheckpoint] = {s.name: one for s, one in zip(files, _results(jobs), strict=True)}
        refuse_twins(files, [examined.weights for examined in every.values()])
        return [self._checkpoint(source, options, every.get(source.name)) or here(source) for source in sources]

    def _checkpoint(
        self, source: Source, options: Options, examined: ExaminedCheckpoint | None
    ) -> PooledCheckpoint | None:
        """None for a model that answers whole requests."""
        if examined is None or examined.planning is None:
            return None
        ticket = Ticket.of(source, options, examined.card.compute_id)
        return PooledCheckpoint(self.pool, ticket, examined.card, examined.planning)

    def reads(self, model: RowModel, requests: Sequence[Request]) -> list[Reads]:
        parts = _results([_pooled(model).submit(partial(Local().reads, requests=chunk)) for chunk in _chunks(requests)])
        return [reads for part in parts for reads in part]

    def readings(self, model: RowModel, tasks: Sequence[BatchTask]) -> Iterator[tuple[BatchTask, Readings]]:
        """A few jobs are submitted at a time: what is computed and not yet stored is held in memory."""
        left, going = deque(tasks), dict[Future[Any], BatchTask]()
        while left or going:
            while left and len(going) < 3 * self.pool.size:
                task = left.popleft()
                going[_pooled(model).submit(partial(compute, task=task))] = task
            for future in wait(going, return_when=FIRST_COMPLETED).done:
                task = going.pop(future)
                if isinstance(error := future.exception(), GivenUp):
                    raise BatchFailed(str(error), task) from error
                yield task, future.result()

    def assemble(self, model: RowModel, requests: Sequence[Request], readings: Sequence[Readings]) -> list[Answer]:
        chunks = zip(_chunks(requests), _chunks(readings), strict=True)
        parts = _results([_pooled(model).submit(methodcaller("assemble", *chunk)) for chunk in chunks])
        return [answer for part in parts for answer in part]

    def release(self, model: Unopened) -> None:
        if isinstance(model, PooledCheckpoint):
            self.pool.release(model.ticket)

    def close(self) -> None:
        self.pool.close()


def _pooled(model: RowModel) -> PooledModel:
    if not isinstance(model, PooledModel):
        raise TypeError(f"{model.card.name} was opened by another executor")
    return model


def _chunks(every: Sequence[Any]) -> list[Sequence[Any]]:
    return [every[start : start + _REQUESTS_AT_ONCE] for start in range(0, len(every), _REQUESTS_AT_ONCE)]


def _results(futures: Sequence[Future[Any]]) -> list[Any]:
    try:
        return [future.result() for future in futures]
    except GivenUp as error:
        raise FailedRun(str(error)) from error
