"""The main job in a real browser: seed, aspect, evidence, facets, pages, links, grades, facts."""

import re
import time
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from engine.types.searches import Query
from tests.browser.browser_steps import assert_fits, bring, download, read_text, until
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


def test_a_first_visit_has_a_tour_that_can_be_left_and_started_again(visit):
    page = visit.open()
    expect(results(page)).to_have_count(20)
    expect(page.get_by_role("button", name="M · Method")).to_have_attribute("aria-pressed", "true")
    seed = page.get_by_role("dialog", name="Seed")
    expect(seed).to_be_focused()
    expect(seed).to_contain_text("1 of 3")
    expect(seed.get_by_role("button", name="Back")).to_be_disabled()
    for stop in ("Aspect and instruction", "Result and evidence"):
        page.get_by_role("button", name="Next", exact=True).click()
        expect(page.get_by_role("dialog", name=stop)).to_be_focused()
        expect(page.locator(".ring").last).to_be_in_viewport()
    expect(page.locator(".ring")).to_have_count(2)
    page.get_by_role("button", name="Back", exact=True).click()
    visit.shoot("explore-tour")
    page.keyboard.press("Escape")
    tour = page.locator(".tour")
    expect(tour).to_have_count(0)
    help_button = page.get_by_role("button", name="Help: keys and tour")
    expect(help_button).to_be_focused()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.reload()
    expect(results(page)).to_have_count(20)
    expect(help_button).to_be_visible()
    expect(tour).to_have_count(0)
    help_button.click()
    page.get_by_role("button", name="Start the tour").click()
    expect(seed).to_be_focused()
    seed.get_by_role("button", name="Leave").click()
    expect(tour).to_have_count(0)
    expect(page.get_by_text("Corpus", exact=True)).to_be_in_viewport(ratio=1)


def finder(page):
    """The field for words, its popover opened by the key."""
    results(page)
    expect(page.get_by_role("button", name="Help: keys and tour")).to_be_visible()  # has the keys
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search titles")
    expect(field).to_be_focused()
    return field


def found_documents(page):
    """What the search for a seed offers."""
    return page.get_by_role("listbox", name="Documents").get_by_role("option")


