"""Makes ``assets/map.png``: the map of the demo by background and by method, side by side.

``python assets/figures/make_map.py HOME`` opens the app on a home whose demo has a map
(``seedlens map demo``). Points have the colours of the background's clusters in both.
"""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402 - needs the path above

from tests.browser.conftest import running_app  # noqa: E402
from tests.support import ARGUMENTS, CHROMIUM  # noqa: E402

SHEET = """<body style="margin: 0; background: #fbfaf6; color: #23211c; font: 15px system-ui">
<div id="sheet" style="display: flex; gap: 16px; padding: 14px; width: max-content">{}</div>"""
PART = """<figure style="margin: 0"><figcaption style="font: 600 17px Georgia, serif;
padding: 0 0 8px">{}</figcaption><img src="data:image/png;base64,{}" width="600"></figure>"""
LAYOUTS = {
    "background": "By background: what the abstracts are about",
    "method": "By method: the same abstracts, coloured as on the left",
}


def picture(browser: Browser, url: str) -> bytes:
    """Both layouts on a sheet, as PNG."""
    parts = []
    for layout, words in LAYOUTS.items():
        page = browser.new_page(viewport={"width": 1000, "height": 820})
        page.goto(f"{url}/map?corpus=demo&layout={layout}&colour=cluster:background")
        page.locator(".cluster:visible").first.wait_for()
        page.wait_for_load_state("networkidle")
        shot = base64.b64encode(page.locator(".stage").screenshot()).decode()
        parts.append(PART.format(words, shot))
        page.close()
    page = browser.new_page(viewport={"width": 1300, "height": 800}, device_scale_factor=1.25)
    page.set_content(SHEET.format("".join(parts)))
    return page.locator("#sheet").screenshot()


if __name__ == "__main__":
    home = Path(sys.argv[1])
    chromium = next(path for name in CHROMIUM if (path := shutil.which(name)))
    with running_app(home, home / "app.log") as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        (ROOT / "assets" / "map.png").write_bytes(picture(browser, app.url))
        browser.close()
