"""Do the seeds of a family answer single items alike? (Paper C's figure 1, for any probe with pairwise answers.)

d is the number of runs that do not give the majority's answer; where runs tie, an item may have no majority. Near-ties
are items whose margins are small on average: if flips vanish without them, they were coin flips. Three reasons are
looked at: the number of scored tokens, the size of the dataset, and how well a masked head is calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy  # type: ignore[import-untyped]

from trueprobe.statistics.coverage import untied
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import Flips
from trueprobe.statistics.resampling import column_of, columns_of, rows_where
from trueprobe.statistics.rows import FlipCause, FlippingItem, FlipShares, FlipStatistic, NearTies, changed
from trueprobe.statistics.verdict import of_coverage
from trueprobe.types import Verdict

MOST_LISTED = 50
CALIBRATION_ERROR = "calibration_error"  # a measure of single checkpoints, of whatever probe of the run
DRAWS = 1000
_ROUNDING = 1e-12  # of sums in another order
_FEWEST = 10  # for the interval of a correlation
_SIZES = 4  # quarters of the items by size


@dataclass(frozen=True)
class SeedAnswers:
    """What each seed answered to the items that all of them scored."""

    probe: str
    family: str
    step: int | None
    items: pd.DataFrame  # item, part, category, size
    prefers: np.ndarray  # [items, seeds]: 1, 0, or 0.5 for a tie
    margins: np.ndarray  # [items, seeds]
    near_tie: float
    resample_seed: int = 0
    models: tuple[str, ...] = ()  # the seeds

    @classmethod
    def of(cls, probe: str, members: Sequence[CheckpointData], declared: Flips) -> SeedAnswers | None:
        """Of the seeds that answered, and not mostly with ties; nothing where these are fewer than two."""
        usable = [member for member in members if _usable(member, declared)]
        tables = [_answers(member, declared) for member in usable]
        if len(tables) < 2:
            return None
        both = pd.concat([table[["prefers", "margin"]] for table in tables], axis=1, keys=range(len(tables)))
        both = both.dropna()
        scored = tables[0].loc[both.index]
        items = scored.index.to_frame(index=False).assign(
            category=scored["category"].to_numpy(), size=scored["size"].to_numpy()
        )
        prefers, margins = (both.xs(name, axis=1, level=1).to_numpy(dtype=float) for name in ("prefers", "margin"))
        first = members[0]
        step, seed = first.labels.get("step"), first.resampling.resample_seed
        names = tuple(member.model for member in usable)
        return cls(probe, first.family, step, items, prefers, margins, declared.near_tie, seed, names)

    @property
    def seeds(self) -> int:
        return int(self.prefers.shape[1])

    @property
    def against_majority(self) -> np.ndarray:
        """[items]: how many seeds do not give the majority's answer."""
        votes = np.stack([(self.prefers == answer).sum(axis=1) for answer in (0.0, 1.0, 0.5)])
        against: np.ndarray = self.seeds - votes.max(axis=0)
        return against

    @property
    def shares_against_majority(self) -> np.ndarray:
        """[seeds]: the share of items on which each is against the majority; where half are, there is none."""
        share = self.prefers.mean(axis=1, keepdims=True)
        against = (np.sign(self.prefers - 0.5) != np.sign(share - 0.5)) & (share != 0.5)
        shares: np.ndarray = against.mean(axis=0)
        return shares

    def pick(self, rows: np.ndarray) -> SeedAnswers:
        return replace(self, items=self.items[rows], prefers=self.prefers[rows], margins=self.margins[rows])

    def by_category(self) -> Iterator[np.ndarray]:
        """[items, seeds] of each category."""
        for _, rows in self.items.groupby("category", sort=True).indices.items():
            yield self.prefers[rows]

    def categories_beside_cuts(self) -> tuple[float, float, float, float]:
        """How much more categories vary over seeds than as many items of all: value, 95 % interval and two-sided p.

        The deviation over seeds, a mean over categories, minus the same where the items are dealt again to categories
        of these sizes: a smaller set varies more by itself. The interval is that of the deals, so it excludes 0 in 5 %
        of the cases where a category is a set of items like any other."""
        order = np.argsort(self.items["category"].to_numpy(), kind="stable")
        _, starts, sizes = np.unique(self.items["category"].to_numpy()[order], return_index=True, return_counts=True)

        def mean_sd(prefers: np.ndarray) -> float:
            by_category = np.add.reduceat(prefers, starts, axis=0) / sizes[:, None]
            return float(by_category.std(axis=1, ddof=1).mean())

        rng = np.random.default_rng(self.resample_seed)
        dealt = np.array([mean_sd(rng.permutation(self.prefers)) for _ in range(DRAWS)])
        observed = mean_sd(self.prefers[order])
        low, high = np.quantile(dealt, [0.025, 0.975])
        larger, smaller = (
            1 + int(np.sum(side)) for side in (dealt >= observed - _ROUNDING, dealt <= observed + _ROUNDING)
        )
        p = min(1.0, 2 * min(larger, smaller) / (1 + DRAWS))
        return observed - float(np.mean(dealt)), observed - float(high), observed - float(low), p

    # ------------------------------------------------------------ tables

    def distribution(self) -> list[FlipShares]:
        """Shares of the items on which 0, 1, 2 … seeds are against the majority, per category and over all, with
        near-ties and without."""
        clear = np.abs(self.margins).mean(axis=1) >= self.near_tie
        every = np.ones(len(self.items), bool)
        rows = []
        for category in ["all", *sorted(set(self.items["category"]))]:
            here = every if category == "all" else np.asarray(self.items["category"] == category)
            for near_ties, chosen in ((NearTies.INCLUDED, every), (NearTies.EXCLUDED, clear)):
                rows += self.pick(here & chosen)._shares(category, near_ties)
        return rows

    def most_flipping(self) -> list[FlippingItem]:
        """The items on which most seeds disagree; among those, the ones with the widest margins first."""
        sure, against = np.abs(self.margins).mean(axis=1), self.against_majority
        order = np.lexsort((-sure, -against))[:MOST_LISTED]
        return [self._flipping(int(i)) for i in order if against[i] > 0]

    def _flipping(self, i: int) -> FlippingItem:
        item = self.items.iloc[i]
        return FlippingItem(
            probe=self.probe,
            family=self.family,
            step=self.step,
            category=str(item["category"]),
            item=str(item["item"]),
            part=str(item["part"]),
            against=int(self.against_majority[i]),
            prefer=int((self.prefers[i] == 1).sum()),
            n_seeds=self.seeds,
            mean_margin=float(self.margins[i].mean()),
            sd_margin=float(self.margins[i].std(ddof=1)),
            size=float(item["size"]),
        )

    def by_size(self) -> list[FlipCause]:
        """Do longer items flip more, and do their margins vary more? Rank correlations, and rates by quarter."""
        size = self.items["size"].to_numpy(dtype=float)
        if np.isnan(size).any() or len(set(size)) < _SIZES:
            return []
        flipped, deviation = (self.against_majority > 0).astype(float), self.margins.std(axis=1, ddof=1)
        by_size = ((FlipStatistic.FLIP_RATE_BY_SIZE, flipped), (FlipStatistic.SD_MARGIN_BY_SIZE, deviation))
        rows = [self._cause(name, len(size), *_rank_correlation(size, values)) for name, values in by_size]
        quarter = pd.qcut(size, _SIZES, labels=False, duplicates="drop")
        for here in (quarter == q for q in sorted(set(quarter))):
            row = self._cause(FlipStatistic.FLIP_RATE_IN_QUARTER, int(here.sum()), float(flipped[here].mean()))
            rows.append(changed(row, smallest=float(size[here].min()), largest=float(size[here].max())))
        return rows

    def by_calibration(self, errors: Mapping[str, float]) -> list[FlipCause]:
        """Are the worse calibrated seeds more often against the majority? Of three seeds or more with an error."""
        known = np.array([errors.get(model, math.nan) for model in self.models])
        if len(known) < 3 or np.isnan(known).any():
            return []
        rho, low, high = _rank_correlation(known, self.shares_against_majority, fewest=3)
        row = self._cause(FlipStatistic.AGAINST_MAJORITY_BY_CALIBRATION, len(self.items), rho, low, high)
        return [changed(row, smallest=float(known.min()), largest=float(known.max()))]

    def _cause(
        self, statistic: FlipStatistic, n_items: int, value: float, low: float = math.nan, high: float = math.nan
    ) -> FlipCause:
        return FlipCause(self.probe, self.family, self.step, "all", statistic, n_items, value, low, high)

    def _shares(self, category: str, near_ties: NearTies) -> list[FlipShares]:
        d, most = self.against_majority, self.seeds - int(np.ceil(self.seeds / 2))

        def share(which: np.ndarray) -> float:
            return float(which.mean()) if len(d) else math.nan

        return [
            FlipShares(
                probe=self.probe,
                family=self.family,
                step=self.step,
                category=category,
                near_ties=near_ties,
                n_items=len(d),
                n_seeds=self.seeds,
                against=against,
                share=share(d == against),
                no_majority=share(d > most),  # 2 yes, 2 no, 1 tie
                flip_rate=share(d > 0),
                alpha=krippendorff_alpha(self.prefers),
            )
            for against in range(most + 1)
        ]


