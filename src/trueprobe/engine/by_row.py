"""Models that compute rows: requests → distinct rows → batches → readings, cached → answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from trueprobe.engine.answers import NOT_FINITE, Address, AnswerStore, Counts, Speed
from trueprobe.engine.executor import BatchFailed, BatchTask, Executor, Readings
from trueprobe.engine.layout import is_finite
from trueprobe.engine.plan import BatchPlan, any_read, computed_tokens, padding, plan_reads, reads_of
from trueprobe.errors import FailedRun
from trueprobe.models import RowModel
from trueprobe.models.rows import Read, Row
from trueprobe.types import Answer, Progress, Request, WhyNot

_log = logging.getLogger(__name__)
_REQUESTS_AT_ONCE = 1024  # when answers are put together: bounds what is held in memory
_CHECKED_ROWS, _CHECKED_TO = 10, 1e-4  # cached answers of other library versions

_LISTED_TEXTS = 3  # of a batch that failed

ReadsByRequest = Mapping[Request, tuple[Read, ...] | WhyNot]
Wanted = Mapping[Row, tuple[Read, ...]]


@dataclass(frozen=True)
class PlanPart:
    """One of several equal parts of a plan, in whole batches."""

    number: int  # from 0
    of_all: int

    def of(self, batches: list[BatchPlan]) -> list[BatchPlan]:
        return batches[self.number :: self.of_all]


WHOLE = PlanPart(0, 1)


@dataclass(frozen=True)
class _Work:
    """What one call has to compute, and how it counts."""

    batches: list[BatchTask]
    rows: int  # wanted
    missing: int  # of these
    replace: bool  # cached answers of other library versions
    planned: dict[str, int]


class RowComputation:
    """One call of the engine: `reads`, then `compute`, then `answers`."""

    def __init__(
        self, model: RowModel, store: AnswerStore, progress: Progress, batch_tokens: int | None, executor: Executor
    ) -> None:
        self.model, self.store, self.progress, self.batch_tokens = model, store, progress, batch_tokens
        self.executor = executor
        self._number = store.use(model.card)
        self._keys: dict[Row, bytes] = {}
        self._not_finite: set[Address] = set()  # of what was computed now

    def reads(self, requests: Sequence[Request]) -> ReadsByRequest:
        """By distinct request, what is read of which rows."""
        distinct = list(dict.fromkeys(requests))
        return dict(zip(distinct, self.executor.reads(self.model, distinct), strict=True))

    def compute(self, reads: ReadsByRequest, requests: int, part: PlanPart = WHOLE) -> Counts:
        """All that is missing in the store (of this part of the plan), into the store."""
        began = time.monotonic()
        work = self._work(reads, requests, part)
        rows = sum(len(task.rows) for task in work.batches)
        if work.batches:
            open_with_progress(self.model, self.progress)
            speed = Speed(max(requests - rows, 0))
            with self.progress.task(self.model.card.name, rows, "rows") as bar, _texts_of(reads):
                for task, readings in self.executor.readings(self.model, work.batches):
                    self._put(task, readings, work.replace)
                    bar.advance(len(task.rows), speed.after(len(task.rows)))
        happened = {"rows_computed": rows, "rows_cached_before": work.rows - work.missing}
        return Counts(work.planned, {**happened, "seconds": time.monotonic() - began})

    def missing(self, reads: ReadsByRequest) -> int:
        """How many rows `compute` would compute now."""
        return sum(len(task.rows) for task in self._work(reads, len(reads), WHOLE).batches)

    def answers(self, requests: Sequence[Request], reads: ReadsByRequest) -> Iterator[Answer | WhyNot]:
        """In the order of the requests, from the store; put together as they are taken."""
        for start in range(0, len(requests), _REQUESTS_AT_ONCE):
            chunk = requests[start : start + _REQUESTS_AT_ONCE]
            some = {request: reads[request] for request in chunk}
            answers: dict[Request, Answer | WhyNot] = {r: read for r, read in some.items() if isinstance(read, WhyNot)}
            answers.update(self._assembled([(r, read) for r, read in some.items() if not isinstance(read, WhyNot)]))
            yield from (answers[request] for request in chunk)

    def _assembled(
        self, requests: Sequence[tuple[Request, tuple[Read, ...]]]
    ) -> Iterator[tuple[Request, Answer | WhyNot]]:
        """A reading that is not finite was not cached, and a request that needs it has no answer."""
        cached = self.store.get([self._address(read) for _, reads in requests for read in reads])
        readings: dict[Request, list[np.ndarray]] = {}
        for request, reads in requests:
            addresses = list(map(self._address, reads))
            missing = [address for address in addresses if address not in cached]
            if not missing:
                readings[request] = [cached[address] for address in addresses]
            elif self._not_finite.isdisjoint(missing):
                raise self.store.lost()
            else:
                yield request, NOT_FINITE
        answers = self.executor.assemble(self.model, list(readings), list(readings.values()))
        yield from zip(readings, answers, strict=True)

    def _address(self, read: Read) -> Address:
        key = self._keys.get(read.row)
        if key is None:
            key = self._keys[read.row] = read.row.key(self.model.card.compute_id)
        return key, read.what

    # ------------------------------------------------------------ computing what is missing

    def _work(self, reads: ReadsByRequest, requests: int, part: PlanPart) -> _Work:
        wanted = _wanted(reads)
        batches = part.of(plan_reads(wanted, self.model, self.batch_tokens))
        if part != WHOLE:
            wanted = _computed_by(batches, wanted)
        planned = {"requests": requests, **_planned(wanted, batches)}
        cached = self.store.has([self._address(read) for reads in wanted.values() for read in reads])
        outdated = self._recheck_outdated(wanted, cached)
        missing: dict[Row, tuple[Read, ...]] = {row: wanted[row] for row in outdated}
        for row, its in wanted.items():
            if row not in outdated and (lacking := tuple(read for read in its if self._address(read) not in cached)):
                missing[row] = lacking
        if self.model.row_exact:  # a row's bits do not depend on its batch: only what is missing is computed
            batches = plan_reads(missing, self.model, self.batch_tokens)
        tasks = [BatchTask.of(batch, wanted) for batch in batches if any_read(batch, missing)]
        rows = len(wanted), len(wanted) - len(missing), len(tasks)
        _log.info("%s: %d rows, of which %d are cached; %d batches to compute", self.model.card.name, *rows)
        return _Work(tasks, len(wanted), len(missing), bool(outdated), planned)

    def _put(self, task: BatchTask, readings: Readings, replace: bool) -> None:
        answers = list(zip(map(self._address, task.reads), readings, strict=True))
        self._not_finite.update(address for address, value in answers if not is_finite(value))
        self.store.put(answers, replace, self._number)

    # ------------------------------------------------------------ answers of other library versions

    def _recheck_outdated(self, wanted: Wanted, cached: dict[Address, int]) -> set[Row]:
        """Rows answered under other library versions, if ten of them recomputed now differ; else none."""
        now = self.store.made_with
        older = [row for row, its in wanted.items() if any(cached.get(self._address(r), now) != now for r in its)]
        if not older:
            return set()
        sample = older[:: max(1, len(older) // _CHECKED_ROWS)][:_CHECKED_ROWS]
        planned = plan_reads({row: wanted[row] for row in sample}, self.model, self.batch_tokens)
        for task, readings in self.executor.readings(self.model, [BatchTask.of(batch, wanted) for batch in planned]):
            for read, value in zip(task.reads, readings, strict=True):
                old = self.store.get([self._address(read)]).get(self._address(read))
                if old is not None and not (old.shape == value.shape and np.allclose(old, value, atol=_CHECKED_TO)):
                    return set(older)
        self.store.restamp(self._address(read) for row in older for read in wanted[row])
        return set()


def open_with_progress(model: RowModel, progress: Progress) -> None:
    if not model.opened:
        with progress.task(f"opening {model.card.name}"):
            model.open()


def _wanted(reads: ReadsByRequest) -> Wanted:
    """Every distinct row with all that is read of it."""
    wanted: dict[Row, dict[str, Read]] = {}
    for each in reads.values():
        for read in () if isinstance(each, WhyNot) else each:
            wanted.setdefault(read.row, {})[read.what] = read
    return {row: tuple(by_what.values()) for row, by_what in wanted.items()}


def _computed_by(batches: Sequence[BatchPlan], wanted: Wanted) -> Wanted:
    """What is read of the rows of these batches; a row may stand in a second one, elsewhere."""
    here: dict[Row, tuple[Read, ...]] = {}
    for batch in batches:
        for row in batch.rows:
            here[row] = (*here.get(row, ()), *reads_of(wanted[row], batch.by_head))
    return here


def _planned(wanted: Wanted, batches: Sequence[BatchPlan]) -> dict[str, int]:
    written = sum(len(row.ids) for batch in batches for row in batch.rows)
    computed = sum(map(computed_tokens, batches))
    return {
        "rows": len(wanted),
        "tokens_in_rows": written,
        "tokens_planned": computed,
        "tokens_padding": sum(map(padding, batches)),
        "tokens_saved": written - computed,
    }


@contextmanager
def _texts_of(reads: ReadsByRequest) -> Iterator[None]:
    """A batch that no worker could compute is reported with the requests that its rows belong to."""
    try:
        yield
    except BatchFailed as failed:
        rows = set(failed.task.rows)
        needed = ((request, each) for request, each in reads.items() if not isinstance(each, WhyNot))
        requests = [request for request, each in needed if any(read.row in rows for read in each)]
        listed = "; ".join(map(str, requests[:_LISTED_TEXTS]))
        more = f" and {len(requests) - _LISTED_TEXTS} more" if len(requests) > _LISTED_TEXTS else ""
        raise FailedRun(
            f"a batch of {len(rows)} rows could not be computed: {failed.reason}; it holds {listed}{more}; what was "
            "cached before stays, the same command goes on"
        ) from failed
