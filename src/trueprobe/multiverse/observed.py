"""Observations of a run's items under other settings, from cached answers.

No row is computed beyond those that are allowed. A choice that needs more is left out, with what it would cost.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from trueprobe.engine import AnswerStore, BatchTask, Engine, Executor, Local, default_path, library_versions
from trueprobe.engine.executor import Readings
from trueprobe.errors import BadInput
from trueprobe.models import RowModel, Unopened
from trueprobe.permissions import NONE, Permissions
from trueprobe.probes import Probe, spread
from trueprobe.runs.folder import Run
from trueprobe.runs.plan import PlannedProbe, RunPlan, make_plan
from trueprobe.runs.portions import Ask, observe
from trueprobe.runs.records import observations_frame
from trueprobe.runs.repeat import refuse_other, study_again
from trueprobe.runs.session import Session, settled
from trueprobe.statistics.multiverse import Options, Question, Reading
from trueprobe.statistics.rows import grouped
from trueprobe.types import Answer, Card, Item, NoProgress, Observation, Progress, Request, WhyNot

REQUESTS_AT_ONCE = 1_024


class Beyond(Exception):
    """More rows would be computed than are allowed."""


class Sparing(Local):
    """Computes in this process, and no more rows than are allowed."""

    def __init__(self, rows: int) -> None:
        self.left, self.computed = rows, 0

    def spend(self, rows: int) -> None:
        self.left, self.computed = self.left - rows, self.computed + rows

    def readings(self, model: RowModel, tasks: Sequence[BatchTask]) -> Iterator[tuple[BatchTask, Readings]]:
        rows = sum(len(task.rows) for task in tasks)
        if rows > self.left:
            raise Beyond
        self.spend(rows)
        return super().readings(model, tasks)


@dataclass(frozen=True)
class Way:
    """The run's questions asked under some settings."""

    reading: Reading
    planned: PlannedProbe
    asks: list[tuple[Item, Ask]]

    @property
    def requests(self) -> list[Request]:
        return [request for _, ask in self.asks if not isinstance(ask, WhyNot) for request in ask]


@dataclass
class Observer:
    """The opened models and settled probes of a run, and its answer store."""

    run: Run
    session: Session
    budget: Sparing
    plan: RunPlan
    models: Mapping[str, Unopened]
    probes: Mapping[str, PlannedProbe]
    _others: dict[tuple[str, Options], Unopened] = field(default_factory=dict)
    _engines: dict[tuple[str, Options], Engine] = field(default_factory=dict)

    def can(self, card: Card, question: Question, reading: Reading) -> bool:
        """Whether the model can be asked with these options: the tokenizer has the token, and no server is asked."""
        try:
            self._model(card, question.model(reading))
        except BadInput:
            return False
        return True

    def frames(
        self, label: str, card: Card, question: Question, readings: Iterable[Reading]
    ) -> dict[Reading, pd.DataFrame]:
        """One model's observations of the question's items under each of the settings."""
        frames: dict[Reading, pd.DataFrame] = {}
        for options, alike in grouped(readings, question.model).items():
            model = self._model(card, options)
            frames |= self._frames(label, model, question, alike, self._engine(card, options))
        return frames

    def _frames(
        self, label: str, model: Unopened, question: Question, readings: Iterable[Reading], engine: Engine
    ) -> dict[Reading, pd.DataFrame]:
        card = model.outline.card
        ways = [self._way(label, card, question, one) for one in readings]
        observed = {way.reading: _Observed() for way in ways}
        for some in _portions(ways):
            answers = self._answers(engine, [ask for _, _, ask in some])
            for way, item, ask in some:
                observed[way.reading].add(way, item, ask, card, answers, question)
        return {way.reading: observed[way.reading].frame(way, card) for way in ways}

    def cost(self, label: str, card: Card, question: Question, readings: Iterable[Reading]) -> int:
        """How many rows would be computed for them."""
        missing = 0
        for options, alike in grouped(readings, question.model).items():
            asked = self._model(card, options).outline.card
            requests = [r for one in alike for r in self._way(label, asked, question, one).requests]
            try:
                missing += self._engine(card, options).missing(list(dict.fromkeys(requests)))
            except Beyond:  # ten rows of other library versions are computed again before such answers are used
                return max(self.budget.left, 0) + 1
        return missing

    def _model(self, card: Card, options: Options) -> Unopened:
        if not options:
            return self.models[card.name]
        key = (card.name, options)
        if key not in self._others:
            (source,) = (one for one in self.plan.sources if one.name == card.name)
            if source.server:
                raise BadInput(f"{source.title}: the options of a served model cannot vary")
            (self._others[key],) = self.session.examine([replace(source, **dict(options))], self.plan.options)
        return self._others[key]

    def _engine(self, card: Card, options: Options) -> Engine:
        key = (card.name, options)
        if key not in self._engines:
            self._engines[key] = self.session.engine(self._model(card, options))
        return self._engines[key]

    def _way(self, label: str, card: Card, question: Question, reading: Reading) -> Way:
        planned, settings = self.probes[label], question.settings(reading)
        probe, items = planned.probe, planned.items
        if settings:
            probe = _with_settings(probe, settings)
            items = spread(probe.items(), self.run.study.limit)
        items = [item for item in items if question.items.items() <= item.conditions.items()]
        return Way(reading, PlannedProbe(label, probe, items), [(item, probe.ask(item, card)) for item in items])

    def _answers(self, engine: Engine, asks: Sequence[Ask]) -> dict[Request, Answer | WhyNot]:
        distinct = list(dict.fromkeys(r for ask in asks if not isinstance(ask, WhyNot) for r in ask))
        answers = dict(zip(distinct, engine.answer(distinct), strict=True))
        if engine.model.contract == "answers":  # whole requests, which no executor computes
            self.budget.spend(int(engine.counts.computed))
        return answers


