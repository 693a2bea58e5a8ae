"""Run folders made by hand, so that a report can be tested without any model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from trueprobe.probes import Summary
from trueprobe.runs import RunFolder
from trueprobe.runs.families import families
from trueprobe.runs.primary import on_run_list
from trueprobe.runs.schema import OBSERVATION_COLUMNS, TABLES, ProbeDeclaration, StudyDescription, StudyEntry
from trueprobe.statistics.rows import ClaimResult, Estimate, VariantDifference
from trueprobe.types import CONDITION, GROUP, Card, Direction, Verdict

SUMMARY = Summary("category", "category", ("preference", "ties"), {}, ("prefers stereotype", "ties"))
R = TypeVar("R")


def card(name: str, family: str | None = None, kind: Any = "masked", self_trained: bool = False, **labels: int) -> Card:
    return Card(
        name=name,
        family=family or name,
        labels=labels,
        kind=kind,
        architecture="bert",
        heads=frozenset({"lm"}),
        max_tokens=128,
        vocab_size=8000,
        start_text="[CLS]",
        source=f"made/{name}",
        dtype="float32",
        compute_id=f"id-{name}",
        tokenizer_id="tokens",
        self_trained=self_trained,
    )


def family(name: str, seeds: int) -> list[Card]:
    return [card(f"{name}-seed{seed}", name, model_seed=seed) for seed in range(seeds)]


def declaration(**changes: Any) -> ProbeDeclaration:
    """What probes.json has of a probe."""
    plain = {
        "name": "pairs",
        "question": "Does it prefer the stereotype?",
        "does_not_show": "A behaviour.",
        "paper": "Somebody, How Reliable are Model Diagnostics?",
        "settings": {"resample_seed": 0},
        "factors": ("item",),
        "columns": {"preference_nats": "log-likelihood difference"},
        "facts": {},
        "n_items": 4,
        "example": "A ___.",
        "summary": SUMMARY,
    }
    return ProbeDeclaration(**{**plain, **changes})


def row(kind: type[R], plain: Mapping[str, Any], more: Mapping[str, Any]) -> R:
    """What is no field of the row is a condition."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    conditions = {**more.get("conditions", {}), **{key: str(v) for key, v in more.items() if key not in names}}
    given = {key: value for key, value in more.items() if key in names}
    return kind(**{**plain, **given, "conditions": conditions})


def estimate(model: str, measure: str, value: float, **more: Any) -> Estimate:
    plain = {"probe": "pairs", "model": model, "measure": measure, "value": value, "low": value - 0.1}
    plain |= {"high": value + 0.1, "n_items": 40, "n_unscored": 0, "n_groups": 40, "unit": "share", "neutral": 0.5}
    return row(Estimate, {**plain, "method": "bootstrap over item", "verdict": Verdict.UNDECIDED}, more)


def claim(model: str, name: str, value: float, verdict: Verdict, **more: Any) -> ClaimResult:
    plain = {"probe": "pairs", "claim": name, "statement": f"{name} is so", "paper": "C", "model": model}
    plain |= {"level": "checkpoint", "quantity": "preference_nats", "direction": Direction.ABOVE, "threshold": 0.0}
    plain |= {"value": value, "low": value - 0.1, "high": value + 0.1, "unit": "probability", "verdict": verdict}
    return row(ClaimResult, plain, more)


def choice(model: str, level: str, category: str, difference: float, verdict: Verdict) -> VariantDifference:
    """What the choice between the labels `pairs` and `others` moves."""
    plain = {"first_label": "pairs", "second_label": "others", "model": model, "level": level, "step": None}
    plain |= {"measure": "preference", "first": 0.5, "second": 0.5 + difference, "difference": difference}
    plain |= {"low": difference - 0.02, "high": difference + 0.02, "unit": "share", "n_groups": 40, "n_seeds": 1}
    plain |= {"family": model.partition("-")[0], "tied": 0.0, "verdict": verdict}
    plain |= {"p": 0.5 if verdict is Verdict.UNDECIDED else 0.001}
    return row(VariantDifference, plain, {"category": category})


def observation(item: str, value: float | None, **more: Any) -> dict[str, Any]:
    why = "multi_piece" if value is None else ""
    plain = {"item": item, "part": "", "why_not": why, "why_not_detail": "", "preference_nats": value}
    return {**plain, f"{GROUP}item": item, **more}


