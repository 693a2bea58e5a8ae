"""Run folders made by hand, so that a report can be tested without any model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

SUMMARY = {
    "rows": "category",
    "row_title": "category",
    "measures": ["preference", "ties"],
    "titles": ["prefers stereotype", "ties"],
    "where": {},
    "meanings": {},
    "notes": [],
}


def card(name: str, family: str | None = None, kind: str = "masked", **labels: int) -> dict[str, Any]:
    told = {"name": name, "family": family or name, "labels": labels, "kind": kind, "architecture": "bert"}
    return {**told, "source": f"made/{name}", "dtype": "float32", "vocab_size": 8000, "self_trained": False}


def family(name: str, seeds: int) -> list[dict[str, Any]]:
    return [card(f"{name}-seed{seed}", name, model_seed=seed) for seed in range(seeds)]


def told(**changes: Any) -> dict[str, Any]:
    """What probes.json says of a probe."""
    plain = {"name": "pairs", "question": "Does it prefer the stereotype?", "does_not_show": "A behaviour.", "items": 4}
    plain |= {"paper": "Somebody, How Reliable are Model Diagnostics?", "settings": {"resample_seed": 0}, "facts": {}}
    plain |= {"factors": ["item"], "columns": {"preference_nats": "log-likelihood difference"}, "example": "A ___."}
    return {**plain, "summary": SUMMARY, "figures": [], "tables": [], "item_table": None, **changes}


def estimate(model: str, measure: str, value: float, **more: Any) -> dict[str, Any]:
    plain = {"probe": "pairs", "model": model, "measure": measure, "value": value, "low": value - 0.1}
    plain |= {"high": value + 0.1, "n_items": 40, "n_unscored": 0, "n_groups": 40, "unit": "share", "neutral": 0.5}
    return {**plain, "method": "bootstrap over item", "verdict": "undecided", "p": float("nan"), **more}


def claim(model: str, name: str, value: float, verdict: str, **more: Any) -> dict[str, Any]:
    plain = {"probe": "pairs", "claim": name, "statement": f"{name} is so", "paper": "C", "model": model}
    plain |= {"quantity": "preference_nats", "expected": "above 0", "value": value, "low": value - 0.1}
    return {**plain, "high": value + 0.1, "unit": "probability", "verdict": verdict, **more}


def observation(item: str, value: float | None, **more: Any) -> dict[str, Any]:
    why = "multi_piece" if value is None else ""
    plain = {"item": item, "part": "", "why_not": why, "why_not_detail": "", "preference_nats": value}
    return {**plain, "group_item": item, **more}


def write(
    folder: Path,
    cards: list[dict[str, Any]],
    estimates: list[dict[str, Any]] | None = None,
    claims: list[dict[str, Any]] | None = None,
    probe: dict[str, Any] | None = None,
    seen: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    complete: bool = True,
    labels: Sequence[str] = ("pairs",),
) -> Path:
    """A run of one probe, under one label or several; without `seen`, four items that every model scored."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = [{"label": label, "name": "pairs"} for label in labels]
    study = {"title": "", "probes": asked, "models": ["made"], "limit": None}
    manifest = {"format": 1, "complete": complete, "study": study}
    if complete:
        manifest |= {"cards": cards, "versions": {"trueprobe": "0.1"}, "where": {}, "counts": {}}
    _json(folder / "manifest.json", manifest)
    _json(folder / "probes.json", dict.fromkeys(labels, probe or told()))
    if items is None:
        names = [f"i{n}" for n in range(4)]
        texts = [f"Item {n} is ___." for n in range(4)]
        items = pd.DataFrame({"item": names, "text": texts, "category": ["age", "race"] * 2, "group_item": names})
    for label, one in product(labels, cards):
        _table(folder / f"items/{label}.parquet", items)
        mine = seen if seen is not None else _plain_observations(items)
        _table(folder / f"observations/{label}/{one['name']}.parquet", mine.assign(model=one["name"], **one["labels"]))
    if estimates is not None:
        _table(folder / "estimates.parquet", pd.DataFrame(estimates))
        _table(folder / "claims.parquet", pd.DataFrame(claims or []))
    return folder


def _plain_observations(items: pd.DataFrame) -> pd.DataFrame:
    rows = [observation(name, float(n - 1.5)) for n, name in enumerate(items["item"])]
    return pd.DataFrame(rows).assign(category=items["category"])


def _json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def _table(path: Path, frame: pd.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False)
