"""The main job in a real browser: seed, aspect, evidence, re-seed, pages, links, grades."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.config import ROOT
from engine.types.searches import Query
from tests.browser.browser_steps import assert_fits, bring, download, read_text, until
from tests.browser.conftest import PHONE, Server, Visit, visit_with, visiting
from tests.support import make_explorer

pytestmark = pytest.mark.usefixtures("demo_indexed")
METHOD = "/?corpus=demo&seed=demo-0232&aspect=method"


def titles(page: Page) -> list[str]:
    return page.locator("article .title").all_inner_texts()


def results(page: Page) -> Locator:
    articles = page.locator("article")
    expect(articles.first).to_be_visible()
    return articles


def test_a_first_visit_has_a_tour_that_can_be_left_and_started_again(visit: Visit) -> None:
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


def test_the_tour_stands_at_the_foot_of_a_phone_below_what_it_is_about(
    browser: Browser, server: Server
) -> None:
    with visiting(browser, server, viewport=PHONE, dark=True) as visit:
        page = visit.open()
        page.get_by_role("button", name="Next", exact=True).click()
        panel = page.get_by_role("dialog", name="Aspect and instruction")
        for button in panel.get_by_role("button").all():
            expect(button).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("combobox", name="Similar in")).to_be_in_viewport()
        assert_fits(page)
        visit.shoot("explore-tour-narrow")


def finder(page: Page) -> Locator:
    """The field for words, its popover opened by the key."""
    results(page)
    expect(page.get_by_role("button", name="Help: keys and tour")).to_be_visible()  # has the keys
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search titles")
    expect(field).to_be_focused()
    return field


def found_documents(page: Page) -> Locator:
    """What the search for a seed offers."""
    return page.get_by_role("listbox", name="Documents").get_by_role("option")


def test_a_seed_is_found_by_words_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit.open(METHOD)
    finder(page).fill("boosted trees")
    options = found_documents(page)
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


def test_escape_closes_the_search_for_a_seed_and_changes_nothing(visit: Visit) -> None:
    page = visit.open(METHOD)
    field = finder(page)
    expect(found_documents(page)).to_have_count(10)
    page.get_by_role("button", name="Next documents").click()
    expect(page.get_by_text("Page 2 of")).to_be_visible()
    field.focus()
    address = page.url
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    assert page.url == address
    expect(page.get_by_role("button", name="Choose another seed")).to_be_focused()


def test_clicking_a_role_makes_it_the_aspect_and_changes_the_ranking(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    before = titles(page)
    page.get_by_role("button", name="R · Result").click()
    expect(page).to_have_url(re.compile("aspect=result"))
    expect(page.get_by_role("button", name="R · Result")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("article .title").first).not_to_have_text(before[0])


def test_every_result_shows_its_passage_beside_the_seeds_with_words_marked(visit: Visit) -> None:
    page = visit.open(METHOD)
    articles = results(page)
    for article in articles.all()[:5]:
        expect(article.locator(".pair").first).to_contain_text("seed")
        expect(article.locator(".pair").nth(1)).to_contain_text("this")
    expect(page.locator("article mark").first).to_be_visible()
    first = articles.first
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".why")).to_contain_text(
        re.compile("method (strong|moderate|weak)|similar in method")
    )
    assert first.locator(".abstract .line").count() >= 5
    visit.shoot("explore-unfolded")


def test_one_sentence_of_the_seed_can_be_what_should_be_alike(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    page.locator("section.card .sentence").first.click()
    expect(page).to_have_url(re.compile("focus=0"))
    expect(page.locator("section.card .hint")).to_contain_text("selected sentences only")


def test_what_a_wording_is_read_as_can_be_corrected_and_is_kept_in_the_link(visit: Visit) -> None:
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


def test_a_result_becomes_the_seed_and_the_browsers_back_button_returns(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    seed = page.locator("section.card .title").inner_text()
    second = titles(page)[1]
    # A step of the trail is stored after its results are shown.
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.locator("article").nth(1).get_by_role("button", name="as seed").click()
    expect(page.locator("section.card .title")).to_have_text(second)
    steps = page.locator(".st-key-explore_trail li")
    expect(steps).to_have_count(2)
    page.go_back()
    expect(page.locator("section.card .title")).to_have_text(seed)
    expect(steps.first.locator("[aria-current]")).to_have_text(seed)
    expect(steps).to_have_count(2)


def test_the_trail_walks_back_to_an_earlier_seed(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    seed = page.locator("section.card .title").inner_text()
    page.locator("article").first.get_by_role("button", name="as seed").click()
    expect(page.locator("section.card .title")).not_to_have_text(seed)
    step = page.locator(".st-key-explore_trail button").first
    expect(step).to_be_enabled()
    step.click()
    expect(page.locator("section.card .title")).to_have_text(seed)


def test_pages_go_on_where_the_last_one_ended(visit: Visit) -> None:
    page = visit.open(METHOD + "&page=2")
    results(page)
    expect(page.locator("article .rank").first).to_have_text("21")
    first_page = visit.open(METHOD)
    results(first_page)
    first_page.get_by_role("button", name="Page 2", exact=True).click()
    expect(first_page.locator("article .rank").first).to_have_text("21")
    expect(first_page.locator("article .rank").first).to_be_in_viewport()


def test_a_reload_and_a_shared_link_bring_the_same_view_back(
    visit: Visit, browser: Browser, server: Server
) -> None:
    page = visit.open("/?corpus=demo&seed=demo-0353&aspect=result&steer=0.4&from=2012")
    expect(page.locator("article")).to_have_count(20)
    shown = titles(page)
    page.reload()
    expect(page.locator("article .title")).to_have_text(shown)
    page.get_by_role("button", name="Share").click()
    link = page.get_by_test_id("stCode").inner_text()
    assert link.startswith(f"{server.url}/?corpus=demo&seed=demo-0353")
    other = visit_with(browser, server)
    other.page.goto(link)
    expect(other.page.locator("article .title")).to_have_text(shown)
    other.page.context.close()


def test_a_grade_is_kept_across_a_reload_and_can_be_taken_back(visit: Visit) -> None:
    query = Query("demo", seed="demo-0100", aspect="background")
    notebook = make_explorer(visit.server.home).notebook
    page = visit.open("/?corpus=demo&seed=demo-0100&aspect=background")
    grade = results(page).nth(2).get_by_role("button", name="2: Similar")
    grade.click()
    expect(grade).to_have_attribute("aria-pressed", "true")
    until(page, lambda: list(notebook.grades(query).values()) == [2], what="the grade")
    page.reload()
    grade = results(page).nth(2).get_by_role("button", name="2: Similar")
    expect(grade).to_have_attribute("aria-pressed", "true")
    grade.click()
    expect(grade).to_have_attribute("aria-pressed", "false")
    until(page, lambda: not notebook.grades(query), what="the grade that was taken back")
    page.reload()
    expect(results(page).nth(2).get_by_role("button", name="2: Similar")).to_have_attribute(
        "aria-pressed", "false"
    )


def test_the_reading_list_is_ordered_annotated_and_exported(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    keep = page.locator("article").get_by_role("button", name=re.compile("^Keep “"))
    last = page.locator("article").nth(3)
    place = last.bounding_box()
    keep.evaluate_all("nodes => nodes.slice(0, 3).forEach((node) => node.click())")
    expect(page.get_by_role("button", name="Reading list (3)")).to_be_visible()
    until(page, lambda: last.bounding_box() == place, what="keeping moves nothing")
    page.get_by_role("button", name="Reading list (3)").click()
    items = page.locator(".st-key-reading_list li")
    expect(items).to_have_count(3)
    items.nth(2).get_by_role("button", name="Remove").click()
    expect(items).to_have_count(2)
    kept = items.locator(".title").all_inner_texts()
    items.first.get_by_label("Note on").fill("To compare")
    items.nth(1).get_by_role("button", name=f"Move “{kept[1]}” up").click()
    expect(items.first.locator(".title")).to_have_text(kept[1])
    expect(items.nth(1).get_by_label("Note on")).to_have_value("To compare")
    page.get_by_role("tab", name="Export").click()
    text = read_text(download(page, "Download BibTeX"))
    assert text.index(re.findall(r"\w+", kept[1])[0]) < text.index("annote = {To compare}")
    page.get_by_role("tab", name="Reading list").click()
    items.nth(1).get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Reading list (1)")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(items.nth(1).get_by_label("Note on")).to_have_value("To compare")
    expect(page.locator("article [aria-pressed=true][data-key^=keep]")).to_have_count(2)


def test_the_trail_takes_two_lines_on_a_phone_and_marks_where_one_is(
    browser: Browser, server: Server
) -> None:
    notebook = make_explorer(server.home).notebook
    for number in range(1, 7):
        notebook.add_step("long-walk", Query("demo", seed=f"demo-000{number}", aspect="method"))
    with visiting(browser, server, viewport=PHONE) as visit:
        page = visit.open("/?corpus=demo&seed=demo-0006&aspect=method&trail=long-walk")
        steps = page.locator(".st-key-explore_trail li")
        expect(steps).to_have_count(4)
        expect(steps.last.locator("[aria-current=page]")).to_be_visible()

        def lines() -> int:
            return len({round(step.bounding_box()["y"]) for step in steps.all()})  # type: ignore[index]

        until(page, lambda: lines() <= 2, what="two lines")
        assert_fits(page)
        page.get_by_role("button", name="Show 3 earlier seeds").click()
        expect(steps).to_have_count(6)


def test_a_pasted_text_is_the_seed_at_the_first_click(visit: Visit) -> None:
    page = visit.open(METHOD)
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


def test_keys_walk_grade_keep_and_unfold_the_results(visit: Visit) -> None:
    page = visit.open("/?corpus=demo&seed=demo-0101&aspect=method")
    articles = results(page)
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    second = articles.nth(1)
    expect(second.locator(".title")).to_be_focused()
    expect(second).to_have_class("current")
    page.keyboard.press("2")
    expect(second.get_by_role("button", name="2: Similar")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("x")
    expect(second.get_by_role("button", name="Keep “")).to_have_attribute("aria-pressed", "true")
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


@pytest.mark.parametrize("found", [20, 0])
def test_a_question_mark_shows_all_keys_until_escape(visit: Visit, found: int) -> None:
    page = visit.open(METHOD if found else METHOD + "&where=venue%3DNowhere")
    expect(page.get_by_text("No documents match" if not found else "1–20 of")).to_be_visible()
    expect(page.locator("article")).to_have_count(found)
    expect(page.get_by_role("button", name="Help: keys and tour")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Help")
    expect(keys).to_contain_text("Next result, previous result")
    page.keyboard.press("j")
    expect(page.locator("article.current")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search titles")).to_be_focused()


@pytest.mark.nightly
def test_a_table_is_sorted_by_its_headings_and_kept_in_the_link(visit: Visit) -> None:
    page = visit.open(METHOD)
    results(page)
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page).to_have_url(re.compile("view=table"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(100)
    expect(page.locator("caption")).to_have_text(re.compile("Sorting applies to ranks 1–100 of"))
    heading = page.get_by_role("columnheader", name="Year")
    heading.get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=-year"))
    page.reload()
    expect(heading).to_have_attribute("aria-sort", "descending")
    years = page.locator("td.year").all_inner_texts()
    assert years == sorted(years, reverse=True)
    page.keyboard.press("j")
    page.keyboard.press("3")
    expect(rows.first.locator("td.grade")).to_have_text("3")
    page.keyboard.press("3")
    expect(rows.first.locator("td.grade")).to_have_text("")
    page.keyboard.press("Enter")
    expect(page.locator("tr.below .pair").first).to_be_visible()
    assert_fits(page)


def test_seed_and_result_stand_side_by_side_by_aspect(visit: Visit) -> None:
    page = visit.open(METHOD)
    first = results(page).first
    title = first.locator(".title").inner_text()
    first.get_by_role("button", name="Compare side by side").click()
    pair = page.get_by_role("dialog", name="Side by side, by aspect")
    expect(pair).to_contain_text(title)
    expect(pair.get_by_role("heading", level=3)).to_have_text(
        [re.compile("Background"), re.compile("Method"), re.compile("Result")]
    )
    method = pair.locator(".aspectrow").filter(has_text="Method").last
    expect(method.locator(".side").nth(0).locator("mark").first).to_be_visible()
    expect(method.locator(".side").nth(1).locator("mark").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(pair).to_have_count(0)


def test_results_are_reached_named_and_large_enough_for_everybody(visit: Visit) -> None:
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


def test_ids_links_and_long_texts_of_any_kind_are_shown_as_they_are(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
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

    def result(doc_id: str) -> Locator:
        return page.locator("article").filter(has_text=f"Bridges and {doc_id}")

    for doc_id in ids[:3]:
        expect(result(doc_id).get_by_role("button", pressed=True)).to_have_count(0)
        result(doc_id).get_by_role("button", name="1:").click()
        result(doc_id).get_by_role("button", name="Keep “").click()
    expect(page.get_by_role("button", name="Reading list (3)")).to_be_visible()
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


def test_what_a_run_did_not_receive_is_sent_again(browser: Browser) -> None:
    source = (ROOT / "assets" / "components" / "common.js").read_text("utf-8")
    page = browser.new_page()
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.evaluate(f"""() => {{ {source}
      const root = {{}}, calls = globalThis.calls = []
      globalThis.drawn = (received) =>
        outbox(root, {{ received }}, (_, events) => calls.push(events.map((e) => e.name)))
      const send = drawn(0)
      send("grade", {{}})
      send("keep", {{}})
      drawn(root.sent[0].at)
      globalThis.settle = () => drawn(root.sent[0].at)
    }}""")
    page.clock.run_for(2500)
    assert page.evaluate("calls") == [["grade"], ["grade", "keep"], ["keep"]]
    page.evaluate("() => { settle() }")
    page.clock.run_for(5000)
    assert len(page.evaluate("calls")) == 3
    page.close()


def test_characters_that_turn_text_unseen_are_seen_in_components(browser: Browser) -> None:
    source = (ROOT / "assets" / "components" / "common.js").read_text("utf-8")
    page = browser.new_page()
    shown = page.evaluate(f"""() => {{ {source}
      const spans = marked("ab\\u202ecd", [[1, 4]], "")
      return [make("p", "", "a\\u2066b").textContent, spans.textContent,
              spans.querySelector("mark").textContent]
    }}""")
    page.close()
    assert shown == ["a\u25cab", "ab\u25cacd", "b\u25cac"]
