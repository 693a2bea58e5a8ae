"""Every weight of a file's network is used, or the file is refused; what is no part of the network may stay unused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers as t
from safetensors.torch import load_file, save_file

import zoo
from trueprobe.errors import BadInput
from trueprobe.models import Options, examine, find, open_model
from trueprobe.training.networks import continued

IDS = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
FEW_HEADS = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
LEFT_OUT = "layer weights that the config leaves out"


def gpt_neo(vocab_size: int) -> t.PreTrainedModel:
    sizes = {"hidden_size": 32, "num_layers": 2, "num_heads": 2, "max_position_embeddings": 64}
    return t.GPTNeoForCausalLM(t.GPTNeoConfig(vocab_size=vocab_size, attention_types=[[["global"], 2]], **sizes))


def mixtral(vocab_size: int) -> t.PreTrainedModel:
    return t.MixtralForCausalLM(
        t.MixtralConfig(**zoo.SMALL, num_key_value_heads=2, num_local_experts=4, vocab_size=vocab_size)
    )


def bart(vocab_size: int) -> t.PreTrainedModel:
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    return t.BartForConditionalGeneration(t.BartConfig(d_model=32, **layers, **FEW_HEADS, vocab_size=vocab_size))


def albert(vocab_size: int) -> t.PreTrainedModel:
    shape = {"embedding_size": 16, "num_hidden_groups": 2, "inner_group_num": 2}
    return t.AlbertForMaskedLM(t.AlbertConfig(**zoo.SMALL, **shape, vocab_size=vocab_size))


def emu(vocab_size: int) -> t.PreTrainedModel:
    sizes = {"num_key_value_heads": 2, "max_position_embeddings": 128, "vocab_size": vocab_size}
    return t.Emu3ForCausalLM(t.Emu3TextConfig(**zoo.SMALL, **sizes, **IDS))


TOKENIZERS = {
    gpt_neo: lambda: zoo.byte_level(False),
    mixtral: lambda: zoo.byte_level(False),
    bart: lambda: zoo.byte_level(True),
    albert: lambda: zoo.sentencepiece(True),
    emu: lambda: zoo.byte_level(False),
}


@pytest.fixture
def saved(tmp_path):
    """saved("bert") or saved(bart) is a folder that a test may change."""

    def make(network):
        if isinstance(network, str):
            return zoo.save(network, tmp_path / network)
        folder, tokenizer = tmp_path / network.__name__, TOKENIZERS[network]()
        network(len(tokenizer)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        if network is emu:  # transformers reads the text model by a part of the config
            whole = {"model_type": "emu3", "architectures": ["Emu3ForCausalLM"], "vocabulary_map": {}, "vq_config": {}}
            part = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps(whole | {"text_config": part}))
        return folder

    return make


def configure(folder, **changes) -> str:
    config = json.loads((folder / "config.json").read_text())
    part = config.get("text_config", config)
    part.update(changes)
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def add(folder, *names: str) -> str:
    weights = load_file(folder / "model.safetensors") | {name: torch.ones(2) for name in names}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return str(folder)


# ---------------------------------------------------------------- what a config asks for too little of


@pytest.mark.parametrize(
    ("network", "name"),
    [
        ("bert", "num_hidden_layers"),
        ("distilbert", "n_layers"),
        ("gpt2", "n_layer"),
        ("llama", "num_hidden_layers"),
        ("albert", "num_hidden_layers"),
        (bart, "encoder_layers"),
        (emu, "num_hidden_layers"),
    ],
)
@pytest.mark.parametrize("layers", [0, -1])
def test_a_network_without_a_layer_is_refused(network, name, layers, saved):
    """transformers makes it, and it gives numbers."""
    spec = configure(saved(network), **{name: layers})
    with pytest.raises(BadInput, match=f"{layers} layers, the fewest are 1"):
        examine(find([spec])[0], Options())


@pytest.mark.parametrize(
    ("network", "changes", "left_out"),
    [
        (bart, {"encoder_layers": 1}, r"model\.encoder\.layers\.1\."),
        (bart, {"decoder_layers": 1}, r"model\.decoder\.layers\.1\."),
        (bart, {"decoder_layers": 0}, r"model\.decoder\.layers\.0\.\S+ and \d+ more"),
        (bart, {"decoder_layers": -1}, r"model\.decoder\.layers\.0\."),
        (albert, {"num_hidden_groups": 1}, r"albert_layer_groups\.1\."),
        (albert, {"num_hidden_groups": 0}, r"albert_layer_groups\.0\."),
        (albert, {"inner_group_num": 0}, r"albert_layers\.0\."),
        (emu, {"num_hidden_layers": 1}, r"model\.layers\.1\."),
        ("opt", {"do_layer_norm_before": False}, r"final_layer_norm"),
    ],
)
def test_a_weight_that_the_config_leaves_out_is_named(network, changes, left_out, saved):
    spec = configure(saved(network), **changes)
    with pytest.raises(BadInput, match=rf"{LEFT_OUT} \(\S*{left_out}"):
        examine(find([spec])[0], Options())


def test_experts_that_the_config_leaves_out_are_refused(saved):
    """As another shape: transformers makes one matrix of all of them."""
    spec = configure(saved(mixtral), num_local_experts=2)
    with pytest.raises(BadInput, match=r"\[4, .* in the file and \[2, .* in the config"):
        examine(find([spec])[0], Options())


def test_groups_of_layers_that_no_layer_uses_are_refused(saved):
    """ALBERT's weights are all loaded, whatever number of layers is to use them."""
    spec = configure(saved(albert), num_hidden_layers=1)
    with pytest.raises(BadInput, match="1 layers use only as many of its 2 groups of layer weights"):
        examine(find([spec])[0], Options())


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("layers", [0, 1])
def test_in_whatever_files_the_weights_are(pickled, sharded, layers, saved):
    folder = saved(bart)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    name, ending = ("pytorch_model", ".bin") if pickled else ("model", ".safetensors")
    write = torch.save if pickled else (lambda content, file: save_file(content, file, {"format": "pt"}))
    if sharded:
        of = {key: ("two" if "decoder.layers" in key else "one") + ending for key in weights}
        for part in {*of.values()}:
            write({key: w for key, w in weights.items() if of[key] == part}, folder / part)
        (folder / f"{name}{ending}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": of}))
    else:
        write(weights, folder / f"{name}{ending}")
    options = Options(allow_pickle=pickled)
    assert open_model(str(folder), options)
    with pytest.raises(BadInput, match=LEFT_OUT):
        open_model(configure(folder, decoder_layers=layers), options)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_training_does_not_go_on_from_a_part_of_a_network(layers, saved):
    folder = saved("bert")
    configure(folder, num_hidden_layers=layers)
    with pytest.raises(BadInput, match=f"fewest are 1|{LEFT_OUT}|lacks weights of a layer"):
        continued("masked", folder, 32, 0.1, 0)


