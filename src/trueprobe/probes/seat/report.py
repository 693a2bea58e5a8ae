"""What SEAT displays: figures, tables and items, as data."""

from __future__ import annotations

from collections.abc import Sequence

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Summary
from trueprobe.statistics.rows import Tail

LEGEND = (
    "d: (mean association of X − of Y) / standard deviation, positive values support the stereotype; X, Y and A, B: "
    "sentences in the cluster of their category, at least 50 % by construction; p of each: estimates/"
)
_SIGNIFICANT = {Tail.UPPER: "p ≤ 0.01 (towards A) or p ≥ 0.99 (towards B)", Tail.BOTH: "p ≤ 0.01"}


def summary(tests: Sequence[str], more: int, clusters: bool, layers: bool) -> Summary:
    """Of these `tests`, and a note that there are `more`; with columns of `clusters`, and rows by `layers`."""
    measures = ("effect_size", "clusters_targets", "clusters_attributes") if clusters else ("effect_size",)
    return Summary(
        ("test", "representation", "layer") if layers else ("test", "representation"),
        row_title="test",
        measures=measures,
        where={"test": tuple(tests), "wording": "all"},
        titles=("d", "X, Y", "A, B")[: len(measures)],
        finding="stereotypical association, effect size d",
        below="against the stereotype",
        item="test",
        notes=(LEGEND, f"{more} more tests: estimates/") if more else (LEGEND,),
    )


def report(tail: Tail) -> ReportSpec:
    names = {
        "clusters_targets": "targets",
        "clusters_attributes": "attributes",
        "cls": "sentence vector",
        "word": "word vector",
    }
    figures = [
        Figure(
            "effects",
            title="Effect sizes",
            caption=f"Small dots: one per seed, filled where {_SIGNIFICANT[tail]}.",
            measures=("effect_size",),
            x="test",
            kind="dots",
            panels=("model", "representation"),
            where={"wording": "all"},
            names=names,
            y_title="effect size d, positive if stereotypical",
            tail=tail,
            source="figure 3 of paper C",
        ),
        Figure(
            "clusters",
            title="Do representations cluster over training steps?",
            caption="One line per seed; the dashed line is chance.",
            measures=("clusters_targets", "clusters_attributes"),
            x="step",
            series="seed",
            panels=("test", "measure"),
            choose=("representation",),
            names=names,
            x_title="training step",
            y_title="right cluster",
            source="figure 2 of paper C",
        ),
    ]
    return ReportSpec(figures, (), ItemTable(("association",), "association", side="association"))
