"""Corrections for many tests: by hand, against scipy, and what must hold for any p-values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from trueprobe.statistics.verdict import benjamini_hochberg, holm

some_p = st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=0, max_size=12).map(np.array)


def test_holm_by_hand():
    # sorted .01, .02, .03, .04 times 4, 3, 2, 1: .04, .06, .06, .04, which must not fall: .06
    assert holm(np.array([0.03, 0.01, 0.04, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_benjamini_hochberg_by_hand():
    # sorted .01, .02, .03, .5 times 4/1, 4/2, 4/3, 4/4: .04, .04, .04, .5
    assert benjamini_hochberg(np.array([0.5, 0.01, 0.03, 0.02])) == pytest.approx([0.5, 0.04, 0.04, 0.04])


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_what_is_no_test_stays_so_and_is_not_counted(correct):
    corrected = correct(np.array([np.nan, 0.01, np.nan, 0.04]))
    assert np.isnan(corrected[[0, 2]]).all()
    assert corrected[[1, 3]] == pytest.approx(correct(np.array([0.01, 0.04])))
    assert np.isnan(correct(np.array([np.nan]))).all()
    assert correct(np.array([])).shape == (0,)


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@given(p=some_p)
def test_corrected_is_never_smaller_keeps_the_order_and_ends_at_one(correct, p):
    corrected, known = correct(p), ~np.isnan(p)
    assert (np.isnan(corrected) == ~known).all()
    assert (corrected[known] >= p[known] - 1e-15).all()
    assert (corrected[known] <= 1).all()
    order = np.argsort(p[known])
    assert (np.diff(corrected[known][order]) >= -1e-15).all()


@pytest.mark.slow
@given(some_p)
def test_it_is_scipys_false_discovery_control(p):
    known = p[~np.isnan(p)]
    if len(known):
        assert benjamini_hochberg(known) == pytest.approx(false_discovery_control(known))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10).map(np.array))
def test_holm_is_between_nothing_and_bonferroni(p):
    assert (holm(p) <= np.minimum(p * len(p), 1) + 1e-12).all()
