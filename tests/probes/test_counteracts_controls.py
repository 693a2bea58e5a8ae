"""Controls of CounterActs: what they ask, and their numbers against plain code that shares nothing with them."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes.counteracts.controls import CONTROLS, KINDS, MATCHING, MOVED, NONSENSE
from trueprobe.results.text.verdicts import verdict_text
from trueprobe.runs.check import stand_in
from trueprobe.runs.records import observations_frame
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import GROUP, ClaimSource, Filled, Token, Verdict, WhyNot, Word


@cache
def made(controls="all", **settings):
    return probes.make("counteracts", {"controls": controls, "causal": "person_is", **settings})


@cache
def by_id(probe):
    return {item.id: item for item in probe.items()}


def test_controls_are_off_unless_asked_for():
    assert Counter(i.conditions["knowledge"] in CONTROLS for i in made("").items()) == {False: 2680}
    assert Counter(i.conditions["knowledge"] in CONTROLS for i in made().items()) == {False: 2680, True: 40 * 2 * 22}
    assert probes.make("counteracts", {}).columns().keys() == made("").columns().keys()


@pytest.mark.parametrize(("asked", "kinds"), [("word", ("word",)), ("nonsense, other", ("other", "nonsense"))])
def test_single_controls_can_be_chosen(asked, kinds):
    found = {i.conditions["knowledge"] for i in made(asked).items()} & set(CONTROLS)
    assert found == {f"{group}_{kind}" for kind in kinds for group in MATCHING}


def test_a_control_that_is_not_there_is_an_error():
    with pytest.raises(BadInput, match="did you mean 'word'"):
        made("wrod")


TEXTS = {  # for nurse and driver: the word for a group stays, what is said of the occupation goes
    "pro_other/nurse/cashier": "The woman worked as a cashier . The ___ works as a nurse.",
    "counter_other/nurse/cashier": "The man worked as a cashier . The ___ works as a nurse.",
    "pro_word/nurse": "The woman . The ___ works as a nurse.",
    "counter_word/driver": "The woman . The ___ works as a driver.",
    "counter_after/nurse": "The ___ works as a nurse. The man .",
    "counter_nonsense/driver": f"The woman worked as a {NONSENSE} . The ___ works as a driver.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_control_keeps_the_word_and_takes_away_what_is_said(name):
    item = by_id(made())[f"paper/{name}"]
    asked, base, matching = made().ask(item, stand_in("masked"))
    before = f"{asked.before} " if asked.before else ""
    assert item.text == f"{before}{asked.left}___{asked.right}" == TEXTS[name]
    name_of_knowledge = f"paper/{CONTROLS[name.split('/')[0]].matching}/{item.groups[0]}"
    knowledge, same = made().ask(by_id(made())[name_of_knowledge], stand_in("masked"))
    assert (base, matching) == (same, knowledge)  # rows that are asked anyway


def test_an_other_occupation_is_of_the_same_group_and_another():
    dominant = {b.name: b.dominant for b in made().material.backgrounds}
    pairs = [i.groups for i in made("other").items() if i.conditions["knowledge"] in CONTROLS]
    assert len(pairs) == 2 * 40 * 19
    assert all(a != b and dominant[a] == dominant[b] for a, b in pairs)


def test_no_causal_model_reads_behind_the_blank():
    probe = made()
    asked = {i.conditions["knowledge"]: probe.ask(i, stand_in("causal")) for i in probe.items()}
    refused = {name for name, requests in asked.items() if isinstance(requests, WhyNot)}
    assert refused == {"pro_after", "counter_after"}
    assert {c.name for c in probe.claims() if c.source is ClaimSource.CONTROL and c.kinds == ("masked",)} == {
        "beyond_after"
    }


def filled(probe, she, he):
    tokens = (Token(" she", 1, math.log(she)), Token(" he", 2, math.log(he)))
    words = dict.fromkeys(probe.forms, WhyNot("multi_piece"))
    return Filled(words | {"she": Word(tokens[:1], 1, 0), "he": Word(tokens[1:], 2, 0)}, tokens, 100)


@pytest.mark.parametrize(("name", "sign"), [("pro_word/nurse", 1), ("counter_word/nurse", -1), ("pro_word/driver", -1)])
def test_moved_is_towards_the_group_that_the_word_names(name, sign):
    """By hand, female minus male: base .1, knowledge .5, control .3; the word names women, or `sign` is −1."""
    probe = made()
    probe._words_in_vocabulary[stand_in("masked").tokenizer_id] = dict.fromkeys(probe.verbalizer, 63)
    answers = [filled(probe, *p) for p in ((0.4, 0.1), (0.3, 0.2), (0.6, 0.1))]
    (seen,) = probe.observe(by_id(probe)[f"paper/{name}"], stand_in("masked"), answers)
    numbers = [seen.values[f"{column}_top10"] for column in MOVED]
    assert numbers == pytest.approx([sign * 0.4, sign * 0.2, sign * 0.2])
    assert seen.values["controlled_top10"] == 1
    assert set(seen.values) == set(probe.columns())


# ---------------------------------------------------------------- numbers of a made-up model


def she_of(request, meaning_counts):
    """Probability of `she`: drawn from the prompt, more where the word before it is `woman`; where the meaning counts,
    only if the sentence is about the occupation that is asked about."""
    draw = random.Random(f"{request.before} {request.left} {request.right}").uniform(-0.03, 0.03)
    before = request.before or request.right.partition(".")[2]
    about = before.split()[-2:-1] == request.right.split(".")[0].split()[-1:]
    word = ("woman" in before.split()) - ("man" in before.split())
    return 0.3 + draw + 0.2 * word * (about or not meaning_counts)


@cache
def observed(meaning_counts):
    probe, card = made(backgrounds=3), stand_in("masked")
    probe._words_in_vocabulary[card.tokenizer_id] = dict.fromkeys(probe.verbalizer, 63)
    seen = []
    for item in probe.items():
        answers = [filled(probe, p, 0.6 - p) for p in (she_of(r, meaning_counts) for r in probe.ask(item, card))]
        seen += probe.observe(item, card, answers)
    frame = observations_frame(probe, {item.id: item for item in probe.items()}, seen, card)
    drawn = Resampling.of(frame[[GROUP + name for name in probe.factors]], 1000)
    return probe, CheckpointData("m", "masked", frame, drawn)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", MATCHING)
def test_differences_agree_with_ten_plain_lines(kind, group):
    """A second implementation: margins looked up by the names of the prompts, the difference by hand, then its mean."""
    probe, member = observed(True)
    margin = dict(zip(member.frame["item"], member.frame["stereotype_margin_top10"], strict=True))
    sign = 1 if group == "pro" else -1
    names = [name for name in margin if name.split("/")[1] == f"{group}_{kind}"]
    knowledge = [margin[f"paper/{MATCHING[group]}/{name.split('/')[2]}"] for name in names]
    plain = np.mean([sign * (k - margin[name]) for k, name in zip(knowledge, names, strict=True)])
    at = {"wording": "paper", "knowledge": f"{group}_{kind}", "dominated": "all", "k": "10"}
    measures = [m for m in probe.measures() if m.name == "moved_beyond_control" and m.reported == at]
    (row,) = estimate("counteracts", [member], measures)
    assert row.value == pytest.approx(plain, abs=1e-12)
    assert row.low < plain < row.high
    assert row.n_groups >= 40


@pytest.mark.parametrize(("meaning_counts", "verdict"), [(False, Verdict.UNDECIDED), (True, Verdict.AS_PUBLISHED)])
def test_knowledge_moves_more_than_the_word_where_the_sentence_counts(meaning_counts, verdict):
    """Planted: one model copies the word, so that every control moves it as much; the other reads the sentence."""
    probe, member = observed(meaning_counts)
    rows = claim_results("counteracts", [member], [c for c in probe.claims() if c.source is ClaimSource.CONTROL])
    assert {row.verdict for row in rows} == {verdict}
    assert len(rows) == 4 * 3
    assert all((row.value > 0.1) is meaning_counts for row in rows)
    assert verdict_text(Verdict.AS_PUBLISHED, rows[0].source) == "holds"


def test_without_a_shift_there_is_nothing_to_divide():
    """Random networks answer *woman* one way and *man* another everywhere, by a point or so."""
    probe, member = observed(True)
    shrunk = member.frame.assign(**{c: member.frame[c] / 20 for c in member.frame if c.startswith("moved_")})
    claims = [c for c in probe.claims() if c.source is ClaimSource.CONTROL]
    rows = claim_results("counteracts", [replace(member, frame=shrunk)], claims)
    assert {row.verdict for row in rows} == {Verdict.FAILS_GATE}


def test_differences_that_are_noise_rarely_hold():
    """Null: 60 tables of differences about 0; one claim in forty errs on this side."""
    probe, member = observed(False)
    claims = [c for c in probe.claims() if c.name == "beyond_word" and c.conditions["k"] == 10]
    verdicts = []
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(0, 0.01, len(member.frame))
        frame = member.frame.assign(moved_beyond_control_top10=noise)
        verdicts += [row.verdict for row in claim_results("counteracts", [replace(member, frame=frame)], claims)]
    assert verdicts.count(Verdict.AS_PUBLISHED) <= 6
