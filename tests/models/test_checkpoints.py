"""Checkpoints as they lie on disk: what is opened, what is refused and with which message."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.utils import logging

import zoo
from trueprobe.assets.unpack import not_beyond
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.models import Options, Source, examine, find, open_model
from trueprobe.models.checkpoint import _config, read_tokenizer
from trueprobe.models.text import Text
from trueprobe.types import FillBlank, FollowsText, ScoreText

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def copied(checkpoint, tmp_path):
    """copied("bert") is a copy that a test may change."""

    def make(name: str, to: str = "copy"):
        return shutil.copytree(checkpoint(name), tmp_path / to)

    return make


def changed_config(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))
    return str(folder)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_layer_that_the_file_lacks_is_named_as_that(name, copied):
    more = {"bert": {"num_hidden_layers": 3}, "gpt2": {"n_layer": 3}}[name]
    with pytest.raises(BadInput, match=r"the file lacks weights of a layer \(.*\.2\..* and \d+ more\); config\.json"):
        open_model(changed_config(copied(name), **more))


def test_weights_of_another_shape_are_named_with_both(copied):
    shapes = r"layer\.0\.intermediate\.dense\.bias is \[64\] in the file and \[48\] in the config and 5 more"
    with pytest.raises(BadInput, match=shapes):
        open_model(changed_config(copied("bert"), intermediate_size=48))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", b"[" * 20_000),
        ("config.json", b'{"model_type": "bert", "hidden_size": "32"}'),
        ("config.json", b'{"model_type": ["bert"]}'),
        ("tokenizer.json", b'{"model": {"type": "WordPiece", "vocab": {"a": []}}}'),
        ("tokenizer_config.json", b'{"tokenizer_class": 3}'),
        ("tokenizer_config.json", b"9" * 5000),
        ("model.safetensors", b"\xff" * 64),
        ("model.safetensors", b""),
    ],
)
def test_an_odd_file_of_a_model_is_one_line(file, content, copied):
    folder = copied("bert")
    (folder / file).write_bytes(content)
    with pytest.raises(BadInput) as refused:
        open_model(str(folder))
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def answers(model) -> list[float]:
    filled = Engine(model, AnswerStore(":memory:"), batch_tokens=16).answer([FillBlank("The ", words=("nurse", "man"))])
    return [word.logp for word in filled[0].words.values()]


def change_one_weight(folder) -> None:
    weights = load_file(folder / "model.safetensors")
    name = sorted(weights)[0]
    weights[name] = weights[name].clone()
    weights[name].view(-1)[0] += 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def save_with_tokenizer(network, folder):
    network.save_pretrained(folder)
    zoo.wordpiece().save_pretrained(folder)
    return folder


# ---------------------------------------------------------------- dtype and compute_id


def test_a_float16_file_is_computed_in_float32(copied):
    folder = copied("bert")
    weights = {name: w.half() for name, w in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    written = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**written, "dtype": "float16"}))
    model = open_model(str(folder))
    assert model.card.dtype == "float32"
    assert {p.dtype for p in model.network.model.parameters()} == {torch.float32}
    assert open_model(str(folder)).card.compute_id == model.card.compute_id


def test_another_dtype_is_another_computation(checkpoint, opened):
    half = open_model(str(checkpoint("bert")), Options(dtype="bfloat16"))
    assert half.card.dtype == "bfloat16"
    assert {p.dtype for p in half.network.model.parameters()} == {torch.bfloat16}
    assert half.card.compute_id != opened("bert").card.compute_id
    assert answers(half) == pytest.approx(answers(opened("bert")), abs=0.3)


def test_a_checkpoint_is_known_by_its_weights_not_its_place(copied, opened, tmp_path):
    moved = open_model(str(copied("bert", "elsewhere/renamed")))
    assert moved.card.compute_id == opened("bert").card.compute_id
    assert moved.card.tokenizer_id == opened("bert").card.tokenizer_id
    assert moved.card.name == "renamed"


def test_one_changed_weight_is_another_computation(copied, opened):
    folder = copied("bert")
    change_one_weight(folder)
    assert open_model(str(folder)).card.compute_id != opened("bert").card.compute_id


# ---------------------------------------------------------------- the files that are loaded


def shard(folder, index_names, file) -> None:
    """The weights as one shard, which the index names as `index_names`."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").rename(folder / file)
    index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(folder / file), index_names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_weights_that_an_index_names_in_a_subfolder_are_the_computation(copied, opened):
    folder = copied("bert")
    shard(folder, "parts/all.safetensors", "parts/all.safetensors")
    before = open_model(str(folder))
    assert before.card.compute_id == opened("bert").card.compute_id
    weights = load_file(folder / "parts/all.safetensors")
    save_file({name: w * 1.5 for name, w in weights.items()}, folder / "parts/all.safetensors", {"format": "pt"})
    after = open_model(str(folder))
    assert after.card.compute_id != before.card.compute_id
    assert answers(after) != answers(before)