def test_a_seed_is_found_by_words_with_the_keyboard_alone_or_pasted(visit):
    page = visit.open(METHOD)
    field = finder(page)
    options = found_documents(page)
    expect(options).to_have_count(10)
    page.get_by_role("button", name="Next documents").click()
    expect(page.get_by_text("Page 2 of")).to_be_visible()
    field.focus()
    address = page.url
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    assert page.url == address, "Escape changes nothing"
    expect(page.get_by_role("button", name="Choose another seed")).to_be_focused()

    finder(page).fill("boosted trees")
    expect(options.first.locator("mark").first).to_have_text(re.compile("boost|tree", re.I))
    expect(options.first).to_contain_text("in the title")
    expect(options.last).to_contain_text(re.compile("in the text|similar meaning"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    chosen = options.nth(1).locator(".name").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("section.card .title")).to_have_text(chosen)
    expect(options).to_have_count(0)
    # The seed is never among its own results, which are drawn a moment after its card.
    expect(page.locator("article .title").get_by_text(chosen, exact=True)).to_have_count(0)

    finder(page)
    page.get_by_role("button", name="Start from this text").click()
    expect(page.get_by_text("Enter a text.")).to_be_visible()
    box = page.get_by_label("Or paste a text")
    box.fill(
        "Buses are late. We fit a Bayesian model with random effects. Delays shrink by a third."
    )
    page.get_by_role("button", name="Start from this text").click()
    expect(page.locator("section.card .kicker")).to_have_text(re.compile("pasted", re.I))
    expect(page).to_have_url(re.compile("text="))
    expect(box).to_have_count(0)
    expect(results(page)).to_have_count(20)


def test_a_search_is_read_steered_and_followed_from_seed_to_seed(visit):
    page = visit.open(METHOD)
    articles, card = results(page), page.locator("section.card")
    evidence_stands_beside_the_seeds(page)
    visit.shoot("explore-unfolded")

    before = titles(page)
    page.get_by_role("button", name="R · Result").click()
    expect(page).to_have_url(re.compile("aspect=result"))
    expect(page.get_by_role("button", name="R · Result")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("article .title").first).not_to_have_text(before[0])
    card.locator(".sentence").first.click()
    expect(page).to_have_url(re.compile("focus=0"))
    expect(card.locator(".hint")).to_contain_text("selected sentences only")

    visit.open(METHOD)
    expect(articles.first.locator(".title")).to_have_text(before[0])
    seed, second = card.locator(".title").inner_text(), before[1]
    # A step of the trail is stored after its results are shown.
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    articles.nth(1).get_by_role("button", name="as seed").click()
    expect(card.locator(".title")).to_have_text(second)
    steps = page.locator(".st-key-explore_trail li")
    walked = steps.count()
    page.go_back()
    expect(card.locator(".title")).to_have_text(seed)
    expect(steps.filter(has=page.locator("[aria-current]"))).to_have_text(
        re.compile(re.escape(seed))
    )
    expect(steps).to_have_count(walked)
    steps.last.get_by_role("button").click()
    expect(card.locator(".title")).to_have_text(second)
    page.get_by_role("button", name="Page 2", exact=True).click()
    expect(page.locator("article .rank").first).to_have_text("21")
    expect(page.locator("article .rank").first).to_be_in_viewport()


def evidence_stands_beside_the_seeds(page):
    """In each result, when it is unfolded, and side by side by aspect."""
    first = page.locator("article").first
    for article in page.locator("article").all()[:5]:
        expect(article.locator(".pair").first).to_contain_text("seed")
        expect(article.locator(".pair").nth(1)).to_contain_text("this")
    expect(page.locator("article mark").first).to_be_visible()
    first.get_by_role("button", name="Compare side by side").click()
    pair = page.get_by_role("dialog", name="Side by side, by aspect")
    expect(pair).to_contain_text(first.locator(".title").inner_text())
    expect(pair.get_by_role("heading", level=3)).to_have_text(
        [re.compile("Background"), re.compile("Method"), re.compile("Result")]
    )
    method = pair.locator(".aspectrow").filter(has_text="Method").last
    for side in (0, 1):
        expect(method.locator(".side").nth(side).locator("mark").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(pair).to_have_count(0)
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".why")).to_contain_text(
        re.compile("method (strong|moderate|weak)|similar in method")
    )
    assert first.locator(".abstract .line").count() >= 5


def test_what_a_wording_is_read_as_can_be_corrected_and_is_kept_in_the_link(visit):
    words = "similar evaluation set-up, ignore the topic"
    page = visit.open(f"/?corpus=demo&seed=demo-0232&q={quote(words)}")
    results(page)
    reading = page.get_by_role("region", name="Interpretation")
    expect(reading.get_by_role("listitem")).to_have_text(
        [re.compile("Method"), re.compile("− Back")]
    )
    reading.get_by_role("button", name="Remove Background").click()
    expect(page).to_have_url(re.compile("reading=%2Bmethod"))
    expect(reading.get_by_role("listitem")).to_have_count(1)
    reading.get_by_role("button", name="+ Method: Method is included").click()
    expect(reading.get_by_role("listitem")).to_have_text(re.compile("− Method"))
    reading.get_by_label("Add to the interpretation").select_option("+result")
    expect(reading.get_by_role("listitem")).to_have_count(2)
    visit.shoot("explore-reading")
    reading.get_by_role("button", name="Reset").click()
    expect(page).not_to_have_url(re.compile("reading="))
    expect(reading).to_contain_text("− Background")
    expect(page.get_by_role("textbox", name="Instruction")).to_have_value(words)


