"""The main job in a real browser: seed, aspect, evidence, trail, grades, reading list, links."""

import re
import time

import pytest
from playwright.sync_api import expect

from engine.types.searches import Query
from tests.browser.browser_steps import bring, download, read_text, until
from tests.fakes.small_corpus import LETTERS
from tests.support import make_explorer

pytestmark = pytest.mark.usefixtures("demo_indexed")
METHOD = "/?corpus=demo&seed=demo-0232&aspect=method"


def titles(page):
    return page.locator("article .title").all_inner_texts()


def results(page):
    articles = page.locator("article")
    expect(articles.first).to_be_visible()
    return articles


def test_a_first_visit_has_a_tour_of_what_is_on_the_page_that_is_left_for_good(visit):
    page = visit.open()
    expect(results(page)).to_have_count(20)
    expect(page.get_by_role("button", name="M · Method")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("dialog", name="Seed")).to_be_focused()
    for stop in ("Aspect and instruction", "Result and evidence"):
        page.get_by_role("button", name="Next", exact=True).click()
        expect(page.get_by_role("dialog", name=stop)).to_be_focused()
        expect(page.locator(".ring").last).to_be_in_viewport()
    expect(page.locator(".ring")).to_have_count(2)
    visit.shoot("explore-tour")
    page.keyboard.press("Escape")
    help_button = page.get_by_role("button", name="Help: keys and tour")
    expect(help_button).to_be_focused()
    expect(page.get_by_text("Corpus", exact=True)).to_be_in_viewport(ratio=1)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.reload()
    expect(results(page)).to_have_count(20)
    expect(help_button).to_be_visible()
    expect(page.locator(".tour")).to_have_count(0)


def test_a_seed_is_found_by_keys_and_a_search_is_followed_from_seed_to_seed(visit):
    page = visit.open(METHOD)
    articles, card = results(page), page.locator("section.card")
    evidence_stands_beside_the_seeds(page)
    page.get_by_role("button", name="Skip to results").focus()
    page.keyboard.press("Enter")
    expect(articles.first.locator(".title")).to_be_focused()

    before, address = titles(page), page.url
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search titles")
    options = page.get_by_role("listbox", name="Documents").get_by_role("option")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    assert page.url == address, "Escape changes nothing"
    page.get_by_role("button", name="Choose another seed").click()
    field.fill("boosted trees")
    expect(options.first).to_contain_text("in the title")
    page.keyboard.press("ArrowDown")
    chosen = options.first.locator(".name").inner_text()
    page.keyboard.press("Enter")
    expect(card.locator(".title")).to_have_text(chosen)
    expect(options).to_have_count(0)

    steps = page.locator(".st-key-explore_trail li")
    expect(steps).to_have_count(2)
    page.go_back()
    expect(articles.first.locator(".title")).to_have_text(before[0])
    expect(steps.filter(has=page.locator("[aria-current]"))).to_have_count(1)
    steps.last.get_by_role("button").click()
    expect(card.locator(".title")).to_have_text(chosen)
    page.get_by_role("button", name="R · Result").click()
    expect(page).to_have_url(re.compile("aspect=result"))
    card.locator(".sentence").first.click()
    expect(page).to_have_url(re.compile("focus=0"))
    expect(card.locator(".hint")).to_contain_text("selected sentences only")
    page.get_by_role("button", name="Page 2", exact=True).click()
    expect(page.locator("article .rank").first).to_have_text("21")
    expect(page.locator("article .rank").first).to_be_in_viewport()


def evidence_stands_beside_the_seeds(page):
    """In each result, and when it is unfolded."""
    first = page.locator("article").first
    for article in page.locator("article").all()[:5]:
        expect(article.locator(".pair").first).to_contain_text("seed")
        expect(article.locator(".pair").nth(1)).to_contain_text("this")
    expect(page.locator("article mark").first).to_be_visible()
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".why")).to_contain_text(
        re.compile("method (strong|moderate|weak)|similar in method")
    )


def test_keys_grade_and_keep_what_a_reload_and_a_shared_link_bring_back(visit, server):
    query = Query("demo", seed="demo-0100", aspect="background")
    notebook = make_explorer(server.home).notebook
    page = visit.open("/?corpus=demo&seed=demo-0100&aspect=background&steer=0.4&from=2005")
    results(page)
    name = f"For a review {time.time_ns()}"  # a list of its own in each try
    box = page.get_by_role("combobox", name="Keep in")
    box.fill(name)
    box.press("Enter")
    expect(page.get_by_role("link", name=f"{name} (0)")).to_be_visible()
    # While one writes, a key is a letter.
    field = page.get_by_role("textbox", name="Instruction")
    field.click()
    page.keyboard.type("jx3?")
    expect(field).to_have_value("jx3?")
    field.fill("")
    shown = titles(page)
    page.locator("article .title").first.focus()
    for key in ("j", "2", "x"):
        page.keyboard.press(key)
    second = page.locator("article").nth(1)
    grade = second.get_by_role("button", name="2: Similar")
    keep = second.get_by_role("button", name="Keep “")
    until(page, lambda: list(notebook.grades(query).values()) == [2], what="the grade")
    expect(page.get_by_role("link", name=f"{name} (1)")).to_be_visible()

    page.reload()
    expect(page.locator("article .title")).to_have_text(shown)
    expect(keep).to_have_attribute("aria-pressed", "true")
    expect(grade).to_have_attribute("aria-pressed", "true")
    grade.click()
    until(page, lambda: not notebook.grades(query), what="the grade that was taken back")
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_test_id("stCode").inner_text()
    assert link.startswith(f"{server.url}/?corpus=demo&seed=demo-0100")
    page.keyboard.press("Escape")
    a_kept_document_is_annotated_and_exported(page, name)
    page.context.clear_cookies()  # somebody else's browser
    page.goto(link)
    expect(page.locator("article .title")).to_have_text(shown)
    expect(grade).to_have_attribute("aria-pressed", "false")


def a_kept_document_is_annotated_and_exported(page, name):
    """On the page of its reading list."""
    page.get_by_role("link", name=f"{name} (1)").click()
    item = page.locator("li:has(.number)")
    item.get_by_label("Note on").fill("To compare")
    tag = item.get_by_label("Add a tag to")
    tag.fill("trees")
    tag.press("Enter")
    expect(item.locator(".chip")).to_have_text("trees")
    page.get_by_role("button", name="Export", exact=True).click()
    text = read_text(download(page, "Download BibTeX"))
    assert "annote = {To compare}" in text
    assert "keywords = {trees}" in text


def test_a_result_found_by_a_fact_shows_its_derivation(visit, server, tmp_path):
    explorer = bring(server.home, tmp_path, "messages", LETTERS)
    asked = explorer.notebook.put_text("Who walked along the coast on 1 March 2024?")
    page = visit.open(f"/?corpus=messages&text={asked}&system=facts")
    first = page.locator("article").first
    expect(first.locator(".fact strong")).to_have_text("1 March 2024")
    expect(first.locator(".fact .how")).to_have_text(
        "from 'four days ago' in a message of 5 March 2024"
    )
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".abstract mark").filter(has_text="four days ago")).to_have_count(1)
