"""The one rule for verdicts: what stands in the way, what holds, and what a list of numbers read together leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueprobe.statistics.rows import Agreement, ClaimResult, Difference, Estimate, VariantDifference
from trueprobe.statistics.verdict import (
    FEWEST_GROUPS,
    Case,
    Judgement,
    PartNumber,
    Share,
    benjamini_hochberg,
    can_be_finding,
    judge,
    judge_agreement,
    judge_equality,
    judge_joint,
    judge_list,
    together,
)
from trueprobe.types import Direction, Outcome, Reason, Unit, Verdict

CASE = Case(value=1.0, low=0.5, high=1.5, p=0.001, reference=0.0, groups=40)
FAMILY = replace(CASE, seeds=5)
UNCLEAR = replace(CASE, low=-0.5, high=2.5, p=0.2)
LOW, BORDERLINE = Share(0.2, 0.1, 0.3), Share(0.5, 0.4, 0.6)


def alone(case: Case) -> Judgement:
    (judgement,) = judge([case])
    return judgement


def seeds(*values: float, p: float = 0.001) -> tuple[PartNumber, ...]:
    return tuple(PartNumber("", value, p) for value in values)


# ---------------------------------------------------------------- what stands in the way


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"passes": False}, Verdict.FAILS_GATE),
        ({"value": math.nan}, Verdict.NOTHING_SCORED),
        ({"covered": LOW}, Verdict.LOW_COVERAGE),
        ({"untied": LOW}, Verdict.LOW_COVERAGE),
        ({"groups": 5}, Verdict.TOO_FEW_GROUPS),
        ({"low": math.nan, "high": math.nan}, Verdict.NO_INTERVAL),
        ({"low": 0.0, "high": 0.0, "value": 0.0}, Verdict.NO_VARIATION),
        ({"covered": BORDERLINE}, Verdict.BORDERLINE_COVERAGE),
        ({"untied": BORDERLINE}, Verdict.BORDERLINE_COVERAGE),
        ({"reference": None, "p": math.nan}, Verdict.DESCRIPTIVE),
    ],
)
def test_judge_says_what_stands_in_the_way_of_any_conclusion(changed, verdict):
    for case in (CASE, FAMILY, replace(CASE, direction=Direction.ABOVE)):
        assert alone(replace(case, **changed)).verdict is verdict


def test_judge_names_the_first_of_several_obstacles():
    """A missing skill before a missing value, before coverage, groups, interval, and what is only borderline."""
    order = [
        ({"passes": False}, Verdict.FAILS_GATE),
        ({"value": math.nan}, Verdict.NOTHING_SCORED),
        ({"covered": LOW}, Verdict.LOW_COVERAGE),
        ({"groups": 0}, Verdict.TOO_FEW_GROUPS),
        ({"low": math.nan}, Verdict.NO_INTERVAL),
        ({"untied": BORDERLINE}, Verdict.BORDERLINE_COVERAGE),
        ({"reference": None}, Verdict.DESCRIPTIVE),
    ]
    for i, (_, verdict) in enumerate(order):
        changed = {key: value for fields, _ in reversed(order[i:]) for key, value in fields.items()}
        assert alone(replace(CASE, **changed)).verdict is verdict


def test_judge_needs_six_groups():
    assert FEWEST_GROUPS == 6
    assert alone(replace(CASE, groups=6)).verdict is Verdict.HOLDS_FOR_CHECKPOINT


# ---------------------------------------------------------------- what holds


@pytest.mark.parametrize(
    ("case", "verdict", "reason"),
    [
        (CASE, Verdict.HOLDS_FOR_CHECKPOINT, Reason.NONE),
        (FAMILY, Verdict.HOLDS, Reason.NONE),
        (replace(FAMILY, seeds=3), Verdict.HOLDS, Reason.NONE),
        (replace(FAMILY, seeds=2), Verdict.UNDECIDED, Reason.TOO_FEW_SEEDS),
        (UNCLEAR, Verdict.UNDECIDED, Reason.INTERVAL_INCLUDES_NEUTRAL),
        (replace(UNCLEAR, seeds=5), Verdict.UNDECIDED, Reason.INTERVAL_INCLUDES_NEUTRAL),
        (replace(CASE, p=0.05), Verdict.UNDECIDED, Reason.INTERVAL_INCLUDES_NEUTRAL),
        (replace(CASE, p=0.0499), Verdict.HOLDS_FOR_CHECKPOINT, Reason.NONE),
    ],
)
def test_judge_follows_the_interval(case, verdict, reason):
    assert (alone(case).verdict, alone(case).reason) == (verdict, reason)


@given(st.lists(st.floats(-0.4, 3.0), min_size=3, max_size=12))
def test_judge_holds_whatever_the_number_of_seeds_on_the_other_side(values):
    """Seeds that are not clearly on either side: the interval over seeds has counted them already."""
    case = replace(FAMILY, seeds=len(values), seed_values=seeds(*values, p=0.3))
    assert alone(case).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("parts", "flips"),
    [
        (seeds(1.0, 1.2, -1.0), True),
        (seeds(1.0, 1.2, 0.9), False),
        (seeds(1.0, -1.0, p=0.02), True),  # Holm: 0.04 and 0.04
        (seeds(1.0, -1.0, p=0.03), False),  # 0.06
        (seeds(1.0, 1.0, -1.0, p=0.02), False),  # 0.06: with more seeds, one more is far out by chance
        (seeds(1.0, 0.0, p=0.0), False),  # exactly at neutral is on no side
        ((PartNumber("", 1.0, math.nan), PartNumber("", -1.0, math.nan)), False),
    ],
)
def test_judge_flips_where_seeds_lie_on_both_sides_beyond_noise(parts, flips):
    judgement = alone(replace(FAMILY, seed_values=parts))
    assert (judgement.verdict is Verdict.FLIPS) == flips
    assert (judgement.reason is Reason.SEEDS_APART) == flips


def test_judge_counts_seeds_and_names_wordings_on_either_side():
    by_seed = alone(replace(FAMILY, seed_values=seeds(1.0, 2.0, -1.0)))
    assert (by_seed.above, by_seed.below) == ("2", "1")
    wordings = (
        PartNumber("a", 1.0, 0.001),
        PartNumber("b", -1.0, 0.001),
        PartNumber("c", 2.0, 0.001),
        PartNumber("d", 0.1, 0.9),
    )
    by_wording = alone(replace(CASE, wordings=wordings))
    assert (by_wording.verdict, by_wording.reason) == (Verdict.FLIPS, Reason.WORDINGS_APART)
    assert (by_wording.above, by_wording.below) == ("a, c", "b")


def test_judge_flips_with_two_seeds_and_without_a_clear_mean():
    assert alone(replace(UNCLEAR, seeds=2, seed_values=seeds(1.0, -1.0))).verdict is Verdict.FLIPS


CLAIMS = [  # direction, the verdict where the number is clearly above the threshold, clearly below, and unclear
    (Direction.ABOVE, Verdict.AS_PUBLISHED, Verdict.OPPOSITE, Verdict.UNDECIDED),
    (Direction.BELOW, Verdict.OPPOSITE, Verdict.AS_PUBLISHED, Verdict.UNDECIDED),
    (Direction.NOT_BELOW, Verdict.NOT_CONTRADICTED, Verdict.OPPOSITE, Verdict.NOT_CONTRADICTED),
    (Direction.NOT_EQUAL, Verdict.AS_PUBLISHED, Verdict.AS_PUBLISHED, Verdict.UNDECIDED),
    (Direction.EQUAL, Verdict.OPPOSITE, Verdict.OPPOSITE, Verdict.NOT_CONTRADICTED),
]


@pytest.mark.parametrize(("direction", "above", "below", "unclear"), CLAIMS)
def test_judge_holds_a_claim_against_its_threshold(direction, above, below, unclear):
    case = replace(CASE, direction=direction)
    turned = replace(case, value=-1.0, low=-1.5, high=-0.5)
    verdicts = [alone(one).verdict for one in (case, turned, replace(UNCLEAR, direction=direction))]
    assert verdicts == [above, below, unclear]


@pytest.mark.parametrize(("direction", "above", "below", "unclear"), CLAIMS)
def test_judge_only_contradicts_a_claim_that_random_answers_fulfil_too(direction, above, below, unclear):
    case = replace(CASE, direction=direction, trivial=True)
    turned = replace(case, value=-1.0, low=-1.5, high=-0.5)
    allowed = {Verdict.AS_PUBLISHED: Verdict.NOT_CONTRADICTED}
    assert [alone(one).verdict for one in (case, turned)] == [allowed.get(above, above), allowed.get(below, below)]


TURNED = {Direction.ABOVE: Direction.BELOW, Direction.BELOW: Direction.ABOVE}


@given(
    st.floats(-2, 2),
    st.floats(0, 2),
    st.sampled_from([0.001, 0.04, 0.2]),
    st.sampled_from([None, Direction.ABOVE, Direction.BELOW, Direction.NOT_EQUAL, Direction.EQUAL]),
    st.sampled_from([None, 2, 3, 7]),
    st.lists(st.tuples(st.floats(-2, 2), st.sampled_from([0.001, 0.02, 0.5])), max_size=5),
)
def test_judge_has_no_favourite_side(value, half, p, direction, n_seeds, parts):
    """All numbers about the reference turned round, and with them what a claim expects."""
    case = Case(
        value=value,
        low=value - half,
        high=value + half,
        p=p,
        reference=0.0,
        groups=9,
        seeds=n_seeds,
        direction=direction,
        seed_values=tuple(PartNumber("", *part) for part in parts),
    )
    turned = replace(
        case,
        value=-value,
        low=-case.high,
        high=-case.low,
        direction=TURNED.get(direction, direction),
        seed_values=tuple(part._replace(value=-part.value) for part in case.seed_values),
    )
    if value:
        one, other = alone(case), alone(turned)
        assert replace(other, above=other.below, below=other.above) == one


# ---------------------------------------------------------------- like questions


def test_judge_corrects_cases_that_ask_one_thing_many_times():
    """Holm: 0.01 times three, 0.02 times two, 0.04; another family of questions, and a case of none, by themselves."""
    ps = [0.02, 0.01, 0.04]
    cases = [replace(CASE, p=p, together="categories") for p in ps]
    others = [replace(CASE, p=0.03, together="knowledge"), replace(CASE, p=0.03)]
    rows = judge([*cases, *others])
    assert [row.p_corrected for row in rows] == pytest.approx([0.04, 0.03, 0.04, 0.03, 0.03])
    rows = judge([replace(CASE, p=p, together="categories") for p in (0.03, 0.04)])
    assert {(row.verdict, row.reason) for row in rows} == {(Verdict.UNDECIDED, Reason.NOT_AFTER_CORRECTION)}
    assert [row.p_corrected for row in rows] == pytest.approx([0.06, 0.06])


def test_together_is_all_that_differs_in_the_corrected_conditions_only():
    at = {"category": "age", "k": "3"}
    assert together("v", at, ["category"]) == together("v", {**at, "category": "race"}, ["category"])
    assert together("v", at, ["category"]) != together("v", {**at, "k": "5"}, ["category"])
    assert together("v", at, ["category"]) != together("w", at, ["category"])
    assert together("v", {**at, "category": "all"}, ["category"]) is None  # the total stands alone
    assert together("v", at, ["test"]) is None


# ---------------------------------------------------------------- a list that is read together


def row(p: float, alone: Verdict | None = None, seeds: int = 0, **more) -> Estimate:
    """An estimate with its verdict alone: of one checkpoint, or of a family with these seeds."""
    clear = Verdict.HOLDS if seeds else Verdict.HOLDS_FOR_CHECKPOINT
    verdict = alone or (clear if p < 0.05 else Verdict.UNDECIDED)
    fixed = {"conditions": {}, "value": 1.0, "low": 0.5, "high": 1.5, "n_items": 9, "n_unscored": 0, "n_groups": 9}
    fixed |= {"unit": Unit.NATS, "neutral": 0.0, "method": ""}
    level = {"level": "family", "n_seeds": seeds} if seeds else {}
    return Estimate("p", "m", "v", **fixed, **level, verdict=verdict, verdict_alone=verdict, p_interval=p, **more)


def claim(p: float, alone: Verdict, direction: Direction = Direction.ABOVE, n_seeds: int = 3) -> ClaimResult:
    words = {"claim": "c", "statement": "it is", "paper": "A", "model": "m", "level": "family", "conditions": {}}
    numbers = {"quantity": "v", "threshold": 0.0, "value": 1.0, "low": 0.5, "high": 1.5, "unit": Unit.NATS}
    both = {"verdict": alone, "verdict_alone": alone}
    return ClaimResult("p", **words, direction=direction, **numbers, **both, n_seeds=n_seeds, p=p)


def difference(p: float, a: int = 1, b: int = 1) -> Difference:
    numbers = {"a": 2.0, "b": 1.0, "difference": 1.0, "low": 0.5, "high": 1.5, "unit": Unit.NATS, "n_items": 9}
    groups = {"n_groups": 9, "n_seeds_a": a, "n_seeds_b": b}
    return Difference("p", "v", {}, **numbers, **groups, p=p, p_permutation=p, detectable=1.0)


def variant(p: float, seeds: int = 0) -> VariantDifference:
    about = {"model": "m", "level": "family" if seeds else "checkpoint", "family": "m", "step": None, "measure": "v"}
    numbers = {"first": 1.0, "second": 2.0, "difference": 1.0, "low": 0.5, "high": 1.5, "unit": Unit.NATS}
    return VariantDifference("x", "y", **about, conditions={}, **numbers, n_groups=9, n_seeds=seeds or 1, p=p, tied=0.0)


def listed(rows: Sequence, primary: Sequence[bool] | None = None) -> list:
    return judge_list(rows, [True] * len(rows) if primary is None else primary)


STOPPED = (
    *(Verdict.FAILS_GATE, Verdict.LOW_COVERAGE, Verdict.BORDERLINE_COVERAGE, Verdict.TOO_FEW_GROUPS),
    *(Verdict.NOTHING_SCORED, Verdict.NO_INTERVAL, Verdict.NO_VARIATION, Verdict.DESCRIPTIVE),
)


def test_judge_list_by_hand():
    """Benjamini and Hochberg: 0.01 · 4 / 1, 0.02 · 4 / 2, 0.04 · 4 / 3 and 0.5: the first two remain."""
    rows = listed([row(p) for p in (0.04, 0.01, 0.5, 0.02)])
    assert [one.p_list for one in rows] == pytest.approx([0.16 / 3, 0.04, 0.5, 0.04])
    holds, undecided = Verdict.HOLDS_FOR_CHECKPOINT, Verdict.UNDECIDED
    assert [one.verdict for one in rows] == [undecided, holds, undecided, holds]
    assert [one.reason for one in rows] == [Reason.NOT_ON_LIST, Reason.NONE, Reason.NONE, Reason.NONE]
    assert [one.verdict_alone for one in rows] == [holds, holds, undecided, holds]  # as it was
    assert {one.n_list for one in rows} == {4}


@pytest.mark.parametrize("verdict", STOPPED)
def test_judge_list_leaves_out_what_could_never_be_a_finding(verdict):
    """With the stopped row's p of 0 on the list, 0.03 would be kept: 0.03 · 3 / 2 = 0.045, and not 0.03 · 2 = 0.06."""
    rows = listed([row(0.03), row(0.6), row(0.0, verdict)])
    assert [one.verdict for one in rows] == [Verdict.UNDECIDED, Verdict.UNDECIDED, verdict]
    assert [one.n_list for one in rows] == [2, 2, 0]
    assert math.isnan(rows[-1].p_list)


