"""What is known of a checkpoint before its network is built, and what is refused there."""

from __future__ import annotations

import pytest
import torch

import zoo
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.models import Options, examine, find, open_source
from trueprobe.runs.check import sample_requests, worst

FAST = ("bert", "bert-no-next", "roberta", "gpt2")
ALL = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in (*zoo.MASKED, *zoo.CAUSAL)]


@pytest.mark.parametrize("name", ALL)
def test_the_card_is_that_of_the_opened_model(name, checkpoint, opened):
    outline = examine(find([str(checkpoint(name))])[0], Options()).outline
    assert outline.card == opened(name).card
    assert outline.whole_words() == opened(name).text.whole_words
    assert outline.weight_bytes == sum(4 * p.numel() for p in opened(name).network.model.parameters())


def test_a_gguf_file_is_known_before_it_is_read(tmp_path):
    zoo.save_llama(tmp_path / "folder", tmp_path / "tiny.gguf")
    (source,) = find([str(tmp_path / "tiny.gguf")])
    outline = examine(source, Options()).outline
    opened = open_source(source, Options())
    assert outline.card == opened.card
    assert outline.weight_bytes == sum(4 * p.numel() for p in opened.network.model.parameters())


def test_no_weight_is_held_in_memory(checkpoint, monkeypatch):
    built = []
    monkeypatch.setattr("trueprobe.models.network.Network.watching", lambda model: built.append(model))
    examine(find([str(checkpoint("bert"))])[0], Options())
    assert built == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_needs_half_the_memory(dtype, checkpoint):
    (source,) = find([str(checkpoint("bert"))])
    whole, half = (examine(source, Options(dtype=name)).outline for name in ("float32", dtype))
    assert 2 * half.weight_bytes == whole.weight_bytes
    assert half.card.compute_id == open_source(source, Options(dtype=dtype)).card.compute_id != whole.card.compute_id


def test_a_device_that_is_not_here_is_refused(checkpoint):
    with pytest.raises(BadInput, match="no device 'cuda:x'"):
        examine(find([str(checkpoint("bert"))])[0], Options(device="cuda:x"))


def test_weights_that_the_network_never_uses_may_be_infinite_in_half_precision(checkpoint, tmp_path):
    """Old GPT-2 files hold the mask's minus infinity as a tensor."""
    import shutil

    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "gpt2")
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"transformer.h.0.attn.masked_bias": torch.tensor(-1e9)}, folder / "model.safetensors")
    assert examine(find([str(folder)])[0], Options(dtype="float16"))


@pytest.mark.parametrize("name", ALL)
def test_requests_and_answers_need_no_network(name, checkpoint, opened, monkeypatch):
    """With known traits and cached readings only the output embedding is read, to the same bits."""
    store, requests = AnswerStore(":memory:"), sample_requests(opened(name).card.kind)
    answers = Engine(opened(name), store).answer(requests)
    monkeypatch.setattr("trueprobe.models.weights.load", None)
    model = examine(find([str(checkpoint(name))])[0], Options()).open()
    engine = Engine(model, store)
    assert worst(engine.answer(requests), answers) == 0
    assert engine.counts.computed == 0
    assert not model.opened
