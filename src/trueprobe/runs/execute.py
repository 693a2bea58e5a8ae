"""Executes a plan: asks every model, writes the run folder, and goes on where an interrupted run stopped.

Each model is opened once. All that can be refused without a network is refused before the first file is written.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, Unpack

from trueprobe import __version__
from trueprobe.engine import AnswerStore, Compute, Counts, Engine, Executor, Local, executor, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Model, Options, Source, Unopened
from trueprobe.runs.asking import Asking, asks_of, observe, requests_of
from trueprobe.runs.cache import ResultCache, card_text, counting_text, key_of, probe_text
from trueprobe.runs.examined import examined
from trueprobe.runs.folder import Run, RunFolder, load_run, observations_file
from trueprobe.runs.machine import machine
from trueprobe.runs.parquet import portions
from trueprobe.runs.plan import AskedProbe, RunPlan, plan_run, with_items
from trueprobe.runs.records import declaration, items_frame, observations_frame
from trueprobe.runs.replay import Replay, read_replays
from trueprobe.runs.speed import Together, together
from trueprobe.runs.study import Changes, Study
from trueprobe.runs.timing import Timing
from trueprobe.types import Card, Item, NoProgress, Observation, Progress, WordList

# models that were opened for trials stay open until they are asked, as long as their weights together are not larger;
# beyond, they are opened a second time
OPEN_TOGETHER_BYTES = 4 * 2**30
_PLANNED = "planned.json"  # beside observations in the cache; no label has this name

Asked = TypeVar("Asked")


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

    `changes`: limit, device, dtype, batch_tokens, allow_code, allow_pickle, allow_servers."""
    return run_plan(plan_run(what, models, settings, **changes), out, store, progress, compute)


def run_plan(
    plan: RunPlan,
    out: str | Path | None = None,
    store: str | Path | None = None,
    progress: Progress | None = None,
    compute: Compute | None = None,
) -> Run:
    progress = progress or NoProgress()
    folder = RunFolder(Path(out) if out else Path("runs") / plan.default_name, plan.description)
    folder.refuse_other_runs()
    with (
        closing(AnswerStore(store, library_versions(), progress)) as answers,
        closing(executor(compute or Compute())) as computing,
    ):
        session = Session(answers, progress, plan.study.batch_tokens, computing)
        return execute(plan, session.examine(plan.sources, plan.options), folder, session)


def execute(plan: RunPlan, models: Sequence[Unopened], folder: RunFolder, session: Session) -> Run:
    for model in models:
        folder.refuse_other_weights(model.outline.card)
    probes = settled(plan, models, session)
    replays = _read_replays(plan, probes, models, folder, session.progress)
    ready = _Ready(plan, probes, models, replays, folder, session)
    if models and session.cache.get(ready.key(models[0].outline.card)) is None:
        session.engine_for_trials(models[0]).prepare()  # a run of one model that is unusable leaves nothing behind
    with folder.writing():
        _write(ready)
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
        self.cache = ResultCache(store)
        self._display = Together(progress)
        self._ahead: dict[str, Model] = {}
        self._bytes_ahead = 0

    def examine(self, sources: Sequence[Source], options: Options) -> list[Unopened]:
        with self.progress.task("looking at the models"):
            return self.executor.examine(sources, options, lambda source: examined(source, options, self.store))

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
        return Engine(model, self.store, self._display, self.batch_tokens, self.executor)

    def each(self, models: Sequence[Unopened], ask: Callable[[Unopened], Asked]) -> list[Asked]:
        """What asking each model gives, in their order; several at a time where the executor can. The first error
        ends the executor, so that nobody waits for it, and is raised."""
        with together(self.progress, len(models)) as self._display:
            if self.executor.models_at_once == 1:
                return [self._one(model, ask) for model in models]
            with ThreadPoolExecutor(self.executor.models_at_once) as threads:
                asked = [threads.submit(self._one, model, ask) for model in models]
                try:
                    failed = next((one for one in as_completed(asked) if one.exception()), None)
                    return [(failed or one).result() for one in asked]
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    self.executor.close()
                    raise

    def _one(self, model: Unopened, ask: Callable[[Unopened], Asked]) -> Asked:
        try:
            return ask(model)
        finally:
            self.executor.release(model)
            self._display.model_done()


# ---------------------------------------------------------------- what is asked


def settled(plan: RunPlan, models: Sequence[Unopened], session: Session) -> list[AskedProbe]:
    """The probes with all that depends on the models: their items, and the words that ranks refer to."""
    return _share_vocabulary(_settle(plan, models, session), models)


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
        _settled(asked, results[asked.label], plan.study.limit) if trials[asked.label] else asked
        for asked in plan.probes
    ]


def _settled(asked: AskedProbe, observations: Sequence[Observation], limit: int | None) -> AskedProbe:
    decided = hashlib.sha256(repr(observations).encode()).hexdigest()
    return replace(with_items(asked.label, asked.probe.settled(observations), limit), decided=decided)


