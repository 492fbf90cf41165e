"""The components of Explore: what they show, and what they tell the page."""

from playwright.sync_api import expect

from tests.components.conftest import DARK
from tests.components.samples import SHOWN, finder, help_, reading, result, results, seed, trail


def test_the_seed_card_sends_aspects_and_sentences_and_shows_words_as_words(mount):
    card = mount("seed")
    root = card.draw(seed())
    expect(root.get_by_role("heading", level=3)).to_have_text(SHOWN)
    expect(root.get_by_role("link")).to_have_count(0)
    expect(root.get_by_role("button", name="M · Method")).to_have_attribute("aria-pressed", "true")
    root.get_by_role("button", name="B · Background").click()
    root.get_by_role("button", name="M · Method").click()
    root.get_by_role("button", name=f"{SHOWN} 1.").click()
    assert card.calls() == [
        ("aspect", {"key": "background"}),
        ("aspect", {"key": ""}),
        ("focus", {"index": 1}),
    ]
    expect(root.locator(".sentence")).to_have_count(10)
    root.get_by_role("button", name="Show the rest (4 more)").click()
    expect(root.locator(".sentence")).to_have_count(14)
    card.draw(seed(focus=[1], link="https://example.org/a"))
    picked = root.get_by_role("button", name=f"{SHOWN} 1.")
    expect(picked).to_have_attribute("aria-pressed", "true")
    expect(root.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")


def test_letters_take_the_colours_of_a_theme_that_changes(mount):
    card = mount("seed")
    letter = card.draw(seed()).locator(".sentence .letter").first
    expect(letter).to_have_css("color", "rgb(29, 95, 158)")
    card.draw(seed(), DARK)
    expect(letter).to_have_css("color", "rgb(140, 193, 245)")


def test_each_part_of_a_reading_can_be_turned_moved_removed_and_added(mount):
    chips = mount("reading")
    root = chips.draw(reading())
    expect(root.get_by_role("listitem")).to_have_count(3)
    root.get_by_role("button", name="+ Method: Method is included").click()
    root.get_by_role("button", name="Remove graphs").click()
    root.get_by_label("Where documents should have graphs").select_option("in Method")
    root.get_by_role("button", name="Remove sentence 1").click()
    add = root.get_by_label("Add to the interpretation")
    add.select_option("− Background")
    add.select_option("1")
    words = root.get_by_label("Words to include")
    words.fill(" - a, b ")
    words.press("Enter")
    root.get_by_role("button", name="Reset").click()
    assert [value for _, value in chips.calls()] == [
        {"old": "+method", "term": "-method"},
        {"old": "-term:graphs"},
        {"old": "-term:graphs", "term": "-method:graphs"},
        {"sentence": 0},
        {"term": "-background"},
        {"sentence": 1},
        {"term": "-term:a\\, b"},
        {"by_words": True},
    ]
    expect(words).to_have_value("")
    chips.draw(reading(terms=[], sentences=[]))
    expect(add).to_have_value("")


def test_a_long_trail_hides_its_first_steps_until_they_are_wanted(mount):
    crumbs = mount("trail")
    root = crumbs.draw(trail())
    expect(root.get_by_role("listitem")).to_have_count(4)
    root.get_by_role("button", name="Show 3 earlier seeds").click()
    first = root.get_by_role("button", name=f"Go back to “{SHOWN}”")
    expect(first).to_be_focused()
    first.click()
    expect(root.locator("[aria-current=page]")).to_have_text(SHOWN)
    assert crumbs.calls() == [("step", {"index": 0})]


def test_results_are_walked_graded_kept_and_unfolded_by_keys(mount):
    found = mount("results", "keys")
    root = found.draw(results())
    keyboard = found.page.keyboard
    for key in ("j", "j", "k", "j"):
        keyboard.press(key)
    second = root.locator("article").nth(1)
    expect(second.locator(".title")).to_be_focused()
    expect(second).to_have_class("current")
    keyboard.press("2")
    grade = second.get_by_role("button", name="2: Similar")
    expect(grade).to_have_attribute("aria-pressed", "true")
    keyboard.press("x")
    expect(second.get_by_role("button", name="Keep “")).to_have_attribute("aria-pressed", "true")
    expect(root.get_by_role("status")).to_have_text("Kept")
    keyboard.press("Enter")
    expect(second.locator(".abstract .line")).to_have_count(2)
    expect(second.locator(".pair")).to_have_count(4)
    assert "[object" not in second.inner_text()
    # One stop for all buttons of a result; arrows go between them.
    keyboard.press("Tab")
    keyboard.press("Tab")
    expect(second.get_by_role("button", name="0:")).to_be_focused()
    keyboard.press("ArrowLeft")
    expect(second.get_by_role("button", name="Explain with the model")).to_be_focused()
    sent = found.calls()[-1][1]
    assert [(e["name"], e["doc_id"]) for e in sent] == [("grade", "doc-2"), ("keep", "doc-2")]
    # What is under way is shown until the page has received it.
    found.draw(results())
    expect(grade).to_have_attribute("aria-pressed", "true")
    found.draw(results(received=sent[-1]["at"]))
    expect(grade).to_have_attribute("aria-pressed", "false")
    expect(second.locator(".abstract")).to_be_visible()
    found.draw(results(received=sent[-1]["at"], search="another"))
    expect(second.locator(".abstract")).to_have_count(0)


def test_documents_are_told_apart_by_ids_of_any_kind(mount):
    ids = ["constructor", "__proto__", "hasOwnProperty"]
    shown = [result(rank, doc_id=doc_id) for rank, doc_id in enumerate(ids, 1)]
    found = mount("results", "keys")
    root = found.draw(results(results=shown, generated=[], graded=[["__proto__", 1]]))
    expect(root.get_by_role("button", pressed=True)).to_have_count(2)  # and "Cards"
    for article in root.locator("article").all():
        article.get_by_role("button", name="2:").click()
        article.get_by_role("button", name="Keep “").click()
    expect(root.locator("article").get_by_role("button", pressed=True)).to_have_count(6)
    kept = [event["doc_id"] for event in found.calls()[-1][1] if event["name"] == "keep"]
    assert kept == ids


def test_a_table_is_sorted_by_its_headings(mount):
    found = mount("results", "keys")
    root = found.draw(results(layout="table", graded=[["doc-3", 2]]))
    ranks = root.locator("td.rank")
    expect(root.locator("caption")).to_have_text("Sorting applies to all results.")
    root.get_by_role("button", name="Grade", exact=True).click()
    expect(ranks).to_have_text(["3", "1", "2"])
    root.get_by_role("button", name="Year").click()
    expect(ranks).to_have_text(["2", "1", "3"])
    root.get_by_role("button", name="Year").click()
    expect(ranks).to_have_text(["3", "1", "2"])
    expect(root.get_by_role("columnheader", name="Year")).to_have_attribute(
        "aria-sort", "ascending"
    )
    root.get_by_role("button", name="Title 2").click()
    expect(root.locator("tr.below .pair")).to_have_count(4)
    events = found.calls()[-1][1]
    assert [e["sort"] for e in events] == ["-grade", "-year", "year"]


def test_a_result_is_compared_with_the_seed_and_a_dialog_takes_the_keys(mount):
    found = mount("results", "keys")
    root = found.draw(results())
    first = root.locator("article").first
    first.get_by_role("button", name="Compare side by side").click()
    dialog = found.page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=3)).to_have_text(["B Background", "M Method"])
    expect(dialog.locator("mark")).to_have_count(1)
    found.page.keyboard.press("j")
    expect(root.locator("article.current .title")).to_have_text(SHOWN)
    found.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(first.locator(".generated")).to_contain_text("Not similar")
    first.get_by_role("button", name="hide").click()
    expect(first.locator(".generated")).to_have_count(0)
    first.get_by_role("button", name="Explain with the model").click()
    expect(first.locator(".generated")).to_be_visible()
    assert found.calls() == [], "an explanation that is there is not asked for again"