def subsampled(answers: Sequence[SeedAnswers]) -> list[FlipCause]:
    """Is a smaller dataset the cause of more seed variance? The larger one cut to the smaller one's size."""
    pairs = [(large, small) for large in answers for small in answers if _comparable(large, small)]
    return [_subsampled(large, small) for large, small in pairs]


def _comparable(large: SeedAnswers, small: SeedAnswers) -> bool:
    same = (large.family, large.step) == (small.family, small.step)
    return same and len(large.prefers) > len(small.prefers) > 1


def _subsampled(large: SeedAnswers, small: SeedAnswers) -> FlipCause:
    rng, n = np.random.default_rng(0), len(small.prefers)
    sds = [
        large.prefers[rng.choice(len(large.prefers), n, replace=False)].mean(axis=0).std(ddof=1) for _ in range(DRAWS)
    ]
    low, high = np.quantile(sds, [0.025, 0.975])
    return changed(
        large._cause(FlipStatistic.SD_SEEDS_OF_AS_MANY, n, float(np.mean(sds)), float(low), float(high)),
        other=small.probe,
        sd_seeds_whole=float(large.prefers.mean(axis=0).std(ddof=1)),
        sd_seeds_other=float(small.prefers.mean(axis=0).std(ddof=1)),
    )


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


