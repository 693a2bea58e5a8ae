"""The files of a fine-tuning (`trueprobe downstream`), declared once: downstream.json, and a file per checkpoint.

docs/downstream.md has the meaning of every value. Both files are written by `as_json` and read by `folder.parsed`.
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Self

from pydantic import model_validator

from trueprobe.runs.schema import Declared
from trueprobe.statistics.verdict import ALPHA


class Comparison(StrEnum):
    """What the accuracies of a family show about its checkpoints."""

    NOTHING = "nothing"  # a checkpoint did not learn the task
    ONE_CHECKPOINT = "one checkpoint"
    POSSIBLE = "a comparison"


MARGINS = (0.01, 0.02)  # differences of accuracy that are tested for: see `p_within_1` and `p_within_2`


class TextColumns(Declared):
    """Which columns of the user's TSV were read."""

    texts: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    folder: str


class TextCounts(Declared):
    """The data, and how many texts they hold."""

    files: dict[str, str]  # name -> sha256
    split: str  # where dev comes from
    labels: tuple[str, ...]
    train: int
    train_of: int  # before --limit
    dev: int
    set_aside: int  # texts without a clear label
    dev_also_in_train: int


class CheckpointIdentity(Declared):
    model: str
    family: str
    model_seed: int | None
    step: int | None
    source: str
    compute_id: str
    self_trained: bool


class FineTuning(Declared):
    """downstream.json from the beginning: all that decides the numbers."""

    complete: bool
    task: str
    columns: TextColumns | None
    data: TextCounts
    settings: dict[str, bool | int | float | None]
    threads: int
    device: str
    versions: dict[str, str]
    models: tuple[CheckpointIdentity, ...]

    def changed_since(self, before: FineTuning) -> list[str]:
        """What differs but for the number of threads, which stays as it was."""
        setup = [key for key in FineTuning.model_fields if key not in ("complete", "threads")]
        return [key for key in setup if getattr(self, key) != getattr(before, key)]


class Majority(Declared):
    """What always giving dev's commonest label would get."""

    label: str
    accuracy: float


class CheckpointOutcome(Declared):
    """A row of downstream.csv; `low` and `high` are the 95 % interval over texts."""

    model: str
    family: str
    model_seed: int | None
    step: int | None
    task: str
    n_train: int
    n_dev: int
    n_right: int
    accuracy: float
    low: float
    high: float
    majority_accuracy: float
    beats_majority: bool
    learning_rate: float
    n_cut: int


class FamilyOutcome(Declared):
    """Over the checkpoints of one setup and step; `sd`, `share_all_alike`, `p_equal` and what follows need several."""

    family: str
    step: int | None
    n_checkpoints: int
    mean: float
    sd: float | None
    lowest: float
    highest: float
    error: float
    share_all_alike: float | None
    p_equal: float | None
    not_learnt: tuple[str, ...]
    shows: Comparison
    largest_difference: float | None = None  # of two accuracies
    p_within_1: float | None = None  # that no two differ by 1 point or more: small where that is shown
    p_within_2: float | None = None

    @property
    def margin(self) -> float | None:
        """The smallest of the margins that the accuracies are shown to lie within, if any."""
        ps = zip(MARGINS, (self.p_within_1, self.p_within_2), strict=True)
        return next((margin for margin, p in ps if p is not None and p < ALPHA), None)


class TaskOutcome(Declared):
    """What the answers amount to; nothing where a fine-tuning is not complete."""

    majority: Majority | None = None
    checkpoints: tuple[CheckpointOutcome, ...] = ()
    families: tuple[FamilyOutcome, ...] = ()


class DownstreamResult(TaskOutcome, FineTuning):
    """downstream.json, complete or not."""

    @model_validator(mode="after")
    def _complete_with_an_outcome(self) -> Self:
        if self.complete and not (self.majority and self.checkpoints and self.families):
            raise ValueError("it is complete and lacks majority, checkpoints or families")
        return self

    @property
    def majority_accuracy(self) -> float:
        return self.majority.accuracy if self.majority else math.nan


class CheckpointAnswers(Declared):
    """checkpoints/NAME.json: the labels given to the dev part, as numbers, and what they depend on."""

    learning_rate: float
    n_cut: int
    new_weights: tuple[str, ...]  # which the checkpoint did not bring
    answers: tuple[int, ...]


def as_json(content: Declared, indent: int | None = None) -> str:
    """Numbers as Python writes them (pydantic has 1e-5 for 1e-05), so that what is written again has the same bytes."""
    return json.dumps(content.model_dump(mode="json"), indent=indent, ensure_ascii=False) + "\n"
