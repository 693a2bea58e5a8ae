"""Suggested prompts: an occupation, and in front of its prompt each of the nine kinds of knowledge; the word lists."""

from __future__ import annotations

from functools import cache

from trueprobe.probes.counteracts.material import WITH_BACKGROUND, CounterActsMaterial
from trueprobe.probes.counteracts.measures import KNOWLEDGE
from trueprobe.probes.counteracts.probe import CounterActs
from trueprobe.probes.counteracts.settings import CounterActsSettings
from trueprobe.probes.suggestions import Json, Suggestions, Wanted, index_of
from trueprobe.probes.templates import BLANK

LISTS = ("gender", "age")  # shipped material


@cache
def _probe() -> CounterActs:
    return CounterActs(CounterActsSettings(causal="person_is"))


def word_lists(name: str) -> dict[str, tuple[str, ...]]:
    """The two groups of a shipped file."""
    return dict(CounterActsMaterial.read(name).verbalizer)


def _menu() -> Json:
    return {
        "lists": [{"name": name, "groups": _groups(name)} for name in LISTS],
        "occupations": [{"name": one.name, "dominant": one.dominant} for one in _probe().targets],
    }


def _groups(name: str) -> list[Json]:
    return [{"name": group, "words": list(words)} for group, words in word_lists(name).items()]


def _suggest(wanted: Wanted) -> Json:
    """Where another occupation is mentioned, the first that the other group dominates."""
    probe = _probe()
    target = probe.targets[index_of(wanted.of, [one.name for one in probe.targets], "occupation")]
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


SUGGESTIONS = Suggestions(_menu, "knowledge", _suggest)
