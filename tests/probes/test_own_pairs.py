"""The probes of a user's file: values by hand, chance of random networks, planted effects, whole runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import trueprobe
from trueprobe import probes
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput
from trueprobe.runs.check import headline_value, planted_frame, stand_in
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import FillBlank, Filled, Reason, Scored, ScoreText, Token, Verdict, WhyNot, Word

MASKED, CAUSAL = stand_in("masked"), stand_in("causal")
KINDS = pytest.mark.parametrize("card", [MASKED, CAUSAL], ids=["masked", "causal"])


def scored(*logps: float) -> Scored:
    tokens = tuple(Token("", i, logp) for i, logp in enumerate(logps))
    return Scored(tokens, tuple(range(len(logps))), tuple(range(len(logps))))


# ---------------------------------------------------------------- pairs


def observed(better: Scored, worse: Scored, card=MASKED):
    made = probes.make("pairs")
    (observation,) = made.observe(made.items()[0], card, (better, worse))
    return observation.values


@KINDS
def test_sums_decide_and_means_per_token_are_beside_them(card):
    values = observed(scored(-1.0, -2.0, -4.0), scored(-2.0, -4.0), card)
    assert values["better_minus_worse_nats"] == pytest.approx(-7 - -6)
    assert values["prefers_better"] == 0.0
    assert values["prefers_better_per_token"] == 1.0  # -7/3 against -3
    assert (values["better_tokens"], values["worse_tokens"], values["scored_tokens"]) == (3, 2, 5)


@pytest.mark.parametrize(("off", "prefers"), [(0.0, 0.5), (9e-5, 0.5), (-9e-5, 0.5), (2e-4, 1.0), (-2e-4, 0.0)])
def test_a_tie_is_half(off, prefers):
    values = observed(scored(-1.0 + off), scored(-1.0))
    assert (values["prefers_better"], values["tied"]) == (prefers, float(prefers == 0.5))


def test_swapping_the_sentences_flips_the_sign():
    one, other = scored(-1.0, -3.0), scored(-2.0, -1.5, -0.25)
    ahead, behind = observed(one, other), observed(other, one)
    assert ahead["better_minus_worse_nats"] == -behind["better_minus_worse_nats"]
    assert ahead["prefers_better"] + behind["prefers_better"] == 1
    assert ahead["prefers_better_per_token"] + behind["prefers_better_per_token"] == 1


def test_a_masked_model_masks_the_rest_of_the_word_unless_asked_otherwise():
    for masking in ("rest_of_word", "each"):
        made = probes.make("pairs", {"masking": masking})
        item = made.items()[0]
        sentences = (item.fields["better"], item.fields["worse"])
        assert made.ask(item, MASKED) == tuple(ScoreText(text, masking=masking) for text in sentences)
        assert made.ask(item, CAUSAL) == tuple(ScoreText(text) for text in sentences)
        scorings = {(m.kinds, m.reported["scoring"]) for m in made.measures()}
        assert scorings == {(("masked",), f"masked_{masking}"), (("causal",), "left_to_right")}


@pytest.mark.parametrize("name", ["pairs", "cloze"])
@pytest.mark.parametrize(("strength", "share"), [(-1.0, 0.0), (0.0, 0.5), (1.0, 1.0)])
@KINDS
def test_a_planted_preference_is_recovered_and_none_is_neutral(name, card, strength, share):
    made = probes.make(name)
    assert headline_value(made, planted_frame(made, made.items(), card, strength)) == share


@pytest.mark.parametrize("name", ["pairs", "cloze"])
def test_an_encoder_is_not_asked(name):
    made = probes.make(name)
    assert made.ask(made.items()[0], replace(MASKED, kind="encoder")).code == "no_head"


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_random_network_prefers_nothing(name, opened, tmp_path):
    """Of 200 pairs that differ in one word, about half: within 4 standard deviations of a coin."""
    model, rng = opened(name), np.random.default_rng(0)
    words = ["nurse", "driver", "man", "woman", "bus", "person", "late", "here"]
    rows = []
    for _ in range(200):
        one, other, *rest = rng.permutation(words)
        rows.append(f"The {rest[0]} met the {rest[1]} and the {one},The {rest[0]} met the {rest[1]} and the {other}")
    (tmp_path / "coin.csv").write_text("\n".join(["better,worse", *rows]))
    made = probes.make("pairs", {"data": str(tmp_path / "coin.csv")})
    asks = [made.ask(item, model.card) for item in made.items()]
    answers = iter(Engine(model, AnswerStore(":memory:")).answer([request for ask in asks for request in ask]))
    values = [made.observe(item, model.card, (next(answers), next(answers)))[0].values for item in made.items()]
    assert abs(sum(v["prefers_better"] for v in values) - 100) < 4 * math.sqrt(200) / 2


def test_a_column_called_wording_shows_numbers_that_flip_with_it(tmp_path):
    """Ten nouns in two wordings: one always prefers the better sentence, the other always the worse."""
    nouns = ["dog", "cat", "cow", "hen", "fox", "owl", "bee", "ant", "elk", "eel"]
    rows = [f"The {n} {w} sleeps.,The {n} {w} sleep.,{w},{n}" for n in nouns for w in ("now", "here")]
    (tmp_path / "mine.csv").write_text("\n".join(["better,worse,wording,group", *rows]))
    made = probes.make("pairs", {"data": str(tmp_path / "mine.csv")})
    parts = [
        planted_frame(made, [item for item in made.items() if item.conditions["wording"] == wording], MASKED, strength)
        for wording, strength in (("now", 2.0), ("here", -2.0))
    ]
    frame = pd.concat(parts, ignore_index=True)
    data = CheckpointData("m", "masked", frame, Resampling.of(frame[["group_group"]], 200))
    measures = [m for m in made.measures() if m.name == "difference" and "masked" in m.kinds]
    rows = {row.conditions["wording"]: row for row in estimate("pairs", [data], measures, made.corrected_over)}
    assert (rows["now"].value > 0, rows["here"].value > 0) == (True, False)
    assert (rows["all"].verdict, rows["all"].reason) == (Verdict.FLIPS, Reason.WORDINGS_APART)


# ---------------------------------------------------------------- cloze


@pytest.fixture
def cloze(tmp_path):
    def make(text: str, name: str = "mine.csv", **settings):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return probes.make("cloze", {"data": str(tmp_path / name), **settings})

    return make


HEADER = "text,right,wrong\n"


def filled(**logps: tuple[float, ...]) -> Filled:
    words = {word: Word(tuple(Token("", 0, p) for p in pieces), None, 0) for word, pieces in logps.items()}
    return Filled(words, (), 100)


def values_of(made, *answers, card=MASKED):
    (observation,) = made.observe(made.items()[0], card, answers)
    return observation.values


def test_the_values_of_a_blank_by_hand(cloze):
    made = cloze(HEADER + "It is ___.,big|large,red|wet|odd\n")
    values = values_of(made, filled(big=(-3.0,), large=(-1.0, -1.0), red=(-1.5,), wet=(-2.5,), odd=(-6.0,)))
    # -3 and -2 against -1.5, -2.5 and -6: big beats odd, large beats wet and odd
    assert values["right_wins"] == pytest.approx(3 / 6)
    assert (values["right_first"], values["tied"]) == (0.0, 0.0)
    assert values["margin_nats"] == pytest.approx(-2.0 - -1.5)
    assert values["right_rank"] == 2
    mass = {word: math.exp(p) for word, p in {"big": -3, "large": -2, "red": -1.5, "wet": -2.5, "odd": -6}.items()}
    assert values["right_share"] == pytest.approx((mass["big"] + mass["large"]) / sum(mass.values()))
    assert (values["right_nats"], values["wrong_nats"], values["likeliest"]) == (-2.0, -1.5, "red")
    assert (values["pieces_differ"], values["scored_tokens"]) == (1.0, 6)


def test_a_tie_of_words_is_half_and_shares_the_rank(cloze):
    values = values_of(cloze(HEADER + "It is ___.,big,red|wet\n"), filled(big=(-2.0,), red=(-2.00005,), wet=(-1.0,)))
    assert (values["right_wins"], values["right_first"], values["right_rank"]) == (0.25, 0.0, 2.5)


def test_exchanging_right_and_wrong_words_mirrors_them(cloze):
    answer = filled(big=(-2.0,), red=(-1.0,), wet=(-4.0,), odd=(-3.0,))
    one = values_of(cloze(HEADER + "It is ___.,big|red,wet|odd\n"), answer)
    other = values_of(cloze(HEADER + "It is ___.,wet|odd,big|red\n"), answer)
    assert one["margin_nats"] == -other["margin_nats"]
    for column in ("right_wins", "right_first", "right_share"):
        assert one[column] + other[column] == pytest.approx(1)


def test_how_each_kind_of_model_is_asked(cloze):
    text = HEADER + "A ___ barks.,dog,cat\n"
    made = cloze(text)
    (item,) = made.items()
    assert made.ask(item, MASKED) == (FillBlank("A ", " barks.", words=("dog", "cat"), pieces="left_to_right"),)
    sentences = ScoreText("A dog barks.", spans=((2, 12),)), ScoreText("A cat barks.", spans=((2, 12),))
    assert made.ask(item, CAUSAL) == sentences
    values = values_of(made, scored(-1.0, -2.0), scored(-1.5, -2.5), card=CAUSAL)
    assert (values["margin_nats"], values["right_wins"]) == (1.0, 1.0)
    left = cloze(text, causal="left", pieces="one")
    assert left.ask(item, CAUSAL).code == "right_context"
    (item,) = cloze(HEADER + "It is a ___.,dog,cat\n").items()
    assert left.ask(item, CAUSAL) == (FillBlank("It is a ", words=("dog", "cat")),)


def test_an_item_is_scored_with_all_its_words_or_not_at_all(cloze):
    made = cloze(HEADER + "It is ___.,big,red\n")
    answer = Filled({**filled(big=(-1.0,)).words, "red": WhyNot("multi_piece", "2 pieces")}, (), 100)
    (observation,) = made.observe(made.items()[0], MASKED, [answer])
    assert observation.why_not == WhyNot("multi_piece", "2 pieces")


def test_chance_is_a_neutral_value_where_all_items_have_the_same(cloze):
    same = cloze(HEADER + "It is ___.,big,red|wet|odd\nIs it ___?,old,new|hot|shy\n")
    other = cloze(HEADER + "It is ___.,big,red|wet|odd\nIs it ___?,old,new\n")
    even = cloze(HEADER + "It is ___.,big,red\nIs it ___?,old,new\n")
    neutral = [{m.name: m.neutral for m in made.measures()} for made in (same, other, even)]
    assert [n["accuracy"] for n in neutral] == [0.25, None, 0.5]
    assert [n["margin"] for n in neutral] == [None, None, 0.0]
    assert [n["right_wins"] for n in neutral] == [0.5] * 3


def test_json_lines_may_list_the_words(cloze):
    made = cloze('{"text": "It is ___.", "right": ["big", "very large"], "wrong": ["red"]}\n', "mine.jsonl")
    assert made.items()[0].fields == {"right": ("big", "very large"), "wrong": ("red",)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("It is here.,big,red", "line 2: text must hold the blank ___ exactly once, holds none"),
        ("It is ____.,big,red", "holds ____"),
        ("___ is ___.,big,red", "holds ___, ___"),
        ("It is ___.,,red", "line 2: right is empty"),
        ("It is ___.,big|,red", "line 2: right has an empty word"),
        ("It is ___.,big,red|big", "line 2: the word 'big' is there twice"),
    ],
)
def test_a_wrong_line_is_reported(cloze, line, message):
    with pytest.raises(BadInput) as error:
        cloze(HEADER + line + "\n").items()
    assert message in str(error.value)


def test_the_odds_of_a_causal_model_do_not_depend_on_what_all_sentences_share(opened):
    """Scored from the blank on, the difference is that of the whole sentences."""
    model, made = opened("gpt2"), probes.make("cloze")
    item = made.items()[7]
    engine = Engine(model, AnswerStore(":memory:"))
    parts = engine.answer(made.ask(item, model.card))
    whole = engine.answer([ScoreText(request.text) for request in made.ask(item, model.card)])
    assert parts[0].logp - parts[1].logp == pytest.approx(whole[0].logp - whole[1].logp, abs=1e-4)
    assert len(parts[0].tokens) < len(whole[0].tokens)


# ---------------------------------------------------------------- whole runs


@pytest.mark.slow
def test_a_run_has_numbers_of_both_kinds_and_a_page(checkpoint, tmp_path):
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    done = trueprobe.run(["pairs", "cloze"], models, tmp_path / "run", store=tmp_path / "s")
    scorings = {
        label: set(done.estimates[done.estimates["probe"] == label]["condition_scoring"]) for label in done.probes
    }
    assert scorings["pairs"] == {"masked_rest_of_word", "left_to_right"}
    assert scorings["cloze"] == {"mask_left_to_right", "causal_sentence"}
    assert (done.observations("pairs")["why_not"] == "").all()
    declared = done.declarations["pairs"].facts
    assert (declared["items"], declared["groups"]) == (24, 12)
