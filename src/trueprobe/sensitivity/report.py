"""The folder's results: `detection.csv`, `sensitivity.json`, and a page with one figure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import altair as alt
import vl_convert

from trueprobe import __version__
from trueprobe.paths import write_text
from trueprobe.sensitivity import rows
from trueprobe.sensitivity.limits import detection
from trueprobe.sensitivity.plant import read_planting
from trueprobe.sensitivity.remove import claims
from trueprobe.sensitivity.rows import (
    DetectionRow,
    MeasuredRow,
    PlantedRow,
    RemovalClaimRow,
    RemovedRow,
    UnplantedRow,
)
from trueprobe.sensitivity.session import Analysis
from trueprobe.sensitivity.trained import Unplantable
from trueprobe.statistics.detection import LimitKind
from trueprobe.types import Outcome

DETECTION, RESULT, PAGE = "detection.csv", "sensitivity.json", "sensitivity.html"
_PITFALLS = (
    "Continued training is not pre-training, and interpolated weights are not trained ones.",
    "What was planted resembles some probes more than others: the largest overlap is given for each.",
    "The limits hold for these models, this association, and as many seeds and items; not for large models.",
)
_STYLE = "body{font:16px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem} td{padding:.1rem .5rem}"


@dataclass(frozen=True)
class Result:
    analysis: Analysis
    unplantable: Unplantable | None
    measured: Sequence[MeasuredRow]
    planted: Sequence[PlantedRow]
    detection: Sequence[DetectionRow]
    unplanted: Sequence[UnplantedRow] = ()
    removed: Sequence[RemovedRow] = ()

    @classmethod
    def of(cls, analysis: Analysis, unplantable: Unplantable | None) -> Result:
        """Without limits where nothing could be planted."""
        if unplantable is not None:
            return cls(analysis, unplantable, (), (), ())
        measured = analysis.measured()
        limits = detection(measured, analysis.relabelled())
        return cls(analysis, None, measured, analysis.planted(), limits, analysis.unplanted(), analysis.removed())

    @property
    def families(self) -> list[DetectionRow]:
        return [row for row in self.detection if row.level == "family"]

    @property
    def cost(self) -> dict[str, float]:
        """Loss on held-out neutral sentences, in nats: before, and at the null and the full share."""
        analysis = self.analysis
        pairs = [analysis.folders(n, start) for n in range(analysis.request.assignments) for start in analysis.starts]
        null, full = ([one for folder in side if (one := read_planting(folder))] for side in zip(*pairs, strict=True))
        losses = {
            "before": [one.filler_loss_before for one in null],
            "null": [one.filler_loss for one in null],
            "full": [one.filler_loss for one in full],
        }
        return {name: sum(values) / len(values) if values else math.nan for name, values in losses.items()}

    def as_json(self) -> dict[str, Any]:
        setup = {name: value for name, value in self.analysis.setup.items() if name != "association"}
        association = self.analysis.association
        return {
            "trueprobe": __version__,
            **setup,
            "association": association.card.title,
            "overlap": {probe: overlap for probe, (overlap, _) in _overlaps(self.analysis).items()},
            "assignments": self.analysis.request.assignments,
            "unplantable": asdict(self.unplantable) if self.unplantable else None,
            "filler_loss": self.cost,
            "detection": [asdict(row) for row in self.detection],
            "removal": [asdict(row) for row in claims(self.removed)],
            "unplanted": [asdict(row) for row in self.unplanted],
        }

    @property
    def printable(self) -> dict[str, Any]:
        finite: dict[str, Any] = _finite(self.as_json())
        return finite

    def write(self) -> None:
        out = self.analysis.request.out
        if self.detection:
            rows.write(out / rows.PLANTED, self.planted, PlantedRow)
            rows.write(out / rows.MEASURED, self.measured, MeasuredRow)
            rows.write(out / DETECTION, self.detection, DetectionRow)
        if self.removed:
            rows.write(out / rows.REMOVAL_CLAIMS, claims(self.removed), RemovalClaimRow)
        text = json.dumps(self.printable, indent=1, ensure_ascii=False, allow_nan=False)
        write_text(out / RESULT, text + "\n")
        write_text(out / PAGE, "\n".join(self._page()) + "\n")

    # ------------------------------------------------------------ the page

    def _page(self) -> Iterator[str]:
        title = f"Sensitivity on {self.analysis.request.model}"
        yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
        yield from (f"<h1>{escape(title)}</h1>", *(f"<p>{escape(line)}</p>" for line in self.lines()))
        if self.detection:
            yield svg(self.measured, self.families)
            yield _table([HEADER, *table(self.detection)])
            yield f"<p>{escape(UNPLANTED_TITLE)}</p>"
            yield _table([UNPLANTED_HEADER, *unplanted_table(self.unplanted)])
        if self.removed:
            yield f"<p>{escape(REMOVED_TITLE)}</p>"
            yield _table([REMOVED_HEADER, *removed_table(self.removed)])
            yield _table([REMOVAL_HEADER, *removal_table(self.removed)])
        yield from (f"<p>{escape(line)}</p>" for line in _PITFALLS)

    def lines(self) -> Iterator[str]:
        setup, cost = self.analysis.setup, self.cost
        seeds = f"{len(setup['seeds'])} seeds of {setup['seeds_of']}"
        title, many = self.analysis.association.card.title, self.analysis.request.assignments
        yield f"Association: {title}. {seeds}, {many} assignments."
        yield (
            "Loss on neutral sentences: " + ", ".join(f"{name} {value:.2f}" for name, value in cost.items()) + " nats."
        )
        full = [row.nats for row in self.planted if row.dose == 1]
        if full:
            yield f"Planted at the full dose: {min(full):.2f} to {max(full):.2f} nats over seeds and assignments."
        for probe, (overlap, sentence) in _overlaps(self.analysis).items():
            yield f"Largest overlap of a frame with {probe}: {overlap:.0%} of the word trigrams ({sentence})."
        if (failed := self.unplantable) is not None:
            yield (
                f"The association could not be planted: at the full dose {failed.full_nats:.2f} nats with an AUC of "
                f"{failed.full_auc:.2f}, at the null dose {failed.null_nats:.2f} nats. There is no limit."
            )


HEADER = (
    "probe",
    "measure",
    "limit, family",
    "all families from",
    "limit, checkpoint",
    "λ = 0 → 1",
    "p: trend, step back",
    "wrong signs",
    "false alarms",
    "items",
)


def table(detected: Sequence[DetectionRow]) -> Iterator[tuple[str, ...]]:
    """One line for each measure."""
    by = {(row.probe, row.measure, row.level): row for row in detected}
    for probe, measure in dict.fromkeys((row.probe, row.measure) for row in detected):
        family, checkpoint = (by[probe, measure, level] for level in ("family", "checkpoint"))
        known = not math.isnan(family.false_alarms)
        alarms = f"{family.false_alarms:.0%} (≤ {family.false_alarms_high:.0%})" if known else "–"
        moved = f"{family.at_null:.3g} → {family.at_full:.3g}"
        held = "–" if math.isnan(family.held_from) else f"{family.held_from:.2f}"
        limits = (limit_text(family), held, limit_text(checkpoint))
        trend = f"{_p(checkpoint.trend_p)}, {_p(checkpoint.reversal_p)}"
        yield probe, measure, *limits, moved, trend, _percent(family.sign_errors), alarms, str(family.n_items)


UNPLANTED_TITLE = (
    "Numbers about what was not planted, from λ = 0 to λ = 1; * moves, corrected for their number. Before: the models "
    "that were trained on; lms is StereoSet's language-model score, which falls where language is forgotten."
)
UNPLANTED_HEADER = ("probe", "number", "before", "λ = 0", "λ = 1", "difference [95 %]", "items")


def unplanted_table(rows: Sequence[UnplantedRow]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        star = "*" if row.verdict.outcome is Outcome.GOOD else ""
        values = (f"{value:.2f}" for value in (row.before, row.at_null, row.at_full))
        moved = f"{row.difference:+.2f}{star} [{row.low:+.2f}, {row.high:+.2f}]"
        yield row.probe, row.measure, *values, moved, str(row.n_items)


REMOVED_TITLE = (
    "Nats that are left after counterexamples, in means over seeds and assignments, and which of two kinds removes "
    "more about the targets that have them. Equivalence: within a fifth of what was planted."
)
REMOVED_HEADER = ("counterexamples", "prompts", "targets", "before", "after")
REMOVAL_HEADER = ("first", "second", "prompts", "claim", "first removes more by", "margin", "p", "verdict")


def removed_table(removed: Sequence[RemovedRow]) -> Iterator[tuple[str, ...]]:
    for key in dict.fromkeys((row.arm, row.prompts, row.targets) for row in removed):
        here = [row for row in removed if (row.arm, row.prompts, row.targets) == key]
        yield (*key, *(f"{sum(getattr(row, name) for row in here) / len(here):.2f}" for name in ("before", "after")))


def removal_table(removed: Sequence[RemovedRow]) -> Iterator[tuple[str, ...]]:
    for row in claims(removed):
        margin = "–" if math.isnan(row.margin) else f"{row.margin:.2f}"
        moved = f"{row.value:+.2f} [{row.low:+.2f}, {row.high:+.2f}]"
        verdict = row.verdict.value.replace("_", " ")
        yield row.first, row.second, row.prompts, row.direction.value, moved, margin, _p(row.p), verdict


def limit_text(row: DetectionRow) -> str:
    """`0.19 (0.12 to 0.31)`, `≤ 0.04`, `> 1.50`, `none: wrong sign`"""
    match row.limit:
        case LimitKind.AT:
            upper = f"{row.high:.2f}" if math.isfinite(row.high) else "∞"
            return f"{row.nats:.2f} ({row.low:.2f} to {upper})"
        case LimitKind.AT_MOST:
            return f"≤ {row.nats:.2f}"
        case LimitKind.ABOVE:
            return f"> {row.nats:.2f}"
    return f"none: {row.why.replace('_', ' ')}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.0%}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    return f"<table><thead><tr>{head}</tr></thead>{''.join(f'<tr>{line}</tr>' for line in body)}</table>"


def _overlaps(analysis: Analysis) -> Mapping[str, tuple[float, str]]:
    """Of each probe its largest, which come first."""
    largest: dict[str, tuple[float, str]] = {}
    for one in analysis.association.overlaps:
        largest.setdefault(one.probe, (one.shared, one.sentence))
    return {probe: largest[probe] for probe in analysis.probes if probe in largest}


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null, and the text "infinity"."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinity"
    return value


# ---------------------------------------------------------------- the figure


def svg(measured: Sequence[MeasuredRow], families: Sequence[DetectionRow]) -> str:
    """Every measure over the nats planted, in a panel of its own; a line marks the limit, a dashed one neutral."""
    panels = [
        _panel(row, [m for m in measured if (m.probe, m.measure) == (row.probe, row.measure)]) for row in families
    ]
    chart = alt.concat(*panels, columns=4).resolve_scale(x="shared")
    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return drawn


def _panel(row: DetectionRow, measured: Sequence[MeasuredRow]) -> alt.LayerChart | alt.FacetChart:
    points = [
        {"nats": one.manipulation, "value": one.value, "assignment": str(one.assignment)}
        for one in measured
        if one.level == "family" and math.isfinite(one.value)
    ]
    lines = alt.Chart(alt.InlineData(values=points)).mark_line(point=alt.OverlayMarkDef(size=12), opacity=0.7)
    encoded = lines.encode(
        x=alt.X("nats:Q", title="nats planted"),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        detail="assignment:N",
    )
    neutral = alt.Chart(alt.InlineData(values=[{"value": row.neutral}])).mark_rule(strokeDash=[4, 3], color="#777")
    layers = [encoded, neutral.encode(y="value:Q")]
    if row.limit in (LimitKind.AT, LimitKind.AT_MOST):
        limit = alt.Chart(alt.InlineData(values=[{"nats": row.nats}])).mark_rule(color="#b5401a")
        layers.append(limit.encode(x="nats:Q"))
    return alt.layer(*layers).properties(width=150, height=110, title=f"{row.probe}: {row.measure}")
