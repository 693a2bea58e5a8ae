"""One checkpoint, fine-tuned: a new head, every weight trained, answers to the dev part.

The head's new weights are drawn from `head_seed` alone and so are the same for all checkpoints of a shape; the order
of the data comes from `order_seed`, dropout (the checkpoint's own rate) from `order_seed` and the step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import causal, preflight
from trueprobe.models.checkpoint import Options, Source, load, read_tokenizer
from trueprobe.models.hugging import start_ids
from trueprobe.models.network import longest_row
from trueprobe.models.text import Text
from trueprobe.training.downstream.tasks import Row, Task
from trueprobe.training.examples import Examples, batches, padded
from trueprobe.training.trainer import optimizer, slope

_RATE, _WIDTH, _MOST = 2e-5, 768, 1e-3  # BERT's usual rate is for its base size


@dataclass(frozen=True)
class Tuning:
    """One set of hyper-parameters, the same for every checkpoint."""

    epochs: int = 3
    learning_rate: float | None = None  # by the network's width
    batch_tokens: int = 1024
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    longest: int = 128
    order_seed: int = 0
    own_order: bool = False  # each checkpoint an order of its own, drawn from its model seed besides
    head_seed: int = 0

    def rate(self, width: int) -> float:
        """Where none is given: 2e-5 at a width of 768, more for narrower networks, by the square, up to 1e-3."""
        return self.learning_rate or min(_RATE * (_WIDTH / width) ** 2, _MOST)


@dataclass(frozen=True)
class Classifier:
    model: Any
    text: Text
    causal: bool
    new: tuple[str, ...]  # weights that are not the checkpoint's
    pad: int
    uses_segments: bool

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
        raise BadInput(f"{source.title}: the tokenizer has no token to fill rows up with")
    model.config.pad_token_id, model.config.use_cache = pads[0], False  # causal heads read before the padding
    takes_segments = "token_type_ids" in inspect.signature(model.forward).parameters
    segments = takes_segments and getattr(config, "type_vocab_size", 0) > 1
    return Classifier(model, text, backend is causal, new, pads[0], segments)


def _draw_head(model: Any, source: Source, missing: frozenset[str], head_seed: int) -> tuple[str, ...]:
    """Everything outside the pre-trained body is drawn anew, and the pooler where the checkpoint has none."""
    body = f"{model.base_model_prefix}."
    lost = sorted(name for name in missing if name.startswith(body) and "pooler" not in name)
    if lost:
        raise BadInput(f"{source.title} lacks weights of its own network: {', '.join(lost[:2])} …")
    new = [name for name, _ in model.named_parameters() if name in missing or not name.startswith(body)]
    dice = torch.Generator().manual_seed(head_seed)
    spread = getattr(model.config, "initializer_range", None) or 0.02
    weights = dict(model.named_parameters())
    for name in sorted(new):
        weight = weights[name].data
        if weight.dim() > 1:
            weight.copy_(torch.empty(weight.shape).normal_(0, spread, generator=dice))
        else:
            weight.fill_(0.0 if name.endswith("bias") else 1.0)
    return tuple(sorted(new))


def encode(classifier: Classifier, rows: Sequence[Row], longest: int) -> tuple[Examples, int]:
    """Texts framed as the model frames them, and how many were cut to fit. A pair is one running text for a causal
    model; elsewhere the longer of two sentences gives way first, from its end."""
    text = classifier.text
    start = start_ids(text) if classifier.causal else ()
    found, seconds, cut = [], [], 0
    for row in rows:
        parts = (" ".join(row.texts),) if classifier.causal else row.texts
        first, second = (text.pieces(parts[0]).ids, text.pieces(parts[1]).ids if len(parts) > 1 else ())
        form = text.two if second else text.one
        framed = len(start or form.before) + len(form.between) + len(form.after)
        kept = _cut(first, second, longest - framed)
        cut += len(kept[0]) + len(kept[1]) < len(first) + len(second)
        ids, segments = form.wrap(*kept)
        if classifier.causal and not form.before:
            ids, segments = start + ids, (0,) * len(start) + segments
        found.append(ids)
        seconds.append(segments.index(1) if 1 in segments else len(ids))
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in found])])
    flat = np.fromiter((i for ids in found for i in ids), np.int32, int(starts[-1]))
    return Examples(flat, starts, np.array(seconds), np.zeros(len(found), np.int64)), cut


def _cut(first: tuple[int, ...], second: tuple[int, ...], room: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    own = min(len(first), max(room - room // 2, room - len(second)))
    return first[:own], second[: room - own]


def fine_tune(
    classifier: Classifier,
    train: Examples,
    labels: np.ndarray,
    tuning: Tuning,
    order: tuple[int, ...],
    advance: Callable[[int], None],
) -> None:
    """Every weight is trained; the learning rate rises in a line and falls in a line to nothing. `order` is the seed
    of what comes when."""
    model, rate = classifier.model.requires_grad_(True).train(), tuning.rate(classifier.width)
    learner = optimizer(model, rate, tuning.weight_decay)
    steps = tuning.epochs * len(batches(train, tuning.batch_tokens, None))
    step = 0
    for epoch in range(tuning.epochs):
        for rows in batches(train, tuning.batch_tokens, np.random.default_rng([*order, epoch])):
            torch.manual_seed(int(np.random.SeedSequence([*order, step]).generate_state(1)[0]))  # for dropout
            wanted = torch.from_numpy(labels[rows]).to(model.device)
            loss = torch.nn.functional.cross_entropy(_logits(classifier, train, rows), wanted)
            learner.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), tuning.clip)
            for group in learner.param_groups:
                group["lr"] = rate * slope(step, steps, tuning.warmup)
            learner.step()
            step += 1
            advance(len(rows))


def answers(classifier: Classifier, dev: Examples, batch_tokens: int) -> np.ndarray:
    """The label each text is given, as a number."""
    classifier.model.eval()
    found = np.empty(len(dev), np.int64)
    with torch.inference_mode():
        for rows in batches(dev, batch_tokens, None):
            logits = _logits(classifier, dev, rows)
            if not torch.isfinite(logits).all():
                raise FailedRun("the fine-tuning ended in numbers that are none; try a lower --learning-rate")
            found[rows] = logits.argmax(-1).cpu().numpy()
    return found


def _logits(classifier: Classifier, examples: Examples, rows: np.ndarray) -> torch.Tensor:
    ids, attention, segments = padded(examples, rows, classifier.pad)
    told = {"input_ids": ids, "attention_mask": attention.astype(np.int64)}
    if classifier.uses_segments:
        told["token_type_ids"] = segments
    device = classifier.model.device
    return classifier.model(**{name: torch.from_numpy(array).to(device) for name, array in told.items()}).logits


class Tuner:
    """Fine-tunes one checkpoint after the other; texts are encoded once per tokenizer and framing."""

    def __init__(self, task: Task, tuning: Tuning, options: Options, threads: int) -> None:
        self.task, self.tuning, self.options, self.threads = task, tuning, options, threads
        self._encoded: dict[tuple[str, bool, int], tuple[Examples, Examples, int]] = {}

    def run(self, source: Source, advance: Callable[[int], None]) -> dict[str, Any]:
        """The checkpoint's answers to the dev part, and what they depend on besides the settings."""
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            classifier = open_classifier(source, self.options, len(self.task.labels), self.tuning.head_seed)
            train, dev, cut = self._examples(classifier)
            labels = np.array([self.task.labels.index(row.label) for row in self.task.train])
            fine_tune(classifier, train, labels, self.tuning, self._order(source), advance)
            given = answers(classifier, dev, self.tuning.batch_tokens)
        finally:
            torch.set_num_threads(before)
        rate = self.tuning.rate(classifier.width)
        return {"learning_rate": rate, "n_cut": cut, "new_weights": classifier.new, "answers": given.tolist()}

    def _order(self, source: Source) -> tuple[int, ...]:
        own = (source.labels.get("model_seed", 0),) if self.tuning.own_order else ()
        return (self.tuning.order_seed, *own)

    def _examples(self, classifier: Classifier) -> tuple[Examples, Examples, int]:
        longest = min(self.tuning.longest, longest_row(classifier.model))
        key = (classifier.text.tokenizer_id, classifier.causal, longest)
        if key not in self._encoded:
            (train, cut), (dev, dev_cut) = (
                encode(classifier, part, longest) for part in (self.task.train, self.task.dev)
            )
            self._encoded = {key: (train, dev, cut + dev_cut)}
        return self._encoded[key]
