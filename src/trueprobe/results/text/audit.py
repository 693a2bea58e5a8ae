"""What is behind one number, in words, for someone who does not believe it."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.verdicts import verdict_with_reason
from trueprobe.statistics.rows import ClaimResult, Estimate

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.audit import Ranked
    from trueprobe.results.view.number import Number
    from trueprobe.runs.schema import Machine

OPEN = "What is behind this number"
CLOSE = "Close"
LIST_HEADER = ("rank", "probe", "number", "model", "p", "threshold", "corrected p", "decided")
WORDS = {  # of the parts that the page's script fills
    "test": "Interval and correction",
    "items": "Its items",
    "unscored": "not scored",
    "pools": "pools",
    "filtered": "rows of the item table",
    "counted": "the number counts",  # fewer, where it is of a part that the item table has no column for
    "all": "show all items",
    "none": "The page has no items for this number.",
    "others": "The same number with another setting or condition",
    "no_others": "The run has no row that differs from this one in a single condition.",
    "list": "The whole list",
    "no_list": "It is on no list: exploratory, or nothing can be concluded.",
    "weights": "Weights",
    "repeat": "How to repeat it",
}
P_DIGITS = 2


def p_text(p: float) -> str:
    if math.isnan(p):
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.{P_DIGITS}g}"


def rows(n: Number, at: Ranked | None, intervals: str) -> list[tuple[str, str]]:
    """Labels and texts; what is not known is left out."""
    pairs = [
        ("number", "" if n.display == "nothing" else n.sentence()),
        ("verdict", verdict_with_reason(n.verdict, n.judged, n.source)),
        ("verdict alone", _alone(n)),
        ("counted from", _counted(n)),
        ("interval", _interval(n, intervals)),
        ("correction", correction(n, at)),
        ("detectable effect", detectable(n)),
        ("signature", n.signature),
    ]
    return [(label, text) for label, text in pairs if text]


def _alone(n: Number) -> str:
    row = n.row
    if row is None or row.verdict_alone is row.verdict:
        return ""
    return f"{verdict_with_reason(row.verdict_alone)}, if this had been the only question"


def _counted(n: Number) -> str:
    parts = [several(n.n_items, "item")] if n.n_items is not None else []
    if isinstance(n.row, Estimate):
        parts.append(f"{count(n.row.n_groups)} independent groups")
        parts += [f"{count(n.n_unscored)} more not scored"] if n.n_unscored else []
        parts += [f"{n.row.tied:.0%} ties"] if n.row.tied else []
    parts += [f"{n.covered:.0%} with a countable answer"] if n.has_coverage else []
    parts += [f"{n.n_seeds} seeds"] if n.n_seeds > 1 else []
    return ", ".join(parts)


def _interval(n: Number, intervals: str) -> str:
    if isinstance(n.row, Estimate):
        return n.row.method
    if isinstance(n.row, ClaimResult) and not math.isnan(n.row.margin):
        return f"90 % (two one-sided tests), margin {n.row.margin:.3g}"
    return f"as for all numbers of this probe: {intervals}" if intervals and not math.isnan(n.low) else ""


def correction(n: Number, at: Ranked | None) -> str:
    """Benjamini–Hochberg over the primary numbers, or none."""
    if at is None:
        return "none: this number is not on the list of primary numbers"
    many = count(at.row.n_list)
    return (
        f"Benjamini–Hochberg over {many} primary numbers: p {p_text(at.p)}, rank {at.rank}, "
        f"threshold {at.threshold:.2g}, corrected p {p_text(at.p_list)}"
    )


def detectable(n: Number) -> str:
    row = n.row
    if not isinstance(row, Estimate) or math.isnan(row.detectable):
        return ""
    form = replace(n.format, signed=False)
    unit = f" {n.format.suffix.strip().replace('%', 'points')}" if n.format.suffix.strip() else ""
    text = f"at least {form.plain(row.detectable)}{unit} from neutral, with 80 % power"
    if math.isnan(row.detectable_list):
        return text
    return f"{text}; on the list {form.plain(row.detectable_list)}{unit}"


def computed_on(machine: Machine, versions: dict[str, str]) -> list[tuple[str, str]]:
    where = [machine.device, machine.processor, several(machine.threads, "thread") if machine.threads else ""]
    pairs = [
        ("computed on", ", ".join(filter(None, where))),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("commit", machine.commit),
    ]
    return [(label, text) for label, text in pairs if text]


def repeat(folder: str) -> tuple[str, ...]:
    """Commands; the second compares with what the folder holds."""
    return (f"trueprobe run --from {shlex.quote(folder)}",)
