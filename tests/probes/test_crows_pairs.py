"""CrowS-Pairs: which tokens count, what a tie is, what cannot be scored, and what it costs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import trueprobe
import zoo
from trueprobe import probes
from trueprobe.engine import AnswerStore, Engine
from trueprobe.runs.check import headline_value, planted_frame, stand_in
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import Scored, ScoreText, Token, WhyNot

CROWS = zoo.SHARED / "crows_pairs" / "crows_pairs_anonymized.csv"
MASKED, CAUSAL = stand_in("masked"), stand_in("causal")


def probe(**settings):
    return probes.make("crows_pairs", {"data": "sample", **settings})


def scored(*tokens: tuple[int, float]) -> Scored:
    """A row of [CLS], these ids with their log-probabilities, [SEP]."""
    found = tuple(Token("", i, logp) for i, logp in tokens)
    return Scored(found, (101, *(i for i, _ in tokens), 102), tuple(range(1, len(tokens) + 1)))


def observed(more: Scored, less: Scored, card=MASKED, direction="stereo", **settings):
    made = probe(**settings)
    item = next(item for item in made.items() if item.conditions["direction"] == direction)
    (seen,) = made.observe(item, card, (more, less))
    return seen


# "he was poor" / "he was very rich": he and was are shared
MORE = scored((1, -1.0), (2, -2.0), (3, -4.0))
LESS = scored((1, -1.5), (2, -3.0), (4, -0.5), (5, -2.5))


@pytest.mark.parametrize(
    ("variant", "more", "less", "tokens"),
    [
        ("shared", -3.0, -4.5, 4),  # sums of -1 -2 and of -1.5 -3
        ("differing", -4.0, -1.5, 3),  # means of -4 and of -0.5 -2.5
        ("sentence", -7 / 3, -7.5 / 4, 7),
    ],
)
def test_the_variants_by_hand(variant, more, less, tokens):
    values = observed(MORE, LESS, variant=variant).values
    assert values["more_nats"] == pytest.approx(more)
    assert values["less_nats"] == pytest.approx(less)
    assert values["preference_nats"] == pytest.approx(more - less)
    assert values["prefers_stereotype"] == float(more > less)
    assert values["scored_tokens"] == tokens
    assert values["variant"] == variant


def test_a_causal_model_is_scored_by_whole_sentences_and_says_so():
    values = observed(MORE, LESS, CAUSAL).values
    assert values["variant"] == "sentence"
    assert values["more_nats"] == pytest.approx(-7 / 3)


@pytest.mark.parametrize("variant", ["shared", "differing", "sentence"])
def test_swapping_the_sides_flips_the_sign(variant):
    one, other = (observed(*sides, variant=variant).values for sides in ((MORE, LESS), (LESS, MORE)))
    assert one["preference_nats"] == pytest.approx(-other["preference_nats"])
    assert one["prefers_stereotype"] + other["prefers_stereotype"] == 1


def test_alignment_takes_the_sentences_in_the_authors_order():
    """Which of two repeated stretches is aligned depends on which sentence comes first."""
    more = scored((1, -1.0), (2, -10.0), (1, -100.0))
    less = scored((2, -2.0), (1, -3.0), (2, -5.0))
    stereo, anti = (observed(more, less, direction=d).values for d in ("stereo", "antistereo"))
    assert (stereo["more_nats"], stereo["less_nats"]) == (-11.0, -8.0)  # 1 2 | 1 2
    assert (anti["more_nats"], anti["less_nats"]) == (-110.0, -5.0)  # 2 1 | 2 1


@pytest.mark.parametrize(
    ("off", "rounding", "prefers"),
    [
        (0.0, "none", 0.5),
        (9e-5, "none", 0.5),
        (-9e-5, "none", 0.5),
        (2e-4, "none", 1.0),
        (-2e-4, "none", 0.0),
        (2e-4, "authors", 0.5),  # -1.0000 and -1.0002 are both -1.0
        (2e-3, "authors", 1.0),
        (-2e-3, "authors", 0.0),
    ],
)
def test_ties_are_neutral(off, rounding, prefers):
    more, less = scored((1, -1.0), (2, -1.0)), scored((1, -1.0 - off), (3, -1.0))
    values = observed(more, less, rounding=rounding).values
    assert values["prefers_stereotype"] == prefers
    assert values["preference_nats"] == pytest.approx(off)  # never rounded


@pytest.mark.parametrize(
    ("variant", "less", "detail"),
    [
        ("differing", scored((1, -1.0), (2, -2.0)), "no token that the other has not"),
        ("shared", scored((7, -1.0)), "share no token"),
    ],
)
def test_what_cannot_be_scored_says_why(variant, less, detail):
    why = observed(MORE, less, variant=variant).why_not
    assert why.code == "no_span"
    assert detail in why.detail


def test_an_encoder_is_not_asked():
    made = probe()
    assert made.ask(made.items()[0], replace(MASKED, kind="encoder")) == WhyNot(
        "no_head", "an encoder gives no word a probability"
    )


@pytest.mark.parametrize("variant", ["shared", "differing", "sentence"])
def test_a_planted_preference_is_recovered_and_none_is_neutral(variant):
    made = probe(variant=variant)
    for card in (MASKED, CAUSAL):
        for strength, share in ((-1.0, 0.0), (0.0, 0.5), (1.0, 1.0)):
            assert headline_value(made, planted_frame(made, made.items(), card, strength)) == share


# ---------------------------------------------------------------- the published pairs


def published() -> list[dict[str, str]]:
    if not CROWS.exists():
        pytest.skip("no CrowS-Pairs beside the checkout (../shared/data)")
    with CROWS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_published_pairs_are_counted_by_category():
    rows = published()
    items = probe(data=str(CROWS)).items()
    assert len(items) == 1508
    counts = Counter(item.conditions["category"] for item in items)
    assert counts["race-color"] == 516
    assert counts["disability"] == 60
    assert Counter(item.conditions["direction"] for item in items) == {"stereo": 1290, "antistereo": 218}
    assert items[7].text == f"{rows[7]['sent_more']} / {rows[7]['sent_less']}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokenizer", "missing"),
    [
        ("bert-base-uncased", {"disability": 1, "race-color": 1, "socioeconomic": 1}),
        ("albert", {"disability": 1, "race-color": 1, "socioeconomic": 1}),
        ("roberta-base", {"disability": 1, "gender": 1, "socioeconomic": 1}),
    ],
)
def test_pairs_without_differing_tokens_are_those_the_published_shares_imply(tokenizer, missing):
    """bias-bench's percentages are whole counts of 59 disability pairs, 171 socioeconomic ones, and so on."""
    published()
    real = zoo.real_tokenizer(tokenizer)
    made, lost = probe(data=str(CROWS), variant="differing"), Counter()
    for item in made.items():
        rows = [real(text)["input_ids"] for text in (item.fields["pair"].more, item.fields["pair"].less)]
        sides = [scored(*((i, -1.0) for i in row[1:-1])) for row in rows]
        (seen,) = made.observe(item, MASKED, sides)
        lost[item.conditions["category"]] += seen.why_not is not None
    assert {name: count for name, count in lost.items() if count} == missing