def test_weights_beside_the_ones_that_are_loaded_are_no_part_of_it(copied, opened):
    folder = copied("bert")
    save_file({"other": torch.ones(3)}, folder / "adapter.safetensors")
    assert open_model(str(folder)).card.compute_id == opened("bert").card.compute_id


@pytest.mark.parametrize("absolute", [False, True])
def test_an_index_that_leads_out_of_the_folder_is_refused(absolute, copied, tmp_path):
    folder = copied("bert")
    shard(folder, str(tmp_path / "all.safetensors") if absolute else "../all.safetensors", "../all.safetensors")
    with pytest.raises(BadInput, match=r"index\.json names weights outside the folder"):
        open_model(str(folder))


def test_a_shard_that_is_not_there_is_named(copied):
    folder = copied("bert")
    shard(folder, "two.safetensors", "one.safetensors")
    with pytest.raises(BadInput, match=r"index\.json names 'two\.safetensors', which is not there"):
        open_model(str(folder))


@pytest.mark.parametrize("beside", [True, False])
def test_a_part_of_a_distributed_checkpoint_is_named(beside, copied):
    """transformers takes it for the model, also where there is one."""
    folder = copied("bert")
    part = folder / "shard-00001-model-00001-of-00001.safetensors"
    (shutil.copy if beside else shutil.move)(folder / "model.safetensors", part)
    with pytest.raises(BadInput, match=f"{part.name} is a part of a distributed checkpoint, which is not read"):
        open_model(str(folder))


def test_an_index_of_safetensors_is_no_way_to_a_pickle(copied):
    folder = copied("bert")
    shard(folder, "all.bin", "all.safetensors")
    torch.save(load_file(folder / "all.safetensors"), folder / "all.bin")
    with pytest.raises(BadInput, match="--allow-pickle"):
        open_model(str(folder))


def change_config(folder, **changes) -> None:
    written = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(written | changes))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("bert", {"num_hidden_layers": 1}),
        ("roberta", {"num_hidden_layers": 1}),
        ("distilbert", {"n_layers": 1}),
        ("gpt2", {"n_layer": 1}),
        ("opt", {"num_hidden_layers": 1}),
        ("llama", {"num_hidden_layers": 1}),
        ("pythia", {"attention_bias": False}),
    ],
)
def test_layer_weights_that_the_config_leaves_out_are_refused(name, changes, copied):
    folder = copied(name)
    change_config(folder, **changes)
    with pytest.raises(BadInput, match="layer weights that the config leaves out"):
        examine(find([str(folder)])[0], Options())


def test_a_config_cannot_ask_for_an_endless_network(copied):
    """Under whatever name an architecture counts its layers."""
    folder = copied("albert")
    change_config(folder, inner_group_num=2**70)
    with pytest.raises(BadInput, match="more than 10,000 matrices"):
        examine(find([str(folder)])[0], Options())


def test_a_network_is_held_to_its_own_files_and_counted_once(tmp_path):
    """Not one that another thread makes meanwhile, and not again as its weights are put in their places."""
    file = tmp_path / "weights"
    file.write_bytes(bytes(8))
    with not_beyond([file]), ThreadPoolExecutor() as other:
        other.submit(torch.nn.Linear, 100, 100).result()
        small = torch.nn.Linear(8, 8)
        for _ in range(10_001):
            small.weight = torch.nn.Parameter(torch.zeros(8, 8))
        with pytest.raises(ValueError, match="1 × 65 weights in one matrix"):
            torch.nn.Linear(65, 1)


def test_layers_that_share_their_weights_are_bounded_too(copied):
    folder = copied("albert")
    change_config(folder, num_hidden_layers=2**31)
    with pytest.raises(BadInput, match="2,147,483,648 layers, the most are 2,000"):
        examine(find([str(folder)])[0], Options())


def test_a_config_cannot_ask_for_more_weights_in_one_matrix_than_the_file_has(copied):
    """transformers computes rotary angles for the size of a head before it looks at any weight."""
    folder = copied("llama")
    change_config(folder, head_dim=2**31)
    with pytest.raises(BadInput, match=r"4,294,967,296 × 32 weights in one matrix; its files are too small"):
        examine(find([str(folder)])[0], Options())


def test_a_file_without_the_networks_prefix_is_held_to_it_too(copied):
    """As the published GPT-2 files are, with constants in every layer."""
    folder = copied("gpt2")
    weights = {name.removeprefix("transformer."): w for name, w in load_file(folder / "model.safetensors").items()}
    constants = {f"h.{n}.attn.{name}": torch.ones(1) for n in (0, 1) for name in ("bias", "masked_bias")}
    save_file(weights | constants, folder / "model.safetensors", {"format": "pt"})
    assert open_model(str(folder)).card.layers == 2
    change_config(folder, n_layer=1)
    with pytest.raises(BadInput, match=r"layer weights that the config leaves out \(h\.1"):
        open_model(str(folder))


def test_a_head_that_is_not_used_does_no_harm(copied, opened):
    folder = copied("bert-no-next")
    extra = ("classifier.weight", "classifier.0.weight", "bert.embeddings.position_ids", "qa_outputs.bias")
    weights = load_file(folder / "model.safetensors") | {name: torch.ones(2) for name in extra}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert answers(open_model(str(folder))) == answers(opened("bert-no-next"))


