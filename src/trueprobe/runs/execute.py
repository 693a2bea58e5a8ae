"""Executes a plan: asks every model, writes the run folder, and goes on where an interrupted run stopped.

Each model is opened once. All that can be refused without a network is refused before the first file is written.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, Unpack

from trueprobe import __version__
from trueprobe.engine import AnswerStore, Compute, Engine, Executor, Local, executor, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Model, Unopened
from trueprobe.probes import Probe
from trueprobe.runs.folder import Run, RunFolder, load_run
from trueprobe.runs.plan import AskedProbe, RunPlan, make_plan, with_items
from trueprobe.runs.records import declaration, items_frame, observations_frame
from trueprobe.runs.replay import Replay, read_replays
from trueprobe.runs.study import Changes, Study, make_study
from trueprobe.types import Answer, Card, Item, NoProgress, Observation, Progress, Request, Task, WhyNot, WordList

# models that were opened for trials stay open until they are asked, as long as their weights together are not larger;
# beyond, they are opened a second time
OPEN_TOGETHER_BYTES = 4 * 2**30

Asked = TypeVar("Asked")
Asks = list[tuple[Item, tuple[Request, ...] | WhyNot]]


def run(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    progress: Progress | None = None,
    compute: Compute | None = None,
    **changes: Unpack[Changes],
) -> Run:
    """Run probes on models and give the run folder: `run("counteracts", models=["path-or-id"])`.

    `changes`: limit, device, dtype, batch_tokens, allow_pickle, allow_code."""
    plan = make_plan(make_study(what, models, settings, **changes))
    progress = progress or NoProgress()
    folder = RunFolder(Path(out) if out else Path("runs") / plan.default_name, plan.description)
    folder.refuse_other_runs()
    with closing(executor(compute or Compute())) as computing:
        with progress.task("looking at the models"):
            checkpoints = computing.examine(plan.sources, plan.options)
        with closing(AnswerStore(store, library_versions())) as answers:
            return execute(plan, checkpoints, folder, Session(answers, progress, plan.study.batch_tokens, computing))


def execute(plan: RunPlan, models: Sequence[Unopened], folder: RunFolder, session: Session) -> Run:
    for model in models:
        folder.refuse_other_weights(model.outline.card)
    probes = settled(plan, models, session)
    replays = _read_replays(plan, probes, models, folder, session.progress)
    if models:
        session.engine_for_trials(models[0]).prepare()  # a run of one model that is unusable leaves nothing behind
    with folder.writing():
        _write(_Ready(plan, probes, models, replays, folder, session))
    return load_run(folder.folder, allow_code=True)  # it was run already


# ---------------------------------------------------------------- opening models


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
        self._ahead: dict[str, Model] = {}
        self._bytes_ahead = 0

    def _open_ahead(self, model: Unopened) -> Model:
        """For later use: the next `engine` of this model takes it."""
        name = model.outline.card.name
        if name not in self._ahead:
            self._ahead[name] = model.open()
            self._bytes_ahead += model.outline.weight_bytes
        return self._ahead[name]

    def engine(self, model: Unopened) -> Engine:
        opened = self._ahead.pop(model.outline.card.name, None) or model.open()
        return self._engine(opened)

    def engine_for_trials(self, model: Unopened) -> Engine:
        """The model stays open for its turn if it fits beside those that do so already."""
        fits = self._bytes_ahead + model.outline.weight_bytes <= OPEN_TOGETHER_BYTES
        return self._engine(self._open_ahead(model) if fits else model.open())

    def _engine(self, model: Model) -> Engine:
        return Engine(model, self.store, self.progress, self.batch_tokens, self.executor)

    def each(self, models: Sequence[Unopened], ask: Callable[[Unopened], Asked]) -> list[Asked]:
        """What asking each model gives, in their order; several at a time where the executor can. The first error
        ends the executor, so that nobody waits for it, and is raised."""
        with self.progress.task("models", len(models), "asked") as shown:
            if self.executor.models_at_once == 1:
                return [self._one(model, ask, shown) for model in models]
            with ThreadPoolExecutor(self.executor.models_at_once) as threads:
                asked = [threads.submit(self._one, model, ask, shown) for model in models]
                try:
                    failed = next((one for one in as_completed(asked) if one.exception()), None)
                    return [(failed or one).result() for one in asked]
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    self.executor.close()
                    raise

    def _one(self, model: Unopened, ask: Callable[[Unopened], Asked], shown: Task) -> Asked:
        try:
            return ask(model)
        finally:
            self.executor.release(model)
            shown.advance(1)


# ---------------------------------------------------------------- what is asked


def settled(plan: RunPlan, models: Sequence[Unopened], session: Session) -> list[AskedProbe]:
    """The probes with all that depends on the models: their items, and the words that ranks refer to."""
    return _share_vocabulary(_settle(plan, models, session), models)


def requests_of(probes: Sequence[AskedProbe], card: Card) -> list[Request]:
    """All that is asked of one model, in the order of the probes."""
    return [request for asked in probes for request in _requests(_asks(asked.probe, asked.items, card))]


def _settle(plan: RunPlan, models: Sequence[Unopened], session: Session) -> list[AskedProbe]:
    """Probes with trials ask them of every model first; the answers settle their items."""
    trials = {asked.label: asked.probe.trials() for asked in plan.probes}
    results: dict[str, list[Observation]] = {label: [] for label in trials}
    if any(trials.values()):
        # the first one last, since it is asked first
        for tried in session.each(models[::-1], lambda model: list(_try(plan.probes, trials, model, session))):
            for label, observations in tried:
                results[label] += observations
    return [
        with_items(asked.label, asked.probe.settled(results[asked.label]), plan.study.limit)
        if trials[asked.label]
        else asked
        for asked in plan.probes
    ]


def _try(
    probes: Sequence[AskedProbe], trials: Mapping[str, Sequence[Item]], model: Unopened, session: Session
) -> Iterator[tuple[str, list[Observation]]]:
    """What one model answers to the trials of each probe; a model of which nothing can be asked is not opened."""
    card = model.outline.card
    asked = [(each, _asks(each.probe, trials[each.label], card)) for each in probes]
    asked = [(each, asks) for each, asks in asked if _requests(asks)]
    if not asked:
        return
    engine = session.engine_for_trials(model)
    for each, asks in asked:
        yield each.label, _observe(each.probe, asks, card, iter(engine.answer(_requests(asks))))


def _share_vocabulary(probes: Sequence[AskedProbe], models: Sequence[Unopened]) -> list[AskedProbe]:
    """With the words that every model of the study has as one piece, where ranks refer to them."""
    if not any(asked.probe.shares_vocabulary for asked in probes):
        return list(probes)
    outlines = {m.outline.card.tokenizer_id: m.outline for m in models if m.outline.card.kind != "encoder"}
    known = [words for outline in outlines.values() if (words := outline.whole_words()) is not None]
    if not known:
        return list(probes)
    common = WordList("common", tuple(sorted(frozenset.intersection(*known))))
    return [
        replace(asked, probe=asked.probe.with_vocabulary(common)) if asked.probe.shares_vocabulary else asked
        for asked in probes
    ]


def _read_replays(
    plan: RunPlan, probes: Sequence[AskedProbe], models: Sequence[Unopened], folder: RunFolder, progress: Progress
) -> list[Replay]:
    if not plan.replays:
        return []
    with progress.task("reading released outputs"):
        replays = read_replays(plan.replays, [(asked.label, asked.probe) for asked in probes])
    names = [model.outline.card.name for model in models]
    for replay in replays:
        if replay.card.name in names:
            raise BadInput(f"two models are called '{replay.card.name}'; ask them in two runs")
        names.append(replay.card.name)
        folder.refuse_other_weights(replay.card)
    return replays


def _asks(probe: Probe, items: Sequence[Item], card: Card) -> Asks:
    return [(item, probe.ask(item, card)) for item in items]


def _requests(asks: Asks) -> list[Request]:
    return [request for _, ask in asks if not isinstance(ask, WhyNot) for request in ask]


def _observe(probe: Probe, asks: Asks, card: Card, answers: Iterator[Answer | WhyNot]) -> list[Observation]:
    """Takes the answers to its own requests off `answers`."""
    return [observation for item, ask in asks for observation in _observe_item(probe, item, ask, card, answers)]


def _observe_item(
    probe: Probe, item: Item, ask: tuple[Request, ...] | WhyNot, card: Card, answers: Iterator[Answer | WhyNot]
) -> Sequence[Observation]:
    if isinstance(ask, WhyNot):
        return probe.unscored(item, ask)
    taken = [next(answers) for _ in ask]
    missing = next((answer for answer in taken if isinstance(answer, WhyNot)), None)
    if missing is not None:
        return probe.unscored(item, missing)
    return probe.observe(item, card, [answer for answer in taken if not isinstance(answer, WhyNot)])


# ---------------------------------------------------------------- what is written


@dataclass(frozen=True)
class _Ready:
    """Everything that is settled before the first file is written."""

    plan: RunPlan
    probes: Sequence[AskedProbe]
    models: Sequence[Unopened]
    replays: Sequence[Replay]
    folder: RunFolder
    session: Session

    @property
    def n_items(self) -> int:
        return sum(len(asked.items) for asked in self.probes)

    def write_observations(self, asked: AskedProbe, observations: Sequence[Observation], card: Card) -> None:
        frame = observations_frame(asked.probe, asked.items, observations, card)
        self.folder.observations(asked.label, card.name, frame, list(asked.probe.columns()))


@dataclass(frozen=True)
class _Done:
    """One model, when its observations are written."""

    name: str
    counts: dict[str, int]  # the same for every run of the same questions
    timing: dict[str, float]


def _write(ready: _Ready) -> None:
    began, folder, versions = time.time(), ready.folder, _versions()
    cards = tuple([model.outline.card for model in ready.models] + [replay.card for replay in ready.replays])
    folder.local({model.outline.card.name: model.location for model in ready.models})
    folder.manifest(versions=versions, cards=cards)
    for asked in ready.probes:
        folder.items(asked.label, items_frame(asked.probe, asked.items))
    folder.declarations({a.label: declaration(a.probe, a.items, a.items_needed) for a in ready.probes})
    done = ready.session.each(ready.models, lambda model: _ask_model(ready, model))
    done += [_replay(ready, one) for one in ready.replays]
    _count(ready, cards)
    folder.timing({"began": began, "seconds": time.time() - began, "models": {one.name: one.timing for one in done}})
    folder.manifest(versions=versions, cards=cards, counts={one.name: one.counts for one in done}, complete=True)


def _ask_model(ready: _Ready, model: Unopened) -> _Done:
    """All probes in one go, so that rows they share are computed once."""
    card, engine = model.outline.card, ready.session.engine(model)
    asks = [_asks(asked.probe, asked.items, card) for asked in ready.probes]
    answers = iter(engine.answer([request for each in asks for request in _requests(each)]))
    for asked, each in zip(ready.probes, asks, strict=True):
        ready.write_observations(asked, _observe(asked.probe, each, card, answers), card)
    return _Done(card.name, {"items": ready.n_items, **engine.counts.planned}, engine.counts.happened)


def _replay(ready: _Ready, replay: Replay) -> _Done:
    for asked in ready.probes:
        ready.write_observations(asked, replay.observations(asked.label, asked.items), replay.card)
    return _Done(replay.card.name, {"items": ready.n_items}, {})


def _count(ready: _Ready, cards: Sequence[Card]) -> None:
    from trueprobe.runs.tables import RunTables

    tables = RunTables(ready.folder, cards, ready.plan.study.intervals)
    with ready.session.progress.task("counting", len(ready.probes) + 1, "probes") as task:
        for asked in ready.probes:
            task.advance(0, asked.label)
            tables.add(asked.label, asked.probe)
            task.advance(1)
        tables.write()


def _versions() -> dict[str, str]:
    names = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow")
    return {"trueprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}
