"""What a model computes on: rows of ids, what is read from them, and the fixed shapes they are run in.

A `Row` is the unit that is computed once and cached. A `Read` is one value wanted of it. A `Batch` is a rectangle:
each of its slots holds one row, or for causal models a tree of rows that share their beginnings. All are picklable.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from typing import Literal

import numpy as np

ROWS_VERSION = 2  # part of every key: raise it when the meaning of a cached reading changes
SAFE_ROWS = 8  # a product of a multiple of so many rows has the same bits with more rows and other numbers of threads


@dataclass(frozen=True, slots=True)
class Row:
    ids: tuple[int, ...]
    segments: tuple[int, ...]

    def key(self, compute_id: str) -> bytes:
        """Names the computation: weights, ids, segments. Not what is read, nor any name, path, device or batch.

        Row((5, 7), (0, 0)) of the weights ab12… -> the sha256 of the text "2 ab12… 2 " (version, weights, number of
        ids), followed by 5, 7, 0, 0 as int64."""
        digest = hashlib.sha256(f"{ROWS_VERSION} {compute_id} {len(self.ids)} ".encode())
        digest.update(array("q", self.ids).tobytes())
        digest.update(array("q", self.segments).tobytes())
        return digest.digest()


@dataclass(frozen=True, slots=True)
class Read:
    """`blank`: the vector entering the output embedding and the log normaliser, at one position.
    `token`: log-probabilities of `targets` at `positions`. `rank`: their ranks in the vocabulary, 1 is best.
    `next`: log P(second follows first). `vector`: mean hidden state of `layer` over `positions`."""

    row: Row
    kind: Literal["blank", "token", "rank", "next", "vector"]
    positions: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    layer: int = -1

    @property
    def by_head(self) -> bool:
        """Is it read at single positions, by the language-model head? Then only those need the last layer."""
        return self.kind in ("blank", "token", "rank")

    @property
    def what(self) -> str:
        at = ",".join(map(str, self.positions))
        if self.kind in ("token", "rank"):
            return f"{self.kind} {at} {','.join(map(str, self.targets))}"
        return f"vector {self.layer} {at}" if self.kind == "vector" else f"{self.kind} {at}".strip()


@dataclass(frozen=True)
class Batch:
    """[slots, width] ids; read i lies in slot `slots[i]`, its positions in the columns `columns[i]`.

    `parents` (causal trees only) gives each column the column of the token before it, -1 for a start.
    """

    ids: np.ndarray
    segments: np.ndarray
    real: np.ndarray  # bool: no padding
    reads: tuple[Read, ...]
    slots: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    parents: np.ndarray | None = None

    @property
    def tokens(self) -> int:
        return int(self.real.sum())

    def halves(self) -> tuple[Batch, Batch]:
        """The same reads in two batches of half the slots, for when memory runs out."""
        middle = len(self.ids) // 2
        return self._between(0, middle), self._between(middle, len(self.ids))

    def _between(self, start: int, stop: int) -> Batch:
        inside = [i for i, slot in enumerate(self.slots) if start <= slot < stop]
        return Batch(
            self.ids[start:stop],
            self.segments[start:stop],
            self.real[start:stop],
            tuple(self.reads[i] for i in inside),
            tuple(self.slots[i] - start for i in inside),
            tuple(self.columns[i] for i in inside),
            None if self.parents is None else self.parents[start:stop],
        )


def rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
