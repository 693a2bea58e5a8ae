"""Single items: those that decide most first, an example with its answers, and what stands behind the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from trueprobe.probes.display import ItemTable
from trueprobe.results.text import tables as words
from trueprobe.results.view.number import DASH
from trueprobe.results.view.source import ReportSource, where_rows
from trueprobe.runs.families import Family
from trueprobe.runs.schema import ITEM_COLUMNS
from trueprobe.types import GROUP

MOST_ANSWERS = 5
MOST_CHOICES = 24  # a condition with more values is searched, not chosen
MOST_EXAMPLES = 6
CAUSAL_TEXT = "causal_text"


@dataclass(frozen=True)
class ItemColumn:
    title: str
    kind: Literal["text", "choice", "number"]
    values: list[Any]

    @property
    def digits(self) -> int:
        """The same for all, so that numbers stand below each other: three that count in the largest."""
        known = [abs(value) for value in self.values if value is not None]
        if all(value == int(value) for value in known):
            return 0
        return max(0, min(4, 2 - math.floor(math.log10(max(known)))))

    def text(self, row: int) -> str:
        value = self.values[row]
        if self.kind != "number":
            return str(value)
        return DASH if value is None else f"{value:.{self.digits}f}".replace("-", "−")


@dataclass(frozen=True)
class ItemRows:
    """One row for each item and family."""

    columns: list[ItemColumn]
    total: int
    ids: list[str]  # the item of each row
    families: list[str]  # and whose answers it shows

    def first(self, many: int) -> list[list[str]]:
        return [[column.text(row) for column in self.columns] for row in range(min(many, self.total))]


def item_rows(source: ReportSource, label: str) -> ItemRows | None:
    """Of several seeds the mean, with the answer of the first; the largest of the ranking column first."""
    observed, items = source.last_observations(label), source.items(label)
    if observed.empty or items.empty:
        return None
    table = _declared(source, label, observed)
    groups = _prepared(observed, table).groupby(["item", "part", "family"], sort=False)
    rows = groups[[*table.values, "_rank"]].mean(numeric_only=True)
    first = groups[["_answer", "why_not"]].first()
    rows["_answer"], rows["_why"] = first["_answer"], first["why_not"]
    if (groups.size() > 1).any():
        rows["_minority"] = _minority(groups)
    rows = rows.reset_index().merge(items, on="item", how="left")
    rows["text"] = _as_asked(source, rows)
    rows = rows.iloc[np.argsort(-rows["_rank"].abs().fillna(-1).to_numpy(), kind="stable")]
    conditions = [name for name in map(str, items) if name not in ITEM_COLUMNS and not name.startswith(GROUP)]
    return ItemRows(list(_columns(rows, table, conditions)), len(rows), rows["item"].tolist(), rows["family"].tolist())


def prompts(source: ReportSource, items: pd.DataFrame) -> dict[str, list[str]]:
    """What the models of the run were asked: a column of texts, or one for each kind where these differ."""
    if CAUSAL_TEXT not in items:
        return {"": items["text"].tolist()}
    kinds = dict.fromkeys(family.cards[0].kind for family in source.families)
    columns = dict.fromkeys(CAUSAL_TEXT if kind == "causal" else "text" for kind in kinds) or {"text": None}
    titles = {"text": words.MASKED, CAUSAL_TEXT: words.CAUSAL}
    return {titles[name] if len(columns) > 1 else "": items[name].tolist() for name in columns}


def _as_asked(source: ReportSource, rows: pd.DataFrame) -> pd.Series[Any]:
    """Of rows with a family: the prompt as its kind of model was asked."""
    if CAUSAL_TEXT not in rows:
        return rows["text"]
    causal = [family.name for family in source.families if family.cards[0].kind == "causal"]
    return rows[CAUSAL_TEXT].where(rows["family"].isin(causal) & rows[CAUSAL_TEXT].astype(bool), rows["text"])


def _declared(source: ReportSource, label: str, observed: pd.DataFrame) -> ItemTable:
    """What the probe declares; without it, its first numbers."""
    declaration = source.declaration(label)
    if declaration.item_table is not None:
        return declaration.item_table
    numbers = [n for n in declaration.columns if n in observed and pd.api.types.is_numeric_dtype(observed[n])]
    side = "preference_nats" if "preference_nats" in numbers else ""
    return ItemTable(tuple(numbers[:5]), side or next(iter(numbers), ""), side=side)


def _prepared(observed: pd.DataFrame, table: ItemTable) -> pd.DataFrame:
    """With the answer as text, what a row is ranked by, and the side it takes."""
    known = observed.reindex(columns=list(dict.fromkeys([*observed, *table.values])))
    return known.assign(
        _answer=_answers(observed, table),
        _rank=_numbers(observed, table.rank_by),
        _above=_numbers(observed, table.side) > table.neutral,
        _below=_numbers(observed, table.side) < table.neutral,
    )


def _numbers(frame: pd.DataFrame, column: str) -> Any:
    return pd.to_numeric(frame[column], errors="coerce") if column in frame else pd.Series(math.nan, frame.index)


def _answers(observed: pd.DataFrame, table: ItemTable) -> list[str]:
    if table.answer not in observed:
        return [""] * len(observed)
    known = table.probabilities in observed
    probabilities = observed[table.probabilities] if known else [None] * len(observed)
    return [answer_text(answer, p) for answer, p in zip(observed[table.answer], probabilities, strict=True)]


def answer_text(answer: Any, probabilities: Any = None) -> str:
    """`nurse 12 %, man 3 %` for the likeliest tokens, or the answer as it is."""
    if answer is None or (isinstance(answer, float) and math.isnan(answer)):
        return ""
    if np.ndim(answer) == 0:
        return str(answer).strip()
    tokens = [str(token).strip() or "␣" for token in answer][:MOST_ANSWERS]
    if probabilities is None or isinstance(probabilities, float):
        return ", ".join(tokens)
    return ", ".join(f"{token} {_percent(p)}" for token, p in zip(tokens, probabilities, strict=False))


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.095 else 0}f}\u00a0%"


def _minority(groups: Any) -> Any:
    """How many checkpoints take the rarer side; one alone cannot disagree."""
    sides = groups[["_above", "_below"]].sum().min(axis=1).astype(float)
    return sides.where(groups.size() > 1)


def _columns(rows: pd.DataFrame, table: ItemTable, conditions: list[str]) -> Iterator[ItemColumn]:
    yield ItemColumn(words.PROMPT, "text", rows["text"].fillna("").tolist())
    if rows["part"].astype(bool).any():
        yield ItemColumn(words.PART, "text", rows["part"].tolist())
    if rows["family"].nunique() > 1:
        yield ItemColumn(words.MODEL, "choice", rows["family"].tolist())
    if rows["_answer"].astype(bool).any():
        yield ItemColumn(words.ANSWER, "text", rows["_answer"].tolist())
    for name in table.values:
        if name in rows and rows[name].notna().any():
            yield ItemColumn(table.names.get(name, name.replace("_", " ")), "number", _rounded(rows[name]))
    if "_minority" in rows and rows["_minority"].any():
        yield ItemColumn(words.SEEDS_APART, "number", _rounded(rows["_minority"]))
    for name in conditions:
        values = rows[name].astype(str)
        if 1 < values.nunique() <= MOST_CHOICES:
            yield ItemColumn(name.replace("_", " "), "choice", values.tolist())
    if rows["_why"].astype(bool).any():
        yield ItemColumn(words.WHY_NOT, "choice", rows["_why"].tolist())


def _rounded(values: pd.Series[Any]) -> list[float | None]:
    """Four digits that count; None where there is no number."""
    return [None if math.isnan(v) or math.isinf(v) else float(f"{v:.4g}") for v in values.astype(float)]


@dataclass(frozen=True)
class Example:
    """A prompt, and what each family's first checkpoint answered."""

    prompt: str
    answers: tuple[tuple[str, str], ...] = ()  # model and answer


