"""The explorer in a browser: one types, adds a clue, sees what `run` counts; the page asks nobody but its server."""

from __future__ import annotations

import pytest

import explorers

pytestmark = pytest.mark.slow


@pytest.fixture
def visit(context_of, browser_of_run):
    """Opens the explorer at a state; in the end nothing was complained about, and nobody else was asked."""
    pages = []

    def opened(state="", served=browser_of_run, **options):
        page = context_of(**options).new_page()
        pages.append(page)
        page.complaints = []
        page.on("console", lambda m: page.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(f"dialog {dialog.message}"))
        page.on(
            "request",
            lambda request: page.complaints.append(request.url) if not request.url.startswith(served.url) else None,
        )
        page.goto(served.url + state)
        return page

    yield opened
    for page in pages:
        assert page.complaints == []
        page.close()


def settled(page, what="asked"):
    """After an answer to the newest question."""
    page.wait_for_selector(f"html[data-{what}]", state="attached")
    page.wait_for_selector(".answers:not(.waiting)")
    page.wait_for_timeout(350)
    page.wait_for_selector(".answers:not(.waiting)")


def seeds(page, row, family="toy"):
    """Every seed's number of a row, with all its digits."""
    text = (
        page.locator(f"section.card[aria-label={family}] .lean", has_text=row)
        .locator("b.num")
        .get_attribute("data-seeds")
    )
    return [float(number) for number in text.split()]


def write(page, label, text):
    page.get_by_label(label).fill(text)


@pytest.fixture(scope="module")
def overturned(toy_run):
    """An item of the run whose preference, at base and with knowledge, is on two sides of zero in the first seed."""
    rows = toy_run.observations("counteracts")
    rows = rows[(rows["model"] == "toy-seed0") & (rows["why_not"] == "")]
    after, shift = rows["female_minus_male_all"], rows["shift_female_minus_male_all"]
    turned = rows[after * (after - shift) < 0]
    assert len(turned), "no preference changes sides in this run"
    return turned.iloc[0]["item"]


def test_a_first_visit_shows_an_example(visit):
    page = visit()
    settled(page)
    assert "___" in page.get_by_label("Sentence with a blank").input_value()
    assert page.get_by_label("Sentence in front").input_value()
    assert page.locator(".headline").inner_text().startswith("The sentence in front moves ")
    assert len(seeds(page, "shift")) == 2
    assert page.locator(".toplist li").count() == 10 * 2 * 2
    assert page.locator(".clue").count() == 9


def test_typing_a_clue_shows_the_shift_that_run_counts_and_the_change_of_sides(
    visit, toy_run, browser_of_run, overturned
):
    asked = browser_of_run.post("/api/item", {"probe": "counteracts", "item": overturned, "family": "toy"})
    page = visit("#ask?text=x&lists=gender&models=toy")
    settled(page)
    write(page, "Sentence with a blank", asked["text"])
    settled(page)
    alone = seeds(page, "alone")
    page.evaluate("document.querySelector('.card .bar').same = true")
    assert page.locator(".lean", has_text="shift").is_hidden()
    page.get_by_label("Sentence in front").press_sequentially(asked["before"], delay=5)
    page.wait_for_selector(".lean.shift:visible")
    settled(page)
    rows = toy_run.observations("counteracts").set_index(["item", "model"]).loc[overturned]
    expected = [rows.loc[f"toy-seed{seed}"] for seed in range(2)]
    assert seeds(page, "with clue") == [row["female_minus_male_all"] for row in expected]
    assert seeds(page, "shift") == [row["shift_female_minus_male_all"] for row in expected]
    assert alone == seeds(page, "alone")
    assert page.evaluate("document.querySelector('.card .bar').same")  # bars are moved, not drawn again
    assert alone[0] * seeds(page, "with clue")[0] < 0
    assert "of 2 seeds change sides" in page.locator(".headline").inner_text()


def test_headline_names_the_model_that_changes_sides_wherever_it_stands(visit):
    page = visit()
    shifts = {"first": (0.3, 0.1), "second": (0.1, -0.05), "third": (0.1, 0.2)}
    families = [
        {"family": {"name": name}, "alone": [alone], "front": [front], "shift": [front - alone]}
        for name, (alone, front) in shifts.items()
    ]
    address = "document.querySelector('script[src]').src.replace('main', 'headline')"
    script = f"async (families) => (await import({address})).headline(families, ['women', 'men'], true)"
    text = page.evaluate(script, families)
    assert text.startswith("The sentence in front moves second by 15.0 points towards men")
    assert "the preference changes from women to men" in text
    assert "third moves the other way" in text


