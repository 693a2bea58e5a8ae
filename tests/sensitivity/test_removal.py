"""Claims about counterexamples, from made-up rows: more on their own syntax, alike elsewhere, none without a plant."""

from __future__ import annotations

import numpy as np
import pytest

from trueprobe.errors import BadInput
from trueprobe.sensitivity.remove import arms_of, claims
from trueprobe.sensitivity.rows import RemovedRow
from trueprobe.types import Verdict


def made_up(left, planted=1.4, noise=0.03, seed=0):
    """`left`: by counterexamples and prompts, the nats that are left."""
    rng = np.random.default_rng(seed)
    return [
        RemovedRow(assignment=a, seed=s, arm=arm, prompts=prompts, targets="trained", before=before, after=nats + off)
        for a in range(3)
        for s in range(5)
        for before in [planted * (1 + noise * rng.normal())]
        for (arm, prompts), nats in left.items()
        for off in [noise * rng.normal()]
    ]


def verdicts(left, **how):
    return {row.prompts: row.verdict for row in claims(made_up(left, **how))}


def left(syntax, other, meaning=(0.6, 0.8)):
    return {("syntax", "syntax"): syntax, ("syntax", "other"): other} | dict(
        zip([("meaning", "syntax"), ("meaning", "other")], meaning, strict=True)
    )


def test_more_on_the_same_syntax_and_alike_on_other_frames():
    assert verdicts(left(0.2, 0.8)) == {"syntax": Verdict.AS_PUBLISHED, "other": Verdict.ALIKE}
    assert verdicts(left(1.0, 0.2)) == {"syntax": Verdict.OPPOSITE, "other": Verdict.OPPOSITE}
    (same, _) = claims(made_up(left(0.2, 0.8)))
    assert same.value == pytest.approx(0.4, abs=0.05)


def test_nothing_is_alike_where_nothing_was_planted():
    assert verdicts(left(0.0, 0.0, (0.0, 0.0)), planted=0.0)["other"] is Verdict.INSENSITIVE


def test_without_a_difference_few_are_called_published():
    same = left(0.6, 0.8)
    found = [verdicts(same, seed=seed)["syntax"] for seed in range(40)]
    assert sum(verdict is not Verdict.UNDECIDED for verdict in found) <= 5


def test_kinds_of_counterexamples_are_named():
    assert arms_of("all") == ("syntax", "meaning", "neutral")
    assert arms_of("neutral, syntax") == ("syntax", "neutral")
    with pytest.raises(BadInput, match="did you mean 'syntax'"):
        arms_of("sintax")
