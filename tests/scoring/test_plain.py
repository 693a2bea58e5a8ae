"""Scores against a second computation: transformers alone, a few lines per method, the whole distribution."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import trueprobe
from trueprobe.errors import BadInput
from trueprobe.models import find, open_model

NEAR = 1e-4
SENTENCES = [
    "The nurse was unbelievably late.",
    "So was the hairdresser (and he knew).",
    '"It\'s late," she said.',
]
MASKED = ("bert", "albert", "roberta")
CAUSAL = ("gpt2", "llama")


def plain(folder, causal: bool):
    kind = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    network = kind.from_pretrained(folder, dtype=torch.float32).eval()
    return network, transformers.AutoTokenizer.from_pretrained(folder)


def logps(network, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return torch.log_softmax(network(input_ids=ids[None])["logits"][0], -1)


def left_to_right(network, tokenizer, text: str) -> list[tuple[float, int]]:
    """log P and rank of each token, behind the start token."""
    ids = torch.tensor([tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]])
    rows = logps(network, ids)[:-1]
    return [(row[i].item(), int((row > row[i]).sum()) + 1) for row, i in zip(rows, ids[1:], strict=True)]


def pseudo(network, tokenizer, text: str, within_words: bool) -> list[tuple[float, int]]:
    """One masked token at a time; within words the later tokens of the word are masked, too."""
    encoded = tokenizer(text, return_offsets_mapping=True)
    ids, spans = torch.tensor(encoded["input_ids"]), encoded["offset_mapping"]
    inside = [i for i in range(len(ids)) if encoded.sequence_ids(0)[i] is not None]
    results = []
    for i in inside:
        masked = ids.clone()
        masked[i] = tokenizer.mask_token_id
        for j in inside if within_words else ():
            if j > i and re.fullmatch(r" ?(\w+|[^\w\s])", text[spans[i][0] : spans[j][1]]):
                masked[j] = tokenizer.mask_token_id
        row = logps(network, masked)[i]
        results.append((row[ids[i]].item(), int((row > row[ids[i]]).sum()) + 1))
    return results


def same(table, expected: list[list[tuple[float, int]]]) -> None:
    values = [pair for sentence in expected for pair in sentence]
    assert table["logp_nats"].tolist() == pytest.approx([logp for logp, _ in values], abs=NEAR)
    assert np.abs(table["rank"].to_numpy(int) - [rank for _, rank in values]).max() <= 1  # two within 1e-4 may swap
    assert np.mean(table["rank"].to_numpy(int) == [rank for _, rank in values]) > 0.9
    assert table["surprisal_bits"].tolist() == pytest.approx([-logp / np.log(2) for logp, _ in values], abs=2 * NEAR)


@pytest.mark.parametrize("name", CAUSAL)
def test_causal_models_read_from_left_to_right(name, checkpoint, opened):
    expected = [left_to_right(*plain(checkpoint(name), causal=True), text) for text in SENTENCES]
    same(trueprobe.score(SENTENCES, opened(name), by="token", store=":memory:"), expected)


LONG = " ".join(SENTENCES * 12)


@pytest.mark.parametrize("words", ["plain", "corrected"])
def test_longer_texts_are_read_in_windows(words, tmp_path, checkpoint):
    """As transformers' guide to perplexity has it; the start token stands in the first window alone."""
    longest, stride = 32, 12
    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "short")
    network, tokenizer = plain(folder, causal=True)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_positions": longest}))
    weights = {
        k: v[:longest] if k.endswith("wpe.weight") else v for k, v in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    ids = torch.tensor([tokenizer.bos_token_id, *tokenizer(LONG, add_special_tokens=False)["input_ids"]])
    starts = [i for i, piece in enumerate(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))) if piece[0] in "Ġ▁"]
    ends = [at == len(ids) - 1 or ids[at + 1] in starts for at in range(len(ids))]
    expected, behind, scored = [], [0.0], 1
    for begin in range(0, len(ids), stride):
        rows = logps(network, ids[begin : begin + longest])
        stop = min(begin + longest, len(ids))
        expected += [rows[at - 1 - begin][ids[at]].item() for at in range(scored, stop)]
        behind += [rows[at - begin][starts].logsumexp(-1).item() * ends[at] for at in range(scored, stop)]
        scored = stop
        if stop == len(ids):
            break
    if words == "corrected":
        expected = [logp + behind[i + 1] - behind[i] for i, logp in enumerate(expected)]
    table = trueprobe.score(LONG, str(folder), by="token", words=words, stride=stride, store=":memory:")
    assert len(table) > 2 * longest
    assert table["logp_nats"].tolist() == pytest.approx(expected, abs=NEAR)
    assert set(table["method"]) == {"left_to_right" + "_corrected" * (words == "corrected") + "_stride_12"}
    assert set(trueprobe.score(LONG, str(folder), store=":memory:")["why_not"]) == {"too_long"}
    with pytest.raises(BadInput, match="a stride of 32: short reads 32 tokens"):
        trueprobe.score(LONG, str(folder), stride=longest, store=":memory:")


