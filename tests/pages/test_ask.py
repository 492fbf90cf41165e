"""The Ask page when things are not as they should be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from engine.explorer import Explorer
from tests.model_answers import Knowledge
from tests.model_server import ModelServer, serving
from tests.pages.visits import APP, Connect, address, click, run, script, shown

LONG = "Why do honey bees collapse? " * 40


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(Knowledge({}, {})) as running:
        yield running


@pytest.fixture
def page(small_copy: Explorer, server: ModelServer, connect: Connect) -> AppTest:
    """The app on the small corpus, which is that of this test's home, with a model."""
    connect(server.url)
    app = address(APP, corpus="small")
    app.switch_page(script("ask"))
    return app


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("k", "many", "This link cannot be read"),
        ("k", "99", "not a number from 1 to 20"),
        ("system", "magic", "&#x27;magic&#x27; is none of"),
        ("corpus", "nowhere", "nowhere"),
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_question_stays(
    page: AppTest, name: str, value: str, says: str
) -> None:
    page.query_params["question"] = "Why do bees collapse?"
    page.query_params[name] = value
    run(page)
    assert says in shown(page)
    assert page.text_area(key="ask_question").value == "Why do bees collapse?"
    assert page.selectbox(key="ask_corpus").value == "small"


def test_the_cost_is_shown_before_anything_is_sent(page: AppTest, server: ModelServer) -> None:
    page.query_params["question"] = "Why do honey bees collapse?"
    run(page)
    assert "6 passages, about" in shown(page)
    assert not page.button(key="ask_button").disabled
    assert server.seen.requests == 0
    page.slider(key="ask_passages").set_value(1).run()
    assert "1 passage, about" in shown(page)


def test_a_long_question_stays_out_of_the_link_but_in_the_visit(page: AppTest) -> None:
    run(page)
    page.text_area(key="ask_question").set_value(LONG).run()
    assert "question" not in page.query_params
    page.slider(key="ask_passages").set_value(3).run()
    assert page.text_area(key="ask_question").value == LONG
    page.text_area(key="ask_question").set_value("Short?").run()
    assert "Short?" in page.query_params["question"]


def test_an_empty_question_is_refused_in_words(page: AppTest, server: ModelServer) -> None:
    run(page)
    click(page, "ask_button")
    assert "The question is empty." in shown(page)
    assert server.seen.requests == 0


def test_without_a_model_the_page_says_how_to_connect_one(small_copy: Explorer) -> None:
    page = address(APP, corpus="small", question="Why do trees cool?")
    page.switch_page(script("ask"))
    run(page)
    assert page.text_area(key="ask_question").value == "Why do trees cool?"
    words = shown(page, "markdown", "caption", "text")
    assert "No language model is connected." in words
    assert "Connect a model below to ask." in words
    assert page.button(key="ask_button").disabled
    assert "This corpus has no scenarios yet." in words
