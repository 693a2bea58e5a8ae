"""The page in a browser: no errors, nothing fetched, controls that work, nothing serious for people with aids."""

from __future__ import annotations

import pytest

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
    items.locator("select").nth(1).select_option(label="religion or its absence, as said")
    page.wait_for_function("document.querySelector('.items .controls:last-child').innerText.includes('of 300')")


def test_tables_are_saved_as_csv_and_latex(page):
    for kind, start in (("csv", "probe,model,"), ("tex", r"% \usepackage{")):
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


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_first_screen_has_the_answer(open_page, width, height):
    """The sentence, the matrix and how far to trust it: a reader who stops there has the answer."""
    page = open_page(viewport={"width": width, "height": height})
    for part in ("#sentence", "#matrix", ".key", "#how-far"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height, part
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width, part
    assert page.locator("#sentence").inner_text().startswith("One is so, solo, other and toy +20.0 points. Contra")


@pytest.mark.parametrize(("width", "rows", "columns"), [(1440, 8, 3), (390, 5, 3)])
def test_the_matrix_has_eight_rows_and_five_on_a_phone(open_page, width, rows, columns):
    page = open_page(viewport={"width": width, "height": 844})
    assert page.locator("#matrix tbody tr:visible").count() == rows
    assert page.locator("#matrix tbody tr:visible").first.locator("td:visible").count() == columns
    assert page.locator("#findings .whole tbody tr").count() == 14  # 11 claims, and 3 numbers of the summary


def test_an_interval_is_there_on_hovering_on_focus_and_for_screen_readers(page):
    value = page.locator("#matrix .value", has_text="20.0").first
    tip = value.locator(".tip")
    assert "[" in tip.text_content()
    assert tip.bounding_box()["width"] <= 1
    value.hover()
    assert tip.bounding_box()["width"] > 40
    page.mouse.move(0, 0)
    value.focus()
    assert tip.bounding_box()["width"] > 40


def test_columns_that_find_no_room_are_there_on_demand(open_page, whole):
    page = open_page(viewport={"width": 390, "height": 844})
    whole(page)
    for table in page.locator("table[data-fit]:visible").all():
        shown, room = table.evaluate("t => [t.offsetWidth, t.parentElement.clientWidth]")
        assert shown <= room + 1 or table.locator("thead th:visible").count() == 2
    items = page.locator(".items")
    some = items.locator("thead th:visible").count()
    items.locator("button.more").click()
    assert items.locator("thead th:visible").count() > some
    items.locator("button", has_text="next").click()  # other rows have the same columns
    assert items.locator("tbody tr").first.locator("td:visible").count() == items.locator("thead th:visible").count()


def test_findings_of_a_probe_are_opened_when_asked_for(page):
    folded = page.locator("#findings .fold").first
    assert folded.locator("summary").inner_text().startswith("pairs")
    assert folded.locator("tr:visible").count() == 0
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.locator("tbody tr:visible").count() == 14  # 11 claims, and 3 numbers of the summary


def test_it_prints(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#findings tbody tr:visible").count() == 14  # 11 claims, and 3 numbers of the summary
    folded = page.locator(".fold:has(.items) .items table")
    assert folded.bounding_box()["height"] > 100  # with what is folded on the screen
    assert page.locator("nav:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