# ---------------------------------------------------------------- the mask


@pytest.mark.parametrize("room", [0, 5])
@pytest.mark.parametrize("file", ["tokenizer.json", "vocab.txt"])
def test_a_mask_token_that_no_file_of_the_tokenizer_lists_is_refused(file, room, tmp_path):
    """transformers appends it to the vocabulary; with room for it in the network it has an untrained vector."""
    tokenizer = zoo.wordpiece()
    config = transformers.BertConfig(**zoo.SMALL, vocab_size=len(tokenizer) + room)
    folder = save_with_tokenizer(transformers.BertForMaskedLM(config), tmp_path)
    state = json.loads((folder / "tokenizer.json").read_text())
    state["model"]["vocab"]["[unused]"] = state["model"]["vocab"].pop("[MASK]")
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] != "[MASK]"]
    if file == "tokenizer.json":
        (folder / file).write_text(json.dumps(state))
    else:
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").unlink()
        (folder / file).write_text("\n".join(sorted(state["model"]["vocab"], key=state["model"]["vocab"].get)))
    with pytest.raises(BadInput, match=r"mask token \[MASK\] is not in the vocabulary"):
        open_model(str(folder))


def test_a_mask_token_that_is_listed_beside_the_vocabulary_is_in_it(copied):
    """As in ModernBERT's files."""
    folder = copied("bert")
    state = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = state["model"]["vocab"]
    last = max(vocabulary, key=vocabulary.get)
    vocabulary[last] = vocabulary.pop("[MASK]")
    mask = next(token for token in state["added_tokens"] if token["content"] == "[MASK]")
    mask["id"] = len(vocabulary)
    (folder / "tokenizer.json").write_text(json.dumps(state))
    assert open_model(str(folder)).text.tokenizer.mask_token_id == len(vocabulary)


# ---------------------------------------------------------------- pickles and remote code


def test_a_pickle_is_read_only_when_allowed(copied, opened):
    folder = copied("bert")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="--allow-pickle"):
        open_model(str(folder))
    allowed = open_model(str(folder), Options(allow_pickle=True))
    assert answers(allowed) == answers(opened("bert"))


def test_a_pickle_beside_safetensors_is_not_opened(copied, opened):
    folder = copied("bert")
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert answers(open_model(str(folder))) == answers(opened("bert"))


CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import BertConfig as XConfig, BertForMaskedLM as XModel, BertTokenizerFast as XTokenizer
"""
MAP = {"AutoConfig": "modeling_x.XConfig", "AutoModelForMaskedLM": "modeling_x.XModel"}


@pytest.mark.parametrize("model_type", ["x_unheard_of", None])
def test_code_in_the_folder_is_refused_and_not_run(model_type, copied, tmp_path):
    folder, marker = copied("bert-no-next"), tmp_path / "it ran"
    (folder / "modeling_x.py").write_text(CODE.format(marker=str(marker)))
    written = json.loads((folder / "config.json").read_text()) | {"auto_map": MAP, "model_type": model_type}
    written = {key: value for key, value in written.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(written))
    with pytest.raises(BadInput, match="config"):
        open_model(str(folder))
    assert not marker.exists()


def test_a_known_architecture_is_opened_without_the_code_beside_it(copied, opened, tmp_path):
    folder, marker = copied("bert-no-next"), tmp_path / "it ran"
    (folder / "modeling_x.py").write_text(CODE.format(marker=str(marker)))
    for file, added in (
        ("config.json", MAP),
        ("tokenizer_config.json", {"AutoTokenizer": [None, "modeling_x.XTokenizer"]}),
    ):
        written = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(written | {"auto_map": added}))
    assert answers(open_model(str(folder))) == answers(opened("bert-no-next"))
    assert not marker.exists()


# ---------------------------------------------------------------- heads


def test_an_encoder_without_a_head_is_refused(tmp_path):
    config = transformers.BertConfig(**zoo.SMALL, vocab_size=900)
    with pytest.raises(BadInput, match="no trained masked-language-model head"):
        open_model(str(save_with_tokenizer(transformers.BertModel(config), tmp_path / "encoder")))


def test_an_electra_discriminator_is_refused(tmp_path):
    config = transformers.ElectraConfig(**zoo.SMALL, embedding_size=16, vocab_size=900)
    with pytest.raises(BadInput, match="no trained masked-language-model head"):
        open_model(str(save_with_tokenizer(transformers.ElectraForPreTraining(config), tmp_path / "electra")))


def test_a_classifier_is_refused(tmp_path):
    config = transformers.BertConfig(**zoo.SMALL, vocab_size=900)
    with pytest.raises(BadInput, match="no trained masked-language-model head"):
        open_model(str(save_with_tokenizer(transformers.BertForSequenceClassification(config), tmp_path / "judge")))


def test_a_decoder_without_its_own_output_is_refused(tmp_path):
    config = transformers.LlamaConfig(**zoo.SMALL, vocab_size=900, tie_word_embeddings=False)
    transformers.LlamaModel(config).save_pretrained(tmp_path)
    zoo.sentencepiece(False).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="no trained language-model head"):
        open_model(str(tmp_path))


def test_only_a_trained_next_sentence_head_is_asked(opened):
    assert opened("bert").card.heads == {"lm", "next_sentence"}
    assert opened("bert-no-next").card.heads == {"lm"}
    assert opened("bert-no-next").reads(FollowsText("The bus.", "So was I.")).code == "no_head"


# ---------------------------------------------------------------- what cannot be opened says why


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"no folder '.*nowhere'"):
        open_model(str(tmp_path / "nowhere"))


def test_an_empty_folder_has_no_weights(tmp_path):
    with pytest.raises(BadInput, match="no weights"):
        open_model(str(tmp_path))


def test_a_folder_without_a_config_says_so(copied):
    folder = copied("bert")
    (folder / "config.json").unlink()
    with pytest.raises(BadInput, match=r"config\.json"):
        open_model(str(folder))


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_folder_without_a_tokenizer_says_so(name, copied):
    folder = copied(name)
    for file in folder.glob("*token*"):
        file.unlink()
    with pytest.raises(BadInput, match="tokenizer"):
        open_model(str(folder))


def test_weights_cut_short_are_refused(copied):
    folder = copied("bert")
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="cannot be loaded"):
        open_model(str(folder))


def test_an_unknown_dtype_is_answered_with_the_nearest():
    with pytest.raises(BadInput, match="did you mean 'float16'"):
        Options(dtype="floot16")


def test_a_missing_gguf_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"no file .*tiny\.gguf"):
        open_model(str(tmp_path / "tiny.gguf"))


# ---------------------------------------------------------------- families


@pytest.fixture
def seeds(copied, tmp_path):
    """Folders seed_1 and seed_2 with different weights."""
    for seed in (1, 2):
        folder = copied("bert", f"runs/seed_{seed}")
        if seed == 2:
            change_one_weight(folder)
    return tmp_path / "runs"


def test_a_family_is_labelled_by_its_folders(seeds):
    sources = find([f"mine={seeds}/seed_*"])
    assert [(s.name, s.family, s.labels) for s in sources] == [
        ("mine-seed1", "mine", {"model_seed": 1}),
        ("mine-seed2", "mine", {"model_seed": 2}),
    ]


def test_members_may_be_named_one_by_one(seeds):
    sources = find([f"mine={seeds}/seed_2, {seeds}/seed_1"])
    expected = [("mine-seed1", "mine", {"model_seed": 1}), ("mine-seed2", "mine", {"model_seed": 2})]
    assert [(s.name, s.family, s.labels) for s in sources] == expected
    with pytest.raises(BadInput, match="same seed and step"):
        find([f"mine={seeds}/seed_1,{seeds}/seed_1"])


def test_a_family_of_seeds_and_steps_is_labelled_by_both(copied, tmp_path):
    for n, where in enumerate(("seed_3/step_2000", "seed_3/step_10", "seed_4/step_10")):
        folder = copied("bert", f"runs/{where}")
        for _ in range(n):
            change_one_weight(folder)
    sources = find([f"mine={tmp_path}/runs/seed_*/step_*"])
    assert {s.name: s.labels for s in sources} == {
        "mine-seed3-step2000": {"model_seed": 3, "step": 2000},
        "mine-seed3-step10": {"model_seed": 3, "step": 10},
        "mine-seed4-step10": {"model_seed": 4, "step": 10},
    }


@pytest.fixture
def members(copied, tmp_path):
    """members("run/checkpoint-500", …) are folders of these names, each with weights of its own."""

    def make(*names: str):
        for n, name in enumerate(names):
            folder = copied("bert", name)
            for _ in range(n):
                change_one_weight(folder)
        return tmp_path

    return make


@pytest.mark.parametrize("name", ["checkpoint-{}", "step_{}", "step{}", "step-{}", "global_step{}"])
def test_checkpoints_of_one_training_are_steps_and_no_seeds(name, members):
    """As transformers' Trainer names them; in the order of their numbers, not of their letters."""
    root = members(*(f"run/{name.format(n)}" for n in (500, 10000, 2000)))
    sources = find([f"mine={root}/run/*"])
    assert [(s.name, s.family, s.labels) for s in sources] == [
        (f"mine-step{n}", "mine", {"step": n}) for n in (500, 2000, 10000)
    ]


def test_a_listed_family_has_steps_too(members):
    root = members("checkpoint-2000", "checkpoint-500")
    sources = find([f"mine={root}/checkpoint-2000,{root}/checkpoint-500"])
    assert [(s.name, s.labels) for s in sources] == [("mine-step500", {"step": 500}), ("mine-step2000", {"step": 2000})]


