"""The engine: requests → distinct rows → batches → forward passes → answers, kept on disk.

Done once for all models and probes. A row asked by two is computed once, an answer kept is never computed again,
and a run that was killed goes on with the same batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueprobe.engine.answers import Address, AnswerStore, is_finite
from trueprobe.engine.plan import computed_tokens, pack, plan
from trueprobe.engine.progress import Quiet
from trueprobe.errors import FailedRun
from trueprobe.models import Model
from trueprobe.models.rows import Batch, Read, Row
from trueprobe.types import Answer, Request, WhyNot

_REQUESTS_AT_ONCE = 4096  # when answers are put together: bounds what is held in memory
NOT_FINITE = WhyNot("not_finite", "the network's answer is NaN, infinite, or too large for float32 to normalise")
_CHECKED_ROWS, _CHECKED_TO = 10, 1e-4  # kept answers of other library versions


@dataclass
class Counts:
    """`planned` is the same for every run of the same questions; `happened` depends on what was kept before."""

    planned: dict[str, int] = field(default_factory=dict)
    happened: dict[str, float] = field(default_factory=dict)


class Engine:
    """Asks one model. `batch_tokens` is how many tokens go through it at once; None lets the model choose."""

    def __init__(
        self, model: Model, store: AnswerStore, progress: Quiet | None = None, batch_tokens: int | None = None
    ) -> None:
        self.model, self.store = model, store
        self.progress = progress or Quiet()
        self.batch_tokens = batch_tokens
        self.counts = Counts()
        self._keys: dict[Row, bytes] = {}

    def answer(self, requests: Sequence[Request]) -> list[Answer | WhyNot]:
        """One answer per request, in order; the same request twice costs nothing."""
        reads = {request: self.model.reads(request) for request in dict.fromkeys(requests)}
        wanted: dict[Row, dict[str, Read]] = {}
        for found in reads.values():
            for read in () if isinstance(found, WhyNot) else found:
                wanted.setdefault(read.row, {})[read.what] = read
        self._compute({row: tuple(by_what.values()) for row, by_what in wanted.items()}, len(requests))
        answers: dict[Request, Answer | WhyNot] = {r: f for r, f in reads.items() if isinstance(f, WhyNot)}
        asked = [(request, found) for request, found in reads.items() if not isinstance(found, WhyNot)]
        for start in range(0, len(asked), _REQUESTS_AT_ONCE):
            answers.update(self._assembled(asked[start : start + _REQUESTS_AT_ONCE]))
        return [answers[request] for request in requests]

    def _assembled(
        self, asked: Sequence[tuple[Request, tuple[Read, ...]]]
    ) -> Iterator[tuple[Request, Answer | WhyNot]]:
        """A reading that is not finite was not kept, and a request that needs it has no answer."""
        kept = self.store.get([self._address(read) for _, found in asked for read in found])
        readings: dict[Request, list[np.ndarray]] = {}
        for request, found in asked:
            values = [kept.get(self._address(read)) for read in found]
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

    def _compute(self, wanted: dict[Row, tuple[Read, ...]], asked: int) -> None:
        began = time.monotonic()
        crates = plan(wanted, self.model, self.batch_tokens)
        kept = self.store.has([self._address(read) for reads in wanted.values() for read in reads])
        missing = {row for row, reads in wanted.items() if any(self._address(read) not in kept for read in reads)}
        outdated = self._outdated(wanted, kept)
        missing |= outdated
        written, computed = sum(len(row.ids) for row in wanted), sum(map(computed_tokens, crates))
        self.counts.planned = {
            "requests": asked,
            "rows": len(wanted),
            "tokens_in_rows": written,
            "tokens_planned": computed,
            "tokens_saved": written - computed,
        }
        if self.model.row_exact:  # a row's bits do not depend on its batch: only what is missing is computed
            crates = plan(missing, self.model, self.batch_tokens)
        crates = [crate for crate in crates if any(row in missing for row in crate.rows)]
        total = sum(len(crate.rows) for crate in crates)
        self.counts.happened = {"rows_computed": total, "rows_kept_before": len(wanted) - len(missing)}
        if crates:
            self.progress.start(self.model.card.name, total, asked - total)
        try:
            for crate in crates:
                found = self._forward(pack(crate, wanted))
                self.store.put(((self._address(read), value) for read, value in found), replace=bool(outdated))
                self.progress.advance(len(crate.rows))
        finally:
            self.progress.stop()
        self.counts.happened["seconds"] = time.monotonic() - began

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

    def _outdated(self, wanted: dict[Row, tuple[Read, ...]], kept: dict[Address, int]) -> set[Row]:
        """Rows answered under other library versions, if ten of them recomputed now differ; else none."""
        older = [row for row, reads in wanted.items() if self._made_otherwise(reads, kept)]
        if not older:
            return set()
        sample = older[:: max(1, len(older) // _CHECKED_ROWS)][:_CHECKED_ROWS]
        for crate in plan(sample, self.model, self.batch_tokens):
            for read, value in self._forward(pack(crate, wanted)):
                old = self.store.get([self._address(read)]).get(self._address(read))
                if old is not None and not (old.shape == value.shape and np.allclose(old, value, atol=_CHECKED_TO)):
                    return set(older)
        self.store.restamp(self._address(read) for row in older for read in wanted[row])
        return set()

    def _made_otherwise(self, reads: Sequence[Read], kept: dict[Address, int]) -> bool:
        return any(kept.get(self._address(read), self.store.made_with) != self.store.made_with for read in reads)


def _out_of_memory(error: BaseException) -> bool:
    import torch

    text = str(error).lower()
    memory = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return memory or "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


def library_versions() -> str:
    """What kept answers are stamped with."""
    from importlib.metadata import version

    return f"torch {version('torch')} transformers {version('transformers')}"


__all__ = ["AnswerStore", "Counts", "Engine", "library_versions"]
