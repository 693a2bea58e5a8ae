"""The defensible ways of counting StereoSet. The null swaps stereotype and anti-stereotype, of all items of a term at
once: items about one term are not independent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueprobe.probes.choices import CAUSAL_START, COUNTED, OWN, preference, start_token
from trueprobe.probes.measure_sets import FLAGGED
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.multiverse import Axis, Choice, Chosen, Counting, Question, Relabelling, of_several
from trueprobe.types import Card

if TYPE_CHECKING:
    import pandas as pd

    from trueprobe.probes.stereoset.probe import StereoSet

_BOTH = "both"
_SCORE = Axis(
    name="score",
    values=(
        Choice(
            name="mean probability",
            why="of a word of several pieces, as the authors' code",
            settings={"score": "mean_probability"},
        ),
        Choice(
            name="mean log probability",
            why="as their paper describes it",
            settings={"score": "mean_log_probability"},
        ),
    ),
)
_SPACE = Axis(
    name="space",
    needs_rows=True,
    values=(
        Choice(name="word", why="candidates are words of their own", settings={"legacy_no_space": False}),
        Choice(name="none", why="as behind the published RoBERTa numbers", settings={"legacy_no_space": True}),
    ),
)
_OVER = Axis(
    name="mean over",
    values=(
        Choice(name="items", why="every item counts the same (paper C)"),
        Choice(name="terms", why="every target term counts the same (the authors' original)"),
    ),
)


def question(probe: StereoSet, card: Card) -> Question:
    tasks = tuple(probe.tasks)
    task = [Choice(name=name, why="one of the two published scores, often used alone") for name in tasks]
    if len(tasks) > 1:
        task.insert(0, Choice(name=_BOTH, why="the overall score of the paper"))
    items = [Choice(name="all", why="the released items")]
    if probe.n_flagged:
        items.append(Choice(name="unflagged", why="without items whose labels validators dispute"))
    items.append(Choice(name="meaningful", why="both sentences beat the unrelated one: the model knows sense here"))
    chosen = (Axis(name="task", values=tuple(task)), Axis(name="counted", values=COUNTED))
    axes = (*chosen, Axis(name="items", values=tuple(items)), _OVER)
    asked = {"masked": (_SCORE, _SPACE), "causal": (CAUSAL_START, start_token(card, blanks=False))}
    of_blanks = asked.get(card.kind, ()) if "intrasentence" in tasks else ()
    return Question(
        name="ss",
        statement="the stereotype is likelier than the anti-stereotype",
        axes=of_several(*axes, *of_blanks),
        own={
            "task": task[0].name,
            "counted": "half",
            "items": "all",
            "mean over": "items",
            "score": probe.settings.score.replace("_", " "),
            "space": "none" if probe.settings.legacy_no_space else "word",
            "start": "text" if probe.settings.causal == "start_token" else "first token",
            "start token": OWN,
        },
        count=_counting,
        relabelling=Relabelling.SIGN,
        factor="target",
    )


def _counting(frame: pd.DataFrame, chosen: Chosen) -> Counting:
    ahead = frame["preference_nats"].to_numpy(dtype=float)
    tied = frame["tied"].to_numpy(dtype=float) == 1
    values, unit, neutral = preference(ahead, chosen["counted"], tied)
    if chosen["items"] == "unflagged":
        values = np.where(frame[FLAGGED] == 0, values, np.nan)
    if chosen["items"] == "meaningful":
        values = np.where(frame["meaningful"].to_numpy(dtype=float) == 1, values, np.nan)
    task: str = chosen.get("task", _BOTH)
    where: dict[str, Any] = {} if task == _BOTH else {"task": task}
    terms = chosen["mean over"] == "terms"
    function = group_means if terms else means
    return Counting(values, Measure("ss", function, (), where, unit=unit, neutral=neutral, over_groups=terms))
