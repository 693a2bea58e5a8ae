"""The figures of a run: those its probes declare, those of a summary, along training, and about seeds.

Each shows one number per family and place, of the same rows as tables and findings, at the family's last step; then the
published ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from trueprobe.probes.display import Figure, Summary, Where, matches
from trueprobe.results.text import figures as words
from trueprobe.results.view.number import Number, counted, format_of, number, plain_number, seeds_of
from trueprobe.results.view.pictures import SIDE, FigureView, Point, figure_view
from trueprobe.results.view.select import Depth, at_depth, directed, first_directed, forms_of, short_names, titles
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.families import at_last_step
from trueprobe.runs.schema import PublishedNumber
from trueprobe.statistics.rows import Estimate, FlipShares, NearTies, VarianceShares, grouped
from trueprobe.types import Unit

NO_MAJORITY = "no_majority"
SOURCES = ("items", "seeds", "seeds_by_items", "wordings")  # of variance
ONE_SEED = "one seed"  # the value of `seed` where a family names none
PUBLISHED = "published"


def of_probe(source: ReportSource, label: str) -> list[FigureView]:
    """The declared figures that the run has numbers for; without any declared, those of the summary. With several
    checkpoints of one seed, first of all the summary's first measure along training."""
    declaration = source.declaration(label)
    declared = list(declaration.figures) or _summary_figures(declaration.summary)
    if any(len(family.steps) > 1 for family in source.families):
        declared = [*_along_training(source.estimates(label), declaration.summary), *declared]
    declared = [_by_form(source, label, figure) for figure in declared]
    views = (figure_view(label, figure, points_of(source, label, figure)) for figure in declared)
    return [view for view in views if view is not None]


def _by_form(source: ReportSource, label: str, figure: Figure) -> Figure:
    """With a picture for each form in which families were asked or scored, where these differ."""
    rows = [(_family(row), row) for row in _rows(source, label, figure)]
    return replace(figure, choose=(*figure.choose, *forms_of(rows, _keys(figure))))


def of_probe_and_its_seeds(source: ReportSource, label: str) -> list[FigureView]:
    """All that a reader can name under a probe."""
    return [*of_probe(source, label), *(view for make in (_flips, _variance) if (view := make(source, label)))]


def about_seeds(source: ReportSource) -> list[FigureView]:
    """On how many items seeds disagree, and where the variance comes from, by probe."""
    labels = source.run.probes
    return [view for make in (_flips, _variance) for label in labels if (view := make(source, label))]


# ---------------------------------------------------------------- the numbers of a figure


def points_of(source: ReportSource, label: str, figure: Figure) -> list[Point]:
    """Its numbers, one per family and place, then the published ones."""
    keys, rows = _keys(figure), _rows(source, label, figure)
    placed = [row for row in rows if all(condition(row, key) is not None for key in keys)]
    if "seed" in keys:
        placed = [row for row in placed if row.level != "family"]
    if "step" not in keys:
        placed = at_last_step(placed, source.families, _family)
    points = [_point(figure, at, _number(group)) for at, group in _by_place(placed, keys)]
    published = source.declaration(label).published
    return [*points, *(_published(published, figure, rows) if points else [])]


def _rows(source: ReportSource, label: str, figure: Figure) -> list[Estimate]:
    wanted: Where = {"measure": figure.measures, **figure.where}
    return [row for row in source.estimates(label) if matches(wanted, partial(condition, row))]


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
    named = ("measure", *"+".join(_named(figure)).split("+"))
    return list(dict.fromkeys(key for key in named if key not in ("model", SIDE)))


def _family(row: Estimate) -> str:
    return row.family or row.model


def _by_place(rows: Iterable[Estimate], keys: Sequence[str]) -> list[tuple[dict[str, str], list[Estimate]]]:
    groups = grouped(rows, lambda row: (_family(row), *(str(condition(row, key)) for key in keys)))
    return [(dict(zip(("model", *keys), place, strict=True)), group) for place, group in groups.items()]


def _number(group: Sequence[Estimate]) -> Number:
    """A family's row where the run has one, as in every table; otherwise the mean of its checkpoints, for which the run
    has neither an interval nor a verdict."""
    of_family = [row for row in group if row.level == "family"]
    checkpoints = counted(row for row in group if row.level != "family")
    seeds = seeds_of(checkpoints) if len(checkpoints) > 1 else ()
    first = (of_family or checkpoints)[0]
    if of_family or len(checkpoints) == 1 or all(row.verdict.inconclusive for row in checkpoints):
        return number(first, _family(first), format_of([first]), seeds)
    values = [seed.value for seed in seeds]
    mean = plain_number(_family(first), statistics.fmean(values) if values else math.nan, first.unit, first.neutral)
    deviation = statistics.stdev(values) if len(values) > 1 else math.nan
    items = replace(mean, n_items=first.n_items, n_unscored=first.n_unscored)
    return replace(items, n_seeds=len(checkpoints), seeds=seeds, sd_seeds=deviation)


