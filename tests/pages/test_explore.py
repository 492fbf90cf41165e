"""The Explore page when things are not as they should be."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from engine.explorer import Explorer
from engine.types.searches import Query
from tests.pages.visits import APP, BROKEN, address, param, run, shown


@pytest.fixture
def page(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The app on the demo corpus."""
    monkeypatch.setenv("SEEDLENS_HOME", str(explorer.home.root))
    return address(APP, corpus="demo", seed="demo-0275", aspect="method")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("where", "venue", "The filter &#x27;venue&#x27; cannot be read"),
        ("from", "soon", "&#x27;soon&#x27; is not a year"),
        ("aspect", "taste", "There is no aspect &#x27;taste&#x27;"),
        ("system", "magic", "There is no system &#x27;magic&#x27;"),
        ("text", "0123", "pasted text &#x27;0123&#x27; is not stored here"),
    ],
)
def test_a_search_that_cannot_be_run_leaves_the_controls_to_mend_it(
    page: AppTest, name: str, value: str, says: str
) -> None:
    page.query_params[name] = value
    if name == "text":
        del page.query_params["seed"]
    run(page)
    assert says in shown(page)
    assert page.selectbox(key="explore_corpus").value == "demo"
    assert page.text_input(key="explore_where") is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("steer", "7"), ("steer", "nan"), ("page", "x"), ("focus", "a")],
        *[("corpus", "nowhere"), ("view", "wall")],
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_page_opens_all_the_same(
    page: AppTest, name: str, value: str
) -> None:
    page.query_params[name] = value
    run(page)
    assert "sl-error" in shown(page)
    assert BROKEN not in shown(page)
    assert page.get("bidi_component"), "the demo is shown instead"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("seed", "nobody", "There is no document &#x27;nobody&#x27;"),
        ("corpus", "nowhere", "There is no corpus &#x27;nowhere&#x27;"),
        ("aspect", "taste", "There is no aspect &#x27;taste&#x27;"),
        ("steer", "many", "This link cannot be read"),
        ("from", "x", "&#x27;x&#x27; is not a year"),
    ],
)
def test_a_broken_link_says_what_is_wrong(page: AppTest, name: str, value: str, says: str) -> None:
    page.query_params[name] = value
    run(page)
    assert says in shown(page)
    assert "Traceback" not in shown(page)


def test_filters_that_leave_nothing_say_so(page: AppTest) -> None:
    page.query_params["from"] = "2030"
    run(page)
    assert "No document meets the filters" in shown(page)


def test_a_system_that_ignores_the_aspect_says_so(page: AppTest) -> None:
    run(page)
    assert "does not read the aspect" not in shown(page)
    page.query_params["system"] = "dense"
    run(page)
    assert "does not read the aspect" in shown(page)


def test_a_page_beyond_the_end_says_where_the_ranking_ends(page: AppTest) -> None:
    page.query_params["page"] = "999"
    run(page)
    assert "The ranking ends at 359" in shown(page)


def test_grades_of_picked_sentences_are_kept_apart_from_the_aspects_own(
    explorer: Explorer,
) -> None:
    notebook = explorer.notebook
    asked = Query("demo", seed="demo-0275", aspect="method")
    picked = Query("demo", seed="demo-0275", aspect="method", focus=(3,))
    notebook.judge(picked, "demo-0001", 3)
    assert notebook.grades(picked) == {"demo-0001": 3}
    assert notebook.grades(asked) == {}
    built_in = explorer.library.lens("demo").aspects[1].instruction
    assert notebook.judge(asked, "demo-0002", 1).query_id == "demo-0275_method"
    worded = Query("demo", seed="demo-0275", aspect="METHOD", instruction=built_in)
    assert notebook.grades(worded) == {"demo-0002": 1}


def test_changes_that_come_before_the_page_has_caught_up_all_count(page: AppTest) -> None:
    run(page)
    preset = page.selectbox(key="explore_preset")
    wanted = next(option for option in preset.options if option != preset.value)
    page.text_input(key="explore_where").set_value("venue=ACL")
    page.slider(key="explore_steer").set_value(80)
    preset.set_value(wanted)
    run(page)
    asked = {name: param(page, name) for name in ("where", "steer", "aspect")}
    assert asked["where"] == "venue=ACL"
    assert asked["steer"] == "0.8"
    assert asked["aspect"] != "method"


def test_steer_can_be_moved_on_every_system_that_reads_it(page: AppTest) -> None:
    enabled = {}
    for system in ("aspect", "transport", "dense"):
        page.query_params["system"] = system
        run(page)
        enabled[system] = not page.slider(key="explore_steer").disabled
    assert enabled == {"aspect": True, "transport": True, "dense": False}
