"""Small random networks of every architecture, with tokenizers of each family: what the tests ask.

Tokenizers are trained here on the project's own sentences, so the tests need nothing from outside; where the
reference data lies beside the checkout, `real_tokenizer` gives the families' published vocabularies.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from trueprobe.probes import make

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ASCII = "".join(map(chr, range(33, 127)))  # every tokenizer spells plain text, inside a word too
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@cache
def sentences() -> list[str]:
    """Enough English for "woman" and "nurse" to be one piece each; "hairdresser" stays several."""
    items = [item.text.replace("___", "target") for item in make("counteracts", {"wording": "all"}).items()[::7]]
    probe = make("counteracts")
    words = [word for group in probe.verbalizer.values() for word in group for _ in range(20)]
    common = "The bus was late. So was the nurse, unbelievably. She met the man (and he knew). Everyone is here. " * 50
    return [text for text in items if "hairdresser" not in text] + [" ".join(words), common]


@cache
def _wordpiece() -> str:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=900, special_tokens=specials, initial_alphabet=list(ASCII.lower()))
    tokenizer.train_from_iterator([*sentences(), "z" + "".join(filter(str.isalnum, ASCII))], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer.to_str()


def wordpiece() -> t.PreTrainedTokenizerFast:
    """BERT uncased."""
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return _fast(_wordpiece(), **names)


def _fast(trained: str, **names: str) -> t.PreTrainedTokenizerFast:
    """Trained once, made anew for each who asks: a test may change what it was given."""
    return t.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(trained), **names)


@cache
def _byte_level(masked: bool) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if masked else ["<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=specials, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(sentences(), trainer)
    if masked:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer.to_str()


def byte_level(masked: bool) -> t.PreTrainedTokenizerFast:
    """RoBERTa (masked) or GPT-2."""
    if not masked:
        end = "<|endoftext|>"
        return _fast(_byte_level(masked), bos_token=end, eos_token=end)
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    return _fast(_byte_level(masked), **names, pad_token="<pad>", mask_token="<mask>")


@cache
def _sentencepiece(masked: bool) -> str:
    tokenizer = Tokenizer(models.Unigram())
    if masked:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always" if masked else "first")
    tokenizer.decoder = decoders.Metaspace()
    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"] if masked else ["<unk>", "<bos>", "<eos>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=900, special_tokens=specials, unk_token="<unk>", initial_alphabet=list(ASCII)
    )
    tokenizer.train_from_iterator(sentences(), trainer)
    if masked:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 1)]
        )
    return tokenizer.to_str()


def sentencepiece(masked: bool) -> t.PreTrainedTokenizerFast:
    """ALBERT (masked, uncased) or Llama type with a BOS of its own."""
    if not masked:
        return _fast(_sentencepiece(masked), bos_token="<bos>", eos_token="<eos>", unk_token="<unk>")
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return _fast(_sentencepiece(masked), **names, mask_token="[MASK]")


def real_tokenizer(name: str) -> t.PreTrainedTokenizerBase:
    """One of bert-base-uncased, bert-base-cased, albert, roberta-base, gpt2, from the reference data."""
    import pytest

    folder = SHARED / "tokenizers" / name
    if not folder.is_dir():
        pytest.skip(f"no reference tokenizer {name} beside the checkout (../shared/data)")
    return t.AutoTokenizer.from_pretrained(folder)


def _networks() -> dict[str, tuple]:
    """name: (model class, config, tokenizer)."""
    grouped = {**SMALL, "num_key_value_heads": 1, "head_dim": 16}
    mobile = {"embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16}
    distil = t.DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64)
    gpt2 = t.GPT2Config(n_embd=32, n_layer=2, n_head=2)
    return {
        "bert": (t.BertForPreTraining, t.BertConfig(**SMALL), wordpiece),
        "bert-no-next": (t.BertForMaskedLM, t.BertConfig(**SMALL), wordpiece),
        "albert": (t.AlbertForMaskedLM, t.AlbertConfig(**SMALL, embedding_size=16), lambda: sentencepiece(True)),
        "roberta": (
            t.RobertaForMaskedLM,
            t.RobertaConfig(**SMALL, max_position_embeddings=130, type_vocab_size=1),
            lambda: byte_level(True),
        ),
        "distilbert": (t.DistilBertForMaskedLM, distil, wordpiece),
        "electra": (t.ElectraForMaskedLM, t.ElectraConfig(**SMALL, embedding_size=16), wordpiece),
        "mpnet": (t.MPNetForMaskedLM, t.MPNetConfig(**SMALL), lambda: byte_level(True)),
        "deberta": (t.DebertaForMaskedLM, t.DebertaConfig(**SMALL), lambda: byte_level(True)),
        "deberta-v2": (t.DebertaV2ForMaskedLM, t.DebertaV2Config(**SMALL), lambda: sentencepiece(True)),
        "mobilebert": (t.MobileBertForPreTraining, t.MobileBertConfig(**SMALL, **mobile), wordpiece),
        "gpt2": (t.GPT2LMHeadModel, gpt2, lambda: byte_level(False)),
        "opt": (
            t.OPTForCausalLM,
            t.OPTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64, word_embed_proj_dim=32),
            lambda: byte_level(False),
        ),
        "pythia": (t.GPTNeoXForCausalLM, t.GPTNeoXConfig(**SMALL), lambda: byte_level(False)),
        "llama": (t.LlamaForCausalLM, t.LlamaConfig(**SMALL), lambda: sentencepiece(False)),
        "gemma": (t.Gemma2ForCausalLM, t.Gemma2Config(**grouped, sliding_window=16), lambda: sentencepiece(False)),
        "bloom": (t.BloomForCausalLM, t.BloomConfig(hidden_size=32, n_layer=2, n_head=2), lambda: byte_level(False)),
    }


MASKED = (
    "bert",
    "bert-no-next",
    "albert",
    "roberta",
    "distilbert",
    "electra",
    "mpnet",
    "deberta",
    "deberta-v2",
    "mobilebert",
)
CAUSAL = ("gpt2", "opt", "pythia", "llama", "gemma", "bloom")


def save(name: str, folder: Path, model_seed: int = 0, tokenizer: t.PreTrainedTokenizerBase | None = None) -> Path:
    """A checkpoint folder; random weights are drawn wider than usual, so that answers differ clearly."""
    network, config, own = _networks()[name]
    tokenizer = tokenizer or own()
    config.vocab_size = len(tokenizer)
    config.pad_token_id = tokenizer.pad_token_id
    config.bos_token_id = config.eos_token_id = tokenizer.bos_token_id
    config.initializer_range = 0.3
    torch.manual_seed(model_seed)
    network(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_llama(folder: Path, file: Path, model_seed: int = 0) -> None:
    """The same small causal network twice: as a folder, and in llama.cpp's format."""
    tokenizer = byte_level(False)
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(model_seed)
    config = t.LlamaConfig(**SMALL, vocab_size=len(tokenizer), initializer_range=0.3, **ends)
    network = t.LlamaForCausalLM(config)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_gguf(network, tokenizer, file)


def save_gguf(network: t.PreTrainedModel, tokenizer: t.PreTrainedTokenizerFast, file: Path, pre: str = "gpt-2") -> None:
    """A Llama network with a byte-level vocabulary in llama.cpp's format, unquantised. `pre` names how llama.cpp splits
    a text into words."""
    import gguf

    config, state = network.config, json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    tokens = sorted(state["vocab"], key=state["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_merges([" ".join(merge) for merge in state["merges"]])
    writer.add_token_types([3 if token in tokenizer.all_special_tokens else 1 for token in tokens])  # 3: control
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    for name, weight in network.state_dict().items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp turns pairs that lie side by side
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            turned = weight.view(heads, 2, -1, config.hidden_size).transpose(1, 2)
            weight = turned.reshape(weight.shape)
        if name != "lm_head.weight" or not config.tie_word_embeddings:
            writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
