"""A number that pools several kinds is mixed where some of them lie clearly above its reference and some clearly below:
the mean of opposite effects is an effect of none of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trueprobe.statistics import Claim, Measure
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.means import means
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.verdict import Case, PartNumber, judge, judge_list
from trueprobe.types import Unit, Verdict

KINDS = ("own", "other")
POOLED = Claim("lowers", "counterexamples lower it", "A", "shift", {"knowledge": KINDS})


def data(shifts: dict[str, float], noise: float = 0.2, items: int = 40, seed: int = 0) -> CheckpointData:
    """Of each kind, items whose shift lies about a mean."""
    rng, frames = np.random.default_rng(seed), []
    for kind, mean in shifts.items():
        ids = {"item": [f"{kind}{i}" for i in range(items)], "part": "", "why_not": ""}
        where = {"condition_knowledge": kind, "group_target": [f"t{i}" for i in range(items)]}
        frames.append(pd.DataFrame({**ids, **where, "shift": mean + noise * rng.normal(size=items)}))
    frame = pd.concat(frames, ignore_index=True)
    return CheckpointData(f"m{seed}", "masked", frame, Resampling.of(frame[["group_target"]], 500), "m")


def claimed(*members: CheckpointData, claim: Claim = POOLED):
    return claim_results("p", list(members), [claim])


def test_pool_of_opposite_effects_is_mixed_and_names_its_kinds():
    (row,) = claimed(data({"own": 0.5, "other": -0.3}))
    assert (row.verdict, row.above, row.below) == (Verdict.MIXED, "own", "other")
    assert row.value == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize("other", [0.3, 0.0, -0.01])
def test_pool_is_not_mixed_where_no_kind_is_clearly_on_the_other_side(other):
    (row,) = claimed(data({"own": 0.5, "other": other}))
    assert (row.verdict, row.above, row.below) == (Verdict.AS_PUBLISHED, "", "")


def test_pool_of_a_family_is_mixed_by_the_means_over_its_seeds():
    *_, family = claimed(*(data({"own": 0.5, "other": -0.3}, seed=seed) for seed in range(3)))
    assert (family.level, family.verdict) == ("family", Verdict.MIXED)


def test_difference_is_mixed_by_the_kinds_that_both_of_its_sides_list():
    rows = data({"own": 0.5, "other": -0.3}).frame
    later = rows.assign(item="later " + rows["item"], condition_n=1, shift=0.0)
    both = pd.concat([rows.assign(condition_n=0), later], ignore_index=True)
    member = CheckpointData("m", "masked", both, Resampling.of(both[["group_target"]], 500), "m")
    sides = ({"knowledge": KINDS, "n": (n,)} for n in (0, 1))
    (row,) = claimed(member, claim=Claim("falls", "it falls", "A", "shift", *sides))
    assert (row.verdict, row.above, row.below) == (Verdict.MIXED, "own", "other")


def test_estimate_over_all_categories_is_mixed_where_categories_are_on_both_sides():
    frame = data({"own": 0.5, "other": -0.3}).frame.rename(columns={"condition_knowledge": "condition_category"})
    member = CheckpointData("m", "masked", frame, Resampling.of(frame[["group_target"]], 500), "m")
    measures = [
        Measure("shift", means, ("shift",), where, {"category": name}, unit=Unit.PROBABILITY, neutral=0.0)
        for name, where in {"all": {}, **{kind: {"category": kind} for kind in KINDS}}.items()
    ]
    verdicts = {row.conditions["category"]: row.verdict for row in estimate("p", [member], measures, ["category"])}
    holds = Verdict.HOLDS_FOR_CHECKPOINT
    assert verdicts == {"all": Verdict.MIXED, "own": holds, "other": holds}
    alone = estimate("p", [member], measures)  # where categories are nothing that asks one thing many times
    assert alone[0].verdict is not Verdict.MIXED


def test_mixed_number_is_no_finding_on_the_list_and_no_suggestion_off_it():
    rows = claimed(data({"own": 0.5, "other": -0.3}))
    for primary in (True, False):
        (row,) = judge_list(rows, [primary])
        assert row.verdict is Verdict.MIXED


def test_pools_without_any_effect_are_mixed_in_less_than_one_case_of_twenty():
    """Holm over four kinds, each with p uniform: to be clear on both sides at once is rare."""
    rng, many = np.random.default_rng(0), 4000
    mixed = 0
    for _ in range(many):
        kinds = tuple(
            PartNumber(str(i), v, p)
            for i, (v, p) in enumerate(zip(rng.normal(size=4), rng.uniform(size=4), strict=True))
        )
        case = Case(value=0.1, low=0.0, high=0.2, p=0.01, reference=0.0, groups=40, kinds=kinds)
        mixed += judge([case])[0].verdict is Verdict.MIXED
    assert mixed / many < 0.01
