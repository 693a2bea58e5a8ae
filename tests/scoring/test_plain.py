"""Scores against a second computation: transformers alone, a few lines per method, the whole distribution."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
import torch
import transformers

import trueprobe
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
