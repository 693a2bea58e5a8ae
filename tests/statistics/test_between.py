"""Claims about two models: whom they speak of, a planted difference, and what a failed gate or two seeds leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueprobe.runs.check import stand_in
from trueprobe.statistics.between import between, is_about
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import LARGER, Claim, Gate, Lead, NetworkSize
from trueprobe.statistics.paired import Sides
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import Verdict

CLAIM = Claim("larger_is_right", "the larger is right", "B", "right", {"n": (1, 2)}, unit="ratio", between=LARGER)
ROBERTA = replace(CLAIM, between=("roberta", "bert"))
LEAD = replace(CLAIM, between=Lead(NetworkSize("roberta", 24, 1024), (NetworkSize("gpt2", 12, 768),)))
NOTHING = Resampling.of(pd.DataFrame({"": ["-"]}), 0)


def card(architecture="bert", layers=12, width=768, tokenizer="t", kind="masked"):
    fields = {"architecture": architecture, "layers": layers, "width": width, "tokenizer_id": tokenizer}
    return replace(stand_in(kind), **fields)


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
