"""Examples: every text once, pairs whose length predicts nothing, masks drawn once for all seeds."""

from __future__ import annotations

import numpy as np
import pytest

from trueprobe.training.cards import unigram_and_trigram
from trueprobe.training.corpus import Tokens
from trueprobe.training.examples import (
    ALONE,
    Examples,
    Special,
    batches,
    collate,
    draw_masks,
    draw_targets,
    make_pairs,
    make_runs,
    make_singles,
    padded,
)

CLS, SEP, MASK, PAD = 1, 2, 3, 0
FIRST = 10
SPECIAL = Special(CLS, SEP, MASK, PAD, np.arange(FIRST, FIRST + 50, dtype=np.int32))


def text(documents: list[list[int]]) -> Tokens:
    """Documents of sentences of these lengths; every token has another id."""
    lengths = [length for document in documents for length in document]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    owners = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    return Tokens(np.arange(FIRST, FIRST + starts[-1], dtype=np.int32), starts, owners)


@pytest.fixture(scope="module")
def many() -> Tokens:
    rng = np.random.default_rng(0)
    return text([list(rng.integers(3, 30, rng.integers(2, 20))) for _ in range(300)])


def parts(examples: Examples, i: int) -> tuple[np.ndarray, np.ndarray]:
    row = examples.ids[examples.starts[i] : examples.starts[i + 1]]
    return row[1 : examples.second[i] - 1], row[examples.second[i] : -1]


def test_a_pair_is_framed_and_cut_between_sentences():
    examples = make_pairs(text([[3, 4], [3, 4]]), SPECIAL, longest=32, short=0, seed=3)
    assert len(examples) == 2
    for i, other in ((0, 1), (1, 0)):
        row = examples.ids[examples.starts[i] : examples.starts[i + 1]]
        start = FIRST + 7 * i
        second = start + 3 if examples.follows[i] == 0 else FIRST + 7 * other + 3
        assert row.tolist() == [CLS, *range(start, start + 3), SEP, *range(second, second + 4), SEP]
        assert examples.second[i] == 5


def test_pairs_that_follow_are_neighbours_and_the_others_come_from_another_document(many):
    examples = make_pairs(many, SPECIAL, longest=64, short=0.5, seed=0)
    document = np.repeat(np.arange(300), np.diff(many.sentences[many.documents]))
    for i in range(len(examples)):
        a, b = parts(examples, i)
        if examples.follows[i] == 0:
            assert b[0] == a[-1] + 1
        else:
            assert document[a[0] - FIRST] != document[b[0] - FIRST]
    assert 0.45 < examples.follows.mean() < 0.55


def test_length_does_not_tell_whether_a_pair_follows(many):
    examples = make_pairs(many, SPECIAL, longest=64, short=0.5, seed=0)
    by_kind = [examples.lengths[examples.follows == kind].mean() for kind in (0, 1)]
    assert abs(by_kind[0] - by_kind[1]) < 2.5


def test_no_example_is_too_long_and_hardly_any_text_is_seen_twice(many):
    examples = make_pairs(many, SPECIAL, longest=64, short=0.5, seed=0)
    assert examples.lengths.max() <= 64
    counts = np.bincount(examples.ids[examples.ids >= FIRST])
    assert (counts > 1).mean() < 0.02
    assert (counts[FIRST:] > 0).mean() > 0.8  # what is missing was cut off at the longest length


def test_runs_start_with_the_start_token_and_hold_all_text_that_fits():
    examples = make_runs(text([[5, 5, 5], [40]]), SPECIAL, longest=16, short=0, seed=0)
    rows = [examples.ids[a:b].tolist() for a, b in zip(examples.starts, examples.starts[1:], strict=False)]
    assert rows == [[CLS, *range(FIRST, FIRST + 15)], [CLS, *range(FIRST + 15, FIRST + 30)]]


def test_a_sentence_alone_has_one_segment_and_nothing_that_follows():
    examples = make_singles(text([[3, 40], [2]]), SPECIAL, longest=16)
    rows = [examples.ids[a:b].tolist() for a, b in zip(examples.starts, examples.starts[1:], strict=False)]
    assert rows == [
        [CLS, *range(FIRST, FIRST + 3), SEP],
        [CLS, *range(FIRST + 3, FIRST + 17), SEP],
        [CLS, *range(FIRST + 43, FIRST + 45), SEP],
    ]
    assert examples.follows.tolist() == [ALONE] * 3
    _, _, segments = padded(examples, np.arange(3), PAD)
    assert not segments.any()


def test_examples_put_together_stay_what_they_were(many):
    pairs, singles = make_pairs(many, SPECIAL, 64, 0.5, 0), make_singles(many, SPECIAL, 64)
    both = pairs + singles
    assert len(both) == len(pairs) + len(singles)
    for part, offset in ((pairs, 0), (singles, len(pairs))):
        for i in (0, len(part) - 1):
            there = slice(both.starts[offset + i], both.starts[offset + i + 1])
            assert np.array_equal(both.ids[there], part.ids[part.starts[i] : part.starts[i + 1]])
            assert both.second[offset + i] == part.second[i]
            assert both.follows[offset + i] == part.follows[i]


