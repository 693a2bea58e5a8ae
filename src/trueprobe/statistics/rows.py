"""What statistics produce, as rows: one frozen class for each table of a run folder, with the meaning of each column.

`conditions` are the conditions a number was counted at (`knowledge=tcsyn`); in a table they are columns of their own,
named `condition_…`, so that none of them can take the place of a field.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast

from trueprobe.types import ClaimSource, Conditions, Direction, Level, Reason, Unit, Verdict

Row = TypeVar("Row")
K = TypeVar("K", bound=Hashable)
AGAINST, AND = " against ", ", "  # between the two models of a claim; between the labels of probes that share one
SIGNIFICANT = 0.01  # p of a measure's own test, as paper C has it
LATER = "later"  # of a column that joined a table later: a folder written before has its default


def column(meaning: str, default: Any = MISSING, later: bool = False) -> Any:
    """A field of a row, with what it means."""
    return field(default=default, metadata={"meaning": meaning, LATER: later})


def changed(row: Row, **fields: Any) -> Row:
    """A row of a table with other values: `dataclasses.replace` in half the time."""
    kind: Any = type(row)
    values, position = _read(kind)
    new = list(values(row))
    for name, value in fields.items():
        new[position[name]] = value
    return cast(Row, kind(*new))


@cache
def _read(row: type[Any]) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, int]]:
    names = [field.name for field in dataclasses.fields(row)]
    return attrgetter(*names), {name: i for i, name in enumerate(names)}


def grouped(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """In the order in which keys first occur."""
    groups: dict[K, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


_PROBE = "the probe's label in the study"
_MODEL = "the checkpoint's name, or the family's"
_FAMILY = "the family the checkpoint belongs to"
_MEASURE = "the measure's name"
_STEP = "training step, where checkpoints have one"
_LEVEL = "what the row is about: a checkpoint, a family, or a pair of models"
_UNIT = f"one of {', '.join(Unit)}"
_P_CORRECTED = "p, corrected (Holm) for the number of categories"
_LOW, _HIGH = "lower end of the 95 % interval", "upper end of the 95 % interval"
_SEEDS = "seeds behind the number"
_VERDICT = "the conclusion, on the list of the report's primary numbers; `exploratory` or `suggestive` where not on it"
_ALONE = "the conclusion from this row alone, for a reader with one question chosen in advance"
_P_LIST = "p of the interval, corrected (Benjamini–Hochberg) over the report's list; empty where the row is not on it"
_SIGNATURE = "what the number was made with, as one line to cite; empty in folders written before it existed"
_COVERED = "share of items with a countable answer, of the part, seed or side with the smallest share; may be unknown"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of one checkpoint, or of a family of them, and how far it can be trusted."""

    probe: str = column(_PROBE)
    model: str = column(_MODEL)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    value: float = column("the number")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    n_items: int = column("scored items behind it; of a family, of the seed that has fewest")
    n_unscored: int = column("items that could not be scored; of a family, of the seed that has most")
    n_groups: int = column("independent groups of items that are resampled")
    unit: Unit = column(_UNIT)
    neutral: float | None = column("the value at which the number shows nothing; absent where there is none")
    method: str = column("how the interval was made")
    verdict: Verdict = column(_VERDICT, Verdict.UNDECIDED)
    level: Level = column(_LEVEL, "checkpoint")
    family: str = column(_FAMILY, "")
    model_seed: int | None = column("seed of the checkpoint", None)
    step: int | None = column(_STEP, None)
    n_seeds: int = column(_SEEDS, 1)
    sd_seeds: float = column("sample standard deviation over seeds", math.nan)
    lowest: float = column("smallest value of a seed", math.nan)
    highest: float = column("largest value of a seed", math.nan)
    p: float = column("of the measure's own test if it has one, else of the interval, against neutral", math.nan)
    p_corrected: float = column(_P_CORRECTED, math.nan)
    p_interval: float = column("of the interval, against neutral: the verdict rests on it", math.nan)
    detectable: float = column("smallest distance from neutral that is detectable with 80 % power", math.nan)
    tied: float = column("share of ties among the scored items; of a family, of the seed that has most", 0.0)
    covered: float = column(_COVERED, math.nan)
    covered_low: float = column("lower end of its 95 % interval", math.nan)
    covered_high: float = column("upper end of its 95 % interval", math.nan)
    reason: Reason = column("why the verdict is not a plainer one", Reason.NONE)
    n_against: int = column("seeds on the other side of neutral than the family", 0)
    new_seeds: float = column("estimated share of new seeds on the family's side of neutral", math.nan)
    new_seeds_low: float = column("lower end of its 95 % interval", math.nan)
    new_seeds_high: float = column("upper end of its 95 % interval", math.nan)
    above: str = column("where it flips or is mixed: how many seeds, or which parts, are clearly above neutral", "")
    below: str = column("the same below", "")
    verdict_alone: Verdict = column(_ALONE, Verdict.UNDECIDED)
    p_list: float = column(_P_LIST, math.nan)
    n_list: int = column("rows on that list; 0 where this one is not on it", 0)
    detectable_list: float = column("the same at the list's threshold, 0.05 / its length", math.nan)
    signature: str = column(_SIGNATURE, "", later=True)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A published finding as a quantity of one checkpoint, family or pair of models, and what became of it."""

    probe: str = column("the probe's label; several, separated by commas, where a claim takes them together")
    claim: str = column("the claim's name")
    statement: str = column("what was published, or expected, in words")
    paper: str = column("the paper it is from")
    model: str = column("the checkpoint's name, the family's, or two separated by ` against `")
    level: Level = column(_LEVEL)
    conditions: Conditions = column("where it was counted")
    quantity: str = column("the observation column, or what is counted instead")
    direction: Direction = column("where the paper has the quantity, against the threshold")
    threshold: float = column("the value the quantity is held against")
    value: float = column("the number")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    unit: Unit = column(_UNIT)
    verdict: Verdict = column(_VERDICT)
    family: str = column("the family of the checkpoint or of the row; empty for a pair", "")
    step: int | None = column(_STEP, None)
    n_seeds: int = column(_SEEDS, 1)
    covered: float = column(_COVERED, math.nan)
    p: float = column("of the interval, against the threshold", math.nan)
    verdict_alone: Verdict = column(_ALONE, Verdict.UNDECIDED)
    p_list: float = column(_P_LIST, math.nan)
    n_list: int = column("rows on that list; 0 where this one is not on it", 0)
    signature: str = column(_SIGNATURE, "", later=True)
    margin: float = column("of a claim of equivalence: how far from the threshold is alike", math.nan, later=True)
    source: ClaimSource = column("whether its authors found or expected it", ClaimSource.FINDING, later=True)
    above: str = column("where it flips or is mixed: how many seeds, or which parts, are clearly above", "", later=True)
    below: str = column("the same below", "", later=True)
    n_items: int | None = column("scored items behind it; of a family, of the seed that has fewest", None, later=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two models or families on the items both scored: a minus b."""

    probe: str = column(_PROBE)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    a: float = column("the number of the first")
    b: float = column("the number of the second")
    difference: float = column("a minus b")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    unit: Unit = column(_UNIT)
    n_items: int = column("items that both scored")
    n_groups: int = column("independent groups among them")
    n_seeds_a: int = column("seeds of the first")
    n_seeds_b: int = column("seeds of the second")
    p: float = column("against 0: of single checkpoints by exchanging their answers, of families by the interval")
    p_permutation: float = column("by exchanging answers, or seeds where there are several")
    detectable: float = column("smallest difference that is detectable with 80 % power")
    tied: float = column("share of ties among the scored items, of the checkpoint that has most", 0.0)
    covered: float = column(_COVERED, math.nan)
    p_corrected: float = column(_P_CORRECTED, math.nan)
    verdict: Verdict = column(_VERDICT, Verdict.UNDECIDED)
    verdict_alone: Verdict = column(_ALONE, Verdict.UNDECIDED)
    p_list: float = column(_P_LIST, math.nan)
    n_list: int = column("rows on that list; 0 where this one is not on it", 0)
    signature: str = column("what both numbers were made with: the parts in which they are equal", "", later=True)


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """One probe under two labels (other settings): what the choice moves, second minus first."""

    first_label: str = column("the label of the first")
    second_label: str = column("the label of the second")
    model: str = column(_MODEL)
    level: Level = column(_LEVEL)
    family: str = column(_FAMILY)
    step: int | None = column(_STEP)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    first: float = column("the number under the first label")
    second: float = column("the number under the second label")
    difference: float = column("second minus first")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    unit: Unit = column(_UNIT)
    n_groups: int = column("independent groups of items")
    n_seeds: int = column(_SEEDS)
    p: float = column("of the interval, against 0")
    tied: float = column("share of ties among the scored items, under the label that has more")
    covered: float = column(_COVERED, math.nan)
    p_corrected: float = column(_P_CORRECTED, math.nan)
    verdict: Verdict = column(_VERDICT, Verdict.UNDECIDED)
    verdict_alone: Verdict = column(_ALONE, Verdict.UNDECIDED)
    p_list: float = column(_P_LIST, math.nan)
    n_list: int = column("rows on that list; 0 where this one is not on it", 0)


