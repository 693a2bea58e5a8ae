"""Charts: what is drawn is what the figure has, whatever things are called; files and page hold the same."""

from __future__ import annotations

import base64
import csv
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
import zlib

import pytest

import made_runs
from trueprobe.probes import Figure
from trueprobe.results.chart import chart, file_svg
from trueprobe.results.marks import COLOURS, DARK, LIGHT, SHAPES
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.render.page import figures as page_figures
from trueprobe.results.view import ReportSource, figures
from trueprobe.runs import load_run
from trueprobe.runs.schema import PublishedNumber
from trueprobe.statistics.rows import FlipShares, NearTies, Tail
from trueprobe.types import Verdict

HOSTILE = ("a.b", "a[b]", 'say "x"', "it's", "back\\slash", "<b>bold</b>&amp;", "</script>", "datum.x", "ü ☃", "a,b\\'")
DOTS = Figure("f", "F", "…", ("preference",), "category", "dots")


def view_of(tmp_path, figure, estimates, cards=None, **more):
    probe = made_runs.declaration(figures=(figure,), **more)
    folder = made_runs.write(tmp_path / "run", cards or [made_runs.card("toy")], estimates, probe=probe)
    (view,) = figures.of_probe(ReportSource(load_run(folder)), "pairs")
    return view


def svg_of(view):
    return file_svg(view.pictures[0])


def marks(svg):
    """The labels of the marks that stand for numbers."""
    return [g.get("aria-label") for g in ET.fromstring(svg).iter() if g.get("aria-roledescription") in ("point", "bar")]


def texts(svg):
    return ["".join(t.itertext()) for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def curve(model="toy", **conditions):
    return [
        made_runs.estimate(model, "mrr", n / 12, properties=str(n), neutral=None, **conditions) for n in range(1, 11)
    ]


def test_every_number_is_drawn_whatever_its_condition_is_called(tmp_path):
    rows = [
        made_runs.estimate("toy", "preference", 0.3 + 0.04 * i, category=name, **{"odd.name[0]": other})
        for i, name in enumerate(HOSTILE)
        for other in HOSTILE[:3]
    ]
    figure = Figure("f", 'F\'s "<i>"', "…", ("preference",), "category", "dots", series="odd.name[0]")
    view = view_of(tmp_path, figure, rows)
    svg = svg_of(view)
    assert len(marks(svg)) == len(rows)
    assert set(HOSTILE) <= set(texts(svg))
    assert "NaN" not in svg
    assert view.title in texts(svg)


def test_panels_and_choices_may_be_called_anything(tmp_path):
    rows = [
        made_runs.estimate("toy", "preference", 0.6, category="age", **{"p.a[n]": name, "k'": other})
        for name, other in itertools.product(HOSTILE, HOSTILE[:2])
    ]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("p.a[n]",), choose=("k'",))
    view = view_of(tmp_path, figure, rows)
    assert set(HOSTILE) <= set(texts(svg_of(view)))
    assert len(marks(svg_of(view))) == len(HOSTILE)


def test_series_that_read_alike_stay_apart(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category="age", kind=kind) for kind in ("a", "b")]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", "kind", names={"a": "same", "b": "same"})
    view = view_of(tmp_path, figure, rows)
    data = chart(view.pictures[0])["datasets"]["rows"]
    assert [row["series"] for row in data if row["role"] == "value"] == [0, 1]


def test_what_is_not_finite_is_not_drawn(tmp_path):
    rows = [made_runs.estimate("toy", "preference", value, category=str(value)) for value in (0.6, math.inf)]
    rows.append(made_runs.estimate("toy", "preference", 0.7, category="open", high=math.inf))
    view = view_of(tmp_path, DOTS, rows)
    assert [label.split(" · ")[0] for label in marks(svg_of(view))] == ["0.6", "open"]
    assert page_figures.page_parts(view).payload


def test_chart_columns_have_names_of_our_own(tmp_path):
    view = view_of(tmp_path, DOTS, [made_runs.estimate("toy", "preference", 0.6, category="a.b[c]")])
    spec = chart(view.pictures[0])
    assert {key for row in spec["datasets"]["rows"] for key in row} <= {
        *("role", "panel", "note", "series", "look", "x", "value", "low", "high", "hollow", "joined", "tip", "text")
    }


