"""`trueprobe plan`: for each primary number, the designs at hand with what they cost and what they could show.

A design is a number of seeds and a choice of items. The smallest effect of interest is asked for, never taken from the
pilot; α is that of the list the report will control verdicts over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from trueprobe import __version__
from trueprobe.errors import BadInput, nearest
from trueprobe.runs.allocation import ALL, Choice, at, crossed, design, largest_stratum, named
from trueprobe.runs.binding import BindingPlan, ExpectedNumber
from trueprobe.runs.pilot import Basis
from trueprobe.runs.primary import is_primary_claim, listed, listed_measures, number_name, primary_measures
from trueprobe.runs.study import Study, planned_study
from trueprobe.statistics.exact import binomial_interval
from trueprobe.statistics.interval import Quantity
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.power import Design, FacetVariances, Forecast, Range, fewest
from trueprobe.statistics.spread import ALPHA, scale_of
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import Item

_SEEDS = (1, 2, 3, 5, 10, 25)
_MOST_SEEDS = 100
_FIRST_LIMIT = 50


@dataclass(frozen=True)
class Asked:
    """What the user wants to know, in the units that reports show."""

    effects: Mapping[str, float]  # smallest effect of interest, by measure; "" for all
    width: float | None  # of an interval, from end to end
    measure: str
    seeds: int | None  # instead of those of the family
    factor: Callable[[Measure], float]  # of a value, as reports show it
    axes: tuple[str, ...] = ()  # whose joint tests are on the list

    def effect(self, measure: Measure) -> float:
        if measure.name not in self.effects and "" not in self.effects:
            raise BadInput(f"no effect given for {measure.name}: --effect {measure.name}=VALUE")
        return self.effects.get(measure.name, self.effects.get("", math.nan)) / self.factor(measure)

    def refuse_mixed(self, measures: Sequence[Measure]) -> None:
        """One number is not an effect, or a width, in two units."""
        names = list(dict.fromkeys(measure.name for measure in measures))
        units = {measure.unit.value for measure in measures if measure.name not in self.effects or self.width}
        unknown = [name for name in self.effects if name and name not in names]
        if unknown:
            raise BadInput(f"--effect {unknown[0]}=…: no such number is planned{nearest(unknown[0], names)}")
        if len(units) > 1:
            what = f"--width {self.width:g}" if self.width else "one --effect"
            each = "" if self.width else f"give each its own, --effect {names[0]}=VALUE, or "
            raise BadInput(
                f"{what} cannot be in {' and '.join(sorted(units))}, the units of {', '.join(names)}; "
                f"{each}plan one number: --measure {names[0]}"
            )


@dataclass(frozen=True)
class Outlook:
    """One design: what it asks, costs and can show."""

    seeds: int
    choice: Choice
    items: int  # of the whole run
    rows: float
    seconds: float
    width: float
    width_range: Range  # as the seeds' variance may be
    width_wordings: float  # where other wordings are meant too
    detectable: float  # at the list's α, with a chance of 80 %; infinite where nothing is
    power: float  # to detect the smallest effect of interest


@dataclass(frozen=True)
class NumberPlan:
    """One number of one family."""

    measure: Measure
    effect: float
    variances: FacetVariances | None  # None where nothing could be scored
    outlooks: tuple[Outlook, ...] = ()
    wanted: Outlook | None = None  # the cheapest with the wanted width
    seeds_wanted: int | None = None  # with all items, where no choice of items is enough
    crossed: bool = False  # its items belong to groups of two factors, of which the first alone is reckoned with

    @property
    def name(self) -> str:
        return number_name(self.measure)


@dataclass(frozen=True)
class FamilyPlan:
    basis: Basis
    n_list: int  # numbers that verdicts are controlled over
    numbers: tuple[NumberPlan, ...]

    @property
    def alpha(self) -> float:
        return ALPHA / self.n_list


def family_plans(bases: Sequence[Basis], asked: Asked) -> list[FamilyPlan]:
    n_list = sum(_listed(basis, asked.axes) for basis in bases)
    return [_family_plan(basis, asked, n_list) for basis in bases]


def _listed(basis: Basis, axes: Sequence[str]) -> int:
    """A family's primary numbers, or the claims in their place, and joint tests; claims about two are extra."""
    claims = [one for one in basis.probe.claims() if not one.between and basis.kind in one.kinds]
    about = [one for one in claims if is_primary_claim(one.name, one.conditions, basis.probe.primary or ())]
    tests = sum(question.along(axes) is not None for question in basis.probe.multiverse(basis.card))
    return len(listed_measures(basis.probe, basis.card.kind)) + len(about) + tests


