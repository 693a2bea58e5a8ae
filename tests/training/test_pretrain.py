"""Pre-training: one seed one set of weights, whatever interrupts it; and the messages for a wrong recipe."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import processes
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.training import cards, corpus
from trueprobe.training.examples import ALONE
from trueprobe.training.pretrain import prepare, prepared, pretrain
from trueprobe.training.recipe import PretrainRecipe, SharedBySeeds, count, seeds
from trueprobe.training.trainer import Status

PAIRS = {"dog": "bone", "cat": "fish", "bird": "seed", "cow": "grass", "child": "cake", "king": "crown"}


def toy_text(documents: int = 120) -> str:
    """Each creature always likes the same thing, and a document speaks of one creature."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(documents):
        who = list(PAIRS)[rng.integers(len(PAIRS))]
        for _ in range(8):
            adverb = ["often", "never", "always", "seldom"][rng.integers(4)]
            lines.append(f"The {who} {adverb} likes the {PAIRS[who]} in the garden.")
        lines.append("")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "toy.txt"
    file.write_text(toy_text(), encoding="utf-8")
    return file


def small(text: Path, out: Path, **options) -> PretrainRecipe:
    fixed = {"kind": "masked", "tokens": 6_000, "size": "L1-H32", "vocab": 120, "length": 48, "checkpoints": 2}
    return PretrainRecipe(**{**fixed, "corpus": (text,), "out": out, "batch_tokens": 256, "threads": 1, **options})


def weights(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


# ---------------------------------------------------------------- what is asked for


@pytest.mark.parametrize(("written", "meant"), [("12M", 12_000_000), ("800k", 800_000), ("1.5m", 1_500_000), ("7", 7)])
def test_counts(written, meant):
    assert count(written) == meant


@pytest.mark.parametrize(("written", "meant"), [("0..4", (0, 1, 2, 3, 4)), ("3", (3,)), ("0,2,7", (0, 2, 7))])
def test_seeds(written, meant):
    assert seeds(written) == meant


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "mask"}, "--kind is 'masked' or 'causal', not 'mask'"),
        ({"masking": "none"}, "--masking is 'static' or 'dynamic'"),
        ({"size": "4x128"}, "no size '4x128': L4-H128"),
        ({"size": "L2-H65-A2"}, "attention heads divide"),
        ({"tokens": 0}, "--tokens is at least 1, not 0"),
        ({"vocab": 5}, "--vocab is at least 100, not 5"),
        ({"dropout": float("nan")}, "--dropout: Input should be a finite number, not nan"),
        ({"data_seed": -1}, "--data-seed is at least 0, not -1"),
        ({"model_seeds": ()}, "--model-seeds are different numbers"),
        ({"speed": 1}, "--speed: Extra inputs are not permitted"),
        ({"mask_rate": 1.5}, "--mask-rate is at most 0.9, not 1.5"),
        ({"model_seeds": (1, 1)}, "--model-seeds are different numbers"),
        ({"start_from": Path("a"), "tokenizer": Path("b")}, "leave out --tokenizer"),
        ({"corpus": (Path("no-such.txt"),)}, "no file or folder 'no-such.txt'"),
    ],
)
def test_a_wrong_recipe_is_refused_and_nothing_is_written(options, message, text, tmp_path):
    with pytest.raises(BadInput, match=message):
        pretrain(small(text, tmp_path / "out", **options))
    assert not (tmp_path / "out" / "setup.json").exists()


def test_a_recipe_is_written_under_the_names_that_trainings_begun_earlier_have():
    recipe = PretrainRecipe(kind="causal", corpus=(), tokens=10, out=Path("x"), loss_rate=0.5)
    names = "kind tokens checkpoints batch_tokens learning_rate warmup weight_decay clip dropout masking mask_rate"
    assert set(recipe.part(SharedBySeeds)) == {*names.split(), "told_rate", "data_seed", "precision"}
    assert recipe.part(SharedBySeeds)["told_rate"] == 0.5
    again = PretrainRecipe(corpus=(), out=Path("x"), **recipe.part(SharedBySeeds))
    assert again == recipe


def test_the_command_line_has_the_recipe_s_defaults():
    from typer.main import get_command

    from trueprobe.training.downstream import DownstreamRecipe

    for command, recipe in (("pretrain", PretrainRecipe), ("downstream", DownstreamRecipe)):
        options = {option.name: option for option in get_command(app).commands[command].params}
        assert recipe.model_fields.keys() - options.keys() <= {"warmup", "weight_decay", "clip", "models", "columns"}
        for name, field in recipe.model_fields.items():
            if name in options and not field.is_required() and name != "model_seeds":
                assert options[name].default == field.default, name