def test_the_marks_of_lines_bands_and_published_numbers(tmp_path):
    rows = [row for name in ("top", "random") for row in curve(selection=name)]
    numbers = tuple(
        PublishedNumber(
            measure="mrr", conditions={"properties": n, "selection": "top"}, model="BERT", value=0.2, source="table 1"
        )
        for n in ("1", "10")
    )
    figure = Figure(
        *("curves", "MRR", "…", ("mrr",), "properties"), series="selection+model", band=("random toy",), x_unit="clues"
    )
    view = view_of(tmp_path, figure, rows, published=numbers)
    svg = svg_of(view)
    assert 'class="mark-area' in svg
    assert svg.count(f'stroke="{LIGHT["pub"]}"') >= 2  # published: grey and hollow
    assert "10 clues · top toy: 83 % [73, 93]" in marks(svg)
    assert len(marks(svg)) == 22


def test_seeds_are_faint_dots_hollow_where_not_significant(tmp_path):
    cards = made_runs.family("toy", 3)
    rows = [
        made_runs.estimate(c.name, "effect_size", v, test="weat6", unit="d", neutral=0.0, p=p)
        for c, v, p in zip(cards, (-0.2, 0.3, 1.1), (0.8, 0.2, 0.001), strict=True)
    ]
    view = view_of(tmp_path, Figure("seat", "SEAT", "…", ("effect_size",), "test", "dots"), rows, cards)
    data = chart(view.pictures[0])["datasets"]["rows"]
    assert [row["hollow"] for row in data if row["role"] == "seed"] == [True, True, False]
    (tip,) = [row["tip"] for row in data if row["role"] == "value"]
    assert tip["seeds"] == "mean of 3 checkpoints, 1 significant at 0.01"
    seeds = [p.attrib for p in ET.fromstring(svg_of(view)).iter() if p.get("opacity") in ("0.5",)]
    assert len(seeds) == 1


@pytest.mark.parametrize(("tail", "hollow"), [(Tail.UPPER, [False, True, False]), (Tail.BOTH, [True, True, False])])
def test_seeds_that_are_significant_downward_are_filled_too(tmp_path, tail, hollow):
    cards = made_runs.family("toy", 3)
    rows = [
        made_runs.estimate(c.name, "effect_size", v, test="weat6", unit="d", neutral=0.0, p=p)
        for c, v, p in zip(cards, (-1.1, 0.3, 1.1), (0.999, 0.2, 0.001), strict=True)
    ]
    figure = Figure("seat", "SEAT", "…", ("effect_size",), "test", "dots", tail=tail)
    view = view_of(tmp_path, figure, rows, cards)
    data = chart(view.pictures[0])["datasets"]["rows"]
    assert [row["hollow"] for row in data if row["role"] == "seed"] == hollow
    (tip,) = [row["tip"] for row in data if row["role"] == "value"]
    assert tip["seeds"] == f"mean of 3 checkpoints, {hollow.count(False)} significant at 0.01"


def test_a_model_without_marks_is_named_in_its_panel(tmp_path):
    cards = [made_runs.card("solo"), made_runs.card("toy")]
    rows = [made_runs.estimate("toy", "preference", 0.5, category="age", verdict=Verdict.FAILS_GATE)]
    rows.append(made_runs.estimate("solo", "preference", 0.6, category="age"))
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("model",))
    svg = svg_of(view_of(tmp_path, figure, rows, cards))
    assert {"toy", "solo", "fails the gate: nothing to draw"} <= set(texts(svg))
    assert len(marks(svg)) == 1


def test_bars_are_stacked_and_the_rest_is_hollow(tmp_path):
    rows = [
        FlipShares("pairs", "toy", None, "age", NearTies.INCLUDED, 40, 5, n, share, 0.1, 0.5, 0.4)
        for n, share in enumerate((0.5, 0.25, 0.15))
    ]
    folder = made_runs.write(tmp_path / "run", made_runs.family("toy", 5), [], tables={FlipShares: rows})
    (view,) = figures.about_seeds(ReportSource(load_run(folder)))
    svg = svg_of(view)
    assert "age · no majority, as some tie: 10 %" in marks(svg)
    assert len(marks(svg)) == 4
    assert re.search(rf'fill="{LIGHT["paper"]}" stroke="{LIGHT["soft"]}"', svg)


