"""The engine: what one model is asked, and answers, whatever its contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import version

from trueprobe import __version__
from trueprobe.engine.answers import AnswerStore, Counts, derived_key
from trueprobe.engine.by_request import ask_requests, missing_requests
from trueprobe.engine.by_row import WHOLE, PlanPart, RowComputation, open_with_progress
from trueprobe.engine.executor import Executor, Local
from trueprobe.models import Model, RowModel, Traits
from trueprobe.types import Answer, NoProgress, Progress, Request, WhyNot


class Engine:
    """Asks one model. `batch_tokens` is how many tokens go through it at once; None lets the model choose."""

    def __init__(
        self,
        model: Model,
        store: AnswerStore,
        progress: Progress | None = None,
        batch_tokens: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.model, self.store = model, store
        self.executor = executor or Local()
        self.progress = progress or NoProgress()
        self.batch_tokens = batch_tokens
        self.counts = Counts()
        self._prepared = False

    def prepare(self) -> None:
        """Where no earlier opening of this network is known, open it and try it out; refuses what cannot be asked."""
        if self.model.contract == "rows" and not self._prepared:
            _recall(self.model, self.store, self.progress)
        self._prepared = True

    def answer(self, requests: Sequence[Request]) -> list[Answer | WhyNot]:
        """One answer per request, in order; the same request twice costs nothing."""
        return list(self.in_turn(requests))

    def in_turn(self, requests: Sequence[Request]) -> Iterator[Answer | WhyNot]:
        """The same, where not all answers are to be held at once: everything is computed, then they come in order."""
        self.prepare()
        if self.model.contract == "answers":
            answers, self.counts = ask_requests(self.model, self.store, self.progress, requests)
            return answers
        rows = self._rows(self.model)
        reads = rows.reads(requests)
        self.counts = rows.compute(reads, len(requests))
        return rows.answers(requests, reads)

    def missing(self, requests: Sequence[Request]) -> int:
        """How many rows, or whole requests, `answer` would compute now."""
        self.prepare()
        if self.model.contract == "answers":
            return len(missing_requests(self.model, self.store, requests))
        rows = self._rows(self.model)
        return rows.missing(rows.reads(requests))

    def fill(self, requests: Sequence[Request], part: PlanPart = WHOLE) -> None:
        """Caches the answers of a part of the plan without reading them; a model that answers whole requests is asked
        its part of the requests."""
        self.prepare()
        if self.model.contract == "answers":
            distinct = list(dict.fromkeys(requests))[part.number :: part.of_all]
            _, self.counts = ask_requests(self.model, self.store, self.progress, distinct)
        else:
            rows = self._rows(self.model)
            self.counts = rows.compute(rows.reads(requests), len(requests), part)

    def _rows(self, model: RowModel) -> RowComputation:
        return RowComputation(model, self.store, self.progress, self.batch_tokens, self.executor)


def _recall(model: RowModel, store: AnswerStore, progress: Progress) -> None:
    """Traits that are stored stand for an opening that refused nothing."""
    names = [field.name for field in fields(Traits)]
    key = derived_key("traits", __version__, library_versions(), model.trial_id, *names)
    stored = store.derived(key)
    if stored is not None:
        model.recall(Traits(**json.loads(stored)))
        return
    open_with_progress(model, progress)
    store.put_derived(key, json.dumps(asdict(model.traits)).encode())


@cache  # reading a distribution's metadata takes milliseconds, and every question asks
def library_versions() -> str:
    """What cached answers are stamped with."""
    return f"torch {version('torch')} transformers {version('transformers')}"