def test_seeds_sort_as_numbers(members):
    root = members("seed_10", "seed_9")
    assert [s.name for s in find([f"mine={root}/seed_*"])] == ["mine-seed9", "mine-seed10"]


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        ("google/multiberts-seed_3", {"model_seed": 3}),
        ("google/multiberts-seed_3-step_20k", {"model_seed": 3, "step": 20_000}),
        ("google/multiberts-seed_3-step_2M", {"model_seed": 3, "step": 2_000_000}),
        ("EleutherAI/pythia-160m@step1000", {"step": 1000}),
        ("EleutherAI/pythia-160m-seed1@step1000", {"model_seed": 1, "step": 1000}),
        ("allenai/OLMo-1B@step20000-tokens84B", {"step": 20_000}),
        ("out/Seed_4/checkpoint-500", {"model_seed": 4, "step": 500}),
        ("seed_7/a/model", {}),  # only the last two parts count
        ("out/linseed3", {}),
        ("out/misstep4", {}),
        ("out/step_3rd", {}),
        ("out/checkpoint-best", {}),
        ("out/epoch_3", {}),
    ],
)
def test_seed_and_step_are_read_off_a_name(path, labels):
    from trueprobe.models.specs import _labels

    assert _labels(Path(path)) == labels


@pytest.mark.parametrize("listed", [False, True])
def test_members_with_neither_seed_nor_step_are_refused_with_how_to_name_them(listed, members):
    root = members("out/a", "out/b")
    with pytest.raises(BadInput, match="names neither a seed nor a step; name members seed_N, step_N or checkpoint-N"):
        find([f"mine={root}/out/a,{root}/out/b" if listed else f"mine={root}/out/*"])


def test_several_checkpoints_without_a_name_are_asked_to_take_one(members):
    root = members("out/step_1", "out/step_2")
    with pytest.raises(BadInput, match="several checkpoints need a name: --model 'name="):
        find([f"{root}/out/step_*"])


def test_the_way_out_that_is_named_works(members, tmp_path):
    root = members("out/a", "out/b")
    for i, name in enumerate("ab"):
        (tmp_path / f"seed_{i}").symlink_to(root / "out" / name)
    assert [s.name for s in find([f"mine={tmp_path}/seed_*"])] == ["mine-seed0", "mine-seed1"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("seed_0/step_5", "seed_1/final"), r"seed_0/step_5' names a step, '.*seed_1/final' does not"),
        (("a/seed_0", "b/step_5"), "a/seed_0' names a seed, '.*b/step_5' does not"),
    ],
)
def test_what_one_member_names_all_must_name(names, says, members):
    root = members(*names)
    with pytest.raises(BadInput, match=says):
        find([f"mine={root}/*/*"])


def test_two_members_of_one_seed_and_step_are_refused(members):
    root = members("a/seed_0", "b/seed_0")
    with pytest.raises(BadInput, match=r"a/seed_0' and '.*b/seed_0' have the same seed and step"):
        find([f"mine={root}/*/seed_0"])


def test_the_labels_reach_the_card(seeds):
    model = open_model(f"mine={seeds}/seed_2")
    assert (model.card.name, model.card.family, model.card.labels) == ("mine-seed2", "mine", {"model_seed": 2})


def test_a_single_checkpoint_can_be_given_a_name(checkpoint):
    (source,) = find([f"mine={checkpoint('bert')}"])
    assert (source.name, source.labels) == ("mine", {})


def test_two_members_with_equal_weights_are_an_error(copied, tmp_path):
    copied("bert", "runs/seed_1")
    copied("bert", "runs/seed_2")
    with pytest.raises(BadInput, match="equal weights"):
        find([f"mine={tmp_path}/runs/seed_*"])


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path):
    with pytest.raises(BadInput, match="nothing matches"):
        find([f"mine={tmp_path}/seed_*"])


def test_a_family_is_not_opened_as_one_model(seeds):
    with pytest.raises(BadInput, match="2 checkpoints"):
        open_model(f"mine={seeds}/seed_*")


def test_two_models_of_one_name_are_an_error(copied):
    specs = [str(copied("bert", f"{place}/same")) for place in ("here", "there")]
    with pytest.raises(BadInput, match="two models are called 'same'"):
        find(specs)


def test_that_error_is_mended_as_it_says(copied):
    here, there = (str(copied("bert", f"{place}/same")) for place in ("here", "there"))
    assert [source.name for source in find([here, f"other={there}"])] == ["same", "other"]


# ---------------------------------------------------------------- options


def chat(tmp_path, **names):
    """A small GPT-2 with the special tokens of SmolLM2-Instruct."""
    tokenizer = zoo.byte_level(False)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    for name, token in names.items():
        setattr(tokenizer, name, token)
    return zoo.save("gpt2", tmp_path / "chat", tokenizer=tokenizer)


TURNS = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}