def test_the_only_series_of_a_panel_lies_on_its_line(tmp_path):
    cards = [made_runs.card("one"), made_runs.card("two")]
    rows = [made_runs.estimate(c.name, "preference", 0.6, category="age") for c in cards]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", panels=("model",))
    view = view_of(tmp_path, figure, rows, cards)
    layers = chart(view.pictures[0])["spec"]["layer"]
    assert not any("yOffset" in layer["encoding"] for layer in layers)


def test_labels_on_an_axis_do_not_overlap(tmp_path):
    rows = [made_runs.estimate("toy", "mrr", 0.5, properties=str(1000 * n), neutral=None) for n in range(1, 26)]
    svg = svg_of(view_of(tmp_path, Figure("curves", "MRR", "…", ("mrr",), "properties"), rows))
    labels = re.findall(r'translate\(([\d.]+),[\d.]+\)"([^>]*)>\d+000</text>', svg)
    positions = [float(x) for x, look in labels if 'opacity="0"' not in look]
    assert 2 < len(positions) < 25
    assert min(b - a for a, b in itertools.pairwise(positions)) > 25


def test_colours_are_as_many_in_the_dark_and_combine_with_shapes():
    assert LIGHT.keys() == DARK.keys()
    assert COLOURS % len(SHAPES)  # so that 28 series differ


def test_files_hold_the_picture_and_its_unrounded_numbers(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 1 / 3, category="age", k=k) for k in ("a/b", "a b", "3")]
    view = view_of(tmp_path, Figure("f", "F", "…", ("preference",), "category", "dots", choose=("k",)), rows)
    page_figures.write_files([view], tmp_path / "figures", list(FigureFormat))
    stems = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert stems == {"pairs-f-k_a_b", "pairs-f-k_a_b~2", "pairs-f-k_3"}
    assert (tmp_path / "figures" / "pairs-f-k_3.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "figures" / "pairs-f-k_3.svg").read_text(encoding="utf-8")
    assert "var(" not in svg
    with (tmp_path / "figures" / "pairs-f-k_3.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["value"]) == 1 / 3
    assert (row["model"], row["category"], row["verdict"], row["source"]) == ("toy", "age", "undecided", "")


def test_a_picture_is_described_for_people_who_do_not_see_it(tmp_path):
    view = view_of(tmp_path, DOTS, [made_runs.estimate("toy", "preference", 0.6, category="age")])
    assert chart(view.pictures[0])["description"].startswith("Dot plot: F")


def unpacked(part):
    return json.loads(zlib.decompress(base64.b64decode(part.payload)))


def test_the_page_has_a_packed_chart_for_each_choice_and_the_first_numbers_as_a_table(tmp_path):
    rows = [made_runs.estimate("toy", "preference", 0.6, category=name, k=k) for name in HOSTILE for k in ("3", "10")]
    figure = Figure("f", "F", "…", ("preference",), "category", "dots", choose=("k",))
    part = page_figures.page_parts(view_of(tmp_path, figure, rows))
    packed = unpacked(part)
    assert set(packed) == {"3", "10"}
    assert part.html.count("<tr>") == 1 + len(HOSTILE)
    assert "<details" in part.html
    assert "<b>bold</b>" not in part.html
    assert "</script" not in part.html + part.payload
    assert all(
        channel["legend"] is None
        for layer in packed["3"]["spec"]["spec"]["layer"]
        for name, channel in layer["encoding"].items()
        if name in ("fill", "stroke", "shape")
    )


@pytest.mark.slow
def test_the_bundle_needs_no_network_and_ends_no_script():
    script = page_figures.bundle()
    assert "</script" not in script.lower()
    assert "vegaEmbed" in script
    assert len(script) < 1_500_000


def test_marks_of_this_run_lie_above_published_ones(tmp_path):
    rows = [made_runs.estimate("toy", "mrr", 0.3, at="x", neutral=None)]
    number = PublishedNumber(measure="mrr", conditions={"at": "x"}, model="BERT", value=0.3, source="table 1")
    figure = Figure("p", "P", "…", ("mrr",), "at", "dots", panels=("model",))
    drawn = marks(svg_of(view_of(tmp_path, figure, rows, published=(number,))))
    assert [label.partition(":")[0] for label in drawn] == ["x · BERT (published)", "x · toy"]
