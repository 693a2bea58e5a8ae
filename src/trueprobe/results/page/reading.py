"""What a report reads: the run folder, whole or not, with each family's checkpoints put together.

A family's value is its own row where the run wrote one (`level` = family), the mean of its checkpoints otherwise;
an interval is shown only where the run has one for just that number.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from trueprobe.errors import BadInput
from trueprobe.runs.folder import Run

KEPT = ("value", "low", "high", "n_items", "n_unscored", "n_groups", "unit", "neutral", "verdict", "reason", "p")
_LEFT_OUT = ("low coverage", "fails the gate")  # checkpoints that a family is counted without
EQUAL = 0.05  # below this, checkpoints are not equally good
_MEMBER = re.compile(r"[-/](seed_?\d+|step_?\d+)")


@dataclass(frozen=True)
class Family:
    name: str
    cards: tuple[Mapping[str, Any], ...]

    @property
    def members(self) -> list[str]:
        return [card["name"] for card in self.cards]

    @property
    def seeds(self) -> int:
        return len({card["labels"].get("model_seed") for card in self.cards}) if len(self.cards) > 1 else 1

    @property
    def steps(self) -> list[int]:
        return sorted({card["labels"]["step"] for card in self.cards if "step" in card["labels"]})


@dataclass(frozen=True)
class Reading:
    run: Run

    @property
    def told(self) -> dict[str, dict[str, Any]]:
        return self.run.told

    @cached_property
    def families(self) -> dict[str, Family]:
        cards = self.run.manifest.get("cards") or self._cards_of_an_interrupted_run()
        found: dict[str, list[Mapping[str, Any]]] = {}
        for card in cards:
            found.setdefault(card["family"], []).append(card)
        return {name: Family(name, tuple(members)) for name, members in found.items()}

    def _cards_of_an_interrupted_run(self) -> list[dict[str, Any]]:
        """Cards are written last; until then names tell which checkpoints belong together."""
        found: dict[str, dict[str, Any]] = {}
        for label in self.told:
            for path in sorted((self.run.folder / "observations" / label).glob("*.parquet")):
                family = _MEMBER.split(path.stem)[0]
                labels = {
                    key: int(m.group(1))
                    for key, word in (("model_seed", "seed"), ("step", "step"))
                    if (m := re.search(rf"{word}_?(\d+)", path.stem))
                }
                found[path.stem] = {"name": path.stem, "family": family, "labels": labels, "kind": "", "source": ""}
        return list(found.values())

    @cached_property
    def complete(self) -> bool:
        return self.run.complete and (self.run.folder / "estimates.parquet").exists()

    @cached_property
    def models_asked(self) -> list[str]:
        return list(self.run.manifest["study"]["models"])

    @cached_property
    def members(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Checkpoint -> family and labels."""
        return {c["name"]: (f.name, c["labels"]) for f in self.families.values() for c in f.cards}

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """With the family, seed and step of each row; empty where the run has not counted yet."""
        return self._placed("estimates")

    @cached_property
    def claims(self) -> pd.DataFrame:
        """What the run counted; with what was fine-tuned into its folder, paper C's claim about it."""
        tuned = [_equally_good(found, row) for found in self.downstream for row in found.get("families", ())]
        rows = self._placed("claims")
        return pd.concat([rows, pd.DataFrame(tuned).astype({"step": "Int64"})], ignore_index=True) if tuned else rows

    def _placed(self, name: str) -> pd.DataFrame:
        if not (self.run.folder / f"{name}.parquet").exists():
            return pd.DataFrame()
        rows = getattr(self.run, name)
        if rows.empty:
            return rows
        known = self.members
        family = [known[m][0] if m in known else m for m in rows["model"]]
        labels = [known[m][1] if m in known else {} for m in rows["model"]]
        seeds = pd.array([x.get("model_seed") for x in labels], dtype="Int64")
        own = ["checkpoint" if m in known else "family" for m in rows["model"]]
        steps = [x.get("step") for x in labels]
        if "step" in rows:  # a family's own row tells its step itself
            steps = [s if o == "checkpoint" else t for s, o, t in zip(steps, own, rows["step"], strict=True)]
        level = rows.get("level", own)
        return rows.assign(family=family, seed=seeds, step=pd.array(steps, dtype="Int64"), level=level)

    def observations(self, label: str) -> pd.DataFrame:
        try:
            seen = self.run.observations(label)
        except BadInput:
            return pd.DataFrame()
        return seen.assign(family=[self.members[m][0] if m in self.members else m for m in seen["model"]])

    def items(self, label: str) -> pd.DataFrame:
        path = self.run.folder / "items" / f"{label}.parquet"
        return pd.read_parquet(path) if path.exists() else pd.DataFrame()

    def extra(self, name: str) -> pd.DataFrame:
        """flips, variance, signs: what a run may hold besides, empty where it does not."""
        for path in (self.run.folder / f"{name}.parquet", self.run.folder / f"{name}.csv"):
            if path.exists():
                return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        return pd.DataFrame()

    @cached_property
    def downstream(self) -> list[dict[str, Any]]:
        """What `downstream --into` left in the folder, finished or not, by task."""
        files = sorted((self.run.folder / "downstream").glob("*/downstream.json"))
        found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        return sorted(found, key=lambda one: str(one["task"]))


