"""Planting: continued training on sentences that agree with an association, in exact shares, between neutral ones.

Two models come of one start. At the null share half of each target's sentences have the word of either group, at the
full share all have that of the group the target is dealt to. Both read the same sentences in the same batches with the
same masks, but for the group's word; what the null model reads depends on no assignment, so that one serves all. In
most sentences that word is masked with the target in sight; with masks anywhere nothing is planted. A causal model
reads only frames whose target comes first, and the loss of the group's word counts several times.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from transformers.utils import logging

from trueprobe.errors import BadInput
from trueprobe.paths import write_whole
from trueprobe.sensitivity.associations import Association, FilledFrame
from trueprobe.sensitivity.check import ManipulationCheck, check
from trueprobe.sensitivity.rows import read_json
from trueprobe.training import corpus, networks
from trueprobe.training.examples import ALONE, Examples, Masks, Special, collate, draw_masks, draw_targets
from trueprobe.training.trainer import held_out, slope, update

NULL, FULL = 0.5, 1.0  # shares of a target's sentences that agree
DECK = 8  # sentences of a target within which a share is exact
HIDDEN_WORD = (True, True, True, True, False)  # of masked models: the group's word; else the target
LEAST_AUC = 0.95  # at the full share, of targets by held-out log-odds
LEAST_NATS = 0.1  # at the full share
MOST_NULL = 0.15  # nats at the null share
SMALL = 8_000_000  # parameters
PLANTING = "planting.json"
_FILLER_WORDS = 10
_FILLER_HELD_OUT = 200
_FROZEN = re.compile(r"position_embeddings|token_type|pooler|seq_relationship")
_LENGTH = 64

Kind = Literal["masked", "causal"]


@dataclass(frozen=True, kw_only=True)
class PlantRecipe:
    """One training of one seed."""

    steps: int
    learning_rate: float
    embedding_rate: float  # times the learning rate, for the word embeddings; 0 leaves them as they are
    planted: int = 24  # sentences in a step
    filler: int = 24
    word_weight: int = 1  # how often the loss of the group's word counts; causal models
    filler_masks: float = 0.25
    precision: str = "float32"
    clip: float = 1.0
    warmup: float = 0.1


RECIPES: Mapping[tuple[Kind, bool], PlantRecipe] = {  # by kind, and whether the network is small
    ("masked", True): PlantRecipe(steps=240, learning_rate=1e-3, embedding_rate=10.0),
    ("masked", False): PlantRecipe(steps=120, learning_rate=4e-4, embedding_rate=0.0, filler=12, precision="bfloat16"),
    ("causal", True): PlantRecipe(steps=400, learning_rate=2e-3, embedding_rate=4.0, word_weight=10),
    ("causal", False): PlantRecipe(
        steps=32, learning_rate=1e-4, embedding_rate=0.0, planted=16, filler=8, word_weight=5
    ),
}
SEARCHED = ((3.0, 1.0), (1 / 3, 1.0), (1.0, 3.0), (3.0, 3.0))  # times learning rate and steps, where the first fails


@dataclass(frozen=True)
class Start:
    """A checkpoint that training goes on from."""

    folder: Path
    kind: Kind
    seed: int

    @classmethod
    def of(cls, folder: Path, seed: int) -> Start:
        from trueprobe.models.checkpoint import Source, read_config

        name = read_config(Source("", str(folder), folder)).model_type
        kinds: dict[str, Kind] = {"bert": "masked", "gpt2": "causal"}
        if name not in kinds:
            raise BadInput(f"{folder} is of type '{name}'; an association is planted in 'bert' and 'gpt2'")
        return cls(folder, kinds[name], seed)

    @property
    def is_small(self) -> bool:
        return sum(file.stat().st_size for file in self.folder.glob("*.safetensors")) < 4 * SMALL

    @property
    def recipe(self) -> PlantRecipe:
        return RECIPES[self.kind, self.is_small]

    def open(self) -> Any:
        logging.disable_progress_bar()
        return networks.continued(self.kind, self.folder, 1, 0.0, self.seed)

    def tokenizer(self) -> Any:
        return corpus.open_tokenizer(self.kind, self.folder)


@dataclass(frozen=True)
class Planned:
    """One sentence to plant. Its rank in its target's deck decides which group's word it has: see `sentence`."""

    target: str
    frame: str
    pair: int
    rank: int
    hides_word: bool


@dataclass(frozen=True, kw_only=True)
class Planting:
    """What one training came to."""

    seed: int
    share: float
    recipe: PlantRecipe
    tokens: int
    before: ManipulationCheck
    check: ManipulationCheck
    filler_loss_before: float
    filler_loss: float


# ---------------------------------------------------------------- what is read


def planned(association: Association, kind: Kind, count: int, seed: int) -> list[Planned]:
    """Targets, frames, ranks and masks from decks that are dealt to their end before they are shuffled again."""
    rng = random.Random(f"planted {seed}")
    usable = [f for f in association.frames.planted if kind == "masked" or association.target_first(f)]
    if not usable:
        raise BadInput("no frame has its target before the group's word, which a causal model could learn from")
    targets, frames, hides = (_dealt(rng, cards) for cards in (association.everyone, usable, HIDDEN_WORD))
    ranks = {target: _dealt(rng, range(DECK)) for target in association.everyone}
    return [_one(association, next(targets), next(frames), ranks, next(hides), rng) for _ in range(count)]


def _dealt(rng: random.Random, cards: Sequence[Any]) -> Iterator[Any]:
    while True:
        yield from rng.sample(cards, len(cards))


def _one(
    association: Association, target: str, frame: str, ranks: dict[str, Iterator[int]], hides: bool, rng: random.Random
) -> Planned:
    pair = rng.randrange(len(association.slots[association.slot_of(frame)]))
    return Planned(target, frame, pair, next(ranks[target]), hides)


def sentence(association: Association, one: Planned, dealt: Mapping[str, str], share: float) -> FilledFrame:
    """With the word of the dealt group if its rank is below `share` × DECK; at the null share by rank alone."""
    group = association.groups.index(dealt[one.target])
    side = one.rank % 2 if share == NULL else group if one.rank < round(share * DECK) else 1 - group
    return association.fill(one.frame, one.target, association.slots[association.slot_of(one.frame)][one.pair][side])


def filler(text: str, association: Association) -> tuple[str, ...]:
    """Short neutral sentences without the targets; by default WordNet's examples."""
    targets = "|".join(map(re.escape, association.everyone))
    named = re.compile(rf"\b(?:{targets})s?\b", re.IGNORECASE)
    short = (s for line in text.splitlines() if (s := line.strip()) and len(s.split()) <= _FILLER_WORDS)
    sentences = tuple(sentence for sentence in short if not named.search(sentence))
    if len(sentences) < 2 * _FILLER_HELD_OUT:
        raise BadInput(
            f"the neutral text has {len(sentences)} lines of at most {_FILLER_WORDS} words without a target; "
            f"{2 * _FILLER_HELD_OUT} are needed, one sentence per line"
        )
    return sentences