@pytest.mark.parametrize(
    ("names", "start", "token"),
    [
        (TURNS, "", "<|endoftext|>"),  # a text after <|im_start|> would be the name of a speaker
        (TURNS, "?start=auto", "<|endoftext|>"),
        (TURNS, "?start=bos", "<|im_start|>"),
        (TURNS, "?start=eot", "<|endoftext|>"),
        (TURNS, "?start=none", ""),
        ({"bos_token": None, "eos_token": "<|im_end|>"}, "", "<|endoftext|>"),  # Qwen2.5-Instruct
        ({}, "", "<|endoftext|>"),
    ],
)
def test_a_causal_text_starts_with_no_turn_of_a_chat_unless_asked_for(names, start, token, tmp_path):
    model = open_model(f"{chat(tmp_path, **names)}{start}")
    assert model.card.start_text == token
    row = model.reads(FillBlank("The "))[0].row.ids
    expected = (model.text.tokenizer.convert_tokens_to_ids(token),) if token else ()
    assert row == (*expected, *model.token_ids("The"))


def test_the_start_is_part_of_the_question(tmp_path):
    """One store: answers after one start are never served for another."""
    folder, store = chat(tmp_path, **TURNS), AnswerStore(":memory:")
    models = [open_model(f"{folder}?start={start}") for start in ("bos", "eot")]
    assert models[0].card.compute_id == models[1].card.compute_id
    one, other = (Engine(model, store).answer([FillBlank("The ", words=("man",))])[0] for model in models)
    assert abs(one.words["man"].logp - other.words["man"].logp) > 1e-3


def test_without_a_start_the_first_token_has_no_number(checkpoint):
    """minicons' default: it is scored from its second token on, as behind that token in any text."""
    model = open_model(f"{checkpoint('gpt2')}?start=none")
    (read,) = model.reads(ScoreText("The nurse."))
    ids = model.token_ids("The nurse.")
    assert (read.row.ids, read.targets, read.positions) == (ids[:-1], ids[1:], tuple(range(len(ids) - 1)))
    assert model.reads(ScoreText("The nurse.", spans=((0, 3),))).code == "no_start"
    assert model.reads(ScoreText("The nurse.", start="first_token")).code == "no_start"


def test_one_model_with_several_options_has_several_names(checkpoint):
    folder = checkpoint("gpt2")
    specs = [str(folder), f"{folder}?start=none", f"{folder}?start=bos", f"other={folder}?start=bos"]
    assert [s.name for s in find(specs)] == ["gpt2", "gpt2-start-none", "gpt2-start-bos", "other"]
    assert [s.name for s in find([f"{folder}?start=none"])] == ["gpt2"]
    families = find(["nursery-causal", "nursery-causal?start=none", "mine=nursery-causal"])
    assert len({s.name for s in families}) == 9
    assert {s.family for s in families} == {"nursery-causal", "nursery-causal-start-none", "mine"}
    with pytest.raises(BadInput, match="two models are called"):
        find([f"{folder}?start=none"] * 2)


def test_another_tokenizer_can_be_chosen(copied, opened, tmp_path):
    folder, moved = copied("bert"), tmp_path / "moved"
    moved.mkdir()
    for file in folder.glob("*token*"):
        file.rename(moved / file.name)
    with pytest.raises(BadInput, match="no tokenizer"):
        open_model(str(folder))
    model = open_model(f"{folder}?tokenizer={moved}")
    assert model.card.tokenizer_id == opened("bert").card.tokenizer_id
    assert answers(model) == answers(opened("bert"))


def test_a_location_opens_the_same_model_again(copied, tmp_path):
    folder = copied("gpt2")
    checkpoint = examine(find([f"mine={folder}?start=none&tokenizer={folder}"])[0], Options())
    (again,) = find([checkpoint.location])
    assert (again.path, again.start, again.tokenizer) == (folder, "none", folder)
    assert examine(find([str(folder)])[0], Options()).location == str(folder)


def test_options_are_a_familys_or_each_listed_members(seeds):
    one, other = f"{seeds}/seed_1", f"{seeds}/seed_2"
    assert [s.start for s in find([f"mine={seeds}/seed_*?start=eot"])] == ["eot", "eot"]
    assert [s.start for s in find([f"mine={seeds}/seed_??start=eot"])] == ["eot", "eot"]
    assert [s.start for s in find([f"mine={seeds}/seed_?"])] == ["auto", "auto"]
    listed = find([f"mine={other}?start=none,{one}?start=eot&tokenizer={one}"])
    assert [(s.name, s.start, s.tokenizer) for s in listed] == [
        ("mine-seed1", "eot", Path(one)),
        ("mine-seed2", "none", None),
    ]


def test_a_shipped_model_has_options_too():
    assert [(s.name, s.start) for s in find(["nursery-causal/0?start=none"])] == [("nursery-causal-seed0", "none")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("strat=eot", "a model has no option 'strat'; did you mean 'start'"),
        ("start=eos", "no start 'eos'; did you mean 'eot'|no start 'eos'; choose from: auto, bos, eot, none"),
        ("start=eot&start=bos", "has the option 'start' twice"),
        ("tokenizer=/nowhere", "no folder '/nowhere' with a tokenizer"),
    ],
)
def test_wrong_options_say_what_would_be_right(options, says, checkpoint):
    with pytest.raises(BadInput, match=says):
        find([f"{checkpoint('gpt2')}?{options}"])


