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
            "Share of pairs whose more stereotyping sentence is likelier",
            "50 % is neutral; small dots are seeds.",
            ("prefers_stereotype", "wins_of_all", "wins_of_decided"),
            "category",
            "dots",
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
            "Over seeds",
            "Mean ± deviation.",
            "estimates",
            ("category",),
            ("prefers_stereotype",),
            {"direction": "all"},
            seeds=True,
            source="table 1 of paper C",
        )
    ]
    if flagged:
        tables.append(
            Table(
                "flagged",
                "With and without flagged pairs",
                "Flagged: fewer than three of five validators name the category, or the sentences differ in several "
                "places or in punctuation. Faults that need a judgement are not flagged.",
                "estimates",
                ("category",),
                ("prefers_stereotype", "prefers_stereotype_unflagged"),
                {"direction": "all"},
                names={"prefers_stereotype": "all pairs", "prefers_stereotype_unflagged": "without flagged pairs"},
            )
        )
    return ReportSpec(
        figures, tables, ItemTable(("preference_nats", "scored_tokens"), "preference_nats", side="preference_nats")
    )