def _family_plan(basis: Basis, asked: Asked, n_list: int) -> FamilyPlan:
    measures = primary_measures(basis.probe, basis.kind, asked.measure)
    asked.refuse_mixed(measures)
    numbers = (_number_plan(basis, measure, asked, ALPHA / n_list) for measure in measures)
    return FamilyPlan(basis, n_list, tuple(numbers))


def _number_plan(basis: Basis, measure: Measure, asked: Asked, alpha: float) -> NumberPlan:
    effect, variances = asked.effect(measure), basis.variances(measure)
    if variances is None:
        return NumberPlan(measure, effect, None)
    looker = Looker(basis, measure, variances, effect, alpha)
    seeds = asked.seeds or basis.n_seeds
    choices = [looker.look(seeds, choice) for choice in _Lever.of(basis.items).doubling()]
    others = [looker.look(other, ALL) for other in _SEEDS if other != seeds and variances.knows_seeds]
    plan = NumberPlan(measure, effect, variances, (*choices, *others), crossed=crossed(measure, basis.items))
    return plan if asked.width is None else looker.for_width(plan, seeds, asked.width / asked.factor(measure))


@dataclass(frozen=True)
class _Lever:
    """How fewer items are asked: fewer of each group, or fewer groups where each has one. Where answers name the
    groups, an item is a whole test, and none is left out."""

    most: int
    by_group: bool

    @classmethod
    def of(cls, items: Sequence[Item]) -> _Lever:
        largest = largest_stratum(items)
        if not named(items):
            return cls(1, False)
        return cls(largest, True) if largest > 1 else cls(len(items), False)

    def choice(self, n: int) -> Choice:
        return ALL if n >= self.most else Choice(per_group=n) if self.by_group else Choice(limit=n)

    def doubling(self) -> Iterator[Choice]:
        first = 1 if self.by_group else _FIRST_LIMIT
        yield from map(self.choice, takewhile(lambda n: n < self.most, (first << i for i in range(32))))
        yield ALL