def test_a_start_is_for_causal_models(checkpoint):
    with pytest.raises(BadInput, match="start=eot is for causal models; this one is masked"):
        open_model(f"{checkpoint('bert')}?start=eot")


def test_a_start_that_the_tokenizer_lacks_is_refused(tmp_path):
    with pytest.raises(BadInput, match="start=bos: the tokenizer has no such token"):
        open_model(f"{chat(tmp_path, bos_token=None)}?start=bos")


# ---------------------------------------------------------------- the hub's cache


@pytest.fixture
def hub(checkpoint, tmp_path, monkeypatch):
    """A hub cache that holds org/tiny at one revision, and no connection."""
    repo = tmp_path / "hub" / "models--org--tiny"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(REVISION)
    shutil.copytree(checkpoint("bert"), repo / "snapshots" / REVISION)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("spec", ["org/tiny", "org/tiny@main", f"org/tiny@{REVISION}"])
def test_a_hub_id_is_opened_from_the_cache_and_names_its_revision(spec, opened):
    model = open_model(spec)
    assert model.card.source == f"org/tiny@{REVISION}"
    assert model.card.name == "org--tiny"
    assert model.card.compute_id == opened("bert").card.compute_id


@pytest.mark.usefixtures("hub")
def test_revisions_of_one_hub_id_are_steps(tmp_path):
    repo = tmp_path / "hub" / "models--org--tiny"
    for n, revision in ((9000, "a" * 40), (100, "b" * 40)):
        (repo / "refs" / f"step{n}").write_text(revision)
        shutil.copytree(repo / "snapshots" / REVISION, repo / "snapshots" / revision)
        change_one_weight(repo / "snapshots" / revision) if n == 100 else None
    sources = find(["mine=org/tiny@step9000,org/tiny@step100"])
    assert [(s.name, s.title, s.labels) for s in sources] == [
        ("mine-step100", f"org/tiny@{'b' * 40}", {"step": 100}),
        ("mine-step9000", f"org/tiny@{'a' * 40}", {"step": 9000}),
    ]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("spec", ["org/unheard-of", "unheard-of", f"org/tiny@{'f' * 40}", "org/tiny@v2"])
def test_an_unknown_hub_id_is_answered_with_what_would_do(spec):
    with pytest.raises(BadInput, match="give a folder, or run once with a connection") as error:
        open_model(spec)
    assert f"no model '{spec}'" in str(error.value)


@pytest.mark.usefixtures("hub")
def test_what_can_be_no_hub_id_is_said_to_be_none():
    with pytest.raises(BadInput, match="not a hub id"):
        open_model("what is this?")


# ---------------------------------------------------------------- gguf


def test_a_gguf_file_answers_as_the_folder_it_was_made_from(tmp_path):
    zoo.save_llama(tmp_path / "folder", tmp_path / "tiny.gguf")
    folder, file = open_model(str(tmp_path / "folder")), open_model(str(tmp_path / "tiny.gguf"))
    assert (file.card.name, file.card.source, file.card.architecture) == ("tiny", "tiny.gguf", "llama")
    assert (file.card.kind, file.card.start_text, file.card.dtype) == ("causal", "<|endoftext|>", "float32")
    assert answers(file) == pytest.approx(answers(folder), abs=1e-4)


def test_a_gguf_file_is_read_once(tmp_path, monkeypatch):
    """Dequantising takes minutes; the second opening reads a folder in the cache, and is the same model."""
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    first = open_model(str(file))
    assert first.card.tokenizer_id == Text(read_tokenizer(Source("", "", file))).tokenizer_id
    monkeypatch.setattr("trueprobe.models.specs._write", None)
    monkeypatch.setattr(import_module("transformers.modeling_gguf_pytorch_utils"), "load_gguf_checkpoint", None)
    monkeypatch.setattr("transformers.integrations.gguf.reader.read_gguf_metadata", None)
    monkeypatch.setattr("gguf.GGUFReader", None)
    _config.cache_clear()
    again = open_model(str(file))
    assert again.card == first.card
    assert answers(again) == answers(first)
    assert examine(find([f"{file}?start=none"])[0], Options()).location == f"{file}?start=none"


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        (b"llama.block_count", b"llama.block_cgunt", r"tiny\.gguf has no llama\.block_count in its metadata"),
        (b"llama.embedding_length", b"llama.embedding_tength", r"has no llama\.embedding_length"),
        (
            b"llama.block_count\x04\0\0\0\x02",
            b"llama.block_count\x04\0\0\0\x7f",
            "weights of 2 of the 127 layers",
        ),
        (
            b"llama.embedding_length\x04\0\0\0\x20\0\0\0",
            b"llama.embedding_length\x04\0\0\0\x20\0\0\x40",
            "1,073,741,856 weights in one matrix",
        ),
        (b"blk.1.", b"blk.0.", "weights of 1 of the 2 layers|is no readable GGUF file"),
    ],
)
def test_a_gguf_file_that_does_not_state_its_network_is_refused_at_once(written, instead, message, tmp_path):
    """transformers would take what is not stated from its defaults, 32 layers of 4,096, and fill them at random."""
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    content = file.read_bytes()
    assert written in content
    file.write_bytes(content.replace(written, instead))
    with pytest.raises(BadInput, match=message):
        open_model(str(file))


