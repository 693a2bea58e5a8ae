"""SEAT by template: each one's effect by hand and planted, and what the templates do to verdicts and variance."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest

import trueprobe
from trueprobe import probes
from trueprobe.runs import check as contracts
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import Vector

OWN = """
[card]
title = "tea and coffee"
version = "1"
licence = "MIT"
source = "made up"

[forms]
leaf = ["This is {a_word}.", "I drink {word}.", "{Words} are hot."]
bean = ["This is {word}.", "I drink {word}."]
taste = ["It is {word}."]

[sets.tea]
title = "teas"
words.leaf = ["assam", "mate", "sencha", "oolong"]

[sets.coffee]
title = "coffees"
words.bean = ["mocha", "latte", "ristretto", "lungo"]

[sets.good]
title = "good"
words.taste = ["nice"]

[sets.bad]
title = "bad"
words.taste = ["awful"]

[tests.drinks]
sets = ["tea", "coffee", "good", "bad"]
said = "sentences"
"""
THIS, DRINK = "This is ….", "I drink …."
TURNED = ('["tea", "coffee", "good", "bad"]', '["coffee", "tea", "good", "bad"]')


@pytest.fixture
def own(tmp_path):
    def write(*changes):
        text = OWN
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "own.toml").write_text(text)
        return str(tmp_path / "own.toml")

    return write


def observed(probe, vector_of):
    """Of a made-up model that says `vector_of(side, sentence)`."""
    rows, card = [], contracts.stand_in("masked")
    for item in probe.items():
        sides = [(side, said) for side, every in item.fields["test"].sets.items() for said in every]
        answers = [Vector(np.array(vector_of(side, said), np.float32), (0,)) for side, said in sides]
        for seen in probe.observe(item, card, answers):
            rows.append({"item": item.id, **item.conditions, **seen.values, "group_word": seen.groups[0]})
    return pd.DataFrame(rows)


def effects(vector_of, **settings):
    """The rows of effect sizes by wording."""
    probe = probes.make("seat", {"representation": "cls", "clusters": False, **settings})
    frame = observed(probe, vector_of)
    groups = frame[["group_word", "test", "side"]].set_axis(["word", "test", "side"], axis=1)
    drawn = Resampling.of(groups, resamples=2_000, within=probe.drawn_within)
    rows = estimate("seat", [CheckpointData("made up", "masked", frame, drawn)], probe.measures())
    return {row.conditions["wording"]: row for row in rows}


# ---------------------------------------------------------------- which templates count


def wordings(**settings):
    return {name: test.wordings for name, test in probes.make("seat", settings).tests.items()}


def test_the_template_is_the_sentence_without_its_word_and_article():
    (test,) = probes.make("seat", {"tests": "sent-weat7b"}).tests.values()
    of = {said.text: said.wording for side in test.sets.values() for said in side}
    assert of["This is a dance."] == of["This is math."] == of["This is John."] == "This is …."
    assert of["An equation is a thing."] == "… is a thing."
    assert of["The dances are here."] == "The … are here."


def test_a_template_counts_where_both_sides_have_it_four_times(own):
    assert wordings(material=own()) == {"drinks": (THIS, DRINK)}  # no coffees are hot
    lacks = ('said = "sentences"', 'said = "sentences"\nleft_out = { mocha = [2] }')
    assert wordings(material=own(lacks)) == {"drinks": ()}  # and one alone is compared with nothing


def test_the_published_tests_have_templates_where_they_are_made_of_them():
    found = wordings()
    assert {name for name, several in found.items() if several} == {
        name for name in found if name.startswith("sent-") and name != "sent-weat9"
    }
    assert found["sent-weat8"] == ("This is ….", "That is ….", "There is ….", "It is ….")
    assert len(found["sent-weat6"]) == 8
    assert sum(map(len, found.values())) == 233


# ---------------------------------------------------------------- effect sizes of templates

TOWARDS_A, BETWEEN, TOWARDS_B = (1, 0), (1, 1), (0, 1)  # associations 1, 0, −1
PLACED = {
    ("X", THIS): (TOWARDS_A, TOWARDS_A, BETWEEN, BETWEEN),
    ("Y", THIS): (TOWARDS_B, TOWARDS_B, BETWEEN, BETWEEN),
    ("X", DRINK): (TOWARDS_B, BETWEEN, BETWEEN, BETWEEN),
    ("Y", DRINK): (TOWARDS_A, BETWEEN, BETWEEN, BETWEEN),
}
NAMES = {"X": ("assam", "mate", "sencha", "oolong"), "Y": ("mocha", "latte", "ristretto", "lungo")}


def by_hand(side, said):
    if side in "AB":
        return TOWARDS_A if side == "A" else TOWARDS_B
    return PLACED[side, said.wording][NAMES[side].index(said.word)] if said.wording in (THIS, DRINK) else BETWEEN


def test_each_template_s_effect_by_hand(own):
    """ "This is …": means 0.5 and −0.5, squares 4 over 7. "I drink …": −0.25 and 0.25, squares 2 over 7.

    Over all sentences, with four teas that are hot besides: 1/12 and −1/8 about a mean of 0, squares 6 over 19."""
    found = effects(by_hand, material=own())
    assert found[THIS].value == pytest.approx(1 / np.sqrt(4 / 7))
    assert found[DRINK].value == pytest.approx(-0.5 / np.sqrt(2 / 7))
    assert found["all"].value == pytest.approx((1 / 12 + 1 / 8) / np.sqrt(6 / 19))
    assert {wording: e.n_items for wording, e in found.items()} == {"all": 20, THIS: 8, DRINK: 8}


def test_a_template_has_no_test_of_its_own(own):
    """Its p is that of its interval; the test over all sentences is the authors'."""
    probe = probes.make("seat", {"material": own(), "clusters": False})
    tested = {measure.conditions["wording"]: measure.test is not None for measure in probe.measures()}
    assert tested == {"all": True, THIS: False, DRINK: False}


