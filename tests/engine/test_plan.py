"""The plan: widths depend on a row's length alone, batches are filled up little, a tree holds every row once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.engine import pack
from trueprobe.engine.plan import TREE_WIDTH, bucket, computed_tokens, padding, plan
from trueprobe.models import Traits
from trueprobe.models.rows import Read, Row

ids = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12).map(tuple), min_size=1, max_size=60, unique=True)


def row(ids):
    return Row(tuple(ids), (0,) * len(ids))


def model(tree=False, tree_limit=512, exact_lengths=False, token_multiple=8):
    traits = Traits(100, True, tree, exact_lengths, token_multiple)
    card = SimpleNamespace(max_tokens=512)
    return SimpleNamespace(traits=traits, max_rows=100, batch_tokens=512, tree_limit=tree_limit, card=card)


@given(ids)
def test_every_row_is_in_exactly_one_batch(lists):
    rows = [row(i) for i in lists]
    for tree in (False, True):
        planned = [r for batch in plan(rows, model(tree)) for r in batch.rows]
        assert sorted(planned, key=lambda r: r.ids) == sorted(rows, key=lambda r: r.ids)


@given(ids)
def test_the_plan_does_not_depend_on_the_order_of_asking(lists):
    rows = [row(i) for i in lists]
    for tree in (False, True):
        assert plan(rows, model(tree)) == plan(rows[::-1], model(tree))


@given(ids, st.integers(1, 700))
def test_a_rows_width_does_not_depend_on_the_other_rows_and_tokens_are_a_multiple_of_eight(lists, tokens):
    rows = [row(i) for i in lists]
    for batch in plan(rows, model(), tokens):
        count, width = batch.shape
        step, least = {2: (4, 8), 4: (2, 4), 6: (4, 4), 8: (1, 2), 10: (4, 4), 12: (2, 2)}[width]
        most = max(1, min(tokens // width, 100))
        most -= most % step if most > step else 0
        assert count == min(most, max(least, -(-len(batch.slots) // step) * step))
        assert count == most or count * width % 8 == 0
        for r in batch.rows:
            assert plan([r], model(), tokens)[0].shape == (min(most, least), width)


def test_dummy_rows_and_padding_are_counted():
    planned = plan([row(range(5)), row(range(6)), row(range(8))], model())
    assert [(batch.shape, padding(batch)) for batch in planned] == [((4, 6), 4 * 6 - 11), ((2, 8), 8)]
    (tree,) = plan([row((1, 2, 3, 4)), row((1, 2, 3, 5, 6))], model(tree=True))
    assert (tree.tree, tree.shape, padding(tree)) == (True, (1, 6), 0)


@given(ids)
def test_a_packed_tree_spells_every_row_along_its_parents(lists):
    rows = [row(i) for i in lists]
    wanted = {r: (Read(r, "blank", (len(r.ids) - 1,)),) for r in rows}
    for batch in plan(rows, model(tree=True)):
        packed = pack(batch, wanted)
        if packed.parents is None:
            continue
        for read, slot, (column,) in zip(packed.reads, packed.slots, packed.columns, strict=True):
            spelled, at = [], column
            while at >= 0:
                spelled.append(int(packed.ids[slot, at]))
                at = int(packed.parents[slot, at])
            assert tuple(reversed(spelled)) == read.row.ids
        assert packed.tokens == computed_tokens(batch)


def test_rows_with_one_beginning_are_computed_as_one_tree():
    rows = [row((1, 2, 3, 4, 5, 6, 7, last)) for last in range(20)]
    batches = plan(rows, model(tree=True))
    assert sum(map(computed_tokens, batches)) == 7 + 20


def test_texts_longer_than_a_sliding_window_stay_alone():
    rows = [row((1, 2, 3, last)) for last in range(9)] + [row((1,) * 40)]
    long = [batch for batch in plan(rows, model(tree=True, tree_limit=16)) if not batch.tree]
    assert [r.ids for batch in long for r in batch.rows] == [(1,) * 40]


def test_one_long_text_leaves_the_shapes_of_the_short_ones_alone():
    short = [row((1, 2, i % 7, i)) for i in range(1000)]
    alone = plan(short, model())
    with_long = plan([*short, row(range(512))], model())
    assert [batch for batch in with_long if batch.shape[1] < 512] == alone
    assert max(batch.shape[0] * batch.shape[1] for batch in with_long) <= 512


def test_where_few_rows_have_other_bits_every_batch_is_full():
    planned = plan([row((1, 2, 3, last)) for last in range(130)], model(token_multiple=0))
    assert [(len(batch.slots), batch.shape) for batch in planned] == [(100, (100, 4)), (30, (100, 4))]


def test_exact_lengths_are_never_padded():
    batches = plan([row(range(n)) for n in (3, 5, 5, 7)], model(exact_lengths=True))
    assert sorted(batch.shape[1] for batch in batches) == [3, 5, 7] or all(
        batch.shape[1] == len(r.ids) for batch in batches for r in batch.rows
    )


def test_a_bucket_holds_its_row_and_wastes_little():
    for length in range(1, 2000):
        assert length <= bucket(length) <= max(length + 1, 1.14 * length + 3)
    assert bucket(TREE_WIDTH) == TREE_WIDTH


def test_padding_rows_are_real_so_that_no_row_is_all_masked():
    r = row((5, 6, 7))
    batch = pack(plan([r], model())[0], {r: (Read(r, "blank", (1,)),)})
    assert batch.real.any(axis=1).all()
    assert np.array_equal(batch.ids[0], batch.ids[-1])