@pytest.mark.parametrize(
    ("few", "enough"),
    [
        (row(0.0, Verdict.UNDECIDED, seeds=2), row(0.0, seeds=3)),
        (difference(0.0, 2, 5), difference(0.0, 3, 5)),
        (difference(0.0, 1, 5), difference(0.0, 1, 1)),
        (variant(0.0, seeds=2), variant(0.0, seeds=3)),
        (claim(0.0, Verdict.UNDECIDED, n_seeds=2), claim(0.0, Verdict.AS_PUBLISHED)),
    ],
)
def test_judge_list_leaves_out_what_has_too_few_seeds(few, enough):
    assert (can_be_finding(few), can_be_finding(enough)) == (False, True)
    (one, other) = listed([few, enough])
    assert (one.verdict, one.n_list, other.n_list) == (Verdict.UNDECIDED, 0, 1)
    assert other.verdict.outcome is Outcome.GOOD


def test_judge_list_without_an_effect_has_a_finding_in_one_of_twenty():
    """24 numbers without an effect beside 8 with p near 0 that cannot be findings. With these on the list, any of the
    24 would be kept below 0.05 · 9 / 32 = 0.014, which one of them is in 1 − 0.986^24 = 29 % of cases."""
    rng, runs, found, with_stopped = np.random.default_rng(0), 2000, 0, 0
    stopped = [row(1e-9, verdict) for verdict in STOPPED[:4]] + [row(1e-9, Verdict.UNDECIDED, seeds=2)] * 4
    for ps in rng.random((runs, 24)):
        rows = listed([*map(row, ps), *stopped])
        found += any(one.verdict.outcome is Outcome.GOOD for one in rows)
        with_stopped += bool((benjamini_hochberg(np.array([*ps, *[1e-9] * 8]))[:24] < 0.05).any())
    least, most = stats.binom.ppf([0.0005, 0.9995], runs, 0.05)
    assert least <= found <= most
    assert with_stopped / runs == pytest.approx(0.29, abs=0.04)


