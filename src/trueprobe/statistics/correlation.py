"""Pearson's correlation of two columns, weighted, from moments per cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueprobe.statistics.measure import Columns, Weights, totals


def pearson(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]; NaN where a column does not vary."""
    results = []
    for first, second in quantities:
        x, y = columns.values[first], columns.values[second]
        scored = ~(np.isnan(x) | np.isnan(y))
        # centred first: moments of raw values lose digits
        x, y = (np.where(scored, c - c[scored].mean() if scored.any() else c, 0.0) for c in (x, y))
        moments = np.stack([scored, x, y, x * y, x * x, y * y])
        n, sx, sy, sxy, sxx, syy = totals(columns.cells, moments, weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            varying = sxx - sx * sx / n, syy - sy * sy / n
            varies = (varying[0] > 1e-12 * sxx) & (varying[1] > 1e-12 * syy)  # else nothing but rounding is left
            results.append(np.where(varies, (sxy - sx * sy / n) / np.sqrt(varying[0] * varying[1]), np.nan))
    return np.stack(results, axis=1)
