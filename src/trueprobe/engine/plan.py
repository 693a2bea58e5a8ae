"""Which rows are computed together: fixed shapes for single rows, trees for rows that share their beginning.

The plan is made from all rows of a portion before the cache is looked at, so an interrupted run goes on with the very
same batches; where a row's bits do not depend on its batch (`row_exact`), from the missing rows alone. A width depends
on a row's length alone. A batch that is not full has dummy rows up to a number of tokens with which a row's bits do not
depend on their number; trees need none, their bits depend on the plan anyway.

Trees. In a causal network a token depends on the tokens before it only, so texts that begin alike need their beginning
once. Three rows, sorted, and what each adds to the tree of the one before it:

    1 2 3        1 2 3           column   0  1  2  3  4  5
    1 2 4 5          4 5         id       1  2  3  4  5  7
    1 7            7             parent  -1  0  1  1  3  0

Six columns are computed instead of nine tokens. A column attends to itself and to its ancestors: column 4 to 0, 1, 3
and 4, which is the row 1 2 4 5. `_trees` chooses which rows make a tree, `pack` writes its columns and parents, and
`models.network` turns parents into the attention mask and into positions (a column's number of ancestors).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from trueprobe.models import RowModel
from trueprobe.models.rows import Batch, Read, Row, rounded_up

TREE_WIDTH = 256  # tokens of the tree in one slot; attention over it costs little next to the layers
_WORTH_SHARING = 0.85  # of the tokens, or less, must remain for a tree to pay


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Rows that are computed together: one per slot of the batch, or a tree of them per slot."""

    slots: tuple[tuple[Row, ...], ...]
    shape: tuple[int, int]  # slots (dummies included) × width
    tree: bool = False
    by_head: bool | None = None  # only the reads that the head answers, or only the others; None: all

    @property
    def rows(self) -> list[Row]:
        return [row for slot in self.slots for row in slot]


