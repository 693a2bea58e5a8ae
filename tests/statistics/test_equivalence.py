"""Claims of equivalence: hand-worked values, a second implementation, symmetries, models without the effect, rates."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from trueprobe.errors import BadInput
from trueprobe.statistics import Claim
from trueprobe.statistics.claims import ClaimSubject, claim_results, result
from trueprobe.statistics.equivalence import Side, equivalence, over_seeds
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import Margin
from trueprobe.statistics.paired import Sides, between
from trueprobe.statistics.resampling import Groups, Resampling
from trueprobe.statistics.spread import Samples
from trueprobe.statistics.verdict import Case
from trueprobe.types import Direction, Unit, Verdict

MANY = Groups(10**9)
FIFTH = Margin(plus={"at": ("high",)}, minus={"at": ("low",)})
CLAIM = Claim(
    name="c",
    statement="as good",
    paper="B",
    column="v",
    plus={"at": ("one",)},
    minus={"at": ("other",)},
    direction=Direction.ALIKE,
    unit=Unit.NATS,
    margin=FIFTH,
)


def samples(value: float, se: float, seed: int = 0) -> Samples:
    return Samples(np.array([[value, *np.random.default_rng(seed).normal(value, se, 200_000)]]))


def exactly(value: float) -> Samples:
    return Samples(np.full((1, 200_001), value))


def one_model(quantity: Samples, effect: Samples):
    return equivalence([Side(quantity, effect)], FIFTH, lambda s: over_seeds(s, MANY), MANY, Unit.NATS)


def test_the_example_worked_by_hand():
    """q = 0.01, se 0.02, effect 0.30 without noise: m = 0.06, p = Φ(−2.5), the 90 % interval 0.01 ± 1.645 · 0.02."""
    one = one_model(samples(0.01, 0.02), exactly(0.30))
    assert one.margin == pytest.approx(0.06)
    assert one.p == pytest.approx(norm.cdf(-2.5), rel=0.05)
    assert (one.low, one.high) == pytest.approx((-0.0229, 0.0429), abs=3e-4)
    assert one.p_apart == 1.0
    assert one.sensitive


def test_the_sign_of_quantity_and_effect_does_not_matter():
    plain = one_model(samples(0.01, 0.02), exactly(0.30))
    for quantity, effect in ((samples(-0.01, 0.02), exactly(0.30)), (samples(0.01, 0.02), exactly(-0.30))):
        other = one_model(quantity, effect)
        assert other.p == pytest.approx(plain.p, rel=0.05)
        assert other.margin == pytest.approx(plain.margin)


def test_alike_is_where_the_interval_lies_inside_a_fixed_margin():
    for value in np.linspace(-0.08, 0.08, 33).tolist():
        one = one_model(samples(value, 0.02), exactly(0.30))
        inside = -one.margin < one.low and one.high < one.margin
        assert (one.p < 0.05) == inside, value


def test_beyond_the_margin_is_no_failure_to_show_that_it_is_within():
    one = one_model(samples(0.12, 0.02), exactly(0.30))
    assert one.p > 0.99
    assert one.p_apart == pytest.approx(2 * norm.cdf(-3.0), rel=0.1)


def test_an_effect_that_is_not_there_makes_it_insensitive():
    assert not one_model(samples(0.0, 0.001), samples(0.02, 0.02)).sensitive
    assert not one_model(exactly(0.0), exactly(0.0)).sensitive
    amount = Margin(plus={}, amount=0.1)
    for effect, sensitive in ((0.3, True), (0.09, False), (-0.3, True)):
        side = Side(samples(0.0, 0.01), samples(effect, 0.01))
        found = equivalence([side], amount, lambda s: over_seeds(s, MANY), MANY, Unit.NATS)
        assert (found.sensitive, found.margin) == (sensitive, pytest.approx(0.1))


# ---------------------------------------------------------------- claims of checkpoints, families and two models


def frame(values: dict[str, np.ndarray]) -> pd.DataFrame:
    """`values`: the condition -> the values of all groups."""
    parts = [
        pd.DataFrame({"condition_at": at, "group_g": [f"g{i}" for i in range(len(v))], "v": v, "tied": 0.0})
        for at, v in values.items()
    ]
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(item=whole["condition_at"] + whole["group_g"], part="", why_not="")


def members(worlds: list[dict[str, np.ndarray]], family: str = "f") -> list[CheckpointData]:
    frames = [frame(world) for world in worlds]
    drawn = Resampling.of(frames[0][["group_g"]].set_axis(["g"], axis=1), 2000)
    return [
        CheckpointData(f"{family}{i}", "masked", one, drawn, family, {"model_seed": i}) for i, one in enumerate(frames)
    ]


def world(rng: np.random.Generator, apart: float, effect: float, groups: int = 200, noise: float = 0.1):
    means = {"one": 1 + apart, "other": 1.0, "high": effect, "low": 0.0}
    return {at: mean + rng.normal(0, noise, groups) for at, mean in means.items()}


@pytest.mark.parametrize(
    ("apart", "effect", "verdict"),
    [
        (0.0, 1.0, Verdict.ALIKE),
        (0.5, 1.0, Verdict.OPPOSITE),
        (0.2, 1.0, Verdict.UNDECIDED),
        (0.0, 0.0, Verdict.INSENSITIVE),
    ],
)
def test_a_claim_of_checkpoints_and_of_their_family(apart, effect, verdict):
    rng = np.random.default_rng(1)
    rows = claim_results("p", members([world(rng, apart, effect) for _ in range(3)]), [CLAIM])
    assert [row.level for row in rows] == ["checkpoint"] * 3 + ["family"]
    assert rows[-1].verdict_alone is verdict
    if effect:
        assert rows[-1].margin == pytest.approx(0.2 * effect, rel=0.1)
    if verdict is Verdict.OPPOSITE:
        assert rows[-1].p < 0.05


def test_without_the_two_tests_nothing_is_called_alike():
    """The p against the threshold is small where the number differs from it: the contrary of being alike."""
    subject = ClaimSubject("m", "checkpoint")
    case = Case(value=1.0, low=0.9, high=1.1, p=1e-6, reference=0.0, groups=60, direction=Direction.ALIKE)
    assert result("p", CLAIM, subject, case).verdict_alone is Verdict.INSENSITIVE


def test_a_family_of_two_seeds_is_undecided():
    rng = np.random.default_rng(1)
    rows = claim_results("p", members([world(rng, 0.0, 1.0) for _ in range(2)]), [CLAIM])
    assert [row.verdict_alone for row in rows] == [Verdict.ALIKE, Verdict.ALIKE, Verdict.UNDECIDED]


def test_two_models_by_the_mean_of_their_effects():
    rng = np.random.default_rng(1)
    claim = Claim(
        name="c",
        statement="interchangeable",
        paper="B",
        column="v",
        plus={"at": ("one",)},
        direction=Direction.ALIKE,
        unit=Unit.NATS,
        margin=FIFTH,
        between=("a", "b"),
    )
    for other, verdict in ((0.0, Verdict.ALIKE), (0.5, Verdict.OPPOSITE)):
        first, second = members([world(rng, 0.0, 1.0)], "a"), members([world(rng, other, 2.0)], "b")
        row = between("p", Sides.of(first, second, ["g"]), claim)
        assert (row.verdict_alone, row.level) == (verdict, "pair")
        assert row.margin == pytest.approx(0.2 * 1.5, rel=0.1)
        assert row.value == pytest.approx(-other, abs=0.05)


def test_a_margin_and_the_direction_alike_need_each_other():
    for wrong in ({"direction": Direction.ALIKE}, {"margin": FIFTH}):
        with pytest.raises(BadInput, match="need each other"):
            Claim(name="c", statement="", paper="B", column="v", plus={}, **wrong)


def plain(quantity: np.ndarray, effect: np.ndarray) -> tuple[bool, bool]:
    """Two one-sided t-tests of q ± effect / 5 over groups, without resampling: alike, sensitive."""

    def p_above(values: np.ndarray) -> float:
        return float(t.sf(values.mean() / (values.std(ddof=1) / math.sqrt(len(values))), len(values) - 1))

    effect = effect * np.sign(effect.mean())
    ps = p_above(quantity + 0.2 * effect), p_above(0.2 * effect - quantity)
    return max(ps) < 0.05, p_above(0.8 * effect) < 0.025


def test_verdicts_are_those_of_a_plain_implementation():
    rng = np.random.default_rng(0)
    same = []
    for _ in range(60):
        drawn = world(rng, rng.uniform(0, 0.3), rng.choice([0.0, 1.0]), groups=60, noise=0.3)
        (row,) = claim_results("p", members([drawn]), [CLAIM])
        alike, sensitive = plain(drawn["one"] - drawn["other"], drawn["high"] - drawn["low"])
        ours = row.verdict_alone is not Verdict.INSENSITIVE, row.verdict_alone is Verdict.ALIKE
        same.append(ours == (sensitive, alike and sensitive))
    assert sum(same) >= 58  # Student's and the bootstrap differ at the threshold


@pytest.mark.slow
def test_at_the_margin_one_in_twenty_is_called_alike_at_most():
    """At the margin, 400 runs: more than 31 of them happen once in 400 if the rate is 5 %."""
    rng = np.random.default_rng(2)
    rows = [claim_results("p", members([world(rng, 0.2, 1.0, 58, 0.2)]), [CLAIM])[0] for _ in range(400)]
    assert sum(row.verdict_alone is Verdict.ALIKE for row in rows) <= 31
    dead = [claim_results("p", members([world(rng, 0.0, 0.0, 58, 0.2)]), [CLAIM])[0] for _ in range(200)]
    assert sum(row.verdict_alone is Verdict.ALIKE for row in dead) <= 2