def test_judge_list_has_few_false_ones_among_its_findings():
    """15 effects among 60 numbers: of the findings 5 % · 45 / 60 are expected to be false."""
    rng, shares = np.random.default_rng(1), []
    for _ in range(400):
        z = rng.normal(size=60) + np.repeat([3.5, 0.0], [15, 45])
        found = [one.verdict.outcome is Outcome.GOOD for one in listed([row(p) for p in 2 * stats.norm.sf(abs(z))])]
        shares.append(sum(found[15:]) / max(1, sum(found)))
    assert np.mean(shares) == pytest.approx(0.05 * 45 / 60, abs=3.5 * np.std(shares) / math.sqrt(400))


def test_judge_list_keeps_flips_with_a_p_of_one():
    """Decided by seeds on both sides, not by its own p: 0.03 beside it is 0.06, not 0.03."""
    rows = listed([row(0.03), row(1e-9, Verdict.FLIPS, seeds=5, reason=Reason.SEEDS_APART)])
    assert [one.verdict for one in rows] == [Verdict.UNDECIDED, Verdict.FLIPS]
    assert [(one.p_list, one.n_list) for one in rows] == [(pytest.approx(0.06), 2), (1.0, 2)]
    assert rows[1].reason is Reason.SEEDS_APART


def test_judge_list_keeps_the_p_of_what_is_undecided():
    rows = listed([row(0.02), row(0.04, Verdict.UNDECIDED)])
    assert [one.p_list for one in rows] == pytest.approx([0.04, 0.04])
    assert [one.verdict for one in rows] == [Verdict.HOLDS_FOR_CHECKPOINT] * 2


