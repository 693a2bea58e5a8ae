"""From declared figures and estimates to what is drawn, as data: `charts` makes it visible.

A figure has one picture for each combination of what its reader may choose. Published numbers are series of their own.
A number that says nothing is not drawn, but its model is named; one with too few groups is drawn without an interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import Literal

import pandas as pd

from trueprobe.probes.display import Figure, Summary
from trueprobe.results.numbers import Format, ticks
from trueprobe.results.words import figures as words
from trueprobe.runs.folder import Run
from trueprobe.runs.schema import ProbeDeclaration, PublishedNumber
from trueprobe.statistics.rows import Estimate, FlipShares, NearTies, VarianceShares
from trueprobe.types import Verdict

MOST_PICTURES = 60
SIGNIFICANT = 0.01  # of one seed's own test, as paper C has it
NO_MAJORITY = "no_majority"
SOURCES = ("items", "seeds", "seeds_by_items", "wordings")  # of variance
_NUMBERS = ("value", "low", "high", "sd_seeds", "n_seeds", "n_items", "n_unscored", "unit", "neutral")
_NAMED_WHEN_EMPTY = (Verdict.FAILS_GATE, Verdict.LOW_COVERAGE)  # these also leave a checkpoint out of its family

Kind = Literal["lines", "dots", "bars"]


class Style(StrEnum):
    MODEL = "model"
    PUBLISHED = "published"
    BAND = "band"
    PART = "part"  # of a bar
    REST = "rest"  # of a bar, hollow


@dataclass(frozen=True)
class Seed:
    """One checkpoint's number behind that of its family."""

    value: float
    p: float

    @property
    def tested(self) -> bool:
        return not math.isnan(self.p)

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANT


@dataclass(frozen=True)
class Row:
    """A number of a family, or a published one, with the conditions that its figure distinguishes."""

    at: Mapping[str, str]  # `model`, `measure`, `step`, `seed` and pairs `a+b` are conditions too
    value: float
    low: float = math.nan
    high: float = math.nan
    unit: str = "share"
    neutral: float | None = None
    verdict: Verdict = Verdict.DESCRIPTIVE
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
        silent = self.verdict.silent and self.verdict is not Verdict.TOO_FEW_GROUPS
        return not math.isnan(self.value) and not silent

    @property
    def numbers(self) -> dict[str, float | str | None]:
        """For a table."""
        known = {name: getattr(self, name) for name in _NUMBERS}
        return {**known, "verdict": "" if self.published else self.verdict.value, "source": self.source}


@dataclass(frozen=True)
class Point:
    x: str
    row: Row


@dataclass(frozen=True)
class Series:
    title: str
    index: int  # its colour and shape
    style: Style
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Panel:
    title: str
    model: str  # "" where panels are not by model
    series: tuple[Series, ...]
    why_empty: Verdict | None = None  # instead of marks


@dataclass(frozen=True)
class Axis:
    ticks: tuple[float, ...]  # in the unit of the data; the first and the last are the ends
    neutral: float | None
    format: Format
    title: str


@dataclass(frozen=True)
class Picture:
    """What is drawn for one combination of choices."""

    chosen: Mapping[str, str]
    places: tuple[tuple[str, str], ...]  # along x: value and title
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]  # without points
    axis: Axis
    conditions: tuple[str, ...]  # that tell its rows apart
    rows: tuple[Row, ...]  # with those that are not drawn
    nearest_published: tuple[tuple[str, str], ...] = ()  # changes of choice that lead to published numbers

    @property
    def seeds_tested(self) -> bool:
        return any(seed.tested for point in self.points for seed in point.row.seeds)

    @property
    def points(self) -> Iterator[Point]:
        return (point for panel in self.panels for series in panel.series for point in series.points)

    @property
    def has_published(self) -> bool:
        return any(row.published for row in self.rows)

    @property
    def data(self) -> pd.DataFrame:
        """What it shows, as a table."""
        return pd.DataFrame({**{key: row.at[key] for key in self.conditions}, **row.numbers} for row in self.rows)


@dataclass(frozen=True)
class Choice:
    name: str
    title: str
    options: tuple[tuple[str, str], ...]  # value and title


