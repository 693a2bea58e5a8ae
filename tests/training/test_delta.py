"""A model as its difference from an encoder: what did not change stays, what changed comes back, damage is noticed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModel, AutoTokenizer, BertForPreTraining

from trueprobe import assets, paths
from trueprobe.errors import BadInput
from trueprobe.models import open_model
from trueprobe.training.nursery import delta


@pytest.fixture
def encoder(checkpoint, tmp_path):
    folder = tmp_path / "encoder"
    AutoModel.from_pretrained(checkpoint("bert")).save_pretrained(folder)
    AutoTokenizer.from_pretrained(checkpoint("bert")).save_pretrained(folder)
    return folder


@pytest.fixture
def trained(encoder, tmp_path):
    """The encoder with heads, every weight but the word vectors moved."""
    torch.manual_seed(1)
    network = BertForPreTraining.from_pretrained(encoder)
    network.tie_weights()
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "word_embeddings" not in name:
                weight += 0.05 * torch.randn_like(weight)
    folder = tmp_path / "trained"
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps({"self_trained": True}))
    return folder


@pytest.fixture
def shipped(encoder, trained, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(assets, "path_of", lambda name: {"an-encoder": encoder}[name])
    delta.make(encoder, trained, tmp_path / "small", "an-encoder")
    return tmp_path / "small"


def test_the_sum_is_the_trained_model_within_half_a_step(shipped, trained, encoder):
    summed, meant, before = (load_file(p / "model.safetensors") for p in (delta.ready(shipped), trained, encoder))
    assert summed.keys() == meant.keys()
    for name, weight in meant.items():
        known = before.get(name.removeprefix("bert."))
        if known is None:
            assert np.allclose(summed[name], weight, atol=1e-4, rtol=1e-3)
        else:
            steps = (
                np.abs(weight - known).reshape(len(weight), -1).max(1) if weight.ndim > 1 else np.abs(weight - known)
            )
            assert np.abs(summed[name] - weight).max() <= steps.max() / 127 / 2 * 1.001 + 1e-7
    words = "embeddings.word_embeddings.weight"
    assert np.array_equal(summed[f"bert.{words}"], before[words])


def test_it_is_a_quarter_of_the_size_and_opens_with_both_heads(shipped, trained):
    stored = load_file(shipped / delta.DELTA)
    assert not any("word_embeddings" in name for name in stored)
    assert {value.dtype for name, value in stored.items() if name.startswith("step.")} == {np.dtype(np.int8)}
    assert (shipped / delta.DELTA).stat().st_size < (trained / "model.safetensors").stat().st_size / 2
    assert open_model(str(delta.ready(shipped))).card.heads == {"lm", "next_sentence"}


def test_made_once_and_made_again_where_it_was_damaged(shipped):
    place = delta.ready(shipped)
    file = place / "model.safetensors"
    first = file.read_bytes()
    stamp = file.stat().st_mtime_ns
    assert delta.ready(shipped) == place
    assert file.stat().st_mtime_ns == stamp
    damaged = bytearray(first)
    damaged[-1] ^= 1
    file.write_bytes(bytes(damaged))
    assert (delta.ready(shipped) / "model.safetensors").read_bytes() == first


def test_another_encoder_does_not_add_up_and_nothing_is_left(shipped, encoder):
    weights = load_file(encoder / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"][0, 0] += 1
    save_file(weights, encoder / "model.safetensors")
    with pytest.raises(BadInput, match="do not add up"):
        delta.ready(shipped)
    assert not list((paths.cache() / "models").glob("*/model.safetensors"))


def test_without_the_encoder_the_command_to_fetch_it_is_told(shipped, monkeypatch):
    def path_of(name):
        raise assets.NotHere(name)

    monkeypatch.setattr(assets, "path_of", path_of)
    with pytest.raises(BadInput, match="asset 'an-encoder' is not on this machine: trueprobe fetch an-encoder"):
        delta.ready(shipped)


def test_a_folder_without_a_difference_says_so(tmp_path):
    with pytest.raises(BadInput, match="has no weights in this installation"):
        delta.ready(tmp_path / "mini")