class Agreement(StrEnum):
    """Of two diagnostics."""

    UNKNOWN = "unknown"
    UNDECIDED = "undecided"
    FIRST_ABOVE = "first_above"
    FIRST_BELOW = "first_below"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two diagnostics that ask about the same category, on one scale (0.5 is neutral)."""

    model: str = column(_MODEL)
    level: Level = column(_LEVEL)
    family: str = column(_FAMILY)
    step: int | None = column(_STEP)
    category: str = column("the category that both ask about")
    first: str = column("label of the first")
    second: str = column("label of the second")
    first_value: float = column("score of the first")
    second_value: float = column("score of the second")
    difference: float = column("first minus second")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    n_seeds: int = column(_SEEDS)
    p: float = column("of the interval, against 0")
    p_corrected: float = column(_P_CORRECTED, math.nan)
    agreement: Agreement = column("whether the two disagree, and which is above", Agreement.UNKNOWN)


class Tail(StrEnum):
    """Which side of a test's distribution its p-value is of."""

    UPPER = "upper"  # values as large: a number as far below neutral has p near 1
    BOTH = "both"  # values as far to either side

    def significant(self, p: float) -> bool:
        """To either side of neutral: one rule for tables, words and figures."""
        return p <= SIGNIFICANT or (self is Tail.UPPER and p >= 1 - SIGNIFICANT)