def test_keys_walk_grade_and_keep_which_a_reload_and_a_shared_link_bring_back(visit, server):
    query = Query("demo", seed="demo-0100", aspect="background")
    notebook = make_explorer(server.home).notebook
    page = visit.open("/?corpus=demo&seed=demo-0100&aspect=background&steer=0.4&from=2005")
    articles = results(page)
    expect(page.get_by_role("button", name="Help: keys and tour")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Help")
    expect(keys).to_contain_text("Next result, previous result")
    page.keyboard.press("j")
    expect(page.locator("article.current")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)

    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    second = articles.nth(1)
    expect(second.locator(".title")).to_be_focused()
    expect(second).to_have_class("current")
    page.keyboard.press("2")
    grade = second.get_by_role("button", name="2: Similar")
    keep = second.get_by_role("button", name="Keep “")
    expect(grade).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("x")
    expect(keep).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(second.locator(".abstract")).to_be_visible()
    for _ in range(10):
        page.keyboard.press("j")
    expect(articles.nth(11).locator(".title")).to_be_focused()
    expect(articles.nth(11)).to_be_in_viewport(ratio=0.9)
    # While one writes, a key is a letter.
    field = page.get_by_role("textbox", name="Instruction")
    field.click()
    page.keyboard.type("jx3?")
    expect(field).to_have_value("jx3?")
    expect(articles.nth(11).get_by_role("button", name="Keep “")).to_have_attribute(
        "aria-pressed", "false"
    )

    until(page, lambda: list(notebook.grades(query).values()) == [2], what="the grade")
    shown = titles(page)
    page.reload()
    expect(page.locator("article .title")).to_have_text(shown)
    expect(keep).to_have_attribute("aria-pressed", "true")
    expect(grade).to_have_attribute("aria-pressed", "true")
    grade.click()
    expect(grade).to_have_attribute("aria-pressed", "false")
    until(page, lambda: not notebook.grades(query), what="the grade that was taken back")
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_test_id("stCode").inner_text()
    assert link.startswith(f"{server.url}/?corpus=demo&seed=demo-0100")
    page.context.clear_cookies()  # somebody else's browser
    page.goto(link)
    expect(page.locator("article .title")).to_have_text(shown)
    expect(grade).to_have_attribute("aria-pressed", "false")


def test_the_reading_list_is_ordered_annotated_and_exported(visit):
    page = visit.open(METHOD)
    results(page)
    box = page.get_by_role("combobox", name="Keep in")
    name = f"For a review {time.time_ns()}"  # a list of its own in each try
    box.fill(name)
    box.press("Enter")
    expect(page.get_by_role("link", name=f"{name} (0)")).to_be_visible()
    keep = page.locator("article").get_by_role("button", name=re.compile("^Keep “"))
    last = page.locator("article").nth(3)
    place = last.bounding_box()
    keep.evaluate_all("nodes => nodes.slice(0, 3).forEach((node) => node.click())")
    until(page, lambda: last.bounding_box() == place, what="keeping moves nothing")
    page.get_by_role("link", name=f"{name} (3)").click()
    items = page.locator("li:has(.number)")
    expect(items).to_have_count(3)
    expect(items.first).to_contain_text(re.compile("Similar to “.*” in Method"))
    items.nth(2).get_by_role("button", name="Remove").click()
    expect(items).to_have_count(2)
    kept = items.locator(".title").all_inner_texts()
    items.first.get_by_label("Note on").fill("To compare")
    tag = items.first.get_by_label("Add a tag to")
    tag.fill("trees")
    tag.press("Enter")
    expect(items.first.locator(".chip")).to_have_text("trees")
    items.nth(1).get_by_role("button", name=f"Move “{kept[1]}” up").click()
    expect(items.first.locator(".title")).to_have_text(kept[1])
    expect(items.nth(1).get_by_label("Note on")).to_have_value("To compare")
    items.first.locator(".number").drag_to(items.nth(1).get_by_label("Note on"))
    expect(items.first.locator(".title")).to_have_text(kept[0])
    page.get_by_role("button", name="Export", exact=True).click()
    text = read_text(download(page, "Download BibTeX"))
    assert "annote = {To compare}" in text
    assert "keywords = {trees}" in text
    page.keyboard.press("Escape")
    items.first.get_by_role("button", name="Remove “").click()
    expect(items).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(items.first.get_by_label("Note on")).to_have_value("To compare")
    assert_fits(page)
    items.first.get_by_role("button", name="Use “").click()
    expect(results(page).first).to_be_visible()
    expect(page.get_by_role("link", name=f"{name} (2)")).to_be_visible()


def test_results_are_reached_named_and_large_enough_for_everybody(visit):
    page = visit.open(METHOD)
    first = results(page).first
    expect(page.get_by_role("heading", level=2, name="Results")).to_be_visible()
    expect(page.locator("article h3")).to_have_count(20)
    expect(page.get_by_test_id("stHeaderLogo")).to_be_visible()
    title = first.locator(".title").inner_text()
    for name in (f"Use “{title}” as seed", f"Keep “{title}”"):
        expect(first.get_by_role("button", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("meter")).to_have_accessible_name(
        re.compile("Changed by the aspect: Share of the top 20")
    )
    for box in (node.bounding_box() for node in first.get_by_role("button").all()):
        assert box is not None
        assert min(box["width"], box["height"]) >= 24
    page.get_by_role("button", name="Skip to results").focus()
    page.keyboard.press("Enter")
    expect(first.locator(".title")).to_be_focused()
    # One stop for all buttons of a result; arrows go between them.
    page.keyboard.press("Tab")
    expect(first.get_by_role("button", name="0:")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(first.get_by_role("button", name="1:")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("article").nth(1).locator(".title")).to_be_focused()
    sizes = "nodes => nodes.map(node => parseFloat(getComputedStyle(node).fontSize))"
    parts = page.locator(
        "section.card .title, section.card .sentence, article .rank, .title, .pair"
    )
    before = parts.evaluate_all(sizes)
    page.evaluate("document.documentElement.style.fontSize = '30px'")
    assert parts.evaluate_all(sizes) == pytest.approx([2 * size for size in before])


def test_ids_links_and_long_texts_of_any_kind_are_shown_as_they_are(visit, server, tmp_path):
    links = ["10.1000/182", "https://example.org/a?b", "javascript:alert(1)", ""]
    ids = ["constructor", "__proto__", "toString", "hasOwnProperty"]
    text = " ".join(f"We measured the {n}th bridge with a cheap sensor." for n in range(60))
    documents = [
        {"doc_id": i, "title": f"Bridges and {i}", "text": text, "link": link, "doi": ""}
        for i, link in zip(ids, links, strict=True)
    ]
    bring(server.home, tmp_path, "odd-names", documents)
    page = visit.open("/?corpus=odd-names&seed=hasOwnProperty")
    expect(results(page)).to_have_count(3)

    def result(doc_id):
        return page.locator("article").filter(has_text=f"Bridges and {doc_id}")

    for doc_id in ids[:3]:
        expect(result(doc_id).get_by_role("button", pressed=True)).to_have_count(0)
        result(doc_id).get_by_role("button", name="1:").click()
        result(doc_id).get_by_role("button", name="Keep “").click()
    kept = make_explorer(server.home).reading_lists
    until(page, lambda: kept.ids("", "odd-names") == {*ids[:3]}, what="the kept documents")
    page.reload()
    expect(page.locator("article").get_by_role("button", pressed=True)).to_have_count(6)
    link = result("constructor").get_by_role("link")
    expect(link).to_have_attribute("href", "https://doi.org/10.1000/182")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")
    expect(result("__proto__").get_by_role("link")).to_have_attribute(
        "href", "https://example.org/a?b"
    )
    expect(result("toString").get_by_role("link")).to_have_count(0)
    last = "We measured the 59th bridge"
    expect(page.locator("section.card")).not_to_contain_text(last)
    page.locator("section.card").get_by_role("button", name="Show the rest (50 more)").click()
    expect(page.locator("section.card")).to_contain_text(last)
    result("constructor").get_by_role("button", name="Details").click()
    result("constructor").get_by_role("button", name="Show the rest").click()
    expect(result("constructor")).to_contain_text(last)


def test_years_are_chosen_by_dragging_or_typing_and_values_by_a_click(visit):
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
    visit.shoot("explore-facts")