@dataclass
class _Observed:
    """What the items show, and the question's columns next to the probe's."""

    observations: list[Observation] = field(default_factory=list)
    more: list[Mapping[str, Any]] = field(default_factory=list)

    def add(
        self,
        way: Way,
        item: Item,
        ask: Ask,
        card: Card,
        answers: Mapping[Request, Answer | WhyNot],
        question: Question,
    ) -> None:
        taken = [] if isinstance(ask, WhyNot) else [answers[request] for request in ask]
        values = list(observe(way.planned, item, ask, card, iter(taken)))
        self.observations += values
        known = [answer for answer in taken if not isinstance(answer, WhyNot)]
        countable = question.more is not None and values and all(one.why_not is None for one in values)
        self.more += (
            question.more(way.planned.probe, item, known) if countable and question.more else [{}] * len(values)
        )

    def frame(self, way: Way, card: Card) -> pd.DataFrame:
        items = {item.id: item for item in way.planned.items}
        frame = observations_frame(way.planned.probe, items, self.observations, card)
        return pd.concat([frame, pd.DataFrame(self.more, index=frame.index)], axis=1)


def _with_settings(probe: Probe, changes: Mapping[str, Any]) -> Probe:
    """This probe as trials have settled it, with other settings (or attributes), which are read when it asks."""
    changed = copy.copy(probe)
    settings = {name: value for name, value in changes.items() if name in type(probe.settings).model_fields}
    changed.settings = probe.settings.model_copy(update=settings)
    for name in changes.keys() - settings.keys():
        setattr(changed, name, changes[name])
    return changed


def _portions(ways: Sequence[Way]) -> Iterator[list[tuple[Way, Item, Ask]]]:
    """The same item of all ways together, since they share answers."""
    portion: list[tuple[Way, Item, Ask]] = []
    requests = 0
    for alike in zip_longest(*(way.asks for way in ways)):
        for way, one in zip(ways, alike, strict=True):
            if one is not None:
                portion.append((way, *one))
                requests += 0 if isinstance(one[1], WhyNot) else len(one[1])
        if requests >= REQUESTS_AT_ONCE:
            yield portion
            portion, requests = [], 0
    if portion:
        yield portion


@contextmanager
def observer(
    run: Run,
    rows: int = 0,
    store: Path | None = None,
    progress: Progress | None = None,
    permissions: Permissions = NONE,
) -> Iterator[Observer]:
    """Opens no weights before a row is computed, or the output embedding is needed."""
    path = store or default_path()
    if not path.exists():
        raise BadInput(
            f"no answer store at {path}, and the answers of {run.folder} are needed; name it with --store, or run the "
            f"study again: trueprobe run --from {run.folder}"
        )
    progress, budget = progress or NoProgress(), Sparing(rows)
    plan = make_plan(study_again(run), permissions)
    executor: Executor = budget
    with closing(AnswerStore(path, library_versions(), progress)) as answers:
        session = Session(answers, progress, plan.study.batch_tokens, executor)
        models = session.examine(plan.sources, plan.options)
        refuse_other(run, plan, [model.outline.card for model in models])
        try:
            probes = settled(plan, models, session)
        except Beyond as error:
            raise lacking(run, path) from error
        by_name = {model.outline.card.name: model for model in models}
        yield Observer(run, session, budget, plan, by_name, {planned.label: planned for planned in probes})


def lacking(run: Run, path: str | Path) -> BadInput:
    return BadInput(
        f"the answer store {path} does not have the answers of {run.folder}; name the right one with --store, or "
        f"compute them again: trueprobe run --from {run.folder}"
    )
