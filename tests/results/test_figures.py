"""Declared figures: every kind the papers have, drawn from estimates alone."""

from __future__ import annotations

import itertools
import re
from dataclasses import asdict

import pytest
from trueprobe.results.page.reading import Reading

import made_runs
from trueprobe.probes.display import Figure
from trueprobe.results.page import draw, figures, trust
from trueprobe.runs.folder import load_run


def drawn(tmp_path, figure, estimates, cards=None, **more):
    probe = made_runs.told(figures=[asdict(figure)], **more)
    folder = made_runs.write(tmp_path / "run", cards or [made_runs.card("toy")], estimates, probe=probe)
    (drawing,) = figures.drawings(Reading(load_run(folder)), "pairs")
    return drawing


def curve(model="toy", measure="mrr", **conditions):
    """MRR that grows with the number of properties."""
    return [
        made_runs.estimate(model, measure, n / 12, properties=str(n), neutral=float("nan"), **conditions)
        for n in range(1, 11)
    ]


def test_curves_by_category_with_a_random_band(tmp_path):
    rows = [row for name in ("top", "bottom", "random") for row in curve(selection=name)]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties", series="selection", band=("random",))
    picture = drawn(tmp_path, figure, rows).variants[0].picture
    (panel,) = picture.panels
    assert [series.style for series in panel.series] == ["own", "own", "band"]
    assert [key for key, _ in picture.xs] == [str(n) for n in range(1, 11)]
    assert picture.scale[0] == 0
    assert picture.scale[-1] == 1
    assert 'class="b f2"' in draw.file_svg(picture)


def test_two_conditions_together_are_one_series(tmp_path):
    rows = [r for pick in ("top", "bottom") for order in ("up", "down") for r in curve(selection=pick, order=order)]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties", series="selection+order", names={"top up": "best"})
    (panel,) = drawn(tmp_path, figure, rows).variants[0].picture.panels
    assert [series.title for series in panel.series] == ["best", "top down", "bottom up", "bottom down"]
    assert all(len(series.points) == 10 for series in panel.series)


def test_what_was_not_asked_takes_no_room(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category="age")]
    rows.append(made_runs.estimate("toy", "preference", float("nan"), category="race", verdict="not applicable"))
    figure = Figure("f", "F", "…", ("preference",), "category", "dots")
    assert [title for _, title in drawn(tmp_path, figure, rows).variants[0].picture.xs] == ["age"]


def test_seeds_are_dots_hollow_where_not_significant(tmp_path):
    cards = made_runs.family("toy", 3)
    rows = [
        made_runs.estimate(c["name"], "effect_size", v, test="weat6", representation=r, unit="d", neutral=0.0, p=p)
        for r in ("cls", "word")
        for c, v, p in zip(cards, (-0.2, 0.3, 1.1), (0.8, 0.2, 0.001), strict=True)
    ]
    figure = Figure("seat", "SEAT", "…", ("effect_size",), "test", "dots", panels=("model", "representation"))
    picture = drawn(tmp_path, figure, rows, cards).variants[0].picture
    assert [panel.title for panel in picture.panels] == ["toy · cls", "toy · word"]
    assert picture.tested
    svg = "".join(draw.page_panels(picture))
    assert svg.count('class="o k0"') == 4  # two of three seeds, twice
    assert svg.count('class="d f0"') == 2
    assert "1 significant at 0.01" in svg


def test_training_is_drawn_seed_by_seed_over_steps(tmp_path):
    cards = [
        made_runs.card(f"toy-seed{seed}-step{step}", "toy", model_seed=seed, step=step)
        for seed in (0, 1)
        for step in (1000, 4000, 12000)
    ]
    rows = [
        made_runs.estimate(c["name"], "clusters_targets", 0.5 + c["labels"]["step"] / 1e5, test="weat6") for c in cards
    ]
    figure = Figure("clusters", "Clusters", "…", ("clusters_targets",), "step", series="seed", panels=("test",))
    picture = drawn(tmp_path, figure, rows, cards).variants[0].picture
    assert [(s.title, [p.x for p in s.points]) for s in picture.panels[0].series] == [
        ("0", ["1000", "4000", "12000"]),
        ("1", ["1000", "4000", "12000"]),
    ]
    assert picture.neutral == 0.5


STEPS = [made_runs.card(f"toy-step{step}", "toy", step=step) for step in (500, 2000, 10000)]


def test_steps_without_a_seed_are_drawn_as_one_training(tmp_path):
    rows = [made_runs.estimate(c["name"], "clusters_targets", 0.6, test="weat6") for c in STEPS]
    figure = Figure("clusters", "Clusters", "…", ("clusters_targets",), "step", series="seed", panels=("test",))
    picture = drawn(tmp_path, figure, rows, STEPS).variants[0].picture
    assert [(s.title, [p.x for p in s.points]) for s in picture.panels[0].series] == [
        ("one training", ["500", "2000", "10000"])
    ]


