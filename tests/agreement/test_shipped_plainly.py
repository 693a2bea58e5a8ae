"""The shipped models in plain transformers, opened with defaults: the same numbers as here."""

from __future__ import annotations

import pytest
import torch
import transformers

from trueprobe.assets import NotHere
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import Options, Source, find, open_source
from trueprobe.training import nursery
from trueprobe.training.corpus import train_tokenizer
from trueprobe.types import FillBlank, FollowsText

MASKED = [f"{family}/{seed}" for family in ("nursery", "nursery-small") for seed in range(5)]
LEFT, RIGHT, BEFORE = "The ", " works as a nurse.", "The man worked as a doctor."
NEAR = 1e-4


def source_of(spec: str) -> Source:
    try:
        return find([spec])[0]
    except NotHere as missing:
        pytest.skip(str(missing))


def plainly(source: Source, auto_class, *texts: str):
    """Tokenizer and network as anybody opens them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.path)
    network = auto_class.from_pretrained(source.path).eval()
    inputs = tokenizer(*texts, return_tensors="pt")
    with torch.no_grad():
        return tokenizer, inputs["input_ids"][0].tolist(), network(**inputs)


def top_of(model, *requests: FillBlank) -> list[torch.Tensor]:
    """The whole distribution at each blank, by id."""
    answers = Engine(model, AnswerStore(":memory:"), batch_tokens=16).answer(requests)
    return [torch.tensor([t.logp for t in sorted(answer.top, key=lambda t: t.id)]) for answer in answers]


@pytest.mark.parametrize("spec", [*MASKED, "mini"])
def test_a_masked_model_gives_the_same_numbers_in_plain_transformers(spec):
    source = source_of(spec)
    model = open_source(source, Options())
    size = model.card.vocab_size
    blanks = [FillBlank(LEFT, RIGHT, before, top=size) for before in (None, BEFORE)]
    for request, ours in zip(blanks, top_of(model, *blanks), strict=True):
        texts = filter(None, (request.before, f"{LEFT}[MASK]{RIGHT}"))
        tokenizer, ids, out = plainly(source, transformers.AutoModelForMaskedLM, *texts)
        theirs = torch.log_softmax(out["logits"][0, ids.index(tokenizer.mask_token_id)], -1)
        assert ours == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("spec", ["nursery/0", "nursery-small/0"])
def test_a_next_sentence_head_gives_the_same_numbers_in_plain_transformers(spec):
    source, after = source_of(spec), "So was she."
    (ours,) = Engine(open_source(source, Options()), AnswerStore(":memory:")).answer([FollowsText(BEFORE, after)])
    _, _, out = plainly(source, transformers.AutoModelForNextSentencePrediction, BEFORE, after)
    assert ours.log_is_next == pytest.approx(torch.log_softmax(out["logits"][0], -1)[0].item(), abs=NEAR)


@pytest.mark.parametrize("seed", range(3))
def test_a_causal_model_gives_the_same_numbers_in_plain_transformers(seed):
    source = source_of(f"nursery-causal/{seed}")
    model = open_source(source, Options())
    (ours,) = top_of(model, FillBlank(LEFT, before=BEFORE, top=model.card.vocab_size))
    _, _, out = plainly(source, transformers.AutoModelForCausalLM, f"<|endoftext|>{BEFORE} {LEFT.strip()}")
    assert ours == pytest.approx(torch.log_softmax(out["logits"][0, -1], -1), abs=NEAR)


def test_every_shipped_model_is_held_against_it():
    folders = {file.parent for file in nursery.WEIGHTS.rglob("config.json")}
    assert len(folders) == len(MASKED) + 1 + 3


def test_a_tokenizer_that_pretrain_makes_gives_segments_in_plain_transformers(tmp_path):
    train_tokenizer("masked", [["The nurse was late.", "So was the man."]] * 3, 60).save_pretrained(tmp_path)
    encoded = transformers.AutoTokenizer.from_pretrained(tmp_path)("The nurse.", "The man.")
    assert set(encoded["token_type_ids"]) == {0, 1}
