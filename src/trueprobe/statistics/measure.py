"""What is counted: pure functions of observation columns and resampling weights. No files, no random numbers.

A measure takes columns (one entry per observation) and `weights[R, cells]` and gives `[R, quantities]`. It works
on sums per cell (the smallest unit that is resampled together), so a bootstrap is one matrix product.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import groupby, product
from operator import or_
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from trueprobe.errors import BadInput, nearest
from trueprobe.statistics.rows import Tail
from trueprobe.types import Card, ClaimSource, Direction, Unit

Weights = np.ndarray  # [R, cells]
T = TypeVar("T")
_AT_ONCE = 400_000  # values that are held together, about what a cache holds
_MOST_CACHED = 4_000_000  # weights, 32 MB
TIED = "tied"  # observation column: 1 where the answer is a tie, within TIE_NATS or float error
WEIGHT = "item_weight"  # observation column of a balanced sample: how many items of the dataset each stands for


class Indicator(str):
    """The name of a column that is 1 where all these conditions hold, 0 elsewhere; it is made when it is read."""

    where: Mapping[str, Any]

    def __new__(cls, where: Mapping[str, Any]) -> Indicator:
        made = super().__new__(cls, ", ".join(f"{name} = {value}" for name, value in where.items()))
        made.where = where
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # of a copy in another process
        return (self.where,)


@dataclass(frozen=True)
class Columns:
    """NaN is 'not scored' and counts nowhere."""

    values: Mapping[str, np.ndarray]
    cells: np.ndarray  # of each observation

    def pick(self, rows: np.ndarray) -> Columns:
        return Columns({name: column[rows] for name, column in self.values.items()}, self.cells[rows])

    def holding(self, values: Mapping[str, np.ndarray]) -> Columns:
        """Other values of the same observations."""
        return Columns({**values, **self.item_weights}, self.cells)

    @property
    def item_weights(self) -> Mapping[str, np.ndarray]:
        """That column, where there is one."""
        return {WEIGHT: self.values[WEIGHT]} if WEIGHT in self.values else {}


def unit_of(unit: str, name: str) -> Unit:
    """The interval of a number depends on its unit, so an unknown one is refused."""
    if unit not in list(Unit):
        raise BadInput(f"'{name}' has the unit '{unit}'{nearest(unit, list(Unit))}")
    return Unit(unit)


class Function(Protocol):
    """[R, quantities], each of the columns that it names, whatever they are called."""

    def __call__(self, columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray: ...


class Test(Protocol):
    """The p-value of one quantity; `resample_seed` is used where not everything is enumerated."""

    def __call__(self, columns: Columns, quantity: tuple[str, ...], resample_seed: int) -> float: ...


@dataclass(frozen=True)
class Gate:
    """What a model must manage before a number means anything about it: the mean of a column over groups."""

    column: str
    least: float
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """One number a probe reports: a function of some columns, over the rows where the conditions hold."""

    name: str
    function: Function
    columns: tuple[str, ...]
    where: Mapping[str, Any] = field(default_factory=dict)  # column = value or one of several, all of them
    conditions: Mapping[str, str | int] = field(default_factory=dict)  # as reported
    unit: Unit = Unit.PROBABILITY
    neutral: float | None = None
    gate: Gate | None = None
    test: Test | None = None
    tail: Tail = Tail.UPPER  # of the test
    kinds: tuple[str, ...] = ("masked", "causal", "encoder")  # of model it is counted for
    over_groups: bool = False  # a mean over groups, so that it has no number without them
    of_coverage: bool = False  # reports how much could be counted, so it needs no coverage itself
    coverage: str = ""  # observation column: 1 where an item has a countable answer, 0 where it does not
    differences: int = 0  # of a contrast: how many differences of two means it adds up, so how far it can reach

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", unit_of(self.unit, self.name))  # a probe may write "share"

    @cached_property
    def reported(self) -> dict[str, str]:
        """Its conditions as an estimate has them."""
        return {key: str(value) for key, value in self.conditions.items()}

    @property
    def all_columns(self) -> tuple[str, ...]:
        """With the one of its coverage."""
        return (*self.columns, self.coverage) if self.coverage else self.columns

    def scored(self, columns: Columns) -> np.ndarray:
        """Which observations have all it counts."""
        scored: np.ndarray = ~reduce(or_, (np.isnan(columns.values[name]) for name in self.columns))
        return scored

    def cells(self, columns: Columns) -> list[np.ndarray]:
        """Of a contrast: which observations are of each mean that it compares."""
        return [columns.values[name] == 1 for name in self.columns if isinstance(name, Indicator)]


@dataclass(frozen=True)
class Flips:
    """Which columns hold pairwise answers, so that one can see how many seeds disagree on an item."""

    prefers: str  # column: 1 for one side, 0 for the other, 0.5 for a tie
    margin: str  # column: by how much, signed
    near_tie: float  # an item whose margins are smaller than this on average is a near-tie
    category: str = "category"  # condition
    size: str = ""  # column: how many tokens were scored, if known
    where: Mapping[str, Any] = field(default_factory=dict)


class NetworkSize(NamedTuple):
    architecture: str  # transformers' model_type
    layers: int
    width: int

    @classmethod
    def of(cls, card: Card) -> NetworkSize:
        return cls(card.architecture, card.layers, card.width)


class Lead(NamedTuple):
    """One network of a paper against each of the others it tested."""

    leader: NetworkSize
    others: tuple[NetworkSize, ...]
    behind: bool = False  # each of the others has more than it, not less


@dataclass(frozen=True, kw_only=True)
class Margin:
    """How far a quantity may lie from its threshold and still count as alike: a share of a reference effect, the mean
    of a column over `plus` minus that over `minus`; or an amount, in the claim's unit. The effect must be there, beyond
    noise and larger than the margin: without it nothing is judged."""

    plus: Mapping[str, tuple[str | int | float, ...]]
    minus: Mapping[str, tuple[str | int | float, ...]] | None = None
    column: str = ""  # the claim's where empty
    share: float = 0.2
    amount: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A published finding or expectation as a quantity: mean of a column over `plus`, less its mean over `minus`.

    Where several values are listed, the means over each of them are averaged. A finding `between` two models is the
    mean over `plus` of the first, minus that of the second, on the items both scored; with `minus`, minus that of the
    second over `minus`, on the groups both scored."""

    name: str
    statement: str
    paper: str
    column: str
    plus: Mapping[str, tuple[str | int | float, ...]]
    minus: Mapping[str, tuple[str | int | float, ...]] | None = None
    direction: Direction = Direction.ABOVE  # of the quantity, against `threshold`
    threshold: float = 0.0
    kinds: tuple[str, ...] = ("masked", "causal")
    conditions: Mapping[str, str | int] = field(default_factory=dict)
    unit: Unit = Unit.PROBABILITY
    gate: Gate | None = None
    between: tuple[str, str] | Lead | None = None  # LARGER of an architecture, two architectures of one size, or a lead
    times: float = 1.0  # of a finding between two models: what the second's values are multiplied by
    architectures: tuple[str, ...] = ()  # the finding is about these alone
    networks: tuple[NetworkSize, ...] = ()  # the same, of networks of one size
    source: ClaimSource = ClaimSource.FINDING
    coverage: str = ""  # as a measure has it; every part of the quantity needs it
    trivial: bool = False  # a network that answers at random fulfils it too, so it can only be contradicted
    margin: Margin | None = None  # of a claim that something is alike

    def __post_init__(self) -> None:
        if (self.direction == Direction.ALIKE) is not (self.margin is not None):
            raise BadInput(f"the claim '{self.name}': a margin and the direction 'alike' need each other")
        object.__setattr__(self, "source", ClaimSource(self.source))
        object.__setattr__(self, "direction", Direction(self.direction))  # a probe may write "below"
        object.__setattr__(self, "unit", unit_of(self.unit, self.name))

    @property
    def reference_column(self) -> str:
        """Of the effect that the margin refers to."""
        return (self.margin.column or self.column) if self.margin else ""

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The conditions of each of the means that it compares."""
        sides = [self.plus] if self.minus is None else [self.plus, self.minus]
        return [dict(zip(side, values, strict=True)) for side in sides for values in product(*side.values())]


LARGER = ("larger", "smaller")


def cell_sums(cells: np.ndarray, stacked: np.ndarray, n_cells: int) -> np.ndarray:
    """[n, observations] -> [n, cells]"""
    targets = cells + n_cells * np.arange(len(stacked))[:, None]
    sums = np.bincount(targets.ravel(), stacked.ravel(), len(stacked) * n_cells)
    return sums.reshape(len(stacked), n_cells).astype(float, copy=False)  # of nothing, numpy counts whole numbers


def totals(cells: np.ndarray, stacked: np.ndarray, weights: Weights) -> np.ndarray:
    """[n, observations] -> [n, R]: the sum over the drawn observations."""
    present, here = np.unique(cells, return_inverse=True)  # the others contribute nothing
    sums, end = cell_sums(here, stacked, len(present)), 0
    drawn = np.empty((len(sums), len(weights)))
    for some in _portions(present, weights):
        start, end = end, end + some.shape[1]
        np.matmul(sums, some, out=drawn[:, start:end])
    return drawn


def _portions(present: np.ndarray, weights: Weights) -> Iterable[np.ndarray]:
    """The weights of these cells as float64 [cells, some of R], in portions that a cache holds; made once where they
    are few."""
    every, portion = len(present) == weights.shape[1], max(1, _AT_ONCE // max(1, len(present)))
    some = (weights.T[:, start : start + portion] for start in range(0, len(weights), portion))
    portions = ((one if every else one[present]).astype(float) for one in some)
    if len(present) * len(weights) > _MOST_CACHED:
        return portions
    return made_once("portions", weights, present.tobytes(), lambda: tuple(portions))


class _Last(threading.local):
    """By what it is: the weights and the key it was made for last, and what was made."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[weakref.ref[np.ndarray], bytes, Any]] = {}