@dataclass(frozen=True)
class FigureView:
    """A figure with all that its reader may choose."""

    name: str  # of the files
    title: str
    caption: str
    source: str
    kind: Kind
    x_title: str
    x_unit: str
    series_title: str
    choices: tuple[Choice, ...]
    models: tuple[str, ...]  # of the panels, where the reader may look at one alone
    pictures: tuple[Picture, ...] = field(default_factory=tuple)  # the first is displayed first

    @property
    def scale_choice(self) -> bool:
        """Every model has its panel, so each may have its own scale."""
        return self.kind == "dots" and len(self.models) > 1


def of_probe(run: Run, label: str) -> list[FigureView]:
    """The declared figures that the run has numbers for; without any declared, those of the summary. With several
    checkpoints of one seed, the summary's first measure along training."""
    declaration, rows = run.declarations[label], run.estimates_of(label)
    declared = list(declaration.figures) or _summary_figures(declaration.summary)
    wanted = [*declared, *_along_training(rows, declaration.summary)]
    views = (figure_view(label, figure, _rows(rows, declaration.published, figure)) for figure in wanted)
    return [view for view in views if view is not None]


def about_seeds(run: Run) -> list[FigureView]:
    """On how many items seeds disagree, and where the variance comes from, by probe."""
    views = [view for make in (_flips, _variance) for label in run.probes if (view := make(run, label))]
    return views


def figure_view(label: str, figure: Figure, rows: Sequence[Row]) -> FigureView | None:
    """A figure of rows that are put together already: one per model and place."""
    choices = tuple(choice for name in figure.choose if len((choice := _choice(rows, figure, name)).options) > 1)
    combinations = list(product(*([value for value, _ in choice.options] for choice in choices)))
    names = [choice.name for choice in choices]
    chosen = [dict(zip(names, values, strict=True)) for values in combinations[:MOST_PICTURES]]
    pictures = [picture for one in chosen if (picture := _picture(_where(rows, one), figure, one))]
    if not pictures:
        return None
    cut = words.pictures_cut(len(combinations), MOST_PICTURES) if len(combinations) > MOST_PICTURES else ""
    return FigureView(
        name=f"{label}-{figure.name}",
        title=figure.title,
        caption=figure.caption + cut,
        source=figure.source,
        kind=figure.kind,
        x_title=figure.x_title or title_of(figure.names, "", figure.x),
        x_unit=figure.x_unit,
        series_title=title_of(figure.names, "", figure.series),
        choices=choices,
        models=_panel_models(pictures),
        pictures=tuple(_with_nearest_published(pictures, figure)),
    )


def title_of(names: Mapping[str, str], condition: str, value: str) -> str:
    """What people read for a condition's value."""
    if condition in ("model", "family"):
        return value
    plain = value if "___" in value or " " in value else value.replace("_", " ")  # a name, not a prompt
    return names.get(f"{condition}={value}", names.get(value, plain))


# ---------------------------------------------------------------- which numbers


def _rows(estimates: Sequence[Estimate], published: Sequence[PublishedNumber], figure: Figure) -> list[Row]:
    """The figure's numbers, one per family and place, then the published ones."""
    wanted: Mapping[str, str | tuple[str, ...]] = {"measure": figure.measures, **figure.where}
    keys = _keys(figure)
    rows = [row for row in estimates if _matches(wanted, lambda key, row=row: condition(row, key))]  # type: ignore[misc]
    placed = [row for row in rows if all(condition(row, key) is not None for key in keys)]
    if "seed" in keys:
        placed = [row for row in placed if row.level != "family"]
    groups = _by_place(placed if "step" in keys else _at_last_step(placed), keys)
    together = [_together(at, group) for at, group in groups]
    others = _published(published, figure, rows) if together else []
    return [_with_pairs(row, figure) for row in [*together, *others]]


def condition(row: Estimate, key: str) -> str | None:
    """Of an estimate: what a figure may name, or None where it has no such condition."""
    match key:
        case "measure":
            return row.measure
        case "model":
            return row.family or row.model
        case "step":
            return None if row.step is None else str(row.step)
        case "seed":  # steps of a checkpoint without a seed are of one seed
            return words.ONE_SEED if row.model_seed is None else str(row.model_seed)
    return row.conditions.get(key)