def test_what_cannot_be_continued_is_refused_before_anything_starts(checkpoint, text, tmp_path):
    for kind, name, message in [
        ("masked", "gpt2", "is of type 'gpt2'; a masked model continues from 'bert'"),
        ("causal", "bert", "a causal model continues from 'gpt2'"),
    ]:
        with pytest.raises(BadInput, match=message):
            pretrain(small(text, tmp_path / "out", kind=kind, start_from=checkpoint(name)))
    with pytest.raises(BadInput, match=r"--length 2000: .* reads at most 512 tokens"):
        pretrain(small(text, tmp_path / "out", start_from=checkpoint("bert"), length=2000))
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_was_wrong_can_be_mended(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("One document.\n")
    with pytest.raises(BadInput, match="documents"):
        pretrain(small(file, tmp_path / "out"))
    assert not (tmp_path / "out" / "setup.json").exists()


@pytest.mark.parametrize("written", ["many", "", "12G", "-3"])
def test_a_count_that_is_none(written):
    with pytest.raises(BadInput, match="--tokens is a number"):
        count(written)


def test_a_corpus_without_documents_or_with_other_bytes(tmp_path):
    file = tmp_path / "flat.txt"
    file.write_text("One line.\nAnother.\n")
    with pytest.raises(BadInput, match="1 documents, and 4 are needed: one sentence per line, a blank line"):
        corpus.split([file])
    file.write_bytes(b"A line.\n\nCaf\xe9.\n")
    with pytest.raises(BadInput, match="line 3: not UTF-8"):
        corpus.split([file])


def documents_file(path: Path, name: str, count: int) -> Path:
    path.write_text("\n\n".join(f"{name} {i}" for i in range(count)))
    return path


def test_held_out_documents_are_not_trained_on(tmp_path):
    train, held_out = corpus.split([documents_file(tmp_path / "many", "document", 1000)])
    assert len(held_out) == 1000 // corpus.HELD_OUT_EVERY
    assert sorted([*train, *held_out]) == sorted([f"document {i}"] for i in range(1000))
    assert len(corpus.split([documents_file(tmp_path / "four", "document", 4)])[1]) == 2


def test_a_file_named_twice_is_trained_on_twice_and_held_out_once(tmp_path):
    one, two = (documents_file(tmp_path / name, name, 120) for name in ("one", "two"))
    once, held_out = corpus.split([one, two])
    train, same_held_out = corpus.split([two, one, two])
    assert sorted(same_held_out) != []
    assert len(same_held_out) == len(held_out)
    texts = [document[0] for document in train]
    assert {texts.count(text) for text in texts if text.startswith("one")} == {1}
    assert {texts.count(text) for text in texts if text.startswith("two")} == {2}
    assert not {document[0] for document in same_held_out} & set(texts)
    assert len(once) + len(held_out) == 240


def test_sentences_read_alone_are_trained_on_and_held_out_text_stays_the_same(text, tmp_path):
    """A document of one sentence makes no pair, and is read where sentences are read alone."""
    alone = documents_file(tmp_path / "alone.txt", "The crown likes the king", 60)
    pairs, mixed = (small(text, tmp_path / name, corpus=(text, alone)) for name in ("pairs", "mixed"))
    mixed = mixed.model_copy(update={"single": 0.4})
    made = []
    for recipe in (pairs, mixed):
        prepare(recipe)
        made.append(prepared(recipe.out / "data", recipe))
    (_, _, train, held, masks), (_, special, train_mixed, held_mixed, masks_mixed) = made
    assert ALONE not in train.follows
    share = (train_mixed.follows == ALONE).mean()
    assert 0.4 < share < 0.99
    for name in ("ids", "starts", "second", "follows"):
        assert np.array_equal(getattr(held, name), getattr(held_mixed, name))
    assert np.array_equal(masks.at, masks_mixed.at)
    assert (train_mixed.ids == special.start).sum() == len(train_mixed)


@pytest.mark.parametrize("single", [0.0, 0.5, 1.0])
def test_sentences_alone_are_not_enough_of_a_text(single, text, tmp_path):
    file = text if single == 1 else documents_file(tmp_path / "alone.txt", "The crown likes the king", 60)
    with pytest.raises(BadInput, match="no document of two sentences is left"):
        prepare(small(file, tmp_path / "out", single=single))


def test_only_masked_models_read_sentences_alone(text, tmp_path):
    with pytest.raises(BadInput, match="--single is for masked models"):
        small(text, tmp_path / "out", kind="causal", single=0.5)


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_a_tokenizer_trained_twice_is_the_same_and_loses_no_word(kind):
    documents = [toy_text(40).split("\n")]
    first, second = (corpus.train_tokenizer(kind, documents, 300) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
    ids = corpus.encode(first, [["The king often likes the crown."]]).ids
    written = first.decode(ids)
    assert written.lower().replace(" .", ".") == "the king often likes the crown."


def test_a_measurement_fits_a_terminal():
    values = {"loss": 5.1234, "accuracy": 0.1234, "next_accuracy": 0.75}
    line = cards.measurement(Status(4, 12_549, 12_549, 5.0, 13_750.0, values))
    assert line.startswith("seed 4 step 12,549/12,549: held-out loss 5.123, right 12.3%, next 75.0%")
    assert len(line) <= 90


class Bars:
    """A display that remembers what it was asked to show."""

    def __init__(self):
        self.opened, self.reached, self.now = [], {}, None

    def task(self, title, total=None, unit=""):
        self.opened.append((title, unit))
        return nullcontext(Bar(self.reached.setdefault(title, [])))


class Bar:
    def __init__(self, reached):
        self.reached = reached

    def reach(self, amount, total=None, note=""):
        self.reached.append(amount)


# ---------------------------------------------------------------- trainings


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("family") / "first"
    pretrain(small(text, out, model_seeds=(0, 1)))
    return out


@pytest.mark.slow
def test_one_seed_one_set_of_weights_and_two_seeds_two(trained, text, tmp_path):
    bars, measured = Bars(), []
    pretrain(small(text, tmp_path / "again", model_seeds=(0,)), bars, measured.append)
    assert bars.opened == [("making training examples of the corpus", ""), ("seed 0", "steps")]
    assert bars.reached["seed 0"][-1] == measured[-1].step == measured[-1].steps
    assert len(measured) == 2
    assert same(trained / "seed_0", tmp_path / "again" / "seed_0")
    assert not same(trained / "seed_0", trained / "seed_1")


@pytest.mark.slow
def test_half_precision_products_give_other_weights_in_single_precision_and_about_the_same_loss(
    trained, text, tmp_path
):
    (half,) = pretrain(small(text, tmp_path / "half", precision="bfloat16"))
    assert not same(trained / "seed_0", half)
    assert {weight.dtype for weight in weights(half).values()} == {np.dtype("float32")}
    losses = [
        json.loads((one / "training.json").read_text())["history"][-1]["loss"] for one in (trained / "seed_0", half)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=0.05)


@pytest.mark.slow
def test_a_family_begun_before_there_was_a_choice_of_precision_is_the_same_setup(trained, text):
    setup = json.loads((trained / "setup.json").read_text())
    assert setup["recipe"].pop("precision") == "float32"
    (trained / "setup.json").write_text(json.dumps(setup))
    assert len(pretrain(small(text, trained, model_seeds=(0, 1)))) == 2
    with pytest.raises(BadInput, match=r"a different setup \(different precision\)"):
        pretrain(small(text, trained, precision="bfloat16"))


@pytest.mark.slow
def test_what_a_training_leaves(trained):
    card = json.loads((trained / "seed_1" / "training.json").read_text())
    steps = [row["step"] for row in card["history"]]
    assert [trained / "seed_1" / f"step_{step}" for step in steps] == sorted(
        (trained / "seed_1").glob("step_*"), key=lambda path: int(path.name[5:])
    )
    assert len(steps) == 2
    assert card["tokens"] == pytest.approx(6_000, rel=0.1)
    assert {"loss", "accuracy", "next_accuracy", "pairs"} <= card["history"][-1].keys()
    assert card["self_trained"] is True
    assert same(trained / "seed_1", trained / "seed_1" / f"step_{steps[-1]}")
    assert not same(trained / "seed_1", trained / "seed_1" / f"step_{steps[0]}")
    assert not (trained / "data").exists()
    assert not list(trained.rglob("state.safetensors"))
    assert "unigram counts" in (trained / "seed_1" / "README.md").read_text()


@pytest.mark.slow
def test_trained_models_open_as_a_family_with_both_heads_and_their_label(trained):
    from trueprobe.models import Options, find, open_source

    sources = find([f"toy={trained}/seed_*"])
    assert [source.labels for source in sources] == [{"model_seed": 0}, {"model_seed": 1}]
    card = open_source(sources[0], Options()).card
    assert card.heads == {"lm", "next_sentence"}
    assert card.self_trained
    steps = find([f"toy={trained}/seed_*/step_*"])
    assert len(steps) == 4
    assert open_source(steps[0], Options()).card.self_trained


@pytest.mark.slow
def test_the_same_order_again_trains_nothing_and_another_is_refused(trained, text, capsys):
    before = (trained / "seed_0" / "training.json").stat().st_mtime_ns
    pretrain(small(text, trained, model_seeds=(0, 1)))
    assert (trained / "seed_0" / "training.json").stat().st_mtime_ns == before
    assert capsys.readouterr().err == ""
    with pytest.raises(BadInput, match=r"models of a different setup \(different tokens\)"):
        pretrain(small(text, trained, model_seeds=(0,), tokens=7_000))


@pytest.mark.slow
def test_examples_that_a_kill_left_behind_are_removed(trained, text):
    left = trained / "data" / "held_out-ids.npy"
    left.parent.mkdir()
    left.write_bytes(b"half removed")
    pretrain(small(text, trained, model_seeds=(0, 1)))
    assert not left.parent.exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_a_killed_training_goes_on_to_the_same_weights(kind, text, tmp_path):
    options = {"kind": kind, "tokens": 30_000, "save_seconds": 0.1}
    pretrain(small(text, tmp_path / "whole", **options))
    command = [
        *("pretrain", "--kind", kind, "--corpus", str(text), "--tokens", "30000", "--size", "L1-H32", "--vocab", "120"),
        *("--length", "48", "--checkpoints", "2", "--batch-tokens", "256", "--threads", "1"),
        *("--save-seconds", "0.1", "--out", str(tmp_path / "killed")),
    ]
    state = tmp_path / "killed" / "seed_0" / "state.safetensors"
    processes.kill_when(state.exists, command)
    assert state.exists()
    assert not (tmp_path / "killed" / "seed_0" / "training.json").exists()
    assert CliRunner().invoke(app, command).exit_code == 0
    assert same(tmp_path / "whole" / "seed_0", tmp_path / "killed" / "seed_0")
    cards = [json.loads((tmp_path / out / "seed_0" / "training.json").read_text()) for out in ("whole", "killed")]
    assert cards[0]["history"] == cards[1]["history"]
    assert cards[0]["tokens"] == cards[1]["tokens"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("masked", {"tokens": 120_000, "size": "L2-H64", "learning_rate": 3e-3}),
        ("causal", {"tokens": 60_000, "size": "L1-H32", "learning_rate": 1e-2, "batch_tokens": 512}),
    ],
)
def test_a_planted_rule_is_learnt(kind, options, text, tmp_path):
    """Which thing a creature likes is certain from the text, and chance is one in six."""
    from trueprobe.engine import AnswerStore, Engine
    from trueprobe.models import open_model
    from trueprobe.types import FillBlank

    folder = pretrain(small(text, tmp_path / kind, kind=kind, vocab=500, **options))[0]
    card = json.loads((folder / "training.json").read_text())
    assert card["history"][-1]["loss"] < 0.5 * card["corpus"]["unigram_loss"]
    model = open_model(str(folder))
    things = tuple(PAIRS.values())
    right = " in the garden." if kind == "masked" else ""
    requests = [FillBlank(f"The {who} often likes the ", right, words=things) for who in PAIRS]
    for thing, answer in zip(things, Engine(model, AnswerStore(":memory:")).answer(requests), strict=True):
        assert max(things, key=lambda word: answer.words[word].logp) == thing


@pytest.mark.slow
def test_an_encoder_without_a_head_gets_one_and_frozen_words_stay(trained, text, tmp_path):
    from transformers import AutoModel, AutoTokenizer

    from trueprobe.models import open_model

    encoder = tmp_path / "encoder"
    AutoModel.from_pretrained(trained / "seed_0").save_pretrained(encoder)
    AutoTokenizer.from_pretrained(trained / "seed_0").save_pretrained(encoder)
    assert not any(name.startswith("cls.") for name in weights(encoder))
    options = {"start_from": encoder, "freeze_embeddings": True}
    folder = pretrain(small(text, tmp_path / "on", **options))[0]
    before, after = weights(encoder), weights(folder)
    words = "embeddings.word_embeddings.weight"
    assert np.array_equal(before[words], after[f"bert.{words}"])
    layer = "encoder.layer.0.output.dense.weight"
    assert not np.array_equal(before[layer], after[f"bert.{layer}"])
    assert open_model(str(folder)).card.heads == {"lm", "next_sentence"}


@pytest.mark.slow
def test_dynamic_masks_and_dropout_repeat_too(tmp_path):
    """In the third pass over a small text; in the first, both kinds of masks are the same."""
    text = tmp_path / "small.txt"
    text.write_text(toy_text(20), encoding="utf-8")
    options = {"masking": "dynamic", "dropout": 0.1, "tokens": 4_000}
    folders = [pretrain(small(text, tmp_path / name, **options))[0] for name in ("a", "b")]
    assert same(*folders)
    static = pretrain(small(text, tmp_path / "c", **{**options, "masking": "static"}))[0]
    assert not same(folders[0], static)