class SignAgreement(StrEnum):
    """Of the seeds of a family on one test, worst first."""

    BOTH_DIRECTIONS = "both_directions"  # significant above neutral for one seed, below for another
    SOME_ONLY = "some_only"  # significant for some seeds, and not for others
    NOT_SIGNIFICANT = "not_significant"  # for no seed, and the seeds lie on both sides of neutral
    ALL = "all"  # no seed lies on the other side, and all of them are significant, or none is


@dataclass(frozen=True, slots=True)
class SignCounts:
    """A measure with a test of its own over the seeds of a family: how many are significant, and on which side."""

    probe: str = column(_PROBE)
    model: str = column("the family")
    step: int | None = column(_STEP)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    n_seeds: int = column(_SEEDS)
    significant: int = column("seeds significant at 0.01, to either side (of a one-sided p, also p ≥ 0.99)")
    significant_above: int = column("of these, above neutral")
    significant_below: int = column("of these, below neutral")
    above: int = column("seeds above neutral, significant or not")
    below: int = column("seeds below neutral, significant or not")
    lowest: float = column("smallest value of a seed")
    highest: float = column("largest value of a seed")
    agreement: SignAgreement = column("whether the seeds agree")


@dataclass(frozen=True, slots=True)
class VarianceShares:
    """Where a number's variance comes from: of one checkpoint's number in one wording."""

    probe: str = column(_PROBE)
    model: str = column(_MODEL)
    step: int | None = column(_STEP)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    value: float = column("the number")
    unit: Unit = column(_UNIT)
    n_seeds: int = column(_SEEDS)
    n_groups: int = column("independent groups of items")
    variance_items: float = column("variance that other items would make")
    variance_seeds: float = column("variance that another seed would make")
    variance_seeds_by_items: float = column("variance of what single seeds make of single items")
    variance_wordings: float = column("variance over the wordings at hand")
    share_items: float = column("share of items")
    share_seeds: float = column("share of seeds")
    share_seeds_by_items: float = column("share of seeds by items")
    share_wordings: float = column("share of wordings")