def _equally_good(found: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    known = row["p_equal"] is not None and row["shows"] != "nothing"
    said = "not applicable" if not known else "not contradicted" if row["p_equal"] >= EQUAL else "opposite"
    return {
        "probe": "downstream",
        "claim": f"equally_good_{found['task']}",
        "statement": f"checkpoints of one setup do {found['task']} equally well: deviation of their accuracies",
        "paper": "C",
        "model": row["family"],
        "family": row["family"],
        "level": "family",
        "step": row["step"],
        "n_seeds": row["n_checkpoints"],
        "quantity": "accuracy",
        "expected": f"equal: Cochran's Q, p at least {EQUAL}",
        "value": row["sd"] if known else math.nan,
        "low": math.nan,
        "high": math.nan,
        "unit": "share",
        "verdict": said,
    }


def together(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """One row per family and combination of `keys`; `seeds` has the value and p of each checkpoint behind it."""
    if rows.empty:
        return rows
    if "step" not in keys:
        rows = last_step(rows)
    by = ["family", *(key for key in keys if key not in ("family", "model"))]
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    return pd.DataFrame([{**dict(zip(by, names, strict=True)), **_one(group)} for names, group in groups.items()])


def last_step(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each family the rows of its last training step: earlier ones are of the same trainings."""
    if "step" not in rows or rows["step"].isna().all():
        return rows
    last = rows.groupby("family")["step"].transform("max")
    return rows[rows["step"].isna() | (rows["step"] == last)]


@dataclass(frozen=True)
class Seed:
    """One checkpoint's own number."""

    value: float
    p: float
    holds: bool  # its interval excludes the neutral point


def _one(group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    own = [row for row in group if row["level"] == "family"]
    every = [row for row in group if row["level"] != "family"]
    members = [row for row in every if row["verdict"] not in _LEFT_OUT] or every  # as the family's own row has it
    first = (own or members)[0]
    one = {key: first.get(key, math.nan) for key in KEPT}
    found = [Seed(float(r["value"]), r.get("p", math.nan), str(r["verdict"]).startswith("holds")) for r in members]
    seeds = [seed for seed in found if not math.isnan(seed.value)]
    values = [seed.value for seed in seeds]
    if not own and len(members) > 1:
        one |= {"value": statistics.fmean(values) if values else math.nan, "low": math.nan, "high": math.nan}
        one |= {"p": math.nan, "verdict": _agreed([r["verdict"] for r in members], seeds, float(one["neutral"]))}
    deviation = first.get("sd_seeds", math.nan) if own else math.nan
    if math.isnan(deviation) and len(values) > 1:
        deviation = statistics.stdev(values)
    return {**one, "seeds": seeds if len(members) > 1 else [], "n_seeds": len(members), "sd_seeds": deviation}


def _agreed(verdicts: list[str], seeds: list[Seed], neutral: float) -> str:
    """Of checkpoints without a verdict of their family: what all say, `flips` where they contradict each other."""
    sides = {seed.value > neutral for seed in seeds if seed.holds}
    if {"as published", "opposite"} <= set(verdicts) or len(sides) > 1:
        return "flips"
    told = set(verdicts) - {"not applicable", "low coverage"}
    if not told:
        return "low coverage" if "low coverage" in verdicts else "not applicable"
    return told.pop() if len(told) == 1 else "undecided"
