"""Each finding about some architectures or networks, or of equivalence: planted it is as published (or alike), a model
without the effect is neither, and where the effect is the other way round it is opposite.

Columns are written as a probe would observe them, so that only the claim is tested: which rows it compares, which way,
within which margin, and of which models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from trueprobe import probes
from trueprobe.probes import spread
from trueprobe.runs.check import stand_in
from trueprobe.statistics import Claim
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import NetworkSize
from trueprobe.statistics.paired import between, is_about, sides_of
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import CONDITION, GROUP, Card, Verdict

At = Mapping[str, Any]
GOOD = (Verdict.AS_PUBLISHED, Verdict.ALIKE)
ROBERTA_LARGE, BERT_LARGE = NetworkSize("roberta", 24, 1024), NetworkSize("bert", 24, 1024)
ROBERTA_BASE, BERT_BASE = NetworkSize("roberta", 12, 768), NetworkSize("bert", 12, 768)
NOISE = 0.02
MOST = 12_000  # items


@cache
def probe(name: str):
    return probes.make(name)


@cache
def asked(name: str) -> pd.DataFrame:
    """A row for each item, without values; of the longest lists some."""
    made = probe(name)
    items = spread(made.items(), MOST)
    frame = pd.DataFrame([{CONDITION + key: value for key, value in item.conditions.items()} for item in items])
    groups = pd.DataFrame([item.groups for item in items]).set_axis([GROUP + one for one in made.factors], axis=1)
    plain = {"item": [item.id for item in items], "part": "", "why_not": "", "tied": 0.0}
    return frame.join(groups).assign(**plain)


def observed(name: str, columns: Mapping[str, Callable[[At], float]], seed: int = 0, noise: float = NOISE):
    """`columns`: the value at some conditions, to which noise is added."""
    rows, rng = asked(name), np.random.default_rng(seed)
    at = rows.filter(like=CONDITION).rename(columns=lambda column: column.removeprefix(CONDITION))
    kinds, places = at.drop_duplicates(), at.apply(tuple, axis=1)
    values = {
        column: places.map({tuple(kind): value(kind) for _, kind in kinds.iterrows()}) + rng.normal(0, noise, len(rows))
        for column, value in columns.items()
    }
    return rows.assign(**values)


def claim_of(name: str, claim: str) -> Claim:
    return next(c for c in probe(name).claims() if c.name == claim and c.conditions.get("k", 10) == 10)


def member(name: str, frame: pd.DataFrame, network: NetworkSize, kind: str = "masked") -> CheckpointData:
    groups = frame[[GROUP + factor for factor in probe(name).factors]]
    drawn = Resampling.of(groups.set_axis(probe(name).factors, axis=1), 500)
    data = CheckpointData(str(network), kind, frame, drawn, str(network), architecture=network.architecture)
    return replace(data, network=network)


def verdict(name: str, claim: str, frame: pd.DataFrame, network: NetworkSize = BERT_BASE, kind: str = "masked"):
    rows = claim_results(name, [member(name, frame, network, kind)], [claim_of(name, claim)])
    return rows[0].verdict_alone if rows else None


# ---------------------------------------------------------------- paper A


def counteracts(shifts: Mapping[str, float], base: float = 0.3, seed: int = 0) -> pd.DataFrame:
    """Shifts of the margin by the kind of knowledge."""
    columns = {
        "stereotype_margin_top10": lambda at: base + shifts.get(at["knowledge"], 0.0),
        "shift_towards_stereotype_top10": lambda at: shifts.get(at["knowledge"], 0.0),
        "shift_against_stereotype_top10": lambda at: -shifts.get(at["knowledge"], 0.0),
    }
    return observed("counteracts", columns, seed).assign(compared_top10=1.0, answered_top10=1.0)


@pytest.mark.parametrize(
    ("claim", "kind", "sign"), [("bert_tsyn_enlarges", "tsyn", 1), ("bert_bcsyn_lowers", "bcsyn", -1)]
)
def test_bert_is_sensitive_to_two_kinds_of_knowledge(claim, kind, sign):
    assert verdict("counteracts", claim, counteracts({kind: sign * 0.2})) is Verdict.AS_PUBLISHED
    assert verdict("counteracts", claim, counteracts({kind: -sign * 0.2})) is Verdict.OPPOSITE
    assert verdict("counteracts", claim, counteracts({kind: sign * 0.2}), ROBERTA_BASE) is None
    others = {"tsem": 0.2, "tcsyn": -0.2, "tcsem": -0.2, "bcsem": -0.2}
    nothing = [verdict("counteracts", claim, counteracts(others, seed=seed)) for seed in range(8)]
    assert sum(one in GOOD for one in nothing) <= 1


@pytest.mark.parametrize(
    ("shift", "base", "expected"),
    [(0.0, 0.3, Verdict.ALIKE), (-0.15, 0.3, Verdict.OPPOSITE), (0.0, 0.0, Verdict.INSENSITIVE)],
)
def test_causal_models_keep_their_margin_with_neutral_knowledge(shift, base, expected):
    frame = counteracts({"tneu": shift}, base)
    assert verdict("counteracts", "causal_alike_neutral", frame, kind="causal") is expected
    assert verdict("counteracts", "causal_alike_neutral", frame) is None


def test_syntax_over_meaning_is_about_albert_and_roberta():
    frame = counteracts({"tcsyn": -0.3, "bcsyn": -0.3})
    assert verdict("counteracts", "syntax_over_meaning", frame, ROBERTA_BASE) is Verdict.AS_PUBLISHED
    assert verdict("counteracts", "syntax_over_meaning", frame, NetworkSize("albert", 12, 768)) is Verdict.AS_PUBLISHED
    assert verdict("counteracts", "syntax_over_meaning", frame) is None


# ---------------------------------------------------------------- paper B


def retrieval(
    gain: float = 0.4, more: Mapping[tuple[str, str], float] | None = None, seed: int = 0, least: float = 0.2
):
    """Reciprocal ranks that rise with the properties; `more`, by selection and order."""
    also = more or {}

    def rank(at: At) -> float:
        added = also.get((at["selection"], at["order"]), also.get((at["selection"], ""), 0.0))
        return least + gain * (at["properties"] - 1) / 9 + added

    return observed("tacit_retrieval", {"reciprocal_rank": rank}, seed).assign(probability=0.1, order_at="")


def test_roberta_large_does_as_well_with_either_category():
    def found(network=ROBERTA_LARGE, **how):
        return verdict("tacit_retrieval", "categories_alike", retrieval(**how), network)

    assert found() is Verdict.ALIKE
    assert found(more={("encyclopaedic", ""): 0.2}) is Verdict.OPPOSITE
    assert found(gain=0.0) is Verdict.INSENSITIVE
    assert found(ROBERTA_BASE) is found(BERT_LARGE) is None


def test_bert_does_better_with_encyclopaedic_properties():
    def found(network=BERT_BASE, **how):
        return verdict("tacit_retrieval", "bert_encyclopaedic_better", retrieval(**how), network)

    assert found(more={("encyclopaedic", ""): 0.1}) is Verdict.AS_PUBLISHED
    assert found(more={("functional", ""): 0.1}) is Verdict.OPPOSITE
    assert found(ROBERTA_BASE) is None
    assert sum(found(seed=seed) in GOOD for seed in range(8)) <= 1


def test_ten_properties_reach_half():
    assert verdict("tacit_retrieval", "ten_reach_half", retrieval(gain=0.4)) is Verdict.AS_PUBLISHED  # 0.6
    assert verdict("tacit_retrieval", "ten_reach_half", retrieval(gain=0.2)) is Verdict.OPPOSITE  # 0.4


@pytest.mark.parametrize("order", ["decreasing", "increasing"])
def test_each_order_is_a_claim_of_its_own(order):
    """What one order gains says nothing of the other."""
    other = {"decreasing": "increasing", "increasing": "decreasing"}[order]
    frame = retrieval(more={("top", order): 0.1, ("bottom", order): -0.1, ("top", other): -0.1, ("bottom", other): 0.1})
    for claim in ("top_above_random", "random_above_bottom"):
        assert verdict("tacit_retrieval", f"{claim}_{order}", frame) is Verdict.AS_PUBLISHED
        assert verdict("tacit_retrieval", f"{claim}_{other}", frame) is Verdict.OPPOSITE
        assert verdict("tacit_retrieval", claim, frame) not in GOOD


def card(network: NetworkSize) -> Card:
    one = stand_in("masked")
    return replace(one, architecture=network.architecture, layers=network.layers, width=network.width)


def of_two(name: str, claim: str, networks: tuple[NetworkSize, NetworkSize], frames: tuple[pd.DataFrame, pd.DataFrame]):
    first, second = (member(name, frame, size) for frame, size in zip(frames, networks, strict=True))
    declared = claim_of(name, claim)
    return between(name, sides_of(declared, [first], [second], probe(name).factors), declared).verdict_alone


def test_roberta_base_and_bert_large_are_interchangeable():
    networks, claim = (ROBERTA_BASE, BERT_LARGE), claim_of("tacit_retrieval", "interchangeable")
    assert is_about(claim, card(ROBERTA_BASE), card(BERT_LARGE))
    assert not any(is_about(claim, card(one), card(ROBERTA_BASE)) for one in (BERT_LARGE, BERT_BASE, ROBERTA_LARGE))
    cases = {
        Verdict.ALIKE: (retrieval(seed=1), retrieval(seed=2)),
        Verdict.OPPOSITE: (retrieval(seed=1, least=0.4), retrieval(seed=2)),
        Verdict.INSENSITIVE: (retrieval(0.0, seed=1), retrieval(0.0, seed=2)),
    }
    for expected, frames in cases.items():
        assert of_two("tacit_retrieval", "interchangeable", networks, frames) is expected


def production(overlap: Mapping[str, float], rest: float = 0.2, able: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Average precision by relation."""
    columns = {"ap_vocabulary": lambda at: overlap.get(at["relation"], rest), "any_gold": lambda at: able}
    return observed("tacit_production", columns, seed)