def write(
    folder: Path,
    cards: Sequence[Card],
    estimates: Sequence[Estimate] | None = None,
    claims: Sequence[ClaimResult] = (),
    probe: ProbeDeclaration | None = None,
    observed: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    complete: bool = True,
    labels: Sequence[str] = ("pairs",),
    tables: Mapping[type[Any], Sequence[Any]] | None = None,
) -> Path:
    """A run of one probe, under one label or several; without `observed`, four items that every model scored."""
    writer = RunFolder(folder, _study(labels))
    items = _plain_items() if items is None else items
    observed = _plain_observations(items) if observed is None else observed
    writer.declarations(dict.fromkeys(labels, probe or declaration()))
    for label in labels:
        writer.items(label, [_conditions(items)])
        for one in cards:
            frame = _conditions(observed).assign(
                model=one.name, model_seed=one.labels.get("model_seed"), step=one.labels.get("step")
            )
            frame = frame.astype({"model_seed": "Int64", "step": "Int64"})
            writer.observations(label, one.name, [frame], [name for name in frame if name not in OBSERVATION_COLUMNS])
    declared = dict.fromkeys(labels, probe or declaration())
    tables = {ClaimResult: [of_card(one, cards) for one in claims], **(tables or {})}
    judged = [of_card(one, cards) for one in estimates or ()]
    judged += [one for kind in JUDGED for one in tables.get(kind, ())]
    on_list = on_run_list([alone(one, cards) for one in judged], declared, families(cards))
    if estimates is not None:
        for label in labels:
            mine = [one for one in on_list if isinstance(one, Estimate) and one.probe == label]
            writer.rows("estimates", mine, f"estimates/{label}")
    for kind, rows in tables.items():
        rows = [one for one in on_list if type(one) is kind] if kind in JUDGED else rows
        if estimates is not None or rows:
            writer.rows(next(name for name, known in TABLES.items() if known is kind), rows)
    writer.manifest(cards=tuple(cards), versions={"trueprobe": "0.1"}, complete=complete)
    return folder


JUDGED = (ClaimResult, VariantDifference)


def alone(one: Any, cards: Sequence[Card]) -> Any:
    """A row whose verdict is the one it has alone, with a p that earns it; that of a family has all its seeds."""
    if one.level == "family" and one.n_seeds == 1:
        one = replace(one, n_seeds=sum(card.family == one.model for card in cards))
    name = "p_interval" if isinstance(one, Estimate) else "p"
    p = getattr(one, name)
    if math.isnan(p):
        p = 0.5 if one.verdict in (Verdict.UNDECIDED, Verdict.EXPLORATORY) else 1e-6
    return replace(one, verdict_alone=one.verdict, **{name: p})


def of_card(one: Any, cards: Iterable[Card]) -> Any:
    """With the family, seed and step of its checkpoint."""
    mine = next((known for known in cards if known.name == one.model and one.level == "checkpoint"), None)
    if mine is None:
        return replace(one, family="" if one.level == "pair" else one.model)
    seed = {"model_seed": mine.labels.get("model_seed")} if isinstance(one, Estimate) else {}
    return replace(one, family=mine.family, step=mine.labels.get("step"), **seed)


def _study(labels: Sequence[str]) -> StudyDescription:
    entries = tuple(StudyEntry(label=label, name="pairs", settings={}, material_id="made") for label in labels)
    return StudyDescription(
        title="",
        probes=entries,
        models=("made",),
        limit=None,
        dtype="float32",
        intervals="crossed",
    )


def _plain_items() -> pd.DataFrame:
    names = [f"i{n}" for n in range(4)]
    texts = [f"Item {n} is ___." for n in range(4)]
    return pd.DataFrame({"item": names, "text": texts, "category": ["age", "race"] * 2, f"{GROUP}item": names})


def _plain_observations(items: pd.DataFrame) -> pd.DataFrame:
    rows = [observation(name, float(n - 1.5)) for n, name in enumerate(items["item"])]
    return pd.DataFrame(rows).assign(category=items["category"])


def _conditions(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={name: CONDITION + name for name in ("category", "k") if name in frame})
