"""What leaves the device: one copy per batch, and no table as wide as the vocabulary.

There is no GPU here. What copies from a device is one of a few calls, and those are counted on a CPU, where they cost
nothing. Calls of transformers are left out: it looks once per pass whether a batch has padding.
"""

from __future__ import annotations

import traceback

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

import trueprobe
from trueprobe.engine import pack, plan_reads
from trueprobe.models import assemble
from trueprobe.runs.check import sample_requests
from trueprobe.types import TIE_NATS, FillBlank, ScoreText, WhyNot

OURS = trueprobe.__path__[0]
LEAVING = {"cpu", "tolist", "item", "numpy", "nonzero", "__bool__", "__int__", "__float__", "__index__", "__array__"}


class Copies(TorchFunctionMode):
    """The shapes of what our code brings back; `.numpy()` of what `.cpu()` brought is no second copy."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []
        self._brought = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        result = func(*args, **(kwargs or {}))
        if name in LEAVING and _called_by_us() and not (name == "numpy" and args[0].data_ptr() == self._brought):
            self.shapes.append(tuple(args[0].shape))
            self._brought = result.data_ptr() if name == "cpu" else 0
        return result


def _called_by_us() -> bool:
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(None))
    return next(file for file in files if file != __file__ and "/torch/" not in file).startswith(OURS)


def batches(model, requests):
    wanted: dict = {}
    for request in requests:
        reads = model.reads(request)
        for read in () if isinstance(reads, WhyNot) else reads:
            wanted.setdefault(read.row, {})[read.what] = read
    wanted = {row: tuple(reads.values()) for row, reads in wanted.items()}
    return [pack(batch, wanted) for batch in plan_reads(wanted, model, None)]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_batch_is_copied_once(name, opened):
    """Blanks, texts with ranks, next sentences, hidden states of several layers, trees."""
    model = opened(name)
    packed = batches(model, [*sample_requests(model.card.kind), ScoreText("The nurse was late.", ranks=True)])
    kinds = {read.kind for batch in packed for read in batch.reads}
    assert kinds == {"blank", "token", "rank", "vector"} | ({"next"} if name == "bert" else set())
    assert any(batch.parents is not None for batch in packed) == (name == "gpt2")
    for batch in packed:
        model.forward(batch)
        with Copies() as copies:
            values = model.forward(batch)
        assert copies.shapes == [(sum(map(len, values)),)]


def test_words_ranks_and_best_lists_are_copied_once_and_the_vocabulary_never(opened, monkeypatch):
    model = opened("bert")
    monkeypatch.setattr(assemble, "_ascending", lambda table: torch.sort(table, dim=1).values)  # as on a GPU
    words = ("man", "woman", "hairdresser")
    requests = [FillBlank(f"The {who} ", " here.", words=words, top=5) for who in ("nurse", "man")]
    requests += [FillBlank("The ", " here.", words=words, pieces="left_to_right", top=5)]
    packed = batches(model, requests)
    values = {read: value for batch in packed for read, value in zip(batch.reads, model.forward(batch), strict=True)}
    readings = [[values[read] for read in model.reads(request)] for request in requests]
    with Copies() as copies:
        model.assemble(requests, readings)
    pieces = len(readings[-1])  # of the one longer word: a row for each
    assert pieces > 1
    assert copies.shapes == [(3, 3 * len(words) + 2 * 5), (pieces,)]


def test_a_gpu_sorts_as_a_cpu_does():
    table = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    table[1, 3], table[2, :] = -torch.inf, 0.5
    assert torch.equal(assemble._ascending(table), torch.sort(table, dim=1).values)


def test_ranks_and_ties_by_hand():
    """Numbers -1, -3, -2 and -2.00005: the third and fourth are tied; column -1 is no column."""
    logps = torch.tensor([[-1.0, -3.0, -2.0, -2.00005, -torch.inf]])
    assert TIE_NATS == 1e-4
    values, ranks, tied = (x[0].numpy() for x in assemble._ranked(logps, torch.tensor([[0, 1, 2, 3, 4, -1]])))
    assert np.allclose(values[:4], [-1, -3, -2, -2.00005])
    assert np.isnan(values[4:]).all()
    assert ranks[:4].tolist() == [1, 4, 2, 3]
    assert tied[:4].tolist() == [0, 0, 1, 1]


def test_a_list_without_a_column_ranks_nothing():
    values, *_ = assemble._ranked(torch.zeros(2, 0), torch.full((2, 3), -1))
    assert values.shape == (2, 3)
    assert values.isnan().all()
