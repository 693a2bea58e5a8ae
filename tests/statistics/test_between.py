"""Claims about two models: whom they speak of, a planted difference, and what a failed gate or two seeds leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueprobe.runs.check import stand_in
from trueprobe.statistics import Claim, Gate
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import LARGER, Lead, NetworkSize
from trueprobe.statistics.paired import Sides, between, is_about, sides_of
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import Verdict

CLAIM = Claim("larger_is_right", "the larger is right", "B", "right", {"n": (1, 2)}, unit="ratio", between=LARGER)
ROBERTA = replace(CLAIM, between=("roberta", "bert"))
BASE = NetworkSize("roberta", 12, 768)
LEADER = NetworkSize("roberta", 24, 1024)
LEAD = replace(CLAIM, between=Lead(LEADER, (NetworkSize("gpt2", 12, 768),)))
BEST = replace(CLAIM, plus={"n": (1,)}, minus={"n": (2,)}, between=Lead(LEADER, (BASE, NetworkSize("bert", 12, 768))))
DOUBLE = replace(CLAIM, plus={"n": (2,)}, between=Lead(LEADER, (BASE,)), times=1.5)
NOTHING = Resampling.of(pd.DataFrame({"": ["-"]}), 0)


def card(architecture="bert", layers=12, width=768, tokenizer="t", kind="masked"):
    fields = {"architecture": architecture, "layers": layers, "width": width, "tokenizer_id": tokenizer}
    return replace(stand_in(kind), **fields)


LARGE = card("roberta", layers=24, width=1024)


def sides(first, second, able=1.0, groups=30) -> Sides:
    """Families of seeds; each seed's values for two lengths `n` of every group, and a third that no claim counts."""

    def member(name, values):
        n = np.tile([1, 2, 3], groups)
        frame = pd.DataFrame({"item": [f"i{i}" for i in range(3 * groups)], "part": "", "why_not": "", "n": n})
        frame["right"] = np.where(n < 3, np.repeat(values, 3), 1e6)
        frame["group_target"] = np.repeat([f"g{i:02d}" for i in range(groups)], 3)
        return CheckpointData(name, "masked", frame.assign(able=able), NOTHING, name.split("-")[0])

    family = [[member(f"{name}-{i}", v) for i, v in enumerate(side)] for name, side in (("a", first), ("b", second))]
    return Sides.of(*family, ["target"])


def noisy(seed, level=0.0):
    return np.random.default_rng(seed).normal(level, 1.0, 30)


@pytest.mark.parametrize(
    ("claim", "first", "second", "about"),
    [
        (CLAIM, card(layers=24, width=1024), card(), True),
        (CLAIM, card(), card(layers=24, width=1024), False),  # the order counts
        (CLAIM, card(), card(), False),
        (CLAIM, card(layers=24), card(width=1024), False),  # deeper, but narrower: neither is larger
        (CLAIM, card(layers=24), card(architecture="roberta"), False),
        (CLAIM, card(layers=24), card(tokenizer="another"), False),
        (CLAIM, card(layers=24), card(layers=0, width=0), False),  # released outputs: size not known
        (replace(CLAIM, kinds=("causal",)), card(layers=24), card(), False),
        (ROBERTA, card("roberta", tokenizer="other"), card(), True),
        (ROBERTA, card(), card("roberta"), False),
        (ROBERTA, card("roberta", layers=24), card(), False),
        (LEAD, card("roberta", 24, 1024), card("gpt2", kind="causal"), True),  # of another kind, and smaller
        (LEAD, card("gpt2", kind="causal"), card("roberta", 24, 1024), False),
        (LEAD, card("roberta"), card("gpt2", kind="causal"), False),  # RoBERTa base
        (LEAD, card("roberta", 24, 1024), card("llama", kind="causal"), False),  # no model of the paper
        (BEST, LARGE, card(), True),
        (BEST, LARGE, card("roberta", tokenizer="other"), True),
        (BEST, LARGE, LARGE, False),  # another training of the same is no other model
        (BEST, card("roberta"), card(), False),  # RoBERTa-base is not the one it speaks of
        (BEST, card(), LARGE, False),
        (BEST, card(layers=24, width=1024), card(), False),
        (DOUBLE, LARGE, card("roberta"), True),
        (DOUBLE, LARGE, card("roberta", layers=6), False),
        (DOUBLE, LARGE, card(), False),
    ],
)
def test_whom_a_claim_speaks_of(claim, first, second, about):
    assert is_about(claim, first, second) is about


