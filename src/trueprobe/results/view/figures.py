"""The figures of a run: those its probes declare, those of a summary, along training, and about seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from trueprobe.probes.display import Figure, Summary, Where, matches
from trueprobe.results.text import figures as words
from trueprobe.results.view.figure_rows import FigureRow, rows_of
from trueprobe.results.view.labels import short_names
from trueprobe.results.view.pictures import FigureView, figure_view
from trueprobe.results.view.select import Depth, at_depth, directed, first_directed, titles
from trueprobe.runs.families import families
from trueprobe.runs.folder import Run
from trueprobe.statistics.rows import Estimate, FlipShares, NearTies, VarianceShares

NO_MAJORITY = "no_majority"
SOURCES = ("items", "seeds", "seeds_by_items", "wordings")  # of variance


def of_probe(run: Run, label: str) -> list[FigureView]:
    """The declared figures that the run has numbers for; without any declared, those of the summary. With several
    checkpoints of one seed, first of all the summary's first measure along training."""
    declaration, rows, known = run.declarations[label], run.estimates_of(label), families(run.cards)
    declared = list(declaration.figures) or _summary_figures(declaration.summary)
    several_steps = any(len(family.steps) > 1 for family in known)
    wanted = [*(_along_training(rows, declaration.summary) if several_steps else []), *declared]
    views = (figure_view(label, figure, rows_of(rows, known, declaration.published, figure)) for figure in wanted)
    return [view for view in views if view is not None]


def of_probe_and_its_seeds(run: Run, label: str) -> list[FigureView]:
    """All that a reader can name under a probe."""
    return [*of_probe(run, label), *(view for make in (_flips, _variance) if (view := make(run, label)))]


def about_seeds(run: Run) -> list[FigureView]:
    """On how many items seeds disagree, and where the variance comes from, by probe."""
    return [view for make in (_flips, _variance) for label in run.probes if (view := make(run, label))]


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
        names={**short_names(run.declarations[label]), **words.flip_names(counts, NO_MAJORITY)},
        y_title=words.FLIPS_AXIS,
        source="figure 1 of paper C",
    )
    return figure_view(label, figure, [row for row in rows if not math.isnan(row.value)])


def _flip_row(row: FlipShares, part: str, share: float) -> FigureRow:
    at = {"model": row.family, "category": row.category, "near_ties": row.near_ties.value, "part": part}
    return FigureRow({**at, "measure": "share"}, share, n_items=row.n_items, n_unscored=0)


def _variance(run: Run, label: str) -> FigureView | None:
    """Where the variance of the summary's first measure with a neutral value comes from."""
    declaration = run.declarations[label]
    summary, measure = declaration.summary, first_directed(run.estimates_of(label), declaration.summary)
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
    counted = [row for row in run.rows(VarianceShares) if row.probe == label and row.measure == measure]
    known = [{key: one for key, one in where.items() if key in row.conditions} for row in counted]
    rows = [
        part
        for row, conditions in zip(counted, known, strict=True)
        if matches(conditions, row.conditions.get) and all(key in row.conditions for key in (*panels, x))
        for part in _variance_rows(row)
    ]
    return figure_view(label, figure, rows)


def _variance_rows(row: VarianceShares) -> Iterator[FigureRow]:
    shares = (row.share_items, row.share_seeds, row.share_seeds_by_items, row.share_wordings)
    for source, share in zip(SOURCES, shares, strict=True):
        if not math.isnan(share):
            at = {**row.conditions, "model": row.model, "part": source, "measure": "share"}
            yield FigureRow(at, share, n_items=row.n_groups, n_unscored=0)
