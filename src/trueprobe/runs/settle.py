"""What depends on the models of a run: items that trials decide on, and the words that ranks refer to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from trueprobe.engine import Engine
from trueprobe.models import Unopened
from trueprobe.runs.plan import PlannedProbe, RunPlan, with_items
from trueprobe.runs.portions import asks_of, observe, requests_of
from trueprobe.runs.session import Session
from trueprobe.runs.study import Study
from trueprobe.types import Observation, WordList


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