def test_overlap_is_highest_after_made_of_and_is_a():
    def found(**how):
        return verdict("tacit_production", "overlap_highest", production(**how))

    assert found(overlap={"is made of": 0.4, "is a": 0.3}) is Verdict.AS_PUBLISHED
    assert found(overlap={"has": 0.4, "is": 0.4}) is Verdict.OPPOSITE
    assert found(overlap={"is made of": 0.4, "is a": 0.3}, able=0.0) is Verdict.FAILS_GATE
    assert sum(found(overlap={}, seed=seed) in GOOD for seed in range(8)) <= 1


def test_roberta_large_names_most():
    def found(first: float, second: float):
        frames = (production({}, first, seed=1), production({}, second, seed=2))
        return of_two("tacit_production", "roberta_large_names_most", (ROBERTA_LARGE, BERT_LARGE), frames)

    claim = claim_of("tacit_production", "roberta_large_names_most")
    assert is_about(claim, card(ROBERTA_LARGE), card(BERT_LARGE))
    assert not is_about(claim, card(BERT_LARGE), card(ROBERTA_LARGE))
    assert [found(0.3, 0.2), found(0.2, 0.3)] == [Verdict.AS_PUBLISHED, Verdict.OPPOSITE]
    assert found(0.2, 0.2) not in GOOD


