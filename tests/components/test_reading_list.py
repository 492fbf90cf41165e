"""The component of a reading list: what it shows, and what it tells the page."""

import re

from playwright.sync_api import expect

from tests.components.samples import HOSTILE, SHOWN


def document(doc_id, **more):
    return {
        **{"corpus": "c", "doc_id": doc_id, "title": doc_id, "meta": "2020", "link": ""},
        **{"why": "", "evidence": None, "note": "", "tags": []},
        **more,
    }


def data(*documents, **more):
    shown = documents or (document("a"), document("b"), document("d"))
    return {
        **{"documents": shown, "own": True, "by_hand": True, "tags": ["t"], "received": 0},
        "lists": [["x", "Other"]],
        **more,
    }


def events(card):
    """What it sent, each once."""
    sent = card.page.evaluate("calls")[-1][1]
    return [{k: v for k, v in one.items() if k not in ("at", "corpus", "title")} for one in sent]


def item(root, number):
    return root.get_by_role("listitem").nth(number)


def test_documents_are_moved_by_buttons_keys_and_dragging(mount):
    card = mount("reading_list")
    root = card.draw(data())
    expect(item(root, 0).get_by_role("button", name="Move “a” up")).to_be_disabled()
    item(root, 0).get_by_role("button", name="Move “a” down").click()
    item(root, 2).get_by_role("button", name="Move “d” up").focus()
    card.page.keyboard.press("Alt+ArrowUp")
    item(root, 1).get_by_role("button", name="Move “b” down").click()
    item(root, 2).locator(".number").drag_to(item(root, 0).locator(".title"))
    moves = [(one["doc_id"], one["before"]) for one in events(card)]
    assert moves == [("a", ["c", "d"]), ("d", ["c", "b"]), ("b", None), ("d", ["c", "a"])]
    root = card.draw(data(by_hand=False))
    expect(root.get_by_role("button", name=re.compile("^Move"))).to_have_count(0)


def test_notes_tags_and_lists_are_sent_and_words_are_shown_as_words(mount):
    card = mount("reading_list")
    one = document("a", title=HOSTILE, why=HOSTILE, evidence=[HOSTILE, "It."], tags=[HOSTILE])
    root = card.draw(data(one, link="javascript:alert(1)"))
    expect(root.locator("img, a")).to_have_count(0)
    expect(root.locator(".title")).to_have_text(SHOWN)
    expect(root.locator(".pair .text").first).to_have_text(SHOWN)
    note, tag = root.get_by_label("Note on"), root.get_by_label("Add a tag to")
    note.fill("First")
    tag.fill(" later ")
    tag.press("Enter")
    root.get_by_role("button", name="Remove the tag").click()
    select = root.get_by_label("Move or copy")
    select.select_option(label="Other")
    root.get_by_role("button", name="Show the search").click()
    root.get_by_role("button", name="Use “").click()
    root.get_by_role("button", name="Remove “").click()
    place = {"doc_id": "a"}
    assert events(card) == [
        {"name": "note", **place, "note": "First", "before": ""},
        {"name": "tag", **place, "tag": " later "},
        {"name": "untag", **place, "tag": HOSTILE},
        {"name": "send", **place, "target": "x", "copy": False},
        {"name": "search", **place},
        {"name": "seed", **place},
        {"name": "remove", **place},
    ]
    note.fill("Second")
    card.draw(data({**one, "note": "First"}))
    expect(note).to_have_value("Second")
    note.blur()
    assert events(card)[-1] == {"name": "note", **place, "note": "Second", "before": "First"}


def test_a_list_of_another_person_is_read_and_copied_only(mount):
    root = mount("reading_list").draw(data(document("a", note="Hers", tags=["x"]), own=False))
    expect(root.get_by_role("textbox")).to_have_count(0)
    expect(root.get_by_role("button")).to_have_count(1)
    expect(root.get_by_text("Hers")).to_be_visible()
    expect(root.get_by_role("combobox").locator("option")).to_have_text(["Copy", "Other"])