def test_a_run_over_steps_has_a_curve_of_the_first_directed_measure(tmp_path):
    rows = [
        made_runs.estimate(c["name"], "preference", 0.5 + c["labels"]["step"] / 1e5, category=category)
        for c in STEPS
        for category in ("age", "race")
    ]
    folder = made_runs.write(tmp_path / "run", STEPS, rows)
    along = next(d for d in figures.drawings(Reading(load_run(folder)), "pairs") if d.figure.name == "training")
    assert [variant.chosen for variant in along.variants] == [{"category": "age"}, {"category": "race"}]
    (series,) = along.variants[0].picture.panels[0].series
    assert [(p.x, p.value) for p in series.points] == [("500", 0.505), ("2000", 0.52), ("10000", 0.6)]
    assert along.variants[0].picture.kind == "lines"


def test_a_run_without_steps_has_no_such_curve(tmp_path):
    cards = made_runs.family("toy", 3)
    rows = [made_runs.estimate(c["name"], "preference", 0.6, category="age") for c in cards]
    found = figures.drawings(Reading(load_run(made_runs.write(tmp_path / "run", cards, rows))), "pairs")
    assert "training" not in [d.figure.name for d in found]


def flipped(tmp_path, table):
    """What a report of five seeds makes of its flips."""
    folder = made_runs.write(tmp_path / "run", made_runs.family("toy", 5), [])
    (folder / "flips.csv").write_text(table)
    return trust.parts(Reading(load_run(folder)))


def test_flips_are_stacked_to_the_whole(tmp_path):
    (drawing,), grids = flipped(
        tmp_path,
        "probe,family,step,category,near_ties,n_items,n_seeds,d0,d1,d2,flip_rate,alpha\n"
        "pairs,toy,,age,kept,40,5,0.5,0.25,0.25,0.5,0.4\npairs,toy,,age,set aside,20,5,0.9,0.1,0,0.1,0.9\n",
    )
    assert drawing.choices == {"near_ties": ["kept", "set aside"]}
    (panel,) = drawing.variants[0].picture.panels
    assert sum(point.value for series in panel.series for point in series.points) == pytest.approx(1)
    (agreement,) = grids
    assert [cell.text for cell in agreement.rows[0]] == ["pairs: age", "toy", "40", "50", "0.40", "10", "0.90"]


def test_items_on_which_no_answer_has_a_majority_fill_the_bar_hollow(tmp_path):
    (drawing,), _ = flipped(
        tmp_path,
        "probe,family,step,category,near_ties,n_items,n_seeds,d0,d1,d2,no_majority,flip_rate,alpha\n"
        "pairs,toy,,age,kept,40,5,0.5,0.25,0.15,0.1,0.5,0.4\npairs,toy,,race,kept,20,5,0.9,0.1,0,0,0.1,0.9\n",
    )
    variant = drawing.variants[0]
    (panel,) = variant.picture.panels
    for category in ("age", "race"):
        assert sum(p.value for s in panel.series for p in s.points if p.x == category) == pytest.approx(1)
    assert [style for _, _, style in variant.picture.legend] == ["part", "part", "part", "rest"]
    svg = draw.file_svg(variant.picture)
    assert "age · no majority, as some tie: 10 % (40 items)" in svg
    assert svg.count('class="v"') == 2  # in the legend, and where there are such items
    assert "Hollow: " in drawing.figure.caption
    assert "no majority, as some tie" in set(variant.data["part"])


def test_published_numbers_are_lighter_and_named(tmp_path):
    published = [
        {"measure": "mrr", "conditions": {"properties": n}, "model": "BERT", "value": 0.1 * n, "source": "figure 2"}
        for n in (1, 10)
    ]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties")
    picture = drawn(tmp_path, figure, curve(), published=published).variants[0].picture
    assert [(title, style) for title, _, style in picture.legend] == [("toy", "own"), ("BERT (published)", "published")]
    svg = draw.file_svg(picture)
    assert 'class="fp"' in svg
    assert "(figure 2)" in svg


def published(**conditions):
    return {"measure": "mrr", "conditions": conditions, "model": "BERT", "value": 0.3, "source": "figure 2"}


