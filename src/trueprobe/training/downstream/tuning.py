"""One checkpoint, fine-tuned: a new head, every weight trained, answers to the dev part.

The head's new weights are drawn from `head_seed` alone and so are the same for all checkpoints of a shape; the order
of the data comes from `order_seed`, dropout (at the checkpoint's rate) from `order_seed` and the step.
The recipe has one set of hyper-parameters for every checkpoint.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from pydantic import AliasChoices, Field, model_validator

from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import preflight
from trueprobe.models.causal import CausalBackend
from trueprobe.models.checkpoint import Options, Source, load, read_tokenizer
from trueprobe.models.hugging import start_ids
from trueprobe.models.network import longest_row
from trueprobe.models.text import Text
from trueprobe.runs.downstream import CheckpointAnswers
from trueprobe.training.downstream.tasks import TaskColumns, TaskRow, TextTask
from trueprobe.training.examples import Examples, batches, padded
from trueprobe.training.recipe import Recipe
from trueprobe.training.trainer import optimizer, slope, update

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


@dataclass(frozen=True)
class Classifier:
    model: Any
    text: Text
    causal: bool
    new: tuple[str, ...]  # weights that are not the checkpoint's
    pad: int
    uses_segments: bool
    start: tuple[int, ...]  # before a causal model's texts

    @property
    def width(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[1])


def open_classifier(source: Source, options: Options, labels: int, head_seed: int) -> Classifier:
    from transformers import AutoModelForSequenceClassification

    backend, config = preflight(source, options)
    text = Text(read_tokenizer(source))
    model, missing = load(source, AutoModelForSequenceClassification, options, num_labels=labels)
    new = _draw_head(model, source, missing, head_seed)
    pieces = int(model.get_input_embeddings().weight.shape[0])
    if len(text.tokenizer) > pieces:
        raise BadInput(f"{source.title}: the tokenizer knows {len(text.tokenizer)} pieces, the network {pieces}")
    t = text.tokenizer
    pads = [i for i in (t.pad_token_id, t.eos_token_id, t.bos_token_id, t.unk_token_id) if i is not None]
    if not pads:
        raise BadInput(f"{source.title}: the tokenizer has no token for padding")
    model.config.pad_token_id, model.config.use_cache = pads[0], False  # causal heads read before the padding
    takes_segments = "token_type_ids" in inspect.signature(model.forward).parameters
    segments = takes_segments and getattr(config, "type_vocab_size", 0) > 1
    causal = isinstance(backend, CausalBackend)
    start = start_ids(text, source.start) if causal else ()
    return Classifier(model, text, causal, new, pads[0], segments, start)


def _draw_head(model: Any, source: Source, missing: frozenset[str], head_seed: int) -> tuple[str, ...]:
    """Everything outside the pre-trained body is drawn again, and the pooler where the checkpoint has none."""
    body = f"{model.base_model_prefix}."
    lost = sorted(name for name in missing if name.startswith(body) and "pooler" not in name)
    if lost:
        raise BadInput(f"{source.title} lacks weights of its network: {', '.join(lost[:2])} …")
    new = [name for name, _ in model.named_parameters() if name in missing or not name.startswith(body)]
    rng = torch.Generator().manual_seed(head_seed)
    spread = getattr(model.config, "initializer_range", None) or 0.02
    weights = dict(model.named_parameters())
    for name in sorted(new):
        weight = weights[name].data
        if weight.dim() > 1:
            weight.copy_(torch.empty(weight.shape).normal_(0, spread, generator=rng))
        else:
            weight.fill_(0.0 if name.endswith("bias") else 1.0)
    return tuple(sorted(new))


def encode(classifier: Classifier, rows: Sequence[TaskRow], longest: int) -> tuple[Examples, int]:
    """Texts framed as the model frames them, and how many were cut to fit. A pair is one running text for a causal
    model; elsewhere the longer of two sentences gives way first, from its end."""
    text = classifier.text
    start = classifier.start
    encoded, seconds, n_cut = [], [], 0
    for row in rows:
        texts = (" ".join(row.texts),) if classifier.causal else row.texts
        first, second = (text.pieces(texts[0]).ids, text.pieces(texts[1]).ids if len(texts) > 1 else ())
        form = text.two if second else text.one
        framed = len(start or form.before) + len(form.between) + len(form.after)
        parts = _cut(first, second, longest - framed)
        n_cut += sum(map(len, parts)) < len(first) + len(second)
        ids, segments = form.wrap(*parts)
        if classifier.causal and not form.before:
            ids, segments = start + ids, (0,) * len(start) + segments
        encoded.append(ids)
        seconds.append(segments.index(1) if 1 in segments else len(ids))
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in encoded])])
    flat = np.fromiter((i for ids in encoded for i in ids), np.int32, int(starts[-1]))
    return Examples(flat, starts, np.array(seconds), np.zeros(len(encoded), np.int64)), n_cut


def _cut(first: tuple[int, ...], second: tuple[int, ...], room: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = min(len(first), max(room - room // 2, room - len(second)))
    return first[:length], second[: room - length]


def fine_tune(
    classifier: Classifier,
    train: Examples,
    labels: np.ndarray,
    recipe: DownstreamRecipe,
    order: tuple[int, ...],
    advance: Callable[[int], None],
) -> None:
    """Every weight is trained; the learning rate rises in a line and falls in a line to zero. `order` is the seed
    of what comes when."""
    model, rate = classifier.model.requires_grad_(True).train(), recipe.rate(classifier.width)
    learner = optimizer(model, rate, recipe)
    steps = recipe.epochs * len(batches(train, recipe.batch_tokens, None))
    step = 0
    for epoch in range(recipe.epochs):
        for rows in batches(train, recipe.batch_tokens, np.random.default_rng([*order, epoch])):
            torch.manual_seed(int(np.random.SeedSequence([*order, step]).generate_state(1)[0]))  # for dropout
            wanted = torch.from_numpy(labels[rows]).to(model.device)
            loss = torch.nn.functional.cross_entropy(_logits(classifier, train, rows), wanted)
            update(model, learner, loss, rate * slope(step, steps, recipe.warmup), recipe.clip)
            step += 1
            advance(len(rows))


def answers(classifier: Classifier, dev: Examples, batch_tokens: int) -> np.ndarray:
    """The label each text gets, as a number."""
    classifier.model.eval()
    labels = np.empty(len(dev), np.int64)
    with torch.inference_mode():
        for rows in batches(dev, batch_tokens, None):
            logits = _logits(classifier, dev, rows)
            if not torch.isfinite(logits).all():
                raise FailedRun("the fine-tuned network gives NaN or infinite values; try a lower --learning-rate")
            labels[rows] = logits.argmax(-1).cpu().numpy()
    return labels


def _logits(classifier: Classifier, examples: Examples, rows: np.ndarray) -> torch.Tensor:
    ids, attention, segments = padded(examples, rows, classifier.pad)
    arrays = {"input_ids": ids, "attention_mask": attention.astype(np.int64)}
    if classifier.uses_segments:
        arrays["token_type_ids"] = segments
    device = classifier.model.device
    output = classifier.model(**{name: torch.from_numpy(array).to(device) for name, array in arrays.items()})
    logits: torch.Tensor = output.logits
    return logits


class Tuner:
    """Fine-tunes one checkpoint after the other; texts are encoded once per tokenizer and framing."""

    def __init__(self, task: TextTask, recipe: DownstreamRecipe, options: Options, threads: int) -> None:
        self.task, self.recipe, self.options, self.threads = task, recipe, options, threads
        self._encoded: dict[tuple[str, bool, tuple[int, ...], int], tuple[Examples, Examples, int]] = {}

    def run(self, source: Source, advance: Callable[[int], None]) -> CheckpointAnswers:
        """The checkpoint's answers to the dev part, and what they depend on apart from the settings."""
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            classifier = open_classifier(source, self.options, len(self.task.labels), self.recipe.head_seed)
            train, dev, n_cut = self._examples(classifier)
            labels = np.array([self.task.labels.index(row.label) for row in self.task.train])
            fine_tune(classifier, train, labels, self.recipe, self._order(source), advance)
            dev_answers = answers(classifier, dev, self.recipe.batch_tokens).tolist()
        finally:
            torch.set_num_threads(before)
        rate = self.recipe.rate(classifier.width)
        return CheckpointAnswers(learning_rate=rate, n_cut=n_cut, new_weights=classifier.new, answers=dev_answers)

    def _order(self, source: Source) -> tuple[int, ...]:
        model_seed = (source.labels.get("model_seed", 0),) if self.recipe.seed_order else ()
        return (self.recipe.order_seed, *model_seed)

    def _examples(self, classifier: Classifier) -> tuple[Examples, Examples, int]:
        longest = min(self.recipe.longest, longest_row(classifier.model))
        key = (classifier.text.tokenizer_id, classifier.causal, classifier.start, longest)
        if key not in self._encoded:
            (train, cut), (dev, dev_cut) = (
                encode(classifier, part, longest) for part in (self.task.train, self.task.dev)
            )
            self._encoded = {key: (train, dev, cut + dev_cut)}
        return self._encoded[key]
