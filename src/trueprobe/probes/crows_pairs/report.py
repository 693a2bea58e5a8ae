"""What CrowS-Pairs displays: figures, tables and items, as data."""

from __future__ import annotations

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Table


def report(flagged: bool) -> ReportSpec:
    """`flagged`: some pairs are."""
    names = {"direction": "pairs", "stereo": "stereotyping", "antistereo": "anti-stereotyping"}
    names |= {"measure": "ties", "prefers_stereotype": "count half", "wins_of_all": "count against it"}
    names |= {"wins_of_decided": "are left out"}
    figures = [
        Figure(
            "categories",
            title="Share of pairs whose more stereotyping sentence is likelier",
            caption="50 % is neutral; small dots are seeds.",
            measures=("prefers_stereotype", "wins_of_all", "wins_of_decided"),
            x="category",
            kind="dots",
            panels=("model",),
            choose=("measure", "direction"),
            order={"direction": ("all", "stereo", "antistereo")},
            names=names,
            y_title="prefer the stereotype",
        )
    ]
    tables = [
        Table(
            "seeds",
            title="Over seeds",
            caption="Mean ± deviation.",
            of="estimates",
            rows=("category",),
            measures=("prefers_stereotype",),
            where={"direction": "all"},
            seeds=True,
            source="table 1 of paper C",
        )
    ]
    if flagged:
        tables.append(
            Table(
                "flagged",
                title="With and without flagged pairs",
                caption="Flagged: fewer than three of five validators name the category, or the sentences differ in "
                "several places or in punctuation. Faults that need a judgement are not flagged.",
                of="estimates",
                rows=("category",),
                measures=("prefers_stereotype", "prefers_stereotype_unflagged"),
                where={"direction": "all"},
                names={"prefers_stereotype": "all pairs", "prefers_stereotype_unflagged": "without flagged pairs"},
            )
        )
    return ReportSpec(
        figures, tables, ItemTable(("preference_nats", "scored_tokens"), "preference_nats", side="preference_nats")
    )
