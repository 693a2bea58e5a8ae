"""The executor that computes in workers. This process opens no weights and no tokenizer: workers examine checkpoints,
turn requests into rows, compute them, and put answers together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueprobe.engine.executor import BatchFailed, Readings, Reads, Task
from trueprobe.engine.pool import GivenUp, Pool
from trueprobe.engine.worker import Job, Shape, Ticket
from trueprobe.errors import FailedRun
from trueprobe.models import Options, Outline, RowModel, Source, Unopened
from trueprobe.models.rows import Batch
from trueprobe.types import Answer, Card, Request

_REQUESTS_AT_ONCE = 512  # in one job


@dataclass(frozen=True)
class PooledModel:
    """A model that workers have open."""

    pool: Pool
    ticket: Ticket
    card: Card
    shape: Shape
    contract: Literal["rows"] = "rows"

    @property
    def row_exact(self) -> bool:
        return self.shape.row_exact

    @property
    def shares_prefixes(self) -> bool:
        return self.shape.shares_prefixes

    @property
    def tree_limit(self) -> int:
        return self.shape.tree_limit

    @property
    def exact_lengths(self) -> bool:
        return self.shape.exact_lengths

    @property
    def batch_tokens(self) -> int:
        return self.shape.batch_tokens

    @property
    def max_rows(self) -> int:
        return self.shape.max_rows

    @property
    def row_multiple(self) -> int:
        return self.shape.row_multiple

    def reads(self, request: Request) -> Reads:
        reads: Reads = self._call("reads", request)
        return reads

    def forward(self, batch: Batch) -> list[np.ndarray]:
        readings: Readings = self._call("forward", batch)
        return readings

    def assemble(self, requests: Sequence[Request], readings: Sequence[Sequence[np.ndarray]]) -> list[Answer]:
        answers: list[Answer] = self._call("assemble", requests, readings)
        return answers

    def special_tokens(self) -> Mapping[str, int]:
        tokens: Mapping[str, int] = self._call("special_tokens")
        return tokens

    def token_ids(self, text: str) -> tuple[int, ...]:
        ids: tuple[int, ...] = self._call("token_ids", text)
        return ids

    def _call(self, *payload: Any) -> Any:
        return result(self.pool.submit(Job("call", self.ticket, payload)))


@dataclass(frozen=True)
class PooledCheckpoint:
    """A checkpoint that a worker examined."""

    pool: Pool
    ticket: Ticket
    card: Card

    @property
    def outline(self) -> Outline:
        """Its weights take no memory of this process."""
        return Outline(self.card, self._whole_words, 0)

    @property
    def location(self) -> str:
        return self.ticket.source.location

    def open(self) -> PooledModel:
        self.pool.use(self.ticket)
        return PooledModel(self.pool, self.ticket, self.card, result(self.pool.submit(Job("shape", self.ticket))))

    def _whole_words(self) -> frozenset[str] | None:
        words: frozenset[str] | None = result(self.pool.submit(Job("whole_words", self.ticket)))
        return words


class Pooled:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @property
    def models_at_once(self) -> int:
        return self.pool.size

    def examine(self, sources: Sequence[Source], options: Options) -> list[Unopened]:
        tickets = [Ticket(source, options) for source in sources]
        cards = _results([self.pool.submit(Job("examine", ticket)) for ticket in tickets])
        return [
            PooledCheckpoint(self.pool, Ticket(ticket.source, options, card.compute_id), card)
            for ticket, card in zip(tickets, cards, strict=True)
        ]

    def reads(self, model: RowModel, requests: Sequence[Request]) -> list[Reads]:
        jobs = [Job("reads", _ticket(model), chunk) for chunk in _chunks(requests)]
        return [reads for part in _results([self.pool.submit(job) for job in jobs]) for reads in part]

    def readings(self, model: RowModel, tasks: Sequence[Task]) -> Iterator[tuple[Task, Readings]]:
        """A few jobs are submitted at a time: what is computed and not yet stored is held in memory."""
        left, going = deque(tasks), dict[Future[Any], Task]()
        while left or going:
            while left and len(going) < 3 * self.pool.size:
                task = left.popleft()
                going[self.pool.submit(Job("compute", _ticket(model), task))] = task
            for future in wait(going, return_when=FIRST_COMPLETED).done:
                task = going.pop(future)
                if isinstance(error := future.exception(), GivenUp):
                    raise BatchFailed(str(error), task) from error
                yield task, future.result()

    def assemble(self, model: RowModel, requests: Sequence[Request], readings: Sequence[Readings]) -> list[Answer]:
        chunks = zip(_chunks(requests), _chunks(readings), strict=True)
        jobs = [Job("call", _ticket(model), ("assemble", *chunk)) for chunk in chunks]
        return [answer for part in _results([self.pool.submit(job) for job in jobs]) for answer in part]

    def release(self, model: Unopened) -> None:
        if isinstance(model, PooledCheckpoint):
            self.pool.release(model.ticket)

    def close(self) -> None:
        self.pool.close()


def _ticket(model: RowModel) -> Ticket:
    if not isinstance(model, PooledModel):
        raise TypeError(f"{model.card.name} was opened by another executor")
    return model.ticket


def _chunks(every: Sequence[Any]) -> list[Sequence[Any]]:
    return [every[start : start + _REQUESTS_AT_ONCE] for start in range(0, len(every), _REQUESTS_AT_ONCE)]


def _results(futures: Sequence[Future[Any]]) -> list[Any]:
    return [result(future) for future in futures]


def result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except GivenUp as error:
        raise FailedRun(str(error)) from error