def test_clues_are_about_the_occupation_that_is_typed(visit):
    page = visit()
    settled(page)
    assert "lawyer" in page.locator(".clue-text").first.inner_text()
    write(page, "Sentence with a blank", "The ___ works as a nurse.")
    settled(page)
    page.wait_for_function("document.querySelector('.clue-text').textContent.includes('nurse')")
    assert page.get_by_label("Sentence with a blank").input_value() == "The ___ works as a nurse."
    write(page, "Sentence with a blank", "The ___ is at sea.")
    settled(page)
    assert "not about your sentence" in page.locator(".suggest .cap").inner_text()


def test_one_click_adds_a_clue_and_another_removes_it(visit):
    page = visit()
    settled(page)
    clue = page.locator(".clue").first
    text = clue.locator(".clue-text").evaluate("e => e.firstChild.textContent")
    clue.click()
    assert page.get_by_label("Sentence in front").input_value() == text
    settled(page)
    assert clue.get_attribute("aria-pressed") == "true"
    with_clue = seeds(page, "shift")
    minis = page.locator(".clue").first.locator(".mini .num")
    minis.first.wait_for()
    clue.click()
    assert page.get_by_label("Sentence in front").input_value() == ""
    settled(page)
    assert page.locator(".lean.shift").first.is_hidden()
    assert all(with_clue)


def test_properties_and_distractors_are_added_one_by_one(visit):
    page = visit()
    settled(page)
    for kind in ("Properties", "Distractors"):
        page.get_by_role("button", name=kind, exact=True).click()
        settled(page)
        before = page.get_by_label("Sentence with a blank").input_value()
        page.locator(".growth svg").wait_for()
        page.locator(".clue").nth(1).click()
        settled(page)
        assert page.locator(".growth svg").is_visible()
        after = page.get_by_label("Sentence with a blank").input_value()
        assert page.locator(".clue").nth(1).inner_text() in after
        assert len(after) > len(before)
        page.locator(".clue").nth(1).click()
        settled(page)
        assert page.get_by_label("Sentence with a blank").input_value() == before
        assert page.locator(".clue[aria-pressed=true]").count() == (kind == "Properties")


def test_the_last_question_is_the_one_that_is_answered(visit, browser_of_run):
    page = visit("#ask?text=x&models=toy")
    last = "The nurse met the ___ ."
    for text in ("The ___", "The man met the ___", "The woman met the ___ .", last):
        write(page, "Sentence with a blank", text)
        page.keyboard.press("Enter")
    settled(page)
    asked = {"prompts": [{"text": last}], "lists": "gender", "models": ["toy"]}
    answers = browser_of_run.ask("/api/ask", asked)
    assert seeds(page, "alone") == [line["readings"][0]["margin"] for line in answers.values()]


