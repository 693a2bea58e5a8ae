"""Samples of completions against people's: by hand, by enumeration, and by a second implementation in plain lines."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from trueprobe import probes
from trueprobe.probes.tacit import sampling
from trueprobe.runs.check import planted_answer, stand_in

P, PEOPLE = {"fur": 0.5, "claws": 0.3, "wings": 0.2}, {"fur": 2, "wings": 2}
LOGPS = np.log(np.array(list(P.values())) * 0.4)  # the completions have 40 % of the probability
SEED = sampling.seed_of(0, "paper/has/bear")


def sampled(logps=LOGPS, columns=(0, 2), given=(2, 2), seed=SEED):
    return sampling.sampled(logps, columns, given, seed)


def plain_overlap(drawn):
    return sum(min(many, drawn[word]) for word, many in PEOPLE.items()) / 4


def plain_entropy(counts):
    return -sum(c / 4 * math.log(c / 4) for c in counts.values())


def samples(p):
    """Every sample of four, with its probability."""
    for words in product(p, repeat=4):
        yield Counter(words), math.prod(p[word] for word in words)


def test_expectations_are_those_of_all_samples_enumerated():
    """A second implementation: 81 samples of four completions, or 256 where other words can be drawn too."""
    values = sampled()
    assert values["overlap_expected"] == pytest.approx(sum(w * plain_overlap(c) for c, w in samples(P)), abs=1e-12)
    entropy = sum(w * plain_entropy(c) for c, w in samples(P)) - math.log(2)
    assert values["entropy_excess"] == pytest.approx(entropy, abs=1e-12)
    whole = {word: 0.4 * p for word, p in P.items()} | {"outside": 0.6}
    assert values["overlap_whole"] == pytest.approx(sum(w * plain_overlap(c) for c, w in samples(whole)), abs=1e-12)
    own = {"fur": 0.5, "wings": 0.5}
    assert values["overlap_people"] == pytest.approx(sum(w * plain_overlap(c) for c, w in samples(own)), abs=1e-12)


def test_one_sample_by_hand(monkeypatch):
    """Noise that leaves the likeliest twice, and lifts claws and wings over it once each."""
    noise = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 2.0]])
    rng = type("Rng", (), {"gumbel": lambda _, size: noise})()
    monkeypatch.setattr(np.random, "default_rng", lambda seed: rng)
    values = sampled()
    assert values["given"] == 4
    assert values["overlap_drawn"] == 3 / 4  # fur twice, wings once
    assert values["entropy_people"] == pytest.approx(math.log(2))
    assert values["entropy_drawn"] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(4))
    assert values["rank_frequency_apart"] == pytest.approx((0 + 1 + 1) / 2 / 4)  # 2 1 1 and 2 2 0


def test_the_mean_of_many_samples_is_the_expectation():
    drawn = [sampled(seed=sampling.seed_of(seed, "x")) for seed in range(2000)]
    assert np.mean([v["overlap_drawn"] for v in drawn]) == pytest.approx(drawn[0]["overlap_expected"], abs=0.01)
    excess = np.mean([v["entropy_drawn"] for v in drawn]) - math.log(2)
    assert excess == pytest.approx(drawn[0]["entropy_excess"], abs=0.015)


def test_people_drawn_from_the_model_leave_no_excess():
    """Null: people's answers are a sample of the model's own distribution, so both entropies are low alike."""
    rng, p = np.random.default_rng(0), np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    people = [rng.multinomial(12, p) for _ in range(2000)]
    values = [sampled(np.log(p), range(6), given.tolist()) for given in people]
    assert np.mean([v["entropy_excess"] for v in values]) == pytest.approx(0, abs=0.015)
    assert np.mean([v["overlap_expected"] for v in values]) < np.mean([v["overlap_people"] for v in values])


def test_a_model_that_says_something_else_overlaps_nowhere():
    values = sampled(np.array([-30.0, 0.0, -30.0]))
    assert values["overlap_expected"] == pytest.approx(0, abs=1e-9)
    assert values["overlap_drawn"] == 0
    assert values["entropy_excess"] == pytest.approx(-math.log(2))  # always the same word


@pytest.mark.parametrize("given", [(math.nan, 2), (0.5, 0.25), (0, 0)])
def test_without_counts_of_people_nothing_is_drawn(given):
    assert all(math.isnan(value) for value in sampled(given=given).values())


def test_a_draw_depends_on_the_item_and_the_seed_alone():
    """And a model's words may be fewer: those it lacks have no probability."""
    assert sampled() == sampled()
    assert sampling.seed_of(0, "a") != sampling.seed_of(0, "b") != sampling.seed_of(1, "b")
    few = sampled(np.array([LOGPS[0], math.nan, LOGPS[2]]))
    assert few["overlap_expected"] == pytest.approx(
        sum(math.comb(4, k) * (5 / 7) ** k * (2 / 7) ** (4 - k) * (min(k, 2) + min(4 - k, 2)) / 4 for k in range(5))
    )


def test_rounding_of_the_answers_moves_few_draws():
    rng = np.random.default_rng(1)
    logps = rng.normal(-5, 2, 500)
    moved = 0
    for i in range(50):
        near = logps + rng.uniform(-2e-5, 2e-5, 500)
        a, b = (sampling.draw(np.exp(x) / np.exp(x).sum(), 40, (0, i)) for x in (logps, near))
        moved += int(np.abs(a - b).sum() / 2)
    assert moved <= 1  # of 2,000


def test_the_probe_s_numbers_do_not_depend_on_other_items():
    probe, card = probes.make("tacit_production", {}), stand_in("masked")
    items = probe.items()[:40]

    def values(some):
        found = {}
        for item in some:
            answers = [planted_answer(r, probe.planted(item, r, 2.0)) for r in probe.ask(item, card)]
            (seen,) = probe.observe(item, card, answers)
            found[item.id] = {name: seen.values[name] for name in sampling.COLUMNS}
        return found

    whole = values(items)
    for some in (items[::-1], random.Random(0).sample(items, 5)):
        assert all(whole[name] == one for name, one in values(some).items())
    assert {measure.name for measure in probe.measures()} >= set(sampling.COLUMNS) - {"given"}
    other = probes.make("tacit_production", {"draw_seed": 1})
    item = items[0]
    answers = [planted_answer(r, probe.planted(item, r, 0.1)) for r in probe.ask(item, card)]
    first, second = (one.observe(item, card, answers)[0].values for one in (probe, other))
    assert first["overlap_expected"] == second["overlap_expected"]