def test_judge_list_does_not_correct_a_primary_number_twice():
    """Three tests of 0.02 are 0.06 after Holm and undecided alone; on the list they are 0.02, and hold."""
    cases = [replace(CASE, p=0.02, together="tests")] * 3
    assert {one.verdict for one in judge(cases)} == {Verdict.UNDECIDED}
    rows = [row(0.02, Verdict.UNDECIDED, p_corrected=0.06, reason=Reason.NOT_AFTER_CORRECTION)] * 3
    assert [(one.p_list, one.verdict) for one in listed(rows)] == [(0.02, Verdict.HOLDS_FOR_CHECKPOINT)] * 3


def test_judge_list_counts_a_claim_that_is_not_contradicted_as_p_of_one():
    """Neither what may only be contradicted nor what random answers fulfil is a finding, however small its p."""
    rows = listed([claim(0.03, Verdict.AS_PUBLISHED), claim(1e-9, Verdict.NOT_CONTRADICTED, Direction.NOT_BELOW)])
    assert [one.verdict for one in rows] == [Verdict.UNDECIDED, Verdict.NOT_CONTRADICTED]
    assert [one.p_list for one in rows] == pytest.approx([0.06, 1.0])


@pytest.mark.parametrize(
    ("direction", "missed"),
    [
        (Direction.ABOVE, Verdict.UNDECIDED),
        (Direction.NOT_BELOW, Verdict.NOT_CONTRADICTED),
        (Direction.EQUAL, Verdict.NOT_CONTRADICTED),
    ],
)
def test_judge_list_takes_back_what_its_threshold_misses(direction, missed):
    kept, lost = (listed([claim(p, Verdict.OPPOSITE, direction), row(0.9)])[0] for p in (0.01, 0.03))
    assert (kept.verdict, lost.verdict, lost.verdict_alone) == (Verdict.OPPOSITE, missed, Verdict.OPPOSITE)


