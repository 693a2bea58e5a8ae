"""The rules of the statistics package a second time, from their definitions, in plain numpy and scipy.stats.

To be compared with the package (test_plain_rules.py). Where the package finds p from an interval, p is the α at which
the interval here just touches the reference. `values` are [seeds, groups], one value each."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import integrate, optimize, stats

Ends = tuple[float, float]


def hall_or_t(alpha: float, skew: float, df: float) -> Ends:
    """How many standard errors the ends lie from the value: Hall's T with T + kT²/3 + k²T³/27 + k/6 = ±t, or t."""
    t, most = stats.t.isf(alpha / 2, df), 0.8 / stats.t.isf(0.025, df)
    k = min(max(skew, -most), most)

    def form(x: float, target: float) -> float:
        return x + k * x * x / 3 + k * k * x**3 / 27 + k / 6 - target

    down, up = (sign * optimize.brentq(form, -1e4, 1e4, (sign * t,), xtol=1e-13) for sign in (1, -1))
    return max(down, t), max(up, t)


def two_way(values: np.ndarray) -> tuple[float, float, float]:
    """The variance of the grand mean over seeds, over items, and what single answers contribute to both."""
    n_seeds, n_groups = values.shape
    items = values.mean(axis=0).var(ddof=1) / n_groups
    own = sum(one.var(ddof=1) / n_groups for one in values)
    both = max(0.0, (own - n_seeds * items) / (n_seeds - 1) / n_seeds)
    return values.mean(axis=1).var(ddof=1) / n_seeds, items, both


def crossed_ends(first: np.ndarray, second: np.ndarray | None = None, alpha: float = 0.05) -> Ends:
    """Of a family's mean, or of one family less another on the same groups. A side of one checkpoint adds no seeds. The
    squares of all reaches add (MOVER); none is less than that of the items alone."""
    sides, n_groups = [first] if second is None else [first, second], first.shape[1]
    by_group = first.mean(axis=0) - (0 if second is None else second.mean(axis=0))
    items, skew = by_group.var(ddof=1) / n_groups, float(stats.skew(by_group)) / math.sqrt(n_groups)
    several = [(two_way(side), len(side)) for side in sides if len(side) > 1]
    rest = max(items - sum(both for (_, _, both), _ in several), 1e-3 * items) if several else items
    seeds = sum(stats.t.isf(alpha / 2, n - 1) ** 2 * over_seeds for (over_seeds, _, _), n in several)
    floor = stats.t.isf(alpha / 2, n_groups - 1) * math.sqrt(items) if several else 0.0
    down, up = (max(math.sqrt(q * q * rest + seeds), floor) for q in hall_or_t(alpha, skew, n_groups - 1))
    return by_group.mean() - down, by_group.mean() + up


def beta_ends(share: float, error: float, groups: int, df: float, alpha: float = 0.05) -> Ends:
    """Korn & Graubard: as many answers of yes and no as make this error, for t instead of z. The fewer groups' worth of
    the rarer outcome were seen, the nearer to one answer a group, and from Jeffreys' limit to Clopper & Pearson's."""
    answers = share * (1 - share) / error**2
    wider = (stats.norm.isf(alpha / 2) / stats.t.isf(alpha / 2, df)) ** 2

    def limit(tail: float, seen: float, to_clopper_pearson: int) -> float:
        rare = math.exp(-groups * seen / 3)
        n = wider * answers * min(1.0, groups / answers) ** rare
        yes = 0.5 + to_clopper_pearson * rare / 2
        return float(stats.beta.ppf(tail, share * n + yes, (1 - share) * n + 1 - yes))

    return limit(alpha / 2, 1 - share, -1), limit(1 - alpha / 2, share, 1)


def swap_p(sums: np.ndarray, counts: np.ndarray, reference: float) -> float:
    """By exchanging the two answers of whole groups, whose differences sum to `sums` over `counts` items: less the
    reference, a group's sum turns its sign. Twice the share of exchanges that come as far out to the nearer side."""
    rest = sums - reference * counts
    turned = np.array(list(itertools.product((1, -1), repeat=len(rest)))) @ rest
    return min(1.0, 2 * min(np.mean(turned >= rest.sum() - 1e-9), np.mean(turned <= rest.sum() + 1e-9)))


def swap_ends(sums: np.ndarray, counts: np.ndarray, alpha: float = 0.05) -> Ends:
    """The smallest and largest difference that is not rejected, of those where p changes: differences within a set."""
    sets = np.array(list(itertools.product((0, 1), repeat=len(sums)))[1:])
    kept = [point for point in (sets @ sums) / (sets @ counts) if swap_p(sums, counts, point) >= alpha]
    return min(kept), max(kept)


