"""A network that computes NaN, infinity or the same for everything: what is refused, and never cached."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import trueprobe
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.models import Options, open_model
from trueprobe.runs.check import check_model
from trueprobe.training import nursery
from trueprobe.types import EmbedText, FillBlank, ScoreText, WhyNot

ASKED = (FillBlank("The ", words=("man", "woman"), top=3), ScoreText("The man is here."), EmbedText("A man.", "mean"))


@pytest.fixture
def changed(checkpoint, tmp_path):
    """changed("bert", change) is a small network whose weights went through `change(name, weights)`."""

    def make(network: str, change):
        folder = shutil.copytree(checkpoint(network), tmp_path / network)
        weights = {name: change(name, w.clone()) for name, w in load_file(folder / "model.safetensors").items()}
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        return str(folder)

    return make


def one_number(value: float, where: str):
    """Puts `value` into the first weight whose name ends like this."""
    left = [where]

    def change(name, weights):
        if left and name.endswith(left[0]):
            left.clear()
            weights.view(-1)[0] = value
        return weights

    return change


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama"])
def test_a_checkpoint_of_nan_is_refused(name, changed):
    with pytest.raises(BadInput, match=r"weights are NaN or infinite: .* and \d+ more"):
        open_model(changed(name, lambda _, weights: weights.fill_(math.nan)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("name", "where"), [("bert", "query.weight"), ("gpt2", "c_attn.weight"), ("bert", "bias")])
def test_one_such_weight_is_enough_and_is_named(name, where, value, changed):
    with pytest.raises(BadInput, match=rf"weights are NaN or infinite: [\w.]*{where}; no answer"):
        open_model(changed(name, one_number(value, where)))


def test_a_weight_that_overflows_in_half_precision_is_refused_there_only(changed):
    folder = changed("bert", one_number(70_000.0, "query.weight"))
    with pytest.raises(BadInput, match=r"in float16 \(try --dtype float32\)"):
        open_model(folder, Options(dtype="float16"))
    assert open_model(folder).card.dtype == "float32"


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2"])
def test_an_answer_that_overflows_is_none_and_is_not_cached(name, changed, tmp_path):
    model = open_model(changed(name, lambda _, weights: weights * 1e30))
    store = AnswerStore(tmp_path / "answers.sqlite")
    engine = Engine(model, store)
    assert [answer.code for answer in engine.answer(ASKED)] == ["not_finite"] * 3
    assert store._db.execute("SELECT count(*) FROM answers").fetchone() == (0,)
    assert [answer.code for answer in engine.answer(ASKED)] == ["not_finite"] * 3
    assert engine.counts.happened["rows_cached_before"] == 0
    failed = [check.name for check in check_model(model) if not check.passed]
    assert "answers are finite" in failed


def test_probabilities_that_cannot_sum_to_one_are_no_answer(changed):
    """Logits of 1e11: in float32 every log-probability is 0, and 900 words have the probability 1 each."""
    model = open_model(changed("bert", lambda _, weights: weights.fill_(60_000.0)))
    blank, scored, vector = Engine(model, AnswerStore(":memory:")).answer(ASKED)
    assert (blank.code, scored.code) == ("not_finite", "not_finite")
    assert not isinstance(vector, WhyNot)


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["counteracts", "distractors"])
@pytest.mark.parametrize("times", [1e3, 1e4])
def test_logits_that_are_large_but_finite_do_not_end_a_run(probe, times, tmp_path):
    """Ratios of probabilities leave float64 there; their logarithms do not."""
    folder = shutil.copytree(nursery.shipped("nursery/0")[0].folder, tmp_path / "large")
    weights = load_file(folder / "model.safetensors")
    for name in weights:
        if "predictions.transform.LayerNorm" in name:
            weights[name] = weights[name].float() * times
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    run = trueprobe.run(probe, models=[str(folder)], out=tmp_path / "run", store=tmp_path / "s", limit=150)
    assert np.isfinite(run.estimates["value"].dropna()).all()


def test_a_piece_that_is_masked_out_has_no_number_and_the_others_keep_theirs(checkpoint):
    model = open_model(str(checkpoint("bert")))
    (whole,) = Engine(model, AnswerStore(":memory:")).answer([FillBlank("The ", words=("man", "woman"))])
    model.network.readout.bias[whole.words["man"].pieces[0].id] = -math.inf
    size = model.card.vocab_size
    (filled,) = Engine(model, AnswerStore(":memory:")).answer([FillBlank("The ", words=("man", "woman"), top=size)])
    assert filled.words["man"].code == "not_finite"
    share = 1 - math.exp(whole.words["man"].logp)
    assert math.exp(filled.words["woman"].logp) == pytest.approx(math.exp(whole.words["woman"].logp) / share, rel=1e-4)
    assert filled.mass(("man", "woman")) == pytest.approx(math.exp(filled.words["woman"].logp))
    assert math.isnan(filled.logps(("man",))[0])
    assert len(filled.top) == size - 1