@pytest.mark.parametrize("make", [row, difference, variant, lambda p: claim(p, Verdict.AS_PUBLISHED)])
def test_judge_list_calls_what_is_not_primary_exploratory_or_suggestive_by_its_interval(make):
    rows = listed([make(0.049), make(0.05), make(0.001)], [False, False, True])
    assert [one.verdict for one in rows[:2]] == [Verdict.SUGGESTIVE, Verdict.EXPLORATORY]
    assert rows[2].verdict.outcome is Outcome.GOOD
    assert [one.n_list for one in rows] == [0, 0, 1]


@pytest.mark.parametrize("verdict", STOPPED)
def test_judge_list_keeps_what_stands_in_the_way_of_an_exploratory_number(verdict):
    assert listed([row(0.001, verdict)], [False])[0].verdict is verdict


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (difference(0.01), Verdict.HOLDS_FOR_CHECKPOINT),
        (difference(0.01, 3, 4), Verdict.HOLDS),
        (variant(0.01), Verdict.HOLDS_FOR_CHECKPOINT),
        (variant(0.01, seeds=3), Verdict.HOLDS),
        (row(0.01, seeds=3), Verdict.HOLDS),
        (claim(0.01, Verdict.AS_PUBLISHED), Verdict.AS_PUBLISHED),
        (claim(0.01, Verdict.OPPOSITE), Verdict.OPPOSITE),
    ],
)
def test_judge_list_judges_every_kind_of_row(one, verdict):
    assert listed([one])[0].verdict is verdict