def test_as_in_the_paper_there_is_only_the_row_that_pools(own):
    every, paper = (effects(by_hand, material=own(), wording=wording) for wording in ("all", "paper"))
    assert list(paper) == ["all"]
    for name in ("value", "low", "high", "p", "p_corrected", "detectable", "n_items", "n_groups"):
        assert getattr(paper["all"], name) == getattr(every["all"], name)
    assert (paper["all"].verdict, every["all"].verdict) == ("undecided", "undecided")  # four words a side are few


def test_relabelling_the_targets_turns_the_sign_of_each_template_and_nothing_else(own):
    def vector(side, said):
        if side in "AB":
            return TOWARDS_A if side == "A" else TOWARDS_B
        return 1 + np.frombuffer(hashlib.sha256(said.text.encode()).digest()[:2], np.uint8) / 64

    plain, turned = effects(vector, material=own()), effects(vector, material=own(TURNED))
    for wording in (THIS, DRINK):
        one, other = plain[wording], turned[wording]
        assert other.value == pytest.approx(-one.value)
        # each side has draws of its own, which its name seeds
        assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=0.02)
        assert (other.p, other.detectable) == pytest.approx((one.p, one.detectable), abs=0.03)
        assert (other.n_items, other.n_groups) == (one.n_items, one.n_groups)


def planted(shift_of):
    """A and B at the ends of one axis, targets moved along it by their wording, the rest by chance."""

    def vector(side, said):
        chance = np.frombuffer(hashlib.sha256(said.text.encode()).digest()[:8], np.uint8) / 255 - 0.5
        along = {"A": 1.0, "B": -1.0, "X": shift_of(said.wording), "Y": -shift_of(said.wording)}[side]
        jitter = 0.0 if side in "AB" else 0.3 * chance[0]
        return np.array([along + jitter, *chance[1:]])

    return vector


def test_an_effect_planted_in_one_template_is_found_there_and_in_no_other():
    found = effects(planted(lambda wording: 0.3 * (wording == "Here is ….")), tests="sent-weat6")
    assert len(found) == 1 + 8
    there, _ = found.pop("Here is …."), found.pop("all")  # which holds it in part
    assert there.value > 1.5
    assert there.p < 0.001
    assert there.verdict == "holds_for_checkpoint"
    assert all(e.low < 0 < e.high for e in found.values())


def test_templates_with_opposite_effects_make_the_pooled_row_flip():
    signs = {"Here is ….": 1, "This is ….": -1}
    found = effects(planted(lambda wording: 0.3 * signs.get(wording, 0)), tests="sent-weat6")
    assert found["all"].verdict == "flips"
    assert found["all"].reason == "wordings_apart"
    assert (found["all"].above, found["all"].below) == ("Here is ….", "This is ….")
    assert found["That is …."].verdict == "undecided"