# ---------------------------------------------------------------- whole runs


@pytest.fixture
def run(checkpoint, tmp_path):
    def run(name, **settings):
        folder = tmp_path / "-".join([name, *settings.values()])
        settings = {"data": "sample", **settings}
        return trueprobe.run("crows_pairs", str(checkpoint(name)), folder, settings=settings, store=tmp_path / "s")

    return run


def test_the_second_variant_needs_no_forward_pass(run):
    shared, differing = run("bert"), run("bert", variant="differing")
    timing = json.loads((differing.folder / "timing.json").read_text(encoding="utf-8"))
    assert timing["models"]["bert"]["rows_computed"] == 0
    assert set(shared.estimates["condition_variant"]) == {"shared"}
    assert set(differing.estimates["condition_variant"]) == {"differing"}
    one, other = (done.observations("crows_pairs")["preference_nats"] for done in (shared, differing))
    assert not one.equals(other)


def test_every_token_costs_one_row_and_the_same_row_is_computed_once(opened):
    """A sentence of n tokens is n rows; where one token differs, masking it gives one row for both sentences."""
    model, made = opened("bert"), probe()
    pair = made.items()[6].fields["pair"]  # She / He cried when the film was over.
    requests = made.ask(made.items()[6], model.card)
    assert requests == (ScoreText(pair.more), ScoreText(pair.less))
    engine = Engine(model, AnswerStore(":memory:"))
    more, less = engine.answer(requests)
    assert engine.counts.happened["rows_computed"] == len(more.tokens) + len(less.tokens) - 1


def test_estimates_come_for_every_category_and_direction(run):
    found = run("bert").estimates
    cells = set(zip(found["condition_category"], found["condition_direction"], strict=True))
    categories, directions = ("all", "age", "gender", "socioeconomic"), ("all", "stereo", "antistereo")
    assert cells == {(c, d) for c in categories for d in directions}
    wanted = {"prefers_stereotype", "wins_of_all", "wins_of_decided", "neutral", "preference", "preference_median"}
    assert wanted <= set(found["measure"])
    whole = found.query("condition_category == 'all' and condition_direction == 'all'").set_index("measure")
    assert whole.loc["wins_of_all", "value"] + whole.loc["neutral", "value"] / 2 == pytest.approx(
        whole.loc["prefers_stereotype", "value"]
    )
    assert whole.loc["preference_lower_quartile", "value"] <= whole.loc["preference_median", "value"]


def test_a_causal_model_has_its_own_variants_name_in_the_estimates(run):
    done = run("gpt2")
    assert set(done.estimates["condition_variant"]) == {"sentence"}
    assert (done.observations("crows_pairs")["why_not"] == "").all()


@pytest.mark.slow
def test_without_any_preference_few_intervals_say_there_is_one():
    """40 pairs preferred by a coin: about one interval in twenty excludes one half."""
    rng = np.random.default_rng(0)
    measure = probe().headline
    decided = 0
    for _ in range(200):
        frame = pd.DataFrame({"prefers_stereotype": rng.integers(0, 2, 40).astype(float), "pair": range(40)})
        resampling = Resampling.of(frame[["pair"]].astype(str), resamples=300)
        (row,) = estimate("crows_pairs", [CheckpointData("coin", "masked", frame, resampling)], [measure])
        decided += row.verdict.startswith("holds")
    assert 2 <= decided <= 22
