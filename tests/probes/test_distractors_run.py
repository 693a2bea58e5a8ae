"""A whole run of the distractors probe: small random networks, a set whose targets they have as one piece."""

from __future__ import annotations

import io
import json
import math
from functools import cache

import pytest
from rich.console import Console
from tokenizers import AddedToken

import trueprobe
import zoo
from materials import PLACES
from trueprobe import probes
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import open_model
from trueprobe.results.render import terminal as summary
from trueprobe.runs.check import NEAR
from trueprobe.types import FillBlank


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    path = tmp_path_factory.mktemp("material") / "places.toml"
    path.write_text(PLACES, encoding="utf-8")
    return str(path)


@pytest.fixture
def run(checkpoint, material, tmp_path):
    def run(*names, out="run", **settings):
        models = [str(checkpoint(name)) for name in names]
        settings = {"material": material, **settings}
        return trueprobe.run("distractors", models, tmp_path / out, settings=settings, store=tmp_path / "answers")

    return run


def printed(run) -> str:
    page = io.StringIO()
    summary.show(run, Console(file=page, width=200))
    return page.getvalue()


@pytest.mark.slow
def test_every_item_is_scored_and_the_answers_are_the_models(run, opened):
    done = run("bert", "gpt2", position="all")
    seen = done.observations("distractors")
    assert (seen["why_not"] == "").all()
    assert len(seen) == 2 * len(done.items("distractors"))
    row = seen[(seen["model"] == "bert") & (seen["condition_attractors"] == 2)].iloc[17]
    text = done.items("distractors").set_index("item")["text"][row["item"]]
    left, right = text.split("___")
    words = ("nurse", "bus", "girl", "king")
    (filled,) = Engine(opened("bert"), AnswerStore(":memory:")).answer([FillBlank(left, right, words=words)])
    assert math.log(row["target_probability"]) == pytest.approx(filled.words[row["target"]].logp, abs=NEAR)
    assert row["answer"] == max(words, key=lambda word: filled.words[word].logp)


# ---------------------------------------------------------------- the ids that the authors' code feeds

AROUND = {"bert": ("[CLS]", " [MASK] . [SEP]"), "roberta": ("<s>", " <mask> . </s>"), "gpt2": ("<|endoftext|>", "")}
PUBLISHED = {"bert": "bert-base-uncased", "roberta": "roberta-base", "gpt2": "gpt2"}


@cache
def made(faithful, position="after"):
    probe = probes.make("distractors", {"faithful": faithful, "position": position})
    return probe, probe.items()


def ids_fed(model, requests) -> list[list[int]]:
    return [list(model.reads(request)[0].row.ids) for request in requests]


def check_ids(model, native, kind, position, step):
    """Every `step`-th item and its base contexts: the authors join all by spaces and tokenise the whole string."""
    start, end = AROUND[kind]
    probe, items = made(True, position)
    for item in items[::step]:
        requests = probe.ask(item, model.card)
        sentences = [item.fields[key] for key in ("sentence", "base", "table")]
        whole = [f"{start} {sentence.context} {sentence.left.rstrip()}{end}" for sentence in sentences]
        assert ids_fed(model, requests) == native(whole, add_special_tokens=False)["input_ids"], item.text


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_faithful_feeds_the_ids_of_the_whole_string(kind, tmp_path):
    tokenizer = zoo.byte_level(kind == "roberta")
    if kind == "roberta":  # as RoBERTa's own, its mask takes the space before it
        tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True, special=True)})
    model = open_model(str(zoo.save(kind, tmp_path, tokenizer=tokenizer)))
    check_ids(model, tokenizer, kind, "after", 997)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PUBLISHED)
def test_faithful_feeds_the_authors_ids_with_the_published_tokenizers(kind, tmp_path):
    native = zoo.real_tokenizer(PUBLISHED[kind])
    model = open_model(str(zoo.save(kind, tmp_path, tokenizer=zoo.real_tokenizer(PUBLISHED[kind]))))
    check_ids(model, native, kind, "after", 101)


def test_only_faithful_puts_spaces_around_the_text(opened):
    """ " Joe" for RoBERTa is the piece within a text; what is asked otherwise begins a text."""
    model = opened("roberta")
    asked = {}
    for faithful in (False, True):
        probe, items = made(faithful)
        asked[faithful] = probe.ask(items[0], model.card)[0]
    assert (asked[True].left, asked[True].right) == (f" {asked[False].left}", f"{asked[False].right} ")
    fed = {faithful: ids_fed(model, [request])[0] for faithful, request in asked.items()}
    assert fed[True] != fed[False]


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.0, 1.1])
def test_a_model_that_fails_the_gate_gets_that_said_instead_of_a_table(run, monkeypatch, least):
    monkeypatch.setattr("trueprobe.probes.distractors.measures.LEAST_COMPETENCE", least)
    done = run("bert")
    found = printed(done)
    competence = done.estimates.query("measure == 'base_competence'")["value"].item()
    told = (f"would show nothing: bert ({100 * competence:.1f} %)", f"fails the gate: all {len(done.claims)} claims")
    assert [line in found for line in told] == [least > 1] * 2
    assert ("multiple related 3" in found) == (least == 0)
    assert ("correct at base, bert: place" in found) == (least > 1)  # where there is no table instead


@pytest.mark.slow
def test_the_best_wording_is_chosen_over_all_models_and_told(run):
    done = run("bert", "gpt2", wording="best")
    told = json.loads((done.folder / "probes.json").read_text(encoding="utf-8"))["distractors"]
    chosen = told["facts"]["wording"]["place"]
    assert chosen in ("plain", "late")
    assert told["facts"]["notes"][0].startswith(f"wording for place: {chosen}; targets preferred at base, of 8: plain ")
    assert told["facts"]["notes"][0] in printed(done)
    assert set(done.items("distractors")["condition_wording"]) == {chosen}
    assert set(done.estimates["condition_wording"]) == {"best"}
    by_wording = {}
    for wording in ("plain", "late"):
        seen = run("bert", "gpt2", wording=wording, out=wording).observations("distractors")
        by_wording[wording] = seen.drop_duplicates(["model", "target"])["base_preferred"].sum()
    assert by_wording[chosen] == max(by_wording.values())


@pytest.mark.slow
def test_a_second_run_needs_no_forward_pass(run):
    run("bert", wording="best")
    again = run("bert", wording="best", out="again")
    timing = json.loads((again.folder / "timing.json").read_text(encoding="utf-8"))
    assert timing["models"]["bert"]["rows_computed"] == 0


@pytest.mark.slow
def test_words_of_several_pieces_are_counted_not_guessed(checkpoint, tmp_path):
    done = trueprobe.run("distractors", [str(checkpoint("bert"))], tmp_path / "run", limit=40)
    seen = done.observations("distractors")
    assert (seen["why_not"] != "").any()
    assert "so that a table would show nothing: bert (nothing scored)" in " ".join(printed(done).split())