def test_a_share_of_short_examples_is_short(many):
    long, mixed = (make_runs(many, SPECIAL, 64, short, 0).lengths for short in (0.0, 0.5))
    assert np.median(mixed) < np.median(long)
    assert (mixed <= 64).all()


def test_masks_hide_their_share_of_each_example_and_no_frame(many):
    examples = make_pairs(many, SPECIAL, 64, 0.5, 0)
    masks = draw_masks(examples, SPECIAL, 0.15, seed=0)
    hidden = examples.ids[masks.at]
    assert not np.isin(hidden, [CLS, SEP]).any()
    assert np.array_equal(np.diff(masks.starts), np.maximum(1, np.round((examples.lengths - 3) * 0.15)))
    owner = np.searchsorted(examples.starts, masks.at, side="right") - 1
    assert np.array_equal(np.bincount(owner, minlength=len(examples)), np.diff(masks.starts))
    assert len(np.unique(masks.at)) == len(masks.at)
    assert abs((masks.replacement == MASK).mean() - 0.8) < 0.03
    assert abs((masks.replacement == hidden).mean() - 0.1) < 0.03


def test_static_masks_stay_and_dynamic_ones_change(many):
    examples = make_pairs(many, SPECIAL, 64, 0.5, 0)
    first, again, next_turn = (draw_masks(examples, SPECIAL, 0.15, 0, turn) for turn in (0, 0, 1))
    assert np.array_equal(first.at, again.at)
    assert np.array_equal(first.replacement, again.replacement)
    assert not np.array_equal(first.at, next_turn.at)


def test_every_example_is_in_one_batch_and_a_seed_is_an_order(many):
    examples = make_pairs(many, SPECIAL, 64, 0.5, 0)
    plans = [batches(examples, 256, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    for plan in plans:
        assert sorted(np.concatenate(plan)) == list(range(len(examples)))
        for rows in plan:
            widths = -(-examples.lengths[rows] // 8) * 8
            assert len(set(widths)) == 1
            assert len(rows) == 1 or len(rows) * widths[0] <= 256
    assert [rows.tolist() for rows in plans[0]] == [rows.tolist() for rows in plans[1]]
    assert [rows.tolist() for rows in plans[0]] != [rows.tolist() for rows in plans[2]]
    assert len(plans[0]) == len(plans[2])


def test_a_batch_hides_what_it_asks_for(many):
    examples = make_pairs(many, SPECIAL, 64, 0.5, 0)
    masks = draw_masks(examples, SPECIAL, 0.15, 0)
    rows = batches(examples, 512, np.random.default_rng(5))[3]
    step = collate(examples, masks, rows, SPECIAL)
    restored = step.ids.reshape(-1).copy()
    restored[step.at] = step.labels
    for i, row in enumerate(restored.reshape(step.ids.shape)):
        true = examples.ids[examples.starts[rows[i]] : examples.starts[rows[i] + 1]]
        assert row[: len(true)].tolist() == true.tolist()
        assert (row[len(true) :] == PAD).all()
        assert step.attention[i].sum() == len(true)
        assert step.segments[i].sum() == len(true) - examples.second[rows[i]]
    assert np.array_equal(step.follows, examples.follows[rows])


def test_a_causal_batch_asks_for_every_token_after_the_first():
    examples = make_runs(text([[4, 3]]), SPECIAL, 16, 0, 0)
    step = collate(examples, draw_targets(examples, 1.0, 0), np.array([0]), SPECIAL, causal=True)
    assert step.labels.tolist() == list(range(FIRST, FIRST + 7))
    assert step.at.tolist() == list(range(7))
    assert step.ids[0, :8].tolist() == [CLS, *range(FIRST, FIRST + 7)]  # nothing is hidden
    few = collate(examples, draw_targets(examples, 0.3, 0), np.array([0]), SPECIAL, causal=True)
    assert len(few.at) == 2
    assert np.array_equal(few.labels, step.labels[few.at])


def rows_of(ids: list[list[int]]) -> Examples:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in ids])])
    n = len(ids)
    return Examples(np.concatenate(ids).astype(np.int32), starts, np.zeros(n, np.int64), np.zeros(n, np.int64))


def test_unigram_loss_by_hand():
    train, held_out = rows_of([[1, 5, 5, 6]]), rows_of([[1, 5, 6]])
    losses = unigram_and_trigram(train, held_out, draw_targets(held_out, 1.0, 0), vocab_size=8)
    # counts 1:1, 5:2, 6:1, plus one each of eight: 5 has 3/12, 6 has 2/12
    assert losses["unigram_loss"] == pytest.approx(-(np.log(3 / 12) + np.log(2 / 12)) / 2)


def test_the_trigram_model_knows_a_fixed_sequence_and_nothing_of_noise():
    fixed = rows_of([[1, *([5, 6, 7, 5, 8, 9] * 50)]])
    assert unigram_and_trigram(fixed, fixed, draw_targets(fixed, 1.0, 0), 10)["trigram_loss"] < 0.1
    rng = np.random.default_rng(0)
    noise = [rows_of([rng.integers(0, 50, 20_000)]) for _ in range(2)]
    assert unigram_and_trigram(*noise, draw_targets(noise[1], 1.0, 0), 50)["trigram_loss"] == pytest.approx(
        np.log(50), abs=0.03
    )
