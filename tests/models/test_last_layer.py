"""The last layer where it is asked: the numbers of the whole layer, the same bits with any number of threads."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import lcm

import numpy as np
import pytest
import torch
import transformers as t

import zoo
from trueprobe.models.last_layer import PARTS, LastLayer, Spots
from trueprobe.models.network import Network, ancestors
from trueprobe.models.rows import Batch, Read, Row

NEAR = 1e-5
PIECES = 100
GROUPED = {**zoo.SMALL, "num_key_value_heads": 1, "head_dim": 16}
MORE = {
    "albert-groups": (t.AlbertForMaskedLM, t.AlbertConfig(**zoo.SMALL | {"num_hidden_layers": 4}, num_hidden_groups=2)),
    "bert-decoder": (t.BertLMHeadModel, t.BertConfig(**zoo.SMALL, is_decoder=True)),
    "camembert": (t.CamembertForMaskedLM, t.CamembertConfig(**zoo.SMALL)),
    "gemma-1": (t.GemmaForCausalLM, t.GemmaConfig(**GROUPED)),
    "mistral": (t.MistralForCausalLM, t.MistralConfig(**GROUPED, sliding_window=4)),
    "neox-in-series": (t.GPTNeoXForCausalLM, t.GPTNeoXConfig(**zoo.SMALL, use_parallel_residual=False)),
    "opt-350m": (
        t.OPTForCausalLM,
        t.OPTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            ffn_dim=64,
            word_embed_proj_dim=16,
            do_layer_norm_before=False,
        ),
    ),
    "qwen2": (t.Qwen2ForCausalLM, t.Qwen2Config(**zoo.SMALL, num_key_value_heads=1)),
    "xlm-roberta": (t.XLMRobertaForMaskedLM, t.XLMRobertaConfig(**zoo.SMALL)),
}
WHOLE = ("deberta", "deberta-v2", "mobilebert", "bloom")  # these compute the whole layer
SHORT = [name for name in (*zoo.MASKED, *zoo.CAUSAL, *MORE) if name not in WHOLE]


@cache
def network(name: str) -> Network:
    made, config, *_ = {**zoo._networks(), **MORE}[name]
    config.vocab_size, config.initializer_range = PIECES, 0.3
    config.pad_token_id = 1 if "roberta" in name or name in ("mpnet", "camembert") else 0
    torch.manual_seed(0)
    return Network.watching(made(config).eval().requires_grad_(False))


def batch(rows: list[list[int]], columns: list[tuple[int, ...]], beside: bool = False) -> Batch:
    """Read at `columns`; `beside`: with a hidden state read beside them, which needs the whole layer."""
    width = max(map(len, rows))
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows])
    real = np.arange(width) < np.array([[len(row)] for row in rows])
    reads = [
        Read(Row(tuple(row), (0,) * len(row)), "blank", (column,))
        for row, chosen in zip(rows, columns, strict=True)
        for column in chosen
    ]
    slots = [slot for slot, chosen in enumerate(columns) for _ in chosen]
    if beside:
        reads.append(Read(reads[0].row, "vector", (0,)))
        slots.append(0)
    return Batch(ids, np.zeros_like(ids), real, tuple(reads), tuple(slots), tuple(read.positions for read in reads))


ROWS = np.random.default_rng(0).integers(5, PIECES, (8, 9)).tolist()
RAGGED = [row[: 3 + i % 7] for i, row in enumerate(ROWS)]
PLANS = {
    "one position each": (RAGGED, [(len(row) // 2,) for row in RAGGED]),
    "no padding": (ROWS, [(i,) for i in range(8)]),
    "several positions": (RAGGED, [tuple(range(i % 3 + 1)) for i in range(8)]),
    "a row alone": (ROWS[:1], [(4,)]),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", SHORT)
def test_it_has_the_numbers_of_the_whole_layer(name, plan):
    rows, columns = PLANS[plan]
    few = network(name).read(batch(rows, columns))
    *whole, _ = network(name).read(batch(rows, columns, beside=True))
    assert network(name).last_layer is not None
    assert all(np.allclose(a, b, atol=NEAR) for a, b in zip(few, whole, strict=True))


def test_architectures_are_listed_or_compute_the_whole_layer():
    assert {network(name).config.model_type for name in SHORT} == set(PARTS)
    assert all(network(name).last_layer is None for name in WHOLE)


@pytest.mark.parametrize("name", ["bert", "albert", "gpt2", "llama"])
def test_one_and_two_threads_give_the_same_bits(name):
    threads, read = torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            read.append([network(name).read(batch(*PLANS[plan])) for plan in PLANS if plan != "a row alone"])
    finally:
        torch.set_num_threads(threads)
    assert all(np.array_equal(a, b) for one, two in zip(*read, strict=True) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("name", [name for name in zoo.MASKED if name in SHORT])
def test_a_row_has_the_bits_it_has_among_others(name, threads):
    """In every batch of a multiple of eight tokens, sixteen at least, as the engine fills them up."""
    before, other = torch.get_num_threads(), []
    torch.set_num_threads(threads)
    try:
        for width in (4, 6, 8, 14, 16, 20, 24, 26, 40):
            rows = np.random.default_rng(width).integers(5, PIECES, (24, width)).tolist()
            columns = [(i % width,) for i in range(24)]
            among = network(name).read(batch(rows, columns))
            step = lcm(width, 8) // width
            for few in (few for few in range(step, 24, step) if few * width >= 16):
                alone = network(name).read(batch(rows[:few], columns[:few]))
                if not all(np.array_equal(a, b) for a, b in zip(alone, among, strict=False)):
                    other.append((few, width))
    finally:
        torch.set_num_threads(before)
    assert not other


@pytest.mark.parametrize(("name", "feed_forward"), [("bert", "intermediate"), ("gpt2", "mlp"), ("albert", "ffn")])
def test_all_but_keys_and_values_is_computed_at_the_positions_read(name, feed_forward):
    seen = []
    part = getattr(network(name).last_layer.layer, feed_forward)
    hook = part.register_forward_pre_hook(lambda module, args: seen.append(args[0].shape[:2].numel()))
    rows, columns = PLANS["one position each"]
    network(name).read(batch(rows, columns))
    few, seen[:] = seen[-1], []
    network(name).read(batch(rows, columns, beside=True))
    hook.remove()
    assert (few, seen[-1]) == (8, 8 * 9)


def test_a_pass_that_fails_leaves_the_network_whole(monkeypatch):
    bert = network("bert")
    wanted = batch(*PLANS["one position each"])
    before = bert.read(batch(*PLANS["one position each"], beside=True))
    layer = bert.last_layer
    with monkeypatch.context() as patch:
        patch.setattr(LastLayer, "_behind", lambda *_: (_ for _ in ()).throw(RuntimeError("out of memory")))
        with pytest.raises(RuntimeError, match="out of memory"):
            bert.read(wanted)
    assert "forward" not in vars(layer.attention)
    after = bert.read(batch(*PLANS["one position each"], beside=True))
    assert all(map(np.array_equal, before, after))


@pytest.mark.parametrize(
    "changed", [(LastLayer, "_behind", lambda self, context, states: 2 * context), (PARTS["bert"], "norm", "elsewhere")]
)
def test_a_layer_with_other_numbers_or_other_parts_is_not_used(changed, monkeypatch):
    """A listed architecture whose code was changed computes the whole layer."""
    made, config, _ = zoo._networks()["bert-no-next"]
    config.vocab_size = PIECES
    where, name, value = changed
    if where is LastLayer:
        monkeypatch.setattr(where, name, value)
    else:
        monkeypatch.setitem(PARTS, "bert", replace(where, **{name: value}))
    bert = Network.watching(made(config).eval().requires_grad_(False))
    assert bert.last_layer is None
    assert len(bert.read(batch(*PLANS["one position each"]))) == 8


def test_a_batch_of_dummies_alone_gives_nothing():
    one = batch(*PLANS["a row alone"])
    empty, full = Batch(
        *(np.repeat(a, 2, 0) for a in (one.ids, one.segments, one.real)), one.reads, (1,), one.columns
    ).halves()
    assert network("bert").read(empty) == []
    assert len(network("bert").read(full)) == 1


def test_spots_are_a_table_with_a_row_per_slot():
    spots = Spots.of([(2, 1), (0, 3), (2, 4), (2, 4)], 4)
    assert spots.table.tolist() == [[3, 0], [0, 0], [1, 4], [0, 0]]
    assert spots.chosen.tolist() == [0, 4, 5]
    assert (spots.slots.tolist(), spots.columns.tolist()) == ([0, 0, 1, 1, 2, 2, 3, 3], [3, 0, 0, 0, 1, 4, 0, 0])
    assert [len(Spots.of([(0, 0)], slots).slots) for slots in (1, 2, 3, 8, 9)] == [8, 8, 8, 8, 16]


def test_cells_go_into_the_table_and_back_and_only_those_asked_for_into_their_places():
    spots = Spots.of([(0, 3), (2, 1), (2, 4)], 3)
    states = torch.arange(15.0).view(3, 5, 1)
    cells = spots.taken(states)
    assert spots.as_table(cells)[..., 0].tolist() == [[3, 0], [5, 5], [11, 14]]
    assert torch.equal(spots.as_cells(spots.as_table(cells))[0, :6], cells[0, :6])
    changed = spots.put(-cells, states)
    assert changed[changed < 0].tolist() == [-3, -11, -14]


def test_ancestors_are_found_along_the_parents():
    random = np.random.default_rng(0)
    parents = np.array([[random.integers(-1, i) if i else -1 for i in range(37)] for _ in range(3)])
    parents[0] = np.arange(37) - 1  # one long row
    expected = np.zeros((3, 37, 37), dtype=bool)
    for slot in range(3):
        for column in range(37):
            at = column
            while at >= 0:
                expected[slot, column, at] = True
                at = parents[slot, at]
    assert np.array_equal(ancestors(torch.from_numpy(parents)).numpy(), expected)


@pytest.mark.parametrize("name", [*(name for name in zoo.CAUSAL if name != "bloom"), "gemma-1", "opt-350m", "qwen2"])
def test_a_tree_has_the_numbers_of_its_rows(name):
    """Three rows with one beginning: 5 6 7 8 9, 5 6 7 10, 5 11."""
    rows = [(5, 6, 7, 8, 9), (5, 6, 7, 10), (5, 11)]
    reads = tuple(Read(Row(row, (0,) * len(row)), "blank", (len(row) - 1,)) for row in rows)
    ids = np.array([[5, 6, 7, 8, 9, 10, 11]])
    parents = np.array([[-1, 0, 1, 2, 3, 2, 0]])
    tree = Batch(ids, np.zeros_like(ids), np.ones_like(ids, dtype=bool), reads, (0, 0, 0), ((4,), (5,), (6,)), parents)
    assert network(name).shares_prefixes
    apart = [network(name).read(batch([[*row]], [(len(row) - 1,)]))[0] for row in rows]
    assert all(np.allclose(a, b, atol=1e-4) for a, b in zip(network(name).read(tree), apart, strict=True))
