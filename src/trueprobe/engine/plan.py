"""Which rows are computed together: fixed shapes for single rows, trees for rows that share their beginning.

The plan is made from all rows before anything kept is looked at, so an interrupted run goes on with the very
same batches. A shape depends on a row's length alone, never on how many rows there are: dummy rows fill it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueprobe.models import Model
from trueprobe.models.rows import Batch, Read, Row

TREE_WIDTH = 256  # tokens of a tree in one lane; attention over it costs little next to the layers
_WORTH_SHARING = 0.85  # of the tokens, or less, must remain for a tree to pay


@dataclass(frozen=True, slots=True)
class Crate:
    """Rows that are computed together: one per lane, or a tree of them per lane."""

    lanes: tuple[tuple[Row, ...], ...]
    shape: tuple[int, int]  # lanes (dummies included) × width
    tree: bool = False

    @property
    def rows(self) -> list[Row]:
        return [row for lane in self.lanes for row in lane]


def plan(rows: Iterable[Row], model: Model, batch_tokens: int | None = None) -> list[Crate]:
    """Crates for all rows, in an order that depends on the rows alone."""
    tokens = batch_tokens or model.batch_tokens
    ordered = sorted(rows, key=lambda row: (row.ids, row.segments))
    if not model.shares_prefixes:
        return _singles(ordered, model, tokens)
    limit = min(TREE_WIDTH, model.tree_limit)
    short = [row for row in ordered if len(row.ids) <= limit]
    lanes = list(_tree_lanes(short))
    if not short or sum(map(tree_tokens, lanes)) > _WORTH_SHARING * sum(len(row.ids) for row in short):
        return _singles(ordered, model, tokens)
    count = max(1, tokens // TREE_WIDTH)
    trees = [Crate(tuple(lanes[i : i + count]), (count, TREE_WIDTH), True) for i in range(0, len(lanes), count)]
    return trees + _singles([row for row in ordered if len(row.ids) > limit], model, tokens)


def bucket(length: int) -> int:
    """The width a row of this length is filled up to: finer where rows are short."""
    for top, step in ((32, 2), (64, 4), (128, 8), (256, 16), (512, 32)):
        if length <= top:
            return -(-length // step) * step
    return -(-length // 64) * 64


def _singles(ordered: Sequence[Row], model: Model, tokens: int) -> list[Crate]:
    by_width: dict[int, list[Row]] = {}
    for row in ordered:
        width = len(row.ids) if model.exact_lengths else min(bucket(len(row.ids)), model.card.max_tokens)
        by_width.setdefault(width, []).append(row)
    crates = []
    for width, members in sorted(by_width.items()):
        count = max(1, min(tokens // width, model.max_lanes))
        for start in range(0, len(members), count):
            crates.append(Crate(tuple((row,) for row in members[start : start + count]), (count, width)))
    return crates


def _tree_lanes(ordered: Sequence[Row]) -> Iterable[tuple[Row, ...]]:
    """Neighbours in the sorted order share most; a lane takes rows until its new tokens no longer fit."""
    lane: list[Row] = []
    used = 0
    for row in ordered:
        new = len(row.ids) - (_shared(lane[-1], row) if lane else 0)
        if used + new > TREE_WIDTH:
            yield tuple(lane)
            lane, used, new = [], 0, len(row.ids)
        lane.append(row)
        used += new
    if lane:
        yield tuple(lane)


def tree_tokens(lane: tuple[Row, ...]) -> int:
    return sum(len(row.ids) - (_shared(lane[i - 1], row) if i else 0) for i, row in enumerate(lane))


def computed_tokens(crate: Crate) -> int:
    """Tokens a crate computes, filling left out."""
    return sum(map(tree_tokens, crate.lanes))


def _shared(a: Row, b: Row) -> int:
    for i, (x, y) in enumerate(zip(a.ids, b.ids, strict=False)):
        if x != y:
            return i
    return min(len(a.ids), len(b.ids))


def pack(crate: Crate, wanted: Mapping[Row, Sequence[Read]]) -> Batch:
    """The crate as arrays, with every read wanted of its rows."""
    count, width = crate.shape
    ids = np.zeros((count, width), dtype=np.int64)
    segments, parents = np.zeros_like(ids), np.full_like(ids, -1)
    real = np.zeros((count, width), dtype=bool)
    reads: list[Read] = []
    lanes: list[int] = []
    places: list[tuple[int, ...]] = []
    for lane, rows in enumerate(crate.lanes):
        path: list[int] = []  # the columns of the row before
        before: Row | None = None
        end = 0
        for row in rows:
            shared = _shared(before, row) if before else 0
            new = len(row.ids) - shared
            columns = path[:shared] + list(range(end, end + new))
            ids[lane, end : end + new] = row.ids[shared:]
            segments[lane, end : end + new] = row.segments[shared:]
            parents[lane, end : end + new] = [-1, *columns][shared : shared + new]
            end, path, before = end + new, columns, row
            for read in wanted[row]:
                reads.append(read)
                lanes.append(lane)
                places.append(tuple(columns[p] for p in read.positions))
        real[lane, :end] = True
    if not crate.tree:  # dummies repeat the first row: an all-masked lane would be divided by nothing
        for lane in range(len(crate.lanes), count):
            ids[lane], segments[lane], real[lane] = ids[0], segments[0], real[0]
    return Batch(ids, segments, real, tuple(reads), tuple(lanes), tuple(places), parents if crate.tree else None)