def plan(rows: Iterable[Row], model: RowModel, batch_tokens: int | None = None) -> list[BatchPlan]:
    """Batches of all rows, in an order that depends on the rows alone."""
    tokens = batch_tokens or model.batch_tokens
    ordered = sorted(rows, key=lambda row: (row.ids, row.segments))
    if not model.traits.shares_prefixes:
        return _singles(ordered, model, tokens)
    limit = min(TREE_WIDTH, model.tree_limit)
    short = [row for row in ordered if len(row.ids) <= limit]
    slots = list(_trees(short))
    if not short or sum(map(tree_tokens, slots)) > _WORTH_SHARING * sum(len(row.ids) for row in short):
        return _singles(ordered, model, tokens)
    count = max(1, tokens // TREE_WIDTH)
    forests = [tuple(slots[i : i + count]) for i in range(0, len(slots), count)]
    widths = [bucket(max(map(tree_tokens, forest))) for forest in forests]  # of the longest tree
    trees = [BatchPlan(trees, (len(trees), width), True) for trees, width in zip(forests, widths, strict=True)]
    return trees + _singles([row for row in ordered if len(row.ids) > limit], model, tokens)


def plan_reads(wanted: Mapping[Row, Sequence[Read]], model: RowModel, batch_tokens: int | None) -> list[BatchPlan]:
    """Reads that need the last layer at single positions and reads that need all of it are computed apart: the bits of
    either do not depend on whether the other is asked."""
    return [
        replace(batch, by_head=by_head)
        for by_head in (True, False)
        for batch in plan([row for row in wanted if reads_of(wanted[row], by_head)], model, batch_tokens)
    ]


def any_read(batch: BatchPlan, missing: Mapping[Row, Sequence[Read]]) -> bool:
    """Does the batch compute one of these?"""
    return any(reads_of(missing.get(row, ()), batch.by_head) for row in batch.rows)


def reads_of(reads: Sequence[Read], by_head: bool | None) -> list[Read]:
    """Those that a batch of this kind computes."""
    return [read for read in reads if by_head is None or read.by_head == by_head]


def bucket(length: int) -> int:
    """The width a row of this length is padded to: finer where rows are short."""
    for top, step in ((32, 2), (64, 4), (128, 8), (256, 16), (512, 32)):
        if length <= top:
            return rounded_up(length, step)
    return rounded_up(length, 64)


def _singles(ordered: Sequence[Row], model: RowModel, tokens: int) -> list[BatchPlan]:
    by_width: dict[int, list[Row]] = {}
    multiple = model.traits.token_multiple
    for row in ordered:
        width = len(row.ids) if model.traits.exact_lengths else min(bucket(len(row.ids)), model.card.max_tokens)
        by_width.setdefault(width, []).append(row)
    batches = []
    for width, members in sorted(by_width.items()):
        # for 512 tokens at width 12 and multiples of 8 tokens: 42 rows, in steps of 2 (24 tokens), at least 2 (24 ≥ 16)
        most = max(1, min(tokens // width, model.max_rows))
        step = lcm(width, multiple) // width or most
        most -= most % step if most > step else 0
        fewest = -(-2 * multiple // width)
        for start in range(0, len(members), most):
            slots = tuple((row,) for row in members[start : start + most])
            batches.append(BatchPlan(slots, (min(most, max(fewest, rounded_up(len(slots), step))), width)))
    return batches


def _trees(ordered: Sequence[Row]) -> Iterable[tuple[Row, ...]]:
    """Sorted rows, cut into trees of at most `TREE_WIDTH` columns.

    With a width of 5: (1 2 3), (1 2 4 5), (1 7) -> [(1 2 3), (1 2 4 5)], [(1 7)], of 5 and 2 columns."""
    tree: list[Row] = []
    used = 0
    for row in ordered:
        # sorted rows share most with their neighbour, so a row only needs to be held against the one before it
        new = len(row.ids) - (_shared(tree[-1], row) if tree else 0)
        if used + new > TREE_WIDTH:
            # the next tree begins here, and has this row from its first token
            yield tuple(tree)
            tree, used, new = [], 0, len(row.ids)
        tree.append(row)
        used += new
    if tree:
        yield tuple(tree)


def tree_tokens(tree: tuple[Row, ...]) -> int:
    """Columns of a tree: (1 2 3), (1 2 4 5), (1 7) -> 3 + 2 + 1 = 6."""
    return sum(len(row.ids) - (_shared(tree[i - 1], row) if i else 0) for i, row in enumerate(tree))


def computed_tokens(batch: BatchPlan) -> int:
    """Tokens a batch computes, padding left out."""
    return sum(map(tree_tokens, batch.slots))


def padding(batch: BatchPlan) -> int:
    """Tokens computed for nothing: behind short rows, and in dummy rows."""
    slots, width = batch.shape
    return slots * width - computed_tokens(batch)


def _shared(a: Row, b: Row) -> int:
    """How many tokens both begin with: (1 2 3), (1 2 4 5) -> 2."""
    for i, (x, y) in enumerate(zip(a.ids, b.ids, strict=False)):
        if x != y:
            return i
    return min(len(a.ids), len(b.ids))


def pack(planned: BatchPlan, wanted: Mapping[Row, Sequence[Read]]) -> Batch:
    """The planned batch as arrays of [slots, width], with what is wanted of its rows.

    A slot is a tree; a single row is a tree of one."""
    count, width = planned.shape
    ids = np.zeros((count, width), dtype=np.int64)
    segments, parents = np.zeros_like(ids), np.full_like(ids, -1)
    real = np.zeros((count, width), dtype=bool)
    reads: list[Read] = []
    slots: list[int] = []
    columns: list[tuple[int, ...]] = []
    for slot, rows in enumerate(planned.slots):
        path: list[int] = []  # the columns of the row before: [0, 1, 2] after (1 2 3)
        before: Row | None = None
        end = 0  # columns so far
        for row in rows:
            # 1. what it shares with the row before stays: of (1 2 4 5) two tokens, in the columns [0, 1]
            shared = _shared(before, row) if before else 0
            # 2. the rest gets new columns behind all others: [3, 4], so that the row's path is [0, 1, 3, 4]
            new = len(row.ids) - shared
            path = path[:shared] + list(range(end, end + new))
            ids[slot, end : end + new] = row.ids[shared:]
            segments[slot, end : end + new] = row.segments[shared:]
            # 3. the parent of a column is the column before it on the path: 1 for column 3, and 3 for column 4
            parents[slot, end : end + new] = [-1, *path][shared : shared + new]
            end, before = end + new, row
            # 4. what is read at a token of the row is read at its column: at position 2 of (1 2 4 5), column 3
            for read in reads_of(wanted[row], planned.by_head):
                reads.append(read)
                slots.append(slot)
                columns.append(tuple(path[p] for p in read.positions))
        real[slot, :end] = True
    if not planned.tree:  # dummies repeat the first row: an all-masked slot would be divided by nothing
        for slot in range(len(planned.slots), count):
            ids[slot], segments[slot], real[slot] = ids[0], segments[0], real[0]
    return Batch(ids, segments, real, tuple(reads), tuple(slots), tuple(columns), parents if planned.tree else None)
