"""Exact tests of shares: counted out by hand, symmetric, in step with their intervals, and never wrong too often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueprobe.statistics.exact import Trials, Unmoved, binomial_interval, binomial_p
from trueprobe.statistics.interval import trials_of

answers = st.builds(Trials, st.integers(0, 40), st.integers(0, 40), st.integers(0, 20)).filter(lambda t: t.count)
alphas = st.sampled_from([0.001, 0.05, 0.2])


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("yes", "n", "ways"), [(8, 10, 45 + 10 + 1), (2, 10, 45 + 10 + 1), (5, 5, 1), (6, 6, 1), (7, 8, 8 + 1)]
)
def test_binomial_p_against_one_half_by_hand(yes, n, ways):
    """Twice the ways to be as far out: of 8 of 10, C(10, 8) + C(10, 9) + C(10, 10) among 1024."""
    assert binomial_p(yes, n, 0.5) == pytest.approx(2 * ways / 2**n)


def test_binomial_p_of_five_answers_cannot_decide_and_of_six_can():
    assert binomial_p(5, 5, 0.5) == pytest.approx(0.0625)
    assert binomial_p(6, 6, 0.5) == pytest.approx(0.03125)


def test_binomial_p_in_the_middle_is_one_and_not_more():
    assert binomial_p(5, 10, 0.5) == 1.0
    assert binomial_p(0, 10, 1e-9) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "most"), [(19, 0.1765), (20, 0.1684), (60, 0.0596)])
def test_binomial_interval_of_none_by_hand(n, most):
    """(1 − u)^n = 0.025, so u = 1 − 0.025^(1/n)."""
    assert binomial_interval(0, n) == (0.0, pytest.approx(1 - 0.025 ** (1 / n)))
    assert binomial_interval(0, n)[1] == pytest.approx(most, abs=1e-4)
    assert binomial_interval(n, n) == (pytest.approx(1 - most, abs=1e-4), 1.0)


def test_binomial_interval_is_scipys():
    for yes, n in ((1, 7), (8, 10), (40, 105), (104, 105)):
        theirs = stats.binomtest(yes, n).proportion_ci(0.95, "exact")
        assert binomial_interval(yes, n) == pytest.approx((theirs.low, theirs.high))


def test_trials_without_ties_are_the_plain_share():
    """8 of 10: p 112 / 1024; Clopper and Pearson's ends are 0.4439 and 0.9748."""
    trials = Trials(8, 2)
    assert (trials.share, trials.p(0.5)) == (0.8, pytest.approx(112 / 1024))
    assert trials.interval() == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert trials.total == pytest.approx(math.sqrt(0.8 * 0.2 / 10))


def test_trials_with_ties_test_the_rest_by_hand():
    """8 yes, 1 no, 1 tie: of the nine, 8 or 9 on one side are 9 + 1 ways among 512, so p is 20 / 512. The ends of 8 of
    9 are 0.5175 and 0.975^(1/9) = 0.9972; with the tie in the middle, (0.5 + 9 · end) / 10."""
    trials = Trials(8, 1, 1)
    assert (trials.share, trials.p(0.5)) == (0.85, pytest.approx(20 / 512))
    assert trials.interval() == pytest.approx(((0.5 + 9 * 0.5175) / 10, (0.5 + 9 * 0.9972) / 10), abs=1e-4)


def test_trials_of_ties_alone_stay_in_the_middle():
    tied = Trials(0, 0, 7)
    assert (tied.share, tied.interval(), tied.total) == (0.5, (0.5, 0.5), 0.0)
    assert (tied.p(0.4), math.isnan(tied.p(0.5))) == (0.0, True)


def test_trials_are_counted_from_answers():
    assert Trials.of(np.array([1.0, 0.5, 0, 0, 1, 1])) == Trials(3, 2, 1)


def test_trials_need_one_answer_a_group_and_a_single_factor():
    plain = np.array([1.0, 0, 0.5, 1])
    assert trials_of(plain, 4, ["item"]) == Trials(2, 1, 1)
    assert trials_of(plain, 2, ["item"]) is None  # two answers of one group are correlated
    assert trials_of(plain, 4, ["target", "background"]) is None
    assert trials_of(np.array([1.0, 0.3]), 2, ["item"]) is None
    assert trials_of(np.array([]), 0, ["item"]) is None


def test_unmoved_by_hand():
    """Twenty groups without a difference: at most u = 1 − 0.025^(1/20) = 16.8 % of all groups differ. A tenth of them
    would be missed by all twenty in 0.9^20 = 12.2 % of cases, two-sided 24.3 %."""
    u = 0.16843
    assert Unmoved(0.0, 20).interval() == pytest.approx((0, u), abs=1e-5)
    assert Unmoved(0.0, 20).p(0.1) == pytest.approx(2 * 0.9**20)
    assert Unmoved(0.0, 20, -1.0).interval() == pytest.approx((-u, u), abs=1e-5)
    assert Unmoved(0.4, 20).interval() == pytest.approx((0.4 - 0.4 * u, 0.4 + 0.6 * u), abs=1e-5)
    assert Unmoved(0.4, 20).p(0.4) == 1.0


