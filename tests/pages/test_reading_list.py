"""The reading list of Explore: exports, former trails, saved searches."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.explorer import Explorer
from engine.types.searches import CITATION_STYLES, Query
from pages._explore.trail import OPEN, TABS
from tests.pages.visits import APP, address, click, param, run, shown

SEED, OTHER = "demo-0232", "demo-0001"


@pytest.fixture
def trail() -> str:
    """A trail that no other test writes."""
    return secrets.token_urlsafe(9)


@pytest.fixture
def page(demo: Explorer, trail: str) -> AppTest:
    """Explore on the demo, with its reading list open."""
    page = address(APP, corpus="demo", seed=SEED, aspect="method", trail=trail)
    page.session_state[OPEN] = True
    return page


def tab(page: AppTest, name: str) -> AppTest:
    page.session_state["reading_list_tab"] = name
    page.session_state[OPEN] = True
    return run(page)


def entries(page: AppTest) -> list[dict[str, Any]]:
    """What the component of the list is given."""
    for component in page.get("bidi_component"):
        if "documents" in component.proto.json:
            return list(json.loads(component.proto.json)["documents"])
    return []


def test_what_is_kept_is_listed_in_order_with_its_notes(
    page: AppTest, explorer: Explorer, trail: str
) -> None:
    run(page)
    assert "Your reading list is empty." in shown(page)
    for doc_id in ("demo-0002", "demo-0003"):
        explorer.notebook.keep(trail, "demo", doc_id)
    explorer.notebook.annotate(trail, "demo", "demo-0003", "<b>read</b>")
    explorer.notebook.move(trail, "demo", "demo-0003", -1)
    explorer.notebook.move(trail, "demo", "demo-0003", -1)  # it is the first already
    run(page)
    assert [(e["doc_id"], e["note"]) for e in entries(page)] == [
        ("demo-0003", "<b>read</b>"),
        ("demo-0002", ""),
    ]
    page.text_input(key="reading_list_name").set_value(" Birds  and\x00 bees ")
    run(page)
    assert explorer.notebook.trail_name(trail) == "Birds and bees"


def test_what_comes_again_until_it_is_known_to_have_come_is_done_once_and_in_order() -> None:
    def page() -> None:
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


@pytest.mark.parametrize("kind", ["bibtex", "apa"])
def test_the_file_of_an_export_is_there_before_it_is_asked_for(
    page: AppTest, explorer: Explorer, trail: str, kind: str
) -> None:
    explorer.notebook.keep(trail, "demo", "demo-0002")
    tab(page, TABS[1])
    page.selectbox(key="reading_list_format").set_value(kind)
    run(page)
    buttons = page.get("download_button")
    assert len(buttons) == (2 if kind in CITATION_STYLES else 1), "citations have a page, too"
    for button in buttons:
        assert button.proto.url
        assert not button.proto.deferred_file_id, "a deferred file is lost when the page runs again"
    title = explorer.library.open("demo").document("demo-0002").title
    assert title.split()[0].lower() in page.code[-1].value.lower()


def test_former_trails_are_reopened_renamed_deleted_and_brought_back(
    page: AppTest, explorer: Explorer, trail: str
) -> None:
    former = secrets.token_urlsafe(9)
    explorer.notebook.add_step(former, Query("demo", seed=OTHER, aspect="result"))
    explorer.notebook.keep(former, "demo", "demo-0002")
    tab(page, TABS[2])
    assert "1 kept · 1 search · " in shown(page)
    page.text_input(key=f"reading_list_rename_{former}").set_value("The former one")
    run(page)
    assert "The former one" in shown(page)
    click(page, "reading_list_delete_0")
    assert former not in [one.trail_id for one in explorer.notebook.trails("")]
    tab(page, TABS[2])
    click(page, "reading_list_undo_button")
    assert former in [one.trail_id for one in explorer.notebook.trails("")]
    tab(page, TABS[2])
    click(page, "reading_list_reopen_0")
    run(page)
    assert (param(page, "trail"), param(page, "seed"), param(page, "aspect")) == (
        *(former, OTHER, "result"),
    )


def test_a_search_is_saved_opened_and_removed(page: AppTest, explorer: Explorer) -> None:
    tab(page, TABS[3])
    assert page.text_input(key="reading_list_save_name").value.endswith(" · method")
    page.text_input(key="reading_list_save_name").set_value("Mine")
    click(page, "reading_list_save")
    assert [one.name for one in explorer.notebook.saved_searches()] == ["Mine"]
    page.query_params["seed"] = OTHER
    page.query_params["aspect"] = "result"
    tab(page, TABS[3])
    click(page, "reading_list_search_open_0")
    run(page)
    assert (param(page, "seed"), param(page, "aspect")) == (SEED, "method")
    tab(page, TABS[3])
    click(page, "reading_list_forget_0")
    assert explorer.notebook.saved_searches() == []
    tab(page, TABS[3])
    click(page, "reading_list_undo_button")
    assert [one.name for one in explorer.notebook.saved_searches()] == ["Mine"]
