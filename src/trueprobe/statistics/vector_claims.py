"""Paper C's claims about vectors of single checkpoints, over the seeds of a family (its section 3.2).

`representations_disagree`: the sentence vector and the word vector of one checkpoint often give different results. Of
each test the two effect sizes are compared, with their intervals over words as if these were independent, which errs
towards agreement; without any disagreement one test in twenty differs. `clusters_near_chance`: k-means often does not
find the two sets. Its accuracy is within 10 points of one half, a fifth of the way to perfect clusters (two one-sided
tests). Tests of the same sets in another form count once. Both are judged only where the vectors show associations in
the direction of the stereotype, over all tests: vectors that stand for nothing differ, and cluster by chance, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trueprobe.statistics.claims import ClaimSubject, case_of, result
from trueprobe.statistics.equivalence import LEVEL, Equivalence
from trueprobe.statistics.interval import Quantity, interval
from trueprobe.statistics.measure import Claim, Margin
from trueprobe.statistics.rows import ClaimResult
from trueprobe.statistics.spread import Spread, VarianceSource
from trueprobe.statistics.standardised import to_z
from trueprobe.statistics.unjudged import Unjudged
from trueprobe.statistics.verdict import ALPHA, FEWEST_GROUPS, FEWEST_SEEDS, Case
from trueprobe.types import Direction, Unit

SENTENCE, WORD = ("cls", "last"), "word"  # of masked, of causal models
CHANCE, NEAR = 0.5, 0.1
_Z = 1.959963984540054
_CLUSTERS = {"clusters_targets": "targets", "clusters_attributes": "attributes"}
_FORMS = re.compile(r"^sent-|_one_(word|sentence)$|_?b$")  # of one test: weat6, weat6b, sent-weat6, sent-weat6b

Table = Mapping[str, np.ndarray]  # [test] = a value for each seed


class _Of(NamedTuple):
    """The seeds' numbers of one measure and representation, by test."""

    values: Table
    ses: Table


def vector_claims(label: str, rows: Sequence[Unjudged], family: tuple[str, int | None]) -> Iterator[ClaimResult]:
    effects = _by_representation(rows, family, "effect_size")
    for sentence in (one for one in SENTENCE if one in effects and WORD in effects):
        yield _disagreement(label, family, effects[sentence], effects[WORD], sentence)
    for measure, which in _CLUSTERS.items():
        for representation, of in _by_representation(rows, family, measure).items():
            if representation in effects:
                yield _near_chance(label, family, which, representation, of, effects[representation])


def _by_representation(rows: Sequence[Unjudged], family: tuple[str, int | None], measure: str) -> dict[str, _Of]:
    """Of tests that every seed has a number of, over all templates; of several layers, the first."""
    by_test: dict[str, dict[str, list[Unjudged]]] = {}
    layers: dict[str, str] = {}
    for one in rows:
        e, at = one.estimate, one.estimate.conditions
        seed = (e.level, e.family, e.step, e.measure) == ("checkpoint", *family, measure)
        if seed and at.get("wording") == "all" and one.usable and not math.isnan(e.value + one.interval.se):
            representation = at.get("representation", "")
            if layers.setdefault(representation, at.get("layer", "")) == at.get("layer", ""):
                by_test.setdefault(representation, {}).setdefault(at["test"], []).append(one)
    most = max((len(ones) for tests in by_test.values() for ones in tests.values()), default=0)
    whole = {r: {test: ones for test, ones in tests.items() if len(ones) == most} for r, tests in by_test.items()}
    return {
        representation: _Of(
            {test: np.array([one.estimate.value for one in ones]) for test, ones in tests.items()},
            {test: np.array([one.interval.se for one in ones]) for test, ones in tests.items()},
        )
        for representation, tests in whole.items()
        if most >= FEWEST_SEEDS and len({_set_of(test) for test in tests}) > 1
    }