def test_published_numbers_are_drawn_for_their_choice_and_every_other_choice_names_the_nearest(tmp_path):
    rows = [r for k in ("3", "10") for m in ("mrr", "first") for r in curve(measure=m, k=k)]
    figure = Figure("c", "C", "…", ("first", "mrr"), "properties", choose=("measure", "k"), names={"k": "depth"})
    drawing = drawn(tmp_path, figure, rows, published=[published(properties="1", k="10")])
    found = {tuple(v.chosen.values()): v for v in drawing.variants}
    assert {key: bool(v.data["published"].any()) for key, v in found.items()} == {
        ("first", "3"): False,
        ("first", "10"): False,
        ("mrr", "3"): False,
        ("mrr", "10"): True,
    }
    note = "No published number for this choice; there are some for "
    assert {key: v.picture.note for key, v in found.items()} == {
        ("first", "3"): f"{note}measure: mrr, depth: 10.",
        ("first", "10"): f"{note}measure: mrr.",
        ("mrr", "3"): f"{note}depth: 10.",
        ("mrr", "10"): "",
    }
    assert "No published number" in draw.file_svg(found["mrr", "3"].picture)


def test_without_any_published_number_nothing_is_said_of_them(tmp_path):
    figure = Figure("c", "C", "…", ("mrr",), "properties", choose=("k",))
    drawing = drawn(tmp_path, figure, [r for k in ("3", "10") for r in curve(k=k)])
    assert [v.picture.note for v in drawing.variants] == ["", ""]


@pytest.mark.parametrize(("variant", "there"), [("shared", True), ("differing", False)])
def test_a_published_number_under_another_condition_than_the_run_s_is_not_drawn(variant, there, tmp_path):
    figure = Figure("c", "C", "…", ("mrr",), "properties")
    drawing = drawn(tmp_path, figure, curve(variant="shared"), published=[published(properties="1", variant=variant)])
    assert drawing.variants[0].data["published"].any() == there


def test_the_only_series_of_a_panel_lies_on_its_line(tmp_path):
    cards = [made_runs.card("one"), made_runs.card("two")]
    rows = [made_runs.estimate(c["name"], "preference", 0.6, category="age") for c in cards]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("model",))
    one, two = draw.page_panels(drawn(tmp_path, figure, rows, cards).variants[0].picture)
    line = re.search(r'class="w k0" d="M[\d.]+ ([\d.]+)L', one).group(1)
    assert re.search(r'class="w k1" d="M[\d.]+ ([\d.]+)L', two).group(1) == line


def test_the_reader_chooses_measures_and_conditions(tmp_path):
    rows = [r for k in ("3", "10") for m in ("mrr", "probability") for r in curve(measure=m, k=k)]
    figure = Figure("c", "C", "…", ("probability", "mrr"), "properties", choose=("measure", "k"), order={"k": ("10",)})
    drawing = drawn(tmp_path, figure, rows)
    assert drawing.choices == {"measure": ["probability", "mrr"], "k": ["10", "3"]}
    assert next(tuple(v.chosen.values()) for v in drawing.variants) == ("probability", "10")
    assert len(drawing.variants) == 4
    assert set(drawing.variants[0].data["measure"]) == {"probability"}


def test_a_model_that_fails_the_gate_is_named_not_drawn(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.5, category="age", verdict="fails the gate")]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("model",))
    (panel,) = drawn(tmp_path, figure, rows).variants[0].picture.panels
    assert panel.series == ()
    assert panel.note.startswith("fails the gate")


def test_neutral_is_always_in_sight(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.8, category="age", low=0.75, high=0.85)]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots")
    picture = drawn(tmp_path, figure, rows).variants[0].picture
    assert picture.scale[0] <= 0.5
    assert 'class="n"' in draw.file_svg(picture)


def test_without_declared_figures_the_summary_is_drawn(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category=c) for c in ("age", "race")]
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")], rows)
    (drawing,) = figures.drawings(Reading(load_run(folder)), "pairs")
    assert [title for _, title in drawing.variants[0].picture.xs] == ["age", "race"]


def test_labels_on_an_axis_do_not_overlap(tmp_path):
    rows = [made_runs.estimate("toy", "mrr", 0.5, properties=str(1000 * n), neutral=float("nan")) for n in range(1, 26)]
    figure = Figure("curves", "MRR", "…", ("mrr",), "properties")
    svg = next(draw.page_panels(drawn(tmp_path, figure, rows).variants[0].picture))
    places = [float(x) for x, text in re.findall(r'<text class="q m" x="([\d.]+)"[^>]*>(\d+)</text>', svg)]
    assert len(places) < 25
    assert min(b - a for a, b in itertools.pairwise(places)) > 30


@pytest.mark.parametrize("many", [60, 61])
def test_more_choices_than_are_drawn_are_told(many, tmp_path):
    rows = [row for n in range(many) for row in curve(selection=f"s{n}")[:2]]
    figure = Figure("curves", "MRR", "As it grows.", ("mrr",), "properties", choose=("selection",))
    drawing = drawn(tmp_path, figure, rows)
    assert len(drawing.variants) == 60
    told = "As it grows. Of 61 choices the first 60 are drawn; estimates.csv has the numbers of all."
    assert drawing.figure.caption == (told if many == 61 else "As it grows.")
