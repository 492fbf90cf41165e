"""The main job in a real browser: seed, aspect, evidence, re-seed, pages, links, grades."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.browser_steps import assert_fits, download, read_text
from tests.browser.conftest import Server, Visit, running_app, visit_with

pytestmark = pytest.mark.usefixtures("demo_indexed")
METHOD = "/?corpus=demo&seed=demo-0275&aspect=method"


def titles(page: Page) -> list[str]:
    return page.locator("article .title").all_inner_texts()


def results(page: Page) -> Locator:
    articles = page.locator("article")
    expect(articles.first).to_be_visible()
    return articles


def test_a_new_home_shows_how_far_the_demo_is_and_then_its_results(
    browser: Browser, tmp_path: Path
) -> None:
    with running_app(tmp_path / "new", tmp_path / "app.log") as app:
        visit = visit_with(browser, app)
        page = visit.open()
        expect(page.get_by_text("Setting up")).to_be_visible()
        visit.shoot("first-start")
        expect(page.locator("article")).to_have_count(20, timeout=120_000)
        page.context.close()
        assert visit.errors == []


def test_a_first_visit_opens_the_demo_on_a_seed_with_results_and_hints(visit: Visit) -> None:
    page = visit.open()
    expect(results(page)).to_have_count(20)
    expect(page.get_by_text("How to read this page")).to_be_visible()
    expect(page.get_by_role("button", name="M · Method")).to_have_attribute("aria-pressed", "true")
    visit.shoot("explore-light")
    page.get_by_role("button", name="Got it").click()
    expect(page.get_by_text("How to read this page")).to_have_count(0)


def test_the_page_is_readable_in_the_dark_and_in_a_narrow_window(
    browser: Browser, server: Server
) -> None:
    for name, context in (
        ("explore-dark", {"color_scheme": "dark"}),
        ("explore-narrow", {"viewport": {"width": 800, "height": 900}}),
    ):
        visit = visit_with(browser, server, **context)
        page = visit.open(METHOD)
        expect(results(page)).to_have_count(20)
        assert_fits(page)
        visit.shoot(name)
        page.context.close()


def test_a_seed_is_found_by_typing_words_of_its_title(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    page.get_by_role("button", name="Choose another seed").click()
    page.get_by_label("Words of the title").fill("cooling trees")
    rows = page.locator(".rows .row")
    expect(rows.first).to_contain_text("ooling")
    chosen = rows.nth(1).locator(".text").inner_text()
    rows.nth(1).click()
    expect(page.locator("section.card .title")).to_have_text(chosen)
    # The seed is never among its own results, which are drawn a moment after its card.
    expect(page.locator("article .title").get_by_text(chosen, exact=True)).to_have_count(0)


def test_clicking_a_role_makes_it_the_aspect_and_changes_the_ranking(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    before = titles(page)
    page.get_by_role("button", name="R · Result").click()
    expect(page).to_have_url(re.compile("aspect=result"))
    expect(page.get_by_role("button", name="R · Result")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("article .title").first).not_to_have_text(before[0])
    assert titles(page) != before


def test_every_result_shows_its_passage_beside_the_seeds_with_words_marked(visit: Visit) -> None:
    page = visit.open(METHOD)
    articles = results(page)
    for article in articles.all()[:5]:
        expect(article.locator(".pair").first).to_contain_text("seed")
        expect(article.locator(".pair").nth(1)).to_contain_text("this")
    expect(page.locator("article mark").first).to_be_visible()
    first = articles.first
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".why")).to_contain_text("Similar in method")
    assert first.locator(".abstract .line").count() >= 5
    visit.shoot("explore-unfolded")


def test_one_sentence_of_the_seed_can_be_what_should_be_alike(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    page.locator("section.card .sentence").first.click()
    expect(page).to_have_url(re.compile("focus=0"))
    expect(page.locator("section.card .hint")).to_contain_text("sentences you picked")


def test_what_a_wording_is_read_as_can_be_corrected_and_is_kept_in_the_link(visit: Visit) -> None:
    words = "similar evaluation set-up, ignore the topic"
    page = visit.open(f"/?corpus=demo&seed=demo-0275&q={quote(words)}")
    results(page)
    reading = page.get_by_role("region", name="What the search is read as")
    expect(reading.get_by_role("listitem")).to_have_text(
        [re.compile("Method"), re.compile("− Back")]
    )
    reading.get_by_role("button", name="Remove Background").click()
    expect(page).to_have_url(re.compile("reading=%2Bmethod"))
    expect(reading.get_by_role("listitem")).to_have_count(1)
    reading.get_by_role("button", name="+ Method: Method is asked for").click()
    expect(reading.get_by_role("listitem")).to_have_text(re.compile("− Method"))
    reading.get_by_label("Add to what").select_option("+result")
    expect(reading.get_by_role("listitem")).to_have_count(2)
    visit.shoot("explore-reading")
    reading.get_by_role("button", name="Let the words decide").click()
    expect(page).not_to_have_url(re.compile("reading="))
    expect(reading).to_contain_text("− Background")
    expect(page.get_by_label("In your own words")).to_have_value(words)


def test_a_result_becomes_the_seed_and_the_browsers_back_button_returns(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    seed = page.locator("section.card .title").inner_text()
    second = titles(page)[1]
    page.locator("article").nth(1).get_by_role("button", name="use as seed").click()
    expect(page.locator("section.card .title")).to_have_text(second)
    page.go_back()
    expect(page.locator("section.card .title")).to_have_text(seed)


def test_the_trail_walks_back_to_an_earlier_seed(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    seed = page.locator("section.card .title").inner_text()
    page.locator("article").first.get_by_role("button", name="use as seed").click()
    expect(page.locator("section.card .title")).not_to_have_text(seed)
    step = page.locator(".st-key-explore_trail button").first
    expect(step).to_be_enabled()
    step.click()
    expect(page.locator("section.card .title")).to_have_text(seed)


def test_pages_go_on_where_the_last_one_ended(visit: Visit) -> None:
    page = visit.open(METHOD + "&page=2")
    results(page)
    assert page.locator("article .rank").first.inner_text() == "21"
    first_page = visit.open(METHOD)
    results(first_page)
    first_page.get_by_role("button", name="Page 2").click()
    expect(first_page.locator("article .rank").first).to_have_text("21")


def test_a_reload_and_a_shared_link_bring_the_same_view_back(
    visit: Visit, browser: Browser, server: Server
) -> None:
    page = visit.open("/?corpus=demo&seed=demo-0353&aspect=result&steer=0.4&from=2012")
    results(page)
    shown = titles(page)
    page.reload()
    results(page)
    assert titles(page) == shown
    other = visit_with(browser, server)
    other.page.goto(page.url)
    results(other.page)
    assert titles(other.page) == shown
    other.page.context.close()


def test_a_grade_is_kept_across_a_reload_and_can_be_taken_back(visit: Visit) -> None:
    page = visit.open("/?corpus=demo&seed=demo-0100&aspect=background")
    grade = results(page).nth(2).get_by_role("button", name="2: Similar")
    grade.click()
    expect(grade).to_have_attribute("aria-pressed", "true")
    page.wait_for_timeout(800)
    page.reload()
    grade = results(page).nth(2).get_by_role("button", name="2: Similar")
    expect(grade).to_have_attribute("aria-pressed", "true")
    grade.click()
    expect(grade).to_have_attribute("aria-pressed", "false")
    page.wait_for_timeout(800)
    page.reload()
    expect(results(page).nth(2).get_by_role("button", name="2: Similar")).to_have_attribute(
        "aria-pressed", "false"
    )


def test_kept_documents_can_be_taken_home_as_bibtex(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page).first.get_by_role("button", name="Keep this document").click()
    expect(page.get_by_role("button", name="Trail · 1 kept")).to_be_visible()
    page.get_by_role("button", name="Trail · 1 kept").click()
    text = read_text(download(page, "BibTeX"))
    assert text.startswith("@")
    assert "title = {" in text


def test_a_pasted_text_can_be_the_seed(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    page.get_by_role("button", name="Choose another seed").click()
    page.get_by_role("tab", name="Paste a text").click()
    box = page.get_by_label("Text to start from")
    box.fill(
        "Buses are late. We fit a Bayesian model with random effects. Delays shrink by a third."
    )
    box.blur()
    page.get_by_role("button", name="Start from this text").click()
    expect(page.locator("section.card .kicker")).to_have_text(re.compile("pasted", re.I))
    expect(page).to_have_url(re.compile("text="))
    expect(results(page)).to_have_count(20)
