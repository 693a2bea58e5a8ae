"""SPECs of families: brace ranges, published families by their names, vectors of any encoder, adapters."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import transformers
from safetensors.torch import load_file, save_file

import trueprobe
import zoo
from trueprobe.assets.catalogue import FAMILIES, hub_family
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.models import find, open_model
from trueprobe.models.contract import backends
from trueprobe.models.specs import expanded, listed
from trueprobe.types import EmbedText, FillBlank


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("seed_{0..2}", ["seed_0", "seed_1", "seed_2"]),
        ("org/a@step{1000,2000}", ["org/a@step1000", "org/a@step2000"]),
        ("s{0..1}/c-{500..1500..500}", ["s0/c-500", "s0/c-1000", "s0/c-1500", "s1/c-500", "s1/c-1000", "s1/c-1500"]),
        ("s{08..10}", ["s08", "s09", "s10"]),
        ("s{2..0}", ["s2", "s1", "s0"]),
        ("a{3}b{}", ["a{3}b{}"]),  # no range and no list: braces of a name
        ("plain", ["plain"]),
        ("a{1,2}?start=eot&tokenizer=x", ["a1?start=eot&tokenizer=x", "a2?start=eot&tokenizer=x"]),
    ],
)
def test_braces_are_written_out_as_a_shell_does(pattern, names):
    assert expanded(pattern) == names


def test_commas_within_braces_separate_no_members():
    assert listed("a{1,2}, b,c{0..1}") == ["a1", "a2", "b", "c0", "c1"]


@pytest.mark.parametrize("pattern", ["s{0..99999}", "s{0..999}{0..999}", "s{0..9..0}"])
def test_too_many_members_are_refused(pattern):
    with pytest.raises(BadInput, match=r"10,000"):
        expanded(pattern)


@pytest.fixture
def put(checkpoint):
    """put(folder, n) is a copy of a small network whose weights differ by n."""

    def put(folder, n: int, name: str = "bert"):
        shutil.copytree(checkpoint(name), folder)
        weights = load_file(folder / "model.safetensors")
        weights[sorted(weights)[0]] += n
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        return folder

    return put


def test_a_brace_range_of_folders_is_a_family(put, tmp_path):
    for seed in range(3):
        for step in (10, 200):
            put(tmp_path / f"seed_{seed}" / f"step_{step}", seed * 1000 + step)
    names = [f"mine-seed{seed}-step{step}" for seed in (0, 1) for step in (10, 200)]
    both = find([f"mine={tmp_path}/seed_{{0..1}}/step_{{200,10}}"])
    assert [(s.name, s.family) for s in both] == [(name, "mine") for name in names]
    assert [s.name for s in find([f"mine={tmp_path}/seed_{{0..1}}/step_*?start=auto"])] == names
    with pytest.raises(BadInput, match=r"names several checkpoints; they need a name: --model 'name="):
        find([f"{tmp_path}/seed_{{0..1}}/step_10"])


@pytest.fixture
def hub(put, tmp_path, monkeypatch):
    """hub("org/name", "step9") puts another small network there, as the hub's cache has it; there is no connection."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    made = iter(range(1, 1000))

    def hub(repo: str, revision: str = "main", name: str = "bert") -> None:
        n = next(made)
        folder = tmp_path / "hub" / f"models--{repo.replace('/', '--')}"
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / revision).write_text(f"{n:040x}")
        put(folder / "snapshots" / f"{n:040x}", n, name)

    return hub


def test_a_brace_range_of_hub_ids_and_of_revisions_is_a_family(hub):
    for seed in (0, 1, 2):
        hub(f"org/multi-seed_{seed}")
    for step in (1000, 2000):
        hub("org/pyth", f"step{step}")
    assert [s.labels for s in find(["m=org/multi-seed_{0..2}"])] == [{"model_seed": n} for n in range(3)]
    steps = find(["p=org/pyth@step{1000,2000}"])
    assert [(s.name, s.labels) for s in steps] == [("p-step1000", {"step": 1000}), ("p-step2000", {"step": 2000})]


def test_published_families_are_named_by_one_word(hub):
    for seed in range(25):
        hub(f"google/multiberts-seed_{seed}")
    family = find(["multiberts"])
    assert [(s.name, s.family) for s in family[:2]] == [
        ("multiberts-seed0", "multiberts"),
        ("multiberts-seed1", "multiberts"),
    ]
    assert len(family) == 25


