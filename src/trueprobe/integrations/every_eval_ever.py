"""Every Eval Ever, schema 0.3.0: one record per model, with the interval of each number as its uncertainty.

The schema has no field for verdicts, seeds and signatures, which stand in `details`. It wants a better direction, which
a bias or a preference has not: `lower_is_better` is false, and `additional_details` names the neutral value."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator
from typing import Any

from trueprobe import __version__
from trueprobe.results.render import export
from trueprobe.results.view.number import Display, Finding, Number
from trueprobe.results.view.report import Report
from trueprobe.runs.families import Family
from trueprobe.types import Unit

SCHEMA = "0.3.0"
_BOUNDS = {Unit.SHARE: (0, 1), Unit.PROBABILITY: (0, 1), Unit.SCORE: (0, 1), Unit.PERCENT: (0, 100)}
_UNBOUNDED = ("-Infinity", "Infinity")


def records(report: Report) -> dict[str, str]:
    """The text of each model's record by its path, `PROBES/MODEL/UUID.json`; the same run gives the same ones."""
    run = report.source.run
    label = "-".join(probe.label for probe in report.probes)
    written = {}
    for family in report.families:
        content = _record(report, family, label)
        name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([content, run.manifest.checksums], sort_keys=True))
        written[f"{label}/{family.name}/{name}.json"] = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return written


def _record(report: Report, family: Family, label: str) -> dict[str, Any]:
    run = report.source.run
    when = f"{run.timing.began:.0f}" if run.timing else "0"
    source, card = family.cards[0].source, family.cards[0]
    details = {"deployment_type": "externally_managed" if source.startswith("served:") else "self_deployed"}
    details |= {"model_availability": "unknown", "source": source, "seeds": str(family.n_seeds), "dtype": card.dtype}
    numbers = export.numbers_of(report, family)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{label}/{family.name}/{when}",
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "trueprobe",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "trueprobe", "version": run.manifest.versions.get("trueprobe", __version__)},
        "model_info": {"name": family.name, "id": family.name, "additional_details": details},
        "evaluation_results": [_result(f, n) for f, n in numbers if n.display is not Display.NOTHING],
    }


def _result(finding: Finding, n: Number) -> dict[str, Any]:
    low, high = _BOUNDS.get(n.unit, _UNBOUNDED) if not _is_difference(n) else _UNBOUNDED
    neutral = "none" if finding.threshold is None else f"{finding.threshold:g}"
    uncertainty: dict[str, Any] = {} if n.n_items is None else {"num_samples": n.n_items}
    if n.display is Display.INTERVAL:
        ends = {"lower": n.low, "upper": n.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**ends, "method": getattr(n.row, "method", "")}
    return {
        "evaluation_result_id": f"{finding.probe}/{finding.name}",
        "evaluation_name": finding.probe,
        "source_data": {"dataset_name": finding.probe, "source_type": "other"},
        "metric_config": {
            "evaluation_description": finding.statement,
            "metric_id": f"trueprobe.{finding.probe}.{getattr(n.row, 'measure', finding.name)}",
            "metric_name": getattr(n.row, "measure", finding.name),
            "metric_unit": n.unit.value,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": low,
            "max_score": high,
            "additional_details": {"better": "no direction is better", "neutral": neutral},
        },
        "score_details": {
            "score": n.value,
            "details": dict(_details(n)),
            **({"uncertainty": uncertainty} if uncertainty else {}),
        },
    }


def _is_difference(n: Number) -> bool:
    """A difference of two shares can be negative."""
    return n.neutral == 0 or n.value < 0


def _details(n: Number) -> Iterator[tuple[str, str]]:
    yield "verdict", n.verdict.value
    yield "n_seeds", str(n.n_seeds)
    if not math.isnan(n.covered):
        yield "covered", f"{n.covered:g}"
    if n.signature:
        yield "signature", n.signature
    yield from ((f"condition.{name}", str(value)) for name, value in getattr(n.row, "conditions", {}).items())