def effect_ends(draws: np.ndarray, words: int, alpha: float = 0.05) -> Ends:
    """Of the mean d, [seeds, 1 + R], the observed one first, under draws of `words` words of each set. The centres of
    all seeds on z = asinh(δ / √8), δ = d / √(1 − d²/4), are shifted as far as the error at the shifted d reaches."""
    z = np.arcsinh(draws / np.sqrt(1 - draws**2 / 4) / math.sqrt(8))
    n, df, more = len(z), 2 * words - 2, words / (words - 1)
    centres = 2 * z[:, 0] - z[:, 1:].mean(axis=1)
    items, own = z[:, 1:].mean(axis=0).var() * more, z[:, 1:].var(axis=1).sum() * more
    both, seeds = (max(0.0, (own - n * items) / (n - 1) / n), centres.var(ddof=1) / n) if n > 1 else (0.0, 0.0)
    t, t_seeds = stats.t.isf(alpha / 2, df), stats.t.isf(alpha / 2, n - 1) if n > 1 else 0.0

    def mean_d(shift: float) -> float:
        delta = math.sqrt(8) * np.sinh(centres + shift)
        return float((delta / np.sqrt(1 + delta**2 / 4)).mean())

    def beyond(shift: float) -> float:
        few_words = 1 + 2.5 * (mean_d(shift) / 2) ** 2 / math.sqrt(words)
        square = t * t * max(items - both, 1e-3 * items) * few_words + t_seeds**2 * seeds
        return abs(shift) - math.sqrt(max(square, t * t * items if n > 1 else 0.0))

    return mean_d(optimize.brentq(beyond, -50, 0)), mean_d(optimize.brentq(beyond, 0, 50))


def seed_variance(categories: list[np.ndarray], alpha: float) -> tuple[float, float, float]:
    """[items, seeds] of each category -> the mean covariance over seeds of two different items, and how far down and up
    χ² reaches about the variance of the shares."""
    shares, n_seeds = np.array([one.mean(axis=0) for one in categories]), categories[0].shape[1]
    value = np.mean([np.cov(one)[~np.eye(len(one), dtype=bool)].mean() for one in categories])
    spread, between = shares.var(axis=1, ddof=1).mean(), np.atleast_2d(np.cov(shares))
    df = (n_seeds - 1) * min(max(np.trace(between) ** 2 / (between**2).sum(), 1), len(categories))
    low, high = df * spread / stats.chi2.isf(alpha / 2, df), df * spread / stats.chi2.ppf(alpha / 2, df)
    return float(value), spread - low, high - spread


def varies_more_ends(first: list[np.ndarray], second: list[np.ndarray], alpha: float = 0.05) -> Ends:
    (one, down, up), (other, other_down, other_up) = (seed_variance(side, alpha) for side in (first, second))
    return one - other - math.hypot(down, other_up), one - other + math.hypot(up, other_down)


def new_seeds(values: np.ndarray, neutral: float) -> tuple[float, ...]:
    """Φ of the mean's distance in deviations, and of the true distances at which the observed one is as far out in
    2.5 % of cases: of a normal mean, for every deviation that χ makes."""
    n, distance = len(values), abs(values.mean() - neutral) / values.std(ddof=1)
    chi = stats.chi(n - 1, scale=1 / math.sqrt(n - 1))

    def below(true: float) -> float:
        chances = lambda c: chi.pdf(c) * stats.norm.cdf(math.sqrt(n) * (distance * c - true))  # noqa: E731
        return float(integrate.quad(chances, 0, chi.isf(1e-14), epsabs=1e-11, limit=400)[0])

    low, high = (optimize.brentq(lambda true, q=q: below(true) - q, -9, 9 * distance + 9) for q in (0.975, 0.025))
    return tuple(stats.norm.cdf([distance, low, high]).tolist())


def findings(ps: list[float], on_list: list[bool]) -> list[bool]:
    """Benjamini & Hochberg's step-up at 5 %: the k smallest, with the largest k whose p(k) is below 0.05 · k / n."""
    listed = sorted(p for p, on in zip(ps, on_list, strict=True) if on)
    cut = max((p for k, p in enumerate(listed, 1) if p < 0.05 * k / len(listed)), default=-1.0)
    return [on and p <= cut for p, on in zip(ps, on_list, strict=True)]