def test_a_published_family_has_its_revisions_and_options(hub):
    for seed in range(1, 10):
        for step in (1, 512):
            hub(f"EleutherAI/pythia-14m-seed{seed}", f"step{step}", "gpt2")
    both = find(["polypythia-14m@step{1,512}?start=eot"])
    assert [s.name for s in both[:3]] == [f"polypythia-14m-seed{n}" for n in ("1-step1", "1-step512", "2-step1")]
    assert {s.start for s in both} == {"eot"}
    with pytest.raises(BadInput, match="no model 'EleutherAI/pythia-31m-seed1'"):
        find(["polypythia-31m"])


def test_the_names_of_published_families_have_facts():
    assert hub_family("multiberts")[0].seeds == len(expanded(FAMILIES[0].spec)) == 25
    assert {len(expanded(family.spec)) for family in FAMILIES[1:]} == {9}
    assert hub_family("polypythia-70m@step1")[1] == "EleutherAI/pythia-70m-seed{1..9}@step1"
    assert hub_family("mine=multiberts") is None
    assert hub_family("multiberts2") is None


# ---------------------------------------------------------------- encoders


@pytest.fixture
def judge(tmp_path):
    """A fine-tuned classifier."""
    config = transformers.BertConfig(**zoo.SMALL, vocab_size=900, num_labels=3)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "judge")
    zoo.wordpiece().save_pretrained(tmp_path / "judge")
    return tmp_path / "judge"


def test_a_classifier_is_refused_with_the_way_to_its_vectors(judge):
    with pytest.raises(BadInput, match=r"for its vectors alone \(seat\): --model 'SPEC\?as=encoder'"):
        open_model(str(judge))


def test_the_vectors_of_a_classifier_are_those_of_its_network(judge):
    model = open_model(f"{judge}?as=encoder")
    requests = [EmbedText("The nurse was late.", pool) for pool in ("own", "cls", "mean")]
    engine = Engine(model, AnswerStore(":memory:"))
    own, cls, mean = (answer.values for answer in engine.answer(requests))
    network = transformers.AutoModel.from_pretrained(judge).eval()
    encoded = zoo.wordpiece()("The nurse was late.", return_tensors="pt", return_token_type_ids=True)
    plain = network(**encoded).last_hidden_state[0].detach().numpy()
    assert np.array_equal(own, cls)
    assert own == pytest.approx(plain[0], abs=1e-5)
    assert mean.shape == own.shape
    (why,) = engine.answer([FillBlank("The ", words=("nurse",))])
    assert why.code == "no_head"
    assert model.card.kind == "encoder"


@pytest.mark.slow
def test_seat_is_asked_of_a_classifier(judge, tmp_path):
    done = trueprobe.run("seat", f"{judge}?as=encoder", tmp_path / "run", settings={"tests": "weat6"}, store=":memory:")
    assert (done.observations("seat")["why_not"] == "").any()
    assert "effect_size" in set(done.estimates["measure"])


def test_an_encoder_reads_in_both_directions(checkpoint):
    with pytest.raises(BadInput, match="as=encoder is for networks that read in both directions"):
        open_model(f"{checkpoint('gpt2')}?as=encoder")
    with pytest.raises(BadInput, match="no as=masked; as=encoder"):
        find([f"{checkpoint('bert')}?as=masked"])


def test_a_location_keeps_the_option(checkpoint):
    (source,) = find([f"{checkpoint('bert')}?as=encoder"])
    assert find([source.location])[0].as_encoder


# ---------------------------------------------------------------- adapters


@pytest.mark.parametrize("with_config", [False, True])
def test_an_adapter_is_refused_with_how_to_merge_it(checkpoint, tmp_path, with_config):
    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "lora")
    (folder / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": "org/base", "peft_type": "LORA"})
    )
    if not with_config:
        (folder / "config.json").unlink()
    with pytest.raises(BadInput, match=r"PEFT adapter of org/base .*merge_and_unload\(\)\.save_pretrained\('merged'\)"):
        open_model(str(folder))


def test_backends_are_tried_from_the_narrowest_to_the_widest():
    """An encoder would pass for a masked model, and many masked architectures have a causal head class, too."""
    assert [type(backend).__name__ for backend in backends()] == ["EncoderBackend", "MaskedBackend", "CausalBackend"]


def test_a_shipped_name_that_is_almost_right_is_suggested(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(BadInput, match=r"no model 'nurserry': .*; did you mean 'nursery'\?"):
        find(["nurserry"])