def _matches(wanted: Mapping[str, str | tuple[str, ...]], value_of: Callable[[str], str | None]) -> bool:
    """Every condition has its value, or one of its values."""
    return all(value_of(key) in ((one,) if isinstance(one, str) else one) for key, one in wanted.items())


def _where(rows: Sequence[Row], at: Mapping[str, str]) -> list[Row]:
    return [row for row in rows if all(row.at.get(key) == value for key, value in at.items())]


def _named(figure: Figure) -> tuple[str, ...]:
    return figure.x, figure.series, *figure.panels, *figure.choose


def _keys(figure: Figure) -> list[str]:
    """The conditions a figure distinguishes; `a+b` is the two together."""
    return list(dict.fromkeys(key for key in ("measure", *"+".join(_named(figure)).split("+")) if key != "model"))


def _with_pairs(row: Row, figure: Figure) -> Row:
    pairs = {name: " ".join(row.at[key] for key in name.split("+")) for name in _named(figure) if "+" in name}
    return replace(row, at={**row.at, **pairs}) if pairs else row


def _at_last_step(rows: Sequence[Estimate]) -> list[Estimate]:
    """Of each family the rows of its last training step: earlier ones are of the same seeds."""
    last: dict[str, int] = {}
    for row in rows:
        last[row.family] = max(last.get(row.family, -1), -1 if row.step is None else row.step)
    return [row for row in rows if row.step is None or row.step == last[row.family]]


def _by_place(rows: Iterable[Estimate], keys: Sequence[str]) -> list[tuple[dict[str, str], list[Estimate]]]:
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for row in rows:
        place = tuple(str(condition(row, key)) for key in keys)
        groups.setdefault((row.family or row.model, *place), []).append(row)
    return [(dict(zip(("model", *keys), place, strict=True)), group) for place, group in groups.items()]


def _together(at: Mapping[str, str], group: Sequence[Estimate]) -> Row:
    """A family's row where the run has one; otherwise the mean of its checkpoints, without an interval."""
    family = [row for row in group if row.level == "family"]
    every = [row for row in group if row.level != "family"]
    members = [row for row in every if row.verdict not in _NAMED_WHEN_EMPTY] or every
    values = [row.value for row in members if not math.isnan(row.value)]
    first = (family or members)[0]
    row = _of_estimate(at, first)
    if not family and len(members) > 1:
        mean = statistics.fmean(values) if values else math.nan
        verdict = _agreed(members)
        row = replace(row, value=mean, low=math.nan, high=math.nan, verdict=verdict, estimate=None)
    deviation = first.sd_seeds if family else math.nan
    if math.isnan(deviation) and len(values) > 1:
        deviation = statistics.stdev(values)
    seeds = tuple(Seed(row.value, row.p) for row in members if not math.isnan(row.value)) if len(members) > 1 else ()
    return replace(row, seeds=seeds, n_seeds=len(members), sd_seeds=deviation)


