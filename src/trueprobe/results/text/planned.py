"""Words of a run that followed a plan, and of a balanced sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueprobe.results.numbers import several

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.planned import Deviation, PlanCheck
    from trueprobe.results.view.report import Report

SHORT_HASH = 12
UNWEIGHTED = (
    "medians, exact tests, coverage and agreement of seeds are of the drawn items, and so is all that a limit leaves"
)
_WHAT = {
    "models": "models",
    "seeds": "seeds of",
    "probes": "probes",
    "settings": "setting",
    "items": "items of",
    "method": "",
    "list": "list of primary numbers",
}


def lines(report: Report) -> list[str]:
    """Whether all is as planned, and whose composition the means have."""
    check, n = report.plan_check, report.source.run.manifest.study.per_group
    planned = [summary(check), *map(deviation, check.deviations)] if check else []
    return [*planned, *([balanced(n)] if n else [])]


def balanced(n: int) -> str:
    """Of `run --per-group`."""
    drawn = f"Of every group and condition {several(n, 'item')} were drawn where there are as many"
    return f"{drawn}; means are weighted to the whole dataset; {UNWEIGHTED}."


def summary(check: PlanCheck) -> str:
    plan = f"Planned on {check.date} (plan {check.hash[:SHORT_HASH]})"
    n = len(check.deviations)
    return f"{plan}: {several(n, 'deviation')} from the plan." if n else f"{plan}; run as planned."


def deviation(one: Deviation) -> str:
    if one.what == "edited":
        content = f"its content has the hash {one.run[:SHORT_HASH]}, not {one.planned[:SHORT_HASH]}"
        return f"Not as planned: the plan in this folder was edited; {content}."
    if one.what == "joint":
        return f"Not as planned: other ways of counting ({one.planned}) are not counted yet; trueprobe multiverse RUN."
    what = " ".join(filter(None, (_WHAT[one.what], one.where.replace("_", " ") if one.what == "method" else one.where)))
    return f"Not as planned: {what}: {one.run} instead of {one.planned}."
