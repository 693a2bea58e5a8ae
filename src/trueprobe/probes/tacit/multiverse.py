"""The defensible ways of counting what more properties help. The null swaps a concept's prompts with few and with many
properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueprobe.probes.choices import OWN, start_token
from trueprobe.probes.tacit.measures import NAMES_CONCEPT, Rows
from trueprobe.statistics.measure import Claim
from trueprobe.statistics.multiverse import Axis, Choice, Chosen, Counting, Question, Relabelling, of_several
from trueprobe.types import Card, Unit

if TYPE_CHECKING:
    import pandas as pd

    from trueprobe.probes.tacit.retrieval import TacitRetrieval

_SCALES = {
    "reciprocal rank": ("reciprocal_rank", Unit.SCORE),
    "first": ("ranked_first", Unit.SHARE),
    "probability": ("probability", Unit.PROBABILITY),
    "log probability": ("log_probability", Unit.NATS),
    "nats over others": ("concept_over_others_nats", Unit.NATS),
}
_LENGTHS = {"10 and 1": ((10,), (1,)), "5 and 1": ((5,), (1,)), "6-10 and 1-5": (range(6, 11), range(1, 6))}
_AXES = (
    Axis(
        name="scale",
        values=(
            Choice(name="reciprocal rank", why="the paper's"),
            Choice(name="first", why="whether the concept is the answer"),
            Choice(name="probability", why="what the paper's second figure shows"),
            Choice(name="log probability", why="a rise from .0001 to .001 counts like one from .1 to 1"),
            Choice(name="nats over others", why="what the properties say of this concept and of no other"),
        ),
    ),
    Axis(
        name="properties",
        values=(
            Choice(name="10 and 1", why="the ends of the paper's curve"),
            Choice(name="5 and 1", why="where the paper sees the gain flatten"),
            Choice(name="6-10 and 1-5", why="the whole curve: no two lengths are the right ones"),
        ),
    ),
    Axis(
        name="prompts",
        values=(
            Choice(name="all", why="the properties as people listed them"),
            Choice(name="not naming", why="without concepts that a property names: that is reading, not knowing"),
        ),
    ),
)


def question(probe: TacitRetrieval, card: Card) -> Question:
    orders = [Choice(name=probe.order, why="as the paper has them")]
    if probe.norms.has_frequencies and probe.settings.analyses == "all":
        orders.append(Choice(name="increasing", why="the order of a list should not matter"))
    wording = [Choice(name="all", why="all wordings of the run")]
    if len(probe.wordings) > 1:
        wording += [Choice(name=one, why="another sentence with the same meaning") for one in probe.wordings]
    own = {"scale": "reciprocal rank", "properties": "10 and 1", "prompts": "all", "order": probe.order}
    return Question(
        name="properties_help",
        statement="a concept is found better from more properties",
        axes=of_several(
            *_AXES,
            Axis(name="order", values=tuple(orders)),
            Axis(name="wording", values=tuple(wording)),
            start_token(card, blanks=True),
        ),
        own={**own, "wording": "all", "start token": OWN},
        count=lambda frame, chosen: _counting(frame, chosen, probe.first, probe.order),
        relabelling=Relabelling.SIGN,
        factor="concept",
    )


def _counting(frame: pd.DataFrame, chosen: Chosen, selection: str, order: str) -> Counting:
    column, unit = _SCALES[chosen["scale"]]
    values = frame[column].to_numpy(dtype=float)
    if chosen["prompts"] == "not naming":
        naming = set(frame.loc[frame[NAMES_CONCEPT] == 1, "group_concept"])
        values = np.where(frame["group_concept"].isin(naming), np.nan, values)
    if chosen.get("wording", "all") != "all":
        values = np.where(frame["condition_wording"] == chosen["wording"], values, np.nan)
    at: Rows = {"selection": (selection,), "order": (chosen.get("order", order),)}
    many, few = _LENGTHS[chosen["properties"]]
    plus: Rows = {**at, "properties": tuple(many)}
    minus: Rows = {**at, "properties": tuple(few)}
    return Counting(values, Claim("gained", "", "", "", plus, minus, unit=unit))
