"""Contrasts of a crossed design: differences between the values of a factor, and how they differ between others.

Of the means m of a 2 × 2 design, with `a` and `b` the values of one factor and 1 and 2 those of the other:

    main effect    (m[b1] + m[b2]) / 2 − (m[a1] + m[a2]) / 2      each combination counts the same, however many items
    at each value  m[b1] − m[a1]
    interaction    (m[b2] − m[a2]) − (m[b1] − m[a1])

Positive: more at the later value, in the order in which the file first has them; of an interaction, a larger difference
at the later value of the other factor. These are the coefficients of a regression whose factors are coded −½ and ½.
Every contrast is a measure like others, so what draws items, compares models and judges numbers needs not know of it.
Of a share it is a difference in points: an interaction of shares near 0 or 1 may come from the ends of the scale alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from trueprobe.errors import BadInput, nearest
from trueprobe.statistics.measure import Columns, Function, Indicator, Measure, Weights
from trueprobe.statistics.rows import grouped
from trueprobe.statistics.verdict import POOLED
from trueprobe.types import AT, CONTRAST, LEVELS

MOST_FACTORS = 3
MOST = 400  # contrasts of one measure
WHOLE = "whole design"  # the value of `at` where no other factor is fixed
SUFFIX = "_contrast"  # of a measure's name
TIMES, MINUS = " × ", " − "
_BETWEEN = re.compile(r"\s*[×*:]\s*|\s+x\s+")


@dataclass(frozen=True)
class Contrast:
    """The sum of a function's values in several cells, each with its weight; the columns of a quantity are those of
    the function, then one for each cell, which is 1 where an observation is of it."""

    weights: tuple[float, ...]
    function: Function

    def __call__(self, columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
        n, total = len(self.weights), np.zeros((len(weights), len(quantities)))
        for cells, which in grouped(range(len(quantities)), lambda i: quantities[i][-n:]).items():
            values = [quantities[i][:-n] for i in which]
            for weight, cell in zip(self.weights, cells, strict=True):
                inside = columns.values[cell] == 1  # a mean of nothing is not known, and neither is the contrast
                at_cell = self.function(columns.pick(inside), values, weights) if inside.any() else np.nan
                total[:, which] += weight * at_cell
        return total


def factors_of(contrast: str, known: Iterable[str]) -> tuple[str, ...]:
    """`attractor × number`, also written with x, * or a colon: its factors, which are conditions."""
    factors = tuple(_BETWEEN.split(contrast.strip()))
    names = list(known)
    for factor in factors:
        if factor not in names:
            raise BadInput(f"contrast '{contrast}': '{factor}' is no condition{nearest(factor, names)}")
    if len(set(factors)) < len(factors) or len(factors) > MOST_FACTORS:
        raise BadInput(f"contrast '{contrast}': one to {MOST_FACTORS} different conditions, with × between them")
    return factors


def contrasts(contrast: str, measures: Sequence[Measure]) -> list[Measure]:
    """Of all measures that are counted at each value of the contrast's factors: main effects, differences at each value
    of the other factors, and interactions."""
    factors = factors_of(contrast, dict.fromkeys(name for measure in measures for name in measure.conditions))
    cells = [m for m in measures if all(m.reported.get(f, POOLED) != POOLED for f in factors) and not m.differences]
    made: list[Measure] = []
    for alike in grouped(cells, lambda m: _but(factors, m)).values():
        made += _of_one(contrast, alike, factors)
    if not any(measure.reported[CONTRAST] == TIMES.join(factors) for measure in made):
        raise BadInput(
            f"contrast '{contrast}': no combination of values is complete, with two values of each condition"
        )
    return made


def _but(factors: Sequence[str], measure: Measure) -> tuple[object, ...]:
    rest = tuple(sorted(item for item in measure.reported.items() if item[0] not in factors))
    where = tuple(sorted((key, str(value)) for key, value in measure.where.items() if key not in factors))
    return measure.name, measure.kinds, measure.columns, rest, where


def _of_one(contrast: str, cells: Sequence[Measure], factors: Sequence[str]) -> list[Measure]:
    """Of the measures of one quantity, one for each combination of values."""
    at = {tuple(cell.reported[factor] for factor in factors): cell for cell in cells}
    levels = {factor: list(dict.fromkeys(cell.reported[factor] for cell in cells)) for factor in factors}
    pooled = {key for key, value in cells[0].reported.items() if value == POOLED}
    rest = {key: value for key, value in cells[0].conditions.items() if key not in {*factors, *pooled}}
    made: list[Measure] = []
    for term in _terms(levels):
        weights = term.weights(levels)
        if all(key in at for key in weights):
            made.append(_measure(term, {key: at[key] for key in weights}, tuple(weights.values()), rest))
        if len(made) > MOST:
            raise BadInput(f"contrast '{contrast}': more than {MOST} differences; choose conditions with fewer values")
    return made


@dataclass(frozen=True)
class _Term:
    pairs: Mapping[str, tuple[str, str]]  # of each factor that is contrasted: the earlier value and the later one
    fixed: Mapping[str, str]  # of other factors; those that are neither are averaged

    def weights(self, levels: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], float]:
        """By the combination of values: each later value adds, each earlier one subtracts."""
        choices: list[list[tuple[str, float]]] = []
        for factor, values in levels.items():
            if factor in self.pairs:
                earlier, later = self.pairs[factor]
                choices.append([(later, 1.0), (earlier, -1.0)])
            elif factor in self.fixed:
                choices.append([(self.fixed[factor], 1.0)])
            else:
                choices.append([(value, 1 / len(values)) for value in values])
        return {
            tuple(value for value, _ in cell): float(np.prod([weight for _, weight in cell]))
            for cell in product(*choices)
        }

    @property
    def conditions(self) -> dict[str, str]:
        each = " and ".join(self.fixed)
        pairs = [f"{later}{MINUS}{earlier}" for earlier, later in self.pairs.values()]
        return {
            CONTRAST: TIMES.join(self.pairs) + (f" at each {each}" if each else ""),
            LEVELS: TIMES.join(pairs if len(pairs) == 1 else (f"({pair})" for pair in pairs)),
            AT: ", ".join(f"{factor} = {value}" for factor, value in self.fixed.items()) or WHOLE,
        }


def _terms(levels: Mapping[str, Sequence[str]]) -> Iterator[_Term]:
    """Main effects first, then interactions; of each, over the whole design first."""
    factors = list(levels)
    for size in range(1, len(factors) + 1):
        for chosen in combinations(factors, size):
            others = [factor for factor in factors if factor not in chosen]
            for n_fixed in range(len(others) + 1):
                for held in combinations(others, n_fixed):
                    for values in product(*(levels[factor] for factor in held)):
                        for pairs in product(*(combinations(levels[factor], 2) for factor in chosen)):
                            fixed = dict(zip(held, values, strict=True))
                            yield _Term(dict(zip(chosen, pairs, strict=True)), fixed)


def _measure(
    term: _Term, cells: Mapping[tuple[str, ...], Measure], weights: tuple[float, ...], rest: Mapping[str, str | int]
) -> Measure:
    first, indicators = next(iter(cells.values())), tuple(Indicator(cell.where) for cell in cells.values())
    values = {key: [one for cell in cells.values() for one in _listed(cell.where[key])] for key in first.where}
    return replace(
        first,
        name=first.name + SUFFIX,
        function=Contrast(weights, first.function),
        columns=(*first.columns, *indicators),
        where={key: tuple(dict.fromkeys(listed)) for key, listed in values.items()},
        conditions={**rest, **term.conditions},  # those of single values would look like them
        neutral=0.0,
        differences=2 ** (len(term.pairs) - 1),
    )


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