def own_space(network, tokenizer, text: str) -> list[float]:
    """Oh & Schuler 2024: log P of each token, and at the end of a word that a word begins there, less the same of the
    word before; behind the start token."""
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    starts = [i for i, piece in enumerate(pieces) if piece[0] in "Ġ▁"]
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    rows = logps(network, torch.tensor(ids))
    results, before = [], 0.0
    for at in range(1, len(ids)):
        ends = at == len(ids) - 1 or ids[at + 1] in starts
        behind = rows[at][starts].logsumexp(-1).item() if ends else 0.0
        results.append(rows[at - 1][ids[at]].item() + behind - before)
        before = behind
    return results


@pytest.mark.parametrize("name", CAUSAL)
def test_corrected_words_own_the_space_behind_them(name, checkpoint, opened):
    expected = [own_space(*plain(checkpoint(name), causal=True), text) for text in SENTENCES]
    table = trueprobe.score(SENTENCES, opened(name), by="token", words="corrected", store=":memory:")
    assert table["logp_nats"].tolist() == pytest.approx([logp for one in expected for logp in one], abs=NEAR)
    assert set(table["method"]) == {"left_to_right_corrected"}
    words = trueprobe.score(SENTENCES, opened(name), words="corrected", store=":memory:")
    assert words["logp_nats"].sum() == pytest.approx(table["logp_nats"].sum())


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_an_unknown_piece_costs_its_word_alone(name, checkpoint, opened):
    """The others have the numbers that the plain loop gives with the unknown piece in its place."""
    text = "The nurse saw Ж, unbelievably late."
    network, tokenizer = plain(checkpoint(name), causal=name == "llama")
    loop = left_to_right if name == "llama" else partial(pseudo, within_words=True)
    expected = [logp for logp, _ in loop(network, tokenizer, text)]
    tokens, words = (trueprobe.score(text, opened(name), by=by, store=":memory:") for by in ("token", "word"))
    unknown = tokens["why_not"] == "unknown_piece"
    assert unknown.sum() == 1
    assert tokens["word"][unknown].tolist() == ["Ж,"]
    known = tokens["logp_nats"].tolist()
    assert [logp for logp in known if logp == logp] == pytest.approx(
        [logp for logp, lost in zip(expected, unknown, strict=True) if not lost], abs=NEAR
    )
    assert words["why_not"].tolist() == ["", "", "", "unknown_piece", "", ""]  # not the comma's alone
    region = trueprobe.score(text, opened(name), by="region", store=":memory:")
    assert region["why_not"].tolist() == ["unknown_piece"]


MINICONS = {  # 0.3.39, token_score(…, bow_correction=True) of nursery-causal/0, with bos_token False and True
    "none": [-11.36711, -8.41376, -0.94316, -7.95913, -5.88138, -1.50268, -9.47436, -2.82315, -2.18793, -9.86334],
    "eot": [-1.75112, -10.04331, -8.21255, -0.8313, -7.39478, -4.20947, -1.90629, -9.20211, -2.7177, -2.12254],
}


@pytest.mark.parametrize("start", MINICONS)
def test_corrected_words_are_those_of_minicons(start):
    text = "The keys near the boxes are old, and late."
    table = trueprobe.score(text, f"nursery-causal/0?start={start}", by="token", words="corrected", store=":memory:")
    assert table["logp_nats"].dropna().tolist()[:10] == pytest.approx(MINICONS[start], abs=NEAR)


def test_masked_models_have_no_corrected_words(opened):
    plain, corrected = (
        trueprobe.score(SENTENCES, opened("bert"), words=w, store=":memory:") for w in ("plain", "corrected")
    )
    assert plain.equals(corrected)


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("pll", ["original", "within_word_l2r"])
def test_masked_models_have_both_pseudo_log_likelihoods(name, pll, checkpoint, opened):
    bare = plain(checkpoint(name), causal=False)
    expected = [pseudo(*bare, text, pll == "within_word_l2r") for text in SENTENCES]
    same(trueprobe.score(SENTENCES, opened(name), by="token", pll=pll, store=":memory:"), expected)


@pytest.mark.parametrize("spec", ["nursery/0", "nursery-causal/0"])
def test_shipped_models_agree(spec):
    (source,) = find([spec])
    model = open_model(spec)
    causal = model.card.kind == "causal"
    bare = plain(source.path, causal)
    for pll in ("original", "within_word_l2r"):
        one = left_to_right if causal else partial(pseudo, within_words=pll == "within_word_l2r")
        expected = [one(*bare, text) for text in SENTENCES]
        same(trueprobe.score(SENTENCES, model, by="token", pll=pll, store=":memory:"), expected)