def test_another_gguf_file_at_the_same_place_is_another_model(tmp_path):
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    before = open_model(str(file))
    content = bytearray(file.read_bytes())
    content[-4:] = (1.0).hex().encode()[:4]
    file.write_bytes(content)
    after = open_model(str(file))
    assert after.card.compute_id != before.card.compute_id
    assert len({find([str(file)])[0].path, before.network.model.config._name_or_path}) == 2


def test_a_gguf_file_cut_short_leaves_nothing_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(BadInput, match=r"tiny\.gguf"):
        open_model(str(file))
    assert not [*(tmp_path / "cache").rglob("*.safetensors")]


def test_a_gguf_file_without_a_weight_is_refused(tmp_path, monkeypatch):
    """In the folder made of it a random weight would look like any other."""
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    monkeypatch.setattr("trueprobe.models.specs.load", lambda *args, **more: (None, frozenset({"model.norm.weight"})))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(BadInput, match=r"lacks weights \(missing: model\.norm\.weight"):
        open_model(str(file))


# ---------------------------------------------------------------- sentencepiece files


def only_sentencepiece(folder):
    import sentencepiece

    for file in folder.glob("*token*"):
        file.unlink()
    with (folder / "tokenizer.model").open("wb") as file:
        texts = iter(["The nurse was late. So was the man."] * 20)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=file, model_type="bpe", vocab_size=40, minloglevel=2
        )
    return folder


def test_the_package_that_a_sentencepiece_file_needs_is_named(copied, monkeypatch):
    def without(*_, **__):
        raise ValueError("tiktoken is required to read a `tiktoken` file")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", without)
    monkeypatch.setattr("transformers.utils.is_protobuf_available", lambda: False)
    says = r"tokenizer\.model is a sentencepiece file, .* needs the package protobuf"
    with pytest.raises(BadInput, match=says) as error:
        open_model(str(only_sentencepiece(copied("llama"))))
    assert "tiktoken" not in str(error.value)


def test_a_folder_with_only_a_sentencepiece_file_is_opened_where_its_class_is_named(copied):
    import sentencepiece

    folder = only_sentencepiece(copied("llama"))
    with pytest.raises(BadInput, match=r'reads tokenizer\.model otherwise .*"LlamaTokenizer"'):
        open_model(str(folder))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    plain = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    text = "The nurse was late."
    assert open_model(str(folder)).token_ids(text) == tuple(plain.encode(text))


# ---------------------------------------------------------------- networks that are not what they seem


def test_a_network_that_sees_ahead_is_no_causal_model(tmp_path):
    small = {**zoo.SMALL, "vocab_size": len(zoo.wordpiece())}
    config = transformers.BertConfig(**small, is_decoder=True, initializer_range=0.3)
    assert open_model(str(save_with_tokenizer(transformers.BertLMHeadModel(config), tmp_path / "decoder")))
    network = transformers.BertLMHeadModel(config)
    network.config.is_decoder = False
    network.config.architectures = ["BertLMHeadModel"]
    with pytest.raises(BadInput, match="see later ones"):
        open_model(str(save_with_tokenizer(network, tmp_path / "both-ways")))


def test_pieces_beyond_the_networks_vocabulary_are_reported(copied):
    folder = copied("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["zyxomma"])
    tokenizer.save_pretrained(folder)
    requests = [
        FillBlank("The ", " met the zyxomma."),
        FillBlank("The ", " works.", words=("zyxomma", "man")),
    ]
    text, word = Engine(open_model(str(folder)), AnswerStore(":memory:")).answer(requests)
    assert text.code == "unknown_piece"
    assert word.words["zyxomma"].code == "unknown_piece"
    assert word.words["man"].logp < 0


def test_a_family_name_is_a_plain_name(copied):
    copied("bert", "seed_0")
    folder = copied("bert", "seed_1")
    change_one_weight(folder)
    assert [s.name for s in find([f"a/b={folder.parent}/seed_*"])] == ["a--b-seed0", "a--b-seed1"]


def test_a_path_with_brackets_can_be_given_a_name(copied):
    folder = copied("bert", "run[1]")
    assert find([f"mine={folder}"])[0].path == folder


def test_while_a_model_is_opened_transformers_has_no_bars_of_its_own(checkpoint, monkeypatch, request):
    """In a notebook they would be widgets, whatever becomes of stderr."""
    enabled, built = [], transformers.PreTrainedModel.from_pretrained.__func__

    def from_pretrained(cls, *args, **more):
        enabled.append(logging.is_progress_bar_enabled())
        return built(cls, *args, **more)

    folder = str(checkpoint("bert"))
    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
    logging.enable_progress_bar()
    request.addfinalizer(logging.disable_progress_bar)
    open_model(folder)
    assert enabled
    assert not any(enabled)
    assert logging.is_progress_bar_enabled()
