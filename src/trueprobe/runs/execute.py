"""Executes a plan: asks every model, writes the run folder, and goes on where an interrupted run stopped.

Each model is opened once. All that can be refused without a network is refused before the first file is written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from trueprobe.engine import AnswerStore, Compute, Counts, executor, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Unopened
from trueprobe.runs.cache import card_text, counting_text, key_of, probe_text
from trueprobe.runs.families import asks
from trueprobe.runs.folder import Run, Timing, load_run, observations_file
from trueprobe.runs.machine import machine, versions
from trueprobe.runs.plan import PlannedProbe, RunPlan, plan_run
from trueprobe.runs.portions import all_finite, observe, portions_of, requests_of
from trueprobe.runs.primary import refuse_unknown_axes
from trueprobe.runs.records import ObservationFiles, declaration, items_frame
from trueprobe.runs.replay import Replay, read_replays
from trueprobe.runs.session import Session, settled
from trueprobe.runs.study import Changes, Study
from trueprobe.runs.writing import RunFolder, chunks
from trueprobe.types import Card, NoProgress, Progress

_PLANNED = "planned.json"  # next to observations in the cache; no label has this name


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

    `changes`: limit, per_group, device, dtype, batch_tokens, allow_code, allow_pickle, allow_servers."""
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
    """A plain sequence: settle the items, ask each model (`_Execution.ask`), read released outputs, count, write."""
    for model in models:
        folder.refuse_other_weights(model.outline.card)
    _refuse_unread_settings(plan, models)
    refuse_unknown_axes(plan.study.axes, [one.probe for one in plan.probes], [one.outline.card for one in models])
    probes = settled(plan, models, session)
    replays = _read_replays(plan, probes, models, folder, session.progress)
    run = _Execution(plan, probes, models, replays, folder, session)
    if models and session.cache.get(run.key(models[0].outline.card)) is None:
        session.engine_for_trials(models[0]).prepare()  # a run of one model that is unusable leaves nothing behind
    with folder.writing():
        began, made_with = time.time(), run.begin()
        done = session.each(models, run.ask)
        done += map(run.replay, replays)
        run.count()
        timings, damaged = {one.name: one.timing for one in done}, len(session.store.damaged)
        folder.timing(Timing(began=began, seconds=time.time() - began, models=timings, damaged_answers=damaged))
        folder.manifest(**made_with, counts={one.name: one.counts for one in done}, complete=True)
    return load_run(folder.folder, allow_code=True)  # it was run already


def _refuse_unread_settings(plan: RunPlan, models: Sequence[Unopened]) -> None:
    kinds = {model.outline.card.kind for model in models}
    for planned in plan.probes if not plan.replays else ():
        if setting := planned.probe.unread_setting(kinds):
            here = " and ".join(sorted(kinds))
            raise BadInput(f"{planned.label}: no model of this run reads {setting}: they are {here}; leave it out")


def _read_replays(
    plan: RunPlan, probes: Sequence[PlannedProbe], models: Sequence[Unopened], folder: RunFolder, progress: Progress
) -> list[Replay]:
    if not plan.replays:
        return []
    with progress.task("reading released outputs"):
        replays = read_replays(plan.replays, [(planned.label, planned.probe) for planned in probes])
    names = [model.outline.card.name for model in models]
    for replay in replays:
        if replay.card.name in names:
            raise BadInput(f"two models are called '{replay.card.name}'; use two runs")
        names.append(replay.card.name)
        folder.refuse_other_weights(replay.card)
    return replays


# ---------------------------------------------------------------- what is written


@dataclass(frozen=True)
class _Done:
    """One model, when its observations are written."""

    name: str
    counts: dict[str, int]  # the same for every run of the same questions
    timing: dict[str, float]