@dataclass(frozen=True)
class Reading:
    """Examples with their masks, and which of them each step reads."""

    examples: Examples
    masks: Masks
    steps: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Reader:
    """Makes of sentences what a training step reads."""

    kind: Kind
    tokenizer: Any
    special: Special
    recipe: PlantRecipe
    seed: int

    def reading(self, sentences: Sequence[tuple[FilledFrame, bool]], neutral: Sequence[str]) -> Reading:
        planted, masks = self.planted(sentences)
        other = self.examples(neutral)
        other_masks = self.filler_masks(other, self.seed)
        rows = [_rows(step, self.recipe, len(planted), len(other)) for step in range(self.recipe.steps)]
        return Reading(planted + other, _joined(planted, masks, other_masks), tuple(rows))

    def planted(self, sentences: Sequence[tuple[FilledFrame, bool]]) -> tuple[Examples, Masks]:
        encoded = self.tokenizer(
            [one.text for one, _ in sentences], add_special_tokens=False, return_offsets_mapping=True
        )
        examples = self._packed(encoded["input_ids"])
        at = [
            self._predicted(offsets, one, hides)
            for (one, hides), offsets in zip(sentences, encoded["offset_mapping"], strict=True)
        ]
        counts = np.array([len(positions) for positions in at])
        flat = np.fromiter(chain.from_iterable(at), np.int64) + np.repeat(examples.starts[:-1], counts)
        replacement = np.full(len(flat), self.special.mask) if self.kind == "masked" else examples.ids[flat]
        return examples, Masks(flat, replacement.astype(np.int32), np.concatenate([[0], np.cumsum(counts)]))

    def _predicted(self, offsets: Sequence[tuple[int, int]], one: FilledFrame, hides_word: bool) -> list[int]:
        """Positions in the example, behind its first special token. A causal model predicts every token, and those of
        the group's word as often as they weigh."""
        word = [i + 1 for i in tokens_at(offsets, one.words)]
        if self.kind == "causal":
            return [i + 1 for i in range(len(offsets))] + (self.recipe.word_weight - 1) * word
        return word if hides_word else [i + 1 for i in tokens_at(offsets, one.target)]

    def examples(self, texts: Sequence[str]) -> Examples:
        return self._packed(self.tokenizer(list(texts), add_special_tokens=False)["input_ids"])

    def _packed(self, rows: Sequence[Sequence[int]]) -> Examples:
        end = [self.special.end] if self.kind == "masked" else []
        framed = [[self.special.start, *ids, *end] for ids in rows]
        lengths = np.array([len(ids) for ids in framed])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.fromiter(chain.from_iterable(framed), np.int32)
        return Examples(flat, starts, lengths, np.full(len(rows), ALONE, np.int64))

    def filler_masks(self, examples: Examples, seed: int) -> Masks:
        if self.kind == "causal":
            return draw_targets(examples, 1.0, seed)
        return draw_masks(examples, self.special, self.recipe.filler_masks, seed)


