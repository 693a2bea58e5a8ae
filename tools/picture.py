"""Takes the picture of a report that the documentation shows: its beginning, with two findings of each kind.

    python tools/picture.py runs/demo/report.html docs/pictures/report.png

Needs playwright and chromium (tools/browser.sh).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, GAP = 1180, 18
SHORTENED = "nav, .findings li:nth-child(n+3) {display: none}"  # two findings of each kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    asked = parser.parse_args()
    asked.picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
        page.goto(asked.page.resolve().as_uri())
        page.add_style_tag(content=SHORTENED)
        last = page.locator(".fig").first
        last.scroll_into_view_if_needed()  # a chart is drawn when it comes into view
        last.locator(".chart svg").first.wait_for()
        page.evaluate("scrollTo(0, 0)")
        box = last.bounding_box()
        height = box["y"] + box["height"]
        page.set_viewport_size({"width": WIDTH, "height": int(height) + GAP})
        page.screenshot(path=asked.picture)
        browser.close()
    print(f"{asked.picture}: {asked.picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
