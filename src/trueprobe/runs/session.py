"""What a run computes with: opened models, one after the other or several at a time, and the progress of all.

`settled` gives probes what depends on the models of a run: items that trials decide on, and the words that ranks refer
to.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from trueprobe.engine import AnswerStore, Engine, Executor, Local
from trueprobe.errors import FailedRun
from trueprobe.models import Model, Options, Source, Unopened
from trueprobe.runs.cache import ResultCache, examined
from trueprobe.runs.plan import PlannedProbe, RunPlan, with_items
from trueprobe.runs.portions import asks_of, observe, requests_of
from trueprobe.runs.study import Study
from trueprobe.types import Observation, Progress, Task, WordList

# models that were opened for trials stay open until their turn, as long as their weights together are not larger;
# beyond, they are opened a second time
OPEN_TOGETHER_BYTES = 4 * 2**30
_COUNTED = ("rows", "requests")

Result = TypeVar("Result")


class Session:
    """Opens models and gives each an engine."""

    def __init__(
        self,
        store: AnswerStore,
        progress: Progress,
        batch_tokens: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.store, self.progress, self.batch_tokens = store, progress, batch_tokens
        self.executor = executor or Local()
        self.cache = ResultCache(store)
        self._display = Together(progress)
        self._ahead: dict[str, Model] = {}
        self._bytes_ahead = 0

    def examine(self, sources: Sequence[Source], options: Options) -> list[Unopened]:
        with self.progress.task("looking at the models"):
            return self.executor.examine(sources, options, lambda source: examined(source, options, self.store))

    def engine(self, model: Unopened) -> Engine:
        opened = self._ahead.pop(model.outline.card.name, None) or model.open()
        return self._engine(opened)

    def engine_for_trials(self, model: Unopened) -> Engine:
        """The model stays open for its turn if it fits next to those that do so already."""
        fits = self._bytes_ahead + model.outline.weight_bytes <= OPEN_TOGETHER_BYTES
        return self._engine(self._open_ahead(model) if fits else model.open())

    def _open_ahead(self, model: Unopened) -> Model:
        """For later use: the next `engine` of this model takes it."""
        name = model.outline.card.name
        if name not in self._ahead:
            self._ahead[name] = model.open()
            self._bytes_ahead += model.outline.weight_bytes
        return self._ahead[name]

    def _engine(self, model: Model) -> Engine:
        return Engine(model, self.store, self._display, self.batch_tokens, self.executor)

    def each(self, models: Sequence[Unopened], ask: Callable[[Unopened], Result]) -> list[Result]:
        """What `ask` gives for each model, in their order; several at a time where the executor can."""
        with together(self.progress, len(models)) as self._display:
            if self.executor.models_at_once > 1:
                return self._at_once(models, ask)
            results = []
            for model in models:
                with self._turn(model):
                    results.append(ask(model))
            return results

    def _at_once(self, models: Sequence[Unopened], ask: Callable[[Unopened], Result]) -> list[Result]:
        """The first error ends the executor, so that nobody waits for it, and is raised."""

        def in_thread(model: Unopened) -> Result:
            with self._turn(model):
                return ask(model)

        with ThreadPoolExecutor(self.executor.models_at_once) as threads:
            futures = [threads.submit(in_thread, model) for model in models]
            try:
                failed = next((one for one in as_completed(futures) if one.exception()), None)
                return [(failed or one).result() for one in futures]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self.executor.close()
                raise

    @contextmanager
    def _turn(self, model: Unopened) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # of the model's files: what writes the run folder reports its errors itself
            raise FailedRun(f"{model.outline.card.name}: {error.strerror or error}") from error
        finally:
            self.executor.release(model)
            self._display.model_done()


# ---------------------------------------------------------------- the progress of several models


@dataclass
class Together:
    """A `Progress` for engines, which may run in several threads: a line for each model, and one for all with their
    speed together."""

    progress: Progress
    every: Task | None = None  # the line of all models, where there are several
    began: float = field(default_factory=lambda: time.monotonic())
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def task(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        with self.progress.task(title, total, unit) as task:
            yield _Counted(task, self) if unit in _COUNTED and self.every else task

    def add(self, amount: int) -> None:
        with self.lock:
            self.done += amount
            rate = self.done / max(time.monotonic() - self.began, 1e-6)
            if self.every:
                self.every.advance(0, f"{rate:,.0f}/s in all")

    def model_done(self) -> None:
        with self.lock:
            if self.every:
                self.every.advance(1)


@dataclass(frozen=True)
class _Counted:
    task: Task
    together: Together

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.task.advance(amount, note)
        self.together.add(amount)

    def reach(self, amount: int, total: int | None = None, note: str = "") -> None:
        self.task.reach(amount, total, note)


@contextmanager
def together(progress: Progress, models: int) -> Iterator[Together]:
    if models < 2:
        yield Together(progress)
        return
    with progress.task("all models", models, "models") as every:
        yield Together(progress, every)


# ---------------------------------------------------------------- what depends on the models of a run


def settled(plan: RunPlan, models: Sequence[Unopened], session: Session) -> list[PlannedProbe]:
    """The probes with all that depends on the models: their items, and the words that ranks refer to."""
    return _share_vocabulary(_settle(plan, models, session), models)


def _settle(plan: RunPlan, models: Sequence[Unopened], session: Session) -> list[PlannedProbe]:
    """Probes with trials put them to every model first; the answers settle their items."""
    trials = [replace(planned, items=list(planned.probe.trials())) for planned in plan.probes]
    results: dict[str, list[Observation]] = {planned.label: [] for planned in trials if planned.items}
    if results:
        # the first model last, since it is asked first
        for tried in session.each(models[::-1], lambda model: _try(trials, model, session)):
            for label, observations in tried.items():
                results[label] += observations
    return [
        _with_trials(planned, results[planned.label], plan.study) if planned.label in results else planned
        for planned in plan.probes
    ]


def _with_trials(planned: PlannedProbe, observations: Sequence[Observation], study: Study) -> PlannedProbe:
    decided = hashlib.sha256(repr(observations).encode()).hexdigest()
    made = with_items(planned.label, planned.probe.settled(observations), study)
    return replace(made, decided=made.decided + decided)


def _try(trials: Sequence[PlannedProbe], model: Unopened, session: Session) -> dict[str, list[Observation]]:
    """What one model answers to the trials of each probe; a model to which none can be put is not opened."""
    card = model.outline.card
    tried: dict[str, list[Observation]] = {}
    engine: Engine | None = None
    for planned in trials:
        asks = asks_of(planned, card)
        if requests := requests_of(asks):
            engine = engine or session.engine_for_trials(model)
            answers = engine.in_turn(requests)
            tried[planned.label] = [one for ask in asks for one in observe(*ask, card, answers)]
    return tried


def _share_vocabulary(probes: Sequence[PlannedProbe], models: Sequence[Unopened]) -> list[PlannedProbe]:
    """With the words that every model of the study has as one piece, where ranks refer to them."""
    if not any(planned.probe.shares_vocabulary for planned in probes):
        return list(probes)
    outlines = {m.outline.card.tokenizer_id: m.outline for m in models if m.outline.card.kind != "encoder"}
    vocabularies = [words for outline in outlines.values() if (words := outline.whole_words()) is not None]
    if not vocabularies:
        return list(probes)
    common = WordList("common", tuple(sorted(frozenset.intersection(*vocabularies))))
    return [
        replace(planned, probe=planned.probe.with_vocabulary(common), decided=f"{planned.decided} {common.sha256}")
        if planned.probe.shares_vocabulary
        else planned
        for planned in probes
    ]