kinds = st.sampled_from(
    [
        *[row(p) for p in (0.001, 0.01, 0.03, 0.2)],
        *[row(p, seeds=5) for p in (0.002, 0.04)],
        row(0.0, Verdict.FAILS_GATE),
        row(0.0, Verdict.FLIPS, seeds=4),
        claim(0.02, Verdict.AS_PUBLISHED),
        claim(0.3, Verdict.NOT_CONTRADICTED, Direction.EQUAL),
        difference(0.015),
    ]
)


@given(st.lists(st.tuples(kinds, st.booleans()), max_size=12), st.randoms(use_true_random=False))
def test_judge_list_depends_neither_on_the_order_nor_on_being_asked_twice(members, random):
    rows, primary = [one for one, _ in members], [flag for _, flag in members]
    once = listed(rows, primary)
    assert list(map(repr, listed(once, primary))) == list(map(repr, once))
    order = list(range(len(rows)))
    random.shuffle(order)
    shuffled = listed([rows[i] for i in order], [primary[i] for i in order])
    assert list(map(repr, shuffled)) == [repr(once[i]) for i in order]


# ---------------------------------------------------------------- diagnostics, fine-tuned checkpoints


@pytest.mark.parametrize(
    ("verdict", "above", "below"),
    [
        (Verdict.HOLDS, Agreement.FIRST_ABOVE, Agreement.FIRST_BELOW),
        (Verdict.HOLDS_FOR_CHECKPOINT, Agreement.FIRST_ABOVE, Agreement.FIRST_BELOW),
        (Verdict.UNDECIDED, Agreement.UNDECIDED, Agreement.UNDECIDED),
        (Verdict.TOO_FEW_GROUPS, Agreement.UNKNOWN, Agreement.UNKNOWN),
    ],
)
def test_judge_agreement_follows_the_judgement_on_the_difference(verdict, above, below):
    assert [judge_agreement(value, Judgement(verdict)) for value in (0.1, -0.1)] == [above, below]


