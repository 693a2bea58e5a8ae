"""Asks models one after the other; answers come from the store where it has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypedDict

from trueprobe.engine import AnswerStore, Engine, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Model, Options, examine, find
from trueprobe.permissions import ServerAccess
from trueprobe.types import Answer, Card, NoProgress, Progress, Request, WhyNot

Models = str | Sequence[str] | Model  # SPECs as on the command line, or a model that is open
Asked = list[Request | WhyNot]  # a WhyNot stands for what is not even asked
Answered = list[Answer | WhyNot]


class ModelOptions(TypedDict, total=False):
    """How models are opened and asked: the words `run` has for it."""

    store: str | Path | None
    progress: Progress | None
    device: str | None
    dtype: str | None
    batch_tokens: int | None
    allow_pickle: bool


def ask(models: Models, requests: Callable[[Card], Asked], asking: ModelOptions) -> Iterator[tuple[Card, Answered]]:
    """Each model's answers, in the order of its requests. What can be refused of any model is refused first."""
    progress = asking.get("progress") or NoProgress()
    with closing(AnswerStore(asking.get("store"), library_versions(), progress)) as store:
        for model in _opened(models, asking, progress):
            asked = requests(model.card)
            engine = Engine(model, store, progress, asking.get("batch_tokens"))
            answers = iter(engine.answer([request for request in asked if not isinstance(request, WhyNot)]))
            yield model.card, [each if isinstance(each, WhyNot) else next(answers) for each in asked]


def _opened(models: Models, asking: ModelOptions, progress: Progress) -> Iterator[Model]:
    if not isinstance(models, (str, Sequence)):
        yield models
        return
    specs = [models] if isinstance(models, str) else list(models)
    if not specs:
        raise BadInput("no model given: nursery, a folder, a .gguf file or a hub id; see: trueprobe list models")
    default = Options()
    options = Options(
        asking.get("device") or default.device,
        dtype=asking.get("dtype") or default.dtype,
        allow_pickle=asking.get("allow_pickle", False),
        servers=ServerAccess.WITH_KEY,  # the caller names them
    )
    with progress.task("checking models"):
        checkpoints = [examine(source, options) for source in find(specs, options)]
    for checkpoint in checkpoints:
        yield checkpoint.open()