_last = _Last()


def made_once(what: str, weights: Weights, key: bytes, make: Callable[[], T]) -> T:
    """Made of weights, and not again while one asks for the same: neighbouring measures do."""
    if what in _last.made:
        of, last, made = _last.made[what]
        if of() is weights and last == key:
            return cast(T, made)
    value = make()
    _last.made[what] = (weakref.ref(weights), key, value)
    return value


@dataclass
class MeasureBatch:
    """Measures of one function that are counted together; those of the same values share a quantity."""

    measures: list[Measure] = field(default_factory=list)
    which: list[int] = field(default_factory=list)  # of each measure, its quantity
    quantities: list[tuple[str, ...]] = field(default_factory=list)


def batches(measures: Iterable[Measure], members: Sequence[Columns], resamples: int) -> Iterator[MeasureBatch]:
    """Neighbours with the same function, as many as stay in the cache. Many have the same values: of models that
    never name such words, every share is 0."""
    most = max(1, _AT_ONCE // (len(members) * resamples))
    for _, alike in groupby(measures, key=lambda m: m.function):
        batch, index_of = MeasureBatch(), dict[bytes, int]()
        for measure in alike:
            values = b"".join(member.values[name].tobytes() for member in members for name in measure.columns)
            if values not in index_of:
                if len(index_of) == most:
                    yield batch
                    batch, index_of = MeasureBatch(), {}
                index_of[values] = len(index_of)
                batch.quantities.append(measure.columns)
            batch.measures.append(measure)
            batch.which.append(index_of[values])
        yield batch


def counted(
    function: Function, quantities: Sequence[tuple[str, ...]], members: Sequence[Columns], weights: Weights
) -> np.ndarray:
    """[members, quantities, R], NaN where there is no observation. Members in step are counted in one call: the cells
    of their observations are the same, so what is drawn is read once for all of them."""
    first, shape = members[0].cells, (len(members), len(quantities), len(weights))
    alike = (np.array_equal(first, other.cells) and _weighted_alike(members[0], other) for other in members[1:])
    if not all(alike):
        return np.concatenate([counted(function, quantities, [member], weights) for member in members])
    if not len(first):
        return np.full(shape, np.nan)
    used = {name for quantity in quantities for name in quantity}
    together = {f"{i} {name}": member.values[name] for i, member in enumerate(members) for name in used}
    every = [tuple(f"{i} {name}" for name in quantity) for i in range(len(members)) for quantity in quantities]
    values = function(members[0].holding(together), every, weights)
    return np.ascontiguousarray(values.T, dtype=float).reshape(shape)


def _weighted_alike(one: Columns, other: Columns) -> bool:
    both = WEIGHT in one.values, WEIGHT in other.values
    return all(both) and np.array_equal(one.values[WEIGHT], other.values[WEIGHT]) if any(both) else True