# ---------------------------------------------------------------- what may stay unused


@pytest.mark.parametrize(
    ("network", "names"),
    [
        ("bert-no-next", ("classifier.0.weight", "qa_outputs.bias", "bert.embeddings.position_ids")),
        ("roberta", ("roberta.pooler.dense.weight", "classifier.dense.weight")),
        ("gpt2", ("score.weight", "transformer.h.0.attn.bias", "transformer.h.1.attn.masked_bias")),
        ("llama", ("model.layers.0.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq", "value_head.0.weight")),
        (gpt_neo, ("transformer.h.0.attn.attention.bias", "transformer.h.1.attn.attention.masked_bias")),
        (emu, ("model.vision_tower.encoder.layers.0.weight", "vqmodel.encoder.down.0.weight")),
    ],
)
def test_what_is_no_part_of_the_network_may_stay_unused(network, names, saved):
    """Heads that are not asked, poolers, constants of old files, a text model's eyes."""
    assert open_model(add(saved(network), *names)).card.source


@pytest.mark.parametrize(
    ("network", "name"),
    [
        ("bert", "bert.encoder.layer.0.attention.self.query.lora"),
        ("llama", "model.norm.bias"),
        ("llama", "lm_head.bias"),
        (gpt_neo, "transformer.h.2.attn.attention.bias"),
    ],
)
def test_what_lies_in_the_network_is_used_or_refused(network, name, saved):
    with pytest.raises(BadInput, match=LEFT_OUT):
        open_model(add(saved(network), name))


# ---------------------------------------------------------------- .gguf files


@pytest.mark.parametrize(
    ("count", "left_out"), [(0, r"blk\.0\.attn_k\.weight and 17 more"), (1, r"blk\.1\.attn_k\.weight and 8 more")]
)
def test_a_gguf_file_with_more_layers_than_it_says_is_refused(count, left_out, tmp_path):
    file = tmp_path / "tiny.gguf"
    zoo.save_llama(tmp_path / "folder", file)
    said = b"llama.block_count\x04\0\0\0"
    file.write_bytes(file.read_bytes().replace(said + b"\x02", said + bytes([count])))
    with pytest.raises(BadInput, match=f"weights of 2 layers, and its metadata promises {count}: {left_out}"):
        open_model(str(file))


def test_a_gguf_file_with_a_bias_that_transformers_passes_over_is_refused(tmp_path, monkeypatch):
    import gguf

    add_tensor = gguf.GGUFWriter.add_tensor

    def with_bias(writer, name, weights):
        add_tensor(writer, name, weights)
        if name.endswith("attn_q.weight"):
            add_tensor(writer, name.replace("weight", "bias"), np.ones(len(weights), np.float32))

    monkeypatch.setattr(gguf.GGUFWriter, "add_tensor", with_bias)
    zoo.save_llama(tmp_path / "folder", tmp_path / "tiny.gguf")
    with pytest.raises(BadInput, match=r"blk\.0 has 10,336 weights, of which 32 have no place"):
        open_model(str(tmp_path / "tiny.gguf"))
