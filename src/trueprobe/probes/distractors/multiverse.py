"""The defensible ways of counting what one attractor (or more) costs. The null swaps a target's contexts without and
with attractors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueprobe.probes.choices import OWN, start_token
from trueprobe.probes.distractors.measures import LEAST_COMPETENCE, RELATED, Rows
from trueprobe.probes.distractors.sentences import SETTINGS
from trueprobe.statistics.measure import Claim, Gate
from trueprobe.statistics.multiverse import Axis, Choice, Chosen, Counting, Question, Relabelling, of_several
from trueprobe.types import Card, Unit

if TYPE_CHECKING:
    import pandas as pd

    from trueprobe.probes.distractors.probe import Distractors

_SCALES = {
    "accuracy": ("correct", Unit.SHARE),
    "nats over rivals": ("target_over_rivals_nats", Unit.NATS),
    "log probability": ("log_relative_probability", Unit.NATS),
}
_AXES = (
    Axis(
        name="scale",
        values=(
            Choice(name="accuracy", why="how often the target is first among the candidates (the paper's)"),
            Choice(name="nats over rivals", why="by how much it is first: losing a margin is losing information"),
            Choice(name="log probability", why="of the target alone, relative to its base context (Eq. 1)"),
        ),
    ),
    Axis(
        name="attractors",
        values=(
            Choice(name="1", why="the first does most (the paper's finding)"),
            Choice(name="3", why="the longest list in the run"),
            Choice(name="1 to 3", why="any attractors: no number is the right one"),
        ),
    ),
    Axis(
        name="type",
        values=(
            Choice(name="related", why="attractors of both types together"),
            *(Choice(name=one, why="one type by itself, as the paper's figures") for one in RELATED),
        ),
    ),
    Axis(
        name="setting",
        values=(
            Choice(name="both", why="one entity or several: the finding is about neither"),
            *(Choice(name=one, why="one setting by itself, as the paper's figures") for one in SETTINGS),
        ),
    ),
    Axis(
        name="targets",
        values=(
            Choice(name="known", why="those the model prefers at base: others cannot be lost (the gate)"),
            Choice(name="all", why="a choice by the model's answers is a choice by noise, too"),
        ),
    ),
    Axis(
        name="filler",
        values=(
            Choice(name="any", why="longer sentences with unrelated facts count like short ones"),
            Choice(name="none", why="only the attractors differ from the base context"),
        ),
    ),
)


_SEPARATOR = Axis(
    name="separator",
    needs_rows=True,
    values=(
        Choice(name="none", why="one running text, as the authors' code", settings={"separator": "none"}),
        Choice(name="paper", why="two sentences, as their paper says", settings={"separator": "paper"}),
    ),
)


def question(probe: Distractors, card: Card) -> Question:
    wordings = [name for name in probe.material.wordings if probe.wording == "all"]
    wording = [Choice(name="all", why="all wordings of the run: no sentence is the right one")]
    wording += [Choice(name=name, why="one wording by itself") for name in wordings]
    return Question(
        name="one_attractor_hurts",
        statement="attractors after the fact make the model lose the target",
        axes=of_several(
            *_AXES,
            Axis(name="wording", values=tuple(wording)),
            _SEPARATOR if card.kind == "masked" else start_token(card, blanks=True),
        ),
        own={
            "scale": "accuracy",
            "attractors": "1",
            "type": "related",
            "setting": "both",
            "targets": "known",
            "filler": "any",
            "wording": "all",
            "separator": probe.settings.separator,
            "start token": OWN,
        },
        count=_counting,
        relabelling=Relabelling.SIGN,
        factor="target",
    )


def _counting(frame: pd.DataFrame, chosen: Chosen) -> Counting | None:
    column, unit = _SCALES[chosen["scale"]]
    rows = np.ones(len(frame), bool)
    if chosen["filler"] == "none":
        rows &= (frame["filler"] == 0).to_numpy()
    if chosen.get("wording", "all") != "all":
        rows &= (frame["condition_wording"] == chosen["wording"]).to_numpy()
    types = RELATED if chosen["type"] == "related" else (chosen["type"],)
    settings = tuple(SETTINGS) if chosen["setting"] == "both" else (chosen["setting"],)
    at: Rows = {"position": ("after",), "setting": settings, "type": types}
    gate = None
    if chosen["targets"] == "known":
        at, gate = {**at, "base_preferred": (1.0,)}, Gate("base_preferred", LEAST_COMPETENCE)
    counts = (1, 2, 3) if chosen["attractors"] == "1 to 3" else (int(chosen["attractors"]),)
    plus: Rows = {**at, "attractors": (0,)}
    minus: Rows = {**at, "attractors": counts}
    number = Claim("lost", "", "", "", plus, minus, unit=unit, gate=gate)
    values = np.where(rows, frame[column].to_numpy(dtype=float), np.nan)
    return Counting(values, number) if not np.isnan(values).all() else None
