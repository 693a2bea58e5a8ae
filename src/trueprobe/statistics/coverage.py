"""On how many items a number rests: the share with a countable answer, or without a tie, with its 95 % interval.

A cut-off of one half that ignores its own uncertainty decides by chance where coverage is near it. With one item a
group the interval is exact; otherwise it is Student's over groups on the logit scale, so it never leaves 0 to 1. Items
that belong to two crossed groups are counted by the factor that makes the interval wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.exact import binomial_interval
from trueprobe.statistics.measure import TIED, Columns
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.verdict import UNKNOWN, Share


def covered(columns: Columns, name: str, rows: np.ndarray, resampling: Resampling) -> Share:
    """The share of these rows whose column of coverage is 1; not known where the measure names none."""
    return _share(columns.values[name][rows], columns.cells[rows], resampling) if name else UNKNOWN


def untied(columns: Columns, rows: np.ndarray, resampling: Resampling) -> Share:
    """The share of these rows that are no tie; not known where ties are not."""
    return (
        _share(1 - columns.values[TIED][rows], columns.cells[rows], resampling) if TIED in columns.values else UNKNOWN
    )


def least(shares: Iterable[Share]) -> Share:
    """The smallest share, lower end and upper end of those that are known: any part can prevent a verdict."""
    with_value = [share for share in shares if not math.isnan(share.value)]
    return Share(*map(min, zip(*with_value, strict=True))) if with_value else UNKNOWN


def _share(counted: np.ndarray, cells: np.ndarray, resampling: Resampling) -> Share:
    filled = ~np.isnan(counted)
    counted, units = counted[filled], resampling.units[cells[filled]]
    if not len(counted):
        return UNKNOWN
    value = float(counted.mean())
    intervals = [_interval(counted, groups, value) for groups in units.T if (groups >= 0).all()]
    low, high = max(intervals, key=lambda ends: ends[1] - ends[0], default=(math.nan, math.nan))
    return Share(value, low, high)


def _interval(counted: np.ndarray, groups: np.ndarray, value: float) -> tuple[float, float]:
    _, here = np.unique(groups, return_inverse=True)
    sizes = np.bincount(here).astype(float)
    n, total = len(sizes), len(counted)
    if n == total or value in (0.0, 1.0):  # of none and of all, groups are counted as single answers
        return binomial_interval(round(value * n), n)
    if n < 2:
        return 0.0, 1.0
    off = np.bincount(here, counted) - value * sizes
    error = math.sqrt(float((off**2).sum()) * n / (n - 1)) / total
    reach = float(scipy.special.stdtrit(n - 1, 0.975)) * error / (value * (1 - value))
    centre = math.log(value / (1 - value))
    return float(scipy.special.expit(centre - reach)), float(scipy.special.expit(centre + reach))
