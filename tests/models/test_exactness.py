"""Answers against a plain second computation: transformers alone, one text at a time, the whole distribution."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
import transformers

from trueprobe.engine import AnswerStore, BatchPlan, Engine, pack
from trueprobe.models import open_model
from trueprobe.types import TIE_NATS, EmbedText, FillBlank, FollowsText, ScoreText

MASKED = ("bert", "albert", "roberta", "distilbert", "mobilebert")
CAUSAL = ("gpt2", "llama", "gemma", "opt")
NEXT = {"bert": transformers.BertForPreTraining, "mobilebert": transformers.MobileBertForPreTraining}
NEAR = 1e-4
SMALL = 64  # tokens per batch: fixed shapes are filled up, and these tests ask little


class Plain:
    """A checkpoint as transformers alone reads it; no code of ours."""

    def __init__(self, name: str, folder) -> None:
        kind = transformers.AutoModelForCausalLM if name in CAUSAL else transformers.AutoModelForMaskedLM
        self.network = NEXT.get(name, kind).from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.causal = name in CAUSAL

    def ids(self, *texts: str) -> dict[str, torch.Tensor]:
        encoded = self.tokenizer(*texts, return_tensors="pt", return_token_type_ids=True)
        if self.causal and encoded["input_ids"][0, 0] != self.tokenizer.bos_token_id:
            start = torch.tensor([[self.tokenizer.bos_token_id]])
            encoded = {"input_ids": torch.cat([start, encoded["input_ids"]], 1)}
        names = ("input_ids", "token_type_ids") if self.network.config.model_type in SEGMENTED else ("input_ids",)
        return {key: encoded[key] for key in names if key in encoded}

    def run(self, inputs, **options):
        with torch.no_grad():
            return self.network(**inputs, **options)

    def logps(self, inputs) -> torch.Tensor:
        """[length, vocabulary]"""
        out = self.run(inputs)
        return torch.log_softmax(out["prediction_logits" if "prediction_logits" in out else "logits"][0], -1)

    def at_mask(self, *texts: str) -> torch.Tensor:
        inputs = self.ids(*texts)
        return self.logps(inputs)[inputs["input_ids"][0].tolist().index(self.tokenizer.mask_token_id)]


SEGMENTED = ("bert", "albert", "mobilebert")


@pytest.fixture(scope="module")
def plain(checkpoint):
    return cache(lambda name: Plain(name, checkpoint(name)))


@pytest.fixture
def ask(opened):
    def answer(name: str, *requests):
        return Engine(opened(name), AnswerStore(":memory:"), batch_tokens=SMALL).answer(requests)

    return answer


def blank(plain: Plain, left: str, right: str, before: str | None) -> torch.Tensor:
    """The log-probabilities at the blank, from text alone."""
    if plain.causal:
        return plain.logps(plain.ids((f"{before} {left}" if before else left).rstrip()))[-1]
    whole = left.rstrip() + plain.tokenizer.mask_token + right  # the space belongs to the word that fills the blank
    return plain.at_mask(before, whole) if before else plain.at_mask(whole)


BLANKS = [
    ("The ", " was late.", None),
    ("The ", " met the nurse, unbelievably.", "The bus was late."),
    ("She met the man and the ", ".", "Everyone is here."),
]


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_blanks_agree(name, plain, ask):
    exact = plain(name)
    words = ("woman", "man", "nurse")
    asked = [
        FillBlank(left, "" if exact.causal else right, before, words=words, top=10) for left, right, before in BLANKS
    ]
    for request, filled in zip(asked, ask(name, *asked), strict=True):
        logps = blank(exact, request.left, request.right, request.before)
        for word in words:
            (piece,) = filled.words[word].pieces
            spelled = exact.tokenizer("a " + word, add_special_tokens=False)["input_ids"][-1]
            assert piece.id == spelled
            assert piece.logp == pytest.approx(logps[spelled].item(), abs=NEAR)
            clear = (logps - logps[spelled]).abs() > 2 * NEAR
            better = (logps > logps[spelled]) & clear
            assert int(better.sum()) < filled.words[word].rank <= int(better.sum()) + int((~clear).sum())
        best = torch.topk(logps, 10)
        assert [token.logp for token in filled.top] == pytest.approx(best.values.tolist(), abs=NEAR)
        assert all(token.logp == pytest.approx(logps[token.id].item(), abs=NEAR) for token in filled.top)
        assert len({token.id for token in filled.top}) == 10
        assert filled.list_size == len(logps)


def test_equal_pieces_are_tied_and_share_the_better_rank(tmp_path, checkpoint):
    """Two output rows made equal by hand: neither is ranked above the other."""
    network = transformers.BertForMaskedLM.from_pretrained(checkpoint("bert"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint("bert"))
    man, woman = tokenizer.convert_tokens_to_ids(["man", "woman"])
    with torch.no_grad():
        network.get_output_embeddings().weight[man] = network.get_output_embeddings().weight[woman]
        network.get_output_embeddings().bias[man] = network.get_output_embeddings().bias[woman]
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    words = ("man", "woman", "nurse")
    model = open_model(str(tmp_path))
    engine = Engine(model, AnswerStore(":memory:"), batch_tokens=SMALL)
    (filled,) = engine.answer([FillBlank("The ", " was late.", words=words)])
    logps = blank(Plain("tied", tmp_path), "The ", " was late.", None)
    for word in words:
        logp = logps[tokenizer.convert_tokens_to_ids(word)]
        near = int(((logps - logp).abs() <= TIE_NATS).sum()) - 1
        assert filled.words[word].tied == near
        assert filled.words[word].rank == int((logps > logp + 1e-6).sum()) + 1
    assert filled.words["man"].tied >= 1
    assert filled.words["man"].rank == filled.words["woman"].rank


TEXTS = ["The nurse was unbelievably late.", "So was the hairdresser (and he knew)."]


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("given", [None, "The bus was late."])
def test_masked_texts_agree(name, given, plain, ask):
    exact = plain(name)
    for text, scored in zip(TEXTS, ask(name, *(ScoreText(text, given=given) for text in TEXTS)), strict=True):
        inputs = exact.ids(given, text) if given else exact.ids(text)
        row = inputs["input_ids"][0]
        specials = exact.tokenizer.all_special_ids
        inside = [i for i in range(len(row)) if row[i] not in specials]
        first = max(i for i in range(len(row) - 1) if row[i] in specials)
        inside = [i for i in inside if i > first]
        expected = []
        for at in inside:
            masked = row.clone()
            masked[at] = exact.tokenizer.mask_token_id
            expected.append(exact.logps({**inputs, "input_ids": masked[None]})[at, row[at]].item())
        assert scored.positions == tuple(inside)
        assert [token.logp for token in scored.tokens] == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("name", CAUSAL)
def test_causal_texts_agree(name, plain, ask):
    exact = plain(name)
    for text, scored in zip(TEXTS, ask(name, *(ScoreText(text) for text in TEXTS)), strict=True):
        row = exact.ids(text)["input_ids"]
        logps = exact.logps({"input_ids": row})
        expected = [logps[i - 1, row[0, i]].item() for i in range(1, row.shape[1])]
        assert scored.row_ids == tuple(row[0].tolist())
        assert [token.logp for token in scored.tokens] == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_text_given_another_is_its_share_of_the_running_text(name, plain, ask):
    exact = plain(name)
    (scored,) = ask(name, ScoreText(TEXTS[1], given=TEXTS[0]))
    whole, front = (exact.ids(text)["input_ids"] for text in (" ".join(TEXTS), TEXTS[0]))
    logps = exact.logps({"input_ids": whole})
    expected = [logps[i - 1, whole[0, i]].item() for i in range(front.shape[1], whole.shape[1])]
    assert [token.logp for token in scored.tokens] == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("name", CAUSAL)
def test_texts_with_shared_beginnings_agree_with_each_alone(name, plain, ask):
    """Long enough to pass gemma's sliding window of 16, many enough to be computed as a tree."""
    exact = plain(name)
    jobs = ("nurse", "man", "woman", "hairdresser", "bus", "target")
    texts = [f"The bus was late. So was the nurse, unbelievably. She met the {job} and he knew." for job in jobs]
    for text, scored in zip(texts, ask(name, *map(ScoreText, texts)), strict=True):
        row = exact.ids(text)["input_ids"]
        logps = exact.logps({"input_ids": row})
        expected = [logps[i - 1, row[0, i]].item() for i in range(1, row.shape[1])]
        assert [token.logp for token in scored.tokens] == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("name", NEXT)
