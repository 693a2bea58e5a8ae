"""What a training step reads: examples, their masks, and batches of equal width.

Examples and masks depend on the text and the data seed alone; a model seed changes their order and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueprobe.training.corpus import Tokens

WIDTH = 8  # a batch is as wide as its longest example, rounded up to a multiple of this
ALONE = -1  # of an example without a second part: nothing follows or does not
_SHORTEST = 12


@dataclass(frozen=True)
class Special:
    """The ids examples are framed with; `random` are those that may stand in for a masked token."""

    start: int
    end: int
    mask: int
    pad: int
    random: np.ndarray

    @classmethod
    def of(cls, tokenizer: Any, kind: str) -> Special:
        if kind == "causal":
            bos = tokenizer.bos_token_id
            return cls(bos, bos, bos, bos, np.zeros(0, np.int32))
        regular = np.setdiff1d(np.arange(len(tokenizer), dtype=np.int32), tokenizer.all_special_ids)
        t = tokenizer
        return cls(t.cls_token_id, t.sep_token_id, t.mask_token_id, t.pad_token_id, regular.astype(np.int32))


@dataclass(frozen=True)
class Examples:
    """Example i is ids[starts[i]:starts[i+1]]; its second segment begins at second[i]; follows[i] is 0 where it
    truly follows (as BERT's head has it), 1 where it comes from another document, ALONE where there is none."""

    ids: np.ndarray
    starts: np.ndarray
    second: np.ndarray
    follows: np.ndarray

    def __len__(self) -> int:
        return len(self.second)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def __add__(self, other: Examples) -> Examples:
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        both = ((getattr(self, name), getattr(other, name)) for name in ("ids", "second", "follows"))
        ids, second, follows = map(np.concatenate, both)
        return Examples(ids, starts, second, follows)


@dataclass(frozen=True)
class Masks:
    """Mask j puts `replacement[j]` for ids[at[j]]; example i has the masks starts[i] to starts[i+1]."""

    at: np.ndarray
    replacement: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class Step:
    """One batch, ready for the network. `at` counts through the flattened batch."""

    ids: np.ndarray
    attention: np.ndarray
    segments: np.ndarray
    at: np.ndarray
    labels: np.ndarray
    follows: np.ndarray


def make_pairs(tokens: Tokens, special: Special, longest: int, short: float, seed: int) -> Examples:
    """[CLS] A [SEP] B [SEP]: runs of sentences of one document, cut in two; half of the second parts are then
    exchanged, each with one of like length from another document: length predicts nothing and no text is read twice.
    A share `short` of the examples has a length drawn evenly, so that short texts are known too."""
    rng = np.random.default_rng([seed, 1])
    ends, documents = tokens.sentences, tokens.documents
    pairs: list[tuple[int, int, int, int, int]] = []
    for d in range(len(documents) - 1):
        i, last = int(documents[d]), int(documents[d + 1])
        while last - i > 1:
            room = _room(rng, longest - 3, short)
            j = _fill(ends, i, last, room, fewest=2)
            if last - j == 1:  # a sentence alone makes no pair
                j = last
            pairs.append((i, i + int(rng.integers(1, j - i)), j, room, d))
            i = j
    first, cut, after, rooms, document = np.array(pairs, np.int64).reshape(-1, 5).T
    b0, b1, follows = ends[cut], ends[after], np.zeros(len(cut), np.int64)
    drawn = np.flatnonzero(rng.random(len(cut)) < 0.5)
    drawn = drawn[np.lexsort((rng.random(len(drawn)), (b1 - b0)[drawn]))]
    other = np.roll(drawn, 1)
    apart = document[drawn] != document[other]
    b0[drawn[apart]], b1[drawn[apart]] = b0[other[apart]], b1[other[apart]]
    follows[drawn[apart]] = 1
    return _pack(tokens.ids, _trim(ends[first], ends[cut], b0, b1, rooms), follows, special)


def make_singles(tokens: Tokens, special: Special, longest: int) -> Examples:
    """[CLS] A [SEP]: every sentence alone, as most probes ask; what is too long is cut at its end."""
    begins = tokens.sentences[:-1]
    lengths = np.minimum(np.diff(tokens.sentences), longest - 2)
    starts = np.concatenate([[0], np.cumsum(lengths + 2)])
    packed = np.full(starts[-1], special.end, np.int32)
    packed[starts[:-1]] = special.start
    packed[_ranges(starts[:-1] + 1, lengths)] = tokens.ids[_ranges(begins, lengths)]
    return Examples(packed, starts, lengths + 2, np.full(len(lengths), ALONE, np.int64))


def make_runs(tokens: Tokens, special: Special, longest: int, short: float, seed: int) -> Examples:
    """Start token, then sentences of one document as far as they fit: as a prompt begins, so does an example."""
    rng = np.random.default_rng([seed, 1])
    ends, documents = tokens.sentences, tokens.documents
    spans: list[tuple[int, int]] = []
    for d in range(len(documents) - 1):
        i, last = int(documents[d]), int(documents[d + 1])
        while i < last:
            room = _room(rng, longest - 1, short)
            j = _fill(ends, i, last, room, fewest=1)
            spans.append((int(ends[i]), min(int(ends[j]), int(ends[i]) + room)))
            i = j
    edges = np.array(spans, np.int64).reshape(-1, 2)
    lengths = 1 + edges[:, 1] - edges[:, 0]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.full(starts[-1], special.start, np.int32)
    ids[_ranges(starts[:-1] + 1, lengths - 1)] = tokens.ids[_ranges(edges[:, 0], lengths - 1)]
    return Examples(ids, starts, lengths, np.zeros(len(edges), np.int64))


def _room(rng: np.random.Generator, longest: int, short: float) -> int:
    if longest > _SHORTEST and rng.random() < short:
        return int(rng.integers(_SHORTEST, longest + 1))
    return longest


def _fill(ends: np.ndarray, i: int, last: int, room: int, fewest: int) -> int:
    """The sentence up to which `room` tokens reach, at least `fewest` sentences where the document has them."""
    j = int(np.searchsorted(ends, ends[i] + room, side="right")) - 1
    return min(max(j, i + fewest), last)


def _trim(a0: np.ndarray, a1: np.ndarray, b0: np.ndarray, b1: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, ...]:
    """The longer part gives way first; what touches the seam stays."""
    a, b = a1 - a0, b1 - b0
    over = np.maximum(a + b - room, 0)
    uneven = np.minimum(over, np.abs(a - b))
    even = over - uneven
    from_a = np.where(a >= b, uneven, 0) + even // 2
    from_b = np.where(a < b, uneven, 0) + even - even // 2
    return a0 + from_a, a1, b0, b1 - from_b


def _pack(ids: np.ndarray, spans: tuple[np.ndarray, ...], follows: np.ndarray, special: Special) -> Examples:
    a0, a1, b0, b1 = spans
    la, lb = a1 - a0, b1 - b0
    starts = np.concatenate([[0], np.cumsum(la + lb + 3)])
    packed = np.full(starts[-1], special.end, np.int32)
    packed[starts[:-1]] = special.start
    packed[_ranges(starts[:-1] + 1, la)] = ids[_ranges(a0, la)]
    packed[_ranges(starts[:-1] + la + 2, lb)] = ids[_ranges(b0, lb)]
    return Examples(packed, starts, la + 2, follows)


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """starts[0], starts[0]+1, … for each length, one after the other."""
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else np.zeros(0, np.int64)
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def draw_masks(examples: Examples, special: Special, rate: float, seed: int, turn: int = 0) -> Masks:
    """BERT's masking: a share of each example's tokens; 80 % become the mask, 10 % another token, 10 % stay."""
    rng = np.random.default_rng([seed, 2, turn])
    at, starts = _drawn(examples, ~np.isin(examples.ids, [special.start, special.end]), rate, rng)
    fate = rng.random(len(at))
    replacement = np.where(fate < 0.8, special.mask, examples.ids[at])
    swapped = fate >= 0.9
    replacement[swapped] = rng.choice(special.random, int(swapped.sum()))
    return Masks(at, replacement.astype(np.int32), starts)


def draw_targets(examples: Examples, rate: float, seed: int, turn: int = 0) -> Masks:
    """For causal models: the tokens whose loss counts. Nothing is hidden; a token is predicted from those before it."""
    regular = np.ones(len(examples.ids), bool)
    regular[examples.starts[:-1]] = False
    at, starts = _drawn(examples, regular, rate, np.random.default_rng([seed, 2, turn]))
    return Masks(at, examples.ids[at], starts)


def _drawn(examples: Examples, regular: np.ndarray, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A share of each example's regular tokens, at least one: their positions, and where each example's begin."""
    owner = np.repeat(np.arange(len(examples)), examples.lengths)[regular]
    positions = np.flatnonzero(regular)
    counts = np.bincount(owner, minlength=len(examples))
    take = np.minimum(np.maximum(np.round(counts * rate).astype(np.int64), 1), counts)
    order = np.argsort(owner + 0.999 * rng.random(len(positions)))  # shuffled within each example
    rank = np.arange(len(positions)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.sort(positions[order][rank < take[owner[order]]])
    return at, np.concatenate([[0], np.cumsum(take)])


def batches(examples: Examples, batch_tokens: int, order: np.random.Generator | None) -> list[np.ndarray]:
    """Rows of like length together. With `order`, shuffled within their width and then as batches."""
    wide = np.maximum(-(-examples.lengths // WIDTH) * WIDTH, WIDTH)
    plan: list[np.ndarray] = []
    for width in np.unique(wide):
        rows = np.flatnonzero(wide == width)
        if order is not None:
            rows = order.permutation(rows)
        at_once = max(1, batch_tokens // int(width))
        plan += [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    return [plan[i] for i in order.permutation(len(plan))] if order is not None else plan


def padded(examples: Examples, rows: np.ndarray, pad: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, where they are real, and segments of these examples: [rows, width] each."""
    lengths = examples.lengths[rows]
    width = int(-(-lengths.max() // WIDTH) * WIDTH)
    column = np.arange(width)
    attention = column < lengths[:, None]
    ids = np.full((len(rows), width), pad, np.int64)
    ids[attention] = examples.ids[_ranges(examples.starts[rows], lengths)]
    return ids, attention, (attention & (column >= examples.second[rows, None])).astype(np.int64)


def collate(examples: Examples, masks: Masks, rows: np.ndarray, special: Special, causal: bool = False) -> Step:
    """A batch of these examples. A hidden token is predicted where it stands, a causal one a position earlier."""
    ids, attention, segments = padded(examples, rows, special.pad)
    counts = masks.starts[rows + 1] - masks.starts[rows]
    chosen = _ranges(masks.starts[rows], counts)
    row = np.repeat(np.arange(len(rows)), counts)
    at = row * ids.shape[1] + masks.at[chosen] - np.repeat(examples.starts[rows], counts)
    labels = ids.reshape(-1)[at].copy()
    ids.reshape(-1)[at] = masks.replacement[chosen]
    at = at - 1 if causal else at
    return Step(ids, attention.astype(np.int64), segments, at, labels, examples.follows[rows])
