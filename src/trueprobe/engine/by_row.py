"""Models that compute rows: requests → distinct rows → batches → readings, cached → answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trueprobe.engine.answers import Address, AnswerStore, is_finite
from trueprobe.engine.counts import NOT_FINITE, Counts, Speed
from trueprobe.engine.plan import BatchPlan, computed_tokens, pack, padding, plan
from trueprobe.errors import FailedRun
from trueprobe.models import RowModel
from trueprobe.models.rows import Batch, Read, Row
from trueprobe.types import Answer, Progress, Request, WhyNot

_REQUESTS_AT_ONCE = 4096  # when answers are put together: bounds what is held in memory
_CHECKED_ROWS, _CHECKED_TO = 10, 1e-4  # cached answers of other library versions

Answers = dict[Request, Answer | WhyNot]
Wanted = Mapping[Row, tuple[Read, ...]]


class RowComputation:
    """One call of the engine."""

    def __init__(self, model: RowModel, store: AnswerStore, progress: Progress, batch_tokens: int | None) -> None:
        self.model, self.store, self.progress, self.batch_tokens = model, store, progress, batch_tokens
        self._keys: dict[Row, bytes] = {}

    def answer(self, requests: Sequence[Request]) -> tuple[Answers, Counts]:
        reads = {request: self.model.reads(request) for request in dict.fromkeys(requests)}
        counts = self._compute(_wanted(reads), len(requests))
        answers: Answers = {request: read for request, read in reads.items() if isinstance(read, WhyNot)}
        asked = [(request, read) for request, read in reads.items() if not isinstance(read, WhyNot)]
        for start in range(0, len(asked), _REQUESTS_AT_ONCE):
            answers.update(self._assembled(asked[start : start + _REQUESTS_AT_ONCE]))
        return answers, counts

    def _assembled(
        self, asked: Sequence[tuple[Request, tuple[Read, ...]]]
    ) -> Iterator[tuple[Request, Answer | WhyNot]]:
        """A reading that is not finite was not cached, and a request that needs it has no answer."""
        cached = self.store.get([self._address(read) for _, reads in asked for read in reads])
        readings: dict[Request, list[np.ndarray]] = {}
        for request, reads in asked:
            values = [cached.get(self._address(read)) for read in reads]
            known = [value for value in values if value is not None and is_finite(value)]
            if len(known) == len(values):
                readings[request] = known
            else:
                yield request, NOT_FINITE
        yield from zip(readings, self.model.assemble(list(readings), list(readings.values())), strict=True)

    def _address(self, read: Read) -> Address:
        key = self._keys.get(read.row)
        if key is None:
            key = self._keys[read.row] = read.row.key(self.model.card.compute_id)
        return key, read.what

    # ------------------------------------------------------------ computing what is missing

    def _compute(self, wanted: Wanted, requests: int) -> Counts:
        began = time.monotonic()
        batches = plan(wanted, self.model, self.batch_tokens)
        planned = {"requests": requests, **_planned(wanted, batches)}
        cached = self.store.has([self._address(read) for reads in wanted.values() for read in reads])
        outdated = self._outdated(wanted, cached)
        missing = {row for row, reads in wanted.items() if any(self._address(read) not in cached for read in reads)}
        missing |= outdated
        if self.model.row_exact:  # a row's bits do not depend on its batch: only what is missing is computed
            batches = plan(missing, self.model, self.batch_tokens)
        batches = [batch for batch in batches if any(row in missing for row in batch.rows)]
        self._run(batches, wanted, requests, replace=bool(outdated))
        computed = sum(len(batch.rows) for batch in batches)
        happened = {"rows_computed": computed, "rows_cached_before": len(wanted) - len(missing)}
        return Counts(planned, {**happened, "seconds": time.monotonic() - began})

    def _run(self, batches: Sequence[BatchPlan], wanted: Wanted, requests: int, replace: bool) -> None:
        if not batches:
            return
        open_with_progress(self.model, self.progress)
        total = sum(len(batch.rows) for batch in batches)
        speed = Speed(max(requests - total, 0))
        with self.progress.task(self.model.card.name, total, "rows") as task:
            for batch in batches:
                readings = self._forward(pack(batch, wanted))
                self.store.put(((self._address(read), value) for read, value in readings), replace)
                task.advance(len(batch.rows), speed.after(len(batch.rows)))

    def _forward(self, batch: Batch) -> list[tuple[Read, np.ndarray]]:
        """Out of memory halves the batch and goes on."""
        try:
            return list(zip(batch.reads, self.model.forward(batch), strict=True))
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error):
                raise
            if len(batch.ids) == 1:
                raise FailedRun(f"no memory for one text of {batch.ids.shape[1]} tokens") from error
        first, second = batch.halves()
        return self._forward(first) + self._forward(second)

    # ------------------------------------------------------------ answers of other library versions

    def _outdated(self, wanted: Wanted, cached: dict[Address, int]) -> set[Row]:
        """Rows answered under other library versions, if ten of them recomputed now differ; else none."""
        older = [row for row, reads in wanted.items() if self._made_otherwise(reads, cached)]
        if not older:
            return set()
        sample = older[:: max(1, len(older) // _CHECKED_ROWS)][:_CHECKED_ROWS]
        for batch in plan(sample, self.model, self.batch_tokens):
            for read, value in self._forward(pack(batch, wanted)):
                old = self.store.get([self._address(read)]).get(self._address(read))
                if old is not None and not (old.shape == value.shape and np.allclose(old, value, atol=_CHECKED_TO)):
                    return set(older)
        self.store.restamp(self._address(read) for row in older for read in wanted[row])
        return set()

    def _made_otherwise(self, reads: Sequence[Read], cached: dict[Address, int]) -> bool:
        return any(cached.get(self._address(read), self.store.made_with) != self.store.made_with for read in reads)


def open_with_progress(model: RowModel, progress: Progress) -> None:
    if not model.opened:
        with progress.task(f"opening {model.card.name}"):
            model.open()


def _wanted(reads: Mapping[Request, tuple[Read, ...] | WhyNot]) -> Wanted:
    """Every distinct row with all that is read of it."""
    wanted: dict[Row, dict[str, Read]] = {}
    for each in reads.values():
        for read in () if isinstance(each, WhyNot) else each:
            wanted.setdefault(read.row, {})[read.what] = read
    return {row: tuple(by_what.values()) for row, by_what in wanted.items()}


def _planned(wanted: Wanted, batches: Sequence[BatchPlan]) -> dict[str, int]:
    written, computed = sum(len(row.ids) for row in wanted), sum(map(computed_tokens, batches))
    return {
        "rows": len(wanted),
        "tokens_in_rows": written,
        "tokens_planned": computed,
        "tokens_padding": sum(map(padding, batches)),
        "tokens_saved": written - computed,
    }


def _out_of_memory(error: BaseException) -> bool:
    import torch

    text = str(error).lower()
    memory = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return memory or "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text
