"""Takes the picture of a report that the documentation shows: its first screen.

    python tools/picture.py runs/demo/report.html docs/pictures/report.png

Needs playwright and chromium (tools/browser.sh).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

SCREEN = {"width": 1440, "height": 900}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    asked = parser.parse_args()
    asked.picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SCREEN)
        page.goto(asked.page.resolve().as_uri())
        page.screenshot(path=asked.picture)
        browser.close()
    print(f"{asked.picture}: {asked.picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