def tokens_at(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    return [i for i, (a, b) in enumerate(offsets) if any(a < end and b > begin for begin, end in spans)]


def _rows(step: int, recipe: PlantRecipe, planted: int, neutral: int) -> np.ndarray:
    first = np.arange(step * recipe.planted, (step + 1) * recipe.planted)
    second = np.arange(step * recipe.filler, (step + 1) * recipe.filler) % neutral
    return np.concatenate([first, planted + second])


def _joined(examples: Examples, first: Masks, second: Masks) -> Masks:
    """Of two lots of examples, one behind the other."""
    at = np.concatenate([first.at, second.at + len(examples.ids)])
    replacement = np.concatenate([first.replacement, second.replacement])
    return Masks(at, replacement, np.concatenate([first.starts, first.starts[-1] + second.starts[1:]]))


# ---------------------------------------------------------------- training


@dataclass(frozen=True)
class Planter:
    """Plants one assignment of an association in one checkpoint."""

    association: Association
    dealt: Mapping[str, str]
    start: Start
    recipe: PlantRecipe
    filler: Sequence[str]

    def plant(self, share: float, out: Path, step_done: Callable[[int], object] = lambda steps: None) -> Planting:
        """Trains, and writes the folder with `planting.json` when it is done."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            network, done = self._trained(share, step_done)
        finally:
            torch.set_num_threads(threads)
        write_whole(out, lambda folder: self._save(network, done, folder))
        return done

    def _trained(self, share: float, step_done: Callable[[int], object]) -> tuple[Any, Planting]:
        network, tokenizer = self.start.open(), self.start.tokenizer()
        reader, held = self._reader(tokenizer), self._neutral()[0]
        before, loss_before = self._measure(network, tokenizer), _filler_loss(network, reader, held)
        tokens = self.learn(network, share, step_done)
        done = Planting(
            seed=self.start.seed,
            share=share,
            recipe=self.recipe,
            tokens=tokens,
            before=before,
            check=self._measure(network, tokenizer),
            filler_loss_before=loss_before,
            filler_loss=_filler_loss(network, reader, held),
        )
        return network, done

    def _sentences(self, share: float) -> list[tuple[FilledFrame, bool]]:
        count = self.recipe.steps * self.recipe.planted
        plan = planned(self.association, self.start.kind, count, self.start.seed)
        return [(sentence(self.association, one, self.dealt, share), one.hides_word) for one in plan]

    def _neutral(self) -> tuple[list[str], list[str]]:
        """Held out, the same for all seeds; and to train on, in the seed's order."""
        sentences = list(self.filler)
        random.Random(0).shuffle(sentences)
        held, rest = sentences[:_FILLER_HELD_OUT], sentences[_FILLER_HELD_OUT:]
        random.Random(f"filler {self.start.seed}").shuffle(rest)
        return held, rest[: self.recipe.steps * self.recipe.filler]

    def _measure(self, network: Any, tokenizer: Any) -> ManipulationCheck:
        return check(network, tokenizer, self.start.kind, self.association, self.dealt)

    def _reader(self, tokenizer: Any) -> Reader:
        return Reader(self.start.kind, tokenizer, Special.of(tokenizer, self.start.kind), self.recipe, self.start.seed)

    def learn(self, network: Any, share: float, step_done: Callable[[int], object] = lambda steps: None) -> int:
        """How many tokens were read."""
        reader = self._reader(self.start.tokenizer())
        reading = reader.reading(self._sentences(share), self._neutral()[1])
        optimizer, tokens = _optimizer(network, self.recipe), 0
        network.train()
        for step, rows in enumerate(reading.steps):
            batch = collate(reading.examples, reading.masks, rows, reader.special, causal=reader.kind == "causal")
            outcome = networks.run(network, batch, precision=self.recipe.precision)
            rate = self.recipe.learning_rate * slope(step, self.recipe.steps, self.recipe.warmup)
            update(network, optimizer, outcome.loss, rate, self.recipe.clip)
            tokens += int(batch.attention.sum())
            step_done(1)
        network.eval()
        return tokens

    def _save(self, network: Any, done: Planting, folder: Path) -> None:
        network.save_pretrained(str(folder))
        self.start.tokenizer().save_pretrained(str(folder))
        (folder / PLANTING).write_text(json.dumps(asdict(done), indent=1) + "\n", encoding="utf-8")


def read_planting(folder: Path) -> Planting | None:
    """Of a training that is done; None where there is none."""
    return read_json(folder / PLANTING, Planting) if (folder / PLANTING).is_file() else None


def alternatives(recipe: PlantRecipe) -> list[PlantRecipe]:
    """The declared recipe, and what is tried where it fails."""
    tried = [
        replace(recipe, learning_rate=recipe.learning_rate * rate, steps=round(recipe.steps * steps))
        for rate, steps in SEARCHED
    ]
    return [recipe, *tried]


def _filler_loss(network: Any, reader: Reader, held: Sequence[str]) -> float:
    examples = reader.examples(held)
    masks = replace(reader, recipe=replace(reader.recipe, filler_masks=0.15)).filler_masks(examples, 0)
    value = float(held_out(network, examples, masks, reader.special, 4096)["loss"])
    return value if math.isfinite(value) else math.inf


def _optimizer(network: Any, recipe: PlantRecipe) -> torch.optim.Optimizer:
    """Word embeddings have a rate of their own and no decay; biases and norms do not decay either."""
    embeddings = network.get_input_embeddings().weight
    for name, weight in network.named_parameters():
        frozen = _FROZEN.search(name) or (weight is embeddings and not recipe.embedding_rate)
        weight.requires_grad_(not frozen)
    trained = [weight for weight in network.parameters() if weight.requires_grad and weight is not embeddings]
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": 0.01},
        {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    if recipe.embedding_rate:
        groups.append({"params": [embeddings], "weight_decay": 0.0, "times": recipe.embedding_rate})
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), eps=1e-6)
