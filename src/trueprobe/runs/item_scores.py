"""Released scores next to a model's own, item by item: one wrong input string is visible at once.

Differences are in nats, ours minus theirs: probabilities of single words span many orders of magnitude. The rows that
differ most are asked again in other ways (`diagnosis`), because each way of asking leaves its own differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import probes
from trueprobe.engine import AnswerStore, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Options, find
from trueprobe.probes.base import ReleasedScore
from trueprobe.runs.diagnosis import Diagnosis, diagnose, log_score
from trueprobe.runs.session import Session
from trueprobe.types import Answer, NoProgress, Progress, WhyNot

AGREE_NATS = 1e-3  # float32, another version of the libraries, another machine
WORST = 10


@dataclass(frozen=True)
class ItemRow:
    score: ReleasedScore
    ours: float  # a log-probability

    @property
    def theirs(self) -> float:
        return math.log(self.score.probability)

    @property
    def difference_nats(self) -> float:
        return self.ours - self.theirs


@dataclass(frozen=True)
class ItemComparison:
    """`not_asked`: by the model's WhyNot; `zeros`: released probabilities that have no logarithm."""

    probe: str
    model: str
    n_items: int
    not_asked: int
    zeros: int
    correlation: float  # of log-probabilities
    largest_nats: float
    n_apart: int  # further than AGREE_NATS
    diagnosis: Diagnosis | None  # of the worst rows, where they differ

    @property
    def agrees(self) -> bool:
        return self.n_items > 0 and not self.n_apart


def compare_items(
    probe_name: str,
    settings: Mapping[str, Any],
    released: tuple[Path, str],  # and the authors' name of the model
    spec: str,
    options: Options,
    store: Path | None = None,
    progress: Progress | None = None,
) -> ItemComparison:
    probe, (path, model), progress = probes.make(probe_name, settings), released, progress or NoProgress()
    with closing(AnswerStore(store, library_versions(), progress)) as answers:
        session = Session(answers, progress)
        unopened = session.examine(find([spec], options), options)
        if len(unopened) != 1:
            raise BadInput(f"'{spec}' names {len(unopened)} checkpoints; released scores belong to one")
        engine = session.engine(unopened[0])
        scores = list(probe.released_scores(path, model, engine.model.card))
        if not scores:
            raise BadInput(f"{path}: no scores of {model} that can be compared")
        rows = _rows(scores, engine.answer([score.request for score in scores]))
        worst = sorted(rows, key=lambda row: -abs(row.difference_nats))[:WORST]
        apart = sum(not abs(row.difference_nats) <= AGREE_NATS for row in rows)
        return ItemComparison(
            probe_name,
            model,
            n_items=len(rows),
            not_asked=len(scores) - len(rows) - (zeros := sum(not score.probability for score in scores)),
            zeros=zeros,
            correlation=_correlation(rows),
            largest_nats=abs(worst[0].difference_nats) if worst else math.nan,
            n_apart=apart,
            diagnosis=diagnose(engine.model, [row.score for row in worst]) if apart else None,
        )


def _rows(scores: Sequence[ReleasedScore], answers: Sequence[Answer | WhyNot]) -> list[ItemRow]:
    pairs = [(score, log_score(answer)) for score, answer in zip(scores, answers, strict=True) if score.probability]
    return [ItemRow(score, ours) for score, ours in pairs if ours is not None]


def _correlation(rows: Sequence[ItemRow]) -> float:
    ours, theirs = np.array([[row.ours, row.theirs] for row in rows]).reshape(-1, 2).T
    if len(rows) < 2 or not ours.std() or not theirs.std():
        return math.nan
    return float(np.corrcoef(ours, theirs)[0, 1])