@dataclass(frozen=True)
class Looker:
    """What designs give of one number."""

    basis: Basis
    measure: Measure
    variances: FacetVariances
    effect: float
    alpha: float

    def look(self, seeds: int, choice: Choice) -> Outlook:
        asked, cost = choice.of(self.basis.items), self.basis.cost
        forecast, v = self._forecast(seeds, choice, asked), self.variances
        part = seeds * len(asked) / max(1, len(self.basis.items))
        ends = (self._cut(replace(forecast, variances=v.with_seeds(variance))) for variance in v.seeds_range)
        least, smallest = self._least(forecast), forecast.detectable(self.alpha)
        return Outlook(
            seeds=seeds,
            choice=choice,
            items=len(asked),
            rows=part * cost.rows,
            seconds=part * cost.seconds,
            width=self._cut(forecast),
            width_range=Range(*ends) if seeds > 1 and v.knows_seeds else Range(),
            width_wordings=forecast.width_over_wordings(),
            detectable=self._possible(max(least, smallest)),
            power=forecast.power(self.effect, self.alpha) if max(smallest, self.effect) > least else 0.0,
        )

    def _cut(self, forecast: Forecast) -> float:
        """An interval's width, within what the unit and the number of groups leave."""
        return max(self._least(forecast), min(forecast.width(), self._span))

    def _least(self, forecast: Forecast) -> float:
        """Of a mean of values between 0 and 1 at an end of it, where no group varies: 0 of 20 is [0, 0.17]."""
        bounded = Quantity(self.measure.unit, self.measure.neutral).bounded
        return binomial_interval(0, forecast.design.groups)[1] if bounded else 0.0

    def _forecast(self, seeds: int, choice: Choice, asked: Sequence[Item]) -> Forecast:
        if not named(asked):
            v = self.variances
            return Forecast(v, Design.balanced(seeds, v.n_groups, v.n_items / v.n_groups))
        every = at(self.measure, self.basis.items)
        chosen = at(self.measure, asked) if choice != ALL else every
        return Forecast(self.variances, design(every, chosen, choice, seeds))

    @property
    def _span(self) -> float:
        """Intervals are cut where the unit ends."""
        scale = scale_of(self.measure.unit, self.measure.neutral)
        return scale.highest - scale.lowest

    def _possible(self, effect: float) -> float:
        """Infinite where no value of the unit lies so far from neutral."""
        scale, neutral = scale_of(self.measure.unit, self.measure.neutral), self.measure.neutral
        farthest = self._span if neutral is None else max(scale.highest - neutral, neutral - scale.lowest)
        return effect if effect < farthest else math.inf

    def width(self, seeds: int, choice: Choice) -> float:
        """Infinite where so few groups are left that there is no interval."""
        asked = choice.of(self.basis.items)
        if choice != ALL and len({item.groups[0] for item in at(self.measure, asked)}) < FEWEST_GROUPS:
            return math.inf
        return self._cut(self._forecast(seeds, choice, asked))

    def for_width(self, plan: NumberPlan, seeds: int, wanted: float) -> NumberPlan:
        """The fewest items per group, or the smallest limit; else the fewest seeds that all items need."""
        lever = _Lever.of(self.basis.items)
        n = fewest(wanted, lever.most, lambda n: self.width(seeds, lever.choice(n)))
        if n is not None:
            return replace(plan, wanted=self.look(seeds, lever.choice(n)))
        if not self.variances.knows_seeds:
            return plan
        return replace(plan, seeds_wanted=fewest(wanted, _MOST_SEEDS, lambda n: self.width(max(2, n), ALL)))


# ---------------------------------------------------------------- written down


def bound(study: Study, plans: Sequence[FamilyPlan]) -> BindingPlan:
    """The plan of a study, with what it expects."""
    first, choice = plans[0].basis, Choice(study.per_group, study.limit)
    (label,) = (entry.label for entry in study.probes)
    numbers = tuple(_expected(plan, number, choice) for plan in plans for number in plan.numbers)
    return BindingPlan(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        trueprobe=__version__,
        alpha=ALPHA,
        list=tuple(listed(label, first.probe)),
        n_list=plans[0].n_list,
        questions=(first.probe.question,),
        seeds={plan.basis.family: plan.basis.n_seeds for plan in plans},
        items={label: len(choice.of(first.items))},
        numbers=numbers,
        study=planned_study(study),
    ).with_hash()


def _expected(plan: FamilyPlan, number: NumberPlan, choice: Choice) -> ExpectedNumber:
    basis = plan.basis
    one: Outlook | None = None
    if number.variances is not None:
        looker = Looker(basis, number.measure, number.variances, number.effect, plan.alpha)
        one = looker.look(basis.n_seeds, choice)
    return ExpectedNumber(
        family=basis.family,
        number=number.name,
        unit=number.measure.unit.value,
        effect=number.effect,
        width=one.width if one else None,
        detectable=one.detectable if one and math.isfinite(one.detectable) else None,
        power=one.power if one else None,
    )
