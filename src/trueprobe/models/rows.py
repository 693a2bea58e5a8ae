"""What a model computes on: rows of ids, what is read from them, and the fixed shapes they are run in.

A `Row` is the unit that is computed once and kept. A `Read` is one thing wanted of it. A `Batch` is a rectangle
of rows (or, for causal models, of whole trees of rows that share their beginnings) and is picklable both ways.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from typing import Literal

import numpy as np

ROWS_VERSION = 1  # part of every key: raise it when the meaning of a kept answer changes


@dataclass(frozen=True, slots=True)
class Row:
    ids: tuple[int, ...]
    segments: tuple[int, ...]

    def key(self, compute_id: str) -> bytes:
        """Names the computation: weights, ids, segments. Not what is read, nor any name, path, device or batch."""
        digest = hashlib.sha256(f"{ROWS_VERSION} {compute_id} {len(self.ids)} ".encode())
        digest.update(array("q", self.ids).tobytes())
        digest.update(array("q", self.segments).tobytes())
        return digest.digest()


@dataclass(frozen=True, slots=True)
class Read:
    """`blank`: the vector entering the output embedding and the log normaliser, at one position.
    `token`: log-probabilities of `targets` at `positions`. `next`: log P(second follows first).
    `vector`: mean hidden state of `layer` over `positions`."""

    row: Row
    kind: Literal["blank", "token", "next", "vector"]
    positions: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    layer: int = -1

    @property
    def what(self) -> str:
        at = ",".join(map(str, self.positions))
        if self.kind == "token":
            return f"token {at} {','.join(map(str, self.targets))}"
        return f"vector {self.layer} {at}" if self.kind == "vector" else f"{self.kind} {at}".strip()


@dataclass(frozen=True)
class Batch:
    """[lanes, width] ids; `places[i]` are the columns in lane `lanes[i]` where read i's positions lie.

    `parents` (causal trees only) gives each column the column of the token before it, -1 for a start.
    """

    ids: np.ndarray
    segments: np.ndarray
    real: np.ndarray  # bool: not filled up
    reads: tuple[Read, ...]
    lanes: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    parents: np.ndarray | None = None

    @property
    def tokens(self) -> int:
        return int(self.real.sum())

    def halves(self) -> tuple[Batch, Batch]:
        """The same reads in two batches of half the lanes, for when memory runs out."""
        middle = len(self.ids) // 2
        return self._lanes(0, middle), self._lanes(middle, len(self.ids))

    def _lanes(self, start: int, stop: int) -> Batch:
        kept = [i for i, lane in enumerate(self.lanes) if start <= lane < stop]
        return Batch(
            self.ids[start:stop],
            self.segments[start:stop],
            self.real[start:stop],
            tuple(self.reads[i] for i in kept),
            tuple(self.lanes[i] - start for i in kept),
            tuple(self.places[i] for i in kept),
            None if self.parents is None else self.parents[start:stop],
        )
