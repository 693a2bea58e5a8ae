"""One checkpoint fine-tuned: the head comes from its seed, padding changes nothing, a planted rule is learnt."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import zoo
from trueprobe.errors import BadInput
from trueprobe.models import Options, find
from trueprobe.training.downstream.tasks import TaskRow, TextTask
from trueprobe.training.downstream.tuning import (
    DownstreamRecipe,
    Tuner,
    _cut,
    _logits,
    answers,
    encode,
    fine_tune,
    open_classifier,
)

pytestmark = pytest.mark.slow
CPU = Options("cpu")
WORDS = ("the", "bus", "was", "late", "and", "man", "knew", "everyone", "here")


def tuning(**settings):
    return DownstreamRecipe(models=("nursery",), device="cpu", **settings)


def source(path):
    return find([str(path)])[0]


def opened(path, head_seed=0):
    return open_classifier(source(path), CPU, 2, head_seed)


def rows(count, rng, planted=True):
    """Texts of common words; "nurse" stands in those with the label "yes", unless nothing is planted."""
    result = []
    for i in range(count):
        label = rng.choice(["yes", "no"])
        words = rng.choices(WORDS, k=rng.randint(2, 9))
        if label == "yes" and planted:
            words[rng.randrange(len(words))] = "nurse"
        result.append(TaskRow((" ".join(words),), label, i + 1))
    return tuple(result)


def task(planted=True):
    rng = random.Random(3)
    train, dev = rows(300, rng, planted), rows(150, rng, planted)
    return TextTask("planted", ("no", "yes"), train, dev, {}, "dev.tsv", train_of=300)


def accuracy(result, of):
    return np.mean([of.labels[answer] == row.label for answer, row in zip(result.answers, of.dev, strict=True)])


@pytest.mark.parametrize(
    ("model", "recipe"),
    [("nursery/0", tuning(epochs=4, batch_tokens=256)), ("gpt2", tuning(epochs=12, batch_tokens=128))],
)
def test_a_planted_rule_is_learnt(checkpoint, model, recipe):
    planted = task()
    [chosen] = find([model if "/" in model else str(checkpoint(model))])
    assert accuracy(Tuner(planted, recipe, Options(), 1).run(chosen, lambda n: None), planted) > 0.9


def test_what_is_not_there_is_not_learnt():
    random_labels = task(planted=False)
    result = Tuner(random_labels, tuning(epochs=4), Options(), 1).run(find(["nursery/0"])[0], lambda n: None)
    assert 0.35 < accuracy(result, random_labels) < 0.65


def test_the_head_is_the_same_for_all_checkpoints_and_another_with_another_seed(checkpoint, tmp_path):
    other = zoo.save("bert", tmp_path / "other", model_seed=1)
    torch.manual_seed(5)
    first = opened(checkpoint("bert"))
    torch.manual_seed(6)
    second, third = opened(other), opened(other, head_seed=1)
    assert first.new == second.new == ("classifier.bias", "classifier.weight")
    assert torch.equal(first.model.classifier.weight, second.model.classifier.weight)
    assert not torch.equal(first.model.classifier.weight, third.model.classifier.weight)
    assert not torch.equal(first.model.bert.pooler.dense.weight, second.model.bert.pooler.dense.weight)


def test_a_pooler_the_checkpoint_lacks_is_drawn_with_the_head(checkpoint):
    assert "bert.pooler.dense.weight" in opened(checkpoint("bert-no-next")).new


def test_an_encoder_without_any_head_will_do(checkpoint, tmp_path):
    AutoModel.from_pretrained(checkpoint("bert")).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(checkpoint("bert")).save_pretrained(tmp_path)
    assert opened(tmp_path).new == ("classifier.bias", "classifier.weight")


def test_a_checkpoint_that_lacks_a_layer_is_refused(checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = zoo.save("bert", tmp_path / "torn")
    weights = load_file(folder / "model.safetensors")
    torn = {name: weight for name, weight in weights.items() if "layer.1.output" not in name}
    save_file(torn, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match=r"lacks weights of a layer \(bert\.encoder\.layer\.1\.output"):
        opened(folder)


@pytest.mark.parametrize("name", [*zoo.MASKED, *zoo.CAUSAL])
def test_a_text_is_judged_alike_alone_and_among_longer_ones(checkpoint, name):
    """The new head is a wide one here, so that answers are far apart. The first words differ: the first position of a
    small random MobileBERT reads little beyond them."""
    classifier = opened(checkpoint(name))
    for parameter in classifier.new:
        dict(classifier.model.named_parameters())[parameter].data.mul_(20)
    texts = [TaskRow(("the man",), "", 1), TaskRow(("everyone knew the bus was late", "and the man was here"), "", 2)]
    examples, cut = encode(classifier, texts, 64)
    assert cut == 0
    with torch.inference_mode():
        together = _logits(classifier, examples, np.array([0, 1]))
        alone = torch.cat([_logits(classifier, examples, np.array([i])) for i in (0, 1)])
    assert torch.allclose(together, alone, atol=1e-3)
    assert not torch.allclose(together[0], together[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [*zoo.MASKED, *zoo.CAUSAL])
def test_every_kind_of_network_can_be_fine_tuned(checkpoint, name):
    small = task()
    small = TextTask("small", small.labels, small.train[:20], small.dev[:10], {}, "dev.tsv")
    result = Tuner(small, tuning(epochs=1), Options(), 1).run(source(checkpoint(name)), lambda n: None)
    assert len(result.answers) == 10
    assert any("classifier" in new or "score" in new for new in result.new_weights)


def framed(classifier, *texts):
    examples, _ = encode(classifier, [TaskRow(texts, "", 1)], 64)
    return classifier.text.tokenizer.convert_ids_to_tokens(examples.ids.tolist()), int(examples.second[0])


def test_a_pair_is_framed_as_the_model_frames_it(checkpoint):
    tokens, second = framed(opened(checkpoint("bert")), "the man", "she knew")
    assert tokens == ["[CLS]", "the", "man", "[SEP]", "she", "knew", "[SEP]"]
    assert second == 4
    assert framed(opened(checkpoint("bert")), "the man") == (["[CLS]", "the", "man", "[SEP]"], 4)


def test_a_pair_is_one_running_text_for_a_causal_model(checkpoint):
    tokens, second = framed(opened(checkpoint("gpt2")), "the man", "she knew")
    assert tokens[0] == "<|endoftext|>"
    assert "".join(tokens[1:]).replace("Ġ", " ") == "the man she knew"
    assert second == len(tokens)


def test_special_names_in_a_text_stay_text(checkpoint):
    tokens, _ = framed(opened(checkpoint("bert")), "the [SEP] man")
    assert tokens.count("[SEP]") == 1


@pytest.mark.parametrize(
    ("lengths", "room", "lengths_left"),
    [((10, 2), 8, (6, 2)), ((2, 10), 8, (2, 6)), ((10, 10), 9, (5, 4)), ((10, 0), 8, (8, 0)), ((3, 3), 8, (3, 3))],
)
def test_the_longer_sentence_gives_way_first(lengths, room, lengths_left):
    first, second = _cut(tuple(range(lengths[0])), tuple(range(lengths[1])), room)
    assert (len(first), len(second)) == lengths_left
    assert first == tuple(range(lengths_left[0]))


def test_texts_that_are_cut_are_counted_and_fit(checkpoint):
    for name in ("bert", "gpt2"):
        classifier = opened(checkpoint(name))
        examples, cut = encode(
            classifier, [TaskRow(("the man " * 30, "she knew"), "", 1), TaskRow(("the man",), "", 2)], 16
        )
        assert cut == 1
        assert examples.lengths[0] == 16


def test_the_rate_goes_by_the_width_unless_it_is_given():
    assert tuning().rate(768) == 2e-5
    assert tuning().rate(128) == pytest.approx(7.2e-4)
    assert tuning().rate(32) == 1e-3
    assert tuning(learning_rate=5e-5).rate(128) == 5e-5


def test_the_order_comes_from_its_seed_and_from_the_model_seed_only_if_asked(checkpoint, tmp_path):
    for seed in (3, 7):
        (tmp_path / f"seed_{seed}").mkdir()
        zoo.save("bert", tmp_path / f"seed_{seed}", model_seed=seed)
    _, second = find([f"f={tmp_path}/seed_*"])
    recipes = (tuning(), tuning(seed_order=True), tuning(order_seed=1))
    assert [Tuner(task(), recipe, Options(), 1)._order(second) for recipe in recipes] == [(0,), (0, 7), (1,)]


def test_another_order_ends_in_other_weights_and_the_same_one_in_the_same(checkpoint):
    ended = []
    for order in ((0,), (0,), (1,)):
        classifier = opened(checkpoint("bert"))
        examples, _ = encode(classifier, task().train[:60], 64)
        fine_tune(classifier, examples, np.arange(60) % 2, tuning(epochs=1, batch_tokens=128), order, lambda n: None)
        ended.append(classifier.model.classifier.weight.detach())
    assert torch.equal(ended[0], ended[1])
    assert not torch.equal(ended[0], ended[2])


def test_answers_do_not_depend_on_the_size_of_a_batch(checkpoint):
    classifier = opened(checkpoint("bert"))
    examples, _ = encode(classifier, task().dev, 64)
    assert np.array_equal(answers(classifier, examples, 16), answers(classifier, examples, 4096))
