"""What StereoSet displays: figures, tables and items, as data."""

from __future__ import annotations

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Table


def report(flagged: bool) -> ReportSpec:
    """`flagged`: some items are."""
    names = {"ss": "stereotype score", "lms": "language model score"}
    names |= {"ss_by_term": "stereotype score, by term", "lms_by_term": "language model score, by term"}
    figures = [
        Figure(
            "categories",
            title="Stereotype preferred to anti-stereotype",
            caption="50 % is neutral.",
            measures=("ss", "lms", "ss_by_term", "lms_by_term"),
            x="category",
            kind="dots",
            panels=("model",),
            choose=("measure", "task"),
            order={"task": ("both", "sentence_and_continuation", "intrasentence", "intersentence", "continuation")},
            names=names,
            y_title="share of items",
        )
    ]
    tables = [
        Table(
            "seeds",
            title="Over seeds",
            caption="Mean ± deviation.",
            of="estimates",
            rows=("category",),
            measures=("ss",),
            where={"task": ("both", "sentence_and_continuation")},
            seeds=True,
            names=names,
            source="table 1 of paper C",
        )
    ]
    if flagged:
        tables.append(
            Table(
                "flagged",
                title="With and without disputed items",
                caption="Disputed: of five validators two or more give one of the three sentences another label.",
                of="estimates",
                rows=("task", "category"),
                measures=("ss", "ss_unflagged"),
                names={"ss": "all items", "ss_unflagged": "without disputed items"},
            )
        )
    return ReportSpec(
        figures, tables, ItemTable(("preference_nats", "meaningful"), "preference_nats", side="preference_nats")
    )
