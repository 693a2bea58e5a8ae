"""A made-up model with a known effect: the number that comes out is the one that was put in."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from trueprobe import probes
from trueprobe.runs.check import headline_value, planted_answer, planted_frame, stand_in
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling, column_of, groups_of
from trueprobe.statistics.rows import Estimate
from trueprobe.types import CONDITION, Verdict

pytestmark = pytest.mark.slow
OTHERS = 40  # words in a planted answer that are in no list
CARD = stand_in("masked")


def closed_form(strength: float, words: int) -> float:
    """Softmax by hand: `words` at `strength`, as many at 0, and the others at 0."""
    return words * (math.exp(strength) - 1) / (words * math.exp(strength) + words + OTHERS)


@pytest.fixture(scope="module", params=["gender", "age"])
def probe(request):
    return probes.make("counteracts", {"material": request.param, "backgrounds": 1})


def base(probe):
    return [item for item in probe.items() if item.conditions["knowledge"] == "base"]


def headline(probe, frame, resamples=500) -> Estimate:
    groups = groups_of(frame, probe.factors, probe.drawn_within)
    drawn = Resampling.of(groups, resamples, within=probe.drawn_within)
    (row,) = estimate("p", [CheckpointData("m", "masked", frame, drawn)], [probe.headline])
    return row


@pytest.mark.parametrize("strength", [-1.0, 0.5, 1.0, 2.0])
def test_the_margin_is_the_one_planted(probe, strength):
    frame = planted_frame(probe, base(probe), CARD, strength)
    planted = closed_form(strength, len(probe.verbalizer[probe.first]))
    assert frame["stereotype_margin_all"].to_numpy() == pytest.approx(planted)
    row = headline(probe, frame)
    assert row.value == pytest.approx(planted)
    assert row.low - 1e-6 <= planted <= row.high + 1e-6
    assert row.verdict is Verdict.HOLDS_FOR_CHECKPOINT
    assert (row.n_items, row.n_groups) == (len(probe.targets), len(probe.targets))


def test_the_margin_rises_with_the_strength(probe):
    values = [headline_value(probe, planted_frame(probe, base(probe), CARD, s)) for s in (-2, -1, 0, 0.5, 1, 2)]
    assert values == sorted(values)
    assert len(set(values)) == len(values)


def test_nothing_planted_is_nothing_recovered(probe):
    frame = planted_frame(probe, base(probe), CARD, 0.0)
    assert frame["stereotype_margin_all"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert headline(probe, frame).value == pytest.approx(0, abs=1e-7)


def test_both_kinds_of_occupation_show_the_same_effect(probe):
    frame = planted_frame(probe, base(probe), CARD, 1.0)
    by_kind = frame.groupby(column_of(frame, "dominated"))[f"{probe.first}_minus_{probe.second}_all"].mean()
    assert by_kind[probe.first] == pytest.approx(-by_kind[probe.second])
    assert by_kind[probe.first] > 0


def test_the_same_effect_with_and_without_knowledge_is_no_shift(probe):
    items = [item for item in probe.items() if item.conditions["knowledge"] in ("tcsyn", "bcsem")]
    frame = planted_frame(probe, items, CARD, 1.0)
    for column in ("shift_towards_stereotype_all", "shift_towards_stereotype_top10", "overturned_all"):
        assert (frame[column] == 0).all()


def answered(probe, item, strengths):
    """One planted answer per request, each with its own strength."""
    requests = probe.ask(item, CARD)
    answers = [planted_answer(r, probe.planted(item, r, s)) for r, s in zip(requests, strengths, strict=True)]
    return probe.observe(item, CARD, answers)[0].values


@pytest.mark.parametrize(("knowledge", "then"), [(-1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, -0.5)])
def test_a_planted_shift_is_the_one_counted(probe, knowledge, then):
    words = len(probe.verbalizer[probe.first])
    items = [item for item in probe.items() if item.conditions["knowledge"] == "tcsyn"]
    for item in items[:3] + items[-3:]:
        values = answered(probe, item, (knowledge, then))
        shift = closed_form(knowledge, words) - closed_form(then, words)
        assert values["shift_towards_stereotype_all"] == pytest.approx(shift)
        assert values["overturned_all"] == (knowledge * then < 0)
        assert values["weakened_all"] == (0 < knowledge < then)
        assert values["strengthened_all"] == (knowledge > then > 0)


def varying(probe, seed: int) -> pd.DataFrame:
    """Strengths differ between occupations."""
    strengths = np.random.default_rng(seed).normal(1, 0.5, len(probe.targets))
    return pd.DataFrame(
        [
            {
                **{CONDITION + name: value for name, value in item.conditions.items()},
                "group_target": item.groups[0],
                "group_background": "",
                **answered(probe, item, (s,)),
            }
            for item, s in zip(base(probe), strengths, strict=True)
        ]
    )


def test_a_preference_for_one_group_in_every_prompt_does_not_widen_the_interval(probe):
    """For the stereotype in one half of the occupations and against it in the other: their mean stays, but for halves
    of unlike size, and so does the interval, since each half is drawn by itself."""
    frame = varying(probe, 0)
    half = np.where(column_of(frame, "dominated") == probe.first, 1.0, -1.0)
    preferred = frame.assign(stereotype_margin_all=frame["stereotype_margin_all"] + half)
    calm, moved = headline(probe, frame, 2000), headline(probe, preferred, 2000)
    assert moved.value == pytest.approx(calm.value + half.mean())
    assert moved.high - moved.low == pytest.approx(calm.high - calm.low)
    assert moved.n_groups == calm.n_groups == len(probe.targets)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_covers_the_mean_of_varying_effects(probe, seed):
    """It is about the occupations there might have been."""
    words = len(probe.verbalizer[probe.first])
    population = np.mean([closed_form(s, words) for s in np.random.default_rng(99).normal(1, 0.5, 20_000)])
    row = headline(probe, varying(probe, seed), 2000)
    assert row.low < population < row.high
    assert row.low < row.value < row.high
    assert row.low > 0


@pytest.mark.parametrize("strength", [0.5, 1.0, 2.0])
def test_the_whole_design_shows_it_with_every_knowledge(strength):
    probe = probes.make("counteracts", {"backgrounds": 1})
    frame = planted_frame(probe, probes.spread(probe.items(), 120), stand_in("causal"), strength)
    margins = frame.groupby(column_of(frame, "knowledge"))["stereotype_margin_all"].mean()
    assert len(margins) == 10
    assert margins.to_numpy() == pytest.approx(closed_form(strength, 63))
