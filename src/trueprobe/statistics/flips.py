"""Do the seeds of a family answer single items alike? (Paper C's figure 1, for any probe with pairwise answers.)

d is the number of runs that do not give the majority's answer; where runs tie, an item may have no majority. Near-ties
are items whose margins are small on average: if flips vanish without them, they were coin flips. Two reasons are looked
at: the number of scored tokens, and the size of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr  # type: ignore[import-untyped]

from trueprobe.statistics.estimates import Member
from trueprobe.statistics.measure import Flips
from trueprobe.statistics.resampling import columns_of, rows_where
from trueprobe.types import MOST_TIED

MOST_LISTED = 50
DRAWS = 1000
_SIZES = 4  # quarters of the items by size


@dataclass(frozen=True)
class Answers:
    """What each seed answered to the items that all of them scored."""

    probe: str
    family: str
    step: int | None
    items: pd.DataFrame  # item, part, category, size
    prefers: np.ndarray  # [items, seeds]: 1, 0, or 0.5 for a tie
    margins: np.ndarray  # [items, seeds]
    near_tie: float

    @classmethod
    def of(cls, probe: str, members: Sequence[Member], declared: Flips) -> Answers | None:
        """Of the seeds that answered, and not mostly with ties; nothing where these are fewer than two."""
        tables = [_answers(member, declared) for member in members if _says_something(member, declared)]
        if len(tables) < 2:
            return None
        both = pd.concat([table[["prefers", "margin"]] for table in tables], axis=1, keys=range(len(tables)))
        both = both.dropna()
        known = tables[0].loc[both.index]
        items = known.index.to_frame(index=False).assign(
            category=known["category"].to_numpy(), size=known["size"].to_numpy()
        )
        prefers, margins = (both.xs(name, axis=1, level=1).to_numpy(dtype=float) for name in ("prefers", "margin"))
        first = members[0]
        return cls(probe, first.family, first.labels.get("step"), items, prefers, margins, declared.near_tie)

    @property
    def seeds(self) -> int:
        return self.prefers.shape[1]

    @property
    def against_majority(self) -> np.ndarray:
        """[items]: how many runs do not give the majority's answer."""
        votes = np.stack([(self.prefers == answer).sum(axis=1) for answer in (0.0, 1.0, 0.5)])
        return self.seeds - votes.max(axis=0)

    def pick(self, rows: np.ndarray) -> Answers:
        items, prefers, margins = self.items[rows], self.prefers[rows], self.margins[rows]
        return Answers(self.probe, self.family, self.step, items, prefers, margins, self.near_tie)

    # ------------------------------------------------------------ tables

    def distribution(self) -> list[dict[str, Any]]:
        """Shares of the items with d = 0, 1, 2 …, per category and over all, with near-ties and without."""
        clear = np.abs(self.margins).mean(axis=1) >= self.near_tie
        rows = []
        for category in ["all", *sorted(set(self.items["category"]))]:
            here = np.ones(len(self.items), bool) if category == "all" else (self.items["category"] == category)
            for told, kept in (("kept", np.ones(len(self.items), bool)), ("set aside", clear)):
                rows.append({**self._who(category), "near_ties": told, **self.pick(np.asarray(here & kept))._shares()})
        return rows

    def most_flipping(self) -> list[dict[str, Any]]:
        """The items on which most runs disagree; among those, the ones with the widest margins first."""
        sure = np.abs(self.margins).mean(axis=1)
        order = np.lexsort((-sure, -self.against_majority))[:MOST_LISTED]
        d = self.against_majority
        return [
            {
                **self._who(str(self.items["category"].iloc[i])),
                "item": self.items["item"].iloc[i],
                "part": self.items["part"].iloc[i],
                "d": int(d[i]),
                "prefer": int((self.prefers[i] == 1).sum()),
                "n_seeds": self.seeds,
                "mean_margin": float(self.margins[i].mean()),
                "sd_margin": float(self.margins[i].std(ddof=1)),
                "size": float(self.items["size"].iloc[i]),
            }
            for i in order
            if d[i] > 0
        ]

    def by_size(self) -> list[dict[str, Any]]:
        """Do longer items flip more, and do their margins vary more? Rank correlations, and rates by quarter."""
        size = self.items["size"].to_numpy(dtype=float)
        if np.isnan(size).any() or len(set(size)) < _SIZES:
            return []
        flipped, deviation = (self.against_majority > 0).astype(float), self.margins.std(axis=1, ddof=1)
        rows = []
        for what, values in (("flip_rate", flipped), ("sd_margin", deviation)):
            value, low, high = _rank_correlation(size, values)
            told = {"reason": "tokens", "what": f"rank correlation of {what} with size", "n_items": len(size)}
            rows.append({**self._who("all"), **told, "value": value, "low": low, "high": high})
        quarter = pd.qcut(size, _SIZES, labels=False, duplicates="drop")
        for q in sorted(set(quarter)):
            here = quarter == q
            span = f"{size[here].min():.0f} to {size[here].max():.0f}"
            told = {"reason": "tokens", "what": f"flip_rate at size {span}", "n_items": int(here.sum())}
            rows.append({**self._who("all"), **told, "value": float(flipped[here].mean())})
        return rows

    def _shares(self) -> dict[str, Any]:
        d, most = self.against_majority, self.seeds - int(np.ceil(self.seeds / 2))
        told: dict[str, Any] = {"n_items": len(d), "n_seeds": self.seeds}
        told |= {f"d{k}": float((d == k).mean()) if len(d) else np.nan for k in range(most + 1)}
        told["no_majority"] = float((d > most).mean()) if len(d) else np.nan  # 2 yes, 2 no, 1 tie
        told["flip_rate"] = float((d > 0).mean()) if len(d) else np.nan
        return {**told, "alpha": krippendorff_alpha(self.prefers)}

    def _who(self, category: str) -> dict[str, Any]:
        return {"probe": self.probe, "family": self.family, "step": self.step, "category": category}


