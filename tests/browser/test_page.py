"""The page in a browser: no errors, nothing fetched, controls that work, nothing serious for people with aids."""

from __future__ import annotations

import pytest

from conftest import CATEGORIES

pytestmark = pytest.mark.slow


def test_items_are_searched_sorted_and_paged(page, whole):
    whole(page)
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
    for kind, start in (("csv", "probe,model,"), ("tex", r"\begin{table}")):
        with page.expect_download() as saved:
            page.locator(f"[data-export=pairs-summary] [data-as={kind}]").click()
        assert saved.value.suggested_filename == f"pairs-summary.{kind}"
        assert saved.value.path().read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_people_with_aids(open_page, whole, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(color_scheme=scheme)
    whole(page)
    violations = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in violations] == []


@pytest.mark.parametrize("width", [360, 390, 768, 1200])
def test_the_page_is_never_wider_than_the_window(open_page, whole, width):
    page = open_page(viewport={"width": width, "height": 800})
    whole(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_many_undecided_findings_are_opened_when_asked_for(page):
    folded = page.locator("#answer .fold")
    assert folded.locator("summary").all_inner_texts() == ["pairs: 10"]
    assert folded.locator("li:visible").count() == 0
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.locator("li:visible").count() == 10


def test_it_prints(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#answer .fold li:visible").count() == 10  # with what is folded on the screen
    assert page.locator("nav:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
