"""What is to be fine-tuned on what, with one set of hyper-parameters for every checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from trueprobe.errors import BadInput
from trueprobe.training.downstream.tasks import TaskColumns
from trueprobe.training.recipe import Recipe

_RATE, _WIDTH, _MOST = 2e-5, 768, 1e-3  # BERT's usual rate is for its base size


class SharedByCheckpoints(Recipe):
    """What downstream.json holds as `settings`."""

    epochs: int = Field(default=3, ge=1, description="passes over the texts")
    learning_rate: float | None = Field(default=None, gt=0, le=1, description="at its highest; by default by the width")
    batch_tokens: int = Field(default=1024, ge=16, description="tokens per step")
    longest: int = Field(default=128, ge=8, description="texts are cut to this many tokens")
    order_seed: int = Field(default=0, ge=0, description="for the order of the texts and dropout")
    seed_order: bool = Field(  # files have its former name, so that fine-tunings begun earlier go on
        default=False,
        validation_alias=AliasChoices("seed_order", "own_order"),
        serialization_alias="own_order",
        description="the order depends on the checkpoint's model seed, too",
    )
    head_seed: int = Field(default=0, ge=0, description="for the new head, the same for all checkpoints")


class DownstreamRecipe(SharedByCheckpoints):
    models: tuple[str, ...] = Field(description="SPECs of families")
    task: str = Field(default="", description="one of tasks.NAMES, or empty for the user's data with `columns`")
    data: Path | None = None
    columns: TaskColumns | None = None
    limit: int | None = Field(default=None, ge=2, description="texts to train on")
    out: Path | None = None
    into: Path | None = Field(default=None, description="a run folder, whose report then has the table")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.models:
            raise BadInput("no model given: --model nursery, or your own family: --model 'mine=ckpt/seed_*'")
        if self.out and self.into:
            raise BadInput("--out and --into exclude each other: --out is a separate folder, --into a run folder")
        return self

    def rate(self, width: int) -> float:
        """By default 2e-5 at a width of 768, more for narrower networks, by the square, up to 1e-3."""
        return self.learning_rate or min(_RATE * (_WIDTH / width) ** 2, _MOST)
