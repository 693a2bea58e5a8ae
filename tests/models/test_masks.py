"""The mask is the model's own: published tokenizers of every kind have one, and no other token passes for it."""

from __future__ import annotations

import json

import pytest
import transformers as t

import zoo
from trueprobe.errors import BadInput
from trueprobe.models import open_model


def folder_with(tokenizer, folder, room: int = 0):
    config = t.BertConfig(**zoo.SMALL, vocab_size=len(tokenizer) + room)
    t.BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def read(folder, name: str) -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def write(folder, name: str, content: dict) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


# ---------------------------------------------------------------- masks of published tokenizers


def wordpiece(folder):
    """BERT, DistilBERT, ELECTRA, MobileBERT."""
    return folder_with(zoo.wordpiece(), folder)


def only_vocab_txt(folder):
    """BERT's first files."""
    folder_with(zoo.wordpiece(), folder)
    vocabulary = read(folder, "tokenizer.json")["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    write(folder, "tokenizer_config.json", {"do_lower_case": True})
    return folder


def byte_level(folder):
    """RoBERTa, DistilRoBERTa, MPNet."""
    return folder_with(zoo.byte_level(True), folder)


def only_vocab_json(folder):
    """RoBERTa's first files."""
    folder_with(zoo.byte_level(True), folder)
    model = read(folder, "tokenizer.json")["model"]
    write(folder, "vocab.json", model["vocab"])
    (folder / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    write(folder, "tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"})
    return folder


def unigram(folder):
    """ALBERT."""
    return folder_with(zoo.sentencepiece(True), folder)


def behind_the_vocabulary(folder):
    """XLM-R, CamemBERT, DeBERTa and ModernBERT: the mask is listed beside the vocabulary, with the last id."""
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=zoo.sentencepiece(False).backend_tokenizer, unk_token="<unk>", mask_token="<mask>"
    )
    assert tokenizer.mask_token_id == len(tokenizer) - 1
    return folder_with(tokenizer, folder)


def only_sentencepiece(folder):
    """DeBERTa v2 and v3: its class appends the mask."""
    import sentencepiece

    folder_with(zoo.sentencepiece(True), folder, room=200)
    for file in folder.glob("*token*"):
        file.unlink()
    with (folder / "spm.model").open("wb") as file:
        named = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
        pieces = {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["The nurse was late. So was the man."] * 20),
            model_writer=file,
            vocab_size=40,
            minloglevel=2,
            hard_vocab_limit=False,
            **named,
            **pieces,
        )
    write(folder, "tokenizer_config.json", {"tokenizer_class": "DebertaV2Tokenizer"})
    return folder


PUBLISHED = [
    wordpiece,
    only_vocab_txt,
    byte_level,
    only_vocab_json,
    unigram,
    behind_the_vocabulary,
    only_sentencepiece,
]


@pytest.mark.parametrize("kind", PUBLISHED, ids=lambda kind: kind.__name__)
def test_the_mask_of_every_kind_of_tokenizer_is_one(kind, tmp_path):
    tokenizer = open_model(str(kind(tmp_path / "m"))).text.tokenizer
    assert tokenizer.mask_token in ("[MASK]", "<mask>")
    assert tokenizer.mask_token_id != tokenizer.unk_token_id


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-cased", "albert", "roberta-base"])
def test_the_mask_of_a_published_tokenizer_is_one(name, tmp_path):
    assert open_model(str(folder_with(zoo.real_tokenizer(name), tmp_path / "m")))


# ---------------------------------------------------------------- tokens that are none


@pytest.mark.parametrize(
    ("kind", "mask", "message"),
    [
        (wordpiece, "[PAD]", r"the mask token '\[PAD\]' is the pad_token too"),
        (wordpiece, "[UNK]", "is the unk_token too"),
        (wordpiece, "[CLS]", "is the cls_token too"),
        (wordpiece, "[SEP]", "is the sep_token too"),
        (byte_level, "<s>", "is the cls_token too"),
        (byte_level, "</s>", "is the sep_token too"),
        (unigram, "<pad>", "is the pad_token too"),
        (only_vocab_txt, "[PAD]", "is the pad_token too"),
        (wordpiece, "nurse", "the mask token 'nurse' is ordinary text"),
        (wordpiece, "##s", "ordinary"),
        (wordpiece, ".", "ordinary"),
        (only_vocab_txt, "nurse", "ordinary"),
        (byte_level, "Ġnurse", "ordinary"),
        (only_vocab_json, "Ġnurse", "ordinary"),
        (unigram, "▁nurse", "ordinary"),
        (only_sentencepiece, "▁was", "ordinary"),
    ],
)
def test_a_mask_that_is_another_token_is_refused(kind, mask, message, tmp_path):
    folder = kind(tmp_path / "m")
    write(folder, "tokenizer_config.json", read(folder, "tokenizer_config.json") | {"mask_token": mask})
    with pytest.raises(BadInput, match=f"{message}.*, so it cannot fill blanks"):
        open_model(str(folder))


def test_a_word_that_was_saved_as_the_mask_is_no_mask(tmp_path):
    """The saved tokenizer.json lists it with the special tokens."""
    tokenizer = zoo.wordpiece()
    tokenizer.add_special_tokens({"mask_token": "nurse"})
    folder = folder_with(tokenizer, tmp_path / "m")
    assert "nurse" in [token["content"] for token in read(folder, "tokenizer.json")["added_tokens"]]
    with pytest.raises(BadInput, match="the mask token 'nurse' is ordinary text"):
        open_model(str(folder))


def test_a_piece_that_is_not_listed_among_the_special_tokens_is_no_mask(tmp_path):
    """As BERT's [unused1], which no training has seen."""
    folder = wordpiece(tmp_path / "m")
    state = read(folder, "tokenizer.json")
    vocabulary = state["model"]["vocab"]
    vocabulary["[unused1]"] = vocabulary.pop(max(vocabulary, key=vocabulary.get))
    write(folder, "tokenizer.json", state)
    write(folder, "tokenizer_config.json", read(folder, "tokenizer_config.json") | {"mask_token": "[unused1]"})
    with pytest.raises(BadInput, match=r"the mask token '\[unused1\]' is ordinary text"):
        open_model(str(folder))