# ---------------------------------------------------------------- paper D


def certain(at: At) -> float:
    return 1.0


def distracted(
    accuracy: Callable[[At], float], ratio: Callable[[At], float] = certain, able: float = 1.0, seed: int = 0
) -> pd.DataFrame:
    columns = {"correct": accuracy, "relative_probability": ratio}
    frame = observed("distractors", columns, seed).assign(base_preferred=able)
    at = frame[[f"{CONDITION}setting", f"{CONDITION}attractors"]].astype(str)
    return frame.assign(setting_at=at.agg(" ".join, axis=1))


def by_count(single: tuple[float, ...], multiple: tuple[float, ...]) -> Callable[[At], float]:
    """Related attractors, 0 to 3."""
    return lambda at: {"single": single, "multiple": multiple}[at["setting"]][at["attractors"]]


DROP = (1.0, 0.3, 0.3, 0.3)
RECOVERY = (1.0, 0.3, 0.5, 0.7)


@pytest.mark.parametrize(
    ("single", "multiple", "expected"),
    [
        (RECOVERY, DROP, ("as_published", "undecided", "as_published")),
        (RECOVERY, RECOVERY, ("as_published", "as_published", "undecided")),
        (DROP, RECOVERY, ("undecided", "as_published", "opposite")),
    ],
)
def test_longer_lists_in_either_setting(single, multiple, expected):
    frame = distracted(by_count(single, multiple))
    names = ("lists_recover", "lists_recover_multiple", "recovery_mitigated")
    assert tuple(verdict("distractors", name, frame) for name in names) == expected


