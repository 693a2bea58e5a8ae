"""Corrections of p-values for the number of questions asked. NaN is no question: it is kept and not counted."""

from __future__ import annotations

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Holm (1979): the chance of any false finding among all stays below the level."""
    p = np.asarray(p, dtype=float)
    corrected = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    stepped = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return corrected


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Benjamini & Hochberg (1995): the expected part of false ones among the findings stays below the level."""
    p = np.asarray(p, dtype=float)
    corrected = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")][::-1]
    stepped = p[order] * len(order) / np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.minimum.accumulate(stepped))
    return corrected
