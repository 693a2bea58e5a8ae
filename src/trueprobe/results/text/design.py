"""Words of a plan made before a run: designs, variances, what is and is not promised."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trueprobe.results.numbers import NumberFormat, count, several
from trueprobe.results.text.planned import UNWEIGHTED
from trueprobe.runs.allocation import Choice
from trueprobe.runs.design import FamilyPlan, NumberPlan, Outlook
from trueprobe.runs.pilot import Basis
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.power import FacetVariances, Range

HEADER = ("seeds", "asked", "items", "rows", "seconds", "width", "range", "detectable", "power")
ONE_SEED = "one seed: the interval is about this checkpoint and says nothing about other seeds"
CROSSED = "items have groups of two factors; the first alone is reckoned with, so intervals will be wider"
NO_NEUTRAL = (
    "no value is neutral here: power is against a value that lies your effect away; claims compare two such numbers"
)
BLIND = "the variances are of one seed, so what other seeds would change is unknown; several seeds cannot be planned"
LEGEND = (
    "width: of the 95 % interval, end to end, on average; range: with 80 %, as seeds vary, which is known from few; "
    "detectable: with a chance of 80 % at the list's threshold; seconds: of the networks, one after the other, without "
    "counting"
)
WEIGHTED = f"with items per group, means are weighted to the whole dataset; {UNWEIGHTED}"


def amount(measure: Measure, value: float, digits: int = 3) -> str:
    """In the unit that reports show: `4.2 points`."""
    factor = factor_of(measure)
    scaled = factor * value
    if math.isinf(scaled):
        return "none"
    return "–" if math.isnan(value) else f"{scaled:.{digits}g}" if scaled < 100 else count(scaled)


def unit(measure: Measure) -> str:
    return "points" if factor_of(measure) == 100 else measure.unit.value


def factor_of(measure: Measure) -> float:
    return NumberFormat.of(measure.unit, measure.neutral).factor


def heading(plan: FamilyPlan) -> str:
    basis = plan.basis
    memory = basis.cost.memory_bytes
    held = "" if math.isnan(memory) else f"; {memory / 2**30:.1f} GiB of memory at most so far"
    return f"{basis.probe.name} on {basis.family}: {several(len(basis.items), 'item')}{held}"


def threshold(plan: FamilyPlan) -> str:
    many = several(plan.n_list, "number")
    return f"verdicts are controlled over {many} ({plan.alpha:.2g} is the strictest threshold)"


def number_heading(number: NumberPlan) -> str:
    return f"{number.name}: smallest effect of interest {amount(number.measure, number.effect)} {unit(number.measure)}"


def variances(number: NumberPlan, basis: Basis) -> str:
    v = number.variances
    if v is None:
        return "too little could be scored to know any variance"
    factor, known = factor_of(number.measure), dict(_deviations(v))
    parts = ", ".join(f"{name} {factor * math.sqrt(value):.2g}" for name, value in known.items())
    near = (
        ""
        if number.measure.function in (means, group_means)
        else "; of what each item adds to a number that is no mean"
    )
    return f"standard deviation by source: {parts}, from {source(v, basis)}{near}"


def _deviations(v: FacetVariances) -> Iterator[tuple[str, float]]:
    grouped = v.n_groups < v.n_items
    yield ("groups" if grouped else "items"), v.groups
    if grouped:
        yield "items within", v.items
    if v.knows_seeds:
        yield "seeds", v.seeds
        yield "seeds × items", v.seeds_by_groups + v.seeds_by_items
    if not math.isnan(v.wordings):
        yield f"{v.n_wordings} wordings", v.wordings


def source(v: FacetVariances, basis: Basis) -> str:
    kinds = {"pilot": "a pilot of", "run": "an earlier run with", "shipped": "a shipped measurement with"}
    return f"{kinds[basis.source]} {several(v.n_seeds, 'seed')} × {several(v.n_items, 'item')}"


def cells(number: NumberPlan, one: Outlook) -> tuple[str, ...]:
    measure = number.measure
    return (
        str(one.seeds),
        option(one.choice),
        count(one.items),
        known_count(one.rows),
        "–" if math.isnan(one.seconds) else f"{one.seconds:,.0f}" if one.seconds >= 10 else f"{one.seconds:.1f}",
        amount(measure, one.width),
        ends(measure, one.width_range),
        amount(measure, one.detectable),
        f"{100 * one.power:.0f} %",
    )


def known_count(value: float) -> str:
    return "–" if math.isnan(value) else f"{value / 1e6:.1f}M" if value >= 1e6 else count(value)


def ends(measure: Measure, pair: Range) -> str:
    return "–" if math.isnan(pair.low) else f"{amount(measure, pair.low, 2)} to {amount(measure, pair.high, 2)}"


def option(choice: Choice) -> str:
    if choice.per_group:
        return f"per-group {choice.per_group}"
    return f"limit {choice.limit}" if choice.limit else "all"


def wanted(number: NumberPlan, width: float) -> str:
    """What to run for the wanted width, and what it saves."""
    asked, one = f"width {width:g} {unit(number.measure)}", number.wanted
    if one is None:
        more = f"{number.seeds_wanted} seeds would do" if number.seeds_wanted else "no number of seeds up to 100 does"
        return f"{asked}: not with all items; {more if number.variances and number.variances.knows_seeds else BLIND}"
    whole = next(other for other in number.outlooks if other.choice.per_group is other.choice.limit is None)
    saved = 1 - one.items / whole.items
    if not saved:
        return f"{asked}: all items are needed"
    option = f"--per-group {one.choice.per_group}" if one.choice.per_group else f"--limit {one.choice.limit}"
    return (
        f"{asked}: run with {option}; it saves {100 * saved:.0f} % of the items ({amount(number.measure, one.width)})"
    )


def over_wordings(number: NumberPlan) -> str:
    first = number.outlooks[0]
    return (
        f"other wordings than these {number.variances.n_wordings if number.variances else 0} would make it "
        f"{amount(number.measure, first.width_wordings)} wide; intervals do not hold that"
    )