def _disagreement(label: str, family: tuple[str, int | None], one: _Of, other: _Of, name: str) -> ClaimResult:
    shared = [test for test in one.values if test in other.values]
    differs = {
        test: np.abs(to_z(one.values[test]) - to_z(other.values[test])) > _Z * np.hypot(one.ses[test], other.ses[test])
        for test in shared
    }
    spread, tests = over_tests(differs)
    ends = interval(spread, tests, Quantity(Unit.SHARE, ALPHA))
    claim = Claim(
        "representations_disagree",
        f"{name} and word vectors of one checkpoint differ in more than one test in twenty",
        paper="C",
        column="share of tests that differ",
        plus={},
        threshold=ALPHA,
        unit=Unit.SHARE,
    )
    sensitive = _associates(one) or _associates(other)
    case = case_of(claim, spread.value, ends, tests, seeds=len(differs[shared[0]]), sensitive=sensitive)
    return result(label, claim, _subject(family, case), case)


def _near_chance(
    label: str, family: tuple[str, int | None], which: str, representation: str, of: _Of, effects: _Of
) -> ClaimResult:
    spread, tests = over_tests({test: values - CHANCE for test, values in of.values.items()})
    alike = near(spread, NEAR, _associates(effects))
    claim = Claim(
        "clusters_near_chance",
        f"{representation} vectors of {which} do not cluster by their sets (accuracy within 10 points of 50 %)",
        paper="C",
        column="accuracy of clusters",
        plus={},
        direction=Direction.ALIKE,
        threshold=CHANCE,
        unit=Unit.SHARE,
        conditions={"representation": representation, "sets": which},
        margin=Margin(plus={}, amount=NEAR),
    )
    case = Case(
        value=spread.value + CHANCE,
        low=alike.low,
        high=alike.high,
        p=alike.p,
        reference=CHANCE,
        groups=tests,
        seeds=len(next(iter(of.values.values()))),
        direction=claim.direction,
    )
    return result(label, claim, _subject(family, case), case, alike)


def _subject(family: tuple[str, int | None], case: Case) -> ClaimSubject:
    return ClaimSubject(family[0], "family", family[0], family[1], case.seeds or 0)


def over_tests(table: Table) -> tuple[Spread, int]:
    """A mean over tests, those of one set once: other tests and other seeds move it."""
    by_set: dict[str, list[np.ndarray]] = {}
    for test, values in table.items():
        by_set.setdefault(_set_of(test), []).append(np.asarray(values, dtype=float))
    means = np.array([np.mean(tests, axis=0) for tests in by_set.values()])  # [sets, seeds]
    of_sets, of_seeds = means.mean(axis=1), means.mean(axis=0)
    n, seeds = means.shape
    others = (VarianceSource(float(of_seeds.var(ddof=1)) / seeds, seeds - 1),)
    se = math.sqrt(float(of_sets.var(ddof=1)) / n) if n > 1 else math.nan
    return Spread(float(means.mean()), se, df=n - 1, others=others), n


def _set_of(test: str) -> str:
    """`sent-weat6b` -> `weat6`"""
    return _FORMS.sub("", test)


def _associates(of: _Of) -> bool:
    """Whether effects are on the side of the stereotype, over all tests."""
    spread, n = over_tests({test: to_z(values) for test, values in of.values.items()})
    return n >= FEWEST_GROUPS and spread.value > 0 and spread.p(0.0) < ALPHA


def near(spread: Spread, margin: float, sensitive: bool) -> Equivalence:
    """Two one-sided tests of a number against −margin and margin."""
    value, (low, high) = spread.value, spread.interval(LEVEL)
    p_low, p_high = spread.p(-margin), spread.p(margin)
    one_sided = (p_low / 2 if value > -margin else 1 - p_low / 2, p_high / 2 if value < margin else 1 - p_high / 2)
    apart = p_high if value > margin else p_low if value < -margin else 1.0
    return Equivalence(value, margin, low, high, float(np.max(one_sided)), apart, sensitive)
