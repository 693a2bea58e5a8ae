"""Suggested prompts: a fact, and behind it up to three other entities with the target of another pair.

Entities keep their names while distractors are added, so that one thing changes at a time; a run draws them for every
item.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from trueprobe.probes.distractors.material import Pair
from trueprobe.probes.distractors.probe import Distractors, DistractorSettings
from trueprobe.probes.distractors.sentences import MOST, DistractorCase
from trueprobe.probes.suggestions import Json, Suggestions, Wanted, index_of
from trueprobe.probes.templates import BLANK


@cache
def _probe() -> Distractors:
    return Distractors(DistractorSettings())


def _menu() -> Json:
    return {"sets": {name: [pair.background for pair in one.pairs] for name, one in _probe().material.sets.items()}}


def _suggest(wanted: Wanted) -> Json:
    probe = _probe()
    names = list(probe.material.sets)
    items = probe.material.sets[names[index_of(wanted.set, names, "set")]]
    key = items.pairs[index_of(wanted.of, [pair.background for pair in items.pairs], f"background in {wanted.set}")]
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
    case = DistractorCase.plain(name, len(others))
    sentence = probe.material.sentence(case, probe.material.wordings[0], faithful=False).filled(slots)
    return {"text": sentence.text, "causal": f"{sentence.context} {sentence.left}{BLANK}"}


SUGGESTIONS = Suggestions(_menu, "distractors", _suggest)