def subsampled(answers: Sequence[Answers], resample_seed: int = 0) -> Iterator[list[dict[str, Any]]]:
    """Is a smaller dataset the reason for more seed variance? The larger one cut to the smaller one's size."""
    for large in answers:
        for small in answers:
            same = (large.family, large.step) == (small.family, small.step)
            if same and len(large.prefers) > len(small.prefers) > 1:
                yield [_subsampled(large, small, resample_seed)]


def _subsampled(large: Answers, small: Answers, resample_seed: int) -> dict[str, Any]:
    dice, n = np.random.default_rng(resample_seed), len(small.prefers)
    sds = [
        large.prefers[dice.choice(len(large.prefers), n, replace=False)].mean(axis=0).std(ddof=1) for _ in range(DRAWS)
    ]
    low, high = np.quantile(sds, [0.025, 0.975])
    told = {
        "reason": "size",
        "what": f"sd_seeds of {n} items, as many as {small.probe} has",
        "n_items": n,
        "value": float(np.mean(sds)),
        "low": float(low),
        "high": float(high),
        "sd_seeds_whole": float(large.prefers.mean(axis=0).std(ddof=1)),
        "sd_seeds_other": float(small.prefers.mean(axis=0).std(ddof=1)),
    }
    return {**large._who("all"), **told}


def krippendorff_alpha(answers: np.ndarray) -> float:
    """[units, raters], nominal: 1 is full agreement, 0 what chance would give. NaN where all answers are the same."""
    if not answers.size:
        return float("nan")
    kinds = np.unique(answers)
    counts = np.stack([(answers == kind).sum(axis=1) for kind in kinds], axis=1).astype(float)  # [units, kinds]
    raters, totals = answers.shape[1], counts.sum(axis=0)
    apart = raters**2 * len(answers) - (counts**2).sum()
    expected = totals.sum() ** 2 - (totals**2).sum()
    if not expected:
        return float("nan")
    return float(1 - (totals.sum() - 1) * apart / (raters - 1) / expected)


def _answers(member: Member, declared: Flips) -> pd.DataFrame:
    frame = member.frame[rows_where(member.frame, declared.where)]
    size = pd.to_numeric(frame[declared.size], errors="coerce") if declared.size else np.nan
    table = pd.DataFrame(
        {
            "item": frame["item"],
            "part": frame["part"],
            "prefers": pd.to_numeric(frame[declared.prefers], errors="coerce"),
            "margin": pd.to_numeric(frame[declared.margin], errors="coerce"),
            "category": frame[declared.category].astype(str),
            "size": size,
        }
    )
    return table.set_index(["item", "part"])


def _says_something(member: Member, declared: Flips) -> bool:
    columns = columns_of(member.frame, [declared.prefers], member.resampling)
    known = rows_where(member.frame, declared.where) & ~np.isnan(columns.values[declared.prefers])
    return bool(known.any()) and columns.tied(known) <= MOST_TIED


def _rank_correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Spearman's, with the interval of Bonett & Wright (2000); NaN where one does not vary."""
    if len(set(y)) < 2 or len(x) < 10:
        return float("nan"), float("nan"), float("nan")
    rho = float(spearmanr(x, y).statistic)
    half = norm.ppf(0.975) * np.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    z = np.arctanh(np.clip(rho, -0.999999, 0.999999))
    return rho, float(np.tanh(z - half)), float(np.tanh(z + half))
