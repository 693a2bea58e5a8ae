"""What the probes of a user's file display: rows by its conditions, a figure for each of them, the items."""

from __future__ import annotations

from collections.abc import Iterator

from trueprobe.probes.display import Figure, ItemTable, ReportSpec
from trueprobe.probes.generic.design import Design
from trueprobe.probes.measure_sets import ALL

_MOST_ROW_CONDITIONS = 2  # that name a row of the printed table; with more, the first alone


def rows(design: Design) -> tuple[str, ...]:
    """The conditions that name the rows of the summary."""
    return design.conditions if len(design.conditions) <= _MOST_ROW_CONDITIONS else design.conditions[:1]


def pooled(design: Design) -> dict[str, str]:
    """Where the summary's rows are: over all values of the conditions that do not name them."""
    return {name: ALL for name in design.conditions if name not in rows(design)}


def notes(design: Design) -> tuple[str, ...]:
    ignored = ", ".join(design.ignored)
    return (f"columns that are no condition: {ignored}",) if ignored else ()


def page(design: Design, share: str, difference: str, what: str) -> ReportSpec:
    """`share` is a measure, `difference` an observation column, `what` stands on the axis. The tables that every run
    has are enough: the summary and the means over seeds."""
    return ReportSpec([*_figures(design, share, what)], items=ItemTable((difference,), difference, side=difference))


def _figures(design: Design, share: str, what: str) -> Iterator[Figure]:
    for name in design.conditions:
        others = {other: ALL for other in design.conditions if other != name}
        yield Figure(
            f"by_{name}",
            f"Share of items whose {what}, by {name}",
            "The line is the neutral value; small dots are seeds.",
            (share,),
            name,
            "dots",
            panels=("model",),
            where=others,
            y_title=what,
        )
    if len(design.conditions) == _MOST_ROW_CONDITIONS and design.cells:
        yield _crossed(design, share, what)


def _crossed(design: Design, share: str, what: str) -> Figure:
    first, second = design.conditions
    return Figure(
        "crossed",
        f"Share of items whose {what}, by {first} and {second}",
        "Each combination; the line is the neutral value.",
        (share,),
        first,
        "dots",
        series=second,
        panels=("model",),
        where=design.values,
        y_title=what,
    )
