"""Prompts to begin with, from the probes' own material: nine kinds of knowledge, growing properties, distractors.

A suggestion is a prompt and what may be added to it. Entities keep their names while distractors are added, so that
one thing changes at a time; `run` draws them anew for every item.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from trueprobe import probes
from trueprobe.errors import BadInput, nearest
from trueprobe.explore.asking import LISTS, shipped_groups
from trueprobe.explore.questions import SuggestionWanted
from trueprobe.probes.counteracts.material import WITH_BACKGROUND
from trueprobe.probes.counteracts.measures import KNOWLEDGE
from trueprobe.probes.counteracts.probe import CounterActs
from trueprobe.probes.crows_pairs.probe import CrowsPairs
from trueprobe.probes.distractors.material import Pair
from trueprobe.probes.distractors.probe import Distractors
from trueprobe.probes.distractors.sentences import MOST, Case
from trueprobe.probes.tacit.phrases import joined
from trueprobe.probes.tacit.retrieval import TacitRetrieval
from trueprobe.probes.templates import BLANK

MOST_PROPERTIES = 10
MOST_PAIRS = 12
Json = dict[str, Any]


@cache
def _counteracts() -> CounterActs:
    return cast(CounterActs, probes.make("counteracts", {"causal": "person_is"}))


@cache
def _distractors() -> Distractors:
    return cast(Distractors, probes.make("distractors"))


@cache
def _retrieval() -> TacitRetrieval:
    return cast(TacitRetrieval, probes.make("tacit_retrieval"))


@cache
def menu() -> Json:
    """All there is to choose from."""
    pairs = cast(CrowsPairs, probes.make("crows_pairs", {"data": "sample"})).material.pairs
    return {
        "lists": [_lists(name) for name in LISTS],
        "occupations": [{"name": one.name, "dominant": one.dominant} for one in _counteracts().targets],
        "concepts": [concept.name for concept in _retrieval().concepts],
        "sets": {name: [pair.background for pair in one.pairs] for name, one in _distractors().material.sets.items()},
        "pairs": [[pair.more, pair.less] for pair in pairs[:MOST_PAIRS]],
    }


def _lists(name: str) -> Json:
    return {"name": name, "groups": [{"name": g.name, "words": list(g.words)} for g in shipped_groups(name)]}


def suggest(wanted: SuggestionWanted) -> Json:
    """`clues` with a `before` each, or those that are `chosen` and part of `text`; `series` are all steps."""
    return {"knowledge": _knowledge, "properties": _properties, "distractors": _with_distractors}[wanted.kind](wanted)


def _known(name: str, names: Sequence[str], what: str) -> int:
    if name not in names:
        raise BadInput(f"no {what} '{name}'{nearest(name, names)}")
    return names.index(name)


def _knowledge(wanted: SuggestionWanted) -> Json:
    """Where another occupation is spoken of, the first that the other group dominates."""
    probe = _counteracts()
    target = probe.targets[_known(wanted.of, [one.name for one in probe.targets], "occupation")]
    other = next(one for one in probe.targets if one.dominant != target.dominant)
    wording = next(iter(probe.wordings))
    base = probe.prompts(wording, "base", target, None, probe.form)
    clues = []
    for kind, meaning in KNOWLEDGE.items():
        if kind != "base":
            background = other if kind in WITH_BACKGROUND else None
            prompt = probe.prompts(wording, kind, target, background, probe.form)
            clues.append({"name": kind, "meaning": meaning, "text": prompt["knowledge"]})
    text, causal = f"{base['left']}{BLANK}{base['right']}", f"{base['causal_left']}{BLANK}"
    return {"text": text, "causal": causal, "lists": "gender", "clues": clues, "dominant": target.dominant}


def _properties(wanted: SuggestionWanted) -> Json:
    """Properties are part of the sentence: those that are chosen, and as they grow from one to all."""
    probe = _retrieval()
    concept = probe.concepts[_known(wanted.of, [one.name for one in probe.concepts], "concept")]
    phrases = [listed.phrase for listed in concept.properties[:MOST_PROPERTIES]]
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


def _with_distractors(wanted: SuggestionWanted) -> Json:
    """Other entities with the target of another pair, behind the fact; at most three."""
    probe = _distractors()
    names = list(probe.material.sets)
    items = probe.material.sets[names[_known(wanted.set, names, "set")]]
    key = items.pairs[_known(wanted.of, [pair.background for pair in items.pairs], f"background in {wanted.set}")]
    others = [pair for pair in items.pairs if pair is not key]
    chosen = [i for i in dict.fromkeys(wanted.chosen) if i < len(others)][:MOST]

    def prompt(numbers: Sequence[int]) -> Json:
        return _sentence(probe, wanted.set, key, [others[i] for i in numbers])

    return {
        **prompt(chosen),
        "clues": [{"name": str(i + 1), "text": pair.target} for i, pair in enumerate(others)],
        "chosen": chosen,
        "most": MOST,
        "first": [key.target],
        "second": [pair.target for pair in others],
        "series": [prompt(range(n)) for n in range(MOST + 1)],
    }


def _sentence(probe: Distractors, name: str, key: Pair, others: Sequence[Pair]) -> Json:
    slots = {f"name{i}": who for i, who in enumerate(probe.material.names[: 1 + len(others)])}
    for place, pair in enumerate((key, *others)):
        slots |= pair.slots[place]
    case = Case(name, "after", "multiple", "T", len(others), 0)
    sentence = probe.material.sentence(case, probe.material.wordings[0], faithful=False).filled(slots)
    return {"text": sentence.text, "causal": f"{sentence.context} {sentence.left}{BLANK}"}