def _answers(member: CheckpointData, declared: Flips) -> pd.DataFrame:
    frame = member.frame[rows_where(member.frame, declared.where)]
    size = pd.to_numeric(column_of(frame, declared.size), errors="coerce") if declared.size else np.nan
    table = pd.DataFrame(
        {
            "item": frame["item"],
            "part": frame["part"],
            "prefers": pd.to_numeric(frame[declared.prefers], errors="coerce"),
            "margin": pd.to_numeric(frame[declared.margin], errors="coerce"),
            "category": column_of(frame, declared.category).astype(str),
            "size": size,
        }
    )
    return table.set_index(["item", "part"])


def _usable(member: CheckpointData, declared: Flips) -> bool:
    columns = columns_of(member.frame, [declared.prefers], member.resampling)
    scored = rows_where(member.frame, declared.where) & ~np.isnan(columns.values[declared.prefers])
    return bool(scored.any()) and of_coverage(untied(columns, scored, member.resampling)) is not Verdict.LOW_COVERAGE


def _rank_correlation(x: np.ndarray, y: np.ndarray, fewest: int = _FEWEST) -> tuple[float, float, float]:
    """Spearman's, with the interval of Bonett & Wright (2000), which needs ten; NaN where one does not vary."""
    if len(set(x)) < 2 or len(set(y)) < 2 or len(x) < fewest:
        return float("nan"), float("nan"), float("nan")
    ranks = pd.DataFrame({"x": x, "y": y}).rank().to_numpy()  # scipy.stats alone would take a second to import
    rho = float(np.corrcoef(ranks, rowvar=False)[0, 1])
    if len(x) < _FEWEST:
        return rho, math.nan, math.nan
    half = scipy.special.ndtri(0.975) * np.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    z = np.arctanh(np.clip(rho, -0.999999, 0.999999))
    return rho, float(np.tanh(z - half)), float(np.tanh(z + half))
