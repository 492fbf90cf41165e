"""The Compare page in a real browser: its point, the papers behind it, and its charts as files."""

import json
import re
import struct
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import (
    assert_sound_figure,
    exported,
    read_text,
)
from tests.browser.conftest import visit_with

SEED = {"corpus": "demo", "seed": "demo-0232", "aspect": "method"}
pytestmark = pytest.mark.usefixtures("demo_indexed")
THREE = [
    {"name": "base", "wording": "Papers that use a similar method or procedure."},
    {"name": "mine", "wording": "The same kind of model, whatever the topic."},
    {"name": "none", "wording": ""},
]


def link(variants=THREE, **more):
    return "/compare?" + urlencode({**SEED, "variants": json.dumps(variants), **more})


def compared(page, verdicts=3):
    expect(page.locator(".cmp-verdict")).to_have_count(verdicts, timeout=60_000)
    expect(page.locator(".lines > g").first).to_be_attached()
    return page


def test_the_page_makes_its_point_and_leads_to_the_papers_behind_it(visit):
    page = compared(visit.open("/compare"))
    verdicts = page.locator(".cmp-verdict")
    expect(verdicts.nth(0)).to_contain_text("follows")
    expect(verdicts.nth(1)).to_contain_text("does not read wordings")
    expect(verdicts.nth(2)).not_to_contain_text("follows:")
    verdicts.nth(0).locator("summary").click()
    expect(verdicts.nth(0)).to_contain_text("RBO")
    for name in ("Rank similarity", "Relevance-adherence trade-off"):
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator(".st-key-compare_frontier_chart .main-svg").first).to_be_visible()
    visit.shoot("compare-light")

    page = compared(visit.open(link()))
    opened, mover = page.locator(".paper.on"), page.locator("article.paper .row").first
    mover.click()
    expect(opened.locator(".block").first).to_contain_text(THREE[0]["wording"])
    expect(opened.locator("mark").first).to_be_visible()
    expect(opened.locator(".tag, .same").first).to_be_visible()
    visit.shoot("compare-mover")
    mover.click()
    expect(opened).to_have_count(0)
    line = page.locator(".lines > g").nth(2)
    title = line.get_attribute("aria-label").rsplit(". Ranks: ", 1)[0]  # type: ignore[union-attr]
    line.focus()
    expect(page.locator(".status .title")).to_have_text(title)
    page.keyboard.press("Enter")
    expect(opened).to_contain_text(title)
    expect(opened.locator(".block")).to_have_count(3)
    expect(opened.locator(".pair").first).to_contain_text("seed")
    expect(page).to_have_url(re.compile("document="))
    expect(page.locator(".lines > g[aria-pressed='true']")).to_have_count(1)


CHARTS = ("rank flow", "rank similarity rbo", "similarity by aspect", "trade-off")
LONG = [{**row, "name": f"{row['name']}: a name of forty characters, or so"} for row in THREE]


@pytest.mark.nightly
@pytest.mark.parametrize("charts", [CHARTS[:1], CHARTS[1:]], ids=["rank flow", "others"])
def test_charts_are_exported_whole_on_white_with_their_letters_and_their_data(
    browser, server, charts
):
    visit = visit_with(browser, server, color_scheme="dark")
    wordings = [*LONG, *({**row, "name": f"again {row['name']}"} for row in LONG)]
    page = compared(visit.open(link(wordings)), verdicts=6)
    expect(page.locator(".st-key-compare_frontier_chart .main-svg").first).to_be_visible()
    sheet = page.context.new_page()
    for chart in charts:
        svg = read_text(exported(page, chart, "SVG"))
        assert_sound_figure(sheet, svg)
        data = read_text(exported(page, chart, "CSV")).splitlines()
        assert len(data) > 2
        assert THREE[0]["wording"] in "".join(data) or chart == "trade-off"
    png = exported(page, charts[0], "PNG")
    assert png.suggested_filename == f"seedlens-{charts[0].replace(' ', '-')}.png"
    content = png.path().read_bytes()
    assert png_size(content) == (1920, 1080)
    assert len(content) > 50_000, "not blank"
    assert visit.errors == []
    page.context.close()


def png_size(content):
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    return width, height
