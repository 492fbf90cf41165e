"""The Explore page when things are not as they should be."""

import json
import re

import pytest

from engine.types.searches import Query
from pages._explore.explore_state import View
from tests.pages.visits import APP, BROKEN, address, click, facets_of, param, run, shown


@pytest.fixture
def page(demo):
    """The app on the demo corpus."""
    return address(APP, corpus="demo", seed="demo-0232", aspect="method")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("where", "venue", "The filter &#x27;venue&#x27; cannot be read"),
        ("from", "soon", "&#x27;soon&#x27; is not a year"),
        ("where", "venu=ACL", "There is no field &#x27;venu&#x27;"),
        ("system", "magic", "There is no system &#x27;magic&#x27;"),
    ],
)
def test_a_search_that_cannot_be_run_leaves_the_controls_to_mend_it(page, name, value, says):
    page.query_params[name] = value
    run(page)
    assert says in shown(page)
    assert page.selectbox(key="explore_corpus").value == "demo"
    if name != "system":
        assert facets_of(page)["sections"], "another filter can be chosen all the same"
        chip = {"venue": "venue", "soon": "year ≥ soon", "venu=ACL": "venu = ACL"}[value]
        click(page, f"explore_filter_remove_{chip}")
        assert says not in shown(page)
        assert param(page, "where") == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"steer": "7", "page": "x", "focus": "a", "view": "wall", "sort": "size"},
        {"corpus": "nowhere", "page": "999"},
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_page_opens_all_the_same(page, wrong):
    page.query_params.update(wrong)
    run(page)
    assert "sl-error" in shown(page)
    assert BROKEN not in shown(page)
    assert page.get("bidi_component"), "the demo is shown instead"


@pytest.mark.parametrize(
    ("lost", "says"),
    [
        ({"seed": "nobody"}, "There is no document &#x27;nobody&#x27;"),
        ({"text": "0123"}, "pasted text &#x27;0123&#x27; is not stored here"),
        ({"aspect": "taste"}, "There is no aspect &#x27;taste&#x27;"),
    ],
)
def test_a_seed_or_aspect_that_is_not_there_is_named_and_does_not_stay_in_the_address(
    page, lost, says
):
    for name, value in lost.items():
        page.query_params[name] = value
    run(page)
    assert says in shown(page)
    assert "</strong> of 479" in shown(page), "results of a search that can be made"
    assert not {param(page, name) for name in ("seed", "text", "aspect")} & {*lost.values()}
    assert param(page, "seed") == "demo-0232"
    assert says not in shown(run(page))


# Filters


def values_of(explorer, field):
    """The values of a field of the demo, most frequent first."""
    return list(explorer.library.open("demo").fields[field].counts)


def ranked(page):
    """How many documents the page says are ranked."""
    found = re.search(r"</strong> of ([\d,]+)", shown(page))
    assert found, shown(page)
    return int(found[1].replace(",", ""))


def test_an_old_link_shows_in_the_facets(explorer, page):
    venue, author = values_of(explorer, "venue")[0], values_of(explorer, "author")[-1]
    page.query_params["where"] = f"venue={venue}; author={author}"
    page.query_params["from"] = "2015"
    run(page)
    assert "Filters (3 set)" in [box.label for box in page.expander]
    facets = {section["field"]: section for section in facets_of(page)["sections"]}
    assert [v["name"] for v in facets["venue"]["values"] if v["on"]] == [venue]
    assert [v["name"] for v in facets["author"]["values"] if v["on"]] == [author]
    assert facets["year"]["low"] == "2015"
    click(page, f"explore_filter_remove_venue = {venue}")
    assert param(page, "where") == f"year>=2015; author={author}"
    click(page, "explore_filter_clear")
    assert param(page, "where") == ""


def test_no_results_say_which_filter_removed_them_and_offer_to_drop_it(explorer, page):
    venue = values_of(explorer, "venue")[0]
    page.query_params["where"] = f"venue={venue}; author=Nobody"
    run(page)
    assert "No documents match all filters" in shown(page)
    assert "author = Nobody leaves 0 of 479; without it" in shown(page)
    assert "<strong>author = Nobody</strong> excludes most" in shown(page)
    assert "Instruction following" not in shown(page), "nothing was ranked, so nothing moved"
    buttons = [b.label for b in page.button if (b.key or "").startswith("explore_drop_")]
    assert buttons == ["Remove author = Nobody", "Clear all filters"]
    click(page, "explore_drop_1")
    assert param(page, "where") == f"venue={venue}"
    assert ranked(page) > 0


def test_changes_that_come_before_the_page_has_caught_up_all_count(page):
    run(page)
    preset = page.selectbox(key="explore_aspect")
    wanted = next(option for option in preset.options if option != preset.value)
    page.text_input(key="explore_instruction").set_value("similar data")
    page.slider(key="explore_steer").set_value(80)
    preset.set_value(wanted)
    run(page)
    assert [param(page, name) for name in ("q", "steer")] == ["similar data", "0.8"]
    assert param(page, "aspect") != "method"


def test_steer_can_be_moved_on_every_system_that_reads_it(page):
    enabled = {}
    for system in ("aspect", "transport", "dense"):
        page.query_params["system"] = system
        run(page)
        enabled[system] = not page.slider(key="explore_steer").disabled
        assert ("ignores the aspect" in shown(page)) == (system == "dense")
    assert enabled == {"aspect": True, "transport": True, "dense": False}


# The table


def test_a_table_has_a_hundred_results_to_sort_and_its_order_in_the_link(explorer, page):
    page.query_params.update({"view": "table", "sort": "-year", "page": "2"})
    run(page)
    parts = [json.loads(one.proto.json) for one in page.get("bidi_component")]
    table = next(data for data in parts if "results" in data)
    assert [result["rank"] for result in table["results"]] == list(range(101, 201))
    assert (table["sort"], param(page, "sort")) == ("-year", "-year")
    assert table["total"] == ranked(page)
    page.query_params.update({"view": "cards", "page": "6"})
    run(page)
    assert len(explorer.notebook.trail(param(page, "trail"))) == 1, "the same step of the trail"


def test_another_layout_is_on_the_page_of_the_first_result_that_was_shown():
    table = View("demo", "a", page=7).shown_as("table")
    assert (table.page, table.shown_as("cards").page) == (2, 6)


def test_a_ranking_learns_from_grades_and_kept_documents_until_that_is_stopped(demo):
    page = address(APP, corpus="demo", seed="demo-0150", aspect="method")
    query = Query("demo", seed="demo-0150", aspect="method")
    ranked = [r.doc_id for r in demo.search(query).results]
    demo.notebook.judge(query, ranked[3], 3)
    demo.notebook.judge(query, ranked[0], 0)
    demo.reading_lists.keep("", "demo", ranked[5], query=query)
    run(page)
    demo.reading_lists.remove("", "demo", ranked[5])
    click(page, "explore_learn_do")
    assert param(page, "like").split(",") == [ranked[5], ranked[3]]
    assert param(page, "unlike") == ranked[0]
    assert "Learned from 2 kept documents and 1 rejected document" in shown(page)
    view = View.from_params(page.query_params)
    assert view.to_query(demo).like == (ranked[5], ranked[3])
    commas = View(corpus="demo", like=("a,b", "c d"))
    assert View.from_params(commas.to_params()).like == commas.like
    click(page, "explore_learn_stop")
    assert "Learned from" not in shown(page)
    assert param(page, "like") == ""