def _of_estimate(at: Mapping[str, str], row: Estimate) -> Row:
    bare = row.verdict is Verdict.TOO_FEW_GROUPS
    return Row(
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


def _agreed(members: Sequence[Estimate]) -> Verdict:
    """Of checkpoints without a verdict of their family: that of all, FLIPS where they contradict each other."""
    holding = [row for row in members if row.verdict in (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT)]
    if len({row.value > row.neutral for row in holding if row.neutral is not None}) > 1:
        return Verdict.FLIPS
    verdicts = {row.verdict for row in members}
    telling = {verdict for verdict in verdicts if not verdict.silent or verdict is Verdict.FAILS_GATE}
    if not telling:
        return Verdict.LOW_COVERAGE if Verdict.LOW_COVERAGE in verdicts else members[0].verdict
    return telling.pop() if len(telling) == 1 else Verdict.UNDECIDED


def _published(numbers: Sequence[PublishedNumber], figure: Figure, rows: Sequence[Estimate]) -> list[Row]:
    """Published numbers under the figure's conditions; what it leaves open must be as it is in this run."""
    keys, wanted = _keys(figure), {"measure": figure.measures, **figure.where}
    made = []
    for number in numbers:
        at = {**number.conditions, "measure": number.measure}
        fits = all(key in at for key in keys) and _matches(wanted, at.get)
        left_open = [key for key in number.conditions if key not in (*keys, *figure.where)]
        if fits and all(_asked(rows, key, at[key]) for key in left_open):
            model = words.published_model(number.model)
            made.append(Row({**at, "model": model}, number.value, source=number.source or words.PUBLISHED))
    return made


def _asked(rows: Sequence[Estimate], key: str, value: str) -> bool:
    known = {condition(row, key) for row in rows} - {None}
    return not known or value in known


# ---------------------------------------------------------------- pictures


def _values(rows: Sequence[Row], figure: Figure, name: str) -> list[str]:
    """A condition's values in the declared order, then as they come."""
    present = dict.fromkeys(row.at[name] for row in rows)
    order = figure.measures if name == "measure" else figure.order.get(name, ())
    return list(dict.fromkeys([*(value for value in order if value in present), *present]))


def _choice(rows: Sequence[Row], figure: Figure, name: str) -> Choice:
    options = tuple((value, title_of(figure.names, name, value)) for value in _values(rows, figure, name))
    return Choice(name, title_of(figure.names, "", name), options)


def _picture(rows: Sequence[Row], figure: Figure, chosen: Mapping[str, str]) -> Picture | None:
    if not any(row.drawable or row.verdict in _NAMED_WHEN_EMPTY for row in rows):
        return None
    xs = _values([row for row in rows if row.drawable] or rows, figure, figure.x)
    legend = _legend(rows, figure)
    return Picture(
        chosen,
        places=tuple((x, title_of(figure.names, figure.x, x)) for x in _ordered(xs, figure)),
        panels=tuple(_panels(rows, figure, legend)),
        legend=tuple(legend.values()) if len(legend) > 1 or figure.series == "model" else (),
        axis=_axis(rows, figure),
        conditions=tuple(dict.fromkeys(("model", *figure.panels, figure.series, figure.x, "measure"))),
        rows=tuple(rows),
    )


def _ordered(xs: list[str], figure: Figure) -> list[str]:
    return sorted(xs, key=float) if figure.kind == "lines" else xs


def _legend(rows: Sequence[Row], figure: Figure) -> dict[str, Series]:
    """Series of this run get their colours and shapes in order, published ones theirs."""
    made: dict[str, Series] = {}
    for name in _values(rows, figure, figure.series):
        style = _style(figure, rows, name)
        index = sum((one.style is Style.PUBLISHED) == (style is Style.PUBLISHED) for one in made.values())
        made[name] = Series(title_of(figure.names, figure.series, name), index, style)
    return made


def _style(figure: Figure, rows: Sequence[Row], name: str) -> Style:
    if figure.kind == "bars":
        return Style.REST if name in figure.band else Style.PART
    if name in figure.band:
        return Style.BAND
    published = all(row.published for row in rows if row.at[figure.series] == name)
    return Style.PUBLISHED if published else Style.MODEL


def _panels(rows: Sequence[Row], figure: Figure, legend: Mapping[str, Series]) -> list[Panel]:
    panels = []
    for values in product(*(_values(rows, figure, key) for key in figure.panels)):
        at = dict(zip(figure.panels, values, strict=True))
        if inside := _where(rows, at):
            title = " · ".join(title_of(figure.names, key, value) for key, value in at.items())
            panels.append(_panel(Panel(title, at.get("model", ""), ()), inside, figure, legend))
    if "model" in figure.panels:
        return panels
    return [panel for panel in panels if panel.series] or panels[:1]  # conditions without numbers are left out


def _panel(panel: Panel, rows: Sequence[Row], figure: Figure, legend: Mapping[str, Series]) -> Panel:
    series = []
    for name, entry in legend.items():
        drawn = [row for row in rows if row.at[figure.series] == name and row.drawable]
        if drawn:
            style = Style.PUBLISHED if all(row.published for row in drawn) else entry.style
            points = tuple(Point(row.at[figure.x], row) for row in drawn)
            series.append(replace(entry, style=style, points=points))
    return replace(panel, series=tuple(series), why_empty=None if series else _why_empty(rows))


def _why_empty(rows: Sequence[Row]) -> Verdict:
    verdicts = {row.verdict for row in rows}
    return next((verdict for verdict in _NAMED_WHEN_EMPTY if verdict in verdicts), Verdict.NOTHING_SCORED)


def _axis(rows: Sequence[Row], figure: Figure) -> Axis:
    first = next((row for row in rows if not row.published), rows[0])
    form = Format.of(first.unit, first.neutral, [row.value for row in rows])
    return Axis(_scale(rows, figure, first, form), first.neutral, form, figure.y_title)


def _scale(rows: Sequence[Row], figure: Figure, first: Row, form: Format) -> tuple[float, ...]:
    """Neutral and, but for dots around a neutral point, zero are always in sight."""
    if figure.kind == "bars" or (figure.kind == "lines" and first.unit == "share"):
        return tuple(ticks(0, 1))
    ends = [value for row in rows for value in (row.value, row.low, row.high, *(seed.value for seed in row.seeds))]
    known = [value for value in ends if not math.isnan(value)]
    known.append(0.0 if first.neutral is None or figure.kind == "lines" else first.neutral)
    if first.neutral is not None:
        known.append(first.neutral)
    return tuple(tick / form.factor for tick in ticks(form.factor * min(known), form.factor * max(known)))


def _panel_models(pictures: Sequence[Picture]) -> tuple[str, ...]:
    models = dict.fromkeys(panel.model for picture in pictures for panel in picture.panels if panel.model)
    return tuple(models) if len(models) > 1 else ()


def _with_nearest_published(pictures: Sequence[Picture], figure: Figure) -> Iterator[Picture]:
    """A choice without published numbers names, where another has some, the one that differs least."""
    having = [picture.chosen for picture in pictures if picture.has_published]
    for picture in pictures:
        if not having or picture.chosen in having:
            yield picture
            continue
        changes = [[key for key in other if other[key] != picture.chosen[key]] for other in having]
        nearest, keys = min(zip(having, changes, strict=True), key=lambda pair: len(pair[1]))
        named = ((title_of(figure.names, "", key), title_of(figure.names, key, nearest[key])) for key in keys)
        yield replace(picture, nearest_published=tuple(named))


# ---------------------------------------------------------------- figures that no probe declares


def _summary_figures(summary: Summary) -> list[Figure]:
    """A dot plot of each measure of a probe's summary."""
    *panels, x = summary.row_conditions
    names = _summary_names(summary)
    return [
        Figure(
            measure,
            names[measure].capitalize() if names[measure].islower() else names[measure],
            words.SUMMARY_FIGURE_CAPTION,
            (measure,),
            x,
            "dots",
            panels=tuple(panels),
            where=summary.where,
            names=names,
            y_title=names[measure],
        )
        for measure in summary.measures
    ]


def _summary_names(summary: Summary) -> dict[str, str]:
    return {**summary.meanings, **dict(zip(summary.measures, summary.titles, strict=True))}


def _along_training(rows: Sequence[Estimate], summary: Summary) -> list[Figure]:
    """A curve over steps of the summary's first measure with a neutral value, where a family has several steps."""
    if len({(row.family, row.step) for row in rows if row.step is not None}) <= len({row.family for row in rows}):
        return []
    where = _summary_where(rows, summary)
    measure = _directed(rows, summary) or summary.measures[0]
    names = _summary_names(summary)
    return [
        Figure(
            "training",
            words.training_title(names[measure]),
            words.TRAINING_CAPTION,
            (measure,),
            "step",
            choose=summary.row_conditions,
            where=where,
            names=names,
            x_title=words.TRAINING_STEP,
            y_title=names[measure],
        )
    ]


def _directed(rows: Sequence[Estimate], summary: Summary) -> str | None:
    """The summary's first measure with a neutral value."""
    directed = {row.measure for row in rows if row.neutral is not None}
    return next((measure for measure in summary.measures if measure in directed), None)


def _summary_where(rows: Sequence[Estimate], summary: Summary) -> dict[str, str | tuple[str, ...]]:
    """Its conditions, or those it falls back to where most numbers under them say nothing."""

    def at(where: Mapping[str, str | tuple[str, ...]]) -> list[Estimate]:
        return [row for row in rows if _matches(where, lambda key, row=row: condition(row, key))]  # type: ignore[misc]

    here, deeper = dict(summary.where), {**summary.where, **summary.fallback}
    asked = at(here)
    directed = [row for row in asked if row.neutral is not None] or asked
    silent = [row for row in directed if row.verdict.silent]
    return deeper if 2 * len(silent) > len(directed) and at(deeper) else here


# ---------------------------------------------------------------- seeds: flips and sources of variance


def _names(declaration: ProbeDeclaration) -> dict[str, str]:
    """Where there is little room: as a probe's figures have it, or in the summary's words."""
    drawn = {key: text for figure in declaration.figures for key, text in figure.names.items()}
    return {**declaration.summary.meanings, **drawn}


def _flips(run: Run, label: str) -> FigureView | None:
    """Paper C's figure 1."""
    shares = [row for row in run.rows(FlipShares) if row.probe == label]
    tied = [row for row in shares if row.against == 0]  # the share without a majority is repeated with each count
    rows = [_flip_row(row, str(row.against), row.share) for row in shares]
    has_ties = any(row.no_majority > 0 for row in tied)
    rows += [_flip_row(row, NO_MAJORITY, row.no_majority) for row in tied if has_ties]
    counts = tuple(map(str, sorted({row.against for row in shares})))
    figure = Figure(
        "flips",
        words.flips_title(label),
        words.flips_caption(has_ties),
        ("share",),
        "category",
        "bars",
        "part",
        ("model",),
        ("near_ties",),
        order={"near_ties": tuple(NearTies), "part": (*counts, NO_MAJORITY)},
        band=(NO_MAJORITY,),
        names={**_names(run.declarations[label]), **words.flip_names(counts, NO_MAJORITY)},
        y_title=words.FLIPS_AXIS,
        source="figure 1 of paper C",
    )
    return figure_view(label, figure, [row for row in rows if not math.isnan(row.value)])


def _flip_row(row: FlipShares, part: str, share: float) -> Row:
    at = {"model": row.family, "category": row.category, "near_ties": row.near_ties.value, "part": part}
    return Row({**at, "measure": "share"}, share, n_items=row.n_items, n_unscored=0)


def _variance(run: Run, label: str) -> FigureView | None:
    """Where the variance of the summary's first measure with a neutral value comes from."""
    declaration = run.declarations[label]
    summary, measure = declaration.summary, _directed(run.estimates_of(label), declaration.summary)
    if measure is None:
        return None
    where = {**summary.where, **summary.fallback}  # every model has numbers there
    *panels, x = summary.row_conditions
    figure = Figure(
        "variance",
        words.variance_title(label),
        words.variance_caption(_summary_names(summary)[measure]),
        ("share",),
        x,
        "bars",
        "part",
        ("model", *panels),
        order={"part": SOURCES},
        names={**_names(declaration), **words.variance_names(SOURCES)},
        y_title=words.VARIANCE_AXIS,
    )
    counted = [row for row in run.rows(VarianceShares) if row.probe == label and row.measure == measure]
    known = [{key: one for key, one in where.items() if key in row.conditions} for row in counted]
    rows = [
        part
        for row, conditions in zip(counted, known, strict=True)
        if _matches(conditions, row.conditions.get) and all(key in row.conditions for key in (*panels, x))
        for part in _variance_rows(row)
    ]
    return figure_view(label, figure, rows)


def _variance_rows(row: VarianceShares) -> Iterator[Row]:
    shares = (row.share_items, row.share_seeds, row.share_seeds_by_items, row.share_wordings)
    for source, share in zip(SOURCES, shares, strict=True):
        if not math.isnan(share):
            at = {**row.conditions, "model": row.model, "part": source, "measure": "share"}
            yield Row(at, share, n_items=row.n_groups, n_unscored=0)
