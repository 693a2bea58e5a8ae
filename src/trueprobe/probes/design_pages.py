"""What the probes of a user's file display: rows by the file's conditions, a figure of each, contrasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Table
from trueprobe.probes.measure_sets import ALL
from trueprobe.statistics import contrasts
from trueprobe.types import NAMED_BY

if TYPE_CHECKING:  # it uses this module
    from trueprobe.probes.design import FileDesign

_MOST_ROW_CONDITIONS = 2  # that name a row of the printed table; with more, the first alone


def row_names(design: FileDesign) -> tuple[str, ...]:
    """The conditions that name the rows of the summary."""
    return design.conditions if len(design.conditions) <= _MOST_ROW_CONDITIONS else design.conditions[:1]


def pooled(design: FileDesign) -> dict[str, str]:
    """Where the summary's rows are: over all values of the conditions that do not name them."""
    return {name: ALL for name in design.conditions if name not in row_names(design)}


def notes(design: FileDesign) -> tuple[str, ...]:
    groups, ignored = len({row.groups for row in design.rows}), ", ".join(design.ignored)
    drawn = (
        f"resampled: {groups:,} values of {design.group}" if design.group else f"resampled: {groups:,} rows, each alone"
    )
    return (drawn, f"columns that are no condition: {ignored}") if ignored else (drawn,)


def page_of(
    design: FileDesign, share: str, difference: str, what: str, title: str, contrasted: Sequence[str] = ()
) -> ReportSpec:
    """`share` and `contrasted` are measures, `difference` an observation column, `what` stands on the axis. Without
    contrasts, the tables that every run has are enough: the summary and the means over seeds."""
    return ReportSpec(
        [*_figures(design, share, what, title), *map(_contrast_figure, contrasted)],
        [_contrast_table(contrasted)] if contrasted else (),
        ItemTable((difference,), difference, side=difference),
    )


def _figures(design: FileDesign, share: str, what: str, title: str) -> Iterator[Figure]:
    for name in design.conditions:
        others = {other: ALL for other in design.conditions if other != name}
        yield Figure(
            f"by_{name}",
            title=f"{title}, by {name}",
            caption="The line is the neutral value; small dots are seeds.",
            measures=(share,),
            x=name,
            kind="dots",
            panels=("model",),
            where=others,
            y_title=what,
        )
    if len(design.conditions) == _MOST_ROW_CONDITIONS and design.cells:
        yield _crossed(design, share, what, title)


_CONTRASTS = "Each later value minus the earlier one, in the order of the file. Positive: more at the later value."


def _contrast_table(measures: Sequence[str]) -> Table:
    return Table("contrasts", "Contrasts", _CONTRASTS, "estimates", NAMED_BY, tuple(measures), printed=True)


def _contrast_figure(measure: str) -> Figure:
    return Figure(
        measure,
        title=f"Contrasts of {measure.removesuffix(contrasts.SUFFIX)}",
        caption=_CONTRASTS,
        measures=(measure,),
        x="+".join(NAMED_BY),
        kind="dots",
        panels=("model",),
        y_title=f"contrast of {measure.removesuffix(contrasts.SUFFIX)}",
    )


def _crossed(design: FileDesign, share: str, what: str, title: str) -> Figure:
    first, second = design.conditions
    return Figure(
        "crossed",
        title=f"{title}, by {first} and {second}",
        caption="Each combination; the line is the neutral value.",
        measures=(share,),
        x=first,
        kind="dots",
        series=second,
        panels=("model",),
        where=design.values,
        y_title=what,
    )