@dataclass(frozen=True)
class _Execution:
    """A run of which everything is settled that must be before the first file is written."""

    plan: RunPlan
    probes: Sequence[PlannedProbe]
    models: Sequence[Unopened]
    replays: Sequence[Replay]
    folder: RunFolder
    session: Session

    def asked(self, card: Card) -> list[PlannedProbe]:
        return self.plan.asked(self.probes, card)

    def n_items(self, card: Card) -> int:
        return sum(len(planned.items) for planned in self.asked(card))

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        return tuple([model.outline.card for model in self.models] + [replay.card for replay in self.replays])

    def key(self, card: Card) -> str:
        """Of one model's observations, which are made for all probes at once."""
        questions = [f"{planned.label} {self._texts[planned.label]}" for planned in self.asked(card)]
        return key_of("observations", card_text(card), questions, self.session.batch_tokens)

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {planned.label: probe_text(planned) for planned in self.probes}

    def begin(self) -> dict[str, Any]:
        """Writes what is known before any model is asked; gives what the manifest has at the end, too."""
        session, folder = self.session, self.folder
        computed_on = machine(self.plan.options, session.store, session.executor.threads)
        made_with = {"versions": versions(), "machine": computed_on, "cards": self.cards}
        folder.local({model.outline.card.name: model.location for model in self.models})
        folder.manifest(**made_with)
        for planned in self.probes:
            folder.items(planned.label, (items_frame(planned.probe, some) for some in chunks(planned.items)))
        folder.declarations(
            {one.label: declaration(one.probe, one.items, one.items_needed, one.n_whole) for one in self.probes}
        )
        return made_with

    def ask(self, model: Unopened) -> _Done:
        """All probes in one go, so that rows they share are computed once. Where an earlier run asked the same, nothing
        is asked."""
        card = model.outline.card
        cached = self.session.cache.get(self.key(card))
        if cached is not None:
            return self._as_before(card, cached)
        engine, counts, finite = self.session.engine(model), Counts(), True
        with ObservationFiles(self.folder, card) as files:
            for portion in portions_of(self.asked(card), card, engine.progress):
                answers = engine.in_turn(requests_of(portion))
                counts += engine.counts
                for planned, item, ask in portion:
                    observations = observe(planned, item, ask, card, answers)
                    finite &= all_finite(observations)
                    files.add(planned, observations)
                del portion, answers  # before the next ones are made
        if finite:  # what was not finite is asked again, as its answer is not cached
            self._cache(card, counts.planned)
        return _Done(card.name, {"items": self.n_items(card), **counts.planned}, counts.happened)

    def _cache(self, card: Card, planned: Mapping[str, int]) -> None:
        files = {one.label: self.folder.content(observations_file(one.label, card.name)) for one in self.asked(card)}
        self.session.cache.put(self.key(card), {**files, _PLANNED: json.dumps(planned).encode()})

    def _as_before(self, card: Card, cached: Mapping[str, bytes]) -> _Done:
        began = time.monotonic()
        self.session.store.use(card)
        for planned in self.asked(card):
            self.folder.cached_observations(planned.label, card.name, cached[planned.label])
        counts = Counts.of_cached(json.loads(cached[_PLANNED]), time.monotonic() - began)
        return _Done(card.name, {"items": self.n_items(card), **counts.planned}, counts.happened)

    def replay(self, replay: Replay) -> _Done:
        with ObservationFiles(self.folder, replay.card) as files:
            for planned in self.asked(replay.card):
                files.add(planned, replay.observations(planned.label, planned.items))
        return _Done(replay.card.name, {"items": self.n_items(replay.card)}, {})

    def count(self) -> None:
        """All tables, as they are where the same was counted before."""
        keys = {planned.label: self._counting_key(planned) for planned in self.probes}
        study, cache = self.plan.study, self.session.cache
        key = key_of("tables", study.verdicts_over, *([study.axes] if study.axes else []), list(keys.values()))
        cached = cache.get(key)
        if cached is not None:
            for name, content in cached.items():
                self.folder.table(name, content)
            return
        from trueprobe.runs.tables import RunTables

        each_model = study.verdicts_over == "model"
        tables = RunTables(self.folder, self.cards, study.intervals, each_model, study.axes, cache, keys)
        with self.session.progress.task("counting", len(self.probes) + 1, "probes") as task:
            for planned in self.probes:
                task.advance(0, planned.label)
                tables.add(planned.label, planned.probe)
                task.advance(1)
            tables.write()
        cache.put(key, {name: self.folder.content(name) for name in self.folder.tables})

    def _counting_key(self, planned: PlannedProbe) -> str:
        """Names all that a probe's rows are counted from, and what else their signatures have."""
        study = self.plan.study
        cards = [card for card in self.cards if asks(study.only, planned.label, card)]
        observed = [self.folder.checksum(observations_file(planned.label, card.name)) for card in cards]
        how, models = (study.intervals, study.limit, study.per_group, study.dtype), list(map(card_text, cards))
        return key_of("counted", planned.label, probe_text(planned), counting_text(planned), how, models, observed)