def examples(source: ReportSource, label: str) -> list[Example]:
    """One item; as many prompts as its kinds of model were asked."""
    declaration, observed = source.declaration(label), source.last_observations(label)
    table = declaration.item_table
    scored = observed[observed["why_not"] == ""] if len(observed) else observed
    if table is None or table.answer not in scored or scored.empty:
        first = source.items(label).head(1)
        texts = [texts[0] for texts in prompts(source, first).values()] if len(first) else [declaration.example]
        return [Example(text) for text in texts]
    asked = scored["item"].iloc[0]
    answered = scored[scored["item"] == asked].drop_duplicates("family")
    order = {family.name: i for i, family in enumerate(source.families)}
    answered = answered.iloc[np.argsort([order[name] for name in answered["family"]], kind="stable")]
    asked_as = answered.assign(_answer=_answers(answered, table)).merge(source.items(label), on="item", how="left")
    asked_as["text"] = _as_asked(source, asked_as).fillna(declaration.example)
    return [
        Example(str(text), tuple(zip(map(str, same["model"]), same["_answer"], strict=True)))
        for text, same in asked_as.groupby("text", sort=False)
    ]


@dataclass(frozen=True)
class Continuations:
    """What a model puts into the blank of one prompt, with probabilities."""

    model: str
    prompt: str
    tokens: tuple[tuple[str, float], ...]


