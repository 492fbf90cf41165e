"""Facets in a real browser: the brush over years, and what else a click or a key sets."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import assert_fits
from tests.browser.conftest import Visit

pytestmark = pytest.mark.usefixtures("demo_indexed")


def test_years_are_chosen_by_dragging_or_typing_and_values_by_a_click(visit: Visit) -> None:
    page = visit.open("/?corpus=demo&seed=demo-0232&aspect=method")
    expect(page.locator("article").first).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("summary", has_text="Filters").click()
    bars = page.get_by_role("img", name=re.compile("^Year: 20"))
    expect(bars).to_be_visible()
    bars.scroll_into_view_if_needed()
    box = bars.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("where=year%3E%3D20.*year%3C%3D20"))
    expect(page.get_by_text("Filters (2 set)")).to_be_visible()
    years = page.get_by_role("group", name="Year: range")
    low = years.get_by_label("from")
    expect(low).not_to_have_value("")
    low.fill("2012")
    low.press("Enter")
    expect(page).to_have_url(re.compile("year%3E%3D2012"))
    page.get_by_role("checkbox", name=re.compile("^Method")).check()
    expect(page).to_have_url(re.compile("has.aspect%3Dmethod"))
    expect(page.get_by_text("Filters (3 set)")).to_be_visible()
    visit.shoot("explore-facets")
    page.set_viewport_size({"width": 390, "height": 844})
    assert_fits(page)
    page.get_by_role("button", name="Clear all filters").click()
    expect(page).not_to_have_url(re.compile("where="))
    expect(bars).to_be_visible()
