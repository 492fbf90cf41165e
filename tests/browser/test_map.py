"""The map: points drawn with WebGL, what selects them, and what the page makes of it."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.map_panning import show
from pages._map.map_parts import rows_from_bits
from tests.browser.browser_steps import assert_fits, until

POINTS = 2_000


@pytest.fixture(scope="module")
def drawn(browser):
    """The component with synthetic points, without an app behind it."""
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.set_default_timeout(30_000)
    show(page, POINTS)
    yield page
    context.close()


def told(page):
    """The rows that the component said last were selected."""
    events = page.evaluate("window.told ?? []")
    return rows_from_bits(events[-1]["rows"], POINTS) if events else []


def drag(page, *share):
    """Press, move and release on the map, at shares of its width and height."""
    box = page.locator(".stage").bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in share]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()


def test_a_lasso_selects_what_lies_inside_and_one_around_nothing_says_so(drawn):
    drawn.get_by_role("button", name="Lasso").click()
    drag(drawn, (0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99))
    expect(drawn.get_by_role("status")).to_have_text(f"Selected: {POINTS:,} documents")
    assert told(drawn) == list(range(POINTS))
    drag(drawn, (0.002, 0.002), (0.02, 0.002), (0.02, 0.02))
    expect(drawn.get_by_role("status")).to_have_text("Nothing selected")
    assert told(drawn) == list(range(POINTS))
    drawn.locator("canvas").press("Escape")
    expect(drawn.get_by_role("status")).to_have_text("Nothing selected")
    assert told(drawn) == []


def test_documents_without_an_aspect_leave_its_map_with_a_word_about_them(drawn):
    drawn.emulate_media(reduced_motion="reduce")
    drawn.evaluate("window.render({ layout: 'method' })")
    expect(drawn.locator(".margin")).to_contain_text("documents without method are not on this map")
    drawn.evaluate("window.render({ layout: 'document' })")
    expect(drawn.locator(".margin")).to_be_hidden()


@pytest.mark.nightly
def test_a_hundred_thousand_points_fit_a_phone(browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    sizes = show(page, 100_000)
    assert sizes["document"] < 1_000_000
    assert sizes["data"] < 50_000
    assert_fits(page)
    drag(page, (0.5, 0.5), (0.2, 0.4), (0.7, 0.6))
    expect(page.locator(".cluster:visible").first).to_be_visible()
    context.close()


def test_a_browser_without_webgl_says_so(browser):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    show(page, 3)
    expect(page.locator(".missing")).to_contain_text("needs a browser with WebGL 2")
    context.close()


@pytest.mark.usefixtures("demo_indexed")
def test_the_page_shows_what_was_chosen_and_leads_to_it(visit):
    page = visit.open("/map?corpus=demo&colour=cluster:background")
    names = page.locator(".cluster:visible")
    expect(names.first).to_be_visible()
    names.first.press("Enter")
    expect(page.get_by_role("heading", name="documents selected")).to_be_visible()
    expect(page).to_have_url(re.compile("selection="))
    page.get_by_text("Method", exact=True).click()
    expect(page.locator('.root[data-layout="method"]')).to_be_visible()
    page.get_by_label("Find in titles on the map").fill("heat")
    page.locator(".found .hit").first.press("Enter")
    expect(page.get_by_role("heading", name="1 document selected")).to_be_visible()
    assert_fits(page)
    page.wait_for_timeout(1000)  # the map has moved to it
    seen = sorted(names.all_inner_texts())
    title = page.locator(".map-rows a").first
    words = title.inner_text()
    title.click()
    expect(page.locator(".st-key-explore_seed").get_by_text(words)).to_be_visible()
    page.get_by_role("link", name="Show on the map").click()
    expect(page.locator('.root[data-layout="method"]')).to_be_visible()
    until(page, lambda: sorted(names.all_inner_texts()) == seen, what="the part that was seen")
    expect(page).to_have_url(re.compile("&at="))
    page.reload()
    expect(names.first).to_be_visible(timeout=60_000)
    until(page, lambda: sorted(names.all_inner_texts()) == seen, what="the part of the link")
    page.locator("canvas").press("0")
    expect(page).not_to_have_url(re.compile("&at="))
    page.go_back()
    expect(page.locator("section.card .title")).to_have_text(words)
    page.go_forward()
    until(page, lambda: len(names.all_inner_texts()) > 2, what="all clusters, as the map was left")