def test_a_planted_difference_is_recovered_and_the_other_way_round_it_is_opposite():
    plain = noisy(0)
    row = between("p", sides([plain + 0.5], [plain]), CLAIM)
    assert (row.value, row.verdict, row.level) == (pytest.approx(0.5), Verdict.AS_PUBLISHED, "pair")
    assert (row.probe, row.model) == ("p", "a-0 against b-0")
    back = between("p", sides([plain], [plain + 0.5]), CLAIM)
    assert (back.value, back.verdict) == (pytest.approx(-0.5), Verdict.OPPOSITE)


def test_families_have_all_their_seeds_and_two_seeds_decide_nothing():
    three = between("p", sides([noisy(i, 3.0) for i in range(3)], [noisy(10 + i) for i in range(3)]), CLAIM)
    assert (three.model, three.n_seeds, three.verdict) == ("a against b", 3, Verdict.AS_PUBLISHED)
    two = between("p", sides([noisy(i, 3.0) for i in range(2)], [noisy(10 + i) for i in range(3)]), CLAIM)
    assert (two.n_seeds, two.verdict) == (2, Verdict.UNDECIDED)


def test_no_difference_stays_undecided_and_a_failed_gate_is_the_verdict():
    assert between("p", sides([noisy(0)], [noisy(1)]), CLAIM).verdict == Verdict.UNDECIDED
    gated = replace(CLAIM, gate=Gate("able", 0.5))
    assert between("p", sides([noisy(0, 3.0)], [noisy(1)], able=0.0), gated).verdict == Verdict.FAILS_GATE
    assert between("p", sides([noisy(0, 3.0)], [noisy(1)], groups=30), gated).verdict == Verdict.AS_PUBLISHED


def at_lengths(name, by_length, groups=30):
    """A checkpoint with values for length 1 and 2 of every group, and a row of another selection."""
    frame = pd.DataFrame(
        [
            {"item": f"{selection}/g{g:02d}/{n}", "condition_selection": selection, "condition_n": n, "right": value[g]}
            | {"part": "", "why_not": "", "group_target": f"g{g:02d}"}
            for g in range(groups)
            for selection, n, value in (("top", 1, by_length[0]), ("top", 2, by_length[1]), ("bottom", 1, noisy(5)))
        ]
    )
    return CheckpointData(name, "masked", frame, NOTHING, name)


def test_one_model_at_one_length_against_another_at_another():
    """Four properties against ten: no item is the same, but the groups are."""
    top = {"selection": ("top",)}
    claim = replace(BEST, plus={**top, "n": (1,)}, minus={**top, "n": (2,)})
    plain = noisy(0)
    first, second = at_lengths("a", (plain + 0.5, plain + 9)), at_lengths("b", (plain - 9, plain))
    row = between("p", sides_of(claim, [first], [second], ["target"]), claim)
    assert (row.value, row.verdict) == (pytest.approx(0.5), Verdict.AS_PUBLISHED)
    back = between("p", sides_of(claim, [second], [first], ["target"]), claim)
    assert (back.value, back.verdict) == (pytest.approx(-18), Verdict.OPPOSITE)
    alike = at_lengths("c", (noisy(1), noisy(2)))
    assert between("p", sides_of(claim, [alike], [alike], ["target"]), claim).verdict == Verdict.UNDECIDED


def test_groups_that_only_one_of_them_has_at_that_length_are_left_out():
    claim = replace(BEST, plus={"selection": ("top",), "n": (1,)}, minus={"selection": ("top",), "n": (2,)})
    first, second = at_lengths("a", (noisy(0), noisy(0))), at_lengths("b", (noisy(1), noisy(0) - 1))
    short = second.frame["condition_n"] == 1
    few = replace(second, frame=second.frame[short | (second.frame["group_target"] < "g20")])
    pair = sides_of(claim, [first], [few], ["target"])
    assert [len(member.frame) for member in pair.members] == [20, 20]
    assert between("p", pair, claim).value == pytest.approx(1)
    none = replace(second, frame=second.frame[short])
    assert between("p", sides_of(claim, [first], [none], ["target"]), claim).verdict == Verdict.NOTHING_SCORED


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(2.0, Verdict.AS_PUBLISHED), (1.5, Verdict.UNDECIDED), (1.0, Verdict.OPPOSITE)]
)
def test_double_is_nearer_to_twice_than_to_once(ratio, verdict):
    """Values of about 3: an equal is clearly not double, and what is half as much again could be either."""
    level = noisy(0, 3.0)
    claim = replace(DOUBLE, plus={"selection": ("top",), "n": (2,)})
    pair = sides_of(
        claim, [at_lengths("a", (level, ratio * level + noisy(1) / 5))], [at_lengths("b", (level, level))], ["target"]
    )
    row = between("p", pair, claim)
    assert row.verdict == verdict
    assert row.value == pytest.approx((ratio - 1.5) * level.mean() + noisy(1).mean() / 5)
