"""A browser for the page: Debian's chromium, or whatever CHROMIUM names. Without one these tests are skipped."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import made_runs
from trueprobe.probes import Figure, ItemTable, Table
from trueprobe.results.render import page as report
from trueprobe.runs import load_run
from trueprobe.runs.schema import PublishedNumber
from trueprobe.statistics.rows import FlipShares, NearTies
from trueprobe.types import Verdict

MODELS = ("solo", "other")
CATEGORIES = ("age", "race", "religion or its absence, as said")


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium; tools/browser.sh installs it")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def page_path(tmp_path_factory):
    """A run with everything a page can have: two models and a family, choices, claims, flips, 300 items."""
    rng = np.random.default_rng(1)
    cards = [*(made_runs.card(name) for name in MODELS), *made_runs.family("toy", 3)]
    folder = tmp_path_factory.mktemp("browser") / "run"
    items = _items()
    values = zip(items["item"], rng.normal(size=len(items)), strict=True)
    observed = pd.DataFrame([made_runs.observation(name, float(value)) for name, value in values])
    made_runs.write(
        folder,
        cards,
        _estimates(cards, rng),
        _claims(cards),
        _declaration(),
        observed.assign(category=items["category"]),
        items,
        tables={FlipShares: _flips()},
    )
    path = folder / "report.html"
    path.write_text(report.html(load_run(folder)), encoding="utf-8")
    return path


def _estimates(cards, rng):
    rows = [
        made_runs.estimate(name, measure, float(rng.uniform(0.3, 0.8)), category=category, k=k, neutral=neutral, **more)
        for name, more in [*((card.name, {}) for card in cards), ("toy", {"level": "family", "n_seeds": 3})]
        for measure, neutral in (("preference", 0.5), ("ties", None))
        for category in CATEGORIES
        for k in ("3", "10")
    ]
    return [replace(row, verdict=Verdict.DESCRIPTIVE) if row.neutral is None else row for row in rows]


def _claims(cards):
    claims = [made_runs.claim(card.name, "one", 0.2, Verdict.AS_PUBLISHED) for card in cards]
    claims.append(made_runs.claim("toy", "one", 0.2, Verdict.AS_PUBLISHED, level="family", n_seeds=3))
    claims.append(made_runs.claim("solo", "two", -0.2, Verdict.OPPOSITE))
    names = ["two", *(f"open{n}" for n in range(9))]
    return claims + [made_runs.claim("other", name, 0.0, Verdict.UNDECIDED) for name in names]


def _declaration():
    order = {"k": ("10", "3")}
    dots = Figure(
        "dots", "Dots", "…", ("preference",), "category", "dots", panels=("model",), choose=("k",), order=order
    )
    lines = Figure(
        "lines", "Lines", "…", ("preference", "ties"), "k", "lines", panels=("category",), choose=("measure",)
    )
    published = PublishedNumber(
        measure="preference", model="BERT", value=0.6, source="table 1", conditions={"k": "3", "category": "age"}
    )
    return made_runs.declaration(
        figures=(dots, lines),
        tables=(Table("sample", "Sample", "…", "items", ("category",)),),
        summary=replace(made_runs.SUMMARY, where={"k": "10"}),
        item_table=ItemTable(("preference_nats",), "preference_nats"),
        published=(published,),
    )


def _items():
    numbers = range(300)
    frame = pd.DataFrame({"item": [f"i{n}" for n in numbers], "text": [f"Prompt number {n} ___." for n in numbers]})
    return frame.assign(category=[CATEGORIES[n % 3] for n in numbers], group_item=frame["item"])


def _flips():
    parts = ((NearTies.INCLUDED, (0.7, 0.3)), (NearTies.EXCLUDED, (0.9, 0.1)))
    return [
        FlipShares("pairs", "toy", None, "age", ties, 40, 3, against, share, 0.0, 0.3, 0.6)
        for ties, shares in parts
        for against, share in enumerate(shares)
    ]


@pytest.fixture(scope="session")
def context_of(chromium):
    """context_of(color_scheme="dark") is the same window each time; the page stores nothing, so its tabs share none."""
    contexts = {}

    def made(**options):
        viewport = options.pop("viewport", {"width": 1200, "height": 900})
        key = (*viewport.values(), *options.items())
        if key not in contexts:
            contexts[key] = chromium.new_context(viewport=viewport, **options)
        return contexts[key]

    return made


@pytest.fixture
def open_page(context_of, page_path):
    """Opens the page, with all it asks for and complains about; closed at the end."""
    pages = []

    def opened(path=page_path, **options):
        page = context_of(**options).new_page()
        pages.append(page)
        page.complaints, page.asked = [], []
        page.on("console", lambda m: page.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-drawn]", state="attached")
        return page

    yield opened
    for page in pages:
        page.close()


@pytest.fixture
def page(open_page, page_path):
    """A page that in the end had nothing to complain about and fetched nothing."""
    opened = open_page()
    yield opened
    assert opened.complaints == []
    assert [url for url in opened.asked if not url.startswith("blob:")] == [page_path.as_uri()]


@pytest.fixture
def whole():
    """Everything opened and drawn."""

    def show(page):
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.locator(".items").scroll_into_view_if_needed()
        page.wait_for_selector(".items input[type=search]")

    return show