def test_judge_equality_reads_all_tasks_together():
    """Alone 0.03 would contradict; of three tasks it is 0.03 · 3 / 2 with 0.02, and 0.09 without."""
    equal, differ = Verdict.NOT_CONTRADICTED, Verdict.OPPOSITE
    assert judge_equality([0.03]) == [differ]
    assert judge_equality([0.03, 0.02, 0.9]) == [differ, differ, equal]
    assert judge_equality([0.03, 0.8, 0.9, None]) == [equal, equal, equal, Verdict.NO_INTERVAL]


# ---------------------------------------------------------------- FAILS: the code is wrong here


def test_judge_list_gives_no_reason_against_a_number_that_holds():
    """Undecided alone after Holm, it holds on the list; its reason still says that it does not after correction."""
    (one,) = listed([row(0.02, Verdict.UNDECIDED, p_corrected=0.06, reason=Reason.NOT_AFTER_CORRECTION)])
    assert (one.verdict, one.reason) == (Verdict.HOLDS_FOR_CHECKPOINT, Reason.NONE)


# ---------------------------------------------------------------- joint tests on the list


def test_judge_list_makes_room_for_a_joint_test():
    """p of 0.02, 0.04 and, for a test that is counted later, 1: corrected 0.06 and 0.06, alone 0.04 and 0.04."""
    rows = [row(p) for p in (0.02, 0.04)]
    assert [one.p_list for one in judge_list(rows, [True, True])] == pytest.approx([0.04, 0.04])
    longer = judge_list(rows, [True, True], tests=1)
    assert [one.p_list for one in longer] == pytest.approx([0.06, 0.06])
    assert {one.n_list for one in longer} == {3}


def test_judge_joint_is_bonferronis():
    assert judge_joint(0.01, 3) == (Verdict.HOLDS_FOR_CHECKPOINT, pytest.approx(0.03))
    assert judge_joint(0.02, 3) == (Verdict.UNDECIDED, pytest.approx(0.06))
    assert judge_joint(math.nan, 3)[0] is Verdict.TOO_FEW_GROUPS


def test_a_list_with_joint_tests_has_few_false_findings():
    """20 numbers and 2 tests, half of each with an effect: of all findings at most 5 % are false, on average."""
    rng, shares = np.random.default_rng(8), []
    for _ in range(400):
        ps = stats.norm.sf(rng.normal(np.repeat([0.0, 3.0], 11)))
        rows = [row(float(p)) for p in (*ps[:10], *ps[11:21])]
        on_list = [one.p_list for one in judge_list(rows, [True] * 20, tests=2)]
        tested = [judge_joint(float(p), 22)[1] for p in (ps[10], ps[21])]
        false = sum(p < 0.05 for p in (*on_list[:10], tested[0]))
        found = sum(p < 0.05 for p in (*on_list, *tested))
        shares.append(false / max(1, found))
    assert np.mean(shares) < 0.05