def _point(figure: Figure, at: Mapping[str, str], n: Number, source: str = "") -> Point:
    """With the pairs of conditions, and the side of the neutral value, that the figure names."""
    pairs = {name: " ".join(at[key] for key in name.split("+")) for name in _named(figure) if "+" in name}
    if figure.series == SIDE:
        pairs[SIDE] = "below" if n.value < (n.neutral or 0) else "above"
    whole = {**at, **pairs}
    return Point(whole[figure.x], whole, n, source)


def _published(numbers: Sequence[PublishedNumber], figure: Figure, rows: Sequence[Estimate]) -> Iterator[Point]:
    """Published numbers under the figure's conditions; what it leaves open must be as it is in this run. Their unit is
    that of the same measure here."""
    keys, wanted = _keys(figure), {"measure": figure.measures, **figure.where}
    units = {row.measure: (row.unit, row.neutral) for row in rows}
    for published in numbers:
        at = {**published.conditions, "measure": published.measure}
        fits = all(key in at for key in keys) and matches(wanted, at.get)
        left_open = [key for key in published.conditions if key not in (*keys, *figure.where)]
        if fits and all(_in_run(rows, key, at[key]) for key in left_open):
            at["model"] = f"{published.model} ({PUBLISHED})"  # another than a family of that name
            made = plain_number(at["model"], published.value, *units.get(published.measure, (Unit.SHARE, None)))
            yield _point(figure, at, made, published.source or PUBLISHED)


def _in_run(rows: Sequence[Estimate], key: str, value: str) -> bool:
    present = {condition(row, key) for row in rows} - {None}
    return not present or value in present


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
    return {**summary.meanings, **titles(summary)}


def _along_training(rows: Sequence[Estimate], summary: Summary) -> list[Figure]:
    """A curve over steps of the summary's first measure with a neutral value."""
    if not rows:
        return []
    where = _summary_where(rows, summary)
    measure = first_directed(rows, summary) or summary.measures[0]
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


def _summary_where(rows: Sequence[Estimate], summary: Summary) -> Where:
    """Its conditions, or those it falls back to where most numbers under them say nothing."""
    fell_back = at_depth(rows, Depth.of(summary.where, summary), directed(rows)).fell_back
    return {**summary.where, **summary.fallback} if fell_back else summary.where


# ---------------------------------------------------------------- seeds: flips and sources of variance


def _flips(source: ReportSource, label: str) -> FigureView | None:
    """Paper C's figure 1."""
    shares = [row for row in source.rows(FlipShares) if row.probe == label]
    tied = [row for row in shares if row.against == 0]  # the share without a majority is repeated with each count
    has_ties = any(row.no_majority > 0 for row in tied)
    parts = [(row, str(row.against), row.share) for row in shares]
    parts += [(row, NO_MAJORITY, row.no_majority) for row in tied if has_ties]
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
        names={**short_names(source.declaration(label)), **words.flip_names(counts, NO_MAJORITY)},
        y_title=words.FLIPS_AXIS,
        source="figure 1 of paper C",
    )
    points: list[Point] = []
    for row, part, share in parts:
        at = {"model": row.family, "category": row.category, "near_ties": row.near_ties.value, "part": part}
        points += _part(figure, at, share, row.n_items)
    return figure_view(label, figure, points)


def _part(figure: Figure, at: Mapping[str, str], share: float, n_items: int) -> Iterator[Point]:
    """Of a bar; none where it is not known."""
    if not math.isnan(share):
        n = replace(plain_number(at["model"], share), n_items=n_items)
        yield _point(figure, {**at, "measure": "share"}, n)


def _variance(source: ReportSource, label: str) -> FigureView | None:
    """Where the variance of the summary's first measure with a neutral value comes from."""
    declaration = source.declaration(label)
    summary, measure = declaration.summary, first_directed(source.estimates(label), declaration.summary)
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
        names={**short_names(declaration), **words.variance_names(SOURCES)},
        y_title=words.VARIANCE_AXIS,
    )
    points: list[Point] = []
    for row in source.rows(VarianceShares):
        fixed = {key: one for key, one in where.items() if key in row.conditions}
        wanted = (row.probe, row.measure) == (label, measure) and matches(fixed, row.conditions.get)
        if wanted and all(key in row.conditions for key in (*panels, x)):
            for name in SOURCES:
                at = {**row.conditions, "model": row.model, "part": name}
                points += _part(figure, at, getattr(row, f"share_{name}"), row.n_groups)
    return figure_view(label, figure, points)
