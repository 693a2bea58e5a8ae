"""The page in a browser: no errors, nothing fetched, controls that work, nothing serious for people with aids."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import made_runs
from trueprobe.probes.display import Figure, Table
from trueprobe.results import page as report
from trueprobe.runs.folder import load_run

pytestmark = pytest.mark.slow
MODELS = ("solo", "other")
CATEGORIES = ("age", "race", "religion or its absence, as said")


@pytest.fixture(scope="session")
def page_path(tmp_path_factory):
    """A run with everything a page can have: two models and a family, choices, claims, flips, 300 items."""
    dice = np.random.default_rng(1)
    cards = [*(made_runs.card(name) for name in MODELS), *made_runs.family("toy", 3)]
    rows = [
        made_runs.estimate(
            c["name"],
            m,
            float(dice.uniform(0.3, 0.8)),
            category=category,
            k=k,
            neutral=0.5 if m == "preference" else None,
        )
        for c in cards
        for m in ("preference", "ties")
        for category in CATEGORIES
        for k in ("3", "10")
    ]
    claims = [made_runs.claim(c["name"], "one", 0.2, "as published") for c in cards]
    claims += [made_runs.claim("solo", "two", -0.2, "opposite"), made_runs.claim("other", "two", 0.0, "undecided")]
    claims += [made_runs.claim("other", f"open{n}", 0.0, "undecided") for n in range(9)]
    order = {"k": ("10", "3")}
    dots = Figure(
        "dots", "Dots", "…", ("preference",), "category", "dots", panels=("model",), choose=("k",), order=order
    )
    lines = Figure("lines", "Lines", "…", ("preference",), "k", "lines", panels=("category",), choose=("measure",))
    table = Table("sample", "Sample", "…", "items", ("category",))
    items = pd.DataFrame(
        {"item": [f"i{n}" for n in range(300)], "text": [f"Prompt number {n} ___." for n in range(300)]}
    )
    items["category"] = [CATEGORIES[n % 3] for n in range(300)]
    items["group_item"] = items["item"]
    seen = pd.DataFrame(
        [made_runs.observation(name, float(v)) for name, v in zip(items["item"], dice.normal(size=300), strict=True)]
    )
    probe = made_runs.told(
        figures=[asdict(dots), asdict(lines)],
        tables=[asdict(table)],
        summary={**made_runs.SUMMARY, "where": {"k": "10"}},
        item_table={"values": ["preference_nats"], "telling": "preference_nats"},
        published=[
            {"measure": "preference", "model": "BERT", "value": 0.6, "source": "table 1"}
            | {"conditions": {"k": "3", "category": "age"}}
        ],
    )
    folder = tmp_path_factory.mktemp("browser") / "run"
    made_runs.write(folder, cards, rows, claims, probe, seen.assign(category=items["category"]), items)
    (folder / "flips.csv").write_text(
        "probe,family,step,category,near_ties,n_items,n_seeds,d0,d1,flip_rate,alpha\n"
        "pairs,toy,,age,kept,40,3,0.7,0.3,0.3,0.6\npairs,toy,,age,set aside,20,3,0.9,0.1,0.1,0.9\n"
    )
    return report.write(load_run(folder))


@pytest.fixture
def page(chromium, page_path):
    """The page, with everything it asks for and complains about."""
    made = _open(chromium, page_path)
    yield made
    assert made.complaints == []
    assert [url for url in made.asked if not url.startswith("blob:")] == [page_path.as_uri()]
    made.context.close()


def _open(chromium, path, **options):
    context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    page = context.new_page()
    page.complaints, page.asked = [], []
    page.on("console", lambda told: page.complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(path.as_uri())
    return page


def _whole(page):
    """Everything opened and drawn."""
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.locator(".items").scroll_into_view_if_needed()
    page.wait_for_selector(".items input[type=search]")


def test_choosing_changes_the_figure(page):
    figure = page.locator("#pairs-dots")
    before = figure.locator(".drawn").inner_html()
    figure.locator("[data-choice=k]").select_option("3")
    page.wait_for_function("before => document.querySelector('#pairs-dots .drawn').innerHTML !== before", arg=before)
    figure.locator("[data-choice=k]").select_option("10")
    page.wait_for_function("before => document.querySelector('#pairs-dots .drawn').innerHTML === before", arg=before)


def test_one_model_can_be_looked_at_alone(page):
    figure = page.locator("#pairs-dots")
    assert figure.locator(".panels svg:visible").count() == 3
    figure.locator("[data-panel]").select_option("toy")
    assert figure.locator(".panels svg:visible").count() == 1


def test_a_model_without_numbers_for_a_choice_is_told_to_have_none(page):
    figure = page.locator("#pairs-dots")
    assert "No published number for this choice; there are some for k: 3." in figure.inner_text()
    figure.locator("[data-choice=k]").select_option("3")
    figure.locator("[data-panel]").select_option("BERT (published)")
    assert figure.locator(".panels svg:visible").count() == 1
    assert "No published number" not in figure.inner_text()
    figure.locator("[data-choice=k]").select_option("10")
    figure.locator(".nobody").wait_for()
    assert figure.locator(".panels svg:visible").count() == 0
    figure.locator("[data-panel]").select_option("")
    assert figure.locator(".nobody").count() == 0


def test_the_legend_hides_a_series_and_brings_it_back(page):
    figure = page.locator("#pairs-lines")
    button = figure.locator(".legend button", has_text="solo")
    shown = figure.locator(".s:visible").count()
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator(".s:visible").count() < shown
    button.press("Enter")
    assert figure.locator(".s:visible").count() == shown


def test_hovering_tells_counts_and_interval(page):
    page.locator("#pairs-dots .p").first.hover()
    told = page.locator("#tip").inner_text()
    assert "40 items" in told
    assert "[" in told


def test_items_are_searched_sorted_and_paged(page):
    _whole(page)
    items = page.locator(".items")
    assert items.locator("tbody tr").count() == 20
    page.wait_for_function("document.querySelector('.items .controls:last-child').innerText.includes('of 900')")
    items.locator("button", has_text="next").click()
    assert "21 to 40 of 900" in items.inner_text()
    items.locator("input").fill("number 123 ")
    page.wait_for_function("document.querySelectorAll('.items tbody tr').length === 3")
    items.locator("input").fill("")
    page.wait_for_function("document.querySelectorAll('.items tbody tr').length === 20")
    head = items.locator("th", has_text="preference nats")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    column = [t.inner_text() for t in items.locator("tbody td.num").all()]
    values = [float(text.replace("−", "-")) for text in column]
    assert values == sorted(values, reverse=True)
    items.locator("select").nth(1).select_option(label=CATEGORIES[-1])
    page.wait_for_function("document.querySelector('.items .controls:last-child').innerText.includes('of 300')")


def test_tables_are_saved_as_csv_and_latex(page):
    for kind, start in (("csv", "family,"), ("tex", r"\begin{table}")):
        with page.expect_download() as saved:
            page.locator(f"[data-export=pairs-summary] [data-as={kind}]").click()
        assert saved.value.suggested_filename == f"pairs-summary.{kind}"
        assert saved.value.path().read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_people_with_aids(chromium, page_path, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = _open(chromium, page_path, color_scheme=scheme)
    _whole(page)
    found = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found] == []
    page.context.close()


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_the_page_is_never_wider_than_the_window(chromium, page_path, width):
    page = _open(chromium, page_path, viewport={"width": width, "height": 800})
    _whole(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_labels_neither_overlap_nor_leave_their_picture(chromium, page_path):
    """At the size people see them."""
    page = _open(chromium, page_path)
    assert page.evaluate(CROWDED) == []
    page.context.close()


CROWDED = """() => [...document.querySelectorAll('.panels svg')].flatMap(svg => {
    const out = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    const left = boxes.filter(([, x]) => x.left < out.left - 1 || x.right > out.right + 1).map(([a]) => `out: ${a}`);
    return left.concat(boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) =>
        x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 2 && y.top < x.bottom - 2)
        .map(([b]) => `${a} / ${b}`)));
})"""


def test_without_scripts_the_first_of_everything_is_there(chromium, page_path):
    page = _open(chromium, page_path, java_script_enabled=False)
    assert page.locator(".panels svg:visible").count() > 3
    assert page.locator(".items tbody tr").count() == 8
    assert page.locator(".choose:visible").count() == 0
    page.context.close()


def test_many_undecided_findings_are_opened_when_asked_for(page):
    folded = page.locator("#answer .fold")
    assert folded.locator("summary").all_inner_texts() == ["pairs: 10"]
    assert folded.locator("li:visible").count() == 0
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.locator("li:visible").count() == 10


def test_it_prints(chromium, page_path):
    page = _open(chromium, page_path, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#answer .fold li:visible").count() == 10  # with what is folded on the screen
    assert page.locator("nav:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.context.close()
