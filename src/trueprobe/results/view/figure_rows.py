"""Which numbers a figure shows: one per family and place, at the family's last step, and the published ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from trueprobe.probes.display import Figure, Where, matches
from trueprobe.results.view.number import Display, Seed, counted, display_of, seeds_of
from trueprobe.runs.families import Family, at_last_step
from trueprobe.runs.schema import PublishedNumber
from trueprobe.statistics.rows import Estimate
from trueprobe.statistics.verdict import common_verdict
from trueprobe.types import Verdict

ONE_SEED = "one seed"  # the value of `seed` where a family names none
PUBLISHED = "published"
SIDE = "side"  # the series of numbers on one side of their neutral value
_NUMBERS = ("value", "low", "high", "sd_seeds", "n_seeds", "n_items", "n_unscored", "unit", "neutral")


@dataclass(frozen=True)
class FigureRow:
    """A number of a family, or a published one, with the conditions that its figure distinguishes."""

    at: Mapping[str, str]  # `model`, `measure`, `step`, `seed` and pairs `a+b` are conditions too
    value: float
    low: float = math.nan
    high: float = math.nan
    unit: str = "share"
    neutral: float | None = None
    verdict: Verdict | None = None  # a published number, or a part of a bar, has none
    n_items: int | None = None
    n_unscored: int | None = None
    n_seeds: int | None = None
    sd_seeds: float = math.nan
    seeds: tuple[Seed, ...] = ()
    estimate: Estimate | None = None  # the one that decided the verdict, if any did
    source: str = ""  # of a published number

    @property
    def published(self) -> bool:
        return bool(self.source)

    @property
    def drawable(self) -> bool:
        return math.isfinite(self.value) and display_of(self.value, self.low, self.verdict) is not Display.NOTHING

    @property
    def numbers(self) -> dict[str, float | str | None]:
        """For a table."""
        known = {name: getattr(self, name) for name in _NUMBERS}
        return {**known, "verdict": "" if self.verdict is None else self.verdict.value, "source": self.source}


def rows_of(
    estimates: Sequence[Estimate], of: Sequence[Family], published: Sequence[PublishedNumber], figure: Figure
) -> list[FigureRow]:
    """The figure's numbers, one per family and place, then the published ones."""
    wanted: Where = {"measure": figure.measures, **figure.where}
    keys = _keys(figure)
    rows = [row for row in estimates if matches(wanted, partial(condition, row))]
    placed = [row for row in rows if all(condition(row, key) is not None for key in keys)]
    if "seed" in keys:
        placed = [row for row in placed if row.level != "family"]
    groups = _by_place(placed if "step" in keys else at_last_step(placed, of, _family), keys)
    together = [_together(at, group) for at, group in groups]
    others = _published(published, figure, rows) if together else []
    return [_with_pairs(row, figure) for row in [*together, *others]]


def condition(row: Estimate, key: str) -> str | None:
    """Of an estimate: what a figure may name, or None where it has no such condition."""
    match key:
        case "measure":
            return row.measure
        case "model":
            return _family(row)
        case "step":
            return None if row.step is None else str(row.step)
        case "seed":  # steps of a checkpoint without a seed are of one seed
            return ONE_SEED if row.model_seed is None else str(row.model_seed)
    return row.conditions.get(key)


def _named(figure: Figure) -> tuple[str, ...]:
    return figure.x, figure.series, *figure.panels, *figure.choose


def _keys(figure: Figure) -> list[str]:
    """The conditions a figure distinguishes; `a+b` is the two together."""
    return list(
        dict.fromkeys(key for key in ("measure", *"+".join(_named(figure)).split("+")) if key not in ("model", SIDE))
    )


def _with_pairs(row: FigureRow, figure: Figure) -> FigureRow:
    pairs = {name: " ".join(row.at[key] for key in name.split("+")) for name in _named(figure) if "+" in name}
    if figure.series == SIDE:
        pairs[SIDE] = "below" if row.value < (row.neutral or 0) else "above"
    return replace(row, at={**row.at, **pairs}) if pairs else row


def _family(row: Estimate) -> str:
    return row.family or row.model


def _by_place(rows: Iterable[Estimate], keys: Sequence[str]) -> list[tuple[dict[str, str], list[Estimate]]]:
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for row in rows:
        place = tuple(str(condition(row, key)) for key in keys)
        groups.setdefault((_family(row), *place), []).append(row)
    return [(dict(zip(("model", *keys), place, strict=True)), group) for place, group in groups.items()]


def _together(at: Mapping[str, str], group: Sequence[Estimate]) -> FigureRow:
    """A family's row where the run has one; otherwise the mean of its checkpoints, without an interval."""
    family = [row for row in group if row.level == "family"]
    every = [row for row in group if row.level != "family"]
    members = counted(every)
    values = [row.value for row in members if not math.isnan(row.value)]
    first = (family or members)[0]
    row = _of_estimate(at, first)
    if not family and len(members) > 1:
        mean = statistics.fmean(values) if values else math.nan
        verdict = common_verdict(row.verdict for row in members)
        row = replace(row, value=mean, low=math.nan, high=math.nan, verdict=verdict, estimate=None)
    deviation = first.sd_seeds if family else math.nan
    if math.isnan(deviation) and len(values) > 1:
        deviation = statistics.stdev(values)
    seeds = seeds_of(members) if len(members) > 1 else ()
    return replace(row, seeds=seeds, n_seeds=len(members), sd_seeds=deviation)


def _of_estimate(at: Mapping[str, str], row: Estimate) -> FigureRow:
    bare = display_of(row.value, row.low, row.verdict) is not Display.INTERVAL
    return FigureRow(
        at=at,
        value=row.value,
        low=math.nan if bare else row.low,
        high=math.nan if bare else row.high,
        unit=row.unit,
        neutral=row.neutral,
        verdict=row.verdict,
        n_items=row.n_items,
        n_unscored=row.n_unscored,
        estimate=row,
    )


def _published(numbers: Sequence[PublishedNumber], figure: Figure, rows: Sequence[Estimate]) -> list[FigureRow]:
    """Published numbers under the figure's conditions; what it leaves open must be as it is in this run."""
    keys, wanted = _keys(figure), {"measure": figure.measures, **figure.where}
    made = []
    for number in numbers:
        at = {**number.conditions, "measure": number.measure}
        fits = all(key in at for key in keys) and matches(wanted, at.get)
        left_open = [key for key in number.conditions if key not in (*keys, *figure.where)]
        if fits and all(_asked(rows, key, at[key]) for key in left_open):
            at["model"] = f"{number.model} ({PUBLISHED})"  # another than a family of that name
            made.append(FigureRow(at, number.value, source=number.source or PUBLISHED))
    return made


def _asked(rows: Sequence[Estimate], key: str, value: str) -> bool:
    known = {condition(row, key) for row in rows} - {None}
    return not known or value in known
