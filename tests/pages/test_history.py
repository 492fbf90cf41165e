"""The history on Explore: former trails, saved searches."""

import secrets

import pytest

from engine.types.searches import Query
from pages._explore.trail import OPEN
from tests.pages.visits import APP, address, click, param, run, shown

SEED, OTHER = "demo-0232", "demo-0001"


@pytest.fixture
def trail():
    """A trail that no other test writes."""
    return secrets.token_urlsafe(9)


@pytest.fixture
def page(demo, trail):
    return address(APP, corpus="demo", seed=SEED, aspect="method", trail=trail)


def opened(page):
    page.session_state[OPEN] = True
    return run(page)


def test_former_trails_are_reopened_renamed_deleted_and_brought_back(page, explorer, trail):
    former = secrets.token_urlsafe(9)
    explorer.notebook.add_step(former, Query("demo", seed=OTHER, aspect="result"))
    explorer.reading_lists.keep("", "demo", "demo-0002", trail=former)
    opened(page)
    assert "1 kept · 1 search · " in shown(page)
    page.text_input(key="history_name").set_value(" Birds  and\x00 bees ")
    page.text_input(key="history_name_trail_0").set_value("The former one")
    run(page)
    assert explorer.notebook.trail_name(trail) == "Birds and bees"
    assert explorer.notebook.trail_name(former) == "The former one"
    click(page, "history_delete_trail_0")
    assert former not in [one.trail_id for one in explorer.notebook.trails("")]
    opened(page)
    click(page, "history_undo_button")
    assert former in [one.trail_id for one in explorer.notebook.trails("")]
    opened(page)
    click(page, "history_open_trail_0")
    run(page)
    assert (param(page, "trail"), param(page, "seed"), param(page, "aspect")) == (
        *(former, OTHER, "result"),
    )


def test_a_search_is_saved_opened_and_removed(page, explorer):
    opened(page)
    assert page.text_input(key="history_save_name").value.endswith(" · method")
    page.text_input(key="history_save_name").set_value("Mine")
    click(page, "history_save")
    assert [one.name for one in explorer.notebook.saved_searches()] == ["Mine"]
    page.query_params["seed"] = OTHER
    page.query_params["aspect"] = "result"
    opened(page)
    click(page, "history_open_search_0")
    run(page)
    assert (param(page, "seed"), param(page, "aspect")) == (SEED, "method")
    opened(page)
    click(page, "history_delete_search_0")
    assert explorer.notebook.saved_searches() == []
    opened(page)
    click(page, "history_undo_button")
    assert [one.name for one in explorer.notebook.saved_searches()] == ["Mine"]
