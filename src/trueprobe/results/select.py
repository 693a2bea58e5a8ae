"""What of a run's tables a probe's summary tells: which rows, and by which names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from trueprobe.types import MOST_TIED

SILENT = ("not applicable", "low coverage", "fails the gate")  # verdicts of a number that says nothing


def where(rows: pd.DataFrame, conditions: Mapping[str, Any]) -> pd.DataFrame:
    """The rows where every condition has its value, or one of its values; none where a condition is not known."""
    for key, wanted in conditions.items():
        if key not in rows:
            return rows[:0]
        values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        rows = rows[rows[key].astype(str).isin([str(v) for v in values])]
    return rows


def where_known(rows: pd.DataFrame, conditions: Mapping[str, Any]) -> pd.DataFrame:
    """The same by those conditions that the rows have at all."""
    return where(rows, {key: value for key, value in conditions.items() if key in rows and rows[key].notna().any()})


def where_told(rows: pd.DataFrame, conditions: Mapping[str, Any]) -> pd.DataFrame:
    """The rows a summary tells of one model; over all listed words where most of its top k cannot be counted."""
    told = where(rows, conditions)
    if "k" not in conditions:
        return told
    directed = told[told["neutral"].notna()] if "neutral" in told else told
    silent = (directed if len(directed) else told)["verdict"].isin(SILENT)
    whole = where(rows, {**conditions, "k": "all"}) if silent.mean() > 0.5 else told[:0]
    return whole if len(whole) else told


def where_told_by(rows: pd.DataFrame, conditions: Mapping[str, Any], who: str) -> pd.DataFrame:
    """The same of several, each by itself."""
    each = (where_told(mine, conditions) for _, mine in rows.groupby(who, sort=False))
    return pd.concat([rows[:0], *each])


def row_keys(summary: Mapping[str, Any]) -> list[str]:
    """The conditions that name its rows: one, or several together."""
    return [summary["rows"]] if isinstance(summary["rows"], str) else list(summary["rows"])


def row_names(rows: pd.DataFrame, summary: Mapping[str, Any]) -> list[str]:
    return [" ".join(map(str, name)) for name in rows[row_keys(summary)].itertuples(index=False)]


def titles(summary: Mapping[str, Any]) -> dict[str, str]:
    """Of its measures."""
    return dict(zip(summary["measures"], summary["titles"], strict=True))


def directed(rows: pd.DataFrame, summary: Mapping[str, Any]) -> list[str]:
    """Its measures that have a neutral value."""
    return [m for m in summary["measures"] if rows.loc[rows["measure"] == m, "neutral"].notna().any()]


def threshold(expected: str) -> float:
    """Of a claim: `above 0`, `below 0.1`."""
    return float(expected.split()[-1])


def reasons(missing: pd.DataFrame) -> str:
    """Why observations are not scored, and how many for each cause."""
    return ", ".join(f"{many:,} {code}" for code, many in missing["why_not"].value_counts().items())


def mostly_tied(seen: pd.DataFrame) -> list[str]:
    """The models that answered more than half of what they were scored on with ties."""
    if "tied" not in seen:
        return []
    shares = seen[seen["why_not"] == ""].groupby("model", sort=False)["tied"].mean()
    return list(shares[shares > MOST_TIED].index)


def claims_itself(claims: pd.DataFrame, label: str) -> bool:
    """Whether a probe has claims about single models; those over seeds do not tell what its numbers say."""
    return len(claims) > 0 and bool(((claims["probe"] == label) & (claims["level"] == "checkpoint")).any())
