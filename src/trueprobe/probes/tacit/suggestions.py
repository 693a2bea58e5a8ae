"""Suggested prompts: a concept's properties within one sentence, as they grow from one to all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from trueprobe.probes.suggestions import Json, Suggestions, Wanted, index_of
from trueprobe.probes.tacit.phrases import joined
from trueprobe.probes.tacit.retrieval import RetrievalSettings, TacitRetrieval

_MOST_PROPERTIES = 10


@cache
def _probe() -> TacitRetrieval:
    return TacitRetrieval(RetrievalSettings())


def _menu() -> Json:
    return {"concepts": [concept.name for concept in _probe().concepts]}


def _suggest(wanted: Wanted) -> Json:
    """Properties are part of the sentence: those that are chosen, and as they grow from one to all."""
    probe = _probe()
    concept = probe.concepts[index_of(wanted.of, [one.name for one in probe.concepts], "concept")]
    phrases = [listed.phrase for listed in concept.properties[:_MOST_PROPERTIES]]
    chosen = [i for i in sorted(set(wanted.chosen)) if i < len(phrases)] or [0]
    wording = probe.prompts.retrieval[probe.wordings[0]]

    def prompt(numbers: Sequence[int]) -> Json:
        clues = joined([phrases[i] for i in numbers])
        return {"text": wording.masked.format(properties=clues), "causal": wording.causal.format(properties=clues)}

    return {
        **prompt(chosen),
        "clues": [{"name": str(i + 1), "text": phrase} for i, phrase in enumerate(phrases)],
        "chosen": chosen,
        "first": [concept.name],
        "series": [prompt(range(n)) for n in range(1, len(phrases) + 1)],
    }


SUGGESTIONS = Suggestions(_menu, "properties", _suggest)