def continuations(source: ReportSource, label: str, family: Family) -> list[Continuations]:
    """Of the family's first checkpoint, to the prompts that the summary names."""
    rows = _of_family(source, label, family)
    wanted = source.declaration(label).summary.examples
    if rows.empty or not wanted:
        return []
    rows = where_rows(rows[rows["model"] == rows["model"].iloc[0]], wanted).head(MOST_EXAMPLES)
    columns = (rows["model"], rows["prompt"], rows["top_words"], rows["top_probabilities"])
    return [
        Continuations(model, prompt, tuple(zip(tokens[:5], ps[:5], strict=True)))
        for model, prompt, tokens, ps in zip(*columns, strict=True)
    ]


@dataclass(frozen=True)
class BaseAnswers:
    """Of one group of targets: how many a model answers correctly at base, and the wrong answers."""

    model: str
    group: str
    n_correct: int
    n_asked: int
    wrong: tuple[tuple[str, str], ...]  # target and answer


def base_answers(source: ReportSource, label: str, family: Family) -> list[BaseAnswers]:
    rows, columns = _of_family(source, label, family), source.declaration(label).summary.answers
    if not columns:
        return []
    of, answer, correct = (columns[key] for key in ("of", "answer", "correct"))
    results = []
    each = rows.drop_duplicates(["model", columns["by"], of])
    for (model, group), of_group in each.groupby(["model", columns["by"]], sort=False):
        wrong = of_group[of_group[correct] != 1]
        pairs = tuple(zip(map(str, wrong[of]), map(str, wrong[answer]), strict=True))
        results.append(BaseAnswers(str(model), str(group), len(of_group) - len(wrong), len(of_group), pairs))
    return results


@dataclass(frozen=True)
class ListedWords:
    """Of the listed words of a group: how many a model has as one piece."""

    group: str
    n_known: int
    n_listed: int


def listed_words(source: ReportSource, label: str, family: Family) -> list[ListedWords]:
    """Of the groups of which the model lacks some."""
    rows, listed = _of_family(source, label, family), source.declaration(label).facts.get("verbalizer", {})
    known = {group: rows[f"{group}_words"].max() for group in listed} if len(rows) else {}
    return [ListedWords(g, int(n), int(listed[g])) for g, n in known.items() if n < listed[g]]


def _of_family(source: ReportSource, label: str, family: Family) -> pd.DataFrame:
    """What its checkpoints were scored on."""
    rows = source.last_observations(label)
    return rows[(rows["family"] == family.name) & (rows["why_not"] == "")] if len(rows) else rows
