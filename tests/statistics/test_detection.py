"""The detection limit of a measure under a known association, by hand and in made-up models."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from trueprobe.errors import BadInput
from trueprobe.statistics.detection import (
    DoseRow,
    FamilyRow,
    LimitKind,
    NoLimit,
    detection_limit,
    dose_response,
    false_alarms,
    sign_errors,
)
from trueprobe.types import Direction, Verdict

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
Z = (1 + 0.8416212335729143 / 1.959963984540054) * 1.959963984540054  # 2.80, in standard errors


def row_at(dose, manipulation, value, reach, **where):
    verdict = Verdict.HOLDS_FOR_CHECKPOINT if abs(value) > reach else Verdict.UNDECIDED
    ends = {"low": value - reach, "high": value + reach}
    return DoseRow(dose=dose, manipulation=manipulation, value=value, verdict=verdict, **ends, **where)


def checkpoints(respond, assignments=3, seeds=5, se=0.1, top=2.0, noise=0.0, at_null=0.0):
    """The measure's response to `top` · λ nats; the verdict's interval knows a standard error of `se`."""
    rng = np.random.default_rng(1)
    return [
        row_at(dose, strength * dose, at_null + respond(strength * dose) + off * dose, 1.959963984540054 * se, **where)
        for assignment in range(assignments)
        for seed in range(seeds)
        for strength, off in [(top * math.exp(noise * rng.normal()), noise * rng.normal())]
        for where in [{"assignment": assignment, "seed": seed}]
        for dose in DOSES
    ]


def families(rows):
    """With an interval as wide as that of their checkpoints."""
    found = []
    for assignment in sorted({row.assignment for row in rows}):
        for dose in DOSES:
            members = [row for row in rows if (row.assignment, row.dose) == (assignment, dose)]
            value, nats = (
                float(np.mean([getattr(row, name) for row in members])) for name in ("value", "manipulation")
            )
            reach = members[0].value - members[0].low
            verdict = Verdict.HOLDS if abs(value) > reach else Verdict.UNDECIDED
            found.append(
                FamilyRow(
                    assignment=assignment,
                    dose=dose,
                    manipulation=nats,
                    value=value,
                    low=value - reach,
                    high=value + reach,
                    verdict=verdict,
                )
            )
    return found


def flipped(rows):
    return [replace(row, value=-row.value, low=-row.high, high=-row.low) for row in rows]


# ---------------------------------------------------------------- the limit


def test_detection_limit_is_where_the_response_is_2_8_standard_errors():
    """A normal number is beyond 1.96 standard errors with a chance of 80 % where its mean is at 1.96 + 0.84 of them."""
    limit = detection_limit(checkpoints(lambda nats: 0.5 * nats), Direction.ABOVE)
    assert limit.kind is LimitKind.AT
    assert limit.seeds == 5
    assert limit.assignments == 3
    assert limit.nats == pytest.approx(Z * 0.1 / 0.5)  # 0.56 nats, between the doses 0.5
    assert 1
    assert limit.low == pytest.approx(limit.nats) == limit.high  # nothing differs between seeds or assignments


def test_detection_limit_counts_what_the_interval_does_not_know():
    """Responses 0.5, 1 and 1.5 of three assignments: at m nats their deviation is m / 2, so that m − 0.196 is to be
    0.84 · √(0.1² + (m / 2)²): m = 0.40, where it is 0.28 if all are alike."""
    rows = [
        row_at(dose, 2 * dose, (0.5 + assignment / 2) * 2 * dose, 0.1959963984540054, assignment=assignment, seed=0)
        for assignment in range(3)
        for dose in np.linspace(0, 1, 41).tolist()
    ]
    limit = detection_limit(rows, Direction.ABOVE)
    m = limit.nats
    assert m - 0.195996 == pytest.approx(0.841621 * math.hypot(0.1, m / 2), abs=1e-3)
    assert limit.low < 0.28 < m < limit.high


def test_detection_limit_of_another_power():
    rows = checkpoints(lambda nats: 0.5 * nats)
    assert detection_limit(rows, Direction.ABOVE, power=0.9).nats == pytest.approx(0.2 * (1.96 + 1.2816), abs=1e-3)


def test_detection_limit_is_counted_from_dose_0():
    """A measure that had drifted before anything was planted has the limit of one that had not."""
    plain, drifted = (checkpoints(lambda nats: nats, at_null=off) for off in (0.0, 0.15))
    assert detection_limit(drifted, Direction.ABOVE).nats == pytest.approx(detection_limit(plain, Direction.ABOVE).nats)


def test_detection_limit_is_symmetric_under_sign_flip():
    rows = checkpoints(lambda nats: 0.5 * nats, noise=0.1)
    one = detection_limit(families(rows), Direction.ABOVE, checkpoints=rows)
    assert detection_limit(families(flipped(rows)), Direction.BELOW, checkpoints=flipped(rows)) == one
    assert one.low < one.nats < one.high


def test_detection_limit_is_in_the_unit_of_the_manipulation():
    rows = checkpoints(lambda nats: 0.5 * nats, noise=0.1)
    scaled = [replace(row, value=7 * row.value, low=7 * row.low, high=7 * row.high) for row in rows]
    plain, other = (detection_limit(each, Direction.ABOVE) for each in (rows, scaled))
    assert (other.nats, other.low, other.high) == pytest.approx((plain.nats, plain.low, plain.high))


def test_detection_limit_of_a_threshold_lies_beyond_it():
    limit = detection_limit(checkpoints(lambda nats: max(0.0, nats - 1)), Direction.ABOVE)
    assert limit.nats == pytest.approx(1 + Z * 0.1)


def test_detection_limit_of_a_blind_measure_lies_above_the_largest_dose():
    limit = detection_limit(checkpoints(lambda nats: 0.0, noise=0.05), Direction.ABOVE)
    assert limit.kind is LimitKind.ABOVE
    assert limit.high == math.inf
    assert limit.nats == limit.low == pytest.approx(2.0, abs=0.2)


def test_detection_limit_of_a_sensitive_measure_is_at_most_the_smallest_dose():
    limit = detection_limit(checkpoints(lambda nats: 100 * nats), Direction.ABOVE)
    assert (limit.kind, limit.nats) == (LimitKind.AT_MOST, 0.5)


def test_detection_limit_of_the_wrong_sign_is_none():
    limit = detection_limit(checkpoints(lambda nats: -nats, noise=0.05), Direction.ABOVE)
    assert (limit.kind, limit.why) == (LimitKind.NONE, NoLimit.WRONG_SIGN)
    assert math.isnan(limit.nats)


def test_detection_limit_without_manipulation_is_none():
    limit = detection_limit(checkpoints(lambda nats: nats, top=0.0), Direction.ABOVE)
    assert limit.why is NoLimit.NO_MANIPULATION


def test_detection_limit_of_verdicts_that_are_never_reached_lies_above():
    """Coverage, a gate or too few seeds stand in the way: no response is large enough."""
    rows = [replace(row, verdict=Verdict.LOW_COVERAGE) for row in checkpoints(lambda nats: nats)]
    assert detection_limit(rows, Direction.ABOVE).kind is LimitKind.ABOVE
    undecided = [replace(row, verdict=Verdict.UNDECIDED) for row in checkpoints(lambda nats: nats)]
    assert detection_limit(undecided, Direction.ABOVE).kind is LimitKind.ABOVE


def test_detection_limit_where_nothing_was_scored_lies_above():
    nothing = {"value": math.nan, "low": math.nan, "high": math.nan, "verdict": Verdict.NOTHING_SCORED}
    rows = [replace(row, **nothing) for row in checkpoints(lambda nats: nats)]
    assert detection_limit(rows, Direction.ABOVE).kind is LimitKind.ABOVE


def test_detection_limit_lies_above_the_last_dose_without_a_value():
    """Unknown is not zero, and not a detection."""
    rows = checkpoints(lambda nats: nats)
    lacking = {"value": math.nan, "low": math.nan, "high": math.nan, "verdict": Verdict.NOTHING_SCORED}
    (first, *_) = (row for row in rows if row.dose == 0.5)
    changed = [replace(row, **lacking) if row is first else row for row in rows]
    assert detection_limit(rows, Direction.ABOVE).kind is LimitKind.AT_MOST
    assert detection_limit(changed, Direction.ABOVE).nats > first.manipulation


def test_detection_limit_of_one_assignment_has_no_interval():
    limit = detection_limit(checkpoints(lambda nats: nats / 2, assignments=1, noise=0.1), Direction.ABOVE)
    assert limit.kind is LimitKind.AT
    assert math.isnan(limit.low)
    assert math.isnan(limit.high)


def test_detection_limit_of_one_checkpoint():
    limit = detection_limit(checkpoints(lambda nats: 0.5 * nats, assignments=1, seeds=1), Direction.ABOVE)
    assert limit.nats == pytest.approx(Z * 0.1 / 0.5)


def test_detection_limit_interval_is_wider_with_fewer_assignments():
    widths = []
    for assignments in (3, 10):
        rows = checkpoints(lambda nats: 0.5 * nats, assignments=assignments, noise=0.2)
        limit = detection_limit(rows, Direction.ABOVE)
        widths.append(limit.high / limit.low)
    assert widths[0] > widths[1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: [row for row in rows if row.dose == 0], "at least one more"),
        (lambda rows: [row for row in rows if row.dose > 0], "needs dose 0"),
        (lambda rows: [], "there are none"),
        (lambda rows: [*rows, rows[0]], "is given twice"),
        (lambda rows: rows[1:], "was not measured at dose 0"),
        (lambda rows: [replace(rows[0], manipulation=math.nan), *rows[1:]], "is not a number"),
    ],
)
def test_bad_input_is_named(change, says):
    rows = change(checkpoints(lambda nats: nats))
    for function in (dose_response, lambda rows: detection_limit(rows, Direction.ABOVE)):
        with pytest.raises(BadInput, match=says):
            function(rows)


def test_bad_input_a_direction_without_a_side():
    with pytest.raises(BadInput, match="'above' or 'below'"):
        detection_limit(checkpoints(lambda nats: nats), Direction.ALIKE)


def test_bad_input_families_of_other_doses():
    rows = checkpoints(lambda nats: nats)
    with pytest.raises(BadInput, match="differ in doses"):
        detection_limit(families(rows), Direction.ABOVE, checkpoints=[row for row in rows if row.dose != 0.5])


# ---------------------------------------------------------------- dose–response, errors


def test_dose_response_of_two_nats_for_one_is_two():
    found = dose_response(checkpoints(lambda nats: 2 * nats, noise=0.02, at_null=0.3))
    assert found.trend == pytest.approx(2, abs=0.05)
    assert found.trend_low < 2 < found.trend_high
    assert found.trend_p < 0.001
    assert found.reversal_p == 1
    assert [one.dose for one in found.doses] == list(DOSES[1:])
    assert found.doses[1].difference == pytest.approx(2 * found.doses[1].manipulation, rel=0.05)


def test_dose_response_finds_a_step_back():
    found = dose_response(checkpoints(lambda nats: nats if nats < 1.2 else 2.4 - nats, noise=0.005))
    assert found.reversal_p < 0.01


def test_dose_response_of_an_unplanted_category_includes_zero():
    """Its specificity: weights that wander move it to any side."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(200):
        off = {(a, s): rng.normal() for a in range(3) for s in range(5)}
        rows = checkpoints(lambda nats: 0.0)
        rows = [replace(row, value=off[row.assignment, row.seed] * row.dose) for row in rows]
        p.append(dose_response(rows).doses[-1].p)
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_dose_response_needs_values():
    rows = checkpoints(lambda nats: nats)
    with pytest.raises(BadInput, match="has no value"):
        dose_response([replace(rows[0], value=math.nan), *rows[1:]])


