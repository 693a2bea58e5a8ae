"""Declared figures: every kind the papers have, from estimates alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import made_runs
from trueprobe.probes import Figure
from trueprobe.results.marks import data
from trueprobe.results.view import ReportSource, figures
from trueprobe.results.view.pictures import Style
from trueprobe.runs import load_run
from trueprobe.runs.schema import PublishedNumber
from trueprobe.statistics.rows import FlipShares, NearTies, VarianceShares
from trueprobe.types import Verdict


def drawn(tmp_path, figure, estimates, cards=None, **more):
    probe = made_runs.declaration(figures=(figure,), **more)
    folder = made_runs.write(tmp_path / "run", cards or [made_runs.card("toy")], estimates, probe=probe)
    (view,) = figures.of_probe(ReportSource(load_run(folder)), "pairs")
    return view


def first(*args, **more):
    return drawn(*args, **more).pictures[0]


def curve(model="toy", measure="mrr", **conditions):
    """MRR that grows with the number of properties."""
    return [
        made_runs.estimate(model, measure, n / 12, properties=str(n), neutral=None, **conditions) for n in range(1, 11)
    ]


def published(value=0.3, **conditions):
    return PublishedNumber(measure="mrr", conditions=conditions, model="BERT", value=value, source="figure 2")


def test_curves_by_category_with_a_random_band(tmp_path):
    rows = [row for name in ("top", "bottom", "random") for row in curve(selection=name)]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties", series="selection", band=("random",))
    picture = first(tmp_path, figure, rows)
    (panel,) = picture.panels
    assert [series.look.style for series in panel.series] == [Style.MODEL, Style.MODEL, Style.BAND]
    assert [key for key, _ in picture.xs] == [str(n) for n in range(1, 11)]
    assert picture.axis.ticks[0] == 0
    assert picture.axis.ticks[-1] == 1


def test_two_conditions_together_are_one_series(tmp_path):
    rows = [r for pick in ("top", "bottom") for order in ("up", "down") for r in curve(selection=pick, order=order)]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties", series="selection+order", names={"top up": "best"})
    (panel,) = first(tmp_path, figure, rows).panels
    assert [series.title for series in panel.series] == ["best", "top down", "bottom up", "bottom down"]
    assert all(len(series.points) == 10 for series in panel.series)


def test_what_was_not_asked_takes_no_room(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category="age")]
    rows.append(made_runs.estimate("toy", "preference", math.nan, category="race", verdict=Verdict.NOTHING_SCORED))
    figure = Figure("f", "F", "…", ("preference",), "category", "dots")
    assert [title for _, title in first(tmp_path, figure, rows).xs] == ["age"]


@pytest.mark.parametrize("verdict", [v for v in Verdict if v.inconclusive and v is not Verdict.TOO_FEW_GROUPS])
def test_a_number_that_says_nothing_is_not_drawn(tmp_path, verdict):
    rows = [made_runs.estimate("toy", "preference", 0.6, category="age")]
    rows.append(made_runs.estimate("toy", "preference", 0.7, category="race", verdict=verdict))
    figure = Figure("f", "F", "…", ("preference",), "category", "dots")
    picture = first(tmp_path, figure, rows)
    assert [point.x for point in picture.points] == ["age"]
    assert len(picture.data) == 2  # its table has it


def test_too_few_groups_are_drawn_without_an_interval(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category="age", verdict=Verdict.TOO_FEW_GROUPS)]
    (point,) = first(tmp_path, Figure("f", "F", "…", ("preference",), "category", "dots"), rows).points
    assert point.number.value == 0.6
    assert math.isnan(point.number.interval[0])
    assert math.isnan(point.number.interval[1])


SEEDS = ((-0.2, 0.8), (0.3, 0.2), (1.1, 0.001))  # value and p


def effects(cards, **more):
    return [
        made_runs.estimate(c.name, "effect_size", v, test="weat6", representation=r, unit="d", neutral=0.0, p=p, **more)
        for r in ("cls", "word")
        for c, (v, p) in zip(cards, SEEDS, strict=True)
    ]


EFFECTS = Figure("seat", "SEAT", "…", ("effect_size",), "test", "dots", panels=("model", "representation"))


def test_seeds_are_drawn_beside_the_mean_of_a_family_without_a_row(tmp_path):
    cards = made_runs.family("toy", 3)
    picture = first(tmp_path, EFFECTS, effects(cards), cards)
    assert [panel.title for panel in picture.panels] == ["toy · cls", "toy · word"]
    assert picture.seeds_tested
    for point in picture.points:
        assert [(seed.value, seed.p) for seed in point.number.seeds] == list(SEEDS)
        assert point.number.value == pytest.approx(0.4)
        assert math.isnan(point.number.interval[0])


def test_a_family_is_its_row_where_the_run_has_one(tmp_path):
    cards = made_runs.family("toy", 3)
    row = {"level": "family", "test": "weat6", "unit": "d", "neutral": 0.0, "n_seeds": 3, "sd_seeds": 0.7}
    rows = [r for r in effects(cards) if r.conditions["representation"] == "cls"]
    rows.append(made_runs.estimate("toy", "effect_size", 0.5, representation="cls", verdict=Verdict.FLIPS, **row))
    (point,) = first(tmp_path, EFFECTS, rows, cards).points
    # the effect size is not in this probe's summary, so it is on no list
    assert (point.number.value, point.number.verdict, point.number.sd_seeds) == (0.5, Verdict.SUGGESTIVE, 0.7)
    assert point.number.row.verdict_alone is Verdict.FLIPS
    assert len(point.number.seeds) == 3


def test_training_is_drawn_seed_by_seed_over_steps(tmp_path):
    cards = [
        made_runs.card(f"toy-seed{seed}-step{step}", "toy", model_seed=seed, step=step)
        for seed in (0, 1)
        for step in (1000, 4000, 12000)
    ]
    rows = [made_runs.estimate(c.name, "clusters_targets", 0.5 + c.labels["step"] / 1e5, test="weat6") for c in cards]
    figure = Figure("clusters", "Clusters", "…", ("clusters_targets",), "step", series="seed", panels=("test",))
    probe = made_runs.declaration(figures=(figure,))
    view, *_ = figures.of_probe(
        ReportSource(load_run(made_runs.write(tmp_path / "run", cards, rows, probe=probe))), "pairs"
    )
    picture = view.pictures[0]
    assert [(s.title, [p.x for p in s.points]) for s in picture.panels[0].series] == [
        ("0", ["1000", "4000", "12000"]),
        ("1", ["1000", "4000", "12000"]),
    ]
    assert picture.axis.neutral == 0.5


STEPS = [made_runs.card(f"toy-step{step}", "toy", step=step) for step in (500, 2000, 10000)]


def test_steps_without_a_seed_are_drawn_as_one_seed(tmp_path):
    rows = [made_runs.estimate(c.name, "clusters_targets", 0.6, test="weat6") for c in STEPS]
    figure = Figure("clusters", "Clusters", "…", ("clusters_targets",), "step", series="seed", panels=("test",))
    probe = made_runs.declaration(figures=(figure,))
    view, *_ = figures.of_probe(
        ReportSource(load_run(made_runs.write(tmp_path / "run", STEPS, rows, probe=probe))), "pairs"
    )
    (series,) = view.pictures[0].panels[0].series
    assert [point.x for point in series.points] == ["500", "2000", "10000"]


def test_a_run_over_steps_has_a_curve_of_the_first_directed_measure(tmp_path):
    rows = [
        made_runs.estimate(c.name, "preference", 0.5 + c.labels["step"] / 1e5, category=category)
        for c in STEPS
        for category in ("age", "race")
    ]
    views = figures.of_probe(ReportSource(load_run(made_runs.write(tmp_path / "run", STEPS, rows))), "pairs")
    along = next(view for view in views if view.name == "pairs-training")
    assert [picture.chosen for picture in along.pictures] == [{"category": "age"}, {"category": "race"}]
    (series,) = along.pictures[0].panels[0].series
    assert [(p.x, p.number.value) for p in series.points] == [("500", 0.505), ("2000", 0.52), ("10000", 0.6)]
    assert along.kind == "lines"
    summary = next(view for view in views if view.name == "pairs-preference")
    assert {point.number.value for point in summary.pictures[0].points} == {0.6}  # the last step


def test_a_run_without_steps_has_no_such_curve(tmp_path):
    cards = made_runs.family("toy", 3)
    rows = [made_runs.estimate(c.name, "preference", 0.6, category="age") for c in cards]
    views = figures.of_probe(ReportSource(load_run(made_runs.write(tmp_path / "run", cards, rows))), "pairs")
    assert "pairs-training" not in [view.name for view in views]


@pytest.mark.parametrize(("silent", "depth"), [(True, "all"), (False, "10")])
def test_along_training_the_summary_s_fallback_is_drawn_where_most_says_nothing(silent, depth, tmp_path):
    at_ten = Verdict.NOTHING_SCORED if silent else Verdict.UNDECIDED
    rows = [
        made_runs.estimate(c.name, "preference", value, category="age", k=k, verdict=verdict)
        for c in STEPS
        for k, value, verdict in (("10", 0.6, at_ten), ("all", 0.7, Verdict.UNDECIDED))
    ]
    summary = replace(made_runs.SUMMARY, where={"k": "10"}, fallback={"k": "all"})
    folder = made_runs.write(tmp_path / "run", STEPS, rows, probe=made_runs.declaration(summary=summary))
    along = figures.of_probe(ReportSource(load_run(folder)), "pairs")[0]
    assert along.name == "pairs-training"
    assert {point.number.value for point in along.pictures[0].points} == {0.7 if depth == "all" else 0.6}


def shares(category, near_ties, *values, no_majority=0.0):
    return [
        FlipShares("pairs", "toy", None, category, near_ties, 40, 5, against, share, no_majority, 0.5, 0.4)
        for against, share in enumerate(values)
    ]


def about_seeds(tmp_path, rows, kind, estimates=()):
    cards = made_runs.family("toy", 5)
    folder = made_runs.write(tmp_path / "run", cards, list(estimates), tables={kind: rows})
    (view,) = figures.about_seeds(ReportSource(load_run(folder)))
    return view


def test_flips_are_stacked_to_the_whole(tmp_path):
    rows = shares("age", NearTies.INCLUDED, 0.5, 0.25, 0.25) + shares("age", NearTies.EXCLUDED, 0.9, 0.1, 0.0)
    view = about_seeds(tmp_path, rows, FlipShares)
    (choice,) = view.choices
    assert choice.name == "near_ties"
    assert [value for value, _ in choice.options] == ["included", "excluded"]
    assert [sum(p.number.value for p in picture.points) for picture in view.pictures] == pytest.approx([1, 1])
    assert view.kind == "bars"


def test_items_on_which_no_answer_has_a_majority_fill_the_bar_hollow(tmp_path):
    rows = shares("age", NearTies.INCLUDED, 0.5, 0.25, 0.15, no_majority=0.1)
    rows += shares("race", NearTies.INCLUDED, 0.9, 0.1, 0.0)
    view = about_seeds(tmp_path, rows, FlipShares)
    (picture,) = view.pictures
    for category in ("age", "race"):
        assert sum(p.number.value for p in picture.points if p.x == category) == pytest.approx(1)
    assert [series.look.style for series in picture.legend] == [Style.PART, Style.PART, Style.PART, Style.REST]
    assert "Hollow: " in view.caption
    assert figures.NO_MAJORITY in set(picture.data["part"])


def test_the_variance_of_the_first_directed_measure_is_stacked_by_source(tmp_path):
    parts = {f"variance_{name}": 1.0 for name in figures.SOURCES}
    split = dict(zip((f"share_{name}" for name in figures.SOURCES), (0.5, 0.3, 0.2, math.nan), strict=True))
    fixed = {"probe": "pairs", "model": "toy", "step": None, "value": 0.6, "unit": "share", "n_seeds": 5, "n_groups": 9}
    rows = [
        VarianceShares(measure=measure, conditions={"category": "age"}, **fixed, **parts, **split)
        for measure in ("preference", "ties")
    ]
    estimates = [made_runs.estimate("toy-seed0", "preference", 0.6, category="age")]
    (picture,) = about_seeds(tmp_path, rows, VarianceShares, estimates).pictures
    assert [(p.at["part"], p.number.value) for p in picture.points] == [
        ("items", 0.5),
        ("seeds", 0.3),
        ("seeds_by_items", 0.2),
    ]


def test_published_numbers_are_a_series_of_their_own(tmp_path):
    numbers = tuple(published(0.1 * n, properties=str(n)) for n in (1, 10))
    picture = first(tmp_path, Figure("curves", "MRR", "…", ("mrr",), "properties"), curve(), published=numbers)
    assert [(s.title, s.look.style) for s in picture.legend] == [
        ("toy", Style.MODEL),
        ("BERT (published)", Style.PUBLISHED),
    ]
    assert {p.source for p in picture.points} == {"", "figure 2"}
    assert set(picture.data["source"]) == {"", "figure 2"}


def test_published_numbers_are_drawn_for_their_choice_and_every_other_choice_names_the_nearest(tmp_path):
    rows = [r for k in ("3", "10") for m in ("mrr", "first") for r in curve(measure=m, k=k)]
    figure = Figure("c", "C", "…", ("first", "mrr"), "properties", choose=("measure", "k"), names={"k": "depth"})
    view = drawn(tmp_path, figure, rows, published=(published(properties="1", k="10"),))
    pictures = {tuple(picture.chosen.values()): picture for picture in view.pictures}
    assert {key: picture.has_published for key, picture in pictures.items()} == {
        ("first", "3"): False,
        ("first", "10"): False,
        ("mrr", "3"): False,
        ("mrr", "10"): True,
    }
    assert {key: picture.nearest_published for key, picture in pictures.items()} == {
        ("first", "3"): (("measure", "mrr"), ("depth", "10")),
        ("first", "10"): (("measure", "mrr"),),
        ("mrr", "3"): (("depth", "10"),),
        ("mrr", "10"): (),
    }


def test_without_any_published_number_none_is_named(tmp_path):
    figure = Figure("c", "C", "…", ("mrr",), "properties", choose=("k",))
    view = drawn(tmp_path, figure, [r for k in ("3", "10") for r in curve(k=k)])
    assert [picture.nearest_published for picture in view.pictures] == [(), ()]


@pytest.mark.parametrize(("variant", "there"), [("shared", True), ("differing", False)])
def test_a_published_number_under_another_condition_than_the_run_s_is_not_drawn(variant, there, tmp_path):
    numbers = (published(properties="1", variant=variant),)
    figure = Figure("c", "C", "…", ("mrr",), "properties")
    assert first(tmp_path, figure, curve(variant="shared"), published=numbers).has_published == there


def test_the_reader_chooses_measures_and_conditions(tmp_path):
    rows = [r for k in ("3", "10") for m in ("mrr", "probability") for r in curve(measure=m, k=k)]
    figure = Figure("c", "C", "…", ("probability", "mrr"), "properties", choose=("measure", "k"), order={"k": ("10",)})
    view = drawn(tmp_path, figure, rows)
    options = {choice.name: [value for value, _ in choice.options] for choice in view.choices}
    assert options == {"measure": ["probability", "mrr"], "k": ["10", "3"]}
    assert tuple(view.pictures[0].chosen.values()) == ("probability", "10")
    assert len(view.pictures) == 4
    assert set(view.pictures[0].data["measure"]) == {"probability"}


def test_a_model_that_fails_the_gate_is_named_not_drawn(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.5, category="age", verdict=Verdict.FAILS_GATE)]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("model",))
    (panel,) = first(tmp_path, figure, rows).panels
    assert panel.series == ()
    assert (panel.title, panel.why_empty) == ("toy", Verdict.FAILS_GATE)


def test_neutral_is_always_in_sight(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.8, category="age", low=0.75, high=0.85)]
    axis = first(tmp_path, Figure("f", "F", "…", ("preference",), "category", "dots"), rows).axis
    assert axis.ticks[0] <= 0.5
    assert axis.neutral == 0.5


def test_without_declared_figures_the_summary_is_drawn(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category=c) for c in ("age", "race")]
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")], rows)
    (view,) = figures.of_probe(ReportSource(load_run(folder)), "pairs")
    assert [title for _, title in view.pictures[0].xs] == ["age", "race"]


def test_an_uncounted_run_has_no_figures(tmp_path):
    folder = made_runs.write(tmp_path / "run", STEPS, complete=False)
    assert figures.of_probe(ReportSource(load_run(folder)), "pairs") == []
    assert figures.about_seeds(ReportSource(load_run(folder))) == []


@pytest.mark.parametrize("many", [60, 61])
def test_more_choices_than_are_drawn_are_counted(many, tmp_path):
    rows = [row for n in range(many) for row in curve(selection=f"s{n}")[:2]]
    view = drawn(tmp_path, Figure("curves", "MRR", "As it grows.", ("mrr",), "properties", choose=("selection",)), rows)
    assert len(view.pictures) == 60
    cut = "As it grows. Of 61 choices the first 60 are drawn; estimates/ has the numbers of all."
    assert view.caption == (cut if many == 61 else "As it grows.")


def test_a_menu_says_what_is_drawn(tmp_path):
    """Where nothing is to be drawn of the first choice, it is not on the menu, and the first that is drawn leads it."""
    silent = {"3": Verdict.UNDECIDED, "10": Verdict.NO_VARIATION, "all": Verdict.UNDECIDED}
    rows = [made_runs.estimate("toy", "margin", 0.1, at="x", k=k, verdict=v) for k, v in silent.items()]
    order = {"k": ("10", "all", "3")}
    figure = Figure("margin", "Margin", "…", ("margin",), "at", "dots", choose=("k",), order=order)
    view = drawn(tmp_path, figure, rows)
    (menu,) = view.choices
    assert [value for value, _ in menu.options] == ["all", "3"]
    assert view.pictures[0].chosen == {"k": "all"}


def test_a_side_of_neutral_has_its_colour_also_where_the_other_does_not_occur(tmp_path):
    figure = Figure("p", "P", "…", ("margin",), "at", "dots", "side", ("model",), order={"side": ("below", "above")})
    for values in ({"x": 0.2}, {"x": 0.2, "y": -0.1}):
        rows = [made_runs.estimate("toy", "margin", v, at=x, neutral=0.0) for x, v in values.items()]
        picture = first(tmp_path / str(len(values)), figure, rows)
        listed = [("below", 0), ("above", 1)] if len(values) > 1 else [("above", 1)]
        assert [(series.name, series.look.index) for series in picture.legend] == listed
        sides = {
            point.x: (series.name, series.look.index) for series in picture.panels[0].series for point in series.points
        }
        assert sides == {"x": ("above", 1), "y": ("below", 0)} if len(values) > 1 else {"x": ("above", 1)}


def test_seeds_on_both_sides_stay_one_point_of_their_family(tmp_path):
    cards, values = made_runs.family("toy", 3), (0.3, 0.2, -0.1)
    rows = [made_runs.estimate(c.name, "margin", v, at="x", neutral=0.0) for c, v in zip(cards, values, strict=True)]
    rows = [replace(row, family="toy") for row in rows]
    figure = Figure("p", "P", "…", ("margin",), "at", "dots", "side", ("model",), order={"side": ("below", "above")})
    (series,) = first(tmp_path, figure, rows, cards).panels[0].series
    assert (series.name, len(series.points), len(series.points[0].number.seeds)) == ("above", 1, 3)


def test_published_numbers_stand_in_the_panel_of_every_model(tmp_path):
    cards = [made_runs.card("one"), made_runs.card("two")]
    rows = [made_runs.estimate(card.name, "mrr", 0.5, at=at, neutral=None) for card in cards for at in "xy"]
    figure = Figure("p", "P", "…", ("mrr",), "at", "dots", panels=("model",))
    picture = first(tmp_path, figure, rows, cards, published=(published(0.4, at="x"),))
    assert [panel.title for panel in picture.panels] == ["one", "two"]
    for panel in picture.panels:
        own, reference = panel.series
        assert [point.x for point in own.points] == ["x", "y"]
        assert [(point.x, point.number.value) for point in reference.points] == [("x", 0.4)]
        assert reference.look.style is Style.PUBLISHED


def test_where_colours_are_of_measures_hollow_marks_are_named(tmp_path):
    rows = [made_runs.estimate("toy", name, 0.5, at="x", neutral=None) for name in ("mrr", "p")]
    figure = Figure("p", "P", "…", ("mrr", "p"), "at", "dots", "measure", ("model",))
    view = drawn(tmp_path, figure, rows, published=(published(0.4, at="x"),))
    picture = view.pictures[0]
    assert picture.note == "Hollow: BERT (published)."
    assert [entry.title for entry in picture.legend] == ["mrr", "p"]


def test_a_legend_lists_what_is_drawn_and_the_rest_is_named_with_its_reason(tmp_path):
    cards = [made_runs.card("solo"), made_runs.card("toy")]
    rows = [row for name in ("solo", "toy") for row in curve(name)]
    rows = [replace(row, verdict=Verdict.FAILS_GATE) if row.model == "solo" else row for row in rows]
    view = drawn(tmp_path, Figure("curves", "MRR", "…", ("mrr",), "properties"), rows, cards)
    assert [(entry.title, entry.look.index) for entry in view.pictures[0].legend] == [("toy", 1)]
    assert view.pictures[0].note == "Not drawn: solo (fails the gate)."


@pytest.mark.parametrize(
    ("unit", "neutral", "value", "least", "most"),
    [("ratio", None, 0.1, 0, math.inf), ("share", 0.5, 0.9, 0, 1), ("probability", 0.0, -0.9, -1, 1)],
)
def test_an_axis_and_its_intervals_end_where_the_quantity_ends(tmp_path, unit, neutral, value, least, most):
    row = made_runs.estimate("toy", "m", value, at="x", unit=unit, neutral=neutral, low=value - 0.4, high=value + 0.4)
    view = drawn(tmp_path, Figure("p", "P", "…", ("m",), "at", "dots"), [row])
    ticks = view.pictures[0].axis.ticks
    assert least <= ticks[0] < ticks[-1] <= most
    (mark,) = [one for one in data(view.pictures[0]) if one["role"] == "value"]
    factor = view.pictures[0].axis.format.factor
    assert mark["low"] == pytest.approx(factor * max(value - 0.4, ticks[0]))
    assert mark["high"] == pytest.approx(factor * min(value + 0.4, ticks[-1]))


@pytest.mark.parametrize(("at", "joined"), [(("1", "10"), False), (("1", "2", "3"), True)])
def test_published_numbers_far_apart_are_points_without_a_line(tmp_path, at, joined):
    numbers = tuple(published(0.2, properties=n) for n in at)
    view = drawn(tmp_path, Figure("c", "C", "…", ("mrr",), "properties"), curve(), published=numbers)
    rows = list(data(view.pictures[0]))
    assert {row["joined"] for row in rows if row["role"] == "value" and row["series"] == 1} == {joined}
    assert {row["joined"] for row in rows if row["role"] == "value" and row["series"] == 0} == {True}


def test_an_axis_names_the_measure_that_was_chosen(tmp_path):
    rows = [row for name in ("mrr", "p") for row in curve(measure=name)]
    names = {"measure=mrr": "MRR", "measure=p": "probability"}
    figure = Figure(
        *("c", "C", "…", ("mrr", "p"), "properties"), choose=("measure",), names=names, y_title="{measure} of it"
    )
    assert [p.axis.title for p in drawn(tmp_path, figure, rows).pictures] == ["MRR of it", "probability of it"]
