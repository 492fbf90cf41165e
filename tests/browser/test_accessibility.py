"""axe-core finds no violation of WCAG 2.2 AA on any page, light and dark, on any screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import assert_fits

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    },
    "resultTypes": ["violations"],
}
WIDTHS = (1400, 800, 700, 390)
"""Pixels; 700 is a window of 1,400 at 200 % zoom."""
EVERY = {"light": WIDTHS, "dark": WIDTHS}
DAILY = {"light": WIDTHS[:1], "dark": WIDTHS[-1:]}
NOT_OURS = {"exclude": [["[data-testid=stBaseButton-header]"]]}
"""Streamlit's button to stop a run, which fades in and out."""
ALIKE = "article:nth-of-type(n + 4), tbody tr:nth-of-type(n + 4)"
"""What follows three of its kind, which take most of the time."""
TWO = quote('[{"name": "method", "wording": "the method"}, {"name": "none", "wording": ""}]')
PAGES = {
    "explore": ("/", "article"),
    "table": ("/?view=table&from=2015", "table"),  # a filter unfolds the facets
    "map": ("/map?marks=results&colour=year&chosen=demo-0001", ".cluster"),
    "compare": (f"/compare?corpus=demo&seed=demo-0232&variants={TWO}", ".js-plotly-plot"),
    "present": ("/compare?present=1", "svg .lines"),
    "reading list": ("/reading_list", "h2"),
    "annotate": ("/annotate?part=new", "[role=radiogroup]"),
    "evaluate": ("/evaluate?collection=demo&systems=dense&seeds=1", "h2, h3"),
    "build": ("/build", "h2, h3"),
    "ask": ("/ask", "h2, textarea"),
    "library": ("/library", "h2"),
    "lens": ("/library?lens=demo", ".sl-paper"),
}


def violations(page):
    """What axe-core complains of, one line for each kind, with the first place."""
    found: dict[str, Any] = page.evaluate(
        "([where, rules]) => axe.run(where, rules)", [NOT_OURS, RULES]
    )
    return [
        f"{one['id']} ({len(one['nodes'])}): {one['nodes'][0]['html'][:200]} "
        f"{one['nodes'][0]['failureSummary'][:300]}"
        for one in found["violations"]
    ]


def lasting_violations(page):
    """Violations that are still there after two seconds: what fades in is pale for a moment."""
    for _ in range(5):
        found = violations(page)
        if not found:
            break
        page.wait_for_timeout(400)
    return found


@pytest.mark.parametrize(
    "screens",
    [pytest.param(DAILY, id="two"), pytest.param(EVERY, id="every", marks=pytest.mark.nightly)],
)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_meets_wcag_22_aa_in_light_and_dark_on_every_screen(
    visit, demo_indexed, name, screens
):
    path, ready = PAGES[name]
    page = visit.open(path)
    problems = []
    for scheme, widths in screens.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        if scheme == "dark" and page.locator(".js-plotly-plot").count():
            page.reload()  # charts take the colours of the scheme when the page runs
        expect(page.locator(ready).first).to_be_visible(timeout=60_000)
        expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
        expect(page.locator("[data-stale=true]")).to_have_count(0)
        page.locator(ALIKE).evaluate_all(
            "all => all.forEach((one) => (one.style.display = 'none'))"
        )
        page.evaluate(AXE)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            problems += [f"{scheme}, {width}: {one}" for one in lasting_violations(page)]
            assert_fits(page)
    assert not problems, "\n".join(problems)
