"""Sentence encoders: opened by their modules, asked for vectors only, pooled as they say."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers

import zoo
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.models import open_model
from trueprobe.runs.check import check_model
from trueprobe.types import EmbedText, FillBlank, FollowsText, ScoreText, WhyNot

TEXT = "The hairdresser met the nurse."
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False, "word_embedding_dimension": 32}
MODULES = ("Transformer", "Pooling", "Normalize")


def save(folder, pooling=MEAN, modules=MODULES, max_seq_length=40):
    torch.manual_seed(0)
    network = transformers.BertModel(transformers.BertConfig(**zoo.SMALL, vocab_size=900))
    network.save_pretrained(folder)
    zoo.wordpiece().save_pretrained(folder)
    listed = [
        {"idx": i, "name": str(i), "path": "1_Pooling" if kind == "Pooling" else "", "type": f"x.models.{kind}"}
        for i, kind in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_seq_length}))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("encoder") / "encoder")


@pytest.fixture(scope="module")
def encoder(folder):
    return open_model(str(folder))


def ask(model, *requests):
    return Engine(model, AnswerStore(":memory:")).answer(list(requests))


def states(folder, text):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        network = transformers.AutoModel.from_pretrained(folder).eval()
        return network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()


def test_its_own_vector_is_the_mean_of_all_positions_at_length_one(encoder, folder):
    mean = states(folder, TEXT).mean(axis=0)
    (pooled,) = ask(encoder, EmbedText(TEXT, "own"))
    assert pooled.values == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_without_normalising_it_keeps_its_length(tmp_path):
    folder = save(tmp_path / "encoder", modules=MODULES[:2])
    pooled, mean = ask(open_model(str(folder)), EmbedText(TEXT, "own"), EmbedText(TEXT, "mean"))
    assert (pooled.values == mean.values).all()


def test_an_encoder_that_pools_by_its_first_position(tmp_path):
    folder = save(tmp_path / "encoder", {"pooling_mode_cls_token": True}, MODULES[:2])
    pooled, cls = ask(open_model(str(folder)), EmbedText(TEXT, "own"), EmbedText(TEXT, "cls"))
    assert (pooled.values == cls.values).all()


@pytest.mark.parametrize(
    ("pooling", "modules", "named"),
    [
        ({"pooling_mode_max_tokens": True}, MODULES, "pooling_mode_max_tokens"),
        (MEAN | {"pooling_mode_cls_token": True}, MODULES, "pooling_mode_cls_token, pooling_mode_mean_tokens"),
        (MEAN, (*MODULES, "Dense"), "Dense"),
    ],
)
def test_a_pooling_we_cannot_follow_is_named_and_others_work(tmp_path, pooling, modules, named):
    model = open_model(str(save(tmp_path / "encoder", pooling, modules)))
    pooled, mean = ask(model, EmbedText(TEXT, "own"), EmbedText(TEXT, "mean"))
    assert (pooled.code, named in pooled.detail) == ("no_head", True)
    assert mean.values.shape == (32,)


def test_it_gives_vectors_only(encoder):
    assert (encoder.card.kind, encoder.card.heads) == ("encoder", frozenset())
    answers = ask(encoder, FillBlank("The "), ScoreText(TEXT), FollowsText(TEXT, TEXT))
    assert [answer.code for answer in answers] == ["no_head"] * 3


def test_words_and_layers_can_be_asked_of_it_too(encoder):
    word, layer, wrong = ask(
        encoder,
        EmbedText(TEXT, "word", span=(4, 15)),
        EmbedText(TEXT, "mean", 1),
        EmbedText(TEXT, "mean", 9),
    )
    assert len(word.positions) > 1
    assert not np.allclose(layer.values, word.values)
    assert wrong.code == "no_layer"


def test_it_reads_no_further_than_it_was_made_for(encoder):
    assert encoder.card.max_tokens == 40
    (long,) = ask(encoder, EmbedText("nurse " * 50, "own"))
    assert isinstance(long, WhyNot)
    assert long.code == "too_long"


def test_it_holds_the_contract(encoder):
    assert [check.name for check in check_model(encoder) if not check.passed] == []


@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json"])
def test_a_damaged_description_is_reported(tmp_path, name):
    folder = save(tmp_path / "encoder")
    (folder / name).write_text("{")
    with pytest.raises(BadInput, match=f"no usable {name}"):
        open_model(str(folder))


def test_modules_of_another_shape_are_reported(tmp_path):
    folder = save(tmp_path / "encoder")
    (folder / "modules.json").write_text('{"a": 1}')
    with pytest.raises(BadInput, match="must be a list of modules"):
        open_model(str(folder))


def test_what_is_computed_does_not_depend_on_the_pooling(encoder, tmp_path):
    other = open_model(str(save(tmp_path / "other", {"pooling_mode_cls_token": True})))
    assert other.card.compute_id == encoder.card.compute_id
