"""Takes the pictures that the documentation shows: the first screen of a report, or of an explorer that is running.

    python tools/picture.py runs/demo/report.html docs/pictures/report.png
    python tools/picture.py http://127.0.0.1:8765/TOKEN/ docs/pictures/explore.png

Needs playwright and chromium (tools/browser.sh).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

SCREEN = {"width": 1440, "height": 900}
LOW_SCREEN = {"width": 1200, "height": 640}  # of the explorer, which needs no more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", help="a file, or the address of an explorer")
    parser.add_argument("picture", type=Path)
    asked = parser.parse_args()
    asked.picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        is_address = asked.page.startswith("http://")
        page = browser.new_page(viewport=LOW_SCREEN if is_address else SCREEN)
        page.goto(asked.page if is_address else Path(asked.page).resolve().as_uri())
        if is_address:  # models may have to be opened first
            page.wait_for_selector(".mini", timeout=120_000)
            page.wait_for_timeout(1000)
        page.screenshot(path=asked.picture)
        browser.close()
    print(f"{asked.picture}: {asked.picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
