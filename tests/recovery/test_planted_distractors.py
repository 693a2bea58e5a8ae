"""Made-up models that are distracted in a known way: what comes out is what was put in, and nothing from nothing."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pandas as pd
import pytest

from trueprobe import probes
from trueprobe.probes.distractors.measures import SETTING_AT
from trueprobe.runs.check import planted_answer, stand_in
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import ClaimResult
from trueprobe.types import CONDITION, Item, Verdict

pytestmark = pytest.mark.slow

CARD = stand_in("causal")
CHANCE = (18 / 6 + 4 / 4) / 22  # each target counts the same


@cache
def probe():
    return probes.make("distractors", {"position": "all"})


@cache
def some(count: int = 2200):
    """Items spread over the conditions."""
    return probes.spread(probe().items(), count)


def frame_of(answer, items=None) -> pd.DataFrame:
    """Observations of a model that gives each request these nats: `answer(item, is_base)`."""
    rows = []
    for item in items or some():
        asked = probe().ask(item, CARD)
        nats = [answer(item, request == asked[2]) for request in asked]
        answers = [planted_answer(request, nat) for request, nat in zip(asked, nats, strict=True)]
        (observation,) = probe().observe(item, CARD, answers)
        rows.append({**_about(item), **observation.values})
    return pd.DataFrame(rows)


def _about(item: Item) -> dict[str, str | int]:
    return {**{CONDITION + name: value for name, value in item.conditions.items()}, "group_target": item.groups[0]}


def counted(frame: pd.DataFrame, resamples: int = 200) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"measure": e.measure, "value": e.value, "verdict": e.verdict, "n": e.n_items, **e.conditions}
            for e in estimate("distractors", checkpoint(frame, resamples), probe().measures())
        ]
    )


def checkpoint(frame: pd.DataFrame, resamples: int) -> list[CheckpointData]:
    return [CheckpointData("m", "causal", frame, Resampling.of(frame[["group_target"]], resamples))]


def held(frame: pd.DataFrame, resamples: int = 500) -> dict[str, ClaimResult]:
    return {row.claim: row for row in claim_results("p", checkpoint(frame, resamples), probe().claims())}


def knows(item, base) -> dict[str, float]:
    return {item.fields["target"]: 5.0}


def takes_the_last(item, base) -> dict[str, float]:
    """Knows every target, and is turned by whatever it read last."""
    last = {} if base else dict.fromkeys(item.fields["attractors"][-1:], 8.0)
    return {item.fields["target"]: 5.0, **last}


@cache
def distracted() -> pd.DataFrame:
    return frame_of(takes_the_last)


def of(rows: pd.DataFrame, measure: str, **where) -> float:
    where = {"set": "all", "setting": "multiple", "position": "after", **where}
    between = rows.get("attractors_after_fact", pd.Series(index=rows.index))
    rows = rows[(rows["measure"] == measure) & between.isna()]
    for key, value in where.items():
        rows = rows[rows[key] == str(value)]
    (value,) = rows["value"]
    return value


def test_a_model_that_is_never_distracted_is_always_right():
    frame = frame_of(knows)
    rows = counted(frame)
    assert (frame["correct"] == 1).all()
    assert (frame["relative_probability"] == 1).all()
    assert rows[rows["measure"] == "base_competence"]["value"].tolist() == [1.0] * 5
    assert not (rows["verdict"] == Verdict.FAILS_GATE).any()


def test_a_model_that_takes_the_last_is_detected():
    rows = counted(distracted())
    for attractors in (1, 2, 3):
        assert of(rows, "accuracy", type="related", attractors=attractors) == 0
        assert of(rows, "accuracy_gated", type="unrelated", attractors=attractors) == 1
        assert of(rows, "won_1_back", type="related", attractors=attractors) == 1
    assert of(rows, "won_by_last", type="B", attractors=3) == 1
    assert of(rows, "accuracy", type="related", attractors=0) == 1


def test_the_claims_about_it_are_the_papers():
    rows = held(distracted())
    assert rows["one_attractor_hurts"].verdict == Verdict.AS_PUBLISHED
    assert rows["one_attractor_hurts"].value == 1
    assert rows["first_hurts_most"].value == pytest.approx(0.5)  # (1 + 0) / 2 - 0
    assert rows["unrelated_spare_accuracy"].value == 1
    assert rows["one_between_hurts"].verdict == Verdict.AS_PUBLISHED
    assert rows["lists_recover"].value == 0


def test_how_much_less_several_entities_recover_by_a_plain_implementation():
    """A mean over the listed values: half of what one entity gains from 1 to 3 less what several gain."""
    rng = np.random.default_rng(0)
    frame = distracted().assign(correct=rng.random(len(distracted())))
    at = (frame["condition_position"] == "after") & frame["condition_type"].isin(["B", "T"]) & frame["base_preferred"]
    of_all = frame[at.astype(bool)].groupby(["condition_setting", "condition_attractors"])

    def mean(setting: str, attractors: int) -> float:
        return of_all.get_group((setting, attractors)).groupby("condition_type")["correct"].mean().mean()

    gains = [mean(setting, 3) - mean(setting, 1) for setting in ("single", "multiple")]
    row = held(frame, 50)["recovery_mitigated"]
    assert row.value == pytest.approx((gains[0] - gains[1]) / 2, abs=1e-9)
    assert row.value != 0


def test_a_model_without_knowledge_fails_the_gate():
    frame = frame_of(lambda item, base: {min(item.fields["attractors"], default="Paris"): 1.0})
    rows = counted(frame)
    assert set(rows[rows["measure"] != "base_competence"]["verdict"]) == {Verdict.FAILS_GATE}
    assert {row.verdict for row in held(frame).values()} == {Verdict.FAILS_GATE}


def test_only_targets_that_are_known_count_where_gated():
    """It knows capitals and jobs, answers with the first word of its list otherwise, and is never distracted."""
    frame = frame_of(lambda item, base: knows(item, base) if item.conditions["set"] in ("capital", "job") else {})
    rows = counted(frame)
    competence = rows[rows["measure"] == "base_competence"].set_index("set")["value"]
    assert competence.to_dict() == {"all": 12 / 22, "job": 1, "capital": 1, "monument": 0, "sport": 0}
    assert of(rows, "accuracy_gated", type="related", attractors=2) == 1
    assert of(rows, "accuracy", type="related", attractors=2) < 1
    by_set = rows[(rows["measure"] == "accuracy") & (rows["attractors"] == "1")].groupby("set")["verdict"].unique()
    assert set(by_set["monument"]) == {Verdict.FAILS_GATE}
    assert Verdict.FAILS_GATE not in by_set["all"]


def test_equally_likely_candidates_are_chance_and_counted_as_ties():
    frame = frame_of(lambda item, base: {})
    assert (frame["tied"] == 1).all()
    assert frame.groupby("group_target")["correct"].mean().mean() == pytest.approx(CHANCE)
    assert frame["target_over_rivals_nats"].to_numpy() == pytest.approx(0, abs=1e-12)


def test_random_answers_are_chance_and_favour_no_attractor():
    rng = random.Random(1)
    items = [item for item in some() if item.conditions["attractors"] == 3 and item.conditions["type"] != "unrelated"]

    def noise(item, base):
        words = probe().candidates[item.conditions["set"]].words
        return knows(item, base) if base else {word: rng.gauss(0, 1) for word in words}

    frame = frame_of(noise, items)
    expected = np.where(frame["condition_set"] == "sport", 1 / 4, 1 / 6).mean()
    error = 3 * np.sqrt(expected * (1 - expected) / len(frame))
    assert abs(frame["correct"].mean() - expected) < error
    shares = [frame[f"won_{back}_back"].mean() for back in (1, 2, 3)]
    assert max(abs(share - expected) for share in shares) < error
    assert frame["won_by_last"].mean() == pytest.approx(1 / 3, abs=0.1)


def test_a_model_that_answers_alike_everywhere_seldom_earns_a_claim():
    """Right six times in ten whatever is read: the claims about accuracy hold in no more than one run in twenty."""
    conditions = pd.DataFrame([{**_about(item), SETTING_AT: item.fields["values"][SETTING_AT]} for item in some()])
    names = {c.name for c in probe().claims() if c.column == "correct" and not c.between}
    earned, judged = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ability = dict(zip(sorted(set(conditions["group_target"])), rng.beta(6, 4, 22), strict=True))
        right = rng.random(len(conditions)) < conditions["group_target"].map(ability)
        frame = conditions.assign(correct=right.astype(float), relative_probability=1.0, base_preferred=1.0)
        rows = held(frame, 300)
        about_accuracy = [row for name, row in rows.items() if name in names]  # others are about another architecture
        earned += sum(row.verdict == Verdict.AS_PUBLISHED for row in about_accuracy)
        judged += len(about_accuracy)
    assert judged >= 40 * 4
    assert earned / judged < 0.05  # one side of a 95 % interval is 0.025
