"""Sentences about the papers' models: where they are, what agrees, what explains a difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueprobe.results.numbers import count
from trueprobe.runs.diagnosis import EXPLAINED_NATS, Diagnosis, Trial
from trueprobe.runs.item_scores import AGREE_NATS, ItemComparison
from trueprobe.runs.papers import LeftOut, ModelResult, PaperModel, Where
from trueprobe.types import Outcome

MODELS_HEADER = ("paper's model", "probe", "where", "size", "about")
REPORTED_HEADER = ("paper's model", "probe", "where", "size", "name", "not asked")
SIGNS_HEADER = ("found by the authors", "published", "ours", "95 % interval", "verdict")
_MINUTE, _HOUR = 60, 3600


def size(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.0f} MB" if number else ""


def duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute" if seconds else ""
    return f"{seconds / _MINUTE:.0f} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


def not_asked(models: Sequence[PaperModel]) -> list[str]:
    """Those that cannot be asked, by reason."""
    by_reason: dict[str, list[PaperModel]] = {}
    for model in models:
        if model.reason:
            by_reason.setdefault(model.reason, []).append(model)
    named = {reason: ", ".join(f"{one.name} ({one.probe})" for one in some) for reason, some in by_reason.items()}
    return [f"not asked: {names}; {reason}" for reason, names in named.items()]


def totals(models: Sequence[PaperModel], speed: float, data: Sequence[str]) -> str:
    """Size and time, before anything is fetched or computed. `data`: assets that are not on this machine."""
    asked = [model for model in models if not model.reason]
    fetched = {model.spec: model.download_bytes for model in asked if model.where is Where.HUB}
    took = duration(sum(model.seconds(speed) for model in asked)) or "no time"
    first = f"{len(asked)} of {len(models)} can be asked"
    needs = f"; data that is not here: {', '.join(data)}" if data else ""
    return f"{first}; to download: {size(sum(fetched.values())) or 'nothing'}{needs}; on this machine about {took}"


def verdict(result: ModelResult) -> str:
    """Of one model: the numbers in one line."""
    parts = []
    if result.compared:
        how = "in the range of the paper's seeds" if result.in_range else "within rounding"
        parts.append(f"{result.n_agree} of {len(result.compared)} {how}")
    if result.signs:
        agreeing = sum(sign.verdict.outcome is Outcome.GOOD for sign in result.signs)
        opposite = sum(sign.verdict.outcome is Outcome.BAD for sign in result.signs)
        parts.append(f"{agreeing} of {len(result.signs)} signs as the authors found, {opposite} opposite")
    parts += [left_out(one) for one in result.left_out]
    return "; ".join(parts)


def left_out(one: LeftOut) -> str:
    return f"{f'{one.numbers} not compared' if one.numbers else 'not compared'}: {one.reason}"


def items(one: ItemComparison) -> list[str]:
    """How far the items are apart, and what explains it."""
    others = ((one.not_asked, "not asked"), (one.zeros, "released as zero"))
    counted = "".join(f", {count(number)} {what}" for number, what in others if number)
    line = f"item by item: {count(one.n_items)} compared{counted}"
    if not one.n_items:
        return [line]
    correlation = "" if math.isnan(one.correlation) else f"; correlation {one.correlation:.6f}"
    line += f"{correlation}; largest difference {one.largest_nats:.2g} nats"
    if not one.n_apart:
        return [f"{line}; all within {AGREE_NATS:g}"]
    apart = f"{line}; {count(one.n_apart)} further than {AGREE_NATS:g}"
    return [apart, diagnosis(one.diagnosis) if one.diagnosis else "the rows of this model cannot be seen"]


def diagnosis(of: Diagnosis) -> str:
    explained = of.explanation
    if explained is not None:
        return f"explained by: {changes(explained)}; the worst rows then agree within {explained.largest_nats:.2g} nats"
    tried = f"none of {len(of.trials) - 1} other ways of asking brings the worst rows within {EXPLAINED_NATS:g} nats"
    return f"not explained: {tried}; the closest leaves {of.best.largest_nats:.2g}: {changes(of.best)}"


def changes(trial: Trial) -> str:
    return " and ".join(f"{change.cause} ({change.what})" for change in trial.changes) or "as asked"


def closing(results: list[ModelResult]) -> str:
    """All models, in one line."""
    reached = sum(bool(result.compared or result.signs or result.items) for result in results)
    numbers = sum(len(result.compared) for result in results)
    left = sum(one.numbers for result in results for one in result.left_out)
    agree = sum(result.n_agree for result in results)
    parts = [f"{reached} of {len(results)} models were compared"]
    parts.append(f"{agree} of {numbers} numbers agree, {left} were not compared")
    if signs := [sign.verdict.outcome for result in results for sign in result.signs]:
        parts.append(f"{signs.count(Outcome.GOOD)} of {len(signs)} signs are as found")
    if items := [one.agrees for result in results for one in result.items]:
        parts.append(f"{sum(items)} of {len(items)} agree item by item")
    return "; ".join(parts)
