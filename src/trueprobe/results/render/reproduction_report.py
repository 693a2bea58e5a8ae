"""What `reproduce --all` compared, as a file to attach to a report of a problem: Markdown, or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput
from trueprobe.paths import write_text
from trueprobe.results.render.markdown import escaped
from trueprobe.results.text import reproduced as words
from trueprobe.results.text.verdicts import verdict_text, wanted
from trueprobe.runs.diagnosis import Input
from trueprobe.runs.item_scores import ItemComparison
from trueprobe.runs.papers import ModelResult, PaperModel, Where
from trueprobe.statistics.rows import ClaimResult

SUFFIXES = (".md", ".json")


@dataclass(frozen=True)
class ReproductionReport:
    """`made_with`: versions and machine."""

    made_with: Mapping[str, str]
    models: Sequence[PaperModel]
    results: Sequence[ModelResult]

    def write(self, path: Path) -> None:
        content = as_dict(self)
        write_text(path, as_json(content) if path.suffix == ".json" else "\n".join(_lines(self, content)) + "\n")


def checked(path: Path) -> Path:
    if path.suffix not in SUFFIXES:
        raise BadInput(f"--report {path}: a file that ends in {' or '.join(SUFFIXES)}")
    return path


def as_json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_dict(report: ReproductionReport) -> dict[str, Any]:
    return {
        "made_with": dict(report.made_with),
        "models": [_model(model) for model in report.models],
        "results": [_result(result) for result in report.results],
        "summary": words.closing(list(report.results)),
    }


def public_name(model: PaperModel) -> str:
    """Without the path of a folder, which is its user's own."""
    return Path(model.spec).name if model.where is Where.FOLDER else model.spec


def _model(model: PaperModel) -> dict[str, Any]:
    return {
        "probe": model.probe,
        "model": model.name,
        "spec": public_name(model),
        "where": model.where,
        "bytes": model.weight_bytes,
        "not_asked": model.reason,
    }


def _result(result: ModelResult) -> dict[str, Any]:
    return {
        "probe": result.model.probe,
        "model": result.model.name,
        "spec": public_name(result.model),
        "seconds": round(result.seconds, 1),
        "verdict": words.verdict(result),
        "numbers": [{**one.row(), "agrees": result.agrees(one)} for one in result.compared],
        "signs": [_sign(one) for one in result.signs],
        "items": [items_as_dict(one) for one in result.items],
        "not_compared": [{"numbers": one.numbers, "reason": one.reason} for one in result.left_out],
    }


def _sign(one: ClaimResult) -> dict[str, Any]:
    ours = {key: None if math.isnan(x) else x for key, x in (("ours", one.value), ("low", one.low), ("high", one.high))}
    where = {"direction": one.direction, "threshold": one.threshold, **dict(one.conditions)}
    return {"claim": one.claim, "statement": one.statement, **where, **ours, "verdict": one.verdict}


def items_as_dict(one: ItemComparison) -> dict[str, Any]:
    numbers = {"correlation": one.correlation, "largest_nats": one.largest_nats}
    return {
        "compared": one.n_items,
        "not_asked": one.not_asked,
        "zeros": one.zeros,
        **{name: None if math.isnan(number) else number for name, number in numbers.items()},
        "apart": one.n_apart,
        "causes": list(one.diagnosis.explanation.causes) if one.diagnosis and one.diagnosis.explanation else [],
        "text": words.items(one),
        "worst": list(worst_rows(one)),
    }


def worst_rows(one: ItemComparison) -> Iterator[dict[str, Any]]:
    """The ids of theirs are those of the way of asking that comes closest to their scores."""
    if one.diagnosis is None:
        return
    of = one.diagnosis
    for score, ours, asked, closest in zip(of.scores, of.ours, of.unchanged.inputs, of.best.inputs, strict=True):
        yield {
            "id": score.id,
            "text": score.text,
            "published": score.probability,
            "ours": math.exp(ours),
            "our_ids": ids_text(asked),
            "their_ids": ids_text(closest),
        }


def ids_text(one: Input) -> str:
    """`101 1996 103 102 | second segment from 2 | word 2158`"""
    parts = [" ".join(map(str, one.ids))]
    if 1 in one.segments:
        parts.append(f"second segment from {one.segments.index(1)}")
    if one.word:
        parts.append(f"word {' '.join(map(str, one.word))}")
    return " | ".join(parts)


# ---------------------------------------------------------------- Markdown


def _lines(report: ReproductionReport, content: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Published numbers and trueprobe's", "", escaped(content["summary"]), "")
    yield from _table(("made with", ""), report.made_with.items())
    yield from _table(
        words.REPORTED_HEADER,
        ((m.name, m.probe, m.where, words.size(m.weight_bytes), public_name(m), m.reason) for m in report.models),
    )
    for result, values in zip(report.results, content["results"], strict=True):
        yield from _section(result, values)


def _section(result: ModelResult, values: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {escaped(f'{result.model.probe}: {result.model.name}')}", "")
    yield from (escaped(values["verdict"]), "") if values["verdict"] else ()
    if result.compared:
        header = ("measure", "where", "published", "ours", "difference", "")
        yield from _table(header, (_number(one, values) for one in values["numbers"]))
    if result.signs:
        yield from _table(words.SIGNS_HEADER, map(sign_cells, result.signs))
    for one in values["items"]:
        for line in one["text"]:
            yield from (escaped(line), "")
        header = ("id", "text", "published", "ours", "our ids", "their ids by the closest way of asking")
        if one["worst"]:
            yield from _table(header, (map(str, row.values()) for row in one["worst"]))


def _number(one: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, ...]:
    fixed = ("source", "place", "model", "measure", "of", "published", "decimals", "ours", "difference", "agrees")
    where = " ".join(str(value) for key, value in one.items() if key not in fixed)
    digits = one["decimals"]
    ours = ("–", "–") if one["ours"] is None else (f"{one['ours']:.{digits}f}", f"{one['difference']:+.{digits + 1}f}")
    what = one["measure"] if one["of"] == "value" else f"{one['measure']} {one['of']}"
    return (what, where, f"{one['published']:.{digits}f}", *ours, "" if one["agrees"] else "differs")


def sign_cells(one: ClaimResult) -> tuple[str, ...]:
    value = "–" if math.isnan(one.value) else f"{one.value:+.3f}"
    interval = "" if math.isnan(one.low) else f"{one.low:+.3f} to {one.high:+.3f}"
    where = ", ".join(f"{key}={value}" for key, value in one.conditions.items())
    statement = f"{one.statement} ({where})" if where else one.statement
    return statement, wanted(one.direction, one.threshold), value, interval, verdict_text(one.verdict, one.source)


def _table(header: Sequence[str], rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(escaped(str(cell)) for cell in row)} |"
    yield ""