@pytest.mark.parametrize(
    ("single", "multiple", "expected"),
    [
        (DROP, (1.0, 0.3, 0.2, 0.1), ("alike", "as_published")),
        ((1.0, 0.6, 0.4, 0.2), (1.0, 0.1, 0.2, 0.3), ("opposite", "opposite")),
    ],
)
def test_ratios_are_stable_with_one_entity_and_fall_with_several(single, multiple, expected):
    frame = distracted(certain, by_count(single, multiple))
    names = ("ratios_stable_single", "ratios_fall_multiple")
    assert tuple(verdict("distractors", name, frame) for name in names) == expected


@pytest.mark.parametrize(
    ("like_background", "drop", "expected"),
    [(0.3, 0.3, "alike"), (0.7, 0.3, "opposite")],
)
def test_attractors_of_either_type_act_alike(like_background, drop, expected):
    def accuracy(at: At) -> float:
        hurt = {"B": like_background, "T": drop}.get(at["type"], 1.0)
        return hurt if at["attractors"] else 1.0

    assert verdict("distractors", "types_alike", distracted(accuracy)) == expected
    assert verdict("distractors", "types_alike", distracted(accuracy, able=0.0)) is Verdict.FAILS_GATE


@pytest.mark.parametrize(
    ("by_attractors", "expected"),
    [
        ((1.0, 0.95, 0.9, 0.8), ("as_published", "as_published")),
        ((0.8, 0.85, 0.9, 1.0), ("opposite", "opposite")),
        ((1.0, 0.8, 0.8, 0.8), ("as_published", "undecided")),
    ],
)
def test_unrelated_attractors_lower_accuracy(by_attractors, expected):
    def accuracy(at: At) -> float:
        return by_attractors[at["attractors"]] if at["type"] == "unrelated" else 0.5

    names = ("unrelated_lower_accuracy", "unrelated_lower_accuracy_gradually")
    assert tuple(verdict("distractors", name, distracted(accuracy)) for name in names) == expected


def test_a_model_that_nothing_distracts_earns_none_of_them():
    names = ("lists_recover_multiple", "recovery_mitigated", "ratios_fall_multiple", "unrelated_lower_accuracy")
    alike = ("ratios_stable_single", "types_alike")
    frames = [distracted(certain, seed=seed) for seed in range(6)]
    for name in (*names, "unrelated_lower_accuracy_gradually"):
        assert sum(verdict("distractors", name, frame) in GOOD for frame in frames) <= 1, name
    for name in alike:
        found = [verdict("distractors", name, frame) for frame in frames]
        assert not set(GOOD) & set(found), name
        assert found.count(Verdict.INSENSITIVE) >= 4, name
