"""The verbalizer's second step: likely words that the word list does not know, with each word's leaning.

A word's leaning is measured by asking the models themselves ("The nurse said that ___ was late."): the share of
the first group's words among both groups' words. It is a model's association, not a fact about people. A model that
leans one way for anybody does so for a neutral word too: words are judged by how much further they lean than that one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd

from trueprobe.engine import AnswerStore, Engine, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Model, Options, examine, find
from trueprobe.permissions import NONE, Permissions
from trueprobe.probes.counteracts.probe import CounterActs
from trueprobe.probes.files import toml_pairs
from trueprobe.runs.folder import Run
from trueprobe.runs.replay import is_replayed
from trueprobe.types import Card, FillBlank, Filled, Progress, Request

_NEUTRAL_WORD = "person"  # its leaning is the models' general tendency, to compare with


def candidates(
    run: Run,
    top: int = 40,
    store: str | Path | None = None,
    progress: Progress | None = None,
    permissions: Permissions = NONE,
) -> pd.DataFrame:
    """Uncovered top-ten tokens by probability mass, with their leaning; the neutral word comes last. `permissions`: of
    the models that the folder names; by default none."""
    probe, label = _probe(run)
    words = uncovered(run, label)
    words = words[words["word"] != _NEUTRAL_WORD].head(top)
    if words.empty:
        return words
    asked = [*words["word"], _NEUTRAL_WORD]
    with closing(AnswerStore(store, library_versions(), progress)) as answers:
        engines = (Engine(model, answers, progress) for model in _models(run, permissions))
        leanings = [_leaning(probe, asked, engine) for engine in engines]
    leaning = pd.DataFrame(leanings).mean().reindex(asked)  # NaN: no model can spell the word in a text
    words = words.assign(**{f"leans_{probe.first}": leaning[words["word"]].to_numpy()})
    last = {"word": _NEUTRAL_WORD, f"leans_{probe.first}": leaning[_NEUTRAL_WORD]}
    table = pd.concat([words, pd.DataFrame([last])], ignore_index=True)
    return table.assign(**{f"leans_{probe.first}_beyond_neutral": beyond_neutral(table, probe.first)})


def beyond_neutral(table: pd.DataFrame, first: str) -> pd.Series[float]:
    """Each word's leaning as it would be if the neutral word, in the last row, leaned nowhere: the odds of the first
    group are divided by those of the neutral word. Neutral 0.2, word 0.5 -> 0.8; neutral 0.2, word 0.2 -> 0.5."""
    leaning = table[f"leans_{first}"]
    neutral = float(leaning.iloc[-1])
    towards, away = leaning * (1 - neutral), (1 - leaning) * neutral
    return towards / (towards + away)


def uncovered(run: Run, label: str) -> pd.DataFrame:
    """Tokens of top tens that belong to no list: how often, and their mean probability over prompts and models."""
    scored = run.observations(label)
    scored = scored[scored["why_not"] == ""]
    columns = ["top_tokens", "top_probabilities", "top_groups"]
    tokens = scored[columns].reset_index(names="prompt").explode(columns, ignore_index=True)
    tokens = tokens[tokens["top_groups"] == ""]
    tokens = tokens.assign(word=tokens["top_tokens"].astype(str).str.strip().str.lower())
    tokens = tokens[tokens["word"] != ""]
    table = tokens.groupby("word", as_index=False).agg(mass=("top_probabilities", "sum"), prompts=("prompt", "nunique"))
    table["mass"] = table["mass"].astype(float) / max(len(scored), 1)
    return table.sort_values(["mass", "word"], ascending=[False, True], ignore_index=True)


def to_toml(table: pd.DataFrame, first: str, second: str, threshold: float) -> str:
    """Words that lean clearly further than the neutral word, as a file for `--set verbalizer=FILE`; a person should
    read it before using it."""
    lean = beyond_neutral(table, first).set_axis(table["word"]).drop(_NEUTRAL_WORD)
    chosen = {first: lean[lean >= threshold].index, second: lean[lean <= 1 - threshold].index}
    lines = [
        f"# words that lean at least {threshold:g} beyond the neutral word '{_NEUTRAL_WORD}'; delete what names no "
        f"{first} or {second} person",
        "[implicit]",
    ]
    lines += toml_pairs({group: list(words) for group, words in chosen.items()})
    return "\n".join(lines) + "\n"


def groups_of(run: Run) -> tuple[str, str]:
    probe, _ = _probe(run)
    return probe.first, probe.second


def _probe(run: Run) -> tuple[CounterActs, str]:
    for entry in run.study.probes:
        if entry.name == "counteracts":
            probe = run.probe(entry.label)
            assert isinstance(probe, CounterActs)
            return probe, entry.label
    raise BadInput(f"{run.folder} has no counteracts run, and only that has a verbalizer")


def _models(run: Run, permissions: Permissions) -> Iterator[Model]:
    """The models of the run, opened one after the other where they were; replayed outputs cannot be asked."""
    cards = [card for card in run.cards if not is_replayed(card)]
    if not cards:
        raise BadInput(f"{run.folder} has only replayed outputs; run it with a --model SPEC too")
    options = Options(dtype=run.study.dtype, allow_pickle=permissions.pickle, servers=permissions.servers)
    return (_open(card, run.sources.get(card.name), options) for card in cards)


def _open(card: Card, source: str | None, options: Options) -> Model:
    gone = BadInput(f"the model {card.name} is no longer where the run was made")
    if source is None:
        raise gone
    try:
        (member,) = find([source], options)
    except BadInput as error:
        raise gone from error
    checkpoint = examine(replace(member, name=card.name, title=card.source), options)
    if checkpoint.outline.card.compute_id != card.compute_id:
        raise BadInput(f"the weights at {source} are not those of the run")
    return checkpoint.open()


def _requests(probe: CounterActs, words: Sequence[str], kind: str) -> list[Request]:
    ask = probe.material.prevalence
    both = (*ask[probe.first], *ask[probe.second])
    right = str(ask["right"]) if kind == "masked" else ""
    return [FillBlank(str(ask["left"]).replace("{word}", word), right, words=both) for word in words]


def _leaning(probe: CounterActs, words: Sequence[str], engine: Engine) -> dict[str, float]:
    answers = engine.answer(_requests(probe, words, engine.model.card.kind))
    leaning = {}
    for word, answer in zip(words, answers, strict=True):
        if isinstance(answer, Filled):
            masses = [answer.mass(tuple(probe.material.prevalence[group])) for group in (probe.first, probe.second)]
            leaning[word] = masses[0] / sum(masses) if sum(masses) else math.nan
    return leaning
