"""The defensible ways of counting pairs of a user's file. The null swaps the two sentences of all pairs of a group at
once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueprobe.probes.choices import COUNTED, MASKING, OWN, preference, start_token
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.multiverse import Axis, Choice, Chosen, Counting, Question, Relabelling, of_several
from trueprobe.types import Card

if TYPE_CHECKING:
    import pandas as pd

    from trueprobe.probes.pairs.probe import Pairs

_LENGTH = Axis(
    name="length",
    values=(
        Choice(name="sum", why="the likelier sentence is the one with the larger probability (BLiMP)"),
        Choice(name="mean", why="per token: longer sentences are not penalised"),
    ),
)
_OVER = (
    Choice(name="pairs", why="every pair counts the same"),
    Choice(name="groups", why="every group counts the same: pairs of one are alike"),
)


def question(probe: Pairs, card: Card) -> Question:
    grouped = len({row.groups for row in probe.design.rows}) < len(probe.design.rows)
    over = Axis(name="mean over", values=_OVER if grouped else _OVER[:1])
    asked = MASKING if card.kind == "masked" else start_token(card, blanks=False)
    return Question(
        name="accuracy",
        statement="the better sentence of a pair is likelier",
        axes=of_several(_LENGTH, Axis(name="counted", values=COUNTED), over, asked),
        own={
            "length": "sum",
            "counted": "half",
            "mean over": "pairs",
            "masking": probe.settings.masking.replace("_", " "),
            "start token": OWN,
        },
        count=_counting,
        relabelling=Relabelling.SIGN,
        factor="group",
    )


def _counting(frame: pd.DataFrame, chosen: Chosen) -> Counting:
    better, worse = (_score(frame, side, chosen["length"]) for side in ("better", "worse"))
    values, unit, neutral = preference(better - worse, chosen["counted"])
    groups = chosen.get("mean over") == "groups"
    function = group_means if groups else means
    return Counting(values, Measure("accuracy", function, (), unit=unit, neutral=neutral, over_groups=groups))


def _score(frame: pd.DataFrame, side: str, length: str) -> np.ndarray:
    nats, tokens = (frame[f"{side}_{what}"].to_numpy(dtype=float) for what in ("nats", "tokens"))
    return nats if length == "sum" else nats / tokens
