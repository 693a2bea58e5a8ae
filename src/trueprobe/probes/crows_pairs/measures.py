"""What is counted of CrowS-Pairs at every combination of conditions, ties in three ways; and what is displayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Table
from trueprobe.probes.measure_sets import PREFERS, neutral, of_preference, wins, wins_of_decided
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.types import Unit


def measures(where: Mapping[str, Any], conditions: Mapping[str, Any], **more: Any) -> Iterator[Measure]:
    """Neighbours with the same function share their matrix product."""
    at: dict[str, Any] = {"where": where, "conditions": conditions, **more}
    for name, function in (("wins_of_all", wins), ("wins_of_decided", wins_of_decided)):
        yield Measure(name, function, (PREFERS,), unit=Unit.SHARE, **at)
    yield neutral(**at)
    yield Measure("prefers_stereotype", means, (PREFERS,), unit=Unit.SHARE, neutral=0.5, **at)
    yield from of_preference(**at)


# ---------------------------------------------------------------- what is displayed


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