def test_the_state_is_in_the_address_and_copies_give_the_same_numbers(visit, toy_specs, tmp_path, monkeypatch):
    page = visit()
    settled(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    write(page, "Sentence with a blank", 'The "nurse", she said, met the ___.')
    write(page, "Sentence in front", "The man's \\n was late.")
    settled(page)
    page.get_by_role("button", name="Copy link").click()
    again = visit(page.evaluate("navigator.clipboard.readText()").split("/")[-1])
    settled(again)
    for label in ("Sentence with a blank", "Sentence in front"):
        assert again.get_by_label(label).input_value() == page.get_by_label(label).input_value()
    assert seeds(again, "with clue") == seeds(page, "with clue")
    page.get_by_role("button", name="CSV row").click()
    header, row = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert header == "text,right,wrong"
    assert row.startswith('"The man\'s \\n was late. The ""nurse"", she said, met the ___.",')
    page.get_by_role("button", name="Python").click()
    code = page.evaluate("navigator.clipboard.readText()")
    printed = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    exec(compile(code, "copied", "exec"), {"print": printed.append, "__name__": "copied"})
    filled = printed[0][printed[0]["model"] == "toy-seed0"]
    top = filled[~filled["asked"]]["word"].str.strip().tolist()
    shown = page.locator("section.likeliest[aria-label$='toy'] .tops > div").nth(1).locator(".word").all_inner_texts()
    assert shown == top


NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>' onclick='alert(3)' {{7*7}} ___"


def test_text_is_only_ever_text(visit):
    page = visit()
    settled(page)
    for label in ("Sentence in front", "Sentence with a blank"):
        write(page, label, NASTY)
    page.get_by_label("Words counted").select_option(label="my own words")
    write(page, "First group", "<u>woman</u>, woman")
    write(page, "Second group", "<img src=x onerror=alert(4)>, man")
    settled(page)
    state = page.url.split("#")[1]
    assert page.locator("main img, main script, main u").count() == 0
    other = visit(f"#compare?a={NASTY}&b=x")
    settled(other, "compared")
    assert other.locator("main img, main script").count() == 0
    assert NASTY[:28] in other.locator(".colour").first.inner_text().replace("\n", "")
    other.goto(other.url.split("#")[0] + "#" + state)


def test_two_sentences_are_coloured_token_by_token(visit, browser_of_run):
    page = visit("#compare?a=The+nurse+met+the+man.&b=The+nurse+met+the+woman.&models=toy")
    settled(page, "compared")
    asked = {"first": "The nurse met the man.", "second": "The nurse met the woman.", "models": ["toy"]}
    answers = browser_of_run.ask("/api/compare", asked)
    assert seeds(page, "shared") == [line["shared"][0] - line["shared"][1] for line in answers.values()]
    assert seeds(page, "whole") == [line["whole"][0] - line["whole"][1] for line in answers.values()]
    assert page.locator(".colour .differs").all_inner_texts() == ["man", "woman"]
    token = page.locator(".colour .token").nth(1)
    tip = "e => getComputedStyle(e, '::after').content"
    assert "nats" not in token.evaluate(tip)
    token.hover()
    assert "nats" in token.evaluate(tip)
    assert page.locator(".colour").first.inner_text() == asked["first"]


def test_a_run_is_browsed_and_an_item_is_asked(visit, toy_run):
    page = visit("#run")
    page.wait_for_selector("html[data-listed]", state="attached")
    assert page.locator(".matrix tbody tr").count() > 0
    some = page.locator(".matrix tbody tr").count()
    page.get_by_role("checkbox", name="findings").check()
    assert page.locator(".matrix tbody tr").count() > some
    assert page.locator(".matrix .interval").first.inner_text().strip().startswith("[")
    page.locator(".controls select").nth(2).select_option(label="toy")
    page.wait_for_selector("html[data-listed='2']", state="attached")
    row = page.locator(".items tbody tr").first
    prompt = row.locator("td").first.inner_text().removesuffix(" →")
    row.locator("button.asks").click()
    page.wait_for_selector("#text")
    settled(page)
    front, text = (page.get_by_label(label).input_value() for label in ("Sentence in front", "Sentence with a blank"))
    assert f"{front} {text}".strip() == prompt
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["toy ×2"]
    page.go_back()
    page.wait_for_selector(".items tbody tr")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("state", "what"), [("", "asked"), ("#ask?text=nothing", "asked"), ("#compare", "compared"), ("#run", "listed")]
)
def test_nothing_for_people_with_aids_to_stumble_over(visit, scheme, state, what):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(state, color_scheme=scheme, bypass_csp=True)
    page.wait_for_selector(f"html[data-{what}]", state="attached")
    page.wait_for_timeout(600)
    violations = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in violations] == []


BEYOND = """width => [...document.querySelectorAll("body *")]
    .filter(one => one.getBoundingClientRect().right > width)
    .map(one => `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`)"""


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1440])
def test_the_explorer_is_never_wider_than_the_window(visit, width):
    for state, what in (("", "asked"), ("#compare", "compared"), ("#run", "listed")):
        page = visit(state, viewport={"width": width, "height": 844})
        page.wait_for_selector(f"html[data-{what}]", state="attached")
        beyond = page.evaluate(BEYOND, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (state, beyond)


def test_it_is_used_by_keys_alone(visit):
    page = visit()
    settled(page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    settled(page, "compared")
    assert page.locator("nav a[aria-current]").inner_text() == "Compare"
    page.keyboard.press("1")
    page.locator(".clue").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    settled(page)
    assert page.locator(".clue").nth(1).get_attribute("aria-pressed") == "true"
    assert page.evaluate("[...document.querySelectorAll('.clue')].indexOf(document.activeElement)") == 1
    page.get_by_label("Occupation").focus()
    page.get_by_label("Occupation").select_option(index=3)
    settled(page)
    assert page.evaluate("document.activeElement.tagName") == "SELECT"  # what was drawn anew has the focus still
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog").is_hidden()


def test_a_server_that_has_ended_is_named(context_of, toy_specs, tmp_path):
    with explorers.serving(toy_specs, store=tmp_path / "answers.sqlite") as served:
        page = context_of().new_page()
        page.goto(served.url)
        settled(page)
    write(page, "Sentence with a blank", "The man met the ___ .")
    page.locator(".problem", has_text="the server has ended").wait_for()
    page.close()
