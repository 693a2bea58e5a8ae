"""What the report shows of SEAT: figures, tables and items, as data."""

from __future__ import annotations

from trueprobe.probes.display import Figure, ItemTable, ReportSpec


def page() -> ReportSpec:
    names = {
        "clusters_targets": "targets",
        "clusters_attributes": "attributes",
        "cls": "sentence vector",
        "word": "word vector",
    }
    figures = [
        Figure(
            "effects",
            "Effect sizes",
            "Small dots: one per training, hollow where p ≥ 0.01.",
            ("effect_size",),
            "test",
            "dots",
            panels=("model", "representation"),
            where={"wording": "all"},
            names=names,
            y_title="effect size d",
            source="figure 3 of paper C",
        ),
        Figure(
            "clusters",
            "Do representations cluster over training?",
            "One line per training; the dashed line is chance.",
            ("clusters_targets", "clusters_attributes"),
            "step",
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