def test_false_alarms_of_normal_numbers_are_5_percent():
    rng = np.random.default_rng(0)
    verdicts = [Verdict.HOLDS if abs(z) > 1.959964 else Verdict.UNDECIDED for z in rng.normal(size=4000)]
    share = false_alarms(verdicts)
    assert share.low < 0.05 < share.high
    assert share.value == pytest.approx(0.05, abs=0.01)


def test_false_alarms_none_of_200_is_at_most_2_percent():
    share = false_alarms([Verdict.UNDECIDED] * 200)
    assert share == pytest.approx((0.0, 0.0, 0.0183), abs=1e-4)  # 1 − 0.025^(1/200)


def test_false_alarms_count_only_what_could_be_decided():
    share = false_alarms([Verdict.LOW_COVERAGE] * 190 + [Verdict.HOLDS] + [Verdict.UNDECIDED] * 9)
    assert share.value == 0.1
    assert math.isnan(false_alarms([Verdict.NOTHING_SCORED] * 200).value)


def test_false_alarms_need_enough_relabellings():
    with pytest.raises(BadInput, match="at least 200"):
        false_alarms([Verdict.UNDECIDED] * 199)


def test_sign_errors_are_shares_of_the_decided():
    rows = checkpoints(lambda nats: -nats, assignments=1, seeds=1)
    assert sign_errors(rows, Direction.ABOVE)[:1] == (1.0,)
    assert sign_errors(rows, Direction.BELOW).value == 0.0
    assert math.isnan(sign_errors(checkpoints(lambda nats: 0.0), Direction.ABOVE).value)
    assert sign_errors(checkpoints(lambda nats: 1 + nats), Direction.ABOVE, neutral=10.0).value == 1.0