def test_following_agrees(name, plain, ask):
    exact = plain(name)
    pairs = [("The bus was late.", "So was the nurse."), ("So was the nurse.", "The bus was late.")]
    answers = ask(name, *(FollowsText(*pair) for pair in pairs))
    for pair, follows in zip(pairs, answers, strict=True):
        logits = exact.run(exact.ids(*pair))["seq_relationship_logits"][0]
        assert follows.log_is_next == pytest.approx(torch.log_softmax(logits, -1)[0].item(), abs=NEAR)


def test_a_head_that_is_nearly_sure_keeps_its_digits(tmp_path, checkpoint):
    """log(1 - 2e-9) is no zero: two sentences that surely follow can still be told apart by their odds."""
    model = transformers.BertForPreTraining.from_pretrained(checkpoint("bert"))
    with torch.no_grad():
        model.cls.seq_relationship.weight.zero_()
        model.cls.seq_relationship.bias.copy_(torch.tensor([20.0, 0.0]))
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(checkpoint("bert")).save_pretrained(tmp_path)
    (answer,) = Engine(open_model(str(tmp_path)), AnswerStore(":memory:")).answer([FollowsText("The bus.", "It came.")])
    assert answer.log_is_next == pytest.approx(-np.log1p(np.exp(-20.0)), rel=1e-5)


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
@pytest.mark.parametrize("layer", [-2, -1, 0, 1, 2])
def test_hidden_states_agree(name, layer, plain, ask):
    exact = plain(name)
    inputs = exact.ids(TEXTS[0])
    hidden = exact.run(inputs, output_hidden_states=True)["hidden_states"][layer][0].numpy()
    mean, last = ask(name, EmbedText(TEXTS[0], "mean", layer), EmbedText(TEXTS[0], "last", layer))
    end = len(hidden) - (1 if exact.causal else 2)  # masked families put a token behind the text
    assert np.allclose(mean.values, hidden.mean(0), atol=NEAR)
    assert np.allclose(last.values, hidden[end], atol=NEAR)
    assert last.positions == (end,)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma", "opt"])
def test_a_model_shares_beginnings_whatever_is_asked_first(name, checkpoint):
    assert open_model(str(checkpoint(name))).traits.shares_prefixes


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_first_batch_of_a_fresh_model_is_right(name, checkpoint, plain):
    model, exact = open_model(str(checkpoint(name))), plain(name)
    (read,) = model.reads(EmbedText(TEXTS[0], "first"))
    batch = pack(BatchPlan(((read.row,),), (1, len(read.row.ids))), {read.row: (read,)})
    hidden = exact.run(exact.ids(TEXTS[0]), output_hidden_states=True)["hidden_states"][-1][0, 1].numpy()
    assert np.allclose(model.forward(batch)[0], hidden, atol=NEAR)