@given(st.integers(1, 60))
def test_unmoved_none_is_the_share_of_none(groups):
    none, all_of_them = Unmoved(0.0, groups), Unmoved(1.0, groups)
    assert none.interval() == pytest.approx(Trials(0, groups).interval())
    assert all_of_them.interval() == pytest.approx(Trials(groups, 0).interval())
    assert none.p(0.5) == pytest.approx(Trials(0, groups).p(0.5))


# ---------------------------------------------------------------- symmetry


@given(answers, st.floats(0.01, 0.99))
def test_trials_with_yes_and_no_exchanged_turn_round(trials, reference):
    turned = Trials(trials.no, trials.yes, trials.ties)
    low, high = trials.interval()
    assert turned.interval() == pytest.approx((1 - high, 1 - low))
    if trials.yes + trials.no:
        assert turned.p(1 - reference) == pytest.approx(trials.p(reference), abs=1e-9)


@given(st.floats(-1, 1), st.integers(2, 400), st.floats(-1, 1))
def test_unmoved_turned_round_has_the_same_p(value, groups, reference):
    one, other = Unmoved(value, groups, -1.0), Unmoved(-value, groups, -1.0)
    low, high = one.interval()
    assert other.interval() == pytest.approx((-high, -low))
    assert other.p(-reference) == pytest.approx(one.p(reference))


# ---------------------------------------------------------------- p and interval agree


@given(answers.filter(lambda t: t.yes + t.no), st.floats(0.001, 0.999), alphas)
def test_trials_p_is_below_alpha_exactly_where_the_interval_excludes_the_reference(trials, reference, alpha):
    low, high = trials.interval(alpha)
    assert low <= trials.share <= high
    if min(abs(reference - low), abs(reference - high)) > 1e-9:
        assert (trials.p(reference) < alpha) == (not low < reference < high)


@given(st.floats(-1, 1), st.integers(2, 400), st.floats(-1, 1), alphas)
def test_unmoved_p_is_below_alpha_exactly_where_the_interval_excludes_the_reference(value, groups, reference, alpha):
    unmoved = Unmoved(value, groups, -1.0)
    low, high = unmoved.interval(alpha)
    assert -1 <= low <= value <= high <= 1
    assert 0 <= unmoved.p(reference) <= 1
    if min(abs(reference - low), abs(reference - high)) > 1e-9:
        assert (unmoved.p(reference) < alpha) == (not low <= reference <= high)


# ---------------------------------------------------------------- how often it is wrong, counted out


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.77])
@pytest.mark.parametrize("n", [6, 7, 12, 22, 40, 105])
def test_binomial_p_is_never_wrong_more_often_than_alpha(n, share):
    counts = np.arange(n + 1)
    small = np.array([binomial_p(int(yes), n, share) < 0.05 for yes in counts])
    outside = np.array([not low <= share <= high for low, high in (binomial_interval(int(yes), n) for yes in counts)])
    assert (small == outside).all()
    assert stats.binom.pmf(counts, n, share)[small].sum() <= 0.05


@pytest.mark.parametrize("tie", [0.1, 0.5, 0.9])
def test_trials_with_ties_are_never_wrong_more_often_than_alpha(tie):
    """Of 14 items, each a tie with this chance, else yes or no alike: all 120 outcomes, with their chances."""
    wrong = sum(
        float(stats.multinomial.pmf([yes, no, 14 - yes - no], 14, [(1 - tie) / 2, (1 - tie) / 2, tie]))
        for yes in range(15)
        for no in range(15 - yes)
        if Trials(yes, no, 14 - yes - no).p(0.5) < 0.05
    )
    assert wrong <= 0.05


# ---------------------------------------------------------------- FAILS: the code is wrong here


@pytest.mark.parametrize(
    ("trials", "reference", "p"),
    [
        (Trials(3, 7), 0.0, 0.0),  # three yes: the share is not 0, and the interval [0.07, 0.65] excludes it
        (Trials(7, 3), 1.0, 0.0),
        (Trials(0, 10), 0.0, 1.0),  # the interval [0, 0.31] holds 0
        (Trials(0, 9, 1), 0.05, 1.0),  # no yes and a tie: the lower end is (0.5 + 9 · 0) / 10, and p against it is 0
    ],
)
def test_trials_p_at_the_ends_of_the_scale_agrees_with_the_interval(trials, reference, p):
    """`Trials.p` is NaN where all untied answers would have to be alike, and 0 there if any is tied."""
    low, high = trials.interval()
    assert (p < 0.05) == (not low <= reference <= high)
    assert trials.p(reference) == p
