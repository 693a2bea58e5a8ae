"""The item table: one row per item and family, most telling first, packed so that a page holds tens of thousands."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.probes.display import ItemTable
from trueprobe.results.page.reading import Reading, last_step

MOST_ANSWERS = 5
MOST_CHOICES = 24  # a condition with more values is searched, not chosen
STATIC_ROWS = 8  # shown where scripts are off


@dataclass(frozen=True)
class ItemColumn:
    title: str
    kind: str  # text | choice | number
    values: list[Any]

    @property
    def digits(self) -> int:
        """The same for all, so that numbers stand below each other: three that count in the largest."""
        known = [abs(v) for v in self.values if v is not None]
        if all(v == int(v) for v in known):
            return 0
        return max(0, min(4, 2 - math.floor(math.log10(max(known)))))


@dataclass(frozen=True)
class ItemRows:
    columns: list[ItemColumn]
    total: int

    def packed(self) -> str:
        """Texts once, places as numbers, compressed."""
        packed = [
            {"t": c.title, "k": c.kind, **({"v": c.values, "d": c.digits} if c.kind == "number" else _coded(c.values))}
            for c in self.columns
        ]
        return pack({"n": self.total, "columns": packed})

    def first(self, many: int = STATIC_ROWS) -> list[list[str]]:
        return [[_shown(column, i) for column in self.columns] for i in range(min(many, self.total))]


def pack(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _coded(values: list[str]) -> dict[str, Any]:
    codes, distinct = pd.factorize(np.array(values, dtype=object))
    return {"u": list(distinct), "c": codes.tolist()}


def _shown(column: ItemColumn, row: int) -> str:
    value = column.values[row]
    if column.kind != "number":
        return str(value)
    return "–" if value is None else f"{value:.{column.digits}f}".replace("-", "−")


def item_rows(reading: Reading, label: str) -> ItemRows | None:
    seen, items = reading.observations(label), reading.items(label)
    if seen.empty or items.empty:
        return None
    seen, told = last_step(seen), reading.told[label]
    table = _declared(told, seen)
    seen = _prepared(seen, table)
    keys = ["item", "part", "family"]
    grouped = seen.groupby(keys, sort=False)
    rows = (
        grouped[[*table.values, "_telling"]].mean(numeric_only=True) if table.values else grouped[["_telling"]].mean()
    )
    first = grouped.first()
    rows["_answer"], rows["_why"] = first["_answer"], first["why_not"]
    if (grouped.size() > 1).any():
        rows["_minority"] = grouped["_side"].agg(_minority)
    rows = rows.reset_index().merge(items, on="item", how="left")
    rows = rows.iloc[np.argsort(-rows["_telling"].abs().fillna(-1).to_numpy(), kind="stable")]
    conditions = [name for name in items if name not in ("item", "text") and not name.startswith("group_")]
    return ItemRows(list(_columns(rows, table, conditions)), len(rows))


def _declared(told: Mapping[str, Any], seen: pd.DataFrame) -> ItemTable:
    entry = told.get("item_table")
    if entry:
        entry = {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}
        return ItemTable(**{key: v for key, v in entry.items() if key in ItemTable.__dataclass_fields__})
    numbers = [name for name in told["columns"] if name in seen and pd.api.types.is_numeric_dtype(seen[name])]
    side = next((n for n in ("preference_nats",) if n in numbers), "")
    telling = side or (numbers[0] if numbers else "")
    return ItemTable(tuple(numbers[:5]), telling, side=side)


def _prepared(seen: pd.DataFrame, table: ItemTable) -> pd.DataFrame:
    """With the answer as text, how telling a row is, and the side it takes."""
    texts = [n for n in table.values if n in seen and not pd.api.types.is_numeric_dtype(seen[n])]
    numeric = seen.assign(**{name: seen[name] for name in texts})
    answers = _answers(seen, table)
    telling = pd.to_numeric(seen[table.telling], errors="coerce") if table.telling in seen else math.nan
    side = pd.to_numeric(seen[table.side], errors="coerce") - table.neutral if table.side in seen else math.nan
    return numeric.assign(_answer=answers, _telling=telling, _side=np.sign(side))


def _answers(seen: pd.DataFrame, table: ItemTable) -> list[str]:
    if table.answer not in seen:
        return [""] * len(seen)
    chances = seen[table.probabilities] if table.probabilities in seen else [None] * len(seen)
    return [answer_text(answer, chance) for answer, chance in zip(seen[table.answer], chances, strict=True)]


def answer_text(answer: Any, chances: Any = None) -> str:
    """`nurse 12 %, man 3 %` for the likeliest tokens, or the answer as it is."""
    if answer is None or (isinstance(answer, float) and math.isnan(answer)):
        return ""
    if np.ndim(answer) == 0:
        return str(answer).strip()
    words = [str(word).strip() or "␣" for word in answer][:MOST_ANSWERS]
    if chances is None or isinstance(chances, float):
        return ", ".join(words)
    return ", ".join(f"{w} {percent(c)}" for w, c in zip(words, chances, strict=False))


def percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.095 else 0}f}\u00a0%"


def _minority(sides: pd.Series) -> float:
    """How many checkpoints take the rarer side; one alone cannot disagree."""
    if len(sides) < 2:
        return math.nan
    return float(min((sides > 0).sum(), (sides < 0).sum()))


def _columns(rows: pd.DataFrame, table: ItemTable, conditions: list[str]) -> Any:
    yield ItemColumn("prompt", "text", rows["text"].fillna("").tolist())
    if rows["part"].astype(bool).any():
        yield ItemColumn("part", "text", rows["part"].tolist())
    if rows["family"].nunique() > 1:
        yield ItemColumn("model", "choice", rows["family"].tolist())
    if rows["_answer"].astype(bool).any():
        yield ItemColumn("answer", "text", rows["_answer"].tolist())
    for name in table.values:
        if name in rows and rows[name].notna().any():
            yield ItemColumn(table.names.get(name, name.replace("_", " ")), "number", _rounded(rows[name]))
    if "_minority" in rows and rows["_minority"].any():
        yield ItemColumn("trainings that disagree", "number", _rounded(rows["_minority"]))
    for name in conditions:
        values = rows[name].astype(str)
        if 1 < values.nunique() <= MOST_CHOICES:
            yield ItemColumn(name.replace("_", " "), "choice", values.tolist())
    if rows["_why"].astype(bool).any():
        yield ItemColumn("not scored because", "choice", rows["_why"].tolist())


def _rounded(values: pd.Series) -> list[float | None]:
    """Four digits that count; None where there is no number."""
    return [None if math.isnan(v) or math.isinf(v) else float(f"{v:.4g}") for v in values.astype(float)]