def test_a_seed_is_found_by_words_with_the_keyboard_or_pasted(mount):
    search = mount("finder")
    root = search.draw(finder())
    field = root.get_by_role("combobox")
    expect(field).to_be_focused()
    root.get_by_role("button", name="Next documents").click()
    field.fill("tra")
    expect(root.get_by_role("listbox")).to_have_attribute("aria-busy", "true")
    field.press("Enter")  # nothing was found for these words yet
    search.page.wait_for_timeout(300)
    assert search.calls() == [
        ("search", {"words": "", "page": 1}),
        ("search", {"words": "tra", "page": 0}),
    ]
    search.draw(finder(words="tra", pages=1, status="2 documents"))
    expect(root.get_by_role("status")).to_have_text("2 documents")
    expect(root.get_by_role("listbox")).not_to_have_attribute("aria-busy", "true")
    field.press("ArrowUp")
    option = root.get_by_role("option").nth(1)
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "option-1")
    field.press("Enter")
    expect(field).to_have_value("")
    root.get_by_role("button", name="Start from this text").click()
    expect(root.get_by_role("alert")).to_have_text("Enter a text.")
    root.get_by_label("Or paste a text").fill("Own words")
    expect(root.get_by_role("alert")).to_have_text("")
    root.get_by_role("button", name="Start from this text").click()
    assert search.calls()[2:] == [("pick", {"doc_id": "b"}), ("paste", {"text": "Own words"})]


def test_the_tour_is_left_once_and_can_be_started_again(mount):
    page_help = mount("help", "keys")
    root = page_help.draw(help_(tour=True))
    stop = page_help.page.get_by_role("dialog", name="Seed")
    expect(stop).to_be_focused()
    expect(stop.get_by_role("button", name="Back")).to_be_disabled()
    stop.get_by_role("button", name="Next").click()
    expect(page_help.page.get_by_role("dialog", name="Aspect and instruction")).to_be_focused()
    page_help.draw(help_(tour=True))
    page_help.page.keyboard.press("Escape")
    expect(page_help.page.locator(".tour")).to_have_count(0)
    expect(root.get_by_role("button", name="Help")).to_be_focused()
    page_help.draw(help_(tour=True))
    expect(page_help.page.locator(".tour")).to_have_count(0)
    assert page_help.calls() == [("left", {})]
    page_help.page.keyboard.press("?")
    expect(page_help.page.get_by_role("dialog", name="Help")).to_contain_text("Next result")
    page_help.page.get_by_role("button", name="Start the tour").click()
    expect(stop).to_be_focused()
