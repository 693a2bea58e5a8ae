"""Every probe holds the contract that `trueprobe check probe` tests, and a broken one does not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from trueprobe import probes
from trueprobe.probes.counteracts.probe import CounterActs
from trueprobe.probes.seat import probe as seat_probe
from trueprobe.runs import check as contracts
from trueprobe.runs.check import probe as probe_checks
from trueprobe.statistics import association
from trueprobe.types import Direction, Observation


def failed(name, settings=None) -> list[str]:
    return [check.name for check in contracts.check_probe(name, settings) if not check.passed]


ON_SAMPLE = ("crows_pairs", "stereoset")  # whose data is fetched
SLOW = ("seat",)  # many clusters; a few of its tests are checked each time
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in probes.names()]


@pytest.fixture
def clusters_once(monkeypatch):
    """Planted vectors recur, since neither the kind of model nor, at A and B, the strength moves them."""
    known = {}

    def matched(vectors, first, resample_seed):
        key = vectors.tobytes(), vectors.shape, first.tobytes(), resample_seed
        if key not in known:
            known[key] = association.matched(vectors, first, resample_seed)
        return known[key]

    monkeypatch.setattr(seat_probe, "matched", matched)


@pytest.mark.slow
@pytest.mark.usefixtures("clusters_once")
@pytest.mark.parametrize("name", ALL)
def test_every_probe_holds_the_contract(name):
    assert not failed(name, {"data": "sample"} if name in ON_SAMPLE else None)


@pytest.mark.parametrize("name", probes.names())
def test_a_statement_stands_alone_and_names_one_claim(name):
    probe = probes.make(name, {"data": "sample"} if name in ON_SAMPLE else {})
    named = {(claim.name, claim.statement) for claim in probe.claims()}
    assert len(named) == len({name for name, _ in named}) == len({statement for _, statement in named})
    assert not [statement for _, statement in named if not statement[0].isalpha() or statement.startswith("they ")]


@pytest.mark.parametrize("name", probes.names())
def test_a_number_has_the_sign_of_its_sentence(name):
    """Held against 0, positive is what the sentence says: no claim is published below 0."""
    probe = probes.make(name, {"data": "sample"} if name in ON_SAMPLE else {})
    against_zero = {claim.name: claim.direction for claim in probe.claims() if claim.threshold == 0}
    assert not {name for name, direction in against_zero.items() if direction is Direction.BELOW}


@pytest.mark.slow
def test_a_few_association_tests_hold_it():
    assert not failed("seat", {"tests": "weat6,sent-weat9,angry_black_woman_stereotype_b"})


@pytest.mark.slow
def test_a_file_that_is_not_about_gender_holds_it_too():
    assert not failed("counteracts", {"material": "age"})


class Small(CounterActs):
    """Eight targets, so that a broken probe is refused quickly."""

    @property
    def targets(self):
        return self.material.backgrounds[25:33]


class SignFlipped(Small):
    def observe(self, item, card, answers):
        (observation,) = super().observe(item, card, answers)
        flipped = {k: -v if k.startswith("stereotype_margin") else v for k, v in observation.values.items()}
        return [Observation(observation.item, flipped)]


class Undocumented(Small):
    def observe(self, item, card, answers):
        (observation,) = super().observe(item, card, answers)
        return [Observation(observation.item, {**observation.values, "surprise": 1.0})]


class SameId(Small):
    def items(self):
        return [replace(item, id=item.id.replace("physician", "janitor")) for item in super().items()]


class Wandering(Small):
    made = 0

    def items(self):
        Wandering.made += 1
        return super().items()[Wandering.made :]


class ReservedCondition(Small):
    def items(self):
        return [replace(item, conditions={**item.conditions, "model": "x"}) for item in super().items()]


class ReservedColumn(Small):
    def columns(self):
        return {**super().columns(), "p_corrected": "would overwrite the estimate's"}


class ReservedFactor(Small):
    factors = ("occupation", "step")


class NoGroup(Small):
    def items(self):
        return [replace(item, groups=item.groups[:1]) for item in super().items()]


SIGNS = [
    f"{what}, {kind}"
    for kind in ("masked", "causal")
    for what in ("a planted effect moves stereotype_margin its way", "opposite effects lie on opposite sides")
]


def made_of(probe, monkeypatch):
    """check_probe sees `probe` under the name counteracts."""
    monkeypatch.setattr(probe_checks, "make", lambda name, settings, allow_code: probe(probe.Settings(backgrounds=1)))
    return contracts.check_probe("counteracts")


@pytest.mark.slow
def test_a_sound_small_probe_holds_it(monkeypatch):
    assert all(check.passed for check in made_of(Small, monkeypatch))


@pytest.mark.slow
def test_a_flipped_sign_is_refused(monkeypatch):
    assert [check.name for check in made_of(SignFlipped, monkeypatch) if not check.passed] == SIGNS


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (SameId, "item ids are distinct"),
        (Wandering, "the same items each time"),
        (NoGroup, "every item names its groups"),
        (ReservedCondition, "no reserved names among conditions"),
        (ReservedColumn, "no reserved names among columns"),
        (ReservedFactor, "no reserved names among factors"),
        (Undocumented, "documented columns, masked"),
    ],
)
def test_what_is_broken_is_refused(monkeypatch, broken, name):
    check = next(check for check in made_of(broken, monkeypatch) if check.name == name)
    assert not check.passed


@pytest.mark.parametrize("strength", [-2.0, 0.0, 2.0])
def test_planted_probabilities_sum_to_one(strength):
    probe = probes.make("counteracts", {"backgrounds": 1})
    item = probe.items()[0]
    (request,) = probe.ask(item, contracts.stand_in("masked"))
    every = replace(request, top=10**6)
    answer = contracts.planted_answer(every, probe.planted(item, every, strength))
    assert sum(math.exp(token.logp) for token in answer.top) == pytest.approx(1)
    assert answer.list_size == 126 + 40
