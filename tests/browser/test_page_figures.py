"""Figures in a browser: menus, legend and hovering work, under a policy without eval, at every width and theme."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
POINTS = "[aria-roledescription=point]"
BERT_IN = "n => document.querySelectorAll('#pairs-dots [aria-roledescription=point][aria-label*=BERT]').length === n"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src blob:"


def panels(figure):
    """The titles above them."""
    return figure.locator(".role-title-text text").all_text_contents()


def test_choosing_changes_the_figure(page):
    figure = page.locator("#pairs-dots")
    labels = [point.get_attribute("aria-label") for point in figure.locator(POINTS).all()]
    figure.locator("[data-choice=k]").select_option("3")
    page.wait_for_function(BERT_IN, arg=3)  # in the panel of each model
    figure.locator("[data-choice=k]").select_option("10")
    page.wait_for_function(BERT_IN, arg=0)
    assert [point.get_attribute("aria-label") for point in figure.locator(POINTS).all()] == labels


def test_the_numbers_change_with_the_choice(page):
    figure = page.locator("#pairs-dots")
    figure.locator("summary").click()
    rows = figure.locator("tbody tr").count()
    figure.locator("[data-choice=k]").select_option("3")
    figure.locator("td", has_text="BERT (published)").wait_for()
    assert figure.locator("tbody tr").count() == rows + 1
    assert figure.locator("details.numbers").get_attribute("open") is not None


def test_one_model_can_be_looked_at_alone(page):
    figure = page.locator("#pairs-dots")
    assert panels(figure) == ["solo", "other", "toy"]
    figure.locator("[data-model]").select_option("toy")
    page.wait_for_function("document.querySelectorAll('#pairs-dots [aria-roledescription=point]').length === 3")
    assert panels(figure) == ["toy"]


def test_a_choice_without_published_numbers_says_where_there_are_some(page):
    figure = page.locator("#pairs-dots")
    assert "No published number for this choice; there are some for k: 3." in figure.inner_text()
    assert figure.locator("[data-model] option").all_inner_texts() == ["all", "solo", "other", "toy"]
    figure.locator("[data-choice=k]").select_option("3")
    figure.locator("[data-model]").select_option("other")
    page.wait_for_function(BERT_IN, arg=1)  # beside the model it is compared with
    assert "No published number" not in figure.inner_text()
    assert figure.locator(POINTS).count() == 4


def test_a_folded_figure_has_the_room_of_the_page_when_it_is_opened(page):
    figure, chart = page.locator("#pairs-lines"), page.locator("#pairs-lines .chart svg")
    assert not figure.is_visible()
    page.locator("details:has(> #pairs-lines) > summary").click()
    chart.wait_for()
    page.wait_for_function("document.querySelector('#pairs-lines .chart svg').clientWidth > 700")
    assert chart.bounding_box()["width"] <= figure.bounding_box()["width"] + 1


def test_the_legend_hides_a_series_and_brings_it_back(page):
    figure = page.locator("#pairs-lines")
    page.locator("details:has(> #pairs-lines) > summary").click()
    button = figure.locator(".legend button", has_text="solo")
    before = figure.locator(POINTS).count()
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    figure.locator(POINTS + "[aria-label*=solo]").first.wait_for(state="detached")
    assert figure.locator(POINTS).count() == before - 6
    figure.locator("[data-choice=measure]").select_option("ties")  # it stays hidden
    page.wait_for_function("document.querySelector('#pairs-lines .chart').innerHTML.includes('other')")
    assert figure.locator(POINTS + "[aria-label*=solo]").count() == 0
    button.press("Enter")
    figure.locator(POINTS + "[aria-label*=solo]").first.wait_for(state="attached")
    assert figure.locator(POINTS).count() == before - 1  # none of the ties is published


def test_each_model_may_have_a_scale_of_its_own(page):
    figure = page.locator("#pairs-dots")
    labels = figure.locator(".role-axis-label text")
    shared = labels.all_text_contents()
    figure.locator("[data-scale]").select_option("each")
    page.wait_for_function(
        "n => document.querySelectorAll('#pairs-dots .role-axis-label text').length !== n", arg=len(shared)
    )
    assert figure.locator(POINTS).count() == 9


def test_hovering_shows_interval_and_counts(page):
    page.locator(f"#pairs-dots {POINTS}").first.hover()
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for()
    text = tip.inner_text()
    assert "40" in text
    assert "[" in text
    assert "undecided" in text


def test_charts_need_no_eval(open_page, page_path, tmp_path):
    html = page_path.read_text(encoding="utf-8")
    strict = tmp_path / "strict.html"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    strict.write_text(html.replace("<head>", f"<head>{policy}", 1), encoding="utf-8")
    page = open_page(strict)
    assert page.complaints == []
    assert page.locator(f"#pairs-dots {POINTS}").count() == 9


def test_a_theme_needs_no_other_chart(open_page):
    """Colours are variables of the page: they follow the theme, and a print is light."""
    page = open_page(color_scheme="light")
    colour = "getComputedStyle(document.querySelector('#pairs-dots [aria-roledescription=point]')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(colour) == light


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_labels_neither_overlap_nor_leave_their_picture(open_page, width):
    """At the size people see them."""
    page = open_page(viewport={"width": width, "height": 800})
    assert page.evaluate(CROWDED) == []


CROWDED = """() => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
    const out = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent && t.getAttribute('opacity') !== '0')
        .map(t => [t.textContent, t.getBoundingClientRect()]);
    const left = boxes.filter(([, x]) => x.left < out.left - 1 || x.right > out.right + 1).map(([a]) => `out: ${a}`);
    return left.concat(boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) =>
        x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 2 && y.top < x.bottom - 2)
        .map(([b]) => `${a} / ${b}`)));
})"""


def test_a_narrow_window_lays_panels_out_below_each_other(open_page):
    page = open_page()
    wide = page.locator("#pairs-dots .chart svg").bounding_box()
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(
        "before => document.querySelector('#pairs-dots .chart svg').getBoundingClientRect().height > 2 * before",
        arg=wide["height"],
    )
    assert page.locator("#pairs-dots .chart svg").bounding_box()["width"] <= 390


def test_without_scripts_the_numbers_of_the_first_choice_are_there(open_page):
    page = open_page(java_script_enabled=False)
    assert page.locator("#pairs-dots tbody tr:visible").count() == 9
    assert page.locator(".chart:visible").count() == 0
    assert page.locator(".items tbody tr").count() == 8
    assert page.locator(".choose:visible").count() == 0


def test_a_chart_is_described(page):
    chart = page.locator("#pairs-dots .chart [aria-roledescription=visualization]")
    assert chart.get_attribute("aria-label").startswith("Dot plot: Dots")
