"""A model in one byte per weight: it comes back within half a step, damage is noticed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from transformers import AutoTokenizer, BertForPreTraining

from trueprobe import paths
from trueprobe.errors import BadInput
from trueprobe.models import open_model
from trueprobe.training.nursery import quantised


@pytest.fixture
def trained(checkpoint, tmp_path):
    folder = tmp_path / "trained"
    BertForPreTraining.from_pretrained(checkpoint("bert")).save_pretrained(folder)
    AutoTokenizer.from_pretrained(checkpoint("bert")).save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps({"self_trained": True}))
    return folder


@pytest.fixture
def shipped(trained, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    quantised.make(trained, tmp_path / "small")
    return tmp_path / "small"


def test_weights_come_back_within_half_a_step_of_their_row(shipped, trained):
    whole, meant = (load_file(p / "model.safetensors") for p in (quantised.ready(shipped), trained))
    assert whole.keys() == meant.keys()
    for name, weight in meant.items():
        if weight.ndim < 2:
            assert np.array_equal(whole[name], weight)
        else:
            steps = np.abs(weight).max(1, keepdims=True) / 127
            assert (np.abs(whole[name] - weight) <= steps / 2 * 1.001 + 1e-12).all()


def test_a_row_of_zeros_stays_one(trained, tmp_path):
    weights = load_file(trained / "model.safetensors")
    name = "bert.embeddings.word_embeddings.weight"
    weights[name][3] = 0
    save_file(weights, trained / "model.safetensors", {"format": "pt"})
    quantised.make(trained, tmp_path / "small")
    quantised.write_whole_model(tmp_path / "whole", tmp_path / "small")
    assert not load_file(tmp_path / "whole" / "model.safetensors")[name][3].any()


def test_it_is_smaller_and_opens_with_both_heads(shipped, trained):
    stored = load_file(shipped / quantised.FILE)
    assert {value.dtype for name, value in stored.items() if name.startswith("bytes.")} == {np.dtype(np.int8)}
    assert (shipped / quantised.FILE).stat().st_size < (trained / "model.safetensors").stat().st_size / 2
    assert open_model(str(quantised.ready(shipped))).card.heads == {"lm", "next_sentence"}


def test_made_once_and_made_again_where_it_was_damaged(shipped):
    place = quantised.ready(shipped)
    file = place / "model.safetensors"
    first = file.read_bytes()
    stamp = file.stat().st_mtime_ns
    assert quantised.ready(shipped) == place
    assert file.stat().st_mtime_ns == stamp
    damaged = bytearray(first)
    damaged[-1] ^= 1
    file.write_bytes(bytes(damaged))
    assert (quantised.ready(shipped) / "model.safetensors").read_bytes() == first


def test_other_weights_are_refused_and_nothing_is_left(shipped):
    stored = load_file(shipped / quantised.FILE)
    stored["bytes.bert.encoder.layer.0.output.dense.weight"][0, 0] += 1
    save_file(stored, shipped / quantised.FILE, {"sha256": quantised._metadata(shipped / quantised.FILE)["sha256"]})
    with pytest.raises(BadInput, match="not those that were shipped"):
        quantised.ready(shipped)
    assert not list((paths.cache() / "models").glob("*/model.safetensors"))


def test_a_folder_without_weights_says_so(tmp_path):
    with pytest.raises(BadInput, match="has no weights in this installation"):
        quantised.ready(tmp_path / "mini")
