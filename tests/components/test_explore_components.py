"""The components of Explore: what they show, and what they tell the page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.components.conftest import DARK, Mount

HOSTILE = "<img src=x onerror=alert(1)> \u202eabc"
SHOWN = "<img src=x onerror=alert(1)> \u25caabc"
ASPECTS = [
    {"key": "background", "name": "Background", "letter": "B", "definition": "Why", "role": 0},
    {"key": "method", "name": "Method", "letter": "M", "definition": "How", "role": 1},
]


def seed(**more: object) -> dict[str, object]:
    sentences = [
        {"text": f"Sentence {i}.", "role": i % 2, "letter": "BM"[i % 2]} for i in range(14)
    ]
    return {
        "title": HOSTILE,
        "meta": "2020 · " + HOSTILE,
        "link": "javascript:alert(1)",
        "pasted": False,
        "aspect": "method",
        "aspects": ASPECTS,
        "weights": [0.0, 0.4],
        "focus": [],
        "sentences": sentences,
        **more,
    }


def test_the_seed_card_sends_aspects_and_sentences_and_shows_words_as_words(mount: Mount) -> None:
    card = mount("seed")
    root = card.draw(seed())
    expect(root.get_by_role("heading", level=3)).to_have_text(SHOWN)
    expect(root.locator("img, a")).to_have_count(0)
    expect(root.get_by_role("button", name="M · Method")).to_have_attribute("aria-pressed", "true")
    root.get_by_role("button", name="B · Background").click()
    root.get_by_role("button", name="M · Method").click()
    root.get_by_role("button", name="Sentence 1.").click()
    assert card.calls() == [
        ("aspect", {"key": "background"}),
        ("aspect", {"key": ""}),
        ("focus", {"index": 1}),
    ]
    expect(root.locator(".sentence")).to_have_count(10)
    root.get_by_role("button", name="Show the rest (4 more)").click()
    expect(root.locator(".sentence")).to_have_count(14)
    # A sentence keeps the focus when the page answers with other data.
    root.get_by_role("button", name="Sentence 1.").focus()
    card.draw(seed(focus=[1], link="https://example.org/a"))
    focused = root.get_by_role("button", name="Sentence 1.")
    expect(focused).to_be_focused()
    expect(focused).to_have_attribute("aria-pressed", "true")
    expect(root.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")


def test_letters_take_the_colours_of_a_theme_that_changes(mount: Mount) -> None:
    card = mount("seed")
    letter = card.draw(seed()).locator(".sentence .letter").first
    expect(letter).to_have_css("color", "rgb(29, 95, 158)")
    card.draw(seed(), DARK)
    expect(letter).to_have_css("color", "rgb(140, 193, 245)")


def reading(**more: object) -> dict[str, object]:
    return {
        "reading": ["+method"],
        "terms": [{"part": "-term:graphs", "text": "graphs", "aspect": "", "documents": "7"}],
        "sentences": [0],
        "aspects": ASPECTS,
        "texts": [HOSTILE, "Second."],
        "by_words": True,
        "model": "",
        "other": None,
        **more,
    }


def test_each_part_of_a_reading_can_be_turned_moved_removed_and_added(mount: Mount) -> None:
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


def test_a_long_trail_hides_its_first_steps_until_they_are_wanted(mount: Mount) -> None:
    trail = mount("trail")
    root = trail.draw({"steps": [HOSTILE, *"bcdef"], "current": 5})
    expect(root.get_by_role("listitem")).to_have_count(4)
    root.get_by_role("button", name="Show 3 earlier seeds").click()
    first = root.get_by_role("button", name=f"Go back to “{SHOWN}”")
    expect(first).to_be_focused()
    first.click()
    expect(root.locator("[aria-current=page]")).to_have_text("f")
    assert trail.calls() == [("step", {"index": 0})]