def test_without_an_effect_templates_seldom_show_one():
    """Vectors by chance, 22 tests with 233 templates: about one in twenty is beyond its interval."""
    rng = np.random.default_rng(0)
    probe = probes.make("seat", {"representation": "cls", "clusters": False, "tests": "sent-*", "partitions": 2})
    frame = observed(probe, lambda side, said: rng.normal(size=16))
    drawn = Resampling.of(frame[["group_word"]].set_axis(["word"], axis=1), resamples=500)
    single = [m for m in probe.measures() if m.conditions["wording"] != "all"]
    found = estimate("seat", [CheckpointData("chance", "masked", frame, drawn)], single)
    beyond = np.mean([e.p < 0.05 for e in found])
    assert len(found) == 233
    assert 0.002 < beyond < 0.10


# ---------------------------------------------------------------- in a run


@pytest.fixture(scope="module")
def run(checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seat")
    settings = {"tests": "weat6,sent-weat6", "partitions": 100}
    return trueprobe.run("seat", str(checkpoint("bert")), folder / "run", settings=settings, store=":memory:")


def test_a_test_alone_has_the_interval_that_it_has_among_others(run, checkpoint, tmp_path):
    settings = {"tests": "weat6", "partitions": 100}
    alone = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings=settings, store=":memory:")
    numbers = ["measure", "condition_representation", "value", "low", "high", "p"]
    among = run.estimates.query("condition_test == 'weat6'")
    assert alone.estimates[numbers].values.tolist() == among[numbers].values.tolist()
    assert set(among["method"]) == {"bootstrap over word within test and side, t with skewness, 95 %"}


def test_the_variance_table_tells_what_comes_from_wordings(run):
    told = run.table("variance").query("measure == 'effect_size'")
    assert (
        list(zip(told["condition_test"], told["condition_wording"], strict=True)) == [("sent-weat6", "all")] * 2
    )  # bare words have none
    single = run.estimates.query("condition_test == 'sent-weat6' and condition_wording != 'all'")
    for name, values in single.groupby("condition_representation")["value"]:
        row = told[told["condition_representation"] == name].iloc[0]
        assert row["variance_wordings"] == pytest.approx(np.var(values, ddof=1))
        assert row["share_items"] + row["share_wordings"] == pytest.approx(1)


def test_every_row_has_a_wording_and_only_effects_have_single_ones(run):
    rows = run.estimates
    assert len(rows) == 2 * (2 * 3 + 8)
    assert rows.groupby("measure")["condition_wording"].nunique().to_dict() == {
        "clusters_attributes": 1,
        "clusters_targets": 1,
        "effect_size": 9,
    }
    seen = run.observations("seat")
    assert set(seen.loc[seen["condition_test"] == "weat6", "wording"]) == {""}
    cls = (seen["condition_test"] == "sent-weat6") & (seen["condition_representation"] == "cls")
    targets = seen[cls & seen["side"].isin(["X", "Y"])]
    assert targets["wording"].value_counts().to_dict() == dict.fromkeys(set(rows["condition_wording"]) - {"all"}, 16)


def test_two_checkpoints_are_compared_by_template_too(checkpoint, tmp_path):
    from trueprobe.runs.compare import compare

    models = [str(checkpoint("bert")), str(checkpoint("roberta"))]
    settings = {"tests": "sent-weat6", "representation": "cls", "clusters": False, "partitions": 100}
    done = trueprobe.run("seat", models, tmp_path / "run", settings=settings, store=":memory:")
    found = compare(done, "bert", "roberta")
    assert len(found.rows) == 9
    summary = found.summaries["seat"]
    assert [r.conditions["wording"] for r in found.rows if r.conditions["wording"] == summary.where["wording"]] == [
        "all"
    ]


def test_what_was_not_scored_is_counted_by_template(checkpoint, tmp_path):
    settings = {"tests": "sent-weat6", "representation": "own", "partitions": 100}
    run = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings=settings, store=":memory:")
    missing = run.estimates.query("measure == 'effect_size'").set_index("condition_wording")["n_unscored"]
    assert missing.pop("all") == 128
    assert missing.to_list() == [16] * 8