def _try(
    probes: Sequence[AskedProbe], trials: Mapping[str, Sequence[Item]], model: Unopened, session: Session
) -> Iterator[tuple[str, list[Observation]]]:
    """What one model answers to the trials of each probe; a model of which nothing can be asked is not opened."""
    card = model.outline.card
    asked = [(each, asks_of(each.probe, trials[each.label], card)) for each in probes]
    asked = [(each, asks) for each, asks in asked if requests_of(asks)]
    if not asked:
        return
    engine = session.engine_for_trials(model)
    for each, asks in asked:
        yield each.label, observe(each.probe, asks, card, engine.in_turn(requests_of(asks)))


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
        replace(asked, probe=asked.probe.with_vocabulary(common), decided=f"{asked.decided} {common.sha256}")
        if asked.probe.shares_vocabulary
        else asked
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

    @cached_property
    def _asked(self) -> list[str]:
        return [f"{asked.label} {probe_text(asked)}" for asked in self.probes]

    def key(self, card: Card) -> str:
        """Of one model's observations, which are asked for all probes at once."""
        return key_of("observations", card_text(card), self._asked, self.session.batch_tokens)

    def write_observations(self, asked: AskedProbe, observations: Iterable[Observation], card: Card) -> None:
        """As they come: a portion is written before the next is asked for."""
        frames = (observations_frame(asked.probe, asked.items, some, card) for some in portions(observations))
        self.folder.observations(asked.label, card.name, frames, list(asked.probe.columns()))


@dataclass(frozen=True)
class _Done:
    """One model, when its observations are written."""

    name: str
    counts: dict[str, int]  # the same for every run of the same questions
    timing: dict[str, float]


def _write(ready: _Ready) -> None:
    began, folder = time.time(), ready.folder
    computed_on = machine(ready.plan.options, ready.session.store, ready.session.executor.threads)
    made_with = {"versions": _versions(), "machine": computed_on}
    cards = tuple([model.outline.card for model in ready.models] + [replay.card for replay in ready.replays])
    folder.local({model.outline.card.name: model.location for model in ready.models})
    folder.manifest(**made_with, cards=cards)
    for asked in ready.probes:
        folder.items(asked.label, (items_frame(asked.probe, some) for some in portions(asked.items)))
    folder.declarations({a.label: declaration(a.probe, a.items, a.items_needed) for a in ready.probes})
    done = ready.session.each(ready.models, lambda model: _ask_model(ready, model))
    done += [_replay(ready, one) for one in ready.replays]
    _count(ready, cards)
    timings, damaged = {one.name: one.timing for one in done}, len(ready.session.store.damaged)
    folder.timing(Timing(began=began, seconds=time.time() - began, models=timings, damaged_answers=damaged))
    folder.manifest(**made_with, cards=cards, counts={one.name: one.counts for one in done}, complete=True)


def _ask_model(ready: _Ready, model: Unopened) -> _Done:
    """All probes in one go, so that rows they share are computed once. Where an earlier run asked the same, nothing is
    asked."""
    card = model.outline.card
    known = ready.session.cache.get(ready.key(card))
    if known is not None:
        return _as_before(ready, card, known)
    asking = Asking(ready.probes, card, ready.session.engine(model))
    for asked, coming in groupby(asking.observations(), key=itemgetter(0)):
        ready.write_observations(asked, (observation for _, some in coming for observation in some), card)
    planned = asking.counts.planned
    if asking.finite:  # what was not finite is asked again, as its answer is not cached
        files = {asked.label: ready.folder.content(observations_file(asked.label, card.name)) for asked in ready.probes}
        ready.session.cache.put(ready.key(card), {**files, _PLANNED: json.dumps(planned).encode()})
    return _Done(card.name, {"items": ready.n_items, **planned}, asking.counts.happened)


def _as_before(ready: _Ready, card: Card, known: Mapping[str, bytes]) -> _Done:
    began = time.monotonic()
    ready.session.store.use(card)
    for asked in ready.probes:
        ready.folder.known_observations(asked.label, card.name, known[asked.label])
    planned: dict[str, int] = json.loads(known[_PLANNED])
    counts = Counts.of_cached(planned, time.monotonic() - began)
    return _Done(card.name, {"items": ready.n_items, **planned}, counts.happened)


def _replay(ready: _Ready, replay: Replay) -> _Done:
    for asked in ready.probes:
        ready.write_observations(asked, replay.observations(asked.label, asked.items), replay.card)
    return _Done(replay.card.name, {"items": ready.n_items}, {})


def _count(ready: _Ready, cards: Sequence[Card]) -> None:
    """All tables, as they are where the same was counted before."""
    keys = {asked.label: _counting_key(ready, asked, cards) for asked in ready.probes}
    cache, key = ready.session.cache, key_of("tables", ready.plan.study.verdicts_over, list(keys.values()))
    known = cache.get(key)
    if known is not None:
        for name, content in known.items():
            ready.folder.table(name, content)
        return
    from trueprobe.runs.tables import RunTables

    each_model = ready.plan.study.verdicts_over == "model"
    tables = RunTables(ready.folder, cards, ready.plan.study.intervals, each_model, cache, keys)
    with ready.session.progress.task("counting", len(ready.probes) + 1, "probes") as task:
        for asked in ready.probes:
            task.advance(0, asked.label)
            tables.add(asked.label, asked.probe)
            task.advance(1)
        tables.write()
    cache.put(key, {name: ready.folder.content(name) for name in ready.folder.tables})


def _counting_key(ready: _Ready, asked: AskedProbe, cards: Sequence[Card]) -> str:
    """Names all that a probe's rows are counted from, and what their signatures say beside."""
    study = ready.plan.study
    observed = [ready.folder.checksum(observations_file(asked.label, card.name)) for card in cards]
    how, models = (study.intervals, study.limit, study.dtype), [card_text(card) for card in cards]
    return key_of("counted", asked.label, probe_text(asked), counting_text(asked), how, models, observed)


def _versions() -> dict[str, str]:
    names = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow")
    return {"trueprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}