@dataclass(frozen=True, slots=True)
class ItemReliability:
    """Of a primary number: how well items agree over the seeds of a family, from the variances of single answers."""

    probe: str = column(_PROBE)
    model: str = column("the family")
    step: int | None = column(_STEP)
    measure: str = column(_MEASURE)
    conditions: Conditions = column("where it was counted")
    unit: Unit = column(_UNIT)
    n_seeds: int = column(_SEEDS)
    n_items: int = column("items that every seed scored")
    n_groups: int = column("independent groups of items")
    variance_items: float = column("variance of items, with that of their groups")
    variance_seeds: float = column("variance of seeds")
    variance_seeds_by_items: float = column("variance of single seeds' answers to single items")
    variance_wordings: float = column("variance of the number over the wordings at hand")
    reliability: float = column("of an item's mean over these seeds (intraclass correlation, consistency)")
    low: float = column(_LOW)
    high: float = column(_HIGH)
    seeds_needed: int | None = column("seeds with which the reliability of items is 0.8; null where no number is")
    items_needed: int | None = column("items needed to distinguish seeds with reliability 0.8; null likewise")


class NearTies(StrEnum):
    INCLUDED = "included"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class FlipShares:
    """Of the items of a category, the shares on which 0, 1, 2 … seeds do not give the majority's answer."""

    probe: str = column(_PROBE)
    family: str = column("the family")
    step: int | None = column(_STEP)
    category: str = column("the category, or `all`")
    near_ties: NearTies = column("whether items whose two sides are about as likely are included")
    n_items: int = column("items that all seeds scored")
    n_seeds: int = column(_SEEDS)
    against: int = column("how many seeds give another answer than the majority")
    share: float = column("share of the items on which that many do")
    no_majority: float = column("share of the items on which no answer has half of the seeds, as some tie")
    flip_rate: float = column("share of the items on which not all seeds agree")
    alpha: float = column("Krippendorff's alpha over all these items: 1 is full agreement, 0 that of chance")


@dataclass(frozen=True, slots=True)
class FlippingItem:
    """An item on which seeds disagree; those on which most disagree first."""

    probe: str = column(_PROBE)
    family: str = column("the family")
    step: int | None = column(_STEP)
    category: str = column("the item's category")
    item: str = column("the item's id")
    part: str = column("the part of the item")
    against: int = column("seeds that give another answer than the majority")
    prefer: int = column("seeds that prefer the first side")
    n_seeds: int = column(_SEEDS)
    mean_margin: float = column("mean over seeds of the margin between the two sides")
    sd_margin: float = column("its standard deviation over seeds")
    size: float = column("how many tokens were scored, if known")


class FlipStatistic(StrEnum):
    FLIP_RATE_BY_SIZE = "flip_rate_by_size"  # rank correlation with the number of tokens
    SD_MARGIN_BY_SIZE = "sd_margin_by_size"
    FLIP_RATE_IN_QUARTER = "flip_rate_in_quarter"  # of the items by size, from smallest to largest
    SD_SEEDS_OF_AS_MANY = "sd_seeds_of_as_many"
    AGAINST_MAJORITY_BY_CALIBRATION = "against_majority_by_calibration"  # rank correlation over seeds


@dataclass(frozen=True, slots=True)
class FlipCause:
    """Are longer items, smaller datasets, or badly calibrated checkpoints the cause of flips?"""

    probe: str = column(_PROBE)
    family: str = column("the family")
    step: int | None = column(_STEP)
    category: str = column("the category, or `all`")
    statistic: FlipStatistic = column("what `value` is")
    n_items: int = column("items behind it")
    value: float = column("the number")
    low: float = column(_LOW, math.nan)
    high: float = column(_HIGH, math.nan)
    smallest: float = column("smallest size in the quarter, or calibration error of a seed", math.nan)
    largest: float = column("largest size in the quarter, or calibration error of a seed", math.nan)
    other: str = column("label of the smaller dataset", "")
    sd_seeds_whole: float = column("deviation over seeds on the whole dataset", math.nan)
    sd_seeds_other: float = column("deviation over seeds on the smaller dataset", math.nan)
