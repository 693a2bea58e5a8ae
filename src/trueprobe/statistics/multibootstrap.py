"""The multi-bootstrap of Sellam et al. (2022): seeds and items are both drawn with replacement.

A named option, not the default: its percentile interval is too narrow with few seeds (docs/reliability.md has the
measured coverage). `samples` [seeds, 1 + R] are the values of each seed under shared draws of items; the first is the
sample itself.
"""

from __future__ import annotations

import numpy as np

METHOD = "multi-bootstrap over seeds and {groups}, percentile, 95 %"


def multibootstrap(samples: np.ndarray, resample_seed: int = 0) -> np.ndarray:
    """[R] values of the mean over drawn seeds and drawn items."""
    return _mean_of_drawn(samples[:, 1:].T, _seeds_drawn(samples, resample_seed))


def percentile(resampled: np.ndarray) -> tuple[float, float]:
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def p_value(resampled: np.ndarray, neutral: float) -> float:
    """Two-sided: how often the resampled values lie on the other side of neutral, plus one."""
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return float("nan")
    fewer = min((defined <= neutral).sum(), (defined >= neutral).sum())
    return float(min(1.0, 2 * (fewer + 1) / (len(defined) + 1)))


def _seeds_drawn(samples: np.ndarray, resample_seed: int) -> np.ndarray:
    seeds = len(samples)
    rng = np.random.default_rng([resample_seed, seeds])
    return rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=samples.shape[1] - 1)


def _mean_of_drawn(drawn_items: np.ndarray, drawn_seeds: np.ndarray) -> np.ndarray:
    means: np.ndarray = (drawn_items * drawn_seeds).sum(axis=1) / drawn_items.shape[1]
    return means
