"""The page of reading lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.types.searches import CITATION_STYLES, Query
from pages._explore.explore_state import View
from tests.pages.visits import address, click, param, run, shown, visit

Send = Callable[..., None]
KEPT, OTHER = "demo-0002", "demo-0003"
EVIDENCE = ("Their <b>words</b>.", "Its words.")


@pytest.fixture
def lists(demo):
    """A list with two documents."""
    lists = demo.reading_lists
    list_id = lists.new(f"List {len(lists.lists())}")
    query = Query("demo", seed="demo-0001", aspect="method", instruction="trees *only*")
    lists.keep(list_id, "demo", KEPT, query=query, evidence=EVIDENCE)
    lists.keep(list_id, "demo", OTHER)
    return list_id


@pytest.fixture
def send(monkeypatch):
    """Has the component send an event about a document; the page has run after it."""
    sent: list[dict[str, Any]] = []

    def inbox(_, on):
        while sent:
            event = sent.pop()
            on[event["name"]](event)
        return {}, {}

    def send(page, name, **event):
        sent.append({"name": name, "corpus": "demo", "doc_id": KEPT, "title": "T", **event})
        run(run(page))

    monkeypatch.setattr("pages._reading_list.inbox", inbox)
    return send


def entries(page):
    """What the component of the list is given."""
    for component in page.get("bidi_component"):
        if "documents" in component.proto.json:
            return dict(json.loads(component.proto.json))
    return {"documents": []}


def titles(page):
    return [one["doc_id"] for one in entries(page)["documents"]]


def test_a_list_shows_why_documents_were_kept_and_changes_can_be_undone(lists, send, explorer):
    page = visit("reading_list", list=lists)
    first = entries(page)["documents"][0]
    seed = explorer.library.open("demo").document("demo-0001").title
    assert first["why"] == f"Similar to “{seed}” in Method: trees *only*"
    assert (tuple(first["evidence"]), first["corpus"]) == (EVIDENCE, "demo")
    send(page, "note", note="Read it", before="")
    send(page, "tag", tag="later")
    send(page, "move", before=None)
    assert titles(page) == [OTHER, KEPT]
    assert entries(page)["documents"][1]["note"] == "Read it"
    page.query_params["tag"] = "later"
    run(page)
    assert titles(page) == [KEPT]
    target = explorer.reading_lists.new(f"Target of {lists}")
    send(page, "send", target=target, copy=False)
    assert (titles(page), param(page, "tag")) == ([OTHER], "")
    assert explorer.reading_lists.info(target).tags == ("later",)
    click(page, "reading_list_undo_button")
    assert explorer.reading_lists.info(target).documents == 0
    assert titles(page) == [OTHER, KEPT]
    send(page, "remove")
    assert "Removed: T" in shown(page)
    click(page, "reading_list_undo_button")
    assert titles(page) == [OTHER, KEPT]


def test_lists_are_made_renamed_deleted_and_brought_back(small_copy, serve):
    serve(small_copy)
    page = visit("reading_list")
    assert "Use “Keep” on a result of Explore" in shown(page)
    page.text_input(key="reading_list_list_new").set_value("Mine")
    click(page, "reading_list_list_create")
    made = param(page, "list")
    assert small_copy.reading_lists.info(made).name == "Mine"
    page.text_input(key=f"reading_list_name_{made}").set_value("[Yours](x)")
    run(page)
    click(page, "reading_list_rename")
    assert small_copy.reading_lists.info(made).name == "[Yours](x)"
    click(page, "reading_list_delete")
    assert made not in [one.list_id for one in small_copy.reading_lists.lists()]
    click(page, "reading_list_undo_button")
    assert param(page, "list") == made
    page.query_params["list"] = "nobodys"
    run(page)
    assert "There is no reading list &#x27;nobodys&#x27;." in shown(page)


@pytest.mark.parametrize(
    ("event", "seed", "wording"), [("seed", KEPT, ""), ("search", "demo-0001", "trees *only*")]
)
def test_a_document_and_its_search_are_opened_on_explore(
    lists, send, monkeypatch, event, seed, wording
):
    gone: list[View] = []
    monkeypatch.setattr(View, "go", lambda view: gone.append(view))
    send(visit("reading_list", list=lists), event)
    (view,) = gone
    assert (view.seed, view.instruction, view.corpus) == (seed, wording, "demo")


@pytest.mark.parametrize("kind", ["bibtex", "apa"])
def test_the_file_of_an_export_is_there_before_it_is_asked_for(lists, explorer, kind):
    page = address("reading_list", list=lists)
    page.session_state["reading_list_export"] = True
    page.session_state["reading_list_format"] = kind
    run(page)
    buttons = page.get("download_button")
    assert len(buttons) == (2 if kind in CITATION_STYLES else 1), "citations have a page, too"
    for button in buttons:
        assert button.proto.url
        assert not button.proto.deferred_file_id, "a deferred file is lost when the page runs again"
    title = explorer.library.open("demo").document(KEPT).title
    assert title.split()[0].lower() in page.code[0].value.lower()


def test_what_comes_again_until_it_is_known_to_have_come_is_done_once_and_in_order():
    def page():
        import streamlit as st

        from pages._common.components import inbox

        done = st.session_state.setdefault("done", [])
        on = {name: (lambda event: done.append(event["name"])) for name in ("note", "move")}
        if "list" in st.session_state:
            inbox("list", on)[1]["on_events_change"]()
        st.session_state["received"] = inbox("list", on)[0]

    here = AppTest.from_function(page)
    run(here)
    said = [{"name": "note", "at": 5}, {"name": "move", "at": 6}, {"name": "move", "at": 7}]
    forged = ["note", None, {"at": "9", "name": "note"}, {"at": 9, "name": []}, {"name": "note"}]
    for events in (said[:1], said[:2], said, said[2:], forged, 9):
        here.session_state["list"] = {"events": events}
        run(here)
    assert here.session_state["done"] == ["note", "move", "move"]
    assert here.session_state["received"] == {"received": 7}
